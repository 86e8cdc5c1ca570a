"""Storing a memory: its words made fit to keep, once in its scope, embedded, tied to code."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import numpy as np
import structlog
from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import Q
from numpy.typing import NDArray

from codemem import embedding
from codemem.accounts.values import Action, Caller
from codemem.embedding import EmbeddingUnavailable, Provider
from codemem.words import tokens_text
from graph import services as graph
from graph.models import Repository
from memory import queries
from memory.models import Memory
from memory.services.linking import Tie, mentioned_ties, named_ties, tie_memory
from memory.services.rights import require
from memory.values import MemoryType, StoreAction, StoreOutcome, Visibility
from memory.wording import MemoryInvalid, valid_content, valid_tags

MAXIMUM_TTL_HOURS = 24 * 366 * 10

_ONCE_IN_SCOPE = "memory_content_once_in_scope"
_ATTEMPTS = 5
_LONGEST_BRANCH = 255
logger = structlog.get_logger(__name__)


class RepositoryUnknown(Exception):
    """The namespace has no such repository."""


def store_memory(
    *,
    caller: Caller,
    namespace_id: UUID,
    content: str,
    memory_type: MemoryType | str,
    now: datetime,
    repository_id: UUID | None = None,
    branch: str = "",
    importance: float = 0.5,
    confidence: float = 1.0,
    tags: Iterable[str] = (),
    links: Sequence[str] = (),
    expires_at: datetime | None = None,
    ttl_hours: float | None = None,
    auto_link: bool = True,
    provider: Provider | None = None,
) -> StoreOutcome:
    """Store a statement and tie it to the code it names, or find that it is there already.

    The same words in the same scope (namespace, repository, branch) are one memory: the second
    time its new tags and links go to the first, and the outcome says so. `links` are text ids of
    code in the repository or ids of memories; an unknown one is an error before anything is
    written. Names of code in the text are tied with less weight where they are unmistakable.
    Without an embedding model the memory is kept all the same, and embedded later.

    Raise NamespaceUnknown, RightMissing, RepositoryUnknown, MemoryInvalid, LinkUnknown.
    """
    require(caller=caller, action=Action.WRITE_MEMORY, namespace_id=namespace_id)
    draft = _Draft(
        caller=caller,
        namespace_id=namespace_id,
        repository_id=_known_repository(namespace_id, repository_id),
        branch=_valid_branch(branch, repository_id),
        content=valid_content(content, maximum_characters=settings.MAXIMUM_MEMORY_CHARACTERS),
        memory_type=_valid_type(memory_type),
        importance=_valid_share("importance", importance),
        confidence=_valid_share("confidence", confidence),
        tags=valid_tags(tags),
        expires_at=_valid_expiry(expires_at, ttl_hours, now=now),
    )
    ties = named_ties(
        caller=caller, namespace_id=namespace_id, repository_id=repository_id, ids=links, now=now
    )
    if auto_link and repository_id is not None:
        ties += mentioned_ties(repository_id=repository_id, content=draft.content, besides=ties)
    for _ in range(_ATTEMPTS):
        if outcome := _repeated(draft, ties, now=now):
            return outcome
        draft.embed(provider)
        if outcome := _created(draft, ties, now=now):
            return outcome
    raise MemoryInvalid("This memory is being stored and removed at the same time; try again.")


@dataclass(slots=True, kw_only=True)
class _Draft:
    """A checked memory on its way into the table."""

    caller: Caller
    namespace_id: UUID
    repository_id: UUID | None
    branch: str
    content: str
    memory_type: MemoryType
    importance: float
    confidence: float
    tags: tuple[str, ...]
    expires_at: datetime | None
    vector: NDArray[np.float32] | None = None
    fingerprint: str = ""

    @property
    def visibility(self) -> Visibility:
        return Visibility.NAMESPACE if self.repository_id is None else Visibility.REPOSITORY

    @property
    def content_hash(self) -> bytes:
        return hashlib.sha256(self.content.encode()).digest()

    def embed(self, provider: Provider | None) -> None:
        """Fill the vector, outside any transaction; without a model it stays empty."""
        if self.vector is not None:
            return
        try:
            model = provider or embedding.from_settings()
            self.vector = model.embed([self.content], kind="document")[0]
            self.fingerprint = model.fingerprint
        except EmbeddingUnavailable as error:
            logger.warning("memory_not_embedded", reason=str(error))


@transaction.atomic
def _repeated(draft: _Draft, ties: Sequence[Tie], *, now: datetime) -> StoreOutcome | None:
    """Add tags and ties to the active memory with the same words; None when there is none.

    The row is locked first: two repetitions at once must not lose each other's tags. One that is
    past its time makes room instead.
    """
    memory = _same_words(draft)
    if memory is None:
        return None
    if memory.expires_at is not None and memory.expires_at <= now:
        graph.unlink_memory(namespace_id=memory.namespace_id, number=memory.number)
        memory.state = Memory.State.EXPIRED
        memory.ended_at = memory.expires_at
        memory.save(update_fields=["state", "ended_at", "updated_at"])
        return None
    added = tuple(tag for tag in draft.tags if tag not in memory.tags)
    if added:
        memory.tags = list(valid_tags([*memory.tags, *added]))
        memory.tokens = _tokens(memory.content, memory.tags)
        memory.save(update_fields=["tags", "tokens", "updated_at"])
    tie_memory(memory, ties, actor=draft.caller.username, now=now)
    return _outcome(memory, StoreAction.UNCHANGED, ties, now=now, added_tags=added)


def _same_words(draft: _Draft) -> Memory | None:
    rows = Memory.objects.filter(
        Q(repository_id=draft.repository_id),
        namespace_id=draft.namespace_id,
        branch=draft.branch,
        content_hash=draft.content_hash,
        state=Memory.State.ACTIVE,
    )
    return rows.select_for_update().defer("embedding").first()


def _created(draft: _Draft, ties: Sequence[Tie], *, now: datetime) -> StoreOutcome | None:
    """Write the row, its vertex and its ties; None when the same words were there first."""
    try:
        with transaction.atomic():
            memory = _row(draft)
            memory.save(force_insert=True)
            tie_memory(memory, ties, actor=draft.caller.username, now=now)
    except IntegrityError as error:
        if _ONCE_IN_SCOPE in str(error):
            return None
        raise
    return _outcome(memory, StoreAction.CREATED, ties, now=now)


def _row(draft: _Draft) -> Memory:
    return Memory(
        number=_next_number(),
        namespace_id=draft.namespace_id,
        repository_id=draft.repository_id,
        branch=draft.branch,
        visibility=draft.visibility,
        memory_type=draft.memory_type,
        content=draft.content,
        content_hash=draft.content_hash,
        tags=list(draft.tags),
        importance=draft.importance,
        confidence=draft.confidence,
        author_id=draft.caller.user_id,
        author_name=draft.caller.username,
        token_id=draft.caller.token_id,
        expires_at=draft.expires_at,
        tokens=_tokens(draft.content, draft.tags),
        embedding=draft.vector,
        embedding_fingerprint=draft.fingerprint,
    )


def _outcome(
    memory: Memory,
    action: StoreAction,
    ties: Sequence[Tie],
    *,
    now: datetime,
    added_tags: tuple[str, ...] = (),
) -> StoreOutcome:
    row = queries.shown(Memory.objects.filter(pk=memory.pk)).get()
    return StoreOutcome(
        memory=queries.stored(row, now=now),
        action=action,
        linked=tuple(tie.id for tie in ties),
        added_tags=added_tags,
    )


def _next_number() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval('memory_memory_number')")
        return int(cursor.fetchone()[0])


def _tokens(content: str, tags: Iterable[str]) -> str:
    """Return the words a memory is found by; tags are words too, but not part of the vector."""
    return tokens_text("\n".join([content, *tags]))


def _known_repository(namespace_id: UUID, repository_id: UUID | None) -> UUID | None:
    if repository_id is None:
        return None
    if not Repository.objects.filter(pk=repository_id, namespace_id=namespace_id).exists():
        raise RepositoryUnknown(f"There is no repository {repository_id} in this namespace.")
    return repository_id


def _valid_branch(branch: str, repository_id: UUID | None) -> str:
    if branch and repository_id is None:
        raise MemoryInvalid(f"To store for the branch {branch}, name its repository.")
    if len(branch) > _LONGEST_BRANCH or "\0" in branch:
        raise MemoryInvalid(f"The branch name is not one: {branch[:40]!r}.")
    return branch


def _valid_type(memory_type: MemoryType | str) -> MemoryType:
    try:
        return MemoryType(memory_type)
    except ValueError as error:
        known = ", ".join(MemoryType)
        raise MemoryInvalid(
            f"There is no memory type {memory_type!r}; there are: {known}."
        ) from error


def _valid_share(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise MemoryInvalid(f"{name} is {value}; it must be a number from 0 to 1.")
    return float(value)


def _valid_expiry(
    expires_at: datetime | None, ttl_hours: float | None, *, now: datetime
) -> datetime | None:
    if expires_at is not None and ttl_hours is not None:
        raise MemoryInvalid("Give expires_at or ttl_hours, not both.")
    if ttl_hours is not None:
        if not 0 < ttl_hours <= MAXIMUM_TTL_HOURS:
            raise MemoryInvalid(
                f"ttl_hours is {ttl_hours}; it must be more than 0, at most {MAXIMUM_TTL_HOURS}."
            )
        return now + timedelta(hours=ttl_hours)
    if expires_at is None:
        return None
    if expires_at.tzinfo is None:
        raise MemoryInvalid("expires_at needs a time zone, for example 2030-01-31T12:00:00Z.")
    if expires_at <= now:
        raise MemoryInvalid(f"expires_at is {expires_at.isoformat()}, which is not in the future.")
    return expires_at
