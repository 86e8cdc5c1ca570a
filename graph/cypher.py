"""The only speaker of Cypher and agtype: graphs by namespace, queries with parameters, decoding.

Knows how AGE wants to be spoken to; knows nothing of what the graph means. Bulk reads and writes go
through SQL over the label tables instead (Cypher is up to a hundred times slower at them); the
expressions that they need are here too.
"""

import json
import re
import secrets
import threading
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from age.builder import Antlr4ResultHandler, ResultVisitor
from django.db import connection, transaction
from psycopg import sql

_GRAPH_NAME = re.compile(r"ns_[0-9a-f]{32}")
_COLUMN_NAME = re.compile(r"[a-z_][a-z0-9_]*")


_known_graphs: set[str] = set()


def graph_name(namespace_id: UUID) -> str:
    """Return the name of the namespace's graph, which is also its schema in Postgres."""
    return f"ns_{namespace_id.hex}"


def has_graph(namespace_id: UUID) -> bool:
    """Tell whether the namespace has a graph yet. One query, until it has one.

    A graph goes only with its namespace, and no other one is ever called so.
    """
    name = graph_name(namespace_id)
    if name in _known_graphs:
        return True
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM ag_catalog.ag_graph WHERE name = %s)", [name])
        found = bool(cursor.fetchone()[0])
    # Not what only this transaction has made: it may yet be rolled back.
    if found and not connection.in_atomic_block:
        _known_graphs.add(name)
    return found


def ensure_graph(namespace_id: UUID) -> str:
    """Create the namespace's graph unless it is there (25 ms), and return its name."""
    name = graph_name(namespace_id)
    if has_graph(namespace_id):
        return name
    with transaction.atomic(), connection.cursor() as cursor:
        # Two first repositories at once: AGE has no "if not exists" to settle that.
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [name])
        if not has_graph(namespace_id):
            cursor.execute("SELECT codegraph.create_graph(%s)", [name])
    return name


def drop_graph(namespace_id: UUID) -> None:
    """Drop the namespace's graph with all it holds, and its reader, if they are there."""
    if has_graph(namespace_id):
        name = graph_name(namespace_id)
        _known_graphs.discard(name)
        with connection.cursor() as cursor:
            cursor.execute("SELECT ag_catalog.drop_graph(%s::name, true)", [name])
            cursor.execute("SELECT to_regprocedure('codemem_readers.dismiss(text)') IS NOT NULL")
            if cursor.fetchone()[0]:
                cursor.execute("SELECT codemem_readers.dismiss(%s)", [name])


def run(
    *,
    graph: str,
    query: str,
    columns: Sequence[str],
    parameters: Mapping[str, Any] | None = None,
) -> list[tuple[Any, ...]]:
    """Run a Cypher query and return its rows, decoded, one value for each named column.

    Values come as plain ones, `age.models.Vertex`, `Edge` or `Path`. The query's text is a literal
    of ours; everything that varies is passed as parameters (`$name` in the query).
    """
    if not _GRAPH_NAME.fullmatch(graph):
        raise ValueError(f"{graph!r} is not the name of a namespace's graph.")
    if not all(_COLUMN_NAME.fullmatch(column) for column in columns):
        raise ValueError(f"{columns!r} are not column names.")
    # A tag that cannot be guessed: no text of a query can end the quotation.
    tag = f"$q{secrets.token_hex(8)}$"
    shape = ", ".join(f'"{column}" ag_catalog.agtype' for column in columns)
    escaped = query.replace("%", "%%")
    statement = (
        f"SELECT * FROM ag_catalog.cypher('{graph}', {tag} {escaped} {tag}, %s) AS ({shape})"  # noqa: S608
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, [agtype_text(dict(parameters or {}))])
        return [tuple(decode(value) for value in row) for row in cursor.fetchall()]


def agtype_text(value: Mapping[str, Any] | Sequence[Any] | str | float | None) -> str:
    """Return a value as agtype's input text, which is JSON; NaN and infinities are refused."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def decode(text: str | None) -> Any:
    """Return the value that agtype's output text stands for."""
    return None if text is None else _parser.handler.parse(text)


def property_of(key: str, *, table: str | None = None) -> sql.Composed:
    """Return the SQL of one property of a label table's row, exactly as the indexes spell it."""
    column = sql.Identifier(table, "properties") if table else sql.Identifier("properties")
    return sql.SQL(
        "ag_catalog.agtype_access_operator(VARIADIC ARRAY[{}, {}::ag_catalog.agtype])"
    ).format(column, sql.Literal(json.dumps(key)))


def is_head(*, table: str | None = None) -> sql.Composed:
    """Return the SQL condition that an edge is live on the default branch."""
    return sql.SQL("{} OPERATOR(ag_catalog.=) 'true'::ag_catalog.agtype").format(
        property_of("head", table=table)
    )


def is_aside(*, table: str | None = None) -> sql.Composed:
    """Return the SQL condition that an edge ended, or is an overlay's."""
    return sql.SQL("{} OPERATOR(ag_catalog.=) 'false'::ag_catalog.agtype").format(
        property_of("head", table=table)
    )


class _Visitor(ResultVisitor):  # type: ignore[misc]
    """AGE's own visitor, except that it reads the escapes in strings and keys."""

    def visitStringValue(self, context: Any) -> str:  # noqa: N802
        return _string(context.STRING().getText())

    def visitPair(self, context: Any) -> tuple[str, Any]:  # noqa: N802
        return _string(context.STRING().getText()), context.agValue()


class _Parser(threading.local):
    """One parser for each thread: it keeps the text that it is reading in itself."""

    def __init__(self) -> None:
        self.handler = Antlr4ResultHandler(None)
        self.handler.visitor = _Visitor(None)


def _string(literal: str) -> str:
    # AGE leaves control characters as they are, which strict JSON would refuse.
    return str(json.loads(literal, strict=False))


_parser = _Parser()
