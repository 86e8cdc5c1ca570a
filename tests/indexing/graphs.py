"""All that a view of a repository shows, in words that do not depend on when it was written."""

from django.db import connection
from psycopg import sql

from graph import cypher
from graph.models import Repository, SourceFile, Symbol
from graph.queries.seen import edges_seen, seen_files, seen_symbols, view_parameters
from graph.values import LIVE, SNAPSHOT_KINDS, VertexLabel, View

Rows = frozenset[tuple[object, ...]]


def graph_of(repository: Repository, view: View = LIVE) -> dict[str, Rows]:
    """Return the files, symbols with all their texts, and edges that a view shows."""
    return {
        "files": _files(repository, view),
        "symbols": _symbols(repository, view),
        "edges": _edges(repository, view),
    }


def differences(one: dict[str, Rows], other: dict[str, Rows]) -> list[str]:
    """Return what one of two graphs has and the other has not."""
    return [
        f"{sign} {kind}: {row}"
        for kind in one
        for sign, rows in (("-", one[kind] - other[kind]), ("+", other[kind] - one[kind]))
        for row in sorted(rows, key=repr)
    ]


def _files(repository: Repository, view: View) -> Rows:
    rows = seen_files(view).filter(repository=repository)
    return frozenset(rows.values_list("file__path", "blob", "size", "lines", "language", "skipped"))


def _symbols(repository: Repository, view: View) -> Rows:
    rows = seen_symbols(view).filter(repository=repository)
    return frozenset(
        (*row[:-1], bytes(row[-1]))
        for row in rows.values_list(
            *("symbol__path", "symbol__local_name", "symbol__ordinal", "symbol__kind"),
            *("start_line", "end_line", "language", "visibility", "is_test", "signature", "doc"),
            *("source_text", "body_hash", "tokens", "cyclomatic", "cognitive"),
            "embedding_digest",
        )
    )


def _edges(repository: Repository, view: View) -> Rows:
    names = _names(repository)
    graph = cypher.graph_name(repository.namespace_id)
    found: set[tuple[object, ...]] = set()
    with connection.cursor() as cursor:
        for label in SNAPSHOT_KINDS:
            edges = edges_seen(graph=graph, label=label, condition=sql.SQL("true"), view=view)
            properties = sql.SQL(", ").join(
                sql.SQL("{}::text").format(cypher.property_of(key, table="e")) for key in "cros"
            )
            cursor.execute(
                sql.SQL("SELECT start_id::bigint, end_id::bigint, {} FROM ({}) e").format(
                    properties, edges
                ),
                view_parameters(view),
            )
            found |= {
                (label.value, names[source], names.get(target, str(target)), *rest)
                for source, target, *rest in cursor.fetchall()
                if source in names
            }
    return frozenset(found)


def _names(repository: Repository) -> dict[int, str]:
    files = SourceFile.objects.filter(repository=repository).values_list("pk", "path")
    symbols = Symbol.objects.filter(repository=repository).values_list(
        "pk", "path", "local_name", "kind", "ordinal"
    )
    names = {VertexLabel.FILE.value << 48 | key: path for key, path in files}
    return names | {
        VertexLabel.SYMBOL.value << 48 | key: f"{path}#{name}:{kind}~{ordinal}"
        for key, path, name, kind, ordinal in symbols
    }
