"""Nodes: found by what people and agents call them, and shown with what they say of themselves."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.db.models import (
    Count,
    Exists,
    OuterRef,
    Q,
    QuerySet,
)
from django.db.models.functions import Left
from psycopg import sql

from codemem.embedding.models import CachedVector
from codemem.plans import array_of, kept_rows
from graph.models import Entity, SymbolVersion
from graph.queries.seen import is_seen, seen_symbols, view_parameters
from graph.statements import statements
from graph.symbol_text import embedding_text
from graph.values import (
    LIVE,
    EmbeddingTask,
    Node,
    NodeKind,
    Score,
    SymbolText,
    VertexLabel,
    View,
    Visibility,
    file_id,
    graph_id,
    key_of,
    label_of,
    symbol_id,
)

_SEPARATORS: Final = re.compile(r"::|#|/")
_ENTITIES: Final = (
    VertexLabel.PACKAGE,
    VertexLabel.EXTERNAL,
    VertexLabel.ENDPOINT,
    VertexLabel.TOPIC,
)
_ORDINAL: Final = re.compile(r"(?P<local>.+)~(?P<ordinal>\d{1,9})")


class NodeUnknown(Exception):
    """The graph has no such node, or shows it no longer."""


def find_nodes(*, repository_id: UUID, text: str, limit: int = 20, view: View = LIVE) -> list[Node]:
    """Return the nodes that a text names, of the most exact reading that names any.

    Readings, most exact first: text id (`file:a.py`, `sym:a.py#User.save`), path, qualified name,
    name inside its file (`User.save`), end of a qualified name or of a path, bare name. More than
    one node means that the text is ambiguous; the most important stands first. One query, or two.
    """
    found = nodes_by_name(repository_id=repository_id, texts=[text], limit=limit, view=view)
    return found[text]


def nodes_by_name(
    *, repository_id: UUID, texts: Sequence[str], limit: int = 20, view: View = LIVE
) -> dict[str, list[Node]]:
    """Return what each text names, as `find_nodes` does, `limit` nodes of each.

    One query for all of them, and one more when something that looks like the end of a path is
    named by nothing else.
    """
    found: dict[str, list[Node]] = {text: [] for text in texts}
    readings = {text: reading for text in found if (reading := _reading_of(text))}
    if not readings:
        return found
    scope = {"repository": repository_id, "limit": limit, "file_label": int(VertexLabel.FILE)}
    _add_rows(found, "nodes_meant", scope | _parameters_of(readings), view)
    ends = {
        text: f"/{reading.path}"
        for text, reading in readings.items()
        if not found[text] and reading.path and reading.names and "." in reading.path
    }
    if ends:
        _add_rows(
            found, "files_ending", scope | {"texts": list(ends), "ends": list(ends.values())}, view
        )
    return found


def get_node(
    *,
    repository_id: UUID,
    id: str,  # noqa: A002  the field's term
    view: View = LIVE,
) -> Node:
    """Return the node with this text id; raise NodeUnknown. One query."""
    named = _nodes_with_id(repository_id, id, view)
    if not named:
        raise NodeUnknown(f"There is no {id} in the graph.")
    return min(named, key=lambda node: node.vertex)


def nodes_of(*, namespace_id: UUID, vertices: Iterable[int], view: View = LIVE) -> dict[int, Node]:
    """Return the files, symbols and entities among some vertices. A query for each label."""
    keys = _keys_by_label(vertices)
    nodes: dict[int, Node] = {}
    if keys[VertexLabel.SYMBOL] or keys[VertexLabel.FILE]:
        parameters: dict[str, Any] = {
            "namespace": namespace_id,
            "symbols": array_of(keys[VertexLabel.SYMBOL]),
            "files": array_of(keys[VertexLabel.FILE]),
            **view_parameters(view),
        }
        rows = kept_rows(_nodes_statement(view.is_live), parameters)
        nodes = {node.vertex: node for node in map(_node_of_row, rows)}
    entities = [key for label in _ENTITIES for key in keys[label]]
    if entities:
        found = Entity.objects.filter(namespace_id=namespace_id, pk__in=entities)
        nodes |= {node.vertex: node for node in map(_entity_node, found)}
    return nodes


@lru_cache(maxsize=8)
def _nodes_statement(is_live: bool, name: str = "nodes_of") -> str:  # noqa: FBT001
    seen = is_seen(view=View(revision=None if is_live else 0), table="version")
    return sql.SQL(statements("queries")[name]).format(seen=seen).as_string(None)


def symbols_by_key(*, keys: Collection[int], view: View = LIVE) -> dict[int, Node]:
    """Return symbols by the primary keys that a search of visible repositories gave."""
    rows = _symbols(view).filter(symbol_id__in=list(keys)) if keys else ()
    return {row.symbol_id: _symbol_node(row) for row in rows}


@dataclass(frozen=True, slots=True)
class KnownVertex:
    """What a text id means in one repository: no path for an entity."""

    vertex: int
    kind: NodeKind
    path: str | None


def vertices_by_id(
    *, repository_id: UUID, ids: Collection[str], view: View = LIVE
) -> dict[str, KnownVertex]:
    """Return the vertices of those text ids that a view of a repository shows. One query."""
    if not ids:
        return {}
    readings = [(uid, *reading) for uid in ids for reading in _id_readings(uid)]
    statement = sql.SQL(statements("queries")["vertices_by_id"]).format(
        symbol_is_seen=is_seen(view=view, table="version"),
        file_is_seen=is_seen(view=view, table="version"),
    )
    names = ("uids", "paths", "local_names", "ordinals")
    columns = zip(*readings, strict=True) if readings else ((), (), (), ())
    parameters: dict[str, Any] = {
        **dict(zip(names, map(list, columns), strict=True)),
        "keys": list(ids),
        "repository": repository_id,
        "symbol_label": VertexLabel.SYMBOL.value,
        "file_label": VertexLabel.FILE.value,
        **view_parameters(view),
    }
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        rows: list[tuple[str, int, str, str | None]] = cursor.fetchall()
    return {
        uid: KnownVertex(vertex, _kind_of(vertex, kind), path) for uid, vertex, kind, path in rows
    }


def scores_of(*, vertices: Collection[int]) -> dict[int, Score]:
    """Return the scores of those vertices that were ranked. One query."""
    if not vertices:
        return {}
    rows = kept_rows(statements("queries")["scores_of"], {"vertices": array_of(vertices)})
    return {
        vertex: Score(vertex=vertex, rank=rank, percentile=percentile, in_degree=in_degree)
        for vertex, rank, percentile, in_degree in rows
    }


def live_symbols_in(
    *, repository_id: UUID, paths: Collection[str], view: View = LIVE
) -> Mapping[str, tuple[Node, ...]]:
    """Return the symbols of some files by path, in the order of their lines. One query."""
    rows = _symbols(view).filter(repository_id=repository_id, file__path__in=paths)
    found: dict[str, list[Node]] = {}
    for row in rows.order_by("start_line", "-end_line", "symbol_id"):
        found.setdefault(row.symbol.path, []).append(_symbol_node(row))
    return {path: tuple(nodes) for path, nodes in found.items()}


def symbol_texts_in(
    *, repository_id: UUID, paths: Collection[str], most_characters: int, view: View = LIVE
) -> list[SymbolText]:
    """Return what the symbols of some files say, in the order of their lines. One query.

    Of each text at most so many characters.
    """
    rows = seen_symbols(view).filter(repository_id=repository_id, file__path__in=paths)
    found = rows.order_by("file__path", "start_line", "-end_line", "symbol_id").values_list(
        *("symbol__path", "symbol__local_name", "symbol__ordinal", "start_line", "end_line"),
        *("is_test", Left("source_text", most_characters)),
    )
    return [
        SymbolText(
            id=symbol_id(path=path, local_name=name, ordinal=ordinal),
            path=path,
            local_name=name,
            start_line=start_line,
            end_line=end_line,
            is_test=is_test,
            text=text,
        )
        for path, name, ordinal, start_line, end_line, is_test, text in found
    ]


def symbols_to_embed(
    *,
    repository_id: UUID,
    fingerprint: str,
    limit: int,
    uncached_of: int | None = None,
    after: bytes = b"",
) -> Sequence[EmbeddingTask]:
    """Return distinct texts of symbols that have no vector of this model, overlays' too.

    In the order of their digests, behind `after`; with `uncached_of`, a model's key, only those of
    which the cache has no vector either.
    """
    missing = _not_embedded(fingerprint).filter(
        repository_id=repository_id, embedding_digest__gt=after
    )
    if uncached_of is not None:
        missing = missing.exclude(_is_cached(uncached_of))
    rows = (
        missing.select_related("symbol")
        .order_by("embedding_digest")
        .distinct("embedding_digest")
        .defer("embedding", "tokens")[:limit]
    )
    return [EmbeddingTask(digest=bytes(row.embedding_digest), text=_text(row)) for row in rows]


def count_symbols_to_embed(*, model_id: int, fingerprint: str) -> int:
    """Count distinct texts of live symbols without a vector of a model, here or in the cache."""
    missing = _not_embedded(fingerprint).exclude(_is_cached(model_id))
    counted: int = missing.aggregate(texts=Count("embedding_digest", distinct=True))["texts"]
    return counted


def _not_embedded(fingerprint: str) -> QuerySet[SymbolVersion]:
    return SymbolVersion.objects.filter(
        # Two ranges of an index, where "not equal" would read every row.
        Q(embedding_fingerprint__lt=fingerprint) | Q(embedding_fingerprint__gt=fingerprint),
        valid_to=None,
    )


def _is_cached(model_id: int) -> Exists:
    return Exists(CachedVector.objects.filter(model=model_id, digest=OuterRef("embedding_digest")))


def _nodes_with_id(repository_id: UUID, uid: str, view: View) -> list[Node]:
    """Return what a text id means; more than one where a path or a name contains `#`."""
    readings = list(_id_readings(uid))
    if not readings or "\0" in uid:
        return []
    paths, local_names, ordinals = map(list, zip(*readings, strict=True))
    parameters: dict[str, Any] = {
        "paths": paths,
        "local_names": local_names,
        "ordinals": ordinals,
        "repository": repository_id,
        **view_parameters(view),
    }
    rows = kept_rows(_nodes_statement(view.is_live, "nodes_named"), parameters)
    return [_node_of_row(row) for row in rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """How a text may be read: what it would be as a path, as ids, as whole names, as a dotted name.

    `names` is empty for what says that it is a file or a symbol's id.
    """

    path: str | None
    ids: tuple[tuple[str, str, int], ...] = ()
    names: tuple[str, ...] = ()

    @property
    def dotted(self) -> str:
        return self.names[-1]


def _reading_of(text: str) -> _Reading | None:
    """Return the readings of a text; None for one that nothing can be called."""
    text = text.strip().removesuffix("()").strip()
    if not text or "\0" in text:
        return None
    if text.startswith("file:"):
        return _Reading(path=text.removeprefix("file:").removeprefix("./"))
    if text.startswith("sym:"):
        return _Reading(path=None, ids=tuple(symbol_readings(text.removeprefix("sym:"))))
    # A test runner's way to write it: path::name.
    uid = text if "#" in text else text.replace("::", "#", 1)
    dotted = _SEPARATORS.sub(".", text).strip(".")
    return _Reading(
        path=text.removeprefix("./"),
        ids=tuple(symbol_readings(uid)),
        names=tuple(dict.fromkeys([text, dotted])),
    )


def _parameters_of(readings: Mapping[str, _Reading]) -> dict[str, Any]:
    """Return the arrays that the statement nodes_meant reads."""
    paths = [(text, one.path) for text, one in readings.items() if one.path is not None]
    ids = [(text, *uid) for text, one in readings.items() for uid in one.ids]
    wholes = [(text, name) for text, one in readings.items() for name in one.names]
    names = [
        (text, one.dotted.rpartition(".")[2], one.dotted)
        for text, one in readings.items()
        if one.names
    ]
    columns: dict[tuple[str, ...], Sequence[tuple[Any, ...]]] = {
        ("texts", "paths"): paths,
        ("id_texts", "id_paths", "local_names", "ordinals"): ids,
        ("whole_texts", "wholes"): wholes,
        ("name_texts", "names", "dotted"): names,
    }
    parameters: dict[str, Any] = {"symbol_label": int(VertexLabel.SYMBOL)}
    for keys, rows in columns.items():
        parameters |= {key: [row[place] for row in rows] for place, key in enumerate(keys)}
    return parameters


def _add_rows(
    found: dict[str, list[Node]], statement: str, parameters: Mapping[str, Any], view: View
) -> None:
    rows = kept_rows(
        _nodes_statement(view.is_live, statement), {**parameters, **view_parameters(view)}
    )
    for text, _, _, *row in rows:
        found[text].append(_node_of_row(tuple(row)))


def _id_readings(uid: str) -> Iterator[tuple[str, str | None, int]]:
    """Yield what a text id may mean: path, local name (None for a file), ordinal."""
    if uid.startswith("file:"):
        yield uid.removeprefix("file:"), None, 0
    elif uid.startswith("sym:"):
        yield from symbol_readings(uid.removeprefix("sym:"))


def symbol_readings(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield the readings of `path#local~ordinal`: a path or a name may contain `#`."""
    for match in re.finditer("#", text):
        path, local = text[: match.start()], text[match.end() :]
        yield path, local, 0
        if nth := _ORDINAL.fullmatch(local):
            yield path, nth["local"], int(nth["ordinal"])


def _symbols(view: View) -> QuerySet[SymbolVersion]:
    return seen_symbols(view).select_related("symbol").defer("embedding", "tokens", "source_text")


def _keys_by_label(vertices: Iterable[int]) -> dict[VertexLabel, list[int]]:
    keys: dict[VertexLabel, list[int]] = {label: [] for label in VertexLabel}
    for vertex in set(vertices):
        keys[label_of(vertex)].append(key_of(vertex))
    return keys


def _kind_of(vertex: int, kind: str) -> NodeKind:
    label = label_of(vertex)
    return NodeKind(kind) if label is VertexLabel.SYMBOL else label.node_kind


def _entity_node(row: Entity) -> Node:
    label = VertexLabel(row.label)
    return Node(
        vertex=graph_id(label=label, key=row.pk),
        id=row.key,
        repository_id=None,
        kind=label.node_kind,
        name=row.name,
        local_name="",
        qualified_name=row.key,
        path="",
        language="",
        start_line=1,
        end_line=1,
    )


def _node_of_row(row: tuple[Any, ...]) -> Node:
    """Return the node of a row of the statement nodes_of: what differs by kind stands last."""
    key, repository_id, path, language, end_line, *of_symbol = row
    if of_symbol[0] is None:
        return _file(key, repository_id, path, language, end_line)
    kind, name, local_name, ordinal, qualified_name, start_line, *said = of_symbol
    signature, doc, visibility, is_test, parameters, decorators, cyclomatic, cognitive = said
    return Node(
        vertex=graph_id(label=VertexLabel.SYMBOL, key=key),
        id=symbol_id(path=path, local_name=local_name, ordinal=ordinal),
        repository_id=repository_id,
        kind=NodeKind(kind),
        name=name,
        local_name=local_name,
        qualified_name=qualified_name,
        path=path,
        language=language,
        start_line=start_line,
        end_line=end_line,
        signature=signature,
        doc=doc,
        visibility=Visibility(visibility),
        is_test=is_test,
        parameters=tuple(parameters),
        decorators=tuple(decorators),
        cyclomatic=cyclomatic,
        cognitive=cognitive,
    )


def _file(key: int, repository_id: UUID, path: str, language: str, lines: int) -> Node:
    return Node(
        vertex=graph_id(label=VertexLabel.FILE, key=key),
        id=file_id(path),
        repository_id=repository_id,
        kind=NodeKind.FILE,
        name=path.rpartition("/")[2],
        local_name="",
        qualified_name=path,
        path=path,
        language=language,
        start_line=1,
        end_line=lines,
    )


def _symbol_node(row: SymbolVersion) -> Node:
    symbol = row.symbol
    return Node(
        vertex=graph_id(label=VertexLabel.SYMBOL, key=symbol.pk),
        id=symbol_id(path=symbol.path, local_name=symbol.local_name, ordinal=symbol.ordinal),
        repository_id=row.repository_id,
        kind=NodeKind(symbol.kind),
        name=symbol.name,
        local_name=symbol.local_name,
        qualified_name=row.qualified_name,
        path=symbol.path,
        language=row.language,
        start_line=row.start_line,
        end_line=row.end_line,
        signature=row.signature,
        doc=row.doc,
        visibility=Visibility(row.visibility),
        is_test=row.is_test,
        parameters=tuple(row.parameters),
        decorators=tuple(row.decorators),
        cyclomatic=row.cyclomatic,
        cognitive=row.cognitive,
    )


def _text(row: SymbolVersion) -> str:
    symbol = row.symbol
    return embedding_text(
        kind=symbol.kind,
        path=symbol.path,
        name=symbol.name,
        local_name=symbol.local_name,
        signature=row.signature,
        doc=row.doc,
        source_text=row.source_text,
    )
