"""What people and agents say of a memory, and what follows from it.

One verdict for each user; a second one of theirs replaces the first. Of others than the author it
moves the confidence: helpful +.05, not helpful -.02, stale -.05, wrong -.15, never out of .05 to 1,
and a withdrawn verdict's share is put back. That somebody else calls it wrong is also put before
people (a review item that proposes to retire it); nothing is retired by a verdict.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Q

from codemem.accounts.values import Action, Caller
from memory.models import Feedback, Memory, MemoryUse, ReviewItem
from memory.safety import Screen
from memory.services import review
from memory.services.retirement import locked_memory
from memory.services.rights import require
from memory.services.versioning import Change, record_version

MOVES: Final[Mapping[str, float]] = {
    Feedback.Verdict.HELPFUL: 0.05,
    Feedback.Verdict.NOT_HELPFUL: -0.02,
    Feedback.Verdict.STALE: -0.05,
    Feedback.Verdict.WRONG: -0.15,
}
LEAST_CONFIDENCE: Final = 0.05
_LONGEST_NOTE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """What was said of a memory by how many, and how sure of it we are after that."""

    helpful: int
    not_helpful: int
    stale: int
    wrong: int
    confidence: float
    proposal_id: UUID | None = None


@transaction.atomic
def give_feedback(
    *,
    caller: Caller,
    memory_id: UUID,
    verdict: str,
    now: datetime,
    note: str = "",
    session_id: str = "",
) -> Verdicts:
    """Note a verdict; readers may give one. Raise MemoryUnknown or RightMissing."""
    memory = locked_memory(caller=caller, memory_id=memory_id, now=now)
    require(caller=caller, action=Action.READ_MEMORY, namespace_id=memory.namespace_id)
    before = Feedback.objects.filter(memory=memory, user_id=caller.user_id).first()
    if before is not None and before.note and not note:
        note = before.note
    Feedback.objects.update_or_create(
        memory=memory,
        user_id=caller.user_id,
        defaults={
            "verdict": Feedback.Verdict(verdict),
            "note": Screen().text(note[:_LONGEST_NOTE]),
            "session_id": session_id[:200],
            "given_at": now,
        },
    )
    if memory.author_id != caller.user_id:
        _move_confidence(memory, before.verdict if before else None, verdict, caller, now=now)
    counts = _recounted(memory)
    return Verdicts(
        **counts,
        confidence=memory.confidence,
        proposal_id=_proposed(caller, memory, verdict, now=now),
    )


def _move_confidence(
    memory: Memory, before: str | None, verdict: str, caller: Caller, *, now: datetime
) -> None:
    share = MOVES[verdict] - (MOVES[before] if before else 0.0)
    moved = round(min(1.0, max(LEAST_CONFIDENCE, memory.confidence + share)), 4)
    if moved == memory.confidence or memory.state != Memory.State.ACTIVE:
        return
    record_version(memory, change=Change.RATED, actor=caller, now=now, reason=verdict)
    memory.confidence = moved
    memory.save(update_fields=["confidence", "updated_at"])


def _recounted(memory: Memory) -> dict[str, int]:
    """Count all verdicts again: exact, however they were replaced."""
    counts = Feedback.objects.filter(memory=memory).aggregate(
        **{verdict.value: Count("pk", filter=Q(verdict=verdict)) for verdict in Feedback.Verdict}
    )
    MemoryUse.objects.update_or_create(memory=memory, defaults=counts)
    return counts


def _proposed(caller: Caller, memory: Memory, verdict: str, *, now: datetime) -> UUID | None:
    is_others = memory.author_id != caller.user_id
    if verdict != Feedback.Verdict.WRONG or not is_others or memory.state != Memory.State.ACTIVE:
        return None
    item = review.propose(
        namespace_id=memory.namespace_id,
        repository_id=memory.repository_id,
        kind=ReviewItem.Kind.FORGET,
        memory_ids=[memory.pk],
        proposal={"operation": "retire", "arguments": {}},
        reason=f"{caller.username} says that this is wrong.",
        confidence=0.5,
        proposed_by=caller.username,
        now=now,
    )
    return item.pk if item else None
