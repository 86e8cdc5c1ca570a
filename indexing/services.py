"""The life of an index run: asked for once, claimed by one worker, reported on, taken over.

A run is a row before it is a message: losing Redis or a worker loses no work. Of a worker that is
killed nothing is heard any more; SILENT_AFTER later its run may be sent again, and beat looks every
30 seconds (workers/schedule.py), so that another worker takes the run over within 90 seconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Coalesce

from codemem.accounts.services import record
from graph.models import Repository
from indexing.models import IndexRun

SILENT_AFTER = timedelta(seconds=60)
ACTIVE_STATES = (IndexRun.State.QUEUED, IndexRun.State.RUNNING)
MAXIMUM_ATTEMPTS = 3
_EXAMPLES = 10
_LONGEST_ERROR = 2000
_LONGEST_REASON = 200


@dataclass(frozen=True, slots=True)
class SkippedFile:
    path: str
    reason: str


def request_index(*, repository_id: UUID, ref: str = "", requested_by: str) -> UUID:
    """Return the id of a queued run of this ref, making one unless one waits already.

    The waiting run will read the head when it starts, so asking twice is asking once. A blank ref
    is the default branch. Raise Repository.DoesNotExist.
    """
    with transaction.atomic():
        # Requests of one repository take turns; claiming a run only takes it out of their way.
        repository = (
            Repository.objects.select_for_update(of=("self",), no_key=True)
            .select_related("namespace")
            .get(pk=repository_id)
        )
        ref = "" if ref == repository.default_branch else ref
        waiting = repository.runs.filter(ref=ref, state=IndexRun.State.QUEUED).first()
        if waiting is not None:
            return waiting.pk
        run = IndexRun.objects.create(repository=repository, ref=ref, requested_by=requested_by)
        record(
            actor=requested_by,
            action="repository.index",
            namespace=repository.namespace,
            target=ref or "default branch",
        )
        return run.pk


def claim(*, run_id: UUID, now: datetime) -> IndexRun | None:
    """Return the run if it is to be carried out, marked as running; None when it is over.

    The caller holds the repository's lock, so a run that says it is running was lost with its
    worker. One that took MAXIMUM_ATTEMPTS workers down is failed instead.
    """
    open_run = IndexRun.objects.filter(pk=run_id, state__in=ACTIVE_STATES)
    open_run.filter(attempts__gte=MAXIMUM_ATTEMPTS).update(
        state=IndexRun.State.FAILED,
        finished_at=now,
        error=f"The worker was lost {MAXIMUM_ATTEMPTS} times during this run.",
    )
    claimed = open_run.update(
        state=IndexRun.State.RUNNING,
        step=IndexRun.Step.FETCHING,
        started_at=now,
        heartbeat_at=now,
        attempts=F("attempts") + 1,
        error="",
    )
    if not claimed:
        return None
    return IndexRun.objects.select_related("repository__namespace").get(pk=run_id)


def note_progress(*, run_id: UUID, now: datetime, changes: Mapping[str, str | int]) -> None:
    """Write where the run is (step, commit, files_done, files_total): its heartbeat."""
    IndexRun.objects.filter(pk=run_id).update(heartbeat_at=now, **changes)


def finish(
    *,
    run_id: UUID,
    now: datetime,
    counts: Mapping[str, int],
    seconds: Mapping[str, float],
    skipped: list[SkippedFile],
    whole_because: str = "",
) -> None:
    """End a run that succeeded; `whole_because` says why all files were resolved, if they were."""
    IndexRun.objects.filter(pk=run_id).update(
        state=IndexRun.State.DONE,
        step=IndexRun.Step.FINISHED,
        finished_at=now,
        heartbeat_at=now,
        counts=dict(counts),
        seconds=dict(seconds),
        skipped=_by_reason(skipped),
        whole_because=whole_because[:_LONGEST_REASON],
    )


def fail(*, run_id: UUID, now: datetime, error: str) -> None:
    """End a run that cannot succeed as things are; the last good snapshot goes on answering."""
    IndexRun.objects.filter(pk=run_id).update(
        state=IndexRun.State.FAILED,
        finished_at=now,
        heartbeat_at=now,
        # Git quotes what a remote says, which may hold anything; Postgres takes no NUL.
        error=error.replace("\0", "")[:_LONGEST_ERROR],
    )


def recover_runs(*, now: datetime) -> list[UUID]:
    """Return runs to send to a worker again: silent ones, and queued ones whose message was lost.

    Nobody can tell a lost message from one far back in a queue, nor a dead worker from one in a
    long step. Sending too often does no harm, since a run whose worker lives holds the
    repository's lock; still each run is returned only once per SILENT_AFTER.
    """
    with transaction.atomic():
        unheard = list(
            IndexRun.objects.select_for_update(skip_locked=True)
            .filter(state__in=ACTIVE_STATES)
            .annotate(heard_at=Coalesce("heartbeat_at", "queued_at"))
            .filter(heard_at__lt=now - SILENT_AFTER)
            .order_by("queued_at")
            .values_list("pk", flat=True)
        )
        IndexRun.objects.filter(pk__in=unheard).update(heartbeat_at=now)
    return unheard


def _by_reason(skipped: list[SkippedFile]) -> dict[str, dict[str, object]]:
    grouped: dict[str, list[str]] = {}
    for item in skipped:
        grouped.setdefault(item.reason, []).append(item.path)
    return {
        reason: {"count": len(paths), "examples": sorted(paths)[:_EXAMPLES]}
        for reason, paths in sorted(grouped.items())
    }
