"""The palette and its page: pages, repositories, symbols and memories that a few letters mean."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.http import HttpResponse

from codemem.accounts.values import Action
from codemem.console import navigation
from codemem.console.access import Visit
from graph import queries as graph
from graph import search
from graph.values import RepositoryValue
from memory import queries as memory

_FEWEST_LETTERS: Final = 2
_PAGES: Final = 6
_SHOWN: Final = 6


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing that was found: where it is, what it is called, and whose it is."""

    address: str
    icon: str
    label: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    title: str
    hits: list[Hit]


def find(visit: Visit) -> HttpResponse:
    """Answer what was typed so far; the palette asks with every letter."""
    query = visit.parameter("q")[:200]
    here = _place(visit)
    context = {"query": query, "groups": [group for group in _groups(here, query) if group.hits]}
    if visit.is_fragment:
        return visit.fragment("finding/results.html", context)
    return visit.render("finding/show.html", context, title="Find")


def _place(visit: Visit) -> Visit:
    """Return the visit as of the page that the palette was opened on."""
    wanted = {name: visit.parameter(name) for name in ("namespace", "repository")}
    return visit.elsewhere(namespace=wanted["namespace"], repository=wanted["repository"])


def _groups(visit: Visit, query: str) -> Iterator[Group]:
    yield Group("Pages", list(_pages(visit, query))[:_PAGES])
    if len(query) < _FEWEST_LETTERS:
        return
    namespace_ids = _namespaces(visit)
    repositories = {one.id: one for one in graph.list_repositories(namespace_ids=namespace_ids)}
    yield Group("Repositories", list(_repositories(visit, repositories, query))[:_SHOWN])
    yield Group("Code", list(_symbols(visit, repositories, query)))
    yield Group("Memories", list(_memories(visit, namespace_ids, query)))


def _namespaces(visit: Visit) -> tuple[UUID, ...]:
    """Return where to look: the namespace one is in, else all."""
    if visit.namespace is not None:
        return (visit.namespace.id,)
    return visit.caller.namespaces_for(Action.READ_MEMORY)


def _pages(visit: Visit, query: str) -> Iterator[Hit]:
    for section in navigation.sections(visit):
        for link in section.links:
            if query.lower() in f"{link.label} {section.title}".lower():
                yield Hit(link.address, link.icon, link.label, section.title)


def _repositories(
    visit: Visit, repositories: Mapping[UUID, RepositoryValue], query: str
) -> Iterator[Hit]:
    for one in repositories.values():
        if query.lower() in one.name.lower():
            namespace = visit.caller.names[one.namespace_id]
            address = visit.url("repository", namespace=namespace, repository=one.name)
            yield Hit(address, "box", one.name, namespace)


def _symbols(
    visit: Visit, repositories: Mapping[UUID, RepositoryValue], query: str
) -> Iterator[Hit]:
    own = [visit.repository.id] if visit.repository else list(repositories)
    for hit in search.search_symbols(
        repository_ids=own, query=query, mode=search.Mode.TEXT, embedded=None, limit=_SHOWN
    ):
        repository = repositories.get(hit.node.repository_id) if hit.node.repository_id else None
        if repository is None:
            continue
        address = visit.url(
            "symbol",
            namespace=visit.caller.names[repository.namespace_id],
            repository=repository.name,
            node_id=hit.node.id,
        )
        yield Hit(address, "code", hit.node.qualified_name, hit.node.path)


def _memories(visit: Visit, namespace_ids: tuple[UUID, ...], query: str) -> Iterator[Hit]:
    for found in memory.memories_saying(
        caller=visit.caller, namespace_ids=namespace_ids, text=query, limit=_SHOWN, now=visit.now
    ):
        address = visit.url("memory", namespace=found.namespace, memory_id=found.id)
        yield Hit(address, "memory", found.content, found.memory_type)
