"""What a namespace's memories are like, as one caller sees them: counts, averages, tags, ages.

Private memories of others are in no number.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Avg, Count, F, Func, Max, Min, Q, QuerySet

from codemem.accounts.values import Caller
from memory import queries
from memory.models import Memory

_MOST_TAGS = 20
_MOST_AUTHORS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryStatistics:
    """Figures of the memories that hold now, except `by_state`, which has all of them.

    Averages and dates are None when there is no memory; shares are 0..1.
    """

    total: int
    by_state: Mapping[str, int]
    by_type: Mapping[str, int]
    by_visibility: Mapping[str, int]
    by_repository: Mapping[str, int]
    by_author: Mapping[str, int]
    tags: Mapping[str, int]
    average_importance: float | None
    average_confidence: float | None
    oldest: datetime | None
    newest: datetime | None
    embedded_share: float | None


def statistics(
    *, caller: Caller, namespace_id: UUID, now: datetime, repository_id: UUID | None = None
) -> MemoryStatistics:
    """Return the figures of a namespace, or of one of its repositories. Seven queries."""
    every = _rows(caller, namespace_id, now, repository_id, include_inactive=True)
    rows = _rows(caller, namespace_id, now, repository_id, include_inactive=False)
    figures = rows.aggregate(
        total=Count("pk"),
        embedded=Count("pk", filter=Q(embedding__isnull=False)),
        importance=Avg("importance"),
        confidence=Avg("confidence"),
        oldest=Min("created_at"),
        newest=Max("created_at"),
    )
    total = figures["total"]
    tags = rows.annotate(tag=Func(F("tags"), function="unnest"))
    return MemoryStatistics(
        total=total,
        by_state=_counts(every, "state"),
        by_type=_counts(rows, "memory_type"),
        by_visibility=_counts(rows, "visibility"),
        by_repository=_counts(rows.exclude(repository=None), "repository__name"),
        by_author=_counts(rows, "author_name", most=_MOST_AUTHORS),
        tags=_counts(tags, "tag", most=_MOST_TAGS),
        average_importance=figures["importance"],
        average_confidence=figures["confidence"],
        oldest=figures["oldest"],
        newest=figures["newest"],
        embedded_share=figures["embedded"] / total if total else None,
    )


def _rows(
    caller: Caller,
    namespace_id: UUID,
    now: datetime,
    repository_id: UUID | None,
    *,
    include_inactive: bool,
) -> QuerySet[Memory]:
    rows = queries.visible_memories(caller=caller, now=now, include_inactive=include_inactive)
    rows = rows.filter(namespace_id=namespace_id).order_by()
    return rows.filter(repository_id=repository_id) if repository_id else rows


def _counts(rows: QuerySet[Memory], name: str, *, most: int | None = None) -> dict[str, int]:
    """Return how often each value is there, the most frequent first."""
    counted = rows.values_list(name).annotate(held=Count("pk")).order_by("-held", name)
    return dict(counted[:most])
