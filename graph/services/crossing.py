"""Edges that cross files and repositories: written and taken away as their makers say.

They follow from several snapshots, so they belong to no layer and no revision: live, or not there.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from psycopg import sql
from psycopg.types.json import Jsonb

from graph import cypher
from graph.services.writer import STILL_OPEN
from graph.values import EdgeKind, EdgeSource


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossingEdge:
    """One edge between two vertices.

    `file` is the key of the source's file, if it has one; `line_offset` is counted from the
    source's first line.
    """

    kind: EdgeKind
    source: int
    target: int
    confidence: float
    rule: str
    line_offset: int
    file: int | None = None


def write_crossing_edges(
    *,
    namespace_id: UUID,
    opened: Collection[CrossingEdge] = (),
    closed: Collection[CrossingEdge] = (),
) -> None:
    """Take some edges away and add others; both may be so already. Two queries for each kind."""
    if not opened and not closed:
        return
    graph = cypher.ensure_graph(namespace_id)
    with transaction.atomic(), connection.cursor() as cursor:
        for kind, edges in sorted(_by_kind([*closed, *opened]).items()):
            # What is to be opened may stand there with another line or confidence.
            _delete(cursor, graph, kind, edges)
        for kind, edges in sorted(_by_kind(opened).items()):
            _insert(cursor, graph, kind, edges)


def _by_kind(edges: Iterable[CrossingEdge]) -> dict[EdgeKind, list[CrossingEdge]]:
    found: defaultdict[EdgeKind, list[CrossingEdge]] = defaultdict(list)
    for edge in edges:
        found[edge.kind].append(edge)
    return dict(found)


def _delete(cursor: Any, graph: str, kind: EdgeKind, edges: list[CrossingEdge]) -> None:
    cursor.execute(
        sql.SQL(
            "DELETE FROM {edges} e"
            " USING unnest(%s::bigint[], %s::bigint[]) AS gone (source, target)"
            " WHERE e.start_id = gone.source::ag_catalog.graphid"
            " AND e.end_id = gone.target::ag_catalog.graphid AND {live} AND {crossing}::bigint = %s"
        ).format(
            edges=sql.Identifier(graph, kind),
            live=cypher.is_head(table="e"),
            crossing=cypher.property_of("s", table="e"),
        ),
        [
            [edge.source for edge in edges],
            [edge.target for edge in edges],
            EdgeSource.CROSSING.value,
        ],
    )


def _insert(cursor: Any, graph: str, kind: EdgeKind, edges: list[CrossingEdge]) -> None:
    cursor.execute(
        sql.SQL(
            "INSERT INTO {edges} (start_id, end_id, properties)"
            " SELECT source::ag_catalog.graphid, target::ag_catalog.graphid,"
            "  properties::text::ag_catalog.agtype"
            " FROM unnest(%s::bigint[], %s::bigint[], %s::jsonb[])"
            "  AS new (source, target, properties)"
        ).format(edges=sql.Identifier(graph, kind)),
        [
            [edge.source for edge in edges],
            [edge.target for edge in edges],
            [Jsonb(_properties(edge)) for edge in edges],
        ],
    )


def _properties(edge: CrossingEdge) -> dict[str, object]:
    properties: dict[str, object] = {
        "head": True,
        "l": 0,
        "vf": 0,
        "vt": STILL_OPEN,
        "c": float(edge.confidence),
        "r": edge.rule,
        "o": edge.line_offset,
        "s": EdgeSource.CROSSING.value,
    }
    return properties if edge.file is None else {**properties, "f": edge.file}
