"""The review queue: what a machine proposes about memories, and what a person decides.

A proposal names an operation of `memory/services/operations.py` and its arguments; approving runs
it as the person who approves, so that the queue gives nobody a right that they lack. Reasons are
sentences about memories, never their text: a purge has nothing to look for here.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import BooleanField, Q, QuerySet
from django.db.models.expressions import RawSQL

from codemem.accounts import services as accounts
from codemem.accounts.values import PERMISSIONS, Action, Caller
from memory import queries
from memory.models import Memory, ReviewItem
from memory.services.rights import RightMissing

REJECTION_REMEMBERED = timedelta(days=180)
MAXIMUM_MEMORIES = 50

_ONCE = "review_item_open_once"
_ABOUT_OTHERS_PRIVATE = """
    EXISTS (SELECT 1 FROM jsonb_array_elements_text(memory_reviewitem.memory_ids) AS named(id)
            JOIN memory_memory ON memory_memory.id = named.id::uuid
            WHERE memory_memory.visibility = 'private'
              AND memory_memory.author_id IS DISTINCT FROM %s)
"""


class ProposalUnknown(Exception):
    """There is no such proposal, or not for this caller: the two are never told apart."""


class ProposalDecided(Exception):
    """Somebody has decided it before; the message says who and how."""


class ProposalOvertaken(Exception):
    """What it was about has changed since; it is closed, and nothing else was done."""


class ProposalInvalid(Exception):
    """No such operation, or memories that no one person may decide about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """What an operation is given: who approved (or refused), when, and about which memories."""

    caller: Caller
    memory_ids: tuple[UUID, ...]
    arguments: Mapping[str, Any]
    reason: str
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A proposal after it was decided; `overtaken` says why approving did nothing."""

    id: UUID
    kind: str
    state: str
    memory_ids: tuple[UUID, ...]


Operation = Callable[[Approval], None]
OperationFunction = TypeVar("OperationFunction", bound=Operation)

_OPERATIONS: dict[str, Operation] = {}
_REFUSALS: dict[str, Operation] = {}


def operation(name: str) -> Callable[[OperationFunction], OperationFunction]:
    """Declare what approving a proposal of this name does."""

    def declare(function: OperationFunction) -> OperationFunction:
        if name in _OPERATIONS:
            raise TypeError(f"The operation {name} is declared twice.")
        _OPERATIONS[name] = function
        return function

    return declare


def refusal(name: str) -> Callable[[OperationFunction], OperationFunction]:
    """Declare what turning a proposal of this name down does, if it does anything."""

    def declare(function: OperationFunction) -> OperationFunction:
        _REFUSALS[name] = function
        return function

    return declare


def operations() -> frozenset[str]:
    return frozenset(_OPERATIONS)


def propose(
    *,
    namespace_id: UUID,
    kind: str,
    memory_ids: Sequence[UUID],
    proposal: Mapping[str, Any],
    reason: str,
    confidence: float,
    proposed_by: str,
    now: datetime,
    repository_id: UUID | None = None,
) -> ReviewItem | None:
    """Put a change before the people of a namespace; None when it need not be asked (again).

    `proposal` is {"operation": name, "arguments": {...}}. The same operation about the same
    memories is open once, and not asked again for 180 days after it was turned down. A proposal
    that touches a private memory is its author's alone. Raise ProposalInvalid.
    """
    name = str(proposal.get("operation", ""))
    if name not in _OPERATIONS:
        raise ProposalInvalid(f"There is no operation {name!r}; there are: {_known()}.")
    distinct = list(dict.fromkeys(memory_ids))
    if not 0 < len(distinct) <= MAXIMUM_MEMORIES:
        raise ProposalInvalid(
            f"A proposal is about 1 to {MAXIMUM_MEMORIES} memories, not {len(distinct)}."
        )
    memories = {row.pk: row for row in _rows(distinct, namespace_id=namespace_id)}
    if len(memories) != len(distinct):
        raise ProposalInvalid("A proposal names a memory that its namespace does not have.")
    fingerprint = _fingerprint(kind, name, distinct)
    if _is_known(namespace_id, fingerprint, now=now):
        return None
    return _created(
        ReviewItem(
            namespace_id=namespace_id,
            repository_id=repository_id or _one_repository(memories.values()),
            kind=ReviewItem.Kind(kind),
            private_to_id=_private_to(memories.values()),
            memory_ids=[str(memory_id) for memory_id in distinct],
            proposal={
                "operation": name,
                "arguments": dict(proposal.get("arguments", {})),
                "seen": {str(key): _digest(row) for key, row in memories.items()},
            },
            reason=reason,
            confidence=min(max(confidence, 0.0), 1.0),
            fingerprint=fingerprint,
            proposed_by=proposed_by,
            created_at=now,
        )
    )


def visible_proposals(
    *, caller: Caller, action: Action = Action.READ_MEMORY
) -> QuerySet[ReviewItem]:
    """Return the proposals a caller may see: none that touches what another keeps to themselves.

    Asked of the memories as they are now, too: one that became private since takes along what was
    proposed about it.
    """
    hidden = RawSQL(_ABOUT_OTHERS_PRIVATE, [caller.user_id], output_field=BooleanField())  # noqa: S611  a literal
    return (
        ReviewItem.objects.filter(
            Q(private_to=None) | Q(private_to_id=caller.user_id),
            namespace_id__in=caller.namespaces_for(action),
        )
        .annotate(is_hidden=hidden)
        .filter(is_hidden=False)
        .select_related("namespace", "repository")
        .defer("fingerprint")
    )


def decide(
    *, caller: Caller, item_id: UUID, approve: bool, now: datetime, note: str = ""
) -> Decision:
    """Approve a proposal, which carries it out as the caller, or turn it down.

    It takes the role maintainer, or memories that are all the caller's own. Raise ProposalUnknown,
    ProposalDecided, RightMissing, whatever the operation refuses (then it stays open), and
    ProposalOvertaken when a memory is not what it was, which closes the proposal.
    """
    with transaction.atomic():
        item = _locked(caller, item_id)
        memories = _rows([UUID(key) for key in item.memory_ids], namespace_id=item.namespace_id)
        _require_right(caller, item, memories)
        if approve and _is_overtaken(item, memories):
            _close(item, ReviewItem.State.OVERTAKEN, caller.username, note, now=now)
            decision = _decision(item)
        else:
            name = item.proposal["operation"]
            if run := _OPERATIONS[name] if approve else _REFUSALS.get(name):
                _carry_out(run, caller, item, now=now)
            state = ReviewItem.State.APPROVED if approve else ReviewItem.State.REJECTED
            _close(item, state, caller.username, note, now=now)
            decision = _decision(item)
        _record(caller, item)
    if decision.state == ReviewItem.State.OVERTAKEN:
        # Raised after the commit: closing it must last.
        raise ProposalOvertaken(
            "The memories of this proposal have changed since it was made; it is closed."
        )
    return decision


def close_overtaken(*, now: datetime) -> int:
    """Close the open proposals whose memories are not what they were; return how many."""
    closed = 0
    for item in ReviewItem.objects.filter(state=ReviewItem.State.OPEN).iterator():
        memories = _rows([UUID(key) for key in item.memory_ids], namespace_id=item.namespace_id)
        if _is_overtaken(item, memories):
            closed += ReviewItem.objects.filter(pk=item.pk, state=ReviewItem.State.OPEN).update(
                state=ReviewItem.State.OVERTAKEN, decided_at=now
            )
    return closed


def get_proposal(*, caller: Caller, item_id: UUID) -> ReviewItem:
    """Return one proposal; raise ProposalUnknown."""
    item = visible_proposals(caller=caller).filter(pk=item_id).first()
    if item is None:
        raise _unknown(item_id)
    return item


def _carry_out(run: Operation, caller: Caller, item: ReviewItem, *, now: datetime) -> None:
    run(
        Approval(
            caller=caller,
            memory_ids=tuple(UUID(key) for key in item.memory_ids),
            arguments=item.proposal["arguments"],
            reason=item.reason,
            now=now,
        )
    )


def _locked(caller: Caller, item_id: UUID) -> ReviewItem:
    item = (
        visible_proposals(caller=caller).select_for_update(of=("self",)).filter(pk=item_id).first()
    )
    if item is None:
        raise _unknown(item_id)
    if item.state != ReviewItem.State.OPEN:
        by = f" by {item.decided_by}" if item.decided_by else ""
        raise ProposalDecided(f"This proposal is {item.state} already{by}.")
    return item


def _require_right(caller: Caller, item: ReviewItem, memories: Sequence[Memory]) -> None:
    are_own = bool(memories) and all(row.author_id == caller.user_id for row in memories)
    action = Action.WRITE_MEMORY if are_own else Action.DELETE_ANY_MEMORY
    if caller.can(action, item.namespace_id):
        return
    permission = PERMISSIONS[action]
    if permission.scope not in caller.scopes:
        raise RightMissing(f"This token may not decide this: it lacks {permission.scope}.")
    # Readers lack the role writer even for what was theirs.
    wanted = PERMISSIONS[Action.WRITE_MEMORY].role.title
    raise RightMissing(
        f"To decide about your own memories takes the role {wanted}; about other people's it takes"
        f" the role {PERMISSIONS[Action.DELETE_ANY_MEMORY].role.title}."
    )


def _is_overtaken(item: ReviewItem, memories: Sequence[Memory]) -> bool:
    now = {str(row.pk): _digest(row) for row in memories}
    return bool(now != item.proposal.get("seen"))


def _rows(memory_ids: Sequence[UUID], *, namespace_id: UUID) -> list[Memory]:
    rows = Memory.objects.filter(pk__in=memory_ids, namespace_id=namespace_id)
    return list(rows.defer(*queries.SEARCH_COLUMNS))


def _digest(memory: Memory) -> str:
    """Return what a proposal rests on; tags, use and vectors may change beneath it."""
    parts = [
        bytes(memory.content_hash).hex(),
        memory.memory_type,
        memory.state,
        memory.visibility,
        memory.branch,
        str(memory.is_pinned),
        str(memory.superseded_by_id),
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _fingerprint(kind: str, name: str, memory_ids: Sequence[UUID]) -> bytes:
    text = json.dumps([kind, name, sorted(str(memory_id) for memory_id in memory_ids)])
    return hashlib.sha256(text.encode()).digest()


def _is_known(namespace_id: UUID, fingerprint: bytes, *, now: datetime) -> bool:
    rejected = Q(state=ReviewItem.State.REJECTED, decided_at__gt=now - REJECTION_REMEMBERED)
    known = Q(state=ReviewItem.State.OPEN) | rejected
    rows = ReviewItem.objects.filter(known, namespace_id=namespace_id, fingerprint=fingerprint)
    return rows.exists()


def _created(item: ReviewItem) -> ReviewItem | None:
    """Write the row; None when the same was proposed at the same moment."""
    try:
        with transaction.atomic():
            item.save(force_insert=True)
    except IntegrityError as error:
        if _ONCE not in str(error):
            raise
        return None
    return item


def _private_to(memories: Any) -> int | None:
    authors = {row.author_id for row in memories if row.visibility == Memory.Visibility.PRIVATE}
    if len(authors) > 1 or None in authors:
        raise ProposalInvalid("Private memories of several people have nobody who may decide.")
    return authors.pop() if authors else None


def _one_repository(memories: Any) -> UUID | None:
    repositories = {row.repository_id for row in memories}
    return repositories.pop() if len(repositories) == 1 else None


def _close(
    item: ReviewItem, state: ReviewItem.State, decided_by: str, note: str, *, now: datetime
) -> None:
    item.state = state
    item.decided_by, item.decided_at, item.decision_note = decided_by, now, note
    item.save(update_fields=["state", "decided_by", "decided_at", "decision_note"])


def _decision(item: ReviewItem) -> Decision:
    return Decision(
        id=item.pk,
        kind=item.kind,
        state=item.state,
        memory_ids=tuple(UUID(key) for key in item.memory_ids),
    )


def _record(caller: Caller, item: ReviewItem) -> None:
    accounts.record(
        actor=caller.username,
        action=f"proposal.{item.state}",
        target=str(item.pk),
        namespace=item.namespace,
        token_id=caller.token_id,
        detail={"operation": item.proposal["operation"], "memories": item.memory_ids},
    )


def _known() -> str:
    return ", ".join(sorted(_OPERATIONS))


def _unknown(item_id: object) -> ProposalUnknown:
    return ProposalUnknown(f"There is no proposal {item_id} here, or not for you.")
