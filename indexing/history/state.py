"""How far the history of repositories is known, for answers that depend on it."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from graph.models import Commit
from indexing.models import History


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of some repositories' history: commits looked into, of how many.

    `since`: what happened before is not known yet. `is_shallow`: nor will it be, for the remote
    has no more.
    """

    commits_done: int
    commits_total: int
    since: datetime | None
    is_shallow: bool

    @property
    def is_complete(self) -> bool:
        return self.commits_total > 0 and self.commits_done >= self.commits_total


def known_history(*, repository_ids: Collection[UUID]) -> Known:
    """Return how far history is known. Two queries."""
    rows = list(History.objects.filter(repository_id__in=list(repository_ids)))
    done, total = sum(row.commits_done for row in rows), sum(row.commits_total for row in rows)
    since = None
    if done < total:
        # Newest first: what is not looked into yet lies before all that is.
        unmapped = Commit.objects.filter(
            repository_id__in=list(repository_ids), landed__isnull=False, mapped_at=None
        )
        since = unmapped.order_by("-committed_at").values_list("committed_at", flat=True).first()
    return Known(
        commits_done=done,
        commits_total=total,
        since=since,
        is_shallow=any(row.shallow for row in rows),
    )
