"""The pass after a push: what a repository says across its border, and the edges that follow.

    changed files -> what they say (by blob) -> composed rows -> edges, of this repository and then,
    each in a task of its own, of the siblings that look at it

Everything is compared with what is stored, and only the difference is written.
"""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db import models, transaction

from graph.models import Repository
from indexing.crossing import queries
from indexing.crossing.composition import Composition, Place
from indexing.crossing.edges import write_edges
from indexing.crossing.files import documents_of, live_files, refresh_files
from indexing.crossing.packages import is_package_manifest, read_packages
from indexing.crossing.surroundings import GraphSurroundings
from indexing.crossing.values import Packages
from indexing.languages import is_test_path
from indexing.locks import Work, only_worker
from indexing.models import (
    CrossingState,
    Endpoint,
    HttpRequest,
    PackageDependency,
    PackageManifest,
    TopicUse,
)

_BATCH: Final = 500


class CrossingBusy(Exception):
    """Another worker looks across this repository, perhaps at what it was before: ask again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossingReport:
    """What a pass did, and which siblings should look again."""

    files_read: int
    rows_written: int
    edges_written: int
    siblings: tuple[UUID, ...]


def refresh_crossing(*, repository_id: UUID, now: datetime) -> CrossingReport | None:
    """Bring what a repository says across its border up to its live graph.

    None when there is no such repository; raise CrossingBusy. Idempotent: a second pass over the
    same graph writes nothing.
    """
    with _alone(repository_id):
        repository = Repository.objects.filter(pk=repository_id).first()
        return _refresh(repository, now) if repository is not None else None


def link_crossing(*, repository_id: UUID) -> int | None:
    """Recompute the edges that leave a repository, for a sibling has changed; count the written.

    None when there is no such repository; raise CrossingBusy.
    """
    with _alone(repository_id):
        repository = Repository.objects.filter(pk=repository_id).first()
        return write_edges(repository) if repository is not None else None


@contextmanager
def _alone(repository_id: UUID) -> Iterator[None]:
    with only_worker(work=Work.CROSSING, repository_id=repository_id) as is_ours:
        if not is_ours:
            raise CrossingBusy(f"{repository_id} is being looked at.")
        yield


def _refresh(repository: Repository, now: datetime) -> CrossingReport:
    state, _ = CrossingState.objects.get_or_create(repository=repository)
    files_read = refresh_files(repository)
    packages_written = _refresh_packages(repository, state)
    endpoints_written, others_written = _refresh_traffic(repository)
    edges_written = write_edges(repository)
    siblings = queries.siblings_looking_at(
        repository=repository,
        at_code=files_read > 0 or packages_written > 0,
        at_endpoints=endpoints_written > 0,
    )
    # Last, so that a pass that was killed is made again as a whole.
    state.refreshed_at = now
    state.save()
    return CrossingReport(
        files_read=files_read,
        rows_written=packages_written + endpoints_written + others_written,
        edges_written=edges_written,
        siblings=tuple(siblings),
    )


# --- Packages -------------------------------------------------------------------------------------
def _refresh_packages(repository: Repository, state: CrossingState) -> int:
    """Read the manifests again if one of them has changed; return how many rows were written."""
    manifests = {
        file.path: file.blob for file in live_files(repository) if is_package_manifest(file.path)
    }
    digest = hashlib.sha256(repr(sorted(manifests.items())).encode()).hexdigest()
    if digest == state.manifests_digest:
        return 0
    texts = documents_of(repository, manifests)
    if texts is None:
        return 0  # the mirror is on another host, whose next pass will see them
    written = _write_packages(repository, read_packages(texts))
    state.manifests_digest = digest
    return written


def _write_packages(repository: Repository, packages: Packages) -> int:
    members = {one.path: list(one.members) for one in packages.workspaces}
    manifests = [
        PackageManifest(
            repository=repository,
            path=one.path,
            manager=one.manager.value,
            name=one.name,
            version=one.version,
            namespaces=list(one.namespaces),
            members=members.get(one.path),
        )
        for one in packages.manifests
    ]
    dependencies = [
        PackageDependency(
            repository=repository,
            path=one.path,
            manager=need.manager.value,
            name=need.name,
            range=need.range,
            scope=need.scope.value,
            alias=need.alias,
        )
        for one in packages.manifests
        for need in one.dependencies
    ]
    return _replace(repository, PackageManifest, manifests) + _replace(
        repository, PackageDependency, dependencies
    )


# --- Traffic --------------------------------------------------------------------------------------
def _refresh_traffic(repository: Repository) -> tuple[int, int]:
    """Compose what the files say; return how many endpoints and how many other rows it wrote."""
    files = queries.traffic_of(repository_id=repository.pk)
    surroundings = GraphSurroundings(
        namespace_id=repository.namespace_id, repository_id=repository.pk, paths=files
    )
    composition = Composition(files, surroundings)
    endpoints = [
        Endpoint(
            **_place_of(repository, one),
            method=one.method,
            route=one.route,
            template=one.template,
            framework=one.framework,
            handler_path=(one.handler or _NOWHERE).path,
            handler_name=(one.handler or _NOWHERE).local_name,
        )
        for one in composition.endpoints()
    ]
    requests = [
        HttpRequest(
            **_place_of(repository, one),
            method=one.method,
            url=one.url,
            host=one.host[:255],
            template=one.template,
            library=one.library,
        )
        for one in composition.requests()
    ]
    messages = [
        TopicUse(
            **_place_of(repository, one),
            bus=one.bus,
            topic=one.topic,
            is_publishing=one.is_publishing,
        )
        for one in composition.messages()
    ]
    others = _replace(repository, HttpRequest, requests) + _replace(repository, TopicUse, messages)
    return _replace(repository, Endpoint, endpoints), others


_NOWHERE: Final = Place("", "")


class _Found(NamedTuple):
    """What endpoints, requests and messages have in common."""

    path: str
    symbol: str
    certainty: float
    line: int
    text: str


def _place_of(repository: Repository, one: Any) -> dict[str, Any]:
    found = _Found(one.path, one.symbol, one.certainty, one.line, one.text)
    return {
        **found._asdict(),
        "text": _storable(found.text)[:300],
        "repository": repository,
        "is_test": is_test_path(found.path),
    }


def _storable(text: str) -> str:
    return text.replace("\0", "")


# --- Rows -----------------------------------------------------------------------------------------
def _replace(
    repository: Repository, model: type[models.Model], rows: Iterable[models.Model]
) -> int:
    """Make the repository's rows of a model these, and return how many that wrote or deleted."""
    fields = model._meta.concrete_fields  # noqa: SLF001  Django's documented interface
    names = [field.attname for field in fields if not field.primary_key]
    wanted = {_values(row, names): row for row in rows}
    manager = model._default_manager  # noqa: SLF001
    stored = manager.filter(repository=repository).iterator()
    gone = [row.pk for row in stored if wanted.pop(_values(row, names), None) is None]
    with transaction.atomic():
        for start in range(0, len(gone), _BATCH):
            manager.filter(pk__in=gone[start : start + _BATCH]).delete()
        manager.bulk_create(list(wanted.values()), batch_size=_BATCH)
    return len(gone) + len(wanted)


def _values(row: models.Model, names: Iterable[str]) -> tuple[object, ...]:
    return tuple(
        tuple(value) if isinstance(value, list) else value
        for value in (getattr(row, name) for name in names)
    )
