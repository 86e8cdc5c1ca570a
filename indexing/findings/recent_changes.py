"""Which commits changed which files lately: read once per commit, kept by today's paths.

The window ends at the head's own time, so that a repository that rests does not forget.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.db import transaction

from indexing.findings.values import Change
from indexing.git import CommitInfo, FileChanges, Mirror
from indexing.models import Analysis, FileChange

_MOST_COMMITS: Final = 5_000
# Of a commit that touches more, the files are not kept: it is a move or a reformatting.
_MOST_FILES: Final = 1_000
_LONGEST_AUTHOR: Final = 320


def follow(
    *, repository_id: UUID, mirror: Mirror, head: CommitInfo, window: timedelta
) -> tuple[Change, ...]:
    """Read what is new since the last time, and return all changes of the window.

    Cost follows the new commits; after history was rewritten the window is read again.
    """
    since = head.committed_at - window
    known = _known_commit(repository_id, mirror, head)
    fresh = list(
        mirror.file_changes(
            head.sha,
            known=[known] if known else [],
            since=since,
            most_commits=_MOST_COMMITS,
        )
    )
    with transaction.atomic():
        kept = FileChange.objects.filter(repository_id=repository_id)
        if known is None:
            kept.delete()
        else:
            kept.filter(committed_at__lt=since).delete()
        _rename_kept(repository_id, fresh)
        FileChange.objects.bulk_create(
            _rows(repository_id, fresh), batch_size=2_000, ignore_conflicts=True
        )
        Analysis.objects.filter(repository_id=repository_id).update(history_commit=head.sha)
    return _changes(repository_id)


def _known_commit(repository_id: UUID, mirror: Mirror, head: CommitInfo) -> str | None:
    """Return up to which commit changes were read, None if that is no part of the history now."""
    known = (
        Analysis.objects.filter(repository_id=repository_id)
        .values_list("history_commit", flat=True)
        .first()
    )
    if not known or not mirror.has_commit(known) or not mirror.is_ancestor(known, head.sha):
        return None
    return known


def _rename_kept(repository_id: UUID, fresh: list[FileChanges]) -> None:
    """Give older changes the path that their file has today."""
    for commit in reversed(fresh):
        for file in commit.files:
            if file.old_path is not None:
                FileChange.objects.filter(repository_id=repository_id, path=file.old_path).exclude(
                    commit__in=FileChange.objects.filter(
                        repository_id=repository_id, path=file.path
                    ).values("commit")
                ).update(path=file.path)


def _rows(repository_id: UUID, fresh: list[FileChanges]) -> Iterator[FileChange]:
    today: dict[str, str] = {}  # path then -> path now; commits come newest first
    for commit in fresh:
        if len(commit.files) <= _MOST_FILES:
            for file in commit.files:
                yield FileChange(
                    repository_id=repository_id,
                    commit=commit.commit,
                    author=commit.author_email[:_LONGEST_AUTHOR].replace("\0", ""),
                    committed_at=commit.committed_at,
                    path=today.get(file.path, file.path),
                    lines_added=file.lines_added,
                    lines_removed=file.lines_removed,
                    files_in_commit=len(commit.files),
                )
        for file in commit.files:
            if file.old_path is not None:
                today[file.old_path] = today.get(file.path, file.path)


def _changes(repository_id: UUID) -> tuple[Change, ...]:
    rows = FileChange.objects.filter(repository_id=repository_id).values_list(
        *("commit", "author", "committed_at", "path"),
        *("lines_added", "lines_removed", "files_in_commit"),
    )
    return tuple(
        Change(
            commit=commit,
            author=author,
            committed_at=committed_at,
            path=path,
            lines_added=added,
            lines_removed=removed,
            files_in_commit=files,
        )
        for commit, author, committed_at, path, added, removed, files in rows.iterator()
    )
