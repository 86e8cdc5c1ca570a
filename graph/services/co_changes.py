"""Edges between files that change together, written as a whole for one repository."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from psycopg import sql

from graph import cypher
from graph.models import Repository
from graph.values import EdgeKind, VertexLabel

# Properties: c the confidence that the target changes when the source does, n in how many commits
# both did, lift how many times more often than by chance.
_NEW = """
    CREATE TEMPORARY TABLE put_co_change (
        source text, target text, start_id bigint, end_id bigint, properties text
    ) ON COMMIT DROP
"""
_IDENTIFY = """
    UPDATE put_co_change pair SET
        start_id = (%(label)s::bigint << 48) | source.id,
        end_id = (%(label)s::bigint << 48) | target.id
    FROM graph_sourcefile source, graph_sourcefile target
    WHERE source.repository_id = %(repository)s AND source.path = pair.source
        AND target.repository_id = %(repository)s AND target.path = pair.target
"""
_DELETE = """
    DELETE FROM {edges} edge USING graph_sourcefile file
    WHERE file.repository_id = %(repository)s
        AND edge.start_id = ((%(label)s::bigint << 48) | file.id)::ag_catalog.graphid
        AND NOT EXISTS (
            SELECT FROM put_co_change pair
            WHERE pair.start_id = edge.start_id::bigint AND pair.end_id = edge.end_id::bigint
                AND pair.properties::ag_catalog.agtype::text = edge.properties::text)
"""
_INSERT = """
    INSERT INTO {edges} (start_id, end_id, properties)
    SELECT pair.start_id::ag_catalog.graphid, pair.end_id::ag_catalog.graphid,
        pair.properties::ag_catalog.agtype
    FROM put_co_change pair
    WHERE pair.start_id IS NOT NULL AND NOT EXISTS (
        SELECT FROM {edges} edge
        WHERE edge.start_id = pair.start_id::ag_catalog.graphid
            AND edge.end_id = pair.end_id::ag_catalog.graphid)
"""


def store_co_changes(
    *, repository_id: UUID, pairs: Iterable[tuple[str, str, float, int, float]]
) -> int:
    """Make the CO_CHANGED edges of a repository's files these; return how many are new.

    A pair is (path, path of the other, confidence, support, lift). Pairs with a file that the graph
    never had are left out. What did not change is not written.
    """
    repository = Repository.objects.get(pk=repository_id)
    if not cypher.has_graph(repository.namespace_id):
        return 0
    edges = sql.Identifier(cypher.graph_name(repository.namespace_id), EdgeKind.CO_CHANGED)
    parameters: dict[str, Any] = {"repository": repository_id, "label": VertexLabel.FILE.value}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS put_co_change")  # of an earlier call in a transaction
        cursor.execute(_NEW)
        with cursor.copy("COPY put_co_change (source, target, properties) FROM STDIN") as copy:
            for path, other, confidence, support, lift in pairs:
                told = {"c": confidence, "n": support, "lift": lift}
                copy.write_row((path, other, cypher.agtype_text(told)))
        cursor.execute(_IDENTIFY, parameters)
        cursor.execute(sql.SQL(_DELETE).format(edges=edges), parameters)
        cursor.execute(sql.SQL(_INSERT).format(edges=edges))
        return int(cursor.rowcount)
