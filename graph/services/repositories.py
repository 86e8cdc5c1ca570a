"""Repositories and refs: what is registered, under which names, and where its branches point."""

from collections.abc import Callable, Iterable
from datetime import datetime
from uuid import UUID

from django.db import IntegrityError, transaction

from codemem.accounts.models import Namespace, User, validate_name
from codemem.accounts.services import record
from graph import cypher
from graph.models import Commit, Ref, Repository, RepositoryAlias
from graph.remotes import normalize_remote, redact_credentials
from graph.values import CommitRow

_LONGEST_NAME = 200
_LONGEST_EMAIL = 320
_LONGEST_SUBJECT = 500


class RepositoryNameTaken(Exception):
    """The namespace has a repository of this name."""


class RemoteTaken(Exception):
    """Another repository of the namespace is known by this remote."""


def register_repository(
    *,
    namespace: Namespace,
    name: str,
    url: str,
    created_by: User,
    default_branch: str = "",
    aliases: Iterable[str] = (),
) -> Repository:
    """Register a repository; `aliases` are other remotes of it.

    The namespace's graph is made with its first repository. Raise RepositoryNameTaken, RemoteTaken,
    and Django's ValidationError for a name that is no name.
    """
    validate_name(name)
    try:
        with transaction.atomic():
            repository = Repository.objects.create(
                namespace=namespace,
                name=name,
                url=url,
                default_branch=default_branch,
                created_by=created_by,
            )
            _add_remotes(repository, (url, *aliases))
            cypher.ensure_graph(namespace.pk)
            record(
                actor=created_by.username,
                action="repository.register",
                namespace=namespace,
                target=name,
                detail={"url": redact_credentials(url)},
            )
    except IntegrityError as error:
        raise _taken(error, name) from error
    return repository


def set_default_branch(*, repository_id: UUID, branch: str) -> None:
    """Note the default branch that Git named, unless somebody chose one."""
    Repository.objects.filter(pk=repository_id, default_branch="").update(default_branch=branch)


def note_head(
    *,
    repository_id: UUID,
    ref: str,
    commit: CommitRow,
    root_commit: str | None,
    count_behind: Callable[[str], int | None],
    now: datetime,
) -> None:
    """Note where a ref points; `count_behind(indexed)` counts the commits from there to the head.

    Also keeps the commit itself, and the root commit as something to recognize clones by.
    """
    # Counting runs git, so it stays outside the transaction; an indexing that ends meanwhile
    # leaves a count that is too high until the next head.
    known = Ref.objects.filter(repository_id=repository_id, name=ref).first()
    behind = _behind(known.indexed_commit if known else "", commit.sha, count_behind)
    with transaction.atomic():
        Commit.objects.bulk_create([_commit(repository_id, commit)], ignore_conflicts=True)
        Ref.objects.update_or_create(
            repository_id=repository_id,
            name=ref,
            defaults={"head_commit": commit.sha, "head_seen_at": now, "commits_behind": behind},
        )
        if root_commit:
            _add_root_commit(repository_id, root_commit)


def _add_remotes(repository: Repository, urls: Iterable[str]) -> None:
    remotes = {remote for url in urls if (remote := normalize_remote(url)) is not None}
    RepositoryAlias.objects.bulk_create(
        RepositoryAlias(
            repository=repository,
            namespace_id=repository.namespace_id,
            kind=RepositoryAlias.Kind.REMOTE,
            value=remote,
        )
        for remote in sorted(remotes)
    )


def _taken(error: IntegrityError, name: str) -> Exception:
    constraint = getattr(getattr(error.__cause__, "diag", None), "constraint_name", None)
    if constraint == "graph_repository_name_in_namespace":
        return RepositoryNameTaken(f"There is a repository named {name!r} here already.")
    if constraint == "graph_alias_remote_in_namespace":
        return RemoteTaken("Another repository of this namespace has this remote.")
    return error


def _behind(indexed: str, head: str, count_behind: Callable[[str], int | None]) -> int | None:
    if not indexed:
        return None
    return 0 if indexed == head else count_behind(indexed)


def _commit(repository_id: UUID, row: CommitRow) -> Commit:
    return Commit(
        repository_id=repository_id,
        sha=row.sha,
        parents=list(row.parents),
        author_name=row.author_name[:_LONGEST_NAME],
        author_email=row.author_email[:_LONGEST_EMAIL],
        authored_at=row.authored_at,
        committed_at=row.committed_at,
        subject=row.subject[:_LONGEST_SUBJECT],
    )


def _add_root_commit(repository_id: UUID, root_commit: str) -> None:
    repository = Repository.objects.only("namespace_id").get(pk=repository_id)
    RepositoryAlias.objects.get_or_create(
        repository=repository,
        kind=RepositoryAlias.Kind.ROOT_COMMIT,
        value=root_commit,
        defaults={"namespace_id": repository.namespace_id},
    )
