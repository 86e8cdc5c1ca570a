"""What to look at in the morning: how fresh the code is, what was learned, waits and fails."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.http import HttpResponse

from codemem.accounts import queries as accounts
from codemem.accounts.values import Action
from codemem.console.access import Visit
from graph import queries as graph
from graph.values import RefState, RepositoryValue
from indexing import queries as indexing
from memory.overview import overview

_NEWEST = 8


@dataclass(frozen=True, slots=True)
class Shelf:
    """A repository in a list: what of it is indexed, what runs, what failed last."""

    namespace: str
    repository: RepositoryValue
    state: RefState
    run: indexing.RunView | None
    failure: indexing.RunView | None


@dataclass(frozen=True, slots=True)
class Beginning:
    """The way from an empty server to the first answer; each step with whether it is taken."""

    has_repository: bool
    has_graph: bool
    has_token: bool
    has_memory: bool

    @property
    def is_over(self) -> bool:
        return self.has_repository and self.has_graph and self.has_token and self.has_memory


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
        "behind": sum(shelf.state.is_pending for shelf in shelves),
        "failing": [shelf for shelf in shelves if shelf.failure],
        "running": any(shelf.run for shelf in shelves),
        "beginning": _beginning(visit, shelves, known.counts["memories"]),
        "only": visit.namespace or _only(visit),
    }
    if visit.is_fragment:
        return visit.fragment("dashboard/shelves.html", context)
    return visit.render("dashboard/show.html", context, title=_title(visit))


def shelves_of(visit: Visit, namespace_ids: Sequence[UUID]) -> list[Shelf]:
    """Return the repositories of some namespaces, by namespace and name. Four queries."""
    repositories = graph.list_repositories(namespace_ids=namespace_ids)
    keys = [repository.id for repository in repositories]
    running = {run.repository_id: run for run in indexing.active_runs(repository_ids=keys)}
    failed = {run.repository_id: run for run in indexing.failing_runs(repository_ids=keys)}
    states = graph.list_ref_states(asked=[(key, None) for key in keys])
    names = visit.caller.names
    return [
        Shelf(
            namespace=names[repository.namespace_id],
            repository=repository,
            state=states[repository.id, None],
            run=running.get(repository.id),
            failure=failed.get(repository.id),
        )
        for repository in sorted(repositories, key=lambda one: (names[one.namespace_id], one.name))
        # One that was deleted since it was listed has no state.
        if (repository.id, None) in states
    ]


def _namespaces(visit: Visit) -> tuple[UUID, ...]:
    if visit.namespace is not None:
        return (visit.namespace.id,)
    return visit.caller.namespaces_for(Action.READ_MEMORY)


def _only(visit: Visit) -> dict[str, str] | None:
    """Return the caller's one namespace, where links need not ask which."""
    names = sorted(visit.caller.names.values())
    return {"name": names[0]} if len(names) == 1 else None


def _title(visit: Visit) -> str:
    return visit.namespace.name if visit.namespace else "Dashboard"


def _beginning(visit: Visit, shelves: Sequence[Shelf], memories: int) -> Beginning:
    return Beginning(
        has_repository=bool(shelves),
        has_graph=any(shelf.state.is_indexed for shelf in shelves),
        has_token=accounts.tokens_of(caller=visit.caller).exists(),
        has_memory=memories > 0,
    )
