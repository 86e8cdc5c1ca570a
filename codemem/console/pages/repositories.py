"""Repositories: the list, adding one, and one of them with its state."""

from django.http import HttpResponse

from codemem.accounts.values import Action
from codemem.console.access import Visit
from codemem.console.pages.dashboard import shelves_of
from indexing import queries as indexing
from indexing import services as indexing_services
from workers import queue


def index(visit: Visit) -> HttpResponse:
    """List the repositories of a namespace."""
    shelves = shelves_of(visit, (visit.namespace_id,))
    return visit.render("repositories/index.html", {"shelves": shelves}, title="Repositories")


def show(visit: Visit) -> HttpResponse:
    """Show one repository: what is indexed of it, and its newest runs."""
    assert visit.repository is not None
    context = {
        "state": visit.ref_state(),
        "runs": indexing.recent_runs(repository_id=visit.repository_id),
    }
    return visit.render("repositories/show.html", context, title=visit.repository.name)


def request_index(visit: Visit) -> HttpResponse:
    """Have a worker fetch the repository and bring its graph up to the head."""
    visit.require(Action.MANAGE_REPOSITORIES)
    run_id = indexing_services.request_index(
        repository_id=visit.repository_id, ref=visit.ref, requested_by=visit.caller.username
    )
    queue.index(run_id=run_id)
    visit.say("A worker indexes it now.")
    return visit.back()
