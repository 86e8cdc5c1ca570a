"""Reads of index runs, of facts by content, and of what the graph lacks or shows of them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Q

from codemem.plans import kept_rows
from graph.models import (
    DEFAULT_LAYER,
    FileVersion,
    Repository,
    SymbolVersion,
)
from graph.values import VertexLabel, graph_id
from indexing.facts import EXTRACTOR_VERSION, BlobFacts
from indexing.models import BlobFacts as BlobFactsRow
from indexing.models import IndexRun
from indexing.services import ACTIVE_STATES

_BATCH = 1000


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as people and agents see it."""

    id: UUID
    repository_id: UUID
    ref: str
    commit: str
    state: str
    step: str
    files_done: int
    files_total: int
    counts: dict[str, int]
    seconds: dict[str, float]
    skipped: dict[str, dict[str, object]]
    whole_because: str
    error: str
    requested_by: str
    queued_at: datetime
    started_at: datetime | None
    finished_at: datetime | None

    @property
    def is_over(self) -> bool:
        return self.state not in ACTIVE_STATES

    @property
    def share(self) -> float | None:
        """How much of the files is done, 0..1; None while nobody has counted them."""
        return min(1.0, self.files_done / self.files_total) if self.files_total else None


@dataclass(frozen=True, slots=True)
class CachedFacts:
    """Facts of a blob as stored: still packed, or the reason why there are none."""

    packed: bytes
    skipped: str

    def unpack(self) -> BlobFacts:
        return BlobFacts.from_bytes(self.packed)


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """One content that stood at a path of the default branch, and the file's vertex."""

    vertex: int
    blob: str
    is_live: bool


def get_run(*, run_id: UUID) -> RunView:
    return _view(IndexRun.objects.get(pk=run_id))


def find_run(*, run_id: UUID) -> RunView | None:
    run = IndexRun.objects.filter(pk=run_id).first()
    return None if run is None else _view(run)


def is_pending(*, repository_id: UUID, ref: str, default_branch: str) -> bool:
    """Return whether a run of this ref is queued or running; a blank ref is the default branch."""
    names = {ref, ""} if ref == default_branch else {ref}
    # Every answer about code says it: the ORM would take longer to put it together than to ask.
    ((found,),) = kept_rows(
        "SELECT EXISTS (SELECT FROM indexing_indexrun WHERE repository_id = %s"
        " AND ref = ANY (%s::text[]) AND state = ANY (%s::text[]))",
        [repository_id, list(names), [str(state) for state in ACTIVE_STATES]],
    )
    return bool(found)


def is_default_branch_pending(*, repository_id: UUID) -> bool:
    """Return whether a run of the default branch is queued or running."""
    repository = Repository.objects.get(pk=repository_id)
    branch = repository.default_branch
    return is_pending(repository_id=repository_id, ref=branch, default_branch=branch)


def find_ref_of(*, run_id: UUID) -> tuple[UUID, str] | None:
    """Return whose run this is and of which ref; None when it is gone with its repository."""
    return IndexRun.objects.filter(pk=run_id).values_list("repository_id", "ref").first()


def waiting_runs(*, repository_id: UUID, ref: str) -> list[UUID]:
    """Return the queued runs of a ref, oldest first; a blank ref is the default branch."""
    queued = IndexRun.objects.filter(
        repository_id=repository_id, ref=ref, state=IndexRun.State.QUEUED
    )
    return list(queued.order_by("queued_at").values_list("pk", flat=True))


def recent_runs(*, repository_id: UUID) -> list[RunView]:
    return [_view(run) for run in IndexRun.objects.filter(repository_id=repository_id)[:20]]


def active_runs(*, repository_ids: Sequence[UUID]) -> list[RunView]:
    return [
        _view(run)
        for run in IndexRun.objects.filter(
            repository_id__in=repository_ids, state__in=ACTIVE_STATES
        ).order_by("queued_at")[:50]
    ]


def failing_runs(*, repository_ids: Sequence[UUID]) -> list[RunView]:
    """Return the failures that nothing has followed: the newest ended run of its ref. One query."""
    newer = IndexRun.objects.filter(
        repository_id=OuterRef("repository_id"),
        ref=OuterRef("ref"),
        queued_at__gt=OuterRef("queued_at"),
    ).exclude(state__in=ACTIVE_STATES)
    failed = IndexRun.objects.filter(
        ~Exists(newer), repository_id__in=repository_ids, state=IndexRun.State.FAILED
    )
    return [_view(run) for run in failed.order_by("-queued_at")[:50]]


def cached_facts(*, keys: Collection[tuple[str, str]]) -> dict[tuple[str, str], CachedFacts]:
    """Return the facts that are known of (blob, language) pairs, for this extractor's version."""
    wanted = set(keys)
    blobs = sorted({blob for blob, _ in wanted})
    found: dict[tuple[str, str], CachedFacts] = {}
    for start in range(0, len(blobs), _BATCH):
        rows = BlobFactsRow.objects.filter(
            Q(extractor_version=EXTRACTOR_VERSION), blob__in=blobs[start : start + _BATCH]
        ).values_list("blob", "language", "facts", "skipped")
        for blob, language, packed, skipped in rows.iterator():
            if (blob, language) in wanted:
                found[blob, language] = CachedFacts(bytes(packed), skipped)
    return found


def recorded_files(
    *, repository_id: UUID, paths: Collection[str]
) -> dict[str, tuple[RecordedFile, ...]]:
    """Return what the graph has seen at some paths, what it shows now first. One query."""
    rows = (
        FileVersion.objects.filter(
            repository_id=repository_id, layer=DEFAULT_LAYER, file__path__in=set(paths)
        )
        .order_by(F("valid_to").desc(nulls_first=True))
        .values_list("file__path", "file_id", "blob", "valid_to")
    )
    found: dict[str, list[RecordedFile]] = {}
    for path, file_id, blob, valid_to in rows:
        vertex = graph_id(label=VertexLabel.FILE, key=file_id)
        recorded = RecordedFile(vertex=vertex, blob=blob, is_live=valid_to is None)
        found.setdefault(path, []).append(recorded)
    return {path: tuple(versions) for path, versions in found.items()}


def paths_unread(*, repository_id: UUID, reasons: Collection[str]) -> list[str]:
    """Return the files of the default branch that were not read for such a reason. One query."""
    rows = FileVersion.objects.filter(
        repository_id=repository_id, layer=DEFAULT_LAYER, valid_to=None, skipped__in=reasons
    )
    return list(rows.values_list("file__path", flat=True))


def paths_shown(*, repository_id: UUID, revision: int) -> list[str]:
    """Return the paths of the files that the default branch had at a revision. One query."""
    held = Q(valid_to=None) | Q(valid_to__gt=revision)
    rows = FileVersion.objects.filter(
        held, repository_id=repository_id, layer=DEFAULT_LAYER, valid_from__lte=revision
    )
    return list(rows.values_list("file__path", flat=True))


def paths_live(*, repository_id: UUID) -> list[str]:
    """Return the paths of the files that the default branch has now. One query."""
    rows = FileVersion.objects.filter(
        repository_id=repository_id, layer=DEFAULT_LAYER, valid_to=None
    )
    return list(rows.values_list("file__path", flat=True))


def repositories_to_embed(*, fingerprint: str) -> list[UUID]:
    """Return the repositories with a live symbol that has no vector of this model.

    Reads every live symbol's row of repositories that lack none: for the background only.
    """
    missing = SymbolVersion.objects.filter(
        # Two ranges of an index, where "not equal" would read every row.
        Q(embedding_fingerprint__lt=fingerprint) | Q(embedding_fingerprint__gt=fingerprint),
        repository_id=OuterRef("pk"),
        layer=DEFAULT_LAYER,
        valid_to=None,
    )
    return list(Repository.objects.filter(Exists(missing)).values_list("pk", flat=True))


def count_nodes(*, repository_id: UUID) -> int:
    """Count the files and symbols that the graph shows of a repository. Two queries."""
    live = {"repository_id": repository_id, "layer": DEFAULT_LAYER, "valid_to": None}
    return FileVersion.objects.filter(**live).count() + SymbolVersion.objects.filter(**live).count()


def _view(run: IndexRun) -> RunView:
    return RunView(
        id=run.pk,
        repository_id=run.repository_id,
        ref=run.ref,
        commit=run.commit,
        state=run.state,
        step=run.step,
        files_done=run.files_done,
        files_total=run.files_total,
        counts=run.counts,
        seconds=run.seconds,
        skipped=run.skipped,
        whole_because=run.whole_because,
        error=run.error,
        requested_by=run.requested_by,
        queued_at=run.queued_at,
        started_at=run.started_at,
        finished_at=run.finished_at,
    )
