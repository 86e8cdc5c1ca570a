"""One memory takes the place of another: the old one is kept, and says by what it was replaced."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from codemem.accounts import services as accounts
from codemem.accounts.values import Action, Caller
from graph import services as graph
from memory import queries
from memory.models import Memory
from memory.services.review import propose
from memory.services.rights import RightMissing
from memory.services.versioning import Change, record_version
from memory.values import RelationshipKind, Visibility
from memory.wording import MemoryInvalid

_SEEN_BY: dict[str, int] = {
    Visibility.PRIVATE: 0,
    Visibility.REPOSITORY: 1,
    Visibility.NAMESPACE: 2,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Superseding:
    """What became of the memories that a new one shall replace."""

    done: tuple[UUID, ...] = ()
    queued: tuple[UUID, ...] = ()
    notes: tuple[str, ...] = ()


def check_superseded(
    *,
    caller: Caller,
    ids: Sequence[UUID],
    namespace_id: UUID,
    visibility: Visibility,
    now: datetime,
) -> None:
    """Raise MemoryUnknown or MemoryInvalid for what a new memory cannot replace."""
    rows = queries.visible_memories(caller=caller, now=now, include_inactive=True)
    known = {memory.pk: memory for memory in rows.filter(pk__in=ids, namespace_id=namespace_id)}
    for key in ids:
        if key not in known:
            raise queries.unknown(key)
        if _SEEN_BY[visibility] < _SEEN_BY[known[key].visibility]:
            raise MemoryInvalid(
                f"A memory for {visibility} cannot supersede {key}, which is for"
                f" {known[key].visibility}: others would lose it. Store it with that visibility."
            )


def supersede(
    *, memory: Memory, ids: Sequence[UUID], caller: Caller, now: datetime, reason: str = ""
) -> Superseding:
    """Have a memory take the place of others, in the caller's transaction.

    Own ones, and for maintainers all, are superseded at once; about other people's a proposal goes
    to the review queue. One that holds everywhere is not ended by one of a branch: the two are
    linked, and the one of the branch wins on it.
    """
    if not ids:
        return Superseding()
    done, queued, notes = [], [], []
    rows = queries.visible_memories(caller=caller, now=now, include_inactive=True)
    locked = rows.select_for_update(of=("self",), no_key=True).order_by("pk")
    for old in locked.filter(pk__in=ids, namespace_id=memory.namespace_id):
        if old.pk == memory.pk:
            raise MemoryInvalid("A memory cannot supersede itself.")
        if old.superseded_by_id == memory.pk:
            continue
        if old.state not in {Memory.State.ACTIVE, Memory.State.RESOLVED}:
            notes.append(f"{old.pk} is {old.state} already.")
            continue
        if memory.branch and memory.branch != old.branch:
            _link(memory, old, caller=caller, now=now)
            notes.append(f"{old.pk} holds on other branches than {memory.branch}; it was linked.")
        elif old.author_id == caller.user_id or caller.can(
            Action.DELETE_ANY_MEMORY, memory.namespace_id
        ):
            end_by(old, memory, caller=caller, now=now, reason=reason)
            done.append(old.pk)
        else:
            _propose(memory, old, caller=caller, now=now)
            queued.append(old.pk)
    return Superseding(done=tuple(done), queued=tuple(queued), notes=tuple(notes))


def end_by(old: Memory, new: Memory, *, caller: Caller, now: datetime, reason: str = "") -> None:
    """End a locked memory in favor of another: version, state, link and audit event."""
    record_version(
        old, change=Change.SUPERSEDED, actor=caller, now=now, reason=reason, agent=new.agent
    )
    old.state = Memory.State.SUPERSEDED
    old.superseded_by = new
    old.ended_at = now
    old.save(update_fields=["state", "superseded_by", "ended_at", "updated_at"])
    _link(new, old, caller=caller, now=now)
    accounts.record(
        actor=caller.username,
        action="memory.supersede",
        target=str(old.pk),
        namespace=old.namespace,
        token_id=caller.token_id,
        detail={"by": str(new.pk)},
    )


def supersede_as_approved(
    *, caller: Caller, new_id: UUID, old_ids: Sequence[UUID], now: datetime, reason: str
) -> None:
    """Carry out a proposal; raise MemoryUnknown, RightMissing or MemoryInvalid."""
    rows = queries.visible_memories(caller=caller, now=now, include_inactive=True)
    new = rows.filter(pk=new_id, state=Memory.State.ACTIVE).first()
    if new is None:
        raise queries.unknown(new_id)
    result = supersede(memory=new, ids=old_ids, caller=caller, now=now, reason=reason)
    if result.queued:
        raise RightMissing("To supersede other people's memories takes the role maintainer.")


def _link(new: Memory, old: Memory, *, caller: Caller, now: datetime) -> None:
    source, target = (
        graph.ensure_memory_vertex(
            namespace_id=memory.namespace_id, number=memory.number, memory_id=memory.pk
        )
        for memory in (new, old)
    )
    graph.link(
        namespace_id=new.namespace_id,
        source=source,
        target=target,
        kind=RelationshipKind.SUPERSEDES.value,
        actor=caller.username,
        now=now,
    )


def _propose(new: Memory, old: Memory, *, caller: Caller, now: datetime) -> None:
    propose(
        namespace_id=new.namespace_id,
        kind="supersede",
        memory_ids=[new.pk, old.pk],
        proposal={"operation": "supersede", "arguments": {}},
        reason=f"{caller.username} says that the first takes the place of the second.",
        confidence=0.8,
        proposed_by=caller.username,
        now=now,
        repository_id=new.repository_id,
    )
