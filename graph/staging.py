"""A snapshot as rows, file by file, each with digests that say whether anything must be written.

Pure: knows what a graph must be like to be written, nothing of what is stored already.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from graph.symbol_text import embedding_digest, embedding_text, search_tokens
from graph.values import (
    LEAST_CONFIDENCE_OF_A_CALL,
    Delta,
    EdgeFact,
    EdgeKind,
    EntityFact,
    FileFact,
    NodeKind,
    Snapshot,
    SymbolFact,
)

DIGEST_VERSION: Final = b"3"
"""Raise when other rows follow from the same facts: every file is then written again."""


class SnapshotInconsistent(Exception):
    """The facts contradict each other: an id stands twice, or an edge leads to nothing."""


class EdgeRow(NamedTuple):
    """An edge as it is stored: under its label, its line counted from the source's first line."""

    label: EdgeKind
    source: str
    target: str
    confidence: float
    rule: str
    line_offset: int
    sources: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideNode:
    """A node that a delta leads to and does not contain: the graph has it already."""

    id: str
    vertex: int
    kind: NodeKind


Fact: TypeAlias = FileFact | SymbolFact | EntityFact | OutsideNode


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRows:
    """What one file contributes: its symbols, and the edges that leave it."""

    fact: FileFact
    symbols: tuple[SymbolFact, ...]
    edges: tuple[EdgeRow, ...]
    symbols_digest: bytes
    edges_digest: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Desired:
    """The state that a snapshot or a delta asks for; `nodes` knows every end of an edge by id."""

    files: Mapping[str, FileRows]
    nodes: Mapping[str, Fact]


def desired_state(facts: Snapshot | Delta, *, outside: Iterable[OutsideNode] = ()) -> Desired:
    """Return the rows of a snapshot or a delta by path; raise SnapshotInconsistent."""
    nodes = _nodes_by_id(facts)
    nodes |= {node.id: node for node in outside if node.id not in nodes}
    symbols: defaultdict[str, list[SymbolFact]] = defaultdict(list)
    for symbol in facts.symbols:
        symbols[symbol.path].append(symbol)
    edges: defaultdict[str, list[EdgeRow]] = defaultdict(list)
    for path, row in _edge_rows(facts.edges, nodes):
        edges[path].append(row)
    kinds = {uid: _kind(node) for uid, node in nodes.items()}
    files = {
        fact.path: _file_rows(fact, symbols[fact.path], edges[fact.path], kinds)
        for fact in facts.files
    }
    return Desired(files=files, nodes=nodes)


def ids_outside(delta: Delta) -> set[str]:
    """Return the ids that a delta's edges lead to and that it does not contain."""
    inside = {fact.id for facts in (delta.files, delta.symbols, delta.entities) for fact in facts}
    return {edge.target for edge in delta.edges} - inside


def version_columns(
    fact: SymbolFact, *, array: Callable[[Iterable[str]], object] | None = None
) -> tuple[object, ...]:
    """Return what a symbol says as the columns of the staging table `put_version`, in order.

    As COPY's text wants them, unless `array` makes something else of several texts.
    """
    array = array or _array
    signature, doc, source_text = map(_storable, (fact.signature, fact.doc, fact.source_text))
    text = embedding_text(
        kind=fact.kind,
        path=fact.path,
        name=fact.name,
        local_name=fact.local_name,
        signature=signature,
        doc=doc,
        source_text=source_text,
    )
    tokens = search_tokens(
        name=fact.name,
        qualified_name=fact.qualified_name,
        path=fact.path,
        signature=signature,
        # Of a document every word counts, of code what is said of it.
        doc=source_text if fact.kind is NodeKind.DOCUMENT else doc,
    )
    return (
        *(fact.qualified_name, fact.start_line, fact.end_line, fact.language),
        # psycopg looks longer for what writes an enumeration's member than it takes to write it.
        str(fact.visibility),
        *(fact.is_test, signature, doc, source_text),
        *(array(map(_storable, texts)) for texts in (fact.parameters, fact.decorators)),
        *(fact.cyclomatic, fact.cognitive, fact.body_hash, tokens, embedding_digest(text)),
    )


def _nodes_by_id(facts: Snapshot | Delta) -> dict[str, Fact]:
    nodes: dict[str, Fact] = {fact.id: fact for fact in facts.files}
    if len(nodes) < len(facts.files):
        raise SnapshotInconsistent("A path stands twice in one snapshot.")
    paths = {fact.path for fact in facts.files}
    for symbol in facts.symbols:
        uid = symbol.id
        if uid in nodes:
            raise SnapshotInconsistent(f"{uid} stands twice in one snapshot.")
        if symbol.path not in paths:
            raise SnapshotInconsistent(f"{uid} is in a file that the snapshot lacks.")
        nodes[uid] = symbol
    nodes |= {entity.id: entity for entity in facts.entities}
    return nodes


def _edge_rows(
    edges: Iterable[EdgeFact], nodes: Mapping[str, Fact]
) -> Iterable[tuple[str, EdgeRow]]:
    """Return one row for each (label, source, target): the most certain one, mentioned first.

    With the path that it leaves. A call that is known leaves no candidate between the same two.
    """
    best: dict[tuple[EdgeKind, str, str], EdgeFact] = {}
    for edge in edges:
        if edge.source not in nodes or edge.target not in nodes:
            raise SnapshotInconsistent(
                f"{edge.kind} from {edge.source} to {edge.target}: one of them is missing."
            )
        key = (_label(edge), edge.source, edge.target)
        known = best.get(key)
        if known is None or (-edge.confidence, edge.line) < (-known.confidence, known.line):
            best[key] = edge
    for (label, source, target), edge in best.items():
        if label is EdgeKind.MAY_CALL and (EdgeKind.CALLS, source, target) in best:
            continue
        node = _source(nodes[source])
        offset = max(edge.line - _first_line(node), 0)
        confidence, sources = float(edge.confidence), int(edge.sources)
        yield node.path, EdgeRow(label, source, target, confidence, edge.rule, offset, sources)


def _source(node: Fact) -> FileFact | SymbolFact:
    if not isinstance(node, (FileFact, SymbolFact)):
        raise SnapshotInconsistent(f"An edge leaves {node.id}, which is in none of the files.")
    return node


def _label(edge: EdgeFact) -> EdgeKind:
    if edge.kind is EdgeKind.CALLS and edge.confidence < LEAST_CONFIDENCE_OF_A_CALL:
        return EdgeKind.MAY_CALL
    return edge.kind


def _first_line(node: FileFact | SymbolFact) -> int:
    return node.start_line if isinstance(node, SymbolFact) else 1


def _file_rows(
    fact: FileFact,
    symbols: list[SymbolFact],
    edges: list[EdgeRow],
    kinds: Mapping[str, str],
) -> FileRows:
    return FileRows(
        fact=fact,
        symbols=tuple(symbols),
        edges=tuple(edges),
        symbols_digest=_digest(map(_symbol_text, symbols)),
        edges_digest=_digest(_edge_text(row, kinds) for row in edges),
    )


def _edge_text(row: EdgeRow, kinds: Mapping[str, str]) -> str:
    # The kind is part of a symbol's identity but not of its text id: when a function becomes a
    # class, the edges to it must be written again although no text of theirs changed.
    label, source, target, confidence, rule, offset, sources = row
    known = f"{confidence}\x1f{rule}\x1f{offset}\x1f{sources}"
    return f"{label}\x1f{source}\x1f{target}\x1f{known}\x1f{kinds[source]}\x1f{kinds[target]}"


def _kind(node: Fact) -> str:
    if isinstance(node, (SymbolFact, OutsideNode)):
        return node.kind
    return NodeKind.FILE if isinstance(node, FileFact) else node.label.node_kind


def _symbol_text(one: SymbolFact) -> str:
    return (
        f"{one.local_name}\x1f{one.ordinal}\x1f{one.kind}\x1f{one.qualified_name}\x1f{one.name}"
        f"\x1f{one.start_line}\x1f{one.end_line}\x1f{one.language}\x1f{one.visibility}"
        f"\x1f{one.is_test}\x1f{one.signature}\x1f{one.doc}\x1f{one.body_hash}"
        f"\x1f{one.source_text}\x1f{one.parameters}\x1f{one.decorators}"
        f"\x1f{one.cyclomatic}\x1f{one.cognitive}"
    )


def _digest(texts: Iterable[str]) -> bytes:
    """Return a hash that does not depend on the order in which the facts were found."""
    text = "\x1e".join([*sorted(texts), ""])
    return hashlib.sha256(DIGEST_VERSION + text.encode(errors="surrogatepass")).digest()


def _array(texts: Iterable[str]) -> str:
    """Spell an array as Postgres reads it: psycopg takes longer for two than for the others."""
    quoted = ['"' + text.replace("\\", r"\\").replace('"', r"\"") + '"' for text in texts]
    return "{" + ",".join(quoted) + "}"


def _storable(text: str) -> str:
    """Return the text without what Postgres cannot hold: NUL and halves of surrogate pairs."""
    if text.isascii():
        return text.replace("\0", "\ufffd")
    return text.replace("\0", "\ufffd").encode(errors="replace").decode()
