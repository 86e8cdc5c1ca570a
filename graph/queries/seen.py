"""What a view shows: the conditions under which a version or an edge is seen through it."""

from typing import Any, Final, TypeVar

from django.db.models import Exists, Model, OuterRef, Q, QuerySet
from psycopg import sql

from graph import cypher
from graph.models import DEFAULT_LAYER, FileVersion, SymbolVersion
from graph.values import LINEAGE_KINDS, LINK_LABEL, SNAPSHOT_KINDS, View

_Row = TypeVar("_Row", bound=Model)


def seen_symbols(view: View) -> QuerySet[SymbolVersion]:
    """Return the symbol versions that a view shows."""
    return _seen(SymbolVersion.objects.all(), view)


def seen_files(view: View) -> QuerySet[FileVersion]:
    """Return the file versions that a view shows."""
    return _seen(FileVersion.objects.filter(is_removed=False), view)


def is_seen(*, view: View, table: str) -> sql.Composed:
    """Return the SQL condition that a row of a version table is seen; see `view_parameters`."""
    text = _LIVE if view.is_live else _THROUGH
    return sql.SQL(text).format(version=sql.Identifier(table))


def edges_seen(*, graph: str, label: str, condition: sql.Composable, view: View) -> sql.Composed:
    """Return the SQL of the edges of a label that a view shows, among those of a condition.

    The condition names columns of the label table. See `view_parameters`.
    """
    if label in LINEAGE_KINDS or label == LINK_LABEL:
        text = "SELECT * FROM {edges} WHERE {condition}"
    elif view.is_live or label not in SNAPSHOT_KINDS:
        text = "SELECT * FROM {edges} WHERE {condition} AND {live}"
    else:
        text = _EDGES_THROUGH
    return sql.SQL(text).format(
        edges=sql.Identifier(graph, label),
        condition=condition,
        live=cypher.is_head(),
        aside=cypher.is_aside(),
        not_shadowed=sql.SQL(_NOT_SHADOWED).format(f=cypher.property_of("f")),
        **{key: cypher.property_of(key) for key in ("vf", "vt", "l")},
    )


def view_parameters(view: View) -> dict[str, Any]:
    """Return what the statements made here are executed with, besides their own parameters."""
    if view.is_live:
        return {}
    return {"view_layer": view.layer, "view_revision": view.revision}


_LIVE: Final = "{version}.layer = 0 AND {version}.valid_to IS NULL"
_THROUGH: Final = """(
    {version}.layer = %(view_layer)s AND %(view_layer)s > 0 AND {version}.valid_to IS NULL
    OR {version}.layer = 0 AND {version}.valid_from <= %(view_revision)s
    AND ({version}.valid_to IS NULL OR {version}.valid_to > %(view_revision)s)
    AND NOT EXISTS (
        SELECT FROM graph_fileversion shadow
        WHERE shadow.file_id = {version}.file_id AND shadow.layer = %(view_layer)s
            AND shadow.layer > 0 AND shadow.valid_to IS NULL))"""
# Those of the base that are live, those that ended since, and the overlay's own; as the graph's own
# functions read them (codegraph.edges_through in sql/schema.sql).
_NOT_SHADOWED: Final = """NOT EXISTS (
        SELECT FROM graph_fileversion shadow
        WHERE shadow.file_id = {f}::bigint AND shadow.layer = %(view_layer)s
            AND shadow.layer > 0 AND shadow.valid_to IS NULL)"""
_EDGES_THROUGH: Final = """
    SELECT * FROM {edges} WHERE {condition} AND {live}
        AND {vf}::bigint <= %(view_revision)s AND {not_shadowed}
    UNION ALL
    SELECT * FROM {edges} WHERE {condition} AND {aside} AND {l}::bigint = 0
        AND {vf}::bigint <= %(view_revision)s AND {vt}::bigint > %(view_revision)s
        AND {not_shadowed}
    UNION ALL
    SELECT * FROM {edges} WHERE {condition} AND {aside} AND %(view_layer)s > 0
        AND {l}::bigint = %(view_layer)s
"""


def _seen(rows: QuerySet[_Row], view: View) -> QuerySet[_Row]:
    if view.is_live:
        return rows.filter(layer=DEFAULT_LAYER, valid_to=None)
    base = Q(layer=DEFAULT_LAYER, valid_from__lte=view.revision) & (
        Q(valid_to=None) | Q(valid_to__gt=view.revision)
    )
    if not view.layer:
        return rows.filter(base)
    shadow = FileVersion.objects.filter(
        file_id=OuterRef("file_id"), layer=view.layer, valid_to=None
    )
    return rows.filter(base & ~Exists(shadow) | Q(layer=view.layer, valid_to=None))
