"""Which files change together with a file, by its history."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection
from psycopg import sql

from graph import cypher
from graph.models import SourceFile
from graph.values import EdgeKind, VertexLabel, graph_id


@dataclass(frozen=True, slots=True, kw_only=True)
class CoChanged:
    """A file that changes with another: `confidence` that it does when the other one changes."""

    path: str
    confidence: float
    support: int
    lift: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CoChangedPair:
    """Two files that change together: in `support` commits, of `changes` of the busier one."""

    paths: tuple[str, str]
    support: int
    changes: int


_PAIRS = """
    SELECT source.path, target.path, ({edge_n})::bigint,
        least(({edge_c})::float8, ({back_c})::float8)
    FROM graph_sourcefile source
    JOIN {edges} edge
        ON edge.start_id = ((%(label)s::bigint << 48) | source.id)::ag_catalog.graphid
    JOIN graph_sourcefile target
        ON edge.end_id = ((%(label)s::bigint << 48) | target.id)::ag_catalog.graphid
    JOIN {edges} back ON back.start_id = edge.end_id AND back.end_id = edge.start_id
    WHERE source.repository_id = %(repository)s AND target.repository_id = %(repository)s
        AND source.path < target.path
        AND ({edge_n})::bigint >= %(support)s
        AND least(({edge_c})::float8, ({back_c})::float8) >= %(confidence)s
    ORDER BY 3 DESC, 4 DESC, 1, 2 LIMIT %(limit)s
"""
_SELECT = """
    SELECT file.path, {c}::float8, {n}::bigint, {lift}::float8
    FROM {edges} edge
    JOIN graph_sourcefile file
        ON edge.end_id = ((%(label)s::bigint << 48) | file.id)::ag_catalog.graphid
    WHERE edge.start_id = %(vertex)s::bigint::ag_catalog.graphid
        AND file.repository_id = %(repository)s
    ORDER BY 2 DESC, 3 DESC, 1 LIMIT %(limit)s
"""


def co_changed_with(
    *, namespace_id: UUID, repository_id: UUID, path: str, limit: int = 20
) -> list[CoChanged]:
    """Return the files that change with a file, the surest first. Up to three queries."""
    file = SourceFile.objects.filter(repository_id=repository_id, path=path).first()
    if file is None or not cypher.has_graph(namespace_id):
        return []
    statement = sql.SQL(_SELECT).format(
        edges=sql.Identifier(cypher.graph_name(namespace_id), EdgeKind.CO_CHANGED),
        **{key: cypher.property_of(key, table="edge") for key in ("c", "n", "lift")},
    )
    parameters: dict[str, Any] = {
        "vertex": graph_id(label=VertexLabel.FILE, key=file.pk),
        "label": VertexLabel.FILE.value,
        "repository": repository_id,
        "limit": limit,
    }
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return [
            CoChanged(path=found, confidence=confidence, support=support, lift=lift)
            for found, confidence, support, lift in cursor.fetchall()
        ]


def co_changed_pairs(
    *,
    namespace_id: UUID,
    repository_id: UUID,
    minimum_support: int,
    minimum_confidence: float,
    limit: int,
) -> list[CoChangedPair]:
    """Return pairs of a repository's files of which each mostly changes with the other one."""
    if not cypher.has_graph(namespace_id):
        return []
    statement = sql.SQL(_PAIRS).format(
        edges=sql.Identifier(cypher.graph_name(namespace_id), EdgeKind.CO_CHANGED),
        edge_n=cypher.property_of("n", table="edge"),
        edge_c=cypher.property_of("c", table="edge"),
        back_c=cypher.property_of("c", table="back"),
    )
    parameters: dict[str, Any] = {
        "label": VertexLabel.FILE.value,
        "repository": repository_id,
        "support": minimum_support,
        "confidence": minimum_confidence,
        "limit": limit,
    }
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return [
            CoChangedPair(
                paths=(first, second), support=support, changes=round(support / confidence)
            )
            for first, second, support, confidence in cursor.fetchall()
        ]
