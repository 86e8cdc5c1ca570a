"""Reads of what crosses repositories: packages, endpoints, requests, topics, edges."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import F, OuterRef, Q, QuerySet, Subquery

from graph.models import Repository
from indexing.crossing.imports import OuterImport, outer_from_json
from indexing.crossing.linking import OwnPackage
from indexing.crossing.paths import template_of
from indexing.crossing.traffic import FileTraffic
from indexing.models import (
    CrossingEdge,
    CrossingFile,
    CrossingState,
    Endpoint,
    HttpRequest,
    OuterPackage,
    PackageDependency,
    PackageManifest,
    TopicUse,
)


def traffic_of(*, repository_id: UUID) -> dict[str, FileTraffic]:
    """Return path -> what it says, for the files that carry traffic. One query."""
    rows = CrossingFile.objects.filter(repository_id=repository_id, has_traffic=True)
    return {
        path: FileTraffic.from_json(traffic)
        for path, traffic in rows.order_by("path").values_list("path", "traffic").iterator()
    }


def outer_imports_of(*, repository_id: UUID) -> Iterator[tuple[str, OuterImport]]:
    """Yield the imports that lead out of a repository, by path. One query."""
    rows = CrossingFile.objects.filter(repository_id=repository_id, has_imports=True)
    for path, imports in rows.order_by("path").values_list("path", "imports").iterator():
        for one in outer_from_json(imports):
            yield path, one


def own_packages(*, namespace_id: UUID) -> list[OwnPackage]:
    """Return the packages that repositories of a namespace declare. One query."""
    rows = PackageManifest.objects.filter(repository__namespace_id=namespace_id).exclude(name="")
    return [
        OwnPackage(
            row.manager,
            row.name,
            row.repository_id,
            row.path.rpartition("/")[0],
            tuple(row.namespaces),
        )
        for row in rows.order_by("path")
    ]


def siblings_looking_at(*, repository: Repository, at_code: bool, at_endpoints: bool) -> list[UUID]:
    """Return the repositories whose edges may change with this one's code or endpoints."""
    looking = Q(pk__in=[])
    if at_code:
        mine = PackageManifest.objects.filter(repository=repository).exclude(name="")
        users = OuterPackage.objects.filter(Q(other=repository) | Q(name__in=mine.values("name")))
        looking |= Q(pk__in=users.values("repository"))
    if at_endpoints:
        looking |= Q(pk__in=HttpRequest.objects.values("repository"))
    siblings = Repository.objects.filter(looking, namespace_id=repository.namespace_id)
    return list(siblings.exclude(pk=repository.pk).values_list("pk", flat=True))


# --- What people and agents ask -------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Rows of one kind: how many fit the question, and the first of them."""

    total: int
    rows: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossingFilter:
    """Which rows are wanted: `text` is part of a name, a path, a route or a topic."""

    text: str = ""
    method: str = ""
    include_tests: bool = False
    limit: int = 50


def packages_of(*, repository_id: UUID, wanted: CrossingFilter) -> Section:
    """Return the packages that a repository declares, by manifest. Two queries."""
    rows = PackageManifest.objects.filter(repository_id=repository_id).exclude(name="")
    return _section(
        rows.filter(_contains(wanted, "name", "path")).order_by("path"),
        wanted,
        ("manager", "name", "version", "path"),
    )


def workspaces_of(*, repository_id: UUID, wanted: CrossingFilter) -> Section:
    """Return the workspaces of a repository with the manifests of their members. Two queries."""
    rows = PackageManifest.objects.filter(repository_id=repository_id, members__isnull=False)
    return _section(
        rows.filter(_contains(wanted, "path")).order_by("path"),
        wanted,
        ("manager", "path", "members"),
    )


def dependencies_of(*, repository_id: UUID, wanted: CrossingFilter) -> Section:
    """Return the dependencies of a repository; `repository` names the sibling that makes one."""
    makers = PackageManifest.objects.filter(
        manager=OuterRef("manager"),
        name=OuterRef("name"),
        repository__namespace_id=OuterRef("repository__namespace_id"),
    )
    rows = PackageDependency.objects.filter(
        _contains(wanted, "name", "path"), repository_id=repository_id
    ).annotate(made_by=Subquery(makers.values("repository__name")[:1]))
    return _section(
        rows.order_by("path", "pk"),
        wanted,
        ("manager", "name", "range", "scope", "path", "made_by"),
    )


def unresolved_of(*, repository_id: UUID, wanted: CrossingFilter) -> Section:
    """Return the packages whose uses the namespace does not show all of, most used first."""
    rows = OuterPackage.objects.filter(
        _contains(wanted, "name"), repository_id=repository_id, uses__gt=F("resolved")
    ).annotate(made_by=F("other__name"))
    return _section(
        rows.order_by("-uses", "name"),
        wanted,
        ("manager", "name", "imports", "uses", "resolved", "made_by", "unresolved"),
    )


def endpoints_of(*, repository_id: UUID, wanted: CrossingFilter) -> Section:
    """Return the endpoints of a repository. Two queries."""
    rows = _traffic(Endpoint, repository_id, wanted, "route", "path", "handler_name")
    if wanted.method:
        rows = rows.filter(method__in=(wanted.method, "ANY"))
    return _section(
        rows.order_by("route", "method", "path", "line"),
        wanted,
        ("method", "route", "framework", "handler_name", *_PLACE),
    )


def requests_of(*, repository_id: UUID, wanted: CrossingFilter) -> Section:
    """Return the requests that a repository sends. Two queries."""
    rows = _traffic(HttpRequest, repository_id, wanted, "url", "path", "host")
    if wanted.method:
        rows = rows.filter(method__in=(wanted.method, "ANY"))
    return _section(
        rows.order_by("path", "line"), wanted, ("method", "url", "host", "library", *_PLACE)
    )


def topic_uses_of(*, repository_id: UUID, wanted: CrossingFilter) -> Section:
    """Return where a repository publishes and subscribes. Two queries."""
    rows = _traffic(TopicUse, repository_id, wanted, "topic", "path", "bus")
    return _section(
        rows.order_by("bus", "topic", "path", "line"),
        wanted,
        ("bus", "topic", "is_publishing", *_PLACE),
    )


def edges_between(*, repository_id: UUID, wanted: CrossingFilter) -> Section:
    """Return the edges between a repository and its siblings, in both directions. Two queries."""
    touching = Q(repository_id=repository_id, other__isnull=False) | Q(other_id=repository_id)
    # Requests to its own endpoints cross files, not repositories.
    rows = (
        CrossingEdge.objects.filter(touching, _contains(wanted, "source_id", "target_id"))
        .exclude(repository_id=F("other_id"))
        .annotate(source_repository=F("repository__name"), target_repository=F("other__name"))
    )
    return _section(rows.order_by("kind", "-confidence", "source_id", "target_id"), wanted, _EDGE)


def edges_to(*, namespace_id: UUID, text: str, wanted: CrossingFilter) -> Section:
    """Return the edges of a namespace to the endpoints, topics and packages that a text names.

    Readings, most exact first: the whole id, method and path or topic's name, part of one.
    """
    rows = CrossingEdge.objects.filter(
        repository__namespace_id=namespace_id, kind__in=_SHARED_KINDS
    ).annotate(source_repository=F("repository__name"), target_repository=F("other__name"))
    for reading in _readings_of_target(text):
        found = rows.filter(reading)
        if found.exists():
            return _section(found.order_by("target_id", "kind", "-confidence"), wanted, _EDGE)
    return Section(total=0, rows=())


def refreshed_at(*, repository_id: UUID) -> datetime | None:
    """Return when a repository was last looked at for what crosses its border."""
    states = CrossingState.objects.filter(repository_id=repository_id)
    return states.values_list("refreshed_at", flat=True).first()


_PLACE: Final = ("path", "line", "symbol", "certainty", "is_test", "text")
_EDGE: Final = (
    "kind", "source_repository", "source_id", "target_repository", "target_id", "confidence",
    "rule", "path", "line", "text",
)  # fmt: skip
_SHARED_KINDS: Final = (
    "HANDLES", "HTTP_CALLS", "PUBLISHES_TO", "SUBSCRIBES_TO", "DEPENDS_ON", "IMPORTS",
)  # fmt: skip
_METHOD_AND_PATH: Final = re.compile(r"(?:([A-Za-z]+)\s+)?(/\S*)")


def _readings_of_target(text: str) -> Iterator[Q]:
    text = text.strip()
    yield Q(target_id=text)
    found = _METHOD_AND_PATH.fullmatch(text)
    if found:
        method, template = (found[1] or "").upper(), template_of(found[2])
        method_and_path = f"{method} {template}" if method else f" {template}"
        yield Q(target_id__startswith="endpoint:", target_id__endswith=method_and_path)
        yield Q(target_id__startswith="endpoint:", target_id__endswith=template)
        yield Q(target_id__startswith="endpoint:", target_id__contains=template.rstrip("/"))
        return
    for prefix in ("topic:", "pkg:"):
        yield Q(target_id__startswith=prefix, target_id__endswith=f":{text}")
    yield Q(target_id__startswith="topic:", target_id__contains=text) | Q(
        target_id__startswith="endpoint:", target_id__contains=text
    )


def _traffic(
    model: type[Any], repository_id: UUID, wanted: CrossingFilter, *names: str
) -> QuerySet[Any]:
    rows: QuerySet[Any] = model.objects.filter(
        _contains(wanted, *names), repository_id=repository_id
    )
    return rows if wanted.include_tests else rows.filter(is_test=False)


def _contains(wanted: CrossingFilter, *names: str) -> Q:
    condition = Q()
    for name in names if wanted.text else ():
        condition |= Q(**{f"{name}__icontains": wanted.text})
    return condition


def _section(rows: QuerySet[Any], wanted: CrossingFilter, names: Sequence[str]) -> Section:
    return Section(total=rows.count(), rows=tuple(rows.values(*names)[: wanted.limit]))
