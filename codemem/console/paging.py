"""Lists in pages: as many rows as fit one look, and whether there are more."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from codemem.console.access import Visit

Row = TypeVar("Row")

# Deeper pages would have Postgres count through all rows before; filters are the way there.
_DEEPEST = 200


@dataclass(frozen=True, slots=True)
class Listing(Generic[Row]):
    """One page of a list; `number` counts from 1."""

    rows: Sequence[Row]
    number: int
    has_next: bool

    @property
    def previous(self) -> int:
        return self.number - 1

    @property
    def next(self) -> int:
        return self.number + 1

    @property
    def has_other(self) -> bool:
        return self.number > 1 or self.has_next


def listing(
    visit: Visit, rows: Any, *, size: int = 50, shown: Callable[[Any], Any] = lambda row: row
) -> Listing[Any]:
    """Return the page of ?page= of a queryset or list; one row more is read than is shown."""
    number = visit.number("page", 1, minimum=1, maximum=_DEEPEST)
    start = (number - 1) * size
    found = list(rows[start : start + size + 1])
    return Listing(
        rows=[shown(row) for row in found[:size]], number=number, has_next=len(found) > size
    )
