"""What a view of a repository shows, read row by row, for comparing two graphs."""

from collections import Counter
from collections.abc import Collection
from typing import Any

from django.db import connection
from psycopg import sql

from graph import cypher
from graph.models import Repository
from graph.queries.seen import edges_seen, seen_files, seen_symbols, view_parameters
from graph.values import LIVE, SNAPSHOT_KINDS, VertexLabel, View, graph_id

_SYMBOL_COLUMNS = (
    *("symbol__path", "symbol__local_name", "symbol__ordinal", "symbol__kind", "symbol__name"),
    *("qualified_name", "start_line", "end_line", "language", "visibility", "is_test"),
    *("signature", "doc", "source_text", "body_hash", "tokens", "parameters", "decorators"),
    *("cyclomatic", "cognitive"),
)


def shown(repository: Repository, view: View = LIVE) -> dict[str, Any]:
    """Return files, symbols and edges as text, without any number that a database gave."""
    return {
        "files": _files(repository, view),
        "symbols": _symbols(repository, view),
        "edges": _edges(repository, view),
    }


def _files(repository: Repository, view: View) -> set[tuple[object, ...]]:
    rows = seen_files(view).filter(repository=repository)
    return set(rows.values_list("file__path", "blob", "size", "lines", "language", "skipped"))


def _symbols(repository: Repository, view: View) -> "Counter[str]":
    rows = seen_symbols(view).filter(repository=repository).values_list(*_SYMBOL_COLUMNS)
    return Counter(map(repr, rows))


def _edges(repository: Repository, view: View) -> "Counter[tuple[object, ...]]":
    names = _names(repository)
    found: Counter[tuple[object, ...]] = Counter()
    for label in SNAPSHOT_KINDS:
        found.update(
            (label, names[source], names.get(target, target), *rest)
            for source, target, *rest in _rows(repository, label, view)
            if source in names
        )
    return found


def _rows(repository: Repository, label: str, view: View) -> Collection[tuple[Any, ...]]:
    graph = cypher.graph_name(repository.namespace_id)
    edges = edges_seen(graph=graph, label=label, condition=sql.SQL("true"), view=view)
    statement = sql.SQL(
        "SELECT start_id::bigint, end_id::bigint, {c}::float8, {r}::text, {o}::bigint, {s}::bigint"
        " FROM ({edges}) e"
    ).format(edges=edges, **{key: cypher.property_of(key) for key in ("c", "r", "o", "s")})
    with connection.cursor() as cursor:
        cursor.execute(statement, view_parameters(view))
        return cursor.fetchall()


def _names(repository: Repository) -> dict[int, tuple[object, ...]]:
    symbols = repository.symbols.values_list("pk", "path", "local_name", "ordinal", "kind")
    files = repository.files.values_list("pk", "path")
    return {graph_id(label=VertexLabel.SYMBOL, key=key): tuple(name) for key, *name in symbols} | {
        graph_id(label=VertexLabel.FILE, key=key): (path,) for key, path in files
    }
