"""Retiring a memory and bringing it back: nothing is erased.

Every step leaves a version and an audit event. What erases is `memory/services/purging.py`.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Q

from codemem.accounts import services as accounts
from codemem.accounts.values import Action, Caller
from graph import services as graph
from graph.values import Edge
from memory import queries
from memory.models import Memory
from memory.services.rights import require, require_harmless
from memory.services.versioning import Change, record_version, require_version
from memory.values import StoredMemory

_ONCE_IN_SCOPE = ("memory_content_once_in_scope", "memory_private_content_once")
_ENDED = (Memory.State.RETIRED, Memory.State.SUPERSEDED, Memory.State.EXPIRED)


class MemoryTaken(Exception):
    """An active memory of the same scope says the same by now."""


@transaction.atomic
def delete_memory(*, caller: Caller, memory_id: UUID, now: datetime, reason: str = "") -> None:
    """Retire a memory: no read shows it, no link leads to it, restore_memory undoes it.

    Raise MemoryUnknown, or RightMissing for somebody else's memory. Retiring twice is once.
    """
    memory = locked_memory(caller=caller, memory_id=memory_id, now=now)
    require_mine(caller=caller, memory=memory)
    if memory.state == Memory.State.RETIRED:
        return
    record_version(memory, change=Change.RETIRED, actor=caller, now=now, reason=reason)
    leave_graph(memory)
    memory.state = Memory.State.RETIRED
    memory.retired_at = memory.ended_at = now
    memory.retired_by = caller.username
    memory.save()
    record_event(caller, memory, "memory.delete", {"reason": reason} if reason else {})


def restore_memory(*, caller: Caller, memory_id: UUID, now: datetime) -> StoredMemory:
    """Bring a retired, superseded or expired memory back with its links.

    An expiry in the past is taken off. What waited for approval when it was retired comes back to
    answer, so one whose text gives orders takes a maintainer. Raise what delete_memory does, or
    MemoryTaken.
    """
    with refusing_twins(), transaction.atomic():
        memory = locked_memory(caller=caller, memory_id=memory_id, now=now)
        require_mine(caller=caller, memory=memory)
        is_over = memory.expires_at is not None and memory.expires_at <= now
        if memory.state in _ENDED or is_over:
            if memory.visibility != Memory.Visibility.PRIVATE:
                require_harmless(caller=caller, memory=memory)
            record_version(memory, change=Change.RESTORED, actor=caller, now=now)
            _restore(caller, memory, now=now)
    return queries.get_memory(caller=caller, memory_id=memory_id, now=now, include_inactive=True)


@contextmanager
def refusing_twins() -> Iterator[None]:
    """Turn the constraint that the same words hold once in a scope into MemoryTaken."""
    try:
        yield
    except IntegrityError as error:
        if not any(name in str(error) for name in _ONCE_IN_SCOPE):
            raise
        raise MemoryTaken(
            "Another active memory of the same scope has the same words; retire that one first."
        ) from error


def locked_memory(
    *, caller: Caller, memory_id: UUID, now: datetime, expected_version: int | None = None
) -> Memory:
    """Return the row of a memory that the caller sees, whatever its state, locked.

    Raise MemoryUnknown, or MemoryChanged when the caller has read another version of it.
    """
    rows = queries.visible_memories(caller=caller, now=now, include_inactive=True)
    memory = (
        rows.select_for_update(of=("self",), no_key=True)
        .select_related("namespace", "repository")
        .filter(pk=memory_id)
        .first()
    )
    if memory is None:
        raise queries.unknown(memory_id)
    require_version(memory, expected=expected_version)
    return memory


def require_mine(*, caller: Caller, memory: Memory) -> None:
    """Raise RightMissing unless it is the caller's own memory, or the caller a maintainer."""
    is_own = memory.author_id == caller.user_id
    action = Action.WRITE_MEMORY if is_own else Action.DELETE_ANY_MEMORY
    require(caller=caller, action=action, namespace_id=memory.namespace_id)


def leave_graph(memory: Memory) -> None:
    """Take a memory out of the graph; its row remembers its links. The caller saves it."""
    ties = graph.unlink_memory(namespace_id=memory.namespace_id, number=memory.number)
    memory.retired_links = [*memory.retired_links, *map(_as_json, ties)]


def record_event(
    caller: Caller, memory: Memory, action: str, detail: Mapping[str, object] | None = None
) -> None:
    """Add what was done to a memory to the audit trail, which never says what it says."""
    accounts.record(
        actor=caller.username,
        action=action,
        target=str(memory.pk),
        namespace=memory.namespace,
        token_id=caller.token_id,
        detail=dict(detail or {}),
    )


def _restore(caller: Caller, memory: Memory, *, now: datetime) -> None:
    before = memory.state
    memory.state = Memory.State.ACTIVE
    memory.retired_at = memory.ended_at = None
    memory.retired_by = ""
    memory.superseded_by = None
    if memory.expires_at is not None and memory.expires_at <= now:
        memory.expires_at = None
    memory.save()
    vertex = graph.ensure_memory_vertex(
        namespace_id=memory.namespace_id, number=memory.number, memory_id=memory.pk
    )
    _relink(memory, actor=caller.username, now=now)
    for other in _holding_ties_to(memory, vertex=vertex):
        _relink(other, actor=caller.username, now=now)
    record_event(caller, memory, "memory.restore", {"from": before})


def _relink(memory: Memory, *, actor: str, now: datetime) -> None:
    """Put the kept ties back; those whose other end is retired itself wait for its return."""
    waiting = []
    for tie in memory.retired_links:
        try:
            graph.link(namespace_id=memory.namespace_id, actor=actor, now=now, **tie)
        except graph.NodeUnknown:
            waiting.append(tie)
    Memory.objects.filter(pk=memory.pk).update(retired_links=waiting)


def _holding_ties_to(memory: Memory, *, vertex: int) -> list[Memory]:
    kept = Q(retired_links__contains=[{"source": vertex}]) | Q(
        retired_links__contains=[{"target": vertex}]
    )
    rows = Memory.objects.filter(kept, namespace_id=memory.namespace_id, state=Memory.State.ACTIVE)
    return list(rows.exclude(pk=memory.pk))


def _as_json(tie: Edge) -> dict[str, Any]:
    return {
        "source": tie.source,
        "target": tie.target,
        "kind": tie.kind,
        "weight": tie.confidence,
    }
