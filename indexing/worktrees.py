"""Work trees: what one user has not committed, as an overlay that nobody else sees.

Contents come with the request and go no farther than their facts: never into a mirror. An overlay
rests on a commit that the default branch showed, and ends by itself.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import QuerySet

from graph import services as graph
from graph.models import DEFAULT_LAYER, Revision
from graph.values import WORK_TREE, RevisionValue
from indexing.contents import Content, Unread, blob_id, facts_of
from indexing.deltas import TooDifferent, TreeChange, resolve_change
from indexing.dependencies import FactsMissing, find_kept_tree
from indexing.facts import BlobFacts
from indexing.git import EntryKind, TreeEntry
from indexing.languages import language_of

_LONGEST_PATH_BYTES = 1_000


class BaseUnknown(Exception):
    """The default branch did not show this commit lately: compare with another one."""


class WorkTreeTooDifferent(Exception):
    """The work tree differs in so much that it cannot be shown as an overlay."""


@dataclass(frozen=True, slots=True)
class ShownWorkTree:
    """How many files and symbols the overlay states otherwise than its base."""

    files: int
    symbols: int


def ref_of(name: str) -> str:
    """Return the ref by which its user asks for a work tree."""
    return f"{WORK_TREE}{name}"


def bases(*, repository_id: UUID, limit: int) -> list[str]:
    """Return the commits that an overlay can rest on, newest first, each once. One query."""
    commits = _revisions(repository_id).values_list("commit", flat=True)[: limit * 2]
    return list(dict.fromkeys(commits))[:limit]


def index_worktree(
    *,
    repository_id: UUID,
    user_id: int,
    name: str,
    base_commit: str,
    changes: Mapping[str, bytes | None],
    now: datetime,
    keep_for: timedelta,
) -> ShownWorkTree:
    """Make a user's overlay show a commit with these changes: path -> content, None where gone.

    Costs what differs. Raise BaseUnknown, WorkTreeTooDifferent.
    """
    base = _base(repository_id, base_commit)
    tree = find_kept_tree(revision=base)
    if tree is None:
        raise WorkTreeTooDifferent(
            "The server has to index the default branch again before it can show work trees."
        )
    contents = _Contents(changes)
    try:
        change = resolve_change(
            tree,
            TreeChange(
                commit=base.commit, committed_at=base.committed_at, entries=contents.entries
            ),
            read_facts=contents.facts,
            read_texts=contents.texts,
        )
    except (TooDifferent, FactsMissing) as error:
        raise WorkTreeTooDifferent(str(error)) from error
    graph.put_delta(
        repository_id=repository_id,
        ref_name=ref_of(name),
        delta=change.delta,
        base_revision=base.id,
        owner_id=user_id,
        expires_at=now + keep_for,
    )
    return ShownWorkTree(files=len(change.delta.files), symbols=len(change.delta.symbols))


def forget_worktree(*, repository_id: UUID, user_id: int, name: str) -> bool:
    """Take a user's overlay away; return whether there was one."""
    return graph.drop_overlay(repository_id=repository_id, ref_name=ref_of(name), owner_id=user_id)


def _base(repository_id: UUID, commit: str) -> RevisionValue:
    row = _revisions(repository_id).filter(commit=commit).first()
    if row is None:
        raise BaseUnknown(f"The default branch did not show {commit[:12]} lately.")
    return RevisionValue(
        id=row.pk,
        repository_id=row.repository_id,
        layer=row.layer,
        commit=row.commit,
        committed_at=row.committed_at,
        made_at=row.made_at,
    )


def _revisions(repository_id: UUID) -> QuerySet[Revision]:
    return Revision.objects.filter(
        repository_id=repository_id, layer=DEFAULT_LAYER, is_whole=True
    ).order_by("-pk")


class _Contents:
    """The contents of a request, as what a mirror would say of them."""

    def __init__(self, changes: Mapping[str, bytes | None]) -> None:
        usable = {
            path: content
            for path, content in changes.items()
            if 0 < len(path.encode()) <= _LONGEST_PATH_BYTES and "\0" not in path
        }
        blobs = {path: blob_id(content) for path, content in usable.items() if content is not None}
        self._by_blob = {blobs[path]: usable[path] or b"" for path in blobs}
        self.entries: dict[str, TreeEntry | None] = {
            path: None if content is None else _entry(path, blobs[path], len(content))
            for path, content in usable.items()
        }

    def facts(self, entries: Iterable[TreeEntry]) -> Mapping[str, BlobFacts | Unread]:
        return facts_of(
            [
                Content(path=entry.path, blob=entry.blob, language=language.name)
                for entry in entries
                if (language := language_of(entry.path)) is not None
            ],
            read=self._read,
            processes=1,
        )

    def texts(self, blobs: Iterable[str]) -> Mapping[str, bytes]:
        return {blob: self._by_blob[blob] for blob in blobs if blob in self._by_blob}

    def _read(self, blobs: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        for blob in blobs:
            yield blob, self._by_blob[blob]


def _entry(path: str, blob: str, size: int) -> TreeEntry:
    return TreeEntry(mode="100644", kind=EntryKind.FILE, blob=blob, size=size, path=path)
