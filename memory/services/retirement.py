"""Retiring a memory and bringing it back: nothing is erased, every step leaves an audit event."""

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
from memory.services.rights import require
from memory.values import StoredMemory

_ONCE_IN_SCOPE = "memory_content_once_in_scope"


class MemoryTaken(Exception):
    """An active memory of the same scope says the same by now."""


@transaction.atomic
def delete_memory(*, caller: Caller, memory_id: UUID, now: datetime, reason: str = "") -> None:
    """Retire a memory: no read shows it, no link leads to it, restore_memory undoes it.

    Raise MemoryUnknown, or RightMissing for somebody else's memory. Retiring twice is once.
    """
    memory = _locked(caller=caller, memory_id=memory_id, now=now)
    if memory.state == Memory.State.RETIRED:
        return
    ties = graph.unlink_memory(namespace_id=memory.namespace_id, number=memory.number)
    memory.state = Memory.State.RETIRED
    memory.retired_at = memory.ended_at = now
    memory.retired_by = caller.username
    memory.retired_links = [*memory.retired_links, *map(_as_json, ties)]
    memory.save()
    _record(caller, memory, "memory.delete", {"reason": reason} if reason else {})


def restore_memory(*, caller: Caller, memory_id: UUID, now: datetime) -> StoredMemory:
    """Bring a retired memory back with its links; raise what delete_memory does, or MemoryTaken."""
    try:
        with transaction.atomic():
            memory = _locked(caller=caller, memory_id=memory_id, now=now)
            if memory.state == Memory.State.RETIRED:
                _restore(caller, memory, now=now)
    except IntegrityError as error:
        if _ONCE_IN_SCOPE not in str(error):
            raise
        raise MemoryTaken(
            "Another active memory of the same scope has the same words; retire that one first."
        ) from error
    return queries.get_memory(caller=caller, memory_id=memory_id, now=now, include_inactive=True)


def _locked(*, caller: Caller, memory_id: UUID, now: datetime) -> Memory:
    """Return the row, locked, if the caller may retire or restore it."""
    rows = queries.visible_memories(caller=caller, now=now, include_inactive=True)
    memory = (
        rows.select_for_update(of=("self",))
        .select_related("namespace")
        .filter(pk=memory_id)
        .first()
    )
    if memory is None:
        raise queries.unknown(memory_id)
    is_own = memory.author_id == caller.user_id
    action = Action.WRITE_MEMORY if is_own else Action.DELETE_ANY_MEMORY
    require(caller=caller, action=action, namespace_id=memory.namespace_id)
    return memory


def _restore(caller: Caller, memory: Memory, *, now: datetime) -> None:
    memory.state = Memory.State.ACTIVE
    memory.retired_at = memory.ended_at = None
    memory.retired_by = ""
    memory.save()
    vertex = graph.ensure_memory_vertex(
        namespace_id=memory.namespace_id, number=memory.number, memory_id=memory.pk
    )
    _relink(memory, actor=caller.username, now=now)
    for other in _holding_ties_to(memory, vertex=vertex):
        _relink(other, actor=caller.username, now=now)
    _record(caller, memory, "memory.restore", {})


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


def _record(caller: Caller, memory: Memory, action: str, detail: dict[str, object]) -> None:
    accounts.record(
        actor=caller.username,
        action=action,
        target=str(memory.pk),
        namespace=memory.namespace,
        token_id=caller.token_id,
        detail=detail,
    )
