"""How the server is: its parts, what waits in its queues, what runs and what failed."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpResponse

from codemem.accounts.values import Action
from codemem.console.access import Visit
from codemem.embedding import reembedding
from graph import queries as graph
from indexing import queries as indexing
from memory.consolidation import runs as consolidation
from workers import health, queue

_NEWEST = 8


@dataclass(frozen=True, slots=True)
class Job:
    """An index run and where it belongs."""

    run: indexing.RunView
    namespace: str
    repository: str


def show(visit: Visit) -> HttpResponse:
    """Show the server's parts and queues, and the jobs of the caller's namespaces."""
    namespace_ids = visit.caller.namespaces_for(Action.READ_GRAPH)
    keys = [one.id for one in graph.list_repositories(namespace_ids=namespace_ids)]
    parts = health.parts()
    context = {
        "parts": [(name, state, state == health.OK) for name, state in parts.items()],
        "is_well": all(state == health.OK for state in parts.values()),
        "depths": _depths(),
        "active": _jobs(visit, indexing.active_runs(repository_ids=keys)),
        "failed": _jobs(visit, indexing.failing_runs(repository_ids=keys)),
        "reembedding": reembedding.latest(),
        "cycles": [
            consolidation.view_of(run, caller=visit.caller)
            for run in consolidation.visible_runs(caller=visit.caller).order_by("-started_at")[
                :_NEWEST
            ]
        ],
    }
    if visit.is_fragment:
        return visit.fragment("jobs/parts.html", context)
    return visit.render("jobs/show.html", context, title="Jobs and health")


def _depths() -> list[queue.QueueDepth] | None:
    try:
        return queue.depths()
    except queue.QueueUnavailable:
        return None


def _jobs(visit: Visit, runs: Sequence[indexing.RunView]) -> list[Job]:
    """Return runs with the names of their places. One query."""
    namespace_ids = visit.caller.namespaces_for(Action.READ_GRAPH)
    places = {one.id: one for one in graph.list_repositories(namespace_ids=namespace_ids)}
    return [
        Job(
            run=run,
            namespace=visit.caller.names[places[run.repository_id].namespace_id],
            repository=places[run.repository_id].name,
        )
        for run in runs
    ]
