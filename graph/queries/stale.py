"""Files by how many depend on them: what makes an old file worth a look."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from django.db import connection

from graph.models import DEFAULT_LAYER
from graph.values import VertexLabel

_STATEMENT: Final = """
    WITH live AS (
        SELECT file_id, %(symbol_label)s::bigint << 48 | symbol_id AS node
        FROM graph_symbolversion
        WHERE repository_id = %(repository)s AND layer = %(layer)s AND valid_to IS NULL
        UNION ALL
        SELECT file_id, %(file_label)s::bigint << 48 | file_id
        FROM graph_fileversion
        WHERE repository_id = %(repository)s AND layer = %(layer)s AND valid_to IS NULL
    )
    SELECT file.path, %(file_label)s::bigint << 48 | file.id, coalesce(sum(score.in_degree), 0)
    FROM live
    JOIN graph_sourcefile file ON file.id = live.file_id
    LEFT JOIN graph_nodescore score ON score.node = live.node
    GROUP BY file.id, file.path
"""


def files_with_dependents(*, repository_id: UUID) -> Mapping[str, tuple[int, int]]:
    """Return path -> (vertex, edges that lead into the file or its symbols). One query."""
    with connection.cursor() as cursor:
        cursor.execute(
            _STATEMENT,
            {
                "repository": repository_id,
                "layer": DEFAULT_LAYER,
                "symbol_label": VertexLabel.SYMBOL.value,
                "file_label": VertexLabel.FILE.value,
            },
        )
        return {path: (vertex, int(count)) for path, vertex, count in cursor.fetchall()}
