"""Gaps in what the team knows: questions that are asked, answered and listed.

A question is a memory of its type, open while it is active. Its answer is a memory of its own that
EXPLAINS it; with that the question is resolved. Nobody asks but who calls `ask_question`: a recall
that found nothing leaves nothing behind.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from codemem.accounts import queries as accounts
from codemem.accounts.values import Action, Caller
from codemem.embedding import Provider
from memory import queries
from memory.models import Memory
from memory.services.linking import associate
from memory.services.rights import require
from memory.services.standing import StateUnfit, resolve
from memory.services.storing import store_memory
from memory.values import MemoryType, RelationshipKind, StoredMemory, StoreOutcome
from memory.wording import MemoryInvalid

_TO = "to:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """An open question, and who is asked: None means the team."""

    memory: StoredMemory
    asked_of: str | None


def ask_question(
    *,
    caller: Caller,
    namespace_id: UUID,
    text: str,
    now: datetime,
    repository_id: UUID | None = None,
    asked_of: str | None = None,
    links: Collection[str] = (),
    provider: Provider | None = None,
) -> StoreOutcome:
    """Ask the team, or one member of the namespace by name; raise what store_memory does."""
    tags = []
    if asked_of is not None:
        if not accounts.is_member(namespace_id=namespace_id, username=asked_of):
            raise MemoryInvalid(f"The namespace has no member {asked_of!r} to ask.")
        tags = [f"{_TO}{asked_of}"]
    return store_memory(
        caller=caller,
        namespace_id=namespace_id,
        repository_id=repository_id,
        content=text,
        memory_type=MemoryType.QUESTION,
        tags=tags,
        links=list(links),
        now=now,
        provider=provider,
    )


def answer_question(
    *,
    caller: Caller,
    question_id: UUID,
    text: str,
    now: datetime,
    memory_type: MemoryType = MemoryType.INSIGHT,
    provider: Provider | None = None,
) -> tuple[StoreOutcome, StoredMemory]:
    """Store an answer, tie it to the question, and resolve that; return both.

    In steps that may each be repeated: one who is killed half-way answers again, and the same
    words are stored once. Raise MemoryUnknown, StateUnfit, RightMissing, MemoryInvalid.
    """
    question = queries.get_memory(
        caller=caller, memory_id=question_id, now=now, include_inactive=True
    )
    if question.memory_type is not MemoryType.QUESTION:
        raise StateUnfit(f"{question_id} is a {question.memory_type}, not a question.")
    if question.state not in {Memory.State.ACTIVE, Memory.State.RESOLVED}:
        raise StateUnfit(f"The question is {question.state}; restore it first.")
    require(caller=caller, action=Action.WRITE_MEMORY, namespace_id=question.namespace_id)
    outcome = store_memory(
        caller=caller,
        namespace_id=question.namespace_id,
        repository_id=question.repository_id,
        branch=question.branch,
        visibility=question.visibility,
        content=text,
        memory_type=memory_type,
        now=now,
        provider=provider,
    )
    associate(
        caller=caller,
        source_id=str(outcome.memory.id),
        target_id=str(question_id),
        kind=RelationshipKind.EXPLAINS,
        now=now,
    )
    resolved = resolve(caller=caller, memory_id=question_id, now=now, reason="It was answered.")
    return outcome, resolved


def list_questions(
    *,
    caller: Caller,
    now: datetime,
    namespace_ids: Collection[UUID],
    repository_id: UUID | None = None,
    only_to_me: bool = False,
    limit: int = 50,
) -> list[Question]:
    """Return the open questions of a scope, the oldest first: it waits the longest. One query."""
    rows = queries.visible_memories(caller=caller, now=now).filter(
        namespace_id__in=namespace_ids, memory_type=MemoryType.QUESTION
    )
    if repository_id is not None:
        rows = rows.filter(queries.in_repository(repository_id))
    if only_to_me:
        rows = rows.filter(tags__contains=[f"{_TO}{caller.username.lower()}"])
    oldest = queries.shown(rows).order_by("created_at", "pk")[:limit]
    found = [queries.stored(row, now=now) for row in oldest]
    return [Question(memory=memory, asked_of=_asked_of(memory)) for memory in found]


def _asked_of(memory: StoredMemory) -> str | None:
    named = (tag.removeprefix(_TO) for tag in memory.tags if tag.startswith(_TO))
    return next(named, None)
