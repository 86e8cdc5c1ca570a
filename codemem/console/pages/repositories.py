"""Repositories: the list, adding one, one of them with its branches, runs and webhook."""

from dataclasses import dataclass
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import Http404, HttpResponse

from codemem.accounts import queries as accounts
from codemem.accounts import services as account_services
from codemem.accounts.values import Action
from codemem.console.access import Visit
from codemem.console.pages.dashboard import shelves_of
from codemem.console.refusals import InputRefused
from graph import queries as graph
from graph import services as graph_services
from graph.remotes import redact_credentials
from graph.values import RefState
from indexing import queries as indexing
from indexing import services as indexing_services
from indexing.signing import webhook_secret
from workers import queue

_LONGEST_URL = 500
_HOSTS = ("github", "gitlab", "gitea", "forgejo")


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch and what the graph shows of it."""

    name: str
    state: RefState
    is_default: bool


def index(visit: Visit) -> HttpResponse:
    """List the repositories of a namespace; POST registers one and has it indexed."""
    if visit.request.method == "POST":
        return _registered(visit)
    context = {
        "shelves": shelves_of(visit, (visit.namespace_id,)),
        "may_manage": visit.can(Action.MANAGE_REPOSITORIES),
    }
    if visit.is_fragment:
        return visit.fragment("dashboard/shelves.html", context)
    return visit.render("repositories/index.html", context, title="Repositories")


def show(visit: Visit) -> HttpResponse:
    """Show one repository: what is indexed of it, and its newest runs."""
    return _shown(visit)


def show_webhook(visit: Visit) -> HttpResponse:
    """Show what a git host must be told, secret included, on this answer only."""
    visit.require(Action.MANAGE_REPOSITORIES)
    assert visit.repository is not None
    account_services.record(
        actor=visit.caller.username,
        action="repository.show_webhook_secret",
        target=visit.repository.name,
        namespace=accounts.find_namespace(caller=visit.caller, name=str(visit.namespace_id)),
    )
    response = _shown(visit, secret=webhook_secret(visit.repository_id))
    response["Cache-Control"] = "no-store"
    return response


def request_index(visit: Visit) -> HttpResponse:
    """Have a worker fetch the repository and bring the graph of a branch up to its head."""
    visit.require(Action.REQUEST_INDEX)
    branch = visit.typed("branch")[:255]
    _index(visit, visit.repository_id, branch)
    visit.say(f"A worker indexes {branch or 'the default branch'} now.")
    return visit.back()


def branches(visit: Visit) -> HttpResponse:
    """List the branches that were seen, and what the graph shows of each."""
    assert visit.repository is not None
    default = visit.repository.default_branch
    names = graph.list_branches(repository_id=visit.repository_id)
    states = graph.list_ref_states(asked=[(visit.repository_id, name) for name in names])
    found = [
        Branch(name=state.ref, state=state, is_default=state.ref == default)
        for state in states.values()
    ]
    found.sort(key=lambda branch: (not branch.is_default, branch.name))
    context = {"branches": found, "may_index": visit.can(Action.REQUEST_INDEX)}
    return visit.render("repositories/branches.html", context, title="Branches")


def runs(visit: Visit) -> HttpResponse:
    """List the newest runs; htmx asks again while one of them is under way."""
    newest = indexing.recent_runs(repository_id=visit.repository_id)
    context = {
        "runs": newest,
        "is_live": any(not one.is_over for one in newest),
        "may_index": visit.can(Action.REQUEST_INDEX),
    }
    if visit.is_fragment:
        return visit.fragment("repositories/run_rows.html", context)
    return visit.render("repositories/runs.html", context, title="Index runs")


def run(visit: Visit, run_id: UUID) -> HttpResponse:
    """Show one run with its progress; htmx asks again until it is over."""
    found = indexing.find_run(run_id=run_id)
    if found is None or found.repository_id != visit.repository_id:
        raise Http404
    if visit.is_fragment:
        return visit.fragment("repositories/run_progress.html", {"run": found})
    title = f"Run of {found.ref or 'the default branch'}"
    crumbs = (("Index runs", visit.url("runs")),)
    return visit.render("repositories/run.html", {"run": found}, title=title, crumbs=crumbs)


def _shown(visit: Visit, *, secret: str = "") -> HttpResponse:
    assert visit.repository is not None
    newest = indexing.recent_runs(repository_id=visit.repository_id)
    context = {
        "state": visit.ref_state(),
        "address": redact_credentials(visit.repository.url),
        "runs": newest[:5],
        "is_live": any(not one.is_over for one in newest[:5]),
        "nodes": indexing.count_nodes(repository_id=visit.repository_id),
        "important": graph.important_nodes(repository_ids=[visit.repository_id], limit=8),
        "may_manage": visit.can(Action.MANAGE_REPOSITORIES),
        "may_index": visit.can(Action.REQUEST_INDEX),
        "secret": secret,
        "hooks": [
            (host, f"{settings.PUBLIC_URL}/webhooks/{host}/{visit.repository_id}")
            for host in _HOSTS
        ],
    }
    return visit.render("repositories/show.html", context, title=visit.repository.name)


def _registered(visit: Visit) -> HttpResponse:
    visit.require(Action.MANAGE_REPOSITORIES)
    name, url = visit.typed("name"), visit.typed("url")
    if not 0 < len(url) <= _LONGEST_URL:
        raise InputRefused("Say where the repository is: an address that git can clone.")
    namespace = accounts.find_namespace(caller=visit.caller, name=str(visit.namespace_id))
    assert namespace is not None
    try:
        made = graph_services.register_repository(
            namespace=namespace,
            name=name,
            url=url,
            default_branch=visit.typed("default_branch")[:255],
            created_by=accounts.get_user(user_id=visit.caller.user_id),
        )
    except ValidationError as error:
        raise InputRefused(" ".join(error.messages)) from error
    _index(visit, made.pk, "")
    visit.say(f"{name} is registered; a worker indexes it now.")
    return visit.go("repository", repository=name)


def _index(visit: Visit, repository_id: UUID, ref: str) -> None:
    run_id = indexing_services.request_index(
        repository_id=repository_id, ref=ref, requested_by=visit.caller.username
    )
    try:
        queue.index(run_id=run_id)
    except queue.QueueUnavailable as error:
        # The run is a row: it is sent when Redis is back.
        visit.warn(str(error))
