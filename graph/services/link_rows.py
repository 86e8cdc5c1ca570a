"""Links of memories as they stand in the graph, for whoever has to put them back exactly.

`links` speaks of ties (source, target, kind, weight); here a row is all that the label table
holds, with its id, who made it and when.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from psycopg import sql

from graph import cypher
from graph.values import LINK_LABEL


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRow:
    """One row of the label table; `properties` is agtype as text."""

    id: int
    source: int
    target: int
    properties: str

    @property
    def kind(self) -> str:
        return str(self._said().get("kind", ""))

    @property
    def weight(self) -> float:
        return float(self._said().get("w", 1.0))

    def _said(self) -> dict[str, Any]:
        # Our own properties hold texts, numbers and nothing that only agtype can say.
        said: dict[str, Any] = json.loads(self.properties)
        return said


@dataclass(frozen=True, slots=True, kw_only=True)
class NewLink:
    """A tie to be made: source KIND target."""

    source: int
    target: int
    kind: str
    weight: float


def link_rows(*, namespace_id: UUID, vertices: Collection[int]) -> tuple[LinkRow, ...]:
    """Return every link at some vertices, whichever end they are. One query."""
    if not vertices or not cypher.has_graph(namespace_id):
        return ()
    # Two index scans; one condition with OR would read the whole label.
    statement = sql.SQL(
        "SELECT id::bigint, start_id::bigint, end_id::bigint, properties::text FROM {edges}"
        " WHERE start_id = ANY (%(ids)s::bigint[]::ag_catalog.graphid[])"
        " UNION SELECT id::bigint, start_id::bigint, end_id::bigint, properties::text FROM {edges}"
        " WHERE end_id = ANY (%(ids)s::bigint[]::ag_catalog.graphid[])"
    ).format(edges=_edges(namespace_id))
    with connection.cursor() as cursor:
        cursor.execute(statement, {"ids": list(vertices)})
        rows = cursor.fetchall()
    return tuple(
        LinkRow(id=key, source=source, target=target, properties=properties)
        for key, source, target, properties in sorted(rows)
    )


def put_link_rows(*, namespace_id: UUID, rows: Sequence[LinkRow]) -> frozenset[int]:
    """Put rows back as they were; return the ids of those that stand now.

    A row is left out when one of its ends is gone, or when the same tie was made again since.
    """
    if not rows or not cypher.has_graph(namespace_id):
        return frozenset()
    graph = cypher.graph_name(namespace_id)
    vertices = sql.Identifier(graph, "_ag_label_vertex")
    statement = sql.SQL(
        "INSERT INTO {edges} (id, start_id, end_id, properties)"
        " SELECT row.id::ag_catalog.graphid, row.source::ag_catalog.graphid,"
        "  row.target::ag_catalog.graphid, row.properties::ag_catalog.agtype"
        " FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::text[])"
        "  AS row (id, source, target, properties)"
        " WHERE EXISTS (SELECT FROM {vertices} WHERE id = row.source::ag_catalog.graphid)"
        "  AND EXISTS (SELECT FROM {vertices} WHERE id = row.target::ag_catalog.graphid)"
        " ON CONFLICT DO NOTHING RETURNING id::bigint"
    ).format(edges=_edges(namespace_id), vertices=vertices)
    with connection.cursor() as cursor:
        cursor.execute(
            statement,
            [
                [row.id for row in rows],
                [row.source for row in rows],
                [row.target for row in rows],
                [row.properties for row in rows],
            ],
        )
        return frozenset(key for (key,) in cursor.fetchall())


def drop_link_rows(*, namespace_id: UUID, rows: Sequence[LinkRow]) -> frozenset[int]:
    """Take links away that are still what these rows say; return their ids."""
    if not rows or not cypher.has_graph(namespace_id):
        return frozenset()
    # By the start, which is indexed; the id is not.
    statement = sql.SQL(
        "DELETE FROM {edges} AS edge"
        " USING unnest(%s::bigint[], %s::bigint[], %s::text[]) AS row (id, source, properties)"
        " WHERE edge.start_id = row.source::ag_catalog.graphid"
        "  AND edge.id = row.id::ag_catalog.graphid AND edge.properties::text = row.properties"
        " RETURNING edge.id::bigint"
    ).format(edges=_edges(namespace_id))
    with connection.cursor() as cursor:
        cursor.execute(
            statement,
            [
                [row.id for row in rows],
                [row.source for row in rows],
                [row.properties for row in rows],
            ],
        )
        return frozenset(key for (key,) in cursor.fetchall())


def link_all(*, namespace_id: UUID, links: Sequence[NewLink], actor: str, now: datetime) -> int:
    """Tie many vertices at once; ties that are there stay as they are. Return how many are new."""
    if not links or not cypher.has_graph(namespace_id):
        return 0
    vertices = sql.Identifier(cypher.graph_name(namespace_id), "_ag_label_vertex")
    statement = sql.SQL(
        "INSERT INTO {edges} (start_id, end_id, properties)"
        " SELECT row.source::ag_catalog.graphid, row.target::ag_catalog.graphid,"
        "  row.properties::ag_catalog.agtype"
        " FROM unnest(%s::bigint[], %s::bigint[], %s::text[]) AS row (source, target, properties)"
        " WHERE EXISTS (SELECT FROM {vertices} WHERE id = row.source::ag_catalog.graphid)"
        "  AND EXISTS (SELECT FROM {vertices} WHERE id = row.target::ag_catalog.graphid)"
        " ON CONFLICT DO NOTHING"
    ).format(edges=_edges(namespace_id), vertices=vertices)
    at = int(now.timestamp())
    properties = [
        cypher.agtype_text({"kind": link.kind, "w": link.weight, "by": actor, "at": at})
        for link in links
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            statement,
            [[link.source for link in links], [link.target for link in links], properties],
        )
        return int(cursor.rowcount)


def _edges(namespace_id: UUID) -> sql.Identifier:
    return sql.Identifier(cypher.graph_name(namespace_id), LINK_LABEL)
