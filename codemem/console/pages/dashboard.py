"""What to look at in the morning: how fresh the code is, what was learned, waits and fails."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.http import HttpResponse

from codemem.accounts.values import Action
from codemem.console.access import Visit
from graph import queries as graph
from graph.values import RefState, RepositoryValue
from indexing import queries as indexing
from memory.overview import overview

_NEWEST = 8
_RUNS = 6


@dataclass(frozen=True, slots=True)
class Shelf:
    """A repository on the dashboard: what of it is indexed, and what runs."""

    namespace: str
    repository: RepositoryValue
    state: RefState
    run: indexing.RunView | None


def show(visit: Visit) -> HttpResponse:
    """Show all namespaces of the caller, or the one of the address."""
    namespace_ids = _namespaces(visit)
    shelves = shelves_of(visit, namespace_ids)
    known = overview(
        caller=visit.caller, namespace_ids=namespace_ids, now=visit.now, newest=_NEWEST
    )
    context = {
        "shelves": shelves,
        "known": known,
        "behind": sum(1 for shelf in shelves if shelf.state.is_pending),
    }
    title = visit.namespace.name if visit.namespace else "Dashboard"
    return visit.render("dashboard/show.html", context, title=title)


def shelves_of(visit: Visit, namespace_ids: Sequence[UUID]) -> list[Shelf]:
    """Return the repositories of some namespaces, by namespace and name. One query for each."""
    repositories = graph.list_repositories(namespace_ids=namespace_ids)
    runs = indexing.active_runs(repository_ids=[repository.id for repository in repositories])
    by_repository = {run.repository_id: run for run in runs}
    names = visit.caller.names
    return [
        Shelf(
            namespace=names[repository.namespace_id],
            repository=repository,
            state=graph.get_ref_state(repository_id=repository.id, ref=None),
            run=by_repository.get(repository.id),
        )
        for repository in sorted(repositories, key=lambda one: (names[one.namespace_id], one.name))
    ]


def _namespaces(visit: Visit) -> tuple[UUID, ...]:
    if visit.namespace is not None:
        return (visit.namespace.id,)
    return visit.caller.namespaces_for(Action.READ_MEMORY)
