"""What approving a proposal does: one small function for each operation, run as who approves.

A machine that wants more than this to be decidable adds a function here.
"""

from uuid import UUID

from memory import queries
from memory.models import FixAttempt, Memory
from memory.services import (
    editing,
    linking,
    merging,
    promotion,
    retirement,
    review,
    standing,
    storing,
    superseding,
)
from memory.services.review import Approval
from memory.values import MemoryType, RelationshipKind, Visibility


@review.operation("retire")
def retire(approval: Approval) -> None:
    """Retire every memory that the proposal is about."""
    for memory_id in approval.memory_ids:
        retirement.delete_memory(
            caller=approval.caller,
            memory_id=memory_id,
            reason=approval.reason,
            now=approval.now,
        )


@review.operation("associate")
def associate(approval: Approval) -> None:
    """Tie the first memory to the second by `kind`."""
    source, target = approval.memory_ids
    linking.associate(
        caller=approval.caller,
        source_id=str(source),
        target_id=str(target),
        kind=RelationshipKind(approval.arguments["kind"]),
        weight=float(approval.arguments.get("weight", 1.0)),
        now=approval.now,
    )


@review.operation("promote")
def promote(approval: Approval) -> None:
    """Let the first memory, of a merged branch, hold on every branch; the others stay."""
    memory_id = approval.memory_ids[0]
    rows = queries.visible_memories(caller=approval.caller, now=approval.now)
    memory = rows.select_for_update(of=("self",)).filter(pk=memory_id).first()
    if memory is None:
        raise queries.unknown(memory_id)
    if memory.branch and memory.state == Memory.State.ACTIVE:
        promotion.promote(memory, actor=approval.caller.username, now=approval.now)


@review.operation("activate")
def activate(approval: Approval) -> None:
    """Let a proposed memory answer, and take the place of those that it supersedes."""
    (memory_id,) = approval.memory_ids
    storing.activate(
        caller=approval.caller, memory_id=memory_id, now=approval.now, reason=approval.reason
    )
    superseding.supersede_as_approved(
        caller=approval.caller,
        new_id=memory_id,
        old_ids=[UUID(key) for key in approval.arguments.get("supersedes", ())],
        now=approval.now,
        reason=approval.reason,
    )


@review.refusal("activate")
def turn_down(approval: Approval) -> None:
    """Retire the proposed memory: it waits no longer, and the same words may be proposed anew."""
    (memory_id,) = approval.memory_ids
    if Memory.objects.filter(pk=memory_id, state=Memory.State.PROPOSED).exists():
        retirement.delete_memory(
            caller=approval.caller,
            memory_id=memory_id,
            reason=f"{approval.caller.username} turned it down.",
            now=approval.now,
        )


@review.operation("supersede")
def supersede(approval: Approval) -> None:
    """Have the first memory take the place of the others."""
    first, *others = approval.memory_ids
    superseding.supersede_as_approved(
        caller=approval.caller,
        new_id=first,
        old_ids=others,
        now=approval.now,
        reason=approval.reason,
    )


@review.operation("raise")
def raise_visibility(approval: Approval) -> None:
    """Have the memory seen by more; its author alone cannot approve that."""
    standing.raise_as_approved(
        caller=approval.caller,
        memory_id=approval.memory_ids[0],
        visibility=Visibility(approval.arguments["visibility"]),
        reason=approval.reason,
        now=approval.now,
    )


@review.operation("merge")
def merge(approval: Approval) -> None:
    """Have the memory `keep` (the first, unless named) stand for the others."""
    keeper = UUID(approval.arguments.get("keep", str(approval.memory_ids[0])))
    merging.fold(
        keeper_id=keeper,
        other_ids=[key for key in approval.memory_ids if key != keeper],
        actor=approval.caller,
        reason=approval.reason,
        now=approval.now,
    )


@review.operation("combine")
def combine(approval: Approval) -> None:
    """Merge the memories into a new one that says `content`."""
    kind = approval.arguments.get("memory_type")
    editing.merge_memories(
        caller=approval.caller,
        source_ids=approval.memory_ids,
        content=approval.arguments["content"],
        memory_type=MemoryType(kind) if kind else None,
        importance=approval.arguments.get("importance"),
        tags=approval.arguments.get("tags", ()),
        reason=approval.reason,
        now=approval.now,
    )


@review.operation("resolve")
def resolve(approval: Approval) -> None:
    """Say that the first memory, a failure, was fixed by the attempt that is named."""
    standing.resolve(
        caller=approval.caller,
        memory_id=approval.memory_ids[0],
        reason=approval.reason,
        now=approval.now,
    )
    FixAttempt.objects.filter(
        pk=UUID(approval.arguments["attempt"]), failure_id=approval.memory_ids[0]
    ).update(outcome=FixAttempt.Outcome.SUCCEEDED)
