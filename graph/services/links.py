"""Links of memories: to code, and to each other. Knows a memory by its number only."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from psycopg import sql

from graph import cypher
from graph.queries.identities import Tie
from graph.queries.nodes import NodeUnknown
from graph.values import LINK_LABEL, Edge, VertexLabel, graph_id


def ensure_memory_vertex(*, namespace_id: UUID, number: int, memory_id: UUID) -> int:
    """Return the vertex of a memory, made if it is not there."""
    graph = cypher.ensure_graph(namespace_id)
    vertex = graph_id(label=VertexLabel.MEMORY, key=number)
    properties = {"uid": str(memory_id), "kind": "memory"}
    with connection.cursor() as cursor:
        cursor.execute(
            sql.SQL(
                "INSERT INTO {} (id, properties)"
                " VALUES (%s::bigint::ag_catalog.graphid, %s::ag_catalog.agtype)"
                " ON CONFLICT (id) DO NOTHING"
            ).format(sql.Identifier(graph, VertexLabel.MEMORY.title)),
            [vertex, cypher.agtype_text(properties)],
        )
    return vertex


def ensure_memory_vertices(*, namespace_id: UUID, memories: Mapping[int, UUID]) -> None:
    """Make the vertices of many memories, by number, as far as they are not there. One query."""
    if not memories:
        return
    graph = cypher.ensure_graph(namespace_id)
    statement = sql.SQL(
        "INSERT INTO {} (id, properties) SELECT row.id::ag_catalog.graphid,"
        "  row.properties::ag_catalog.agtype"
        " FROM unnest(%s::bigint[], %s::text[]) AS row (id, properties)"
        " ON CONFLICT (id) DO NOTHING"
    ).format(sql.Identifier(graph, VertexLabel.MEMORY.title))
    numbers = sorted(memories)
    vertices = [graph_id(label=VertexLabel.MEMORY, key=number) for number in numbers]
    properties = [
        cypher.agtype_text({"uid": str(memories[number]), "kind": "memory"}) for number in numbers
    ]
    with connection.cursor() as cursor:
        cursor.execute(statement, [vertices, properties])


def put_ties(*, namespace_id: UUID, ties: Sequence[Tie]) -> frozenset[Tie]:
    """Tie many vertices, each as told; the same tie again replaces its weight. Two queries.

    Return the ties that lead to no node, which are left out.
    """
    if not ties or not cypher.has_graph(namespace_id):
        return frozenset(ties)
    # The last one of several that are the same tie: a statement writes a row once.
    distinct = {(tie.source, tie.target, tie.kind): tie for tie in ties}
    with transaction.atomic(), connection.cursor() as cursor:
        ends = {end for tie in ties for end in (tie.source, tie.target)}
        known = _locked_vertices(cursor, namespace_id, ends)
        rows = [tie for _, tie in sorted(distinct.items()) if {tie.source, tie.target} <= known]
        cursor.execute(
            sql.SQL(
                "INSERT INTO {edges} AS edge (start_id, end_id, properties)"
                " SELECT row.source::ag_catalog.graphid, row.target::ag_catalog.graphid,"
                "  row.properties::ag_catalog.agtype"
                " FROM unnest(%s::bigint[], %s::bigint[], %s::text[])"
                "  AS row (source, target, properties)"
                " ON CONFLICT (start_id, end_id, ({kind}))"
                " DO UPDATE SET properties = excluded.properties"
            ).format(
                edges=sql.Identifier(cypher.graph_name(namespace_id), LINK_LABEL),
                kind=cypher.property_of("kind"),
            ),
            [
                [tie.source for tie in rows],
                [tie.target for tie in rows],
                [
                    cypher.agtype_text(
                        {"kind": tie.kind, "w": tie.weight, "by": tie.by, "at": tie.at}
                    )
                    for tie in rows
                ],
            ],
        )
    return frozenset(tie for tie in ties if not {tie.source, tie.target} <= known)


def link(
    *,
    namespace_id: UUID,
    source: int,
    target: int,
    kind: str,
    actor: str,
    now: datetime,
    weight: float = 1.0,
) -> None:
    """Tie two vertices; the same tie again replaces its weight. Raise NodeUnknown."""
    graph = cypher.graph_name(namespace_id)
    properties = {"kind": kind, "w": weight, "by": actor, "at": int(now.timestamp())}
    with transaction.atomic(), connection.cursor() as cursor:
        _require_vertices(cursor, namespace_id, {source, target})
        cursor.execute(
            sql.SQL(
                "INSERT INTO {edges} AS edge (start_id, end_id, properties) VALUES"
                " (%s::bigint::ag_catalog.graphid, %s::bigint::ag_catalog.graphid,"
                "  %s::ag_catalog.agtype)"
                " ON CONFLICT (start_id, end_id, ({kind}))"
                " DO UPDATE SET properties = excluded.properties"
            ).format(edges=sql.Identifier(graph, LINK_LABEL), kind=cypher.property_of("kind")),
            [source, target, cypher.agtype_text(properties)],
        )


def unlink(*, namespace_id: UUID, source: int, target: int, kind: str) -> bool:
    """Take one tie away; return whether there was one."""
    if not cypher.has_graph(namespace_id):
        return False
    with connection.cursor() as cursor:
        cursor.execute(
            sql.SQL(
                "DELETE FROM {edges} WHERE start_id = %s::bigint::ag_catalog.graphid"
                " AND end_id = %s::bigint::ag_catalog.graphid"
                " AND {kind} OPERATOR(ag_catalog.=) %s::ag_catalog.agtype"
            ).format(
                edges=sql.Identifier(cypher.graph_name(namespace_id), LINK_LABEL),
                kind=cypher.property_of("kind"),
            ),
            [source, target, cypher.agtype_text(kind)],
        )
        return bool(cursor.rowcount)


def unlink_memory(*, namespace_id: UUID, number: int) -> tuple[Edge, ...]:
    """Take a memory's vertex and all its ties out of the graph; return the ties it had."""
    if not cypher.has_graph(namespace_id):
        return ()
    graph = cypher.graph_name(namespace_id)
    vertex = graph_id(label=VertexLabel.MEMORY, key=number)
    with transaction.atomic(), connection.cursor() as cursor:
        # Edges first: a vertex deleted by SQL leaves its edges dangling.
        cursor.execute(
            sql.SQL(
                "DELETE FROM {edges}"
                " WHERE start_id = %(vertex)s::bigint::ag_catalog.graphid"
                " OR end_id = %(vertex)s::bigint::ag_catalog.graphid"
                " RETURNING {kind}::text, start_id::bigint, end_id::bigint, {weight}::float8"
            ).format(
                edges=sql.Identifier(graph, LINK_LABEL),
                kind=cypher.property_of("kind"),
                weight=cypher.property_of("w"),
            ),
            {"vertex": vertex},
        )
        ties = tuple(
            Edge(kind=kind, source=source, target=target, confidence=weight)
            for kind, source, target, weight in cursor.fetchall()
        )
        cursor.execute(
            sql.SQL("DELETE FROM {} WHERE id = %s::bigint::ag_catalog.graphid").format(
                sql.Identifier(graph, VertexLabel.MEMORY.title)
            ),
            [vertex],
        )
    return ties


def _require_vertices(cursor: Any, namespace_id: UUID, vertices: set[int]) -> None:
    if not cypher.has_graph(namespace_id):
        raise NodeUnknown("The namespace has no graph yet.")
    missing = vertices - _locked_vertices(cursor, namespace_id, vertices)
    if missing:
        raise NodeUnknown(f"The graph has no node {min(missing)}.")


def _locked_vertices(cursor: Any, namespace_id: UUID, vertices: set[int]) -> set[int]:
    """Return which vertices are there, locked: a memory purged meanwhile leaves no loose edge."""
    cursor.execute(
        sql.SQL(
            "SELECT id::bigint FROM {} WHERE id = ANY (%s::bigint[]::ag_catalog.graphid[])"
            " FOR KEY SHARE"
        ).format(sql.Identifier(cypher.graph_name(namespace_id), "_ag_label_vertex")),
        [sorted(vertices)],
    )
    return {row[0] for row in cursor.fetchall()}
