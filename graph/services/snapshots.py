"""Writing the graph: a whole snapshot, or a delta to what a branch shows, as one revision.

What is stored and what is wanted are compared file by file through digests; only files that differ
are staged (COPY into temporary tables) and written by the set-based statements of sql/put.sql.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Case, Q, Value, When
from django.db.models.functions import Now
from psycopg import sql

from graph import cypher
from graph.models import DEFAULT_LAYER, FileVersion, Layer, Ref, Repository, Revision
from graph.queries.nodes import vertices_by_id
from graph.queries.seen import edges_seen, is_seen, view_parameters
from graph.services import loading
from graph.services.layers import wait_for_turn
from graph.services.writer import FileChange, Writer
from graph.staging import (
    Desired,
    FileRows,
    OutsideNode,
    SnapshotInconsistent,
    desired_state,
    ids_outside,
)
from graph.statements import statements
from graph.values import (
    LIVE,
    SNAPSHOT_KINDS,
    Delta,
    EdgeSource,
    PutReport,
    RowChanges,
    Snapshot,
    VertexLabel,
    View,
)


class RefNotDefault(Exception):
    """The ref is not the repository's default branch, the only one that needs no base."""


class BaseRevisionGone(Exception):
    """The revision shows its commit no longer: rows of it were pruned, or it never was."""


class OverlayUnknown(Exception):
    """The ref has no overlay that a delta could be added to."""


def put(*, repository_id: UUID, ref_name: str, snapshot: Snapshot) -> PutReport:
    """Make the graph show this snapshot of the default branch and return what that changed.

    One transaction; writes of one branch wait for each other. Idempotent: the same snapshot again
    writes no row. Raise SnapshotInconsistent or RefNotDefault, and Repository.DoesNotExist.
    """
    desired = desired_state(snapshot)
    with transaction.atomic(), connection.cursor() as cursor:
        _begin(cursor)
        wait_for_turn(cursor, repository_id=repository_id, ref_name=ref_name)
        repository = _default_branch(repository_id, ref_name)
        target = _Target(repository=repository, ref_name=ref_name)
        changes = _difference(_stored(target), desired)
        return _write(cursor, target, snapshot, desired, changes)


def put_delta(
    *,
    repository_id: UUID,
    ref_name: str,
    delta: Delta,
    base_revision: int | None = None,
    owner_id: int | None = None,
    expires_at: datetime | None = None,
) -> PutReport:
    """Write what differs from what the graph shows; costs what the delta costs.

    Without `base_revision` the delta is to what the ref shows now: the default branch, or a branch
    that has an overlay. With it the delta is the whole difference of a branch to the default branch
    as it was at that revision: its overlay is made, or made to hold this and nothing else (and of
    this, only files that say another thing than the base).
    `owner_id` makes it a private overlay of that user's, until `expires_at`.

    A file whose edges lead to a node that this delta ends must be in the delta, or
    SnapshotInconsistent is raised. Raise also RefNotDefault, OverlayUnknown, BaseRevisionGone and
    Repository.DoesNotExist.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        _begin(cursor)
        is_default = wait_for_turn(
            cursor, repository_id=repository_id, ref_name=ref_name, owner_id=owner_id
        )
        if is_default and base_revision is None:
            repository = _default_branch(repository_id, ref_name)
            target = _Target(repository=repository, ref_name=ref_name)
        else:
            layer = _layer(repository_id, ref_name, base_revision, owner_id, expires_at)
            target = _Target(repository=layer.repository, ref_name=ref_name, overlay=layer)
        desired = desired_state(delta, outside=_outside(target.view, repository_id, delta))
        if target.overlay is not None and base_revision is not None:
            desired = _differing_from_base(target.overlay, desired)
        touched = [*desired.files, *delta.removed, *delta.returned]
        stored = _stored(target, touched if base_revision is None else None)
        hidden = frozenset(delta.removed if target.overlay else ())
        changes = _difference(stored, desired, hidden=hidden)
        report = _write(cursor, target, delta, desired, changes)
        if changes:
            _refuse_edges_to_nothing(cursor, target)
        return report


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """The branch that is written, and its overlay unless it is the default branch."""

    repository: Repository
    ref_name: str
    overlay: Layer | None = None

    @property
    def layer(self) -> int:
        return self.overlay.pk if self.overlay else DEFAULT_LAYER

    @property
    def view(self) -> View:
        if self.overlay is None:
            return LIVE
        return View(
            repository_id=self.repository.pk,
            layer=self.layer,
            revision=self.overlay.base_revision_id,
        )

    def shown_commit(self) -> str | None:
        if self.overlay is not None:
            return self.overlay.commit
        rows = Ref.objects.filter(repository=self.repository, name=self.ref_name)
        return rows.values_list("indexed_commit", flat=True).first()


def _begin(cursor: Any) -> None:
    # The first indexing of a large repository takes longer than any question may.
    cursor.execute("SET LOCAL statement_timeout = 0")


def _default_branch(repository_id: UUID, ref_name: str) -> Repository:
    repository = Repository.objects.get(pk=repository_id)
    if repository.default_branch and ref_name != repository.default_branch:
        raise RefNotDefault(
            f"{ref_name} is not {repository.name}'s default branch, {repository.default_branch}."
        )
    return repository


def _layer(
    repository_id: UUID,
    ref_name: str,
    base_revision: int | None,
    owner_id: int | None,
    expires_at: datetime | None,
) -> Layer:
    """Return the overlay's row, made or set on another base as asked."""
    known = (
        Layer.objects.select_related("repository")
        .filter(repository_id=repository_id, ref_name=ref_name, owner_id=owner_id)
        .first()
    )
    if base_revision is None:
        if known is None:
            raise OverlayUnknown(f"{ref_name} has no overlay: say what it is based on.")
        return known
    _pin(repository_id, base_revision)
    layer = known or Layer(
        repository=Repository.objects.get(pk=repository_id), ref_name=ref_name, owner_id=owner_id
    )
    layer.base_revision_id = base_revision
    layer.expires_at = expires_at
    layer.save()
    return layer


def _pin(repository_id: UUID, revision: int) -> None:
    """Keep what a revision shows from being pruned while this transaction lasts."""
    # Pruning marks revisions before it deletes what they show, and waits for this lock.
    found = Revision.objects.raw(
        "SELECT id FROM graph_revision"
        " WHERE id = %s AND repository_id = %s AND layer = 0 AND is_whole FOR SHARE",
        [revision, repository_id],
    )
    if not list(found):
        raise BaseRevisionGone(f"Revision {revision} is not of this repository, or is pruned.")


def _outside(view: View, repository_id: UUID, delta: Delta) -> list[OutsideNode]:
    """Return the nodes that the delta leads to as the graph shows them: they stay as they are."""
    wanted = ids_outside(delta)
    touched = {fact.path for fact in delta.files}.union(delta.removed, delta.returned)
    found = vertices_by_id(repository_id=repository_id, ids=wanted, view=view)
    return [
        OutsideNode(id=uid, vertex=known.vertex, kind=known.kind)
        for uid, known in found.items()
        if known.path not in touched
    ]


def _stored(target: _Target, paths: Collection[str] | None = None) -> dict[str, FileVersion]:
    """Return the live file versions of the layer by path: all, or those at some paths."""
    rows = FileVersion.objects.filter(
        repository=target.repository, layer=target.layer, valid_to=None
    )
    if paths is not None:
        rows = rows.filter(file__path__in=paths)
    return {version.file.path: version for version in rows.select_related("file")}


def _differing_from_base(overlay: Layer, desired: Desired) -> Desired:
    """Leave out files that say what the overlay's base says: whoever resolved them could not know.

    What is left may lead to nodes of those, so all nodes stay known.
    """
    revision = overlay.base_revision_id
    held = Q(valid_to=None) | Q(valid_to__gt=revision)
    rows = FileVersion.objects.filter(
        held,
        repository=overlay.repository_id,
        layer=DEFAULT_LAYER,
        valid_from__lte=revision,
        file__path__in=desired.files.keys(),
    )
    base = {version.file.path: version for version in rows.select_related("file")}
    files = {
        path: file_rows
        for path, file_rows in desired.files.items()
        if (known := base.get(path)) is None or _differs(known, file_rows)
    }
    return replace(desired, files=files)


def _difference(
    stored: dict[str, FileVersion], desired: Desired, *, hidden: Collection[str] = ()
) -> list[FileChange]:
    """Return what must change so that of all that is stored just the desired remains.

    `hidden` are paths of the base that an overlay says are removed.
    """
    changes = [
        FileChange(
            path=path,
            rows=rows,
            symbols_changed=known is None or bytes(known.symbols_digest) != rows.symbols_digest,
            edges_changed=known is None or bytes(known.edges_digest) != rows.edges_digest,
        )
        for path, rows in desired.files.items()
        if (known := stored.get(path)) is None or _differs(known, rows)
    ]
    changes += [
        FileChange(path=path, rows=None, is_removed=True)
        for path in hidden
        if (known := stored.get(path)) is None or not known.is_removed
    ]
    changes += [
        FileChange(path=path, rows=None)
        for path in stored
        if path not in desired.files and path not in hidden
    ]
    return changes


def _differs(known: FileVersion, rows: FileRows) -> bool:
    fact = rows.fact
    return (
        *(known.is_removed, known.blob, known.size, known.lines, known.language, known.skipped),
        *(bytes(known.symbols_digest), bytes(known.edges_digest)),
    ) != (
        *(False, fact.blob, fact.size, fact.lines, fact.language or "", fact.skipped or ""),
        *(rows.symbols_digest, rows.edges_digest),
    )


def _write(
    cursor: Any,
    target: _Target,
    facts: Snapshot | Delta,
    desired: Desired,
    changes: list[FileChange],
) -> PutReport:
    if not changes and target.shown_commit() == facts.commit:
        return _UNCHANGED
    revision = Revision.objects.create(
        repository=target.repository,
        layer=target.layer,
        commit=facts.commit,
        committed_at=facts.committed_at,
    )
    report = _UNCHANGED
    if changes:
        report = _write_rows(cursor, target, desired, changes, revision=revision.pk)
    _note_indexed(target, facts.commit)
    return replace(report, revision=revision.pk)


_UNCHANGED: Final = PutReport(files=RowChanges(), symbols=RowChanges(), edges=RowChanges())


def _write_rows(
    cursor: Any,
    target: _Target,
    desired: Desired,
    changes: list[FileChange],
    *,
    revision: int,
) -> PutReport:
    repository = target.repository
    writer = Writer(
        cursor=cursor,
        graph=cypher.ensure_graph(repository.namespace_id),
        namespace_id=repository.namespace_id,
        repository_id=repository.pk,
        layer=target.layer,
        revision=revision,
    )
    if target.overlay is None and loading.is_new(writer):
        return loading.load(desired=desired, writer=writer)
    writer.stage(changes)
    files = writer.write_files()
    symbols = writer.write_symbols(changes)
    writer.write_vertices()
    edges = writer.write_edges(changes, desired)
    return PutReport(files=files, symbols=symbols, edges=edges)


def _refuse_edges_to_nothing(cursor: Any, target: _Target) -> None:
    """Raise SnapshotInconsistent when an edge outside of the delta leads to what it ended."""
    view, repository = target.view, target.repository
    is_visible = is_seen(view=view, table="version")
    parameters = {
        "repository": repository.pk,
        "symbol_label": VertexLabel.SYMBOL.value,
        "file_label": VertexLabel.FILE.value,
        "crossing": EdgeSource.CROSSING.value,
        **view_parameters(view),
    }
    cursor.execute(sql.SQL(statements("put")["ended_nodes"]).format(seen=is_visible), parameters)
    ended = [vertex for (vertex,) in cursor.fetchall()]
    if not ended:
        return
    graph = cypher.graph_name(repository.namespace_id)
    condition = sql.SQL("end_id = ANY (%(ended)s::bigint[]::ag_catalog.graphid[])")
    selects = (
        edges_seen(graph=graph, label=kind, condition=condition, view=view)
        for kind in SNAPSHOT_KINDS
    )
    statement = sql.SQL(
        "SELECT start_id::bigint, end_id::bigint FROM ({}) e"
        " WHERE {}::bigint < %(crossing)s LIMIT 1"
    ).format(sql.SQL(" UNION ALL ").join(selects), cypher.property_of("s"))
    cursor.execute(statement, parameters | {"ended": ended})
    if found := cursor.fetchone():
        raise SnapshotInconsistent(
            f"An edge leads from node {found[0]} to node {found[1]}, which this delta ends:"
            " the file of the first must be restated."
        )


def _note_indexed(target: _Target, commit: str) -> None:
    if target.overlay is not None:
        Layer.objects.filter(pk=target.layer).update(commit=commit, used_at=Now())
        if target.overlay.owner_id is not None:
            return
    Ref.objects.get_or_create(
        repository=target.repository,
        name=target.ref_name,
        defaults={"head_commit": commit, "head_seen_at": Now()},
    )
    Ref.objects.filter(repository=target.repository, name=target.ref_name).update(
        layer=target.layer,
        indexed_commit=commit,
        indexed_at=Now(),
        # Whoever saw a newer head counts again; until then the distance is not known.
        commits_behind=Case(When(head_commit=commit, then=Value(0)), default=None),
    )
    if target.overlay is None:
        # The default branch was another one: layer 0 shows that no longer.
        Ref.objects.filter(repository=target.repository, layer=DEFAULT_LAYER).exclude(
            name=target.ref_name
        ).exclude(indexed_commit="").update(indexed_commit="", indexed_at=None)
