"""How a memory was received: how often it was recalled, what was said of it, and what you said."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from codemem.accounts.values import Caller
from memory import queries
from memory.models import Feedback, MemoryUse


@dataclass(frozen=True, slots=True, kw_only=True)
class Reception:
    """Counts of all, and the verdict of the caller alone; `retention` is 0..1, None: not yet."""

    recalled: int = 0
    recalled_at: datetime | None = None
    confirmed: int = 0
    helpful: int = 0
    not_helpful: int = 0
    stale: int = 0
    wrong: int = 0
    retention: float | None = None
    own_verdict: str = ""
    own_note: str = ""


def reception_of(*, caller: Caller, memory_id: UUID, now: datetime) -> Reception:
    """Return how a memory fared; raise MemoryUnknown. Three queries."""
    rows = queries.visible_memories(caller=caller, now=now, include_inactive=True)
    if not rows.filter(pk=memory_id).exists():
        raise queries.unknown(memory_id)
    use = MemoryUse.objects.filter(pk=memory_id).first() or MemoryUse()
    own = Feedback.objects.filter(memory_id=memory_id, user_id=caller.user_id).first()
    return Reception(
        recalled=use.recalled,
        recalled_at=use.recalled_at,
        confirmed=use.confirmed,
        helpful=use.helpful,
        not_helpful=use.not_helpful,
        stale=use.stale,
        wrong=use.wrong,
        retention=use.retention,
        own_verdict=own.verdict if own else "",
        own_note=own.note if own else "",
    )
