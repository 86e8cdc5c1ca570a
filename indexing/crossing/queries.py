"""Reads of what crosses repositories: packages, endpoints, requests, topics, edges."""

from collections.abc import Iterator
from uuid import UUID

from django.db.models import Q

from graph.models import Repository
from indexing.crossing.imports import OuterImport, outer_from_json
from indexing.crossing.linking import OwnPackage
from indexing.crossing.traffic import FileTraffic
from indexing.models import (
    CrossingFile,
    HttpRequest,
    OuterPackage,
    PackageManifest,
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
