"""The review queue as people work through it: what is proposed, the evidence, several at once.

Reads and decides through `memory.services.review`, whose rules about who sees and who may are the
only ones.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import Count

from codemem.accounts.values import Action, Caller
from memory import queries
from memory.models import ReviewItem
from memory.queries import MemoryUnknown
from memory.services import review
from memory.services.linking import LinkUnknown, NodesApart
from memory.services.retirement import MemoryTaken
from memory.services.rights import RightMissing
from memory.services.standing import StateUnfit
from memory.services.versioning import MemoryChanged
from memory.values import StoredMemory
from memory.wording import MemoryInvalid

STATES: Final = tuple(state.value for state in ReviewItem.State)
KINDS: Final = tuple(kind.value for kind in ReviewItem.Kind)
PAGE_SIZE: Final = 20
MAXIMUM_AT_ONCE: Final = 100

# What deciding may refuse: told of the one item, while the others go on.
_REFUSALS: Final[tuple[type[Exception], ...]] = (
    review.ProposalUnknown,
    review.ProposalDecided,
    review.ProposalOvertaken,
    RightMissing,
    StateUnfit,
    MemoryTaken,
    MemoryChanged,
    MemoryInvalid,
    MemoryUnknown,
    LinkUnknown,
    NodesApart,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One proposal with the memories it is about, as the caller sees them."""

    id: UUID
    repository: str | None
    kind: str
    operation: str
    content: str  # what a merge would say
    verb: str  # of the tie that would be made
    visibility: str  # that the memory would have
    replaced: tuple[StoredMemory, ...]  # beside `memories`: what a new one would take the place of
    reason: str
    confidence: float
    proposed_by: str
    created_at: datetime
    state: str
    decided_by: str
    decided_at: datetime | None
    note: str
    is_private: bool
    may_decide: bool
    memories: tuple[StoredMemory, ...]
    hidden: int  # memories that are gone


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePage:
    """One page, counted from 1; `open_by_kind` counts what waits, whatever the page shows."""

    proposals: tuple[Proposal, ...]
    total: int
    number: int
    size: int
    open_by_kind: Mapping[str, int]

    @property
    def last(self) -> int:
        return max(1, -(-self.total // self.size))

    @property
    def open(self) -> int:
        return sum(self.open_by_kind.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one of several decisions: its new state, or why it was refused."""

    id: UUID
    state: str = ""
    refused: str = ""


def queue_page(
    *,
    caller: Caller,
    namespace_id: UUID,
    now: datetime,
    state: str = ReviewItem.State.OPEN.value,
    kind: str = "",
    repository_id: UUID | None = None,
    page: int = 1,
    size: int = PAGE_SIZE,
) -> QueuePage:
    """Return a page of a namespace's proposals that the caller sees, newest first. Five queries."""
    every = review.visible_proposals(caller=caller).filter(namespace_id=namespace_id)
    if repository_id is not None:
        every = every.filter(repository_id=repository_id)
    waiting = every.filter(state=ReviewItem.State.OPEN).order_by("kind")
    rows = every.filter(state=state)
    if kind:
        rows = rows.filter(kind=kind)
    total = rows.count()
    number = min(max(page, 1), max(1, -(-total // size)))
    shown = list(rows.order_by("-created_at", "-id")[(number - 1) * size : number * size])
    return QueuePage(
        proposals=_proposals(shown, caller=caller, now=now),
        total=total,
        number=number,
        size=size,
        open_by_kind=dict(waiting.values_list("kind").annotate(held=Count("pk"))),
    )


def count_open(*, caller: Caller, namespace_id: UUID) -> int:
    """Return how many proposals of a namespace wait, as far as the caller sees them. One query."""
    rows = review.visible_proposals(caller=caller)
    return rows.filter(namespace_id=namespace_id, state=ReviewItem.State.OPEN).count()


def proposals_about(
    *, caller: Caller, memory: StoredMemory, now: datetime, limit: int = 10
) -> tuple[Proposal, ...]:
    """Return what is proposed about a memory and waits. Two queries."""
    rows = review.visible_proposals(caller=caller).filter(
        namespace_id=memory.namespace_id,
        state=ReviewItem.State.OPEN,
        memory_ids__contains=[str(memory.id)],
    )
    return _proposals(list(rows.order_by("-created_at")[:limit]), caller=caller, now=now)


def decide_several(
    *,
    caller: Caller,
    namespace_id: UUID,
    item_ids: Sequence[UUID],
    approve: bool,
    note: str,
    now: datetime,
) -> list[Outcome]:
    """Decide some proposals of a namespace, each in its own transaction; at most a hundred.

    One that is refused stays as it is, and says why; the others are decided.
    """
    mine = review.visible_proposals(caller=caller).filter(
        namespace_id=namespace_id, pk__in=list(item_ids)[:MAXIMUM_AT_ONCE]
    )
    known = set(mine.values_list("pk", flat=True))
    outcomes = []
    for item_id in dict.fromkeys(item_ids[:MAXIMUM_AT_ONCE]):
        if item_id not in known:
            refused = f"There is no proposal {item_id} here, or not for you."
            outcomes.append(Outcome(id=item_id, refused=refused))
            continue
        try:
            decision = review.decide(
                caller=caller, item_id=item_id, approve=approve, note=note, now=now
            )
        except _REFUSALS as error:
            outcomes.append(Outcome(id=item_id, refused=str(error)))
        else:
            outcomes.append(Outcome(id=item_id, state=decision.state))
    return outcomes


def _proposals(
    rows: Sequence[ReviewItem], *, caller: Caller, now: datetime
) -> tuple[Proposal, ...]:
    keys = {key for row in rows for key in (*row.memory_ids, *_superseded_by(row))}
    found = queries.memories_by_id(caller=caller, memory_ids=keys, now=now)
    memories = {str(key): memory for key, memory in found.items()}
    return tuple(_proposal(row, memories, caller) for row in rows)


def _proposal(row: ReviewItem, memories: Mapping[str, StoredMemory], caller: Caller) -> Proposal:
    about = tuple(memories[key] for key in row.memory_ids if key in memories)
    arguments: Mapping[str, Any] = row.proposal.get("arguments", {})
    return Proposal(
        id=row.pk,
        repository=row.repository.name if row.repository else None,
        kind=row.kind,
        operation=str(row.proposal.get("operation", "")),
        content=str(arguments.get("content", "")),
        verb=str(arguments.get("kind", "")),
        visibility=str(arguments.get("visibility", "")),
        replaced=tuple(memories[key] for key in _superseded_by(row) if key in memories),
        reason=row.reason,
        confidence=row.confidence,
        proposed_by=row.proposed_by,
        created_at=row.created_at,
        state=row.state,
        decided_by=row.decided_by,
        decided_at=row.decided_at,
        note=row.decision_note,
        is_private=row.private_to_id is not None,
        may_decide=_may_decide(caller, row, about),
        memories=about,
        hidden=len(row.memory_ids) - len(about),
    )


def _superseded_by(row: ReviewItem) -> list[str]:
    return [str(key) for key in row.proposal.get("arguments", {}).get("supersedes", ())]


def _may_decide(caller: Caller, row: ReviewItem, about: Collection[StoredMemory]) -> bool:
    are_own = bool(about) and all(memory.author_id == caller.user_id for memory in about)
    action = Action.WRITE_MEMORY if are_own else Action.DELETE_ANY_MEMORY
    return caller.can(action, row.namespace_id)
