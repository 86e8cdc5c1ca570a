"""What somebody who begins to work here asks first: what is new, what is open, what waits for them.

Newest first, few and short; each id leads to the rest. Every part passes the filters of its own
entry (`visible_memories`, `visible_items`, `offers`), so nothing is shown that asking would not.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Count, Q, QuerySet

from codemem.accounts.values import Caller
from memory import queries
from memory.baton import cut
from memory.checkpoints import (
    CheckpointValue,
    OwnSession,
    last_session,
    newest_checkpoint,
)
from memory.handoffs import Offer, offers
from memory.models import Handoff, Memory, ReviewItem
from memory.services import count_drifted, visible_proposals
from memory.values import MemoryType, StoredMemory
from memory.wording import normal
from memory.work_items import WorkValue, list_items

MAXIMUM_NEWEST: Final = 50

_WORK_SHOWN: Final = 10
_QUESTIONS_SHOWN: Final = 5
_LONGEST_SUMMARY: Final = 1_500


@dataclass(frozen=True, slots=True, kw_only=True)
class LastSession:
    """The caller's last session here, and what it left: its checkpoint, else its own handoff."""

    session: OwnSession
    summary: str
    next_steps: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What is there at the start; `counts` are of all that the caller sees in the scope."""

    newest: tuple[StoredMemory, ...]
    questions: tuple[StoredMemory, ...]
    work: tuple[WorkValue, ...]
    offers: tuple[Offer, ...]
    last: LastSession | None
    counts: dict[str, int]


def overview(
    *,
    caller: Caller,
    namespace_ids: Collection[UUID],
    now: datetime,
    repository_id: UUID | None = None,
    branch: str = "",
    session_id: UUID | None = None,
    newest: int = 10,
) -> Overview:
    """Return what to know before beginning; some ten queries, whatever is kept.

    `session_id` is the asking session: its own offers and itself are left out.
    """
    rows = queries.visible_memories(caller=caller, now=now).filter(
        queries.on_branch(branch), namespace_id__in=list(namespace_ids)
    )
    if repository_id is not None:
        rows = rows.filter(queries.in_repository(repository_id))
    asked = rows.filter(memory_type=MemoryType.QUESTION)
    waiting = offers(
        caller=caller,
        namespace_ids=namespace_ids,
        repository_id=repository_id,
        now=now,
        session_id=session_id,
    )
    work = list_items(
        caller=caller,
        namespace_ids=namespace_ids,
        repository_id=repository_id,
        limit=_WORK_SHOWN,
    )
    return Overview(
        newest=_newest(rows, newest, now=now),
        questions=_newest(asked, _QUESTIONS_SHOWN, now=now),
        work=tuple(work),
        offers=tuple(waiting),
        last=_last(caller, namespace_ids, repository_id, but=session_id),
        counts=_counts(caller, rows, namespace_ids, now=now)
        | {"work": len(work), "offers": len(waiting)},
    )


def _newest(rows: QuerySet[Memory], count: int, *, now: datetime) -> tuple[StoredMemory, ...]:
    found = queries.shown(rows).order_by("-created_at", "-id")[:count]
    return tuple(queries.stored(row, now=now) for row in found)


def _last(
    caller: Caller,
    namespace_ids: Collection[UUID],
    repository_id: UUID | None,
    *,
    but: UUID | None,
) -> LastSession | None:
    session = last_session(
        caller=caller, namespace_ids=namespace_ids, repository_id=repository_id, but=but
    )
    if session is None:
        return None
    kept = newest_checkpoint(session_id=session.id)
    left = (
        Handoff.objects.filter(session_id=session.id, author_id=caller.user_id)
        .order_by("-created_at")
        .first()
    )
    if left is not None and (kept is None or left.created_at >= kept.created_at):
        return _told(session, left.summary, tuple(left.next_steps))
    return _told_by(session, kept)


def _told_by(session: OwnSession, kept: CheckpointValue | None) -> LastSession:
    if kept is None:
        return _told(session, "", ())
    return _told(session, kept.baton.summary, kept.baton.next_steps)


def _told(session: OwnSession, summary: str, next_steps: tuple[str, ...]) -> LastSession:
    return LastSession(
        session=session, summary=cut(normal(summary), _LONGEST_SUMMARY), next_steps=next_steps
    )


def _counts(
    caller: Caller,
    rows: QuerySet[Memory],
    namespace_ids: Collection[UUID],
    *,
    now: datetime,
) -> dict[str, int]:
    held = rows.aggregate(
        all=Count("pk"), questions=Count("pk", filter=Q(memory_type=MemoryType.QUESTION))
    )
    drifted = count_drifted(caller=caller, now=now)
    proposals = visible_proposals(caller=caller).filter(
        namespace_id__in=list(namespace_ids), state=ReviewItem.State.OPEN
    )
    return {
        "memories": held["all"],
        "questions": held["questions"],
        "proposals": proposals.count(),
        "drifted": sum(drifted.get(key, 0) for key in namespace_ids),
    }
