"""Memories of branches: when a branch is merged they hold everywhere, when it is gone they expire.

What the base learned meanwhile about the same thing is not overruled by a merge: then a person
decides (a review item of kind promote).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import numpy as np
from django.db import IntegrityError, transaction
from django.db.models import Q

from codemem import policies
from memory.candidates import QuestionVector, distance_to
from memory.models import Anchor, Memory, MemoryBranch, ReviewItem
from memory.services import review
from memory.services.versioning import Change, record_version

ACTOR = "branch merge"
_SAME_SUBJECT = 0.8
_ONCE_IN_SCOPE = ("memory_content_once_in_scope", "memory_private_content_once")
_RIVALS_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """How many of a branch's memories hold everywhere now, and how many wait for a person."""

    promoted: int = 0
    queued: int = 0


def branches_with_memories(*, repository_id: UUID) -> dict[str, str]:
    """Return the branches that active memories were stored for, and where each led last ("").

    Two queries.
    """
    rows = Memory.objects.filter(repository_id=repository_id, state=Memory.State.ACTIVE)
    names = set(rows.exclude(branch="").order_by().values_list("branch", flat=True).distinct())
    noted = MemoryBranch.objects.filter(repository_id=repository_id, name__in=names)
    return dict.fromkeys(sorted(names), "") | dict(noted.values_list("name", "head"))


def note_branch_heads(*, repository_id: UUID, heads: Mapping[str, str]) -> None:
    """Note where branches lead, of those that memories were stored for."""
    known = branches_with_memories(repository_id=repository_id)
    wanted = [
        MemoryBranch(repository_id=repository_id, name=name, head=heads[name])
        for name in known
        if name in heads and heads[name] != known[name]
    ]
    MemoryBranch.objects.bulk_create(
        wanted,
        update_conflicts=True,
        unique_fields=["repository", "name"],
        update_fields=["head"],
    )


def promote_branch(*, repository_id: UUID, branch: str, now: datetime) -> Promotion:
    """Let the memories of a merged branch hold on every branch; what is contested is proposed.

    Each in a transaction of its own, so that a kill leaves whole memories behind; the next push
    goes on. Safe to run twice.
    """
    promoted = queued = 0
    rows = Memory.objects.filter(
        repository_id=repository_id, branch=branch, state=Memory.State.ACTIVE
    )
    for memory_id in list(rows.values_list("pk", flat=True)):
        with transaction.atomic():
            memory = rows.select_for_update(no_key=True).filter(pk=memory_id).first()
            if memory is None:
                continue
            rivals = _rivals(memory)
            if not rivals:
                promoted += 1
                promote(memory, actor=ACTOR, now=now)
            elif _propose(memory, rivals, branch, now=now):
                queued += 1
    if not rows.exists():
        MemoryBranch.objects.filter(repository_id=repository_id, name=branch).delete()
    return Promotion(promoted=promoted, queued=queued)


def promote(memory: Memory, *, actor: str, now: datetime) -> None:
    """Let one memory of a branch, a locked row, hold everywhere.

    Where the base says the same words already, those stay and this one is superseded by them.
    """
    reason = f"The branch {memory.branch} was merged."
    record_version(memory, change=Change.PROMOTED, actor=actor, now=now, reason=reason)
    branch, memory.branch = memory.branch, ""
    try:
        with transaction.atomic():
            memory.save(update_fields=["branch", "updated_at"])
    except IntegrityError as error:
        if not any(name in str(error) for name in _ONCE_IN_SCOPE):
            raise
        memory.branch = branch
        memory.superseded_by = Memory.objects.filter(
            namespace_id=memory.namespace_id,
            repository=memory.repository,
            branch="",
            state=Memory.State.ACTIVE,
            content_hash=memory.content_hash,
        ).first()
        memory.state, memory.ended_at = Memory.State.SUPERSEDED, now
        memory.save(update_fields=["superseded_by", "state", "ended_at", "updated_at"])


def expire_branch(*, repository_id: UUID, branch: str, now: datetime) -> int:
    """Give the memories of a branch that is gone an end; return how many had none so near.

    Pinned ones stay. The days are the namespace's `memory.branch_ttl_days`.
    """
    rows = Memory.objects.filter(
        repository_id=repository_id, branch=branch, state=Memory.State.ACTIVE, is_pinned=False
    )
    first = rows.first()
    if first is None:
        return 0
    noted, _ = MemoryBranch.objects.get_or_create(repository_id=repository_id, name=branch)
    if noted.gone_at is not None:
        return 0
    days = policies.count(first.namespace_id, "memory.branch_ttl_days")
    end = now + timedelta(days=days)
    with transaction.atomic():
        later = rows.filter(Q(expires_at=None) | Q(expires_at__gt=end)).select_for_update(
            no_key=True
        )
        expiring = list(later)
        for memory in expiring:
            reason = f"The branch {branch} is gone and was not merged."
            record_version(memory, change=Change.MOVED, actor=ACTOR, now=now, reason=reason)
            memory.expires_at = end
            memory.save(update_fields=["expires_at", "updated_at"])
        MemoryBranch.objects.filter(pk=noted.pk).update(gone_at=now)
    return len(expiring)


def _rivals(memory: Memory) -> list[Memory]:
    """Return what the base learned about the same thing since this was stored.

    The same thing: a memory of the same kind that is anchored at the same place, or says nearly
    the same (cosine from .8) in other words.
    """
    base = Memory.objects.filter(
        Q(repository_id=memory.repository_id) | Q(repository_id=None),
        namespace_id=memory.namespace_id,
        branch="",
        state=Memory.State.ACTIVE,
        memory_type=memory.memory_type,
    ).exclude(content_hash=memory.content_hash)
    if memory.visibility == Memory.Visibility.PRIVATE:
        base = base.filter(author_id=memory.author_id)
    else:
        base = base.exclude(visibility=Memory.Visibility.PRIVATE)
    newer = base.filter(
        Q(created_at__gt=memory.created_at) | Q(versions__valid_to__gt=memory.created_at)
    ).distinct()
    found = {row.pk: row for row in newer.filter(_anchored_alike(memory))[:_RIVALS_NAMED]}
    if memory.embedding is not None:
        mine = QuestionVector(
            values=np.asarray(memory.embedding, np.float32),
            fingerprint=memory.embedding_fingerprint,
        )
        alike = newer.annotate(distance=distance_to(mine))
        for row in alike.filter(distance__lte=1 - _SAME_SUBJECT)[:_RIVALS_NAMED]:
            found[row.pk] = row
    return list(found.values())


def _anchored_alike(memory: Memory) -> Q:
    mine = Anchor.objects.filter(memory=memory)
    places = Q(pk__in=[])
    for path, symbol in mine.exclude(path="").values_list("path", "symbol"):
        place = Q(repository_id=memory.repository_id, path=path, symbol=symbol)
        places |= Q(pk__in=Anchor.objects.filter(place).values("memory_id"))
    return places


def _propose(memory: Memory, rivals: list[Memory], branch: str, *, now: datetime) -> bool:
    item = review.propose(
        namespace_id=memory.namespace_id,
        repository_id=memory.repository_id,
        kind=ReviewItem.Kind.PROMOTE,
        memory_ids=[memory.pk, *(rival.pk for rival in rivals)],
        proposal={"operation": "promote", "arguments": {}},
        reason=f"The branch {branch} was merged, and the base learned about the same since.",
        confidence=0.5,
        proposed_by=ACTOR,
        now=now,
    )
    return item is not None
