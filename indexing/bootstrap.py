"""Reads from a repository's mirror what a bootstrap begins with: its documents and its history.

Which of it becomes a statement is said in `memory/seeds.py`, and where a namespace has a language
model, by that (`memory/reading_documents.py`); what becomes of those, in `memory/bootstrap.py`.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from codemem.accounts.values import Caller
from codemem.language import Provider as LanguageProvider
from graph.values import RepositoryValue
from indexing.git import EntryKind, GitError, Mirror, TreeEntry
from indexing.history.log import commits_since
from indexing.mirrors import find_mirror
from memory import bootstrap
from memory.observed import is_ignored
from memory.reading_documents import Reading, read_documents
from memory.seeds import Document, PastCommit, wanted

_MOST_COMMITS: Final = 3_000
_MOST_DOCUMENTS: Final = 300
_LARGEST_DOCUMENT_BYTES: Final = 256 << 10
_LONGEST_SUBJECT: Final = 300
_LONGEST_BODY: Final = 20_000
_AT_ONCE: Final = 20
_BEGINNING: Final = datetime(1970, 1, 2, tzinfo=UTC)


class MirrorMissing(Exception):
    """This host has no copy of the repository, or not of the commit that was named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a repository says of itself at one commit."""

    commit: str
    documents: tuple[Document, ...]
    commits: tuple[PastCommit, ...]
    paths: frozenset[str]


def read_source(
    *, repository_id: UUID, branch: str, commit: str = "", ignored: Sequence[str] = ()
) -> Source:
    """Return documents and commits at the head of a branch, or at a commit that was read before.

    Files that `ignored` names are not read, nor are commits shown as having changed them. Raise
    MirrorMissing.
    """
    mirror = find_mirror(repository_id)
    if mirror is None:
        raise MirrorMissing("This server has no copy of the repository yet; have it indexed first.")
    try:
        head = mirror.resolve(commit or branch)
        entries = [
            entry
            for entry in mirror.tree(head)
            if entry.kind is EntryKind.FILE and not is_ignored(entry.path, ignored)
        ]
        return Source(
            commit=head,
            documents=tuple(_documents(mirror, entries)),
            commits=tuple(_commits(mirror, head, ignored)),
            paths=frozenset(entry.path for entry in entries),
        )
    except GitError as error:
        raise MirrorMissing(
            f"The server's copy of the repository cannot be read at {commit or branch}."
        ) from error


def read_by_model(
    *,
    caller: Caller,
    repository: RepositoryValue,
    commit: str,
    now: datetime,
    language: LanguageProvider | None = None,
) -> Reading:
    """Have the namespace's language model read a repository's documents; propose what it found.

    Nothing that was proposed and turned down before in the same words. Raise MirrorMissing.
    """
    namespace_id, repository_id = repository.namespace_id, repository.id
    source = read_source(
        repository_id=repository_id,
        branch=repository.default_branch,
        commit=commit,
        ignored=bootstrap.ignored_globs(namespace_id=namespace_id, repository_id=repository_id),
    )
    reading = read_documents(
        namespace_id=namespace_id, documents=source.documents, now=now, provider=language
    )
    plans = bootstrap.planned(
        caller=caller,
        namespace_id=namespace_id,
        repository_id=repository_id,
        seeds=reading.seeds,
        now=now,
    )
    for start in range(0, len(plans), _AT_ONCE):
        bootstrap.plant(
            caller=caller,
            namespace_id=namespace_id,
            repository_id=repository_id,
            commit=source.commit,
            plans=plans[start : start + _AT_ONCE],
            model=reading.model,
            now=now,
        )
    return reading


def _documents(mirror: Mirror, entries: Iterable[TreeEntry]) -> Iterable[Document]:
    chosen = [entry for entry in entries if wanted(entry.path)][:_MOST_DOCUMENTS]
    blobs = mirror.blobs([entry.blob for entry in chosen], max_bytes=_LARGEST_DOCUMENT_BYTES)
    for entry, (_, content) in zip(chosen, blobs, strict=True):
        if isinstance(content, bytes) and b"\0" not in content:
            yield Document(path=entry.path, text=content.decode("utf-8-sig", "replace"))


def _commits(mirror: Mirror, head: str, ignored: Sequence[str]) -> Iterable[PastCommit]:
    changes = mirror.file_changes(head, since=_BEGINNING, most_commits=_MOST_COMMITS)
    paths = {
        one.commit: tuple(
            change.path for change in one.files if not is_ignored(change.path, ignored)
        )
        for one in changes
    }
    for commit in itertools.islice(commits_since(mirror, head, base=None), _MOST_COMMITS):
        if len(commit.parents) <= 1:
            yield PastCommit(
                sha=commit.sha,
                subject=commit.subject[:_LONGEST_SUBJECT],
                body=commit.body[:_LONGEST_BODY],
                paths=paths.get(commit.sha, ()),
            )
