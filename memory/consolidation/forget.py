"""The forget cycle: archives what faded and nobody asked for; asks people where that is unclear.

To archive is to retire: nothing is erased, restore_memory and undo bring it back with its links.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Count, Q

from memory.consolidation import decay
from memory.consolidation.circles import Circle
from memory.consolidation.reports import Report
from memory.consolidation.work import ACTOR, Work, batches
from memory.models import Anchor, Memory, ReviewItem
from memory.services.retirement import leave_graph
from memory.services.versioning import Change, record_versions
from memory.values import MemoryType

# What the team lives by, and what is still open, is never forgotten by a machine: a failure or a
# question that holds is one that is not resolved.
EXEMPT_TYPES = frozenset(
    {
        MemoryType.RULE,
        MemoryType.DECISION,
        MemoryType.REQUIREMENT,
        MemoryType.FAILURE,
        MemoryType.QUESTION,
    }
)
_IMPORTANT = 0.7
_STEP = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Faded:
    """A candidate; `doubt` says why a person should decide, empty when there is none."""

    id: UUID
    retention: float
    doubt: str


def run(work: Work, circle: Circle) -> Report:
    """Retire what is clear, at most a share of the circle at once; propose what is not."""
    report = Report()
    held = circle.rows(now=work.now).count()
    faded = _faded(work, circle, report)
    clear = [one for one in faded if not one.doubt]
    cap = max(1, int(held * work.number("maximum_share")))
    if len(clear) > cap:
        report.leave_out("more than one run may archive", len(clear) - cap)
        clear = clear[:cap]
    report.before = {"memories": held, "candidates": len(faded)}
    report.changed = len(clear)
    for one in clear:
        report.show(memory=str(one.id), retention=one.retention)
    doubtful = [one for one in faded if one.doubt]
    report.proposed = len(doubtful) if work.is_dry else sum(_propose(work, one) for one in doubtful)
    if not work.is_dry:
        for batch in batches(clear, _STEP):
            _retire(work, [one.id for one in batch])
    report.after = {"memories": held - report.changed, "candidates": len(faded) - report.changed}
    return report


def _faded(work: Work, circle: Circle, report: Report) -> list[Faded]:
    """Return the candidates, the most faded first."""
    threshold = work.number("threshold")
    kept = {
        key: value for key, _, value in decay.retentions(circle, now=work.now) if value < threshold
    }
    rows = (
        circle.rows(now=work.now)
        .filter(pk__in=kept)
        .annotate(ok_anchors=Count("anchors", filter=Q(anchors__state=Anchor.State.OK)))
        .select_related("use")
    )
    found = []
    for memory in rows:
        if why := _exempt(memory, work, now=work.now):
            report.leave_out(why)
        else:
            found.append(Faded(id=memory.pk, retention=kept[memory.pk], doubt=_doubt(memory)))
    return sorted(found, key=lambda one: (one.retention, one.id))


def _exempt(memory: Memory, work: Work, *, now: datetime) -> str:
    if memory.is_pinned:
        return "pinned"
    if memory.memory_type in EXEMPT_TYPES:
        return "of a type that is kept"
    if memory.created_at > now - timedelta(days=work.count("minimum_age_days")):
        return "too young"
    if _used_since(memory, now - timedelta(days=work.count("unused_days"))):
        return "used lately"
    return ""


def _used_since(memory: Memory, since: datetime) -> bool:
    use = getattr(memory, "use", None)
    return use is not None and use.recalled_at is not None and use.recalled_at >= since


def _doubt(memory: Memory) -> str:
    """Return why a machine should not decide this alone."""
    use = getattr(memory, "use", None)
    if getattr(memory, "ok_anchors", 0):
        return "what it cites is still there as cited"
    if memory.importance >= _IMPORTANT:
        return "it was called important"
    if use is not None and use.helpful:
        return "somebody found it helpful"
    return ""


def _propose(work: Work, one: Faded) -> bool:
    return work.propose(
        kind=ReviewItem.Kind.FORGET,
        operation="retire",
        memory_ids=[one.id],
        reason=f"Its retention is {one.retention:.2f} and nobody asked for it lately, but"
        f" {one.doubt}.",
        confidence=0.5,
    )


def _retire(work: Work, memory_ids: Sequence[UUID]) -> None:
    """Retire as `delete_memory` does, so that `restore_memory` finds what it looks for.

    Locked and read again: one that was changed, used or retired meanwhile is left alone.
    """
    with work.changing(memory_ids):
        rows = Memory.objects.select_for_update().filter(
            pk__in=memory_ids, state=Memory.State.ACTIVE, is_pinned=False
        )
        memories = list(rows.order_by("pk"))
        record_versions(
            memories,
            change=Change.RETIRED,
            actor=ACTOR,
            now=work.now,
            reason=f"forgotten by run {work.run.pk}",
        )
        for memory in memories:
            leave_graph(memory)
            memory.state = Memory.State.RETIRED
            memory.retired_at = memory.ended_at = work.now
            memory.retired_by = ACTOR
            memory.save(
                update_fields=[
                    "state",
                    "retired_at",
                    "ended_at",
                    "retired_by",
                    "retired_links",
                    "version",
                    "updated_at",
                ]
            )
