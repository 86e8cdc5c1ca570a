"""Runs of the cycles: asked for, carried out by one worker at a time, stopped, undone, shown.

A run is a row before it is a message. Whoever carries it out holds a session lock on the
namespace, so that a run whose worker died is told from one that is at work by trying the lock.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import perf_counter
from typing import Any, Final
from uuid import UUID

import structlog
from django.db import connection
from django.db.models import Q, QuerySet

from codemem import policies
from codemem.accounts import services as accounts
from codemem.accounts.models import Namespace
from codemem.accounts.values import Action, Caller
from memory.consolidation import cluster, creative, decay, forget, summarize, undoing
from memory.consolidation.circles import SHARED, Circle, circles_of
from memory.consolidation.reports import Report
from memory.consolidation.work import Cancelled, Work
from memory.models import ConsolidationChange, ConsolidationRun
from memory.services.rights import require

Cycle = ConsolidationRun.Cycle
State = ConsolidationRun.State

SCHEDULE: Final = "schedule"
# The order of `auto`: what merges comes before what links, and what archives comes last.
CYCLES: Final[Mapping[Cycle, Callable[[Work, Circle], Report]]] = {
    Cycle.DECAY: decay.run,
    Cycle.CLUSTER: cluster.run,
    Cycle.CREATIVE: creative.run,
    Cycle.SUMMARIZE: summarize.run,
    Cycle.FORGET: forget.run,
}
_LOCK_NUMBER: Final = 20
_MAXIMUM_ATTEMPTS: Final = 3
_FORGOTTEN_AFTER: Final = timedelta(minutes=10)
_FINISHED: Final = (State.DONE, State.CANCELLED, State.FAILED)

log = structlog.get_logger(__name__)


class RunUnknown(Exception):
    """There is no such run, or not for this caller: the two are never told apart."""


class RunNotFinished(Exception):
    """The run is queued or at work; it can be cancelled, not undone."""


class RunNotUndoable(Exception):
    """There is nothing to undo: the run changed nothing, or was undone, or is too long ago."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A run as one caller may see it: the shared part of its report, and their own."""

    id: UUID
    namespace: str
    cycle: str
    state: str
    is_dry: bool
    asked_by: str
    started_at: datetime
    finished_at: datetime | None
    report: Mapping[str, Any]
    error: str


def request(
    *, caller: Caller, namespace_id: UUID, cycles: Sequence[str], is_dry: bool, now: datetime
) -> list[UUID]:
    """Write down runs that somebody asks for, in the order in which they are carried out.

    A run of the same kind that waits already is not asked for twice. Raise RightMissing.
    """
    require(caller=caller, action=Action.DELETE_ANY_MEMORY, namespace_id=namespace_id)
    return [
        _queued(namespace_id, cycle, is_dry=is_dry, asked_by=caller.username, now=now)
        for cycle in CYCLES
        if cycle.value in cycles
    ]


def request_due(*, now: datetime) -> list[UUID]:
    """Write down the runs that namespaces' policies have fall due; return those namespaces."""
    namespaces = list(Namespace.objects.filter(archived_at=None).values_list("pk", flat=True))
    due = []
    for namespace_id, held in policies.values(namespaces, "consolidation.").items():
        for cycle in CYCLES:
            is_wanted = held[f"consolidation.{cycle}.enabled"]
            if is_wanted and _is_due(namespace_id, cycle, held, now):
                is_dry = _is_dry(namespace_id, cycle, held, now)
                _queued(namespace_id, cycle, is_dry=is_dry, asked_by=SCHEDULE, now=now)
                due.append(namespace_id)
    return list(dict.fromkeys(due))


def execute(*, run_id: UUID, now: datetime) -> bool:
    """Carry a run out, or go on with one whose worker died; False when it has to wait.

    Raise whatever the cycle raises; the run says so and keeps what it did until then.
    """
    waiting = ConsolidationRun.objects.filter(pk=run_id, state__in=[State.QUEUED, State.RUNNING])
    run = waiting.first()
    if run is None:
        return True
    with _alone(run.namespace_id) as is_alone:
        if not is_alone:
            return False
        # Read again: another worker may have ended it before this one was alone.
        if run := waiting.first():
            _execute(run, now=now)
    return True


def cancel(*, caller: Caller, run_id: UUID, now: datetime) -> None:
    """Stop a run at its next step; what it has done stays, and can be undone."""
    run = _run_of(caller, run_id)
    waiting = ConsolidationRun.objects.filter(pk=run.pk, state=State.QUEUED)
    if not waiting.update(state=State.CANCELLED, is_cancelled=True, finished_at=now):
        ConsolidationRun.objects.filter(pk=run.pk, state=State.RUNNING).update(is_cancelled=True)
    _record(caller, run, "consolidation.cancel", {})


def undo(*, caller: Caller, run_id: UUID, now: datetime) -> Mapping[str, Any]:
    """Put back what a run changed; return how much, and what stays because of later changes.

    Raise RunUnknown, RightMissing, RunNotFinished, RunNotUndoable.
    """
    run = _run_of(caller, run_id)
    with _alone(run.namespace_id) as is_alone:
        if not is_alone or run.state not in {*_FINISHED, State.UNDONE}:
            raise RunNotFinished("The run is not over, or another one is at work; try again later.")
        if not run.changes.exists():
            raise RunNotUndoable("There is nothing of this run to undo.")
        undone = undoing.undo(run, actor=caller.username, now=now).as_json()
        run.state = State.UNDONE
        run.report = {**run.report, "undo": undone}
        run.save(update_fields=["state", "report"])
        _record(caller, run, "consolidation.undo", {"restored": undone["restored"]})
    return undone


def recover(*, now: datetime) -> list[UUID]:
    """Return the namespaces whose runs wait for a lost message or a dead worker.

    A run that has been begun three times is given up; what it did can be undone.
    """
    stale = Q(state=State.RUNNING) | Q(state=State.QUEUED, started_at__lt=now - _FORGOTTEN_AFTER)
    found = []
    for run in ConsolidationRun.objects.filter(stale).order_by("started_at"):
        with _alone(run.namespace_id) as is_alone:
            if not is_alone:
                continue
            run.refresh_from_db(fields=["state", "attempts"])
            if run.state in _FINISHED:
                continue
            if run.attempts >= _MAXIMUM_ATTEMPTS:
                _finish(run, State.FAILED, now=now, error="Its worker died three times.")
            else:
                found.append(run.namespace_id)
    return list(dict.fromkeys(found))


def next_run(*, namespace_id: UUID) -> UUID | None:
    """Return the run that is to be carried out next: one that was begun, or waits longest."""
    rows = ConsolidationRun.objects.filter(
        namespace_id=namespace_id, state__in=[State.RUNNING, State.QUEUED]
    )
    begun_first = rows.annotate(is_begun=Q(state=State.RUNNING)).order_by("-is_begun", "id")
    return begun_first.values_list("pk", flat=True).first()


def prune(*, now: datetime) -> int:
    """Forget how to undo what is long ago: undoing it would be a surprise, not a help."""
    namespaces = ConsolidationRun.objects.values_list("namespace_id", flat=True).distinct()
    deleted = 0
    for namespace_id, held in policies.values(list(namespaces), "consolidation.undo").items():
        before = now - timedelta(days=int(held["consolidation.undo_days"]))
        rows = ConsolidationChange.objects.filter(
            run__namespace_id=namespace_id, run__finished_at__lt=before
        )
        deleted += rows.delete()[0]
    return deleted


def visible_runs(*, caller: Caller) -> QuerySet[ConsolidationRun]:
    """Return the runs in namespaces whose memories the caller reads."""
    namespaces = caller.namespaces_for(Action.READ_MEMORY)
    return ConsolidationRun.objects.filter(namespace_id__in=namespaces).select_related("namespace")


def view_of(run: ConsolidationRun, *, caller: Caller) -> RunView:
    """Return a run without what was done to other people's private memories."""
    own = str(caller.user_id)
    circles = run.report.get("circles", {})
    report = {name: part for name, part in run.report.items() if name != "circles"}
    report |= {"shared": circles[SHARED]} if SHARED in circles else {}
    report |= {"private": circles[own]} if own in circles else {}
    return RunView(
        id=run.pk,
        namespace=run.namespace.name,
        cycle=run.cycle,
        state=run.state,
        is_dry=run.is_dry,
        asked_by=run.asked_by,
        started_at=run.started_at,
        finished_at=run.finished_at,
        report=report,
        error=run.error,
    )


def erase(*, memory_ids: Sequence[UUID]) -> int:
    """Erase what undoing keeps of some memories' texts, for a purge; return how many rows."""
    rows = ConsolidationChange.objects.filter(memory_id__in=list(memory_ids))
    deleted, _ = rows.delete()
    return deleted


def _execute(run: ConsolidationRun, *, now: datetime) -> None:
    run.state, run.started_at = State.RUNNING, now
    run.attempts += 1
    prefix = f"consolidation.{run.cycle}."
    held = policies.values([run.namespace_id], prefix)[run.namespace_id]
    run.policy = {key.removeprefix(prefix): value for key, value in held.items()}
    run.save(update_fields=["state", "started_at", "attempts", "policy"])
    work = Work(run=run, now=now, policy=run.policy)
    started = perf_counter()
    try:
        circles = _consolidate(work)
    except Cancelled:
        _finish(run, State.CANCELLED, now=now, seconds=perf_counter() - started)
    except Exception as error:
        # Not its text: a database's error may quote what somebody keeps to themselves.
        sentence = f"{type(error).__name__}; the server's log says more."
        _finish(run, State.FAILED, now=now, error=sentence)
        raise
    else:
        seconds = perf_counter() - started
        _finish(run, State.DONE, now=now, seconds=seconds, circles=circles)


def _consolidate(work: Work) -> dict[str, Any]:
    cycle = CYCLES[Cycle(work.run.cycle)]
    circles = circles_of(work.namespace_id)
    return {circle.key: cycle(work, circle).as_json() for circle in circles}


def _finish(
    run: ConsolidationRun,
    state: State,
    *,
    now: datetime,
    error: str = "",
    seconds: float | None = None,
    circles: Mapping[str, Any] | None = None,
) -> None:
    run.state, run.error = state, error
    # Of the clock that started it, so that a run never ends before it begins.
    run.finished_at = now if seconds is None else now + timedelta(seconds=seconds)
    if seconds is not None:
        run.report = {"seconds": round(seconds, 2), "circles": dict(circles or {})}
    run.save(update_fields=["state", "error", "finished_at", "report"])
    log.info("consolidation_finished", cycle=run.cycle, state=state, run_id=str(run.pk))


def _queued(
    namespace_id: UUID, cycle: Cycle, *, is_dry: bool, asked_by: str, now: datetime
) -> UUID:
    waiting = ConsolidationRun.objects.filter(
        namespace_id=namespace_id, cycle=cycle, is_dry=is_dry, state=State.QUEUED
    ).first()
    if waiting is not None:
        return waiting.pk
    run = ConsolidationRun.objects.create(
        namespace_id=namespace_id,
        cycle=cycle,
        is_dry=is_dry,
        asked_by=asked_by,
        started_at=now,
    )
    return run.pk


def _is_due(
    namespace_id: UUID, cycle: Cycle, held: Mapping[str, policies.Value], now: datetime
) -> bool:
    cadence = timedelta(hours=int(held[f"consolidation.{cycle}.cadence_hours"]))
    lately = ConsolidationRun.objects.filter(
        namespace_id=namespace_id,
        cycle=cycle,
        asked_by=SCHEDULE,
        started_at__gt=now - cadence,
    )
    return not lately.exists()


def _is_dry(
    namespace_id: UUID, cycle: Cycle, held: Mapping[str, policies.Value], now: datetime
) -> bool:
    """Tell whether a cycle only says what it would do: forgetting does at first."""
    days = held.get(f"consolidation.{cycle}.dry_days")
    if not days:
        return False
    rehearsed = ConsolidationRun.objects.filter(
        namespace_id=namespace_id,
        cycle=cycle,
        is_dry=True,
        state=State.DONE,
        started_at__lte=now - timedelta(days=int(days)),
    )
    return not rehearsed.exists()


def _run_of(caller: Caller, run_id: UUID) -> ConsolidationRun:
    run = visible_runs(caller=caller).filter(pk=run_id).first()
    if run is None:
        raise RunUnknown(f"There is no consolidation run {run_id} here, or not for you.")
    require(caller=caller, action=Action.DELETE_ANY_MEMORY, namespace_id=run.namespace_id)
    return run


def _record(caller: Caller, run: ConsolidationRun, action: str, detail: dict[str, object]) -> None:
    accounts.record(
        actor=caller.username,
        action=action,
        target=str(run.pk),
        namespace=run.namespace,
        token_id=caller.token_id,
        detail={"cycle": run.cycle, **detail},
    )


@contextmanager
def _alone(namespace_id: UUID) -> Iterator[bool]:
    """Hold a namespace for consolidation; False when another worker does. Nobody waits."""
    key: list[str | int] = [str(namespace_id), _LOCK_NUMBER]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, %s))", key)
        is_alone: bool = cursor.fetchone()[0]
    try:
        yield is_alone
    finally:
        if is_alone and connection.is_usable():
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(hashtextextended(%s, %s))", key)
