"""Repositories and refs: which ones a caller may see, how they are found, what they show."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet

from codemem.accounts.values import Action, Caller
from codemem.plans import kept_rows
from graph.models import DEFAULT_LAYER, Layer, Ref, Repository, RepositoryAlias, Revision
from graph.remotes import normalize_remote
from graph.statements import statements
from graph.values import (
    LIVE,
    WORK_TREE,
    LayerValue,
    RefState,
    RepositoryValue,
    RevisionValue,
    View,
)


def visible_repositories(
    *, caller: Caller, action: Action = Action.READ_GRAPH
) -> QuerySet[Repository]:
    """Return the repositories of the namespaces in which the caller may do `action`."""
    return Repository.objects.filter(namespace_id__in=caller.namespaces_for(action)).select_related(
        "namespace"
    )


def list_repositories(*, namespace_ids: Sequence[UUID]) -> list[RepositoryValue]:
    """Return all repositories of some namespaces, by name. One query."""
    return _values(Repository.objects.filter(namespace_id__in=namespace_ids))


def namespaces_with_repositories() -> list[UUID]:
    """Return the namespaces that have a repository. One query."""
    rows = Repository.objects.order_by().values_list("namespace_id", flat=True)
    return list(rows.distinct())


def find_repositories(*, namespace_ids: Sequence[UUID], name: str | None) -> list[RepositoryValue]:
    """Return the repositories that a name, an id or a remote means; all of them without one.

    More than one when several namespaces use the name. A name goes before a remote. One query for
    an id or a name, one more for a remote.
    """
    if name is None:
        return list_repositories(namespace_ids=namespace_ids)
    repository_id = _uuid(name)
    parameters = {"namespaces": list(namespace_ids), "id": repository_id, "name": name}
    rows = kept_rows(statements("queries")["repositories_named"], parameters)
    found = [_value_of_row(row) for row in rows]
    if found or repository_id is not None:
        return found
    return find_repositories_by_alias(namespace_ids=namespace_ids, remote=name, root_commit=None)


def find_repositories_by_alias(
    *, namespace_ids: Sequence[UUID], remote: str | None, root_commit: str | None
) -> list[RepositoryValue]:
    """Return the repositories known by a remote address, or else by their first commit.

    Forks share a first commit: more than one result means that nobody knows which is meant.
    """
    normal = normalize_remote(remote) if remote else None
    known_by = (
        (RepositoryAlias.Kind.REMOTE, normal),
        (RepositoryAlias.Kind.ROOT_COMMIT, root_commit),
    )
    for kind, value in known_by:
        if value and (found := _known_by(namespace_ids, kind, value)):
            return found
    return []


def get_repository(*, repository_id: UUID) -> RepositoryValue:
    """Return one repository; raise Repository.DoesNotExist."""
    return _value(Repository.objects.get(pk=repository_id))


def get_ref_state(*, repository_id: UUID, ref: str | None, user_id: int | None = None) -> RefState:
    """Return what the graph shows of a ref, or of the default branch when none is asked for.

    `worktree:<name>` means the private overlay of that name of this user, and of nobody else. A ref
    that nobody has seen is not known; the state then says so and answers for no other. Raise
    Repository.DoesNotExist. One query.
    """
    if ref is not None and ref.startswith(WORK_TREE):
        return _work_tree_state(repository_id, ref, user_id)
    parameters = {"repository": repository_id, "ref": ref}
    rows = kept_rows(statements("queries")["ref_state"], parameters)
    if not rows:
        raise Repository.DoesNotExist(f"There is no repository {repository_id}.")
    return _ref_state(repository_id, ref, rows[0])


def list_ref_states(
    *, asked: Sequence[tuple[UUID, str | None]]
) -> dict[tuple[UUID, str | None], RefState]:
    """Return what the graph shows of each ref of a repository, or of its default branch (None).

    As `get_ref_state` for each, but a repository that is gone, maybe since the caller listed it, is
    left out; work trees are nobody's here. One query for all.
    """
    if not asked:
        return {}
    repository_ids, refs = zip(*asked, strict=True)
    parameters = {"repositories": list(repository_ids), "refs": list(refs)}
    with connection.cursor() as cursor:
        cursor.execute(statements("queries")["ref_states"], parameters)
        rows = cursor.fetchall()
    return {(key, ref): _ref_state(key, ref, row) for *row, key, ref in rows}


def list_branches(*, repository_id: UUID) -> set[str]:
    """Return the names of the branches that were seen or have an overlay. Two queries."""
    seen = Ref.objects.filter(repository_id=repository_id).values_list("name", flat=True)
    return {*seen, *(layer.ref_name for layer in list_layers(repository_id=repository_id))}


def _ref_state(repository_id: UUID, ref: str | None, row: Sequence[Any]) -> RefState:
    name, head_commit, indexed_commit, commits_behind, indexed_at, layer, base_revision = row
    if head_commit is None:
        return RefState(
            requested_ref=ref,
            ref=name,
            indexed_commit=None,
            head_commit=None,
            behind_by=None,
            indexed_at=None,
        )
    view = LIVE
    if layer is not None:
        view = View(repository_id=repository_id, layer=layer, revision=base_revision)
    return RefState(
        requested_ref=ref,
        ref=name,
        indexed_commit=indexed_commit or None,
        head_commit=head_commit,
        behind_by=0 if indexed_commit == head_commit else commits_behind,
        indexed_at=indexed_at,
        view=view,
    )


def _work_tree_state(repository_id: UUID, ref: str, user_id: int | None) -> RefState:
    layer = None
    if user_id is not None:
        layer = find_layer(repository_id=repository_id, ref_name=ref, owner_id=user_id)
    return RefState(
        requested_ref=ref,
        ref=ref,
        indexed_commit=layer.commit if layer else None,
        head_commit=layer.commit if layer else None,
        behind_by=0 if layer else None,
        indexed_at=layer.used_at if layer else None,
        view=layer.view if layer else LIVE,
    )


def newest_revision(*, repository_id: UUID) -> RevisionValue | None:
    """Return what the default branch shows now: what an overlay made now is based on. One query."""
    row = (
        Revision.objects.filter(repository_id=repository_id, layer=DEFAULT_LAYER)
        .order_by("-pk")
        .first()
    )
    return None if row is None else _revision(row)


def find_layer(
    *, repository_id: UUID, ref_name: str, owner_id: int | None = None
) -> LayerValue | None:
    """Return the overlay of a branch, or a user's private one of that name. One query."""
    row = (
        Layer.objects.select_related("base_revision")
        .filter(repository_id=repository_id, ref_name=ref_name, owner_id=owner_id)
        .first()
    )
    return None if row is None else _layer(row)


def list_layers(*, repository_id: UUID, owner_id: int | None = None) -> list[LayerValue]:
    """Return the overlays of a repository's branches, or a user's private ones. One query."""
    rows = Layer.objects.select_related("base_revision").filter(
        repository_id=repository_id, owner_id=owner_id
    )
    return [_layer(row) for row in rows.order_by("pk")]


def _revision(row: Revision) -> RevisionValue:
    return RevisionValue(
        id=row.pk,
        repository_id=row.repository_id,
        layer=row.layer,
        commit=row.commit,
        committed_at=row.committed_at,
        made_at=row.made_at,
    )


def _layer(row: Layer) -> LayerValue:
    return LayerValue(
        id=row.pk,
        repository_id=row.repository_id,
        ref_name=row.ref_name,
        owner_id=row.owner_id,
        base=_revision(row.base_revision),
        commit=row.commit,
        made_at=row.made_at,
        used_at=row.used_at,
        expires_at=row.expires_at,
    )


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _known_by(
    namespace_ids: Sequence[UUID], kind: RepositoryAlias.Kind, value: str
) -> list[RepositoryValue]:
    return _values(
        Repository.objects.filter(
            namespace_id__in=namespace_ids, aliases__kind=kind, aliases__value=value
        )
    )


def _values(rows: Iterable[Repository]) -> list[RepositoryValue]:
    return [_value(row) for row in rows]


def _value_of_row(row: tuple[Any, ...]) -> RepositoryValue:
    key, namespace_id, name, url, default_branch = row
    return RepositoryValue(
        id=key, namespace_id=namespace_id, name=name, url=url, default_branch=default_branch
    )


def _value(row: Repository) -> RepositoryValue:
    return RepositoryValue(
        id=row.pk,
        namespace_id=row.namespace_id,
        name=row.name,
        url=row.url,
        default_branch=row.default_branch,
    )
