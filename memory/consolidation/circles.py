"""Circles: memories that the same people may read, and that may therefore be put together.

What is shared in a namespace is one circle; what each author keeps to themselves is another. No
cycle compares, links, merges or summarizes across a circle's border.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from memory import queries
from memory.models import Memory

SHARED = "shared"


@dataclass(frozen=True, slots=True, kw_only=True)
class Circle:
    """`author_id` is None for what is shared."""

    namespace_id: UUID
    author_id: int | None = None

    @property
    def key(self) -> str:
        """The name under which a report keeps what was done here."""
        return SHARED if self.author_id is None else str(self.author_id)

    def rows(self, *, now: datetime) -> QuerySet[Memory]:
        """Return the memories of the circle that hold, without what only searches read."""
        return self.all_rows().filter(queries.holding(now=now))

    def all_rows(self) -> QuerySet[Memory]:
        """Return the memories of the circle in whatever state."""
        rows = Memory.objects.filter(namespace_id=self.namespace_id).defer(*queries.SEARCH_COLUMNS)
        private = Memory.Visibility.PRIVATE
        if self.author_id is None:
            return rows.exclude(visibility=private)
        return rows.filter(visibility=private, author_id=self.author_id)


def circles_of(namespace_id: UUID) -> list[Circle]:
    """Return the circles of a namespace: what is shared, then those of its authors. One query."""
    authors = (
        Memory.objects.filter(
            namespace_id=namespace_id,
            visibility=Memory.Visibility.PRIVATE,
            author_id__isnull=False,
        )
        .order_by("author_id")
        .values_list("author_id", flat=True)
        .distinct()
    )
    return [
        Circle(namespace_id=namespace_id),
        *(Circle(namespace_id=namespace_id, author_id=author) for author in authors),
    ]
