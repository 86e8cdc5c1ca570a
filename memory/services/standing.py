"""How a memory stands: settled or open again, pinned or not, and who may see it."""

from datetime import datetime
from uuid import UUID

from django.db import transaction

from codemem.accounts.values import Action, Caller
from memory import queries, summaries
from memory.models import Memory, ReviewItem
from memory.services import review
from memory.services.retirement import (
    locked_memory,
    record_event,
    refusing_twins,
    require_mine,
)
from memory.services.rights import RightMissing, require, require_harmless
from memory.services.versioning import Change, record_version
from memory.values import MemoryType, StoredMemory, Visibility
from memory.wording import MemoryInvalid

_SETTLED = frozenset({MemoryType.FAILURE, MemoryType.QUESTION, MemoryType.REQUIREMENT})
_SEEN_BY = {Visibility.PRIVATE: 0, Visibility.REPOSITORY: 1, Visibility.NAMESPACE: 2}


class StateUnfit(Exception):
    """The memory is not in a state, or not of a type, of which this can be said."""


def resolve(
    *,
    caller: Caller,
    memory_id: UUID,
    now: datetime,
    reason: str = "",
    expected_version: int | None = None,
) -> StoredMemory:
    """Say that a failure was fixed, a question answered, a requirement met.

    Whoever may write may say so of what is shared; `reopen` undoes it. Resolving twice is once.
    Raise MemoryUnknown, RightMissing, StateUnfit, MemoryChanged.
    """
    with transaction.atomic():
        memory = _writable(caller, memory_id, expected_version, now=now)
        if memory.memory_type not in _SETTLED:
            kinds = ", ".join(sorted(_SETTLED))
            raise StateUnfit(f"This is a {memory.memory_type}; what can be resolved is: {kinds}.")
        if memory.state != Memory.State.RESOLVED:
            _require_state(memory, Memory.State.ACTIVE)
            record_version(memory, change=Change.RESOLVED, actor=caller, now=now, reason=reason)
            memory.state, memory.ended_at = Memory.State.RESOLVED, now
            memory.save(update_fields=["state", "ended_at", "updated_at"])
            record_event(caller, memory, "memory.resolve")
    return _shown(caller, memory_id, now=now)


def reopen(
    *,
    caller: Caller,
    memory_id: UUID,
    now: datetime,
    reason: str = "",
    expected_version: int | None = None,
) -> StoredMemory:
    """Say that something resolved is open again: it failed again, the answer was none.

    Raise what resolve does, or MemoryTaken when the same is open already.
    """
    with refusing_twins(), transaction.atomic():
        memory = _writable(caller, memory_id, expected_version, now=now)
        if memory.state != Memory.State.ACTIVE:
            _require_state(memory, Memory.State.RESOLVED)
            record_version(memory, change=Change.REOPENED, actor=caller, now=now, reason=reason)
            memory.state, memory.ended_at = Memory.State.ACTIVE, None
            memory.save(update_fields=["state", "ended_at", "updated_at"])
            record_event(caller, memory, "memory.reopen")
    return _shown(caller, memory_id, now=now)


def pin(*, caller: Caller, memory_id: UUID, is_pinned: bool, now: datetime) -> StoredMemory:
    """Keep a memory from expiry sweeps and forgetting, or let it go again.

    Pinning takes off the date on which it would have ended; unpinning does not bring it back. One's
    own, and for maintainers any. Raise MemoryUnknown, RightMissing, StateUnfit.
    """
    with transaction.atomic():
        memory = locked_memory(caller=caller, memory_id=memory_id, now=now)
        require_mine(caller=caller, memory=memory)
        if memory.is_pinned != is_pinned:
            _require_state(memory, Memory.State.ACTIVE, Memory.State.RESOLVED)
            change = Change.PINNED if is_pinned else Change.UNPINNED
            record_version(memory, change=change, actor=caller, now=now)
            memory.is_pinned = is_pinned
            if is_pinned:
                memory.expires_at = None
            memory.save(update_fields=["is_pinned", "expires_at", "updated_at"])
            record_event(caller, memory, "memory.pin" if is_pinned else "memory.unpin")
    return _shown(caller, memory_id, now=now)


def move(
    *,
    caller: Caller,
    memory_id: UUID,
    visibility: Visibility,
    now: datetime,
    reason: str = "",
) -> ReviewItem | None:
    """Have a memory seen by more or by fewer; return the proposal if somebody has to decide.

    What is private is its author's to publish. To have a repository's memory answer for the whole
    namespace takes a maintainer: of others it becomes a proposal. Less is for its author and for
    maintainers, private for its author alone. Raise MemoryUnknown, RightMissing, StateUnfit,
    MemoryInvalid, MemoryTaken.
    """
    with refusing_twins(), transaction.atomic():
        memory = locked_memory(caller=caller, memory_id=memory_id, now=now)
        before = Visibility(memory.visibility)
        if before is visibility:
            return None
        _require_state(memory, Memory.State.ACTIVE, Memory.State.RESOLVED)
        _require_move(caller, memory, before, visibility)
        is_raised = _SEEN_BY[visibility] > _SEEN_BY[before]
        if before is Visibility.PRIVATE:
            require_harmless(caller=caller, memory=memory)
        if is_raised and before is not Visibility.PRIVATE and not _is_maintainer(caller, memory):
            return _propose_raise(caller, memory, visibility, reason=reason, now=now)
        set_visibility(memory, visibility, caller=caller, now=now, reason=reason)
    return None


def set_visibility(
    memory: Memory, visibility: Visibility, *, caller: Caller, now: datetime, reason: str = ""
) -> None:
    """Change who sees a locked memory: version, row, audit event."""
    detail = {"from": memory.visibility, "to": visibility.value}
    if _SEEN_BY[visibility] < _SEEN_BY[Visibility(memory.visibility)]:
        # Those who may not read it any more must not be told of it by a summary either.
        summaries.erase_telling(memory.pk)
    record_version(memory, change=Change.MOVED, actor=caller, now=now, reason=reason)
    memory.visibility = visibility.value
    memory.save(update_fields=["visibility", "updated_at"])
    record_event(caller, memory, "memory.move", detail)


def raise_as_approved(
    *, caller: Caller, memory_id: UUID, visibility: Visibility, now: datetime, reason: str
) -> None:
    """Carry out a proposal to have a memory seen by more; only a maintainer can."""
    with refusing_twins(), transaction.atomic():
        memory = locked_memory(caller=caller, memory_id=memory_id, now=now)
        require(caller=caller, action=Action.DELETE_ANY_MEMORY, namespace_id=memory.namespace_id)
        set_visibility(memory, visibility, caller=caller, now=now, reason=reason)


def require_writable(caller: Caller, memory: Memory) -> None:
    """Raise RightMissing unless the caller may change a memory that they see.

    Every writer may change what is shared, for nothing is lost by it; rules and what is pinned
    only its author and maintainers.
    """
    is_guarded = memory.memory_type == MemoryType.RULE or memory.is_pinned
    if is_guarded:
        require_mine(caller=caller, memory=memory)
    require(caller=caller, action=Action.WRITE_MEMORY, namespace_id=memory.namespace_id)


def _writable(
    caller: Caller, memory_id: UUID, expected_version: int | None, *, now: datetime
) -> Memory:
    memory = locked_memory(
        caller=caller, memory_id=memory_id, now=now, expected_version=expected_version
    )
    require_writable(caller, memory)
    return memory


def _require_state(memory: Memory, *states: Memory.State) -> None:
    if memory.state not in states:
        wanted = " or ".join(state.value for state in states)
        raise StateUnfit(f"The memory is {memory.state}; this takes one that is {wanted}.")


def _require_move(caller: Caller, memory: Memory, before: Visibility, after: Visibility) -> None:
    require(caller=caller, action=Action.WRITE_MEMORY, namespace_id=memory.namespace_id)
    if after is Visibility.REPOSITORY and memory.repository_id is None:
        raise MemoryInvalid("It is of no repository; it can be private or the namespace's.")
    if after is Visibility.PRIVATE and memory.author_id != caller.user_id:
        raise RightMissing("Only its author can keep a memory private.")
    if _SEEN_BY[after] < _SEEN_BY[before]:
        require_mine(caller=caller, memory=memory)


def _is_maintainer(caller: Caller, memory: Memory) -> bool:
    return caller.can(Action.DELETE_ANY_MEMORY, memory.namespace_id)


def _propose_raise(
    caller: Caller, memory: Memory, visibility: Visibility, *, reason: str, now: datetime
) -> ReviewItem | None:
    return review.propose(
        namespace_id=memory.namespace_id,
        kind=ReviewItem.Kind.RAISE,
        memory_ids=[memory.pk],
        proposal={"operation": "raise", "arguments": {"visibility": visibility.value}},
        reason=reason or f"{caller.username} would have it answer for the whole {visibility}.",
        confidence=0.5,
        proposed_by=caller.username,
        now=now,
        repository_id=memory.repository_id,
    )


def _shown(caller: Caller, memory_id: UUID, *, now: datetime) -> StoredMemory:
    return queries.get_memory(caller=caller, memory_id=memory_id, now=now, include_inactive=True)
