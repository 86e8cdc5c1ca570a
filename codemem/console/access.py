"""Who is signed in, which namespace and repository a page is about, and what it may show.

`page` and `act` wrap every view of the console: they turn the session into the same `Caller` that
tools get, find the namespace and the repository of the address among what that caller sees (404
for the rest) and hand the view one `Visit`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import wraps
from typing import Any, Final
from urllib.parse import urlencode, urlsplit
from uuid import UUID

import structlog
from django.contrib import messages
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ObjectDoesNotExist, PermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from redis import RedisError

from codemem.accounts.services import caller_of_user
from codemem.accounts.values import PERMISSIONS, Action, Caller
from codemem.console import navigation, refusals
from graph import queries as graph
from graph.values import RefState, RepositoryValue

log = structlog.get_logger(__name__)

_LONGEST_PARAMETER: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A namespace as its members see it."""

    id: UUID
    name: str
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One request for a page: who asks, when, about which namespace, repository and branch.

    `namespace` and `repository` are None on pages that are about no single one. `ref` is what
    ?ref= named, blank for the default branch.
    """

    request: HttpRequest
    caller: Caller
    now: datetime
    namespace: Place | None = None
    repository: RepositoryValue | None = None
    ref: str = ""

    @property
    def namespace_id(self) -> UUID:
        assert self.namespace is not None
        return self.namespace.id

    @property
    def repository_id(self) -> UUID:
        assert self.repository is not None
        return self.repository.id

    @property
    def place(self) -> tuple[str, str]:
        """The names of namespace and repository, blank where the page has none."""
        return (
            self.namespace.name if self.namespace else "",
            self.repository.name if self.repository else "",
        )

    @property
    def page(self) -> str:
        match = self.request.resolver_match
        return (match.url_name or "") if match else ""

    @property
    def is_fragment(self) -> bool:
        """Whether htmx asks for a part of a page; a boosted or restored page is a whole one."""
        headers = self.request.headers
        return "HX-Request" in headers and "HX-History-Restore-Request" not in headers

    def can(self, action: Action) -> bool:
        return self.caller.can(action, self.namespace_id)

    def require(self, action: Action) -> None:
        """Raise PermissionDenied with a sentence unless the caller may do this here."""
        if not self.can(action):
            role = PERMISSIONS[action].role.title
            raise PermissionDenied(f"You may not {action} here: it takes the role {role}.")

    def parameter(self, name: str, default: str = "") -> str:
        """Return what the address says of `name`, without spaces around it."""
        return self.request.GET.get(name, default).strip()[:_LONGEST_PARAMETER]

    def number(self, name: str, default: int, *, minimum: int = 0, maximum: int = 10_000) -> int:
        """Return a number of the address; the default for what is none."""
        text = self.parameter(name)
        if not text.isdecimal() or len(text) > len(str(maximum)):
            return default
        return min(max(int(text), minimum), maximum)

    def typed(self, name: str) -> str:
        """Return what a form says of `name`, without spaces around it."""
        return self.request.POST.get(name, "").strip()

    def repository_called(self, name: str) -> UUID | None:
        """Return a repository of this namespace, none for no name; raise InputRefused."""
        if not name:
            return None
        found = graph.find_repositories(namespace_ids=[self.namespace_id], name=name)
        if not found:
            raise refusals.InputRefused(f"There is no repository {name[:63]!r} here.")
        return found[0].id

    def ref_state(self) -> RefState:
        """Return what the graph shows of the page's branch. One query."""
        return graph.get_ref_state(
            repository_id=self.repository_id,
            ref=self.ref or None,
            user_id=self.caller.user_id,
        )

    def url(self, name: str, /, **arguments: Any) -> str:
        """Return the address of a page, of this visit's namespace, repository and branch.

        `query` is a mapping of parameters; the branch comes along where the page has one.
        """
        query = {key: value for key, value in arguments.pop("query", {}).items() if value != ""}
        namespace, repository = self.place
        place = {"namespace": namespace or None, "repository": repository or None}
        return navigation.address(name, ref=self.ref, query=query, **(place | arguments))

    def render(
        self,
        template: str,
        context: Mapping[str, Any] | None = None,
        *,
        title: str,
        crumbs: tuple[tuple[str, str], ...] = (),
        status: int = 200,
    ) -> HttpResponse:
        """Render a page: `template` below templates/console/, `crumbs` as (label, address)."""
        shown = {**self.context(), "title": title, "crumbs": crumbs, **(context or {})}
        return render(self.request, f"console/{template}", shown, status=status)

    def fragment(self, template: str, context: Mapping[str, Any] | None = None) -> HttpResponse:
        """Render a part of a page for htmx: no navigation, no flash messages taken."""
        shown = {"visit": self, **(context or {})}
        return HttpResponse(render_to_string(f"console/{template}", shown, request=self.request))

    def context(self) -> dict[str, Any]:
        """Return what the frame around every page shows."""
        return {
            "visit": self,
            "sections": navigation.sections(self),
            "namespaces": sorted(self.caller.names.values()),
            "repositories": self._repositories(),
        }

    def elsewhere(self, *, namespace: str, repository: str) -> "Visit":
        """Return this visit as of another place, as far as the caller sees it."""
        key = self.caller.find_namespace(namespace) if namespace else None
        if key is None:
            return self
        place = _namespace(self.caller, namespace)
        found = graph.list_repositories(namespace_ids=(key,)) if repository else []
        named = next((one for one in found if one.name == repository), None)
        return replace(self, namespace=place, repository=named)

    def say(self, sentence: str) -> None:
        """Show a sentence on the next page: something was done."""
        messages.success(self.request, sentence)

    def warn(self, sentence: str) -> None:
        """Show a sentence on the next page: something was not done."""
        messages.error(self.request, sentence)

    def go(self, name: str, /, **arguments: Any) -> HttpResponse:
        """Lead the browser to a page of this visit."""
        return HttpResponseRedirect(self.url(name, **arguments))

    def back(self) -> HttpResponse:
        """Lead the browser to where it came from, as far as that is the console; else home."""
        return HttpResponseRedirect(_referrer(self.request) or reverse("console:dashboard"))

    def _repositories(self) -> list[RepositoryValue]:
        if self.namespace is None:
            return []
        found = graph.list_repositories(namespace_ids=(self.namespace.id,))
        return sorted(found, key=lambda repository: repository.name)


View = Callable[..., HttpResponse]


def page(view: View, *, to: Action | None = None) -> View:
    """Wrap a view that shows something: `view(visit, ...)`; `to` is what one must be allowed."""
    return _taking(_visited(view, to=to), "GET", "HEAD")


def act(view: View, *, to: Action | None = None) -> View:
    """Wrap a view that changes something: POST only, a refusal is told on the page before."""
    return _taking(_visited(view, to=to), "POST")


def form(view: View, *, to: Action | None = None) -> View:
    """Wrap a view that shows a form and takes it."""
    return _taking(_visited(view, to=to), "GET", "HEAD", "POST")


def _taking(view: View, *methods: str) -> View:
    @wraps(view)
    def taken(request: HttpRequest, **arguments: Any) -> HttpResponse:
        if request.method in methods:
            return view(request, **arguments)
        sentence = "This address takes what a page sends, and shows nothing by itself."
        answer = trouble(405, "Nothing to see here", sentence)
        answer["Allow"] = ", ".join(methods)
        return answer

    return taken


def _visited(view: View, *, to: Action | None) -> View:
    @wraps(view)
    def visited(request: HttpRequest, **arguments: Any) -> HttpResponse:
        try:
            if isinstance(request.user, AnonymousUser):
                return _to_sign_in(request)
            visit = _visit(request, arguments)
            if to is not None:
                visit.require(to)
            return view(visit, **arguments)
        except PermissionDenied as error:
            return trouble(403, "Not allowed", str(error))
        except Http404 as error:
            return trouble(404, "No such page", str(error))
        except Exception as error:
            answer = _told(request, error)
            if answer is None:
                raise
            return answer

    return visited


def _visit(request: HttpRequest, arguments: dict[str, Any]) -> Visit:
    """Return the visit of a request, and take the names of its place out of the arguments."""
    for given in (*request.GET.items(), *request.POST.items(), *arguments.items()):
        if any("\0" in str(part) for part in given):
            raise Http404
    assert not isinstance(request.user, AnonymousUser)
    caller = caller_of_user(user=request.user)
    structlog.contextvars.bind_contextvars(user=caller.username)
    namespace = repository = None
    if "namespace" in arguments:
        namespace = _namespace(caller, arguments.pop("namespace"))
    if namespace is not None and "repository" in arguments:
        repository = _repository(namespace, arguments.pop("repository"))
    return Visit(
        request=request,
        caller=caller,
        now=timezone.now(),
        namespace=namespace,
        repository=repository,
        ref=request.GET.get("ref", "")[:255] if repository else "",
    )


def _namespace(caller: Caller, name: str) -> Place:
    key = caller.find_namespace(name)
    if key is None:
        raise Http404
    return Place(id=key, name=caller.names[key], role=caller.roles[key].title)


def _repository(namespace: Place, name: str) -> RepositoryValue:
    # By name only: an address that also took remotes would have many spellings for one page.
    found = graph.list_repositories(namespace_ids=(namespace.id,))
    for repository in found:
        if repository.name == name:
            return repository
    raise Http404


def _told(request: HttpRequest, error: Exception) -> HttpResponse | None:
    """Return what a person sees of an error, or None when it needs a code change."""
    if refusals.is_unknown(error) or isinstance(error, ObjectDoesNotExist):
        return trouble(404, "No such page", "")
    if refusals.is_refused(error):
        if request.method != "POST":
            return trouble(400, "This cannot be shown", str(error))
        messages.error(request, str(error))
        return HttpResponseRedirect(_referrer(request) or reverse("console:dashboard"))
    if isinstance(error, OperationalError | InterfaceError | RedisError):
        log.warning("console_without_service", reason=type(error).__name__)
        part = "Redis" if isinstance(error, RedisError) else "The database"
        sentence = "The server recovers by itself: reload in a moment."
        return trouble(503, f"{part} does not answer", sentence)
    return None


def trouble(status: int, title: str, sentence: str) -> HttpResponse:
    """Return a page that says what is wrong; it asks neither the database nor Redis."""
    context = {"title": title, "sentence": sentence, "status": status}
    return HttpResponse(render_to_string("console/trouble.html", context), status=status)


def _to_sign_in(request: HttpRequest) -> HttpResponse:
    """Lead to the door, and from there to the page that was asked for or that a form was on."""
    is_fragment = "HX-Request" in request.headers
    if is_fragment or request.method == "POST":
        parameters = {"next": _came_from(request) or reverse("console:dashboard")}
    else:
        parameters = {"next": request.get_full_path()}
    if request.method == "POST":
        parameters["lost"] = "yes"
    address = f"{reverse('console:sign-in')}?{urlencode(parameters)}"
    if is_fragment:
        # A redirect would put the form for signing in where the fragment belongs.
        return HttpResponse(status=401, headers={"HX-Redirect": address})
    return HttpResponseRedirect(address)


def _came_from(request: HttpRequest) -> str | None:
    """Return the path of the console's page that a request was sent from."""
    came_from = request.headers.get("Referer", "")
    if not is_ours(request, came_from):
        return None
    parts = urlsplit(came_from)
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    return path if parts.path.startswith("/console") else None


def _referrer(request: HttpRequest) -> str | None:
    """Return the page before, which a refused form is told on; never the form's own address."""
    path = _came_from(request)
    return path if path is not None and urlsplit(path).path != request.path else None


def is_ours(request: HttpRequest, address: str) -> bool:
    """Say whether an address leads to this server: nobody is sent elsewhere by a link to us."""
    return url_has_allowed_host_and_scheme(
        address, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
