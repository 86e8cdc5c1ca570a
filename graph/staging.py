"""A snapshot as rows, file by file, each with digests that say whether anything must be written.

Pure: knows what a graph must be like to be written, nothing of what is stored already.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from graph.symbol_text import embedding_digest, embedding_text, search_tokens
from graph.values import (
    LEAST_CONFIDENCE_OF_A_CALL,
    EdgeFact,
    EdgeKind,
    FileFact,
    NodeKind,
    Snapshot,
    SymbolFact,
)

DIGEST_VERSION: Final = b"1"
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
    """The whole state that a snapshot asks for; `nodes` knows every file and symbol by text id."""

    files: Mapping[str, FileRows]
    nodes: Mapping[str, FileFact | SymbolFact]


def desired_state(snapshot: Snapshot) -> Desired:
    """Return the rows of a snapshot by path; raise SnapshotInconsistent."""
    nodes = _nodes_by_id(snapshot)
    symbols: defaultdict[str, list[SymbolFact]] = defaultdict(list)
    for symbol in snapshot.symbols:
        symbols[symbol.path].append(symbol)
    edges: defaultdict[str, list[EdgeRow]] = defaultdict(list)
    for row in _edge_rows(snapshot.edges, nodes):
        edges[nodes[row.source].path].append(row)
    files = {
        fact.path: _file_rows(fact, symbols[fact.path], edges[fact.path], nodes)
        for fact in snapshot.files
    }
    return Desired(files=files, nodes=nodes)


def version_columns(fact: SymbolFact) -> tuple[object, ...]:
    """Return what a symbol says as the columns of the staging table `put_version`, in order."""
    signature, doc, source_text = map(_storable, (fact.signature, fact.doc, fact.source_text))
    text = embedding_text(
        kind=fact.kind,
        path=fact.path,
        name=fact.name,
        signature=signature,
        doc=doc,
        source_text=source_text,
    )
    tokens = search_tokens(
        name=fact.name,
        qualified_name=fact.qualified_name,
        path=fact.path,
        signature=signature,
        doc=doc,
    )
    return (
        *(fact.start_line, fact.end_line, fact.language, fact.visibility, fact.is_test),
        *(signature, doc, source_text, fact.body_hash, tokens, embedding_digest(text)),
    )


def _nodes_by_id(snapshot: Snapshot) -> dict[str, FileFact | SymbolFact]:
    nodes: dict[str, FileFact | SymbolFact] = {fact.id: fact for fact in snapshot.files}
    if len(nodes) < len(snapshot.files):
        raise SnapshotInconsistent("A path stands twice in one snapshot.")
    paths = {fact.path for fact in snapshot.files}
    for symbol in snapshot.symbols:
        if symbol.id in nodes:
            raise SnapshotInconsistent(f"{symbol.id} stands twice in one snapshot.")
        if symbol.path not in paths:
            raise SnapshotInconsistent(f"{symbol.id} is in a file that the snapshot lacks.")
        nodes[symbol.id] = symbol
    return nodes


def _edge_rows(
    edges: Iterable[EdgeFact], nodes: Mapping[str, FileFact | SymbolFact]
) -> Iterable[EdgeRow]:
    """Return one row for each (label, source, target): the most certain one, mentioned first.

    A call that is known leaves no candidate between the same two nodes.
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
        offset = max(edge.line - _first_line(nodes[source]), 0)
        yield EdgeRow(label, source, target, float(edge.confidence), edge.rule, offset)


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
    nodes: Mapping[str, FileFact | SymbolFact],
) -> FileRows:
    # The kind is part of a symbol's identity but not of its text id: when a function becomes a
    # class, the edges to it must be written again although no text of theirs changed.
    edge_facts = ((*row, _kind(nodes[row.source]), _kind(nodes[row.target])) for row in edges)
    return FileRows(
        fact=fact,
        symbols=tuple(symbols),
        edges=tuple(edges),
        symbols_digest=_digest(_symbol_facts(symbol) for symbol in symbols),
        edges_digest=_digest(edge_facts),
    )


def _kind(node: FileFact | SymbolFact) -> NodeKind:
    return node.kind if isinstance(node, SymbolFact) else NodeKind.FILE


def _symbol_facts(symbol: SymbolFact) -> tuple[object, ...]:
    return (
        *(symbol.local_name, symbol.ordinal, symbol.kind, symbol.qualified_name, symbol.name),
        *(symbol.start_line, symbol.end_line, symbol.language, symbol.visibility, symbol.is_test),
        *(symbol.signature, symbol.doc, symbol.body_hash, symbol.source_text),
    )


def _digest(rows: Iterable[tuple[object, ...]]) -> bytes:
    """Return a hash that does not depend on the order in which the facts were found."""
    digest = hashlib.sha256(DIGEST_VERSION)
    for text in sorted("\x1f".join(map(str, row)) for row in rows):
        digest.update(text.encode(errors="surrogatepass"))
        digest.update(b"\x1e")
    return digest.digest()


def _storable(text: str) -> str:
    """Return the text without what Postgres cannot hold: NUL and halves of surrogate pairs."""
    if text.isascii():
        return text.replace("\0", "\ufffd")
    return text.replace("\0", "\ufffd").encode(errors="replace").decode()
