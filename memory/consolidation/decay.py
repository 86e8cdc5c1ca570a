"""The decay cycle: says of each memory how well it is kept in mind, and nothing else.

Writes MemoryUse.retention, never what people said about a memory's importance.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from memory.consolidation.circles import Circle
from memory.consolidation.reports import Report
from memory.consolidation.retention import Kept, retention
from memory.consolidation.work import Work, batches
from memory.models import MemoryUse

_TABLES = ("memory_memoryuse",)
_LOW = 0.2
_FACTS = (
    "importance",
    "confidence",
    "created_at",
    "use__recalled",
    "use__recalled_at",
    "use__helpful",
    "use__not_helpful",
    "use__stale",
    "use__wrong",
)


def run(work: Work, circle: Circle) -> Report:
    """Compute every retention anew and write those that are different."""
    found = retentions(circle, now=work.now)
    report = Report(before=_figures([was for _, was, _ in found]))
    report.after = _figures([is_now for _, _, is_now in found])
    changed = [(key, was, is_now) for key, was, is_now in found if was != is_now]
    report.changed = len(changed)
    for key, was, is_now in sorted(changed, key=lambda row: (row[2], row[0])):
        report.show(memory=str(key), before=was, after=is_now)
    if not work.is_dry:
        for batch in batches(changed):
            _write(work, batch)
    return report


def retentions(circle: Circle, *, now: datetime) -> list[tuple[UUID, float | None, float]]:
    """Return each memory that holds with its kept retention and the one of now. One query."""
    rows = circle.rows(now=now).order_by("pk").values_list("pk", "use__retention", *_FACTS)
    return [(row[0], row[1], retention(kept_of(row[2:]), now=now)) for row in rows]


def kept_of(facts: Sequence[Any]) -> Kept:
    """Return the facts of one row, in the order of `_FACTS`; a memory never used has no counts."""
    importance, confidence, created_at, recalled, recalled_at, *verdicts = facts
    helpful, not_helpful, stale, wrong = (count or 0 for count in verdicts)
    return Kept(
        importance=importance,
        confidence=confidence,
        created_at=created_at,
        recalled=recalled or 0,
        recalled_at=recalled_at,
        helpful=helpful,
        not_helpful=not_helpful,
        stale=stale,
        wrong=wrong,
    )


def _write(work: Work, changed: Sequence[tuple[UUID, float | None, float]]) -> None:
    with work.changing([key for key, _, _ in changed], tables=_TABLES, links=False):
        MemoryUse.objects.bulk_create(
            [
                MemoryUse(memory_id=key, retention=is_now, retention_at=work.now)
                for key, _, is_now in changed
            ],
            update_conflicts=True,
            unique_fields=["memory"],
            update_fields=["retention", "retention_at"],
        )


def _figures(values: Sequence[float | None]) -> dict[str, float]:
    known = [value for value in values if value is not None]
    return {
        "memories": len(values),
        "computed": len(known),
        "mean_retention": sum(known) / len(known) if known else 0.0,
        "below_0.2": sum(value < _LOW for value in known),
    }
