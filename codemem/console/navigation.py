"""The way around the console: which pages there are, by topic, and their addresses."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol
from urllib.parse import urlencode

from django.urls import NoReverseMatch, reverse

from codemem.accounts.values import Action


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the navigation; `to` hides it from those who may not."""

    page: str
    label: str
    icon: str
    to: Action | None = None


@dataclass(frozen=True, slots=True)
class Link:
    label: str
    icon: str
    address: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    links: tuple[Link, ...]


_HOME: Final = (Entry(page="dashboard", label="Dashboard", icon="home"),)
_REPOSITORY: Final = (
    Entry(page="repository", label="Overview", icon="box"),
    Entry(page="graph", label="Graph", icon="graph"),
    Entry(page="symbols", label="Symbols", icon="code"),
    Entry(page="branches", label="Branches", icon="branch"),
    Entry(page="history", label="History", icon="clock"),
    Entry(page="insights", label="Insights", icon="pulse"),
    Entry(page="repository-reviews", label="Reviews", icon="diff"),
    Entry(page="runs", label="Index runs", icon="play"),
)
_TEAM: Final = (
    Entry(page="repositories", label="Repositories", icon="box"),
    Entry(page="reviews", label="Reviews", icon="diff"),
    Entry(page="memories", label="Memories", icon="memory", to=Action.READ_MEMORY),
    Entry(page="queue", label="To decide", icon="inbox", to=Action.READ_MEMORY),
    Entry(page="sessions", label="Sessions", icon="terminal", to=Action.READ_MEMORY),
    Entry(page="handoffs", label="Handoffs", icon="handoff", to=Action.READ_MEMORY),
)
_MANAGE: Final = (
    Entry(page="members", label="Members", icon="people"),
    Entry(page="settings", label="Settings", icon="sliders"),
    Entry(page="audit", label="Audit", icon="shield", to=Action.MANAGE_MEMBERS),
)
_SERVER: Final = (
    Entry(page="namespaces", label="Namespaces", icon="layers"),
    Entry(page="tokens", label="Tokens", icon="key"),
    Entry(page="jobs", label="Jobs and health", icon="activity"),
)


class Here(Protocol):
    """What the navigation asks of a visit."""

    @property
    def place(self) -> tuple[str, str]: ...

    @property
    def page(self) -> str: ...

    def can(self, action: Action) -> bool: ...

    def url(self, name: str, /, **arguments: Any) -> str: ...


def sections(here: Here) -> list[Section]:
    """Return the navigation of a visit; what one may not see is left out."""
    namespace, repository = here.place
    drafted = [Section("", _links(here, _HOME))]
    if repository:
        drafted.append(Section(repository, _links(here, _REPOSITORY)))
    if namespace:
        drafted.append(Section(namespace, _links(here, _TEAM)))
        drafted.append(Section("Manage", _links(here, _MANAGE)))
    drafted.append(Section("Server", _links(here, _SERVER)))
    return [section for section in drafted if section.links]


def address(
    page: str,
    *,
    namespace: str | None,
    repository: str | None,
    ref: str = "",
    query: Mapping[str, Any] | None = None,
    **arguments: Any,
) -> str:
    """Return the address of a page; it takes of namespace and repository what it has.

    `ref` comes along only where the page is about a repository.
    """
    named = {
        key: value
        for key, value in {"namespace": namespace, "repository": repository}.items()
        if value is not None
    }
    for known in (named, {key: named[key] for key in named if key == "namespace"}, {}):
        path = _path(page, {**known, **arguments})
        if path is None:
            continue
        branch = {"ref": ref} if ref and "repository" in known else {}
        parameters = urlencode({**branch, **(query or {})}, doseq=True)
        return f"{path}?{parameters}" if parameters else path
    raise NoReverseMatch(f"The console has no page {page!r} with {sorted(arguments)}.")


def _path(page: str, names: Mapping[str, Any]) -> str | None:
    try:
        return reverse(f"console:{page}", kwargs=dict(names))
    except NoReverseMatch:
        return None


def _links(here: Here, entries: tuple[Entry, ...]) -> tuple[Link, ...]:
    links = []
    for entry in entries:
        if entry.to is not None and not here.can(entry.to):
            continue
        where = here.url(entry.page)
        links.append(Link(entry.label, entry.icon, where, is_current=_leads(entry, here.page)))
    return tuple(links)


def _leads(entry: Entry, page: str) -> bool:
    """Say whether the page that is shown is this entry's, or one of those that it leads to."""
    return page == entry.page or page in _BELOW.get(entry.page, ())


# Pages without a line of their own, by the line that they belong to.
_BELOW: Final[Mapping[str, tuple[str, ...]]] = {
    "memories": (
        *("memory", "memory-edit", "memory-new", "memory-split", "memory-merge"),
        *("memory-erase", "memory-timeline", "consolidation", "consolidation-run"),
    ),
    "sessions": ("session", "failures"),
    "handoffs": ("handoff-new", "work"),
    "reviews": ("review",),
    "symbols": ("symbol", "file"),
    "history": ("history-past", "history-drift"),
    "insights": ("insights-health", "insights-security", "insights-performance"),
    "runs": ("run",),
    "repository": ("repository-webhook",),
    "settings": ("namespace-delete",),
    "namespaces": ("erasure",),
    "dashboard": ("namespace",),
}
