"""The life of overlays: whose turn it is to write one, when they end, what is kept for them.

An overlay rests on the default branch as it was at its base revision, so rows that ended since are
kept as long as any overlay of the namespace rests on a revision that shows them.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Max, Min, Q, QuerySet
from psycopg import sql

from graph import cypher
from graph.models import (
    DEFAULT_LAYER,
    Entity,
    FileVersion,
    Layer,
    Ref,
    Repository,
    Revision,
    SymbolVersion,
)
from graph.values import LINEAGE_KINDS, LINK_LABEL, SNAPSHOT_KINDS, VertexLabel, graph_id

KEPT_FOR: Final = timedelta(days=1)
"""How long what a revision showed is kept at least: an overlay may be on its way."""

_USE_IS_NOTED_EVERY: Final = timedelta(hours=1)
_ENTITIES_AT_ONCE: Final = 2_000


def wait_for_turn(
    cursor: Any, *, repository_id: UUID, ref_name: str, owner_id: int | None = None
) -> bool:
    """Wait until nobody else writes this branch, and return whether it is the default branch.

    Branches of one repository do not wait for each other. Holds until the transaction ends.
    """
    repository = Repository.objects.only("default_branch").get(pk=repository_id)
    is_default = owner_id is None and repository.default_branch in {"", ref_name}
    name = "" if is_default else f"/{owner_id or ''}/{ref_name}"
    cursor.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"{repository_id}{name}"]
    )
    return is_default


def drop_overlay(*, repository_id: UUID, ref_name: str, owner_id: int | None = None) -> bool:
    """Take an overlay away with all it holds; return whether there was one.

    The branch is then one that nobody indexed. Costs what the overlay holds.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        wait_for_turn(cursor, repository_id=repository_id, ref_name=ref_name, owner_id=owner_id)
        layer = (
            Layer.objects.select_related("repository")
            .filter(repository_id=repository_id, ref_name=ref_name, owner_id=owner_id)
            .first()
        )
        if layer is None:
            return False
        _drop(cursor, layer)
    return True


def forget_branch(*, repository_id: UUID, ref_name: str) -> bool:
    """Note that a branch is gone or was merged: its overlay ends, and so does its ref.

    What a merge brought the default branch shows by its own push. The default branch itself is
    never forgotten. Return whether the branch was known.
    """
    with transaction.atomic():
        repository = Repository.objects.get(pk=repository_id)
        if ref_name == repository.default_branch:
            return False
        had_overlay = drop_overlay(repository_id=repository_id, ref_name=ref_name)
        forgotten, _ = Ref.objects.filter(repository=repository, name=ref_name).delete()
    return had_overlay or bool(forgotten)


def note_overlay_used(*, layer: int, now: datetime) -> None:
    """Note that somebody read an overlay, to the hour."""
    Layer.objects.filter(pk=layer, used_at__lt=now - _USE_IS_NOTED_EVERY).update(used_at=now)


def expire_overlays(*, now: datetime, idle_since: datetime | None = None) -> int:
    """Drop overlays whose time is over, and those that nobody used since `idle_since`.

    Return how many. Each in a transaction of its own.
    """
    is_over = Q(expires_at__lte=now)
    if idle_since is not None:
        is_over |= Q(used_at__lt=idle_since)
    over = list(Layer.objects.filter(is_over).values_list("repository_id", "ref_name", "owner_id"))
    return sum(
        drop_overlay(repository_id=repository_id, ref_name=ref_name, owner_id=owner_id)
        for repository_id, ref_name, owner_id in over
    )


def prune(*, namespace_id: UUID, now: datetime) -> int:
    """Delete what ended before the oldest revision that anybody may still read; return row count.

    Costs what is deleted, and a look at each ended edge. External symbols that no edge touches go
    as well.
    """
    horizons = _horizons(namespace_id, now)
    # Marked first, by statements of their own: whoever pins a revision meanwhile either holds its
    # row, and is waited for here and counted below, or finds it marked and is refused.
    for repository_id, horizon in horizons.items():
        _revisions(repository_id).filter(pk__lt=horizon, is_whole=True).update(is_whole=False)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        pinned = _oldest_pin(namespace_id)
        count = 0
        for repository_id in horizons:
            if pinned is not None and pinned < horizons[repository_id]:
                horizons[repository_id] = pinned
                _revisions(repository_id).filter(pk__gte=pinned).update(is_whole=True)
            count += _prune_versions(repository_id, horizons[repository_id])
        if cypher.has_graph(namespace_id):
            graph = cypher.graph_name(namespace_id)
            count += sum(_prune_edges(cursor, graph, kind, horizons) for kind in SNAPSHOT_KINDS)
            count += _prune_entities(cursor, graph, namespace_id, now)
    return count


def _horizons(namespace_id: UUID, now: datetime) -> dict[UUID, int]:
    """Return the oldest revision that must stay readable, for each repository ever written.

    It is what the default branch showed KEPT_FOR ago, or the oldest one that an overlay of any
    repository of the namespace rests on.
    """
    revisions = Revision.objects.filter(
        repository__namespace_id=namespace_id, layer=DEFAULT_LAYER
    ).order_by()
    rows = revisions.values_list("repository_id").annotate(
        shown_then=Max("pk", filter=Q(made_at__lte=now - KEPT_FOR)), oldest=Min("pk")
    )
    pinned = _oldest_pin(namespace_id)
    horizons = {
        repository_id: oldest if shown_then is None else shown_then
        for repository_id, shown_then, oldest in rows
    }
    if pinned is None:
        return horizons
    return {repository_id: min(horizon, pinned) for repository_id, horizon in horizons.items()}


def _revisions(repository_id: UUID) -> QuerySet[Revision]:
    return Revision.objects.filter(repository_id=repository_id, layer=DEFAULT_LAYER)


def _oldest_pin(namespace_id: UUID) -> int | None:
    pins = Layer.objects.filter(repository__namespace_id=namespace_id)
    oldest: int | None = pins.aggregate(oldest=Min("base_revision_id"))["oldest"]
    return oldest


def _drop(cursor: Any, layer: Layer) -> None:
    namespace_id = layer.repository.namespace_id
    if cypher.has_graph(namespace_id):
        for kind in SNAPSHOT_KINDS:
            cursor.execute(
                sql.SQL("DELETE FROM {edges} WHERE {aside} AND {layer}::bigint = %s").format(
                    edges=sql.Identifier(cypher.graph_name(namespace_id), kind),
                    aside=cypher.is_aside(),
                    layer=cypher.property_of("l"),
                ),
                [layer.pk],
            )
    rows = {"repository": layer.repository, "layer": layer.pk}
    SymbolVersion.objects.filter(**rows).delete()
    FileVersion.objects.filter(**rows).delete()
    Revision.objects.filter(**rows).delete()
    Ref.objects.filter(**rows).update(layer=DEFAULT_LAYER, indexed_commit="", indexed_at=None)
    layer.delete()


def _prune_versions(repository_id: UUID, horizon: int) -> int:
    count = 0
    for model in (SymbolVersion, FileVersion):
        ended, _ = model.objects.filter(
            repository_id=repository_id, layer=DEFAULT_LAYER, valid_to__lte=horizon
        ).delete()
        count += ended
    return count


def _prune_edges(cursor: Any, graph: str, kind: str, horizons: Mapping[UUID, int]) -> int:
    cursor.execute(
        sql.SQL(
            "DELETE FROM {edges} USING graph_sourcefile file"
            " JOIN unnest(%s::uuid[], %s::bigint[]) AS kept (repository_id, horizon)"
            " USING (repository_id)"
            " WHERE {aside} AND {layer}::bigint = 0 AND {file}::bigint = file.id"
            " AND {vt}::bigint <= kept.horizon"
        ).format(
            edges=sql.Identifier(graph, kind),
            aside=cypher.is_aside(),
            layer=cypher.property_of("l"),
            file=cypher.property_of("f"),
            vt=cypher.property_of("vt"),
        ),
        [list(horizons), list(horizons.values())],
    )
    return int(cursor.rowcount)


def _prune_entities(cursor: Any, graph: str, namespace_id: UUID, now: datetime) -> int:
    """Delete external symbols that no edge touches, some at a time.

    Packages, endpoints and topics stay: other tables tell of them.
    """
    candidates = Entity.objects.filter(
        namespace_id=namespace_id,
        label=VertexLabel.EXTERNAL,
        made_at__lt=now - KEPT_FOR,
    ).order_by("?")
    keys = list(candidates.values_list("pk", flat=True)[:_ENTITIES_AT_ONCE])
    cursor.execute(
        sql.SQL(
            "DELETE FROM {vertices} vertex"
            " WHERE vertex.id = ANY (%s::bigint[]::ag_catalog.graphid[])"
            " AND {is_apart}"
            " RETURNING vertex.id::bigint & (1::bigint << 48) - 1"
        ).format(
            vertices=sql.Identifier(graph, VertexLabel.EXTERNAL.title),
            is_apart=_is_apart(graph),
        ),
        [[graph_id(label=VertexLabel.EXTERNAL, key=key) for key in keys]],
    )
    gone = [key for (key,) in cursor.fetchall()]
    Entity.objects.filter(pk__in=gone).delete()
    return len(gone)


def _is_apart(graph: str) -> sql.Composed:
    """Return the condition that no edge of any label touches a vertex.

    Edges of code are found by whether they live: that is what their indexes begin with.
    """
    code = sql.Identifier(graph, "_ag_label_edge")
    kinds: list[tuple[sql.Identifier, sql.Composable]] = [
        *((code, cypher.is_head(table="e")), (code, cypher.is_aside(table="e"))),
        *(
            (sql.Identifier(graph, label), sql.SQL("true"))
            for label in (*LINEAGE_KINDS, LINK_LABEL)
        ),
    ]
    return sql.SQL(" AND ").join(
        sql.SQL("NOT EXISTS (SELECT FROM {} e WHERE e.{} = vertex.id AND {})").format(
            edges, sql.Identifier(end), condition
        )
        for edges, condition in kinds
        for end in ("end_id", "start_id")
    )
