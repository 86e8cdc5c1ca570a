"""Runs that tidy memories: asked for, their reports, what they changed, and the way back."""

from contextlib import suppress
from typing import Any
from uuid import UUID

from django.http import HttpResponse

from codemem.accounts.values import Action
from codemem.console.access import Visit
from codemem.console.paging import listing
from codemem.console.refusals import InputRefused, register
from memory import queries
from memory.consolidation import runs
from memory.consolidation.changes import changes_of
from workers import queue

register(unknown=(runs.RunUnknown,), refused=(runs.RunNotFinished, runs.RunNotUndoable))

_CHANGES = 100


def index(visit: Visit) -> HttpResponse:
    """List the runs of a namespace, or ask for new ones."""
    if visit.request.method == "POST":
        return _request(visit)
    rows = runs.visible_runs(caller=visit.caller).filter(namespace_id=visit.namespace_id)
    context = {
        "listing": listing(
            visit,
            rows.order_by("-started_at", "-id"),
            size=30,
            shown=lambda run: runs.view_of(run, caller=visit.caller),
        ),
        "cycles": [cycle.value for cycle in runs.CYCLES],
        "may_run": visit.can(Action.DELETE_ANY_MEMORY),
    }
    return visit.render("consolidation/index.html", context, title="Consolidation")


def show(visit: Visit, run_id: UUID) -> HttpResponse:
    """Show one run: the figures before and after, what it left out, and each change."""
    run = _run(visit, run_id)
    view = runs.view_of(run, caller=visit.caller)
    page = changes_of(
        run=run,
        caller=visit.caller,
        now=visit.now,
        after=visit.number("after", 0, maximum=10**12),
        limit=_CHANGES,
    )
    named = {key for change in page.changes for key in change.memory_ids}
    context = {
        "run": view,
        "circles": [
            (name, view.report[name]) for name in ("shared", "private") if name in view.report
        ],
        "undo": view.report.get("undo"),
        "changes": page.changes,
        "next_after": page.next_after,
        "memories": queries.memories_by_id(caller=visit.caller, memory_ids=named, now=visit.now),
        "may_run": visit.can(Action.DELETE_ANY_MEMORY),
        "is_over": view.state in {"done", "failed", "cancelled"},
        "is_under_way": view.state in {"queued", "running"},
    }
    crumbs = (("Consolidation", visit.url("consolidation")),)
    return visit.render(
        "consolidation/show.html", context, title=f"Run of {view.cycle}", crumbs=crumbs
    )


def undo(visit: Visit, run_id: UUID) -> HttpResponse:
    """Put back what a run changed; what was changed since stays, and is told."""
    _run(visit, run_id)
    undone = runs.undo(caller=visit.caller, run_id=run_id, now=visit.now)
    visit.say(f"Put back: {undone['restored']} changes. {undone.get('note', '')}".rstrip())
    return visit.go("consolidation-run", run_id=run_id)


def cancel(visit: Visit, run_id: UUID) -> HttpResponse:
    """Stop a run at its next step."""
    _run(visit, run_id)
    runs.cancel(caller=visit.caller, run_id=run_id, now=visit.now)
    visit.say("It stops at its next step; what it did can be undone.")
    return visit.go("consolidation-run", run_id=run_id)


def _request(visit: Visit) -> HttpResponse:
    visit.require(Action.DELETE_ANY_MEMORY)
    wanted = visit.typed("cycle")
    known = [cycle.value for cycle in runs.CYCLES]
    if wanted not in {"auto", *known}:
        raise InputRefused(f"There is no cycle {wanted[:40]!r}.")
    asked = runs.request(
        caller=visit.caller,
        namespace_id=visit.namespace_id,
        cycles=known if wanted == "auto" else [wanted],
        is_dry=visit.typed("dry") == "yes",
        now=visit.now,
    )
    # A run is a row first: while Redis is away it waits for the clock.
    with suppress(queue.QueueUnavailable):
        queue.consolidate(namespace_id=visit.namespace_id)
    visit.say(f"{len(asked)} run{'s wait' if len(asked) > 1 else ' waits'} for a worker.")
    return visit.go("consolidation")


def _run(visit: Visit, run_id: UUID) -> Any:
    rows = runs.visible_runs(caller=visit.caller)
    run = rows.filter(pk=run_id, namespace_id=visit.namespace_id).first()
    if run is None:
        raise runs.RunUnknown(f"There is no consolidation run {run_id} here, or not for you.")
    return run
