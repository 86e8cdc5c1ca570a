"""What lies behind the imports of some files, for those who look across repositories."""

from collections.abc import Collection
from typing import NamedTuple
from uuid import UUID

from django.db import connection
from psycopg import sql

from graph import cypher
from graph.models import SourceFile, Symbol
from graph.values import EdgeKind, EdgeSource, VertexLabel, graph_id, key_of, label_of


class ImportedPlace(NamedTuple):
    """One import of a file: its line, and the file or symbol of the same repository it means."""

    file: int
    line: int
    path: str
    local_name: str


def imports_of(*, namespace_id: UUID, files: Collection[int]) -> list[ImportedPlace]:
    """Return what some live files (keys) import inside of their repository. Three queries."""
    rows = _import_edges(namespace_id, files)
    ends = {end for _, _, end in rows}
    places = _places(ends)
    return [
        ImportedPlace(key_of(start), offset + 1, *places[end])
        for start, offset, end in rows
        if end in places
    ]


class OuterTarget(NamedTuple):
    """One use of an external symbol by a live symbol or file, as the compiler told it.

    `symbol` is `local_name~ordinal`, "" for the file; the line counts from where that begins.
    """

    kind: EdgeKind
    path: str
    symbol: str
    line_offset: int
    package: str
    key: str


def uses_of_externals(
    *, namespace_id: UUID, repository_id: UUID, packages: Collection[str]
) -> list[OuterTarget]:
    """Return what a repository uses of external symbols of some packages (text ids). One query."""
    if not packages or not cypher.has_graph(namespace_id):
        return []
    one_kind = sql.SQL(
        "SELECT {kind}, file.path, CASE WHEN symbol.id IS NULL THEN ''"
        "  ELSE symbol.local_name || '~' || symbol.ordinal END,"
        " {offset}::bigint, entity.data ->> 'package', entity.key"
        " FROM graph_entity entity"
        " JOIN {edges} e ON e.end_id = ((%(label)s::bigint << 48) | entity.id)::ag_catalog.graphid"
        " JOIN graph_sourcefile file ON file.id = {file}::bigint"
        " LEFT JOIN graph_symbol symbol ON e.start_id::bigint >> 48 = %(symbols)s"
        "  AND symbol.id = (e.start_id::bigint & ((1::bigint << 48) - 1))"
        " WHERE entity.namespace_id = %(namespace)s AND entity.label = %(label)s"
        " AND entity.data ->> 'package' = ANY(%(packages)s)"
        " AND file.repository_id = %(repository)s AND {live}"
    )
    statement = sql.SQL(" UNION ALL ").join(
        one_kind.format(
            kind=sql.Literal(kind.value),
            offset=cypher.property_of("o", table="e"),
            edges=sql.Identifier(cypher.graph_name(namespace_id), kind),
            file=cypher.property_of("f", table="e"),
            live=cypher.is_head(table="e"),
        )
        for kind in (EdgeKind.CALLS, EdgeKind.REFERENCES, EdgeKind.INHERITS, EdgeKind.IMPLEMENTS)
    )
    with connection.cursor() as cursor:
        cursor.execute(
            statement,
            {
                "label": VertexLabel.EXTERNAL.value,
                "symbols": VertexLabel.SYMBOL.value,
                "namespace": namespace_id,
                "packages": list(packages),
                "repository": repository_id,
            },
        )
        return [OuterTarget(EdgeKind(kind), *rest) for kind, *rest in cursor.fetchall()]


def _import_edges(namespace_id: UUID, files: Collection[int]) -> list[tuple[int, int, int]]:
    if not files or not cypher.has_graph(namespace_id):
        return []
    statement = sql.SQL(
        "SELECT start_id::bigint, {offset}::bigint, end_id::bigint FROM {edges} e"
        " WHERE start_id = ANY (%s::bigint[]::ag_catalog.graphid[]) AND {live}"
        " AND {source}::bigint < %s"
    ).format(
        offset=cypher.property_of("o", table="e"),
        edges=sql.Identifier(cypher.graph_name(namespace_id), EdgeKind.IMPORTS),
        live=cypher.is_head(table="e"),
        source=cypher.property_of("s", table="e"),
    )
    starts = [graph_id(label=VertexLabel.FILE, key=key) for key in files]
    with connection.cursor() as cursor:
        cursor.execute(statement, [starts, EdgeSource.CROSSING.value])
        rows: list[tuple[int, int, int]] = cursor.fetchall()
    return rows


def _places(vertices: Collection[int]) -> dict[int, tuple[str, str]]:
    keys = [key_of(one) for one in vertices if label_of(one) is VertexLabel.SYMBOL]
    symbols = Symbol.objects.filter(pk__in=keys).values_list("pk", "path", "local_name")
    found = {
        graph_id(label=VertexLabel.SYMBOL, key=key): (path, local_name)
        for key, path, local_name in symbols
    }
    keys = [key_of(one) for one in vertices if label_of(one) is VertexLabel.FILE]
    for key, path in SourceFile.objects.filter(pk__in=keys).values_list("pk", "path"):
        found[graph_id(label=VertexLabel.FILE, key=key)] = (path, "")
    return found
