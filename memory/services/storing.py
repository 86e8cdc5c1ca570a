"""Storing: the one way a memory comes to be.

Checked and cleaned (drafting), told apart from what is there (reconciliation), then written once
in its scope with its vertex, ties, entities and what it replaces, in one transaction. The model is
asked outside of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, TypedDict, Unpack
from uuid import UUID

import numpy as np
import structlog
from django.db import IntegrityError, connection, transaction
from django.db.models import F, Q, QuerySet
from numpy.typing import NDArray

from codemem import embedding
from codemem.accounts.values import Action, Caller
from codemem.embedding import EmbeddingUnavailable, Provider
from graph import services as graph
from graph.values import VertexLabel, graph_id
from memory import queries
from memory.anchors import Citation
from memory.candidates import QuestionVector
from memory.context import forget_contexts
from memory.models import Memory, MemoryUse
from memory.services.anchoring import DraftAnchor, anchor_memory
from memory.services.anchoring import drafted as drafted_anchors
from memory.services.drafting import Draft, RepositoryUnknown, drafted
from memory.services.linking import LinkUnknown, Tie, mentioned_ties, named_ties, tie_memory
from memory.services.naming import note_new_entities
from memory.services.reconciliation import kin_of
from memory.services.retirement import MemoryTaken, require_mine
from memory.services.review import propose
from memory.services.rights import RightMissing, require, require_harmless
from memory.services.superseding import Superseding, check_superseded, supersede
from memory.services.versioning import Change, record_version, snapshot_of, words_of_memory
from memory.values import (
    ItemOutcome,
    Kin,
    MemoryType,
    NewMemory,
    Relation,
    RelationshipKind,
    StoreAction,
    StoredMemory,
    StoreOutcome,
    Visibility,
)
from memory.wording import MemoryInvalid, valid_tags

MAXIMUM_BATCH: Final = 1_000

_ONCE_IN_SCOPE = ("memory_content_once_in_scope", "memory_private_content_once")
_KEY_ONCE = "memory_idempotency_key_once"
_ATTEMPTS = 5
_EMBEDDED_AT_ONCE = 64
_MOST_CONFLICTS = 3
_BY_WORDS = "It was compared by its words alone: no vector could be made of it."
logger = structlog.get_logger(__name__)


class KeyReused(Exception):
    """The idempotency key was used for something else before."""


class BatchTooLarge(Exception):
    """A batch has more items than one call may have."""


class MemoryFields(TypedDict, total=False):
    """What store_memory takes of a NewMemory beside its content and type."""

    repository_id: UUID | None
    branch: str
    visibility: Visibility | str | None
    rationale: str
    alternatives: Sequence[Mapping[str, str]]
    acceptance_criteria: Sequence[str]
    evidence: Sequence[Mapping[str, str]]
    citations: Sequence[Citation]
    tags: Sequence[str]
    importance: float
    confidence: float
    is_pinned: bool
    is_proposed: bool
    is_distinct: bool
    links: Sequence[str]
    auto_link: bool
    supersedes: Sequence[UUID]
    expires_at: datetime | None
    ttl_hours: float | None
    keep: bool
    agent: str
    model: str
    session_id: str
    source: str
    idempotency_key: str
    created_at: datetime | None


def store_memory(
    *,
    caller: Caller,
    namespace_id: UUID,
    content: str,
    memory_type: MemoryType | str,
    now: datetime,
    provider: Provider | None = None,
    **fields: Unpack[MemoryFields],
) -> StoreOutcome:
    """Store a statement and tie it to the code it names, or find that it is there already.

    The same words in the same scope (namespace, repository, branch) are one memory, and so are
    nearly the same ones that say nothing more: the second time its new tags and links go to the
    first, and the outcome says so. What is close to it is reported with a reason, what contradicts
    it is put before a person. Secrets are taken out. `links` are text ids of code in the repository
    or ids of memories; an unknown one is an error before anything is written. Names of code in the
    text are tied with less weight where they are unmistakable. Without an embedding model the
    memory is kept all the same, compared by its words alone, and embedded later.

    Raise NamespaceUnknown, RightMissing, RepositoryUnknown, MemoryInvalid, LinkUnknown,
    MemoryUnknown (what it supersedes), KeyReused.
    """
    new = NewMemory(content=content, memory_type=memory_type, **fields)
    return store_new(caller=caller, namespace_id=namespace_id, new=new, now=now, provider=provider)


def store_new(
    *,
    caller: Caller,
    namespace_id: UUID,
    new: NewMemory,
    now: datetime,
    provider: Provider | None = None,
) -> StoreOutcome:
    """Do as store_memory, with what is stored in one value."""
    require(caller=caller, action=Action.WRITE_MEMORY, namespace_id=namespace_id)
    draft = drafted(caller=caller, namespace_id=namespace_id, new=new, now=now)
    return _stored(draft, _Vectors(provider), now=now)


def store_memories(
    *,
    caller: Caller,
    namespace_id: UUID,
    items: Sequence[NewMemory],
    now: datetime,
    provider: Provider | None = None,
) -> list[ItemOutcome]:
    """Store up to 1,000 statements, each for itself: a bad one never loses the others.

    Return what became of each, in order. Storing the same batch again changes nothing. Raise
    NamespaceUnknown, RightMissing or BatchTooLarge before anything is written.
    """
    require(caller=caller, action=Action.WRITE_MEMORY, namespace_id=namespace_id)
    if len(items) > MAXIMUM_BATCH:
        raise BatchTooLarge(
            f"There are {len(items):,} items; a call takes at most {MAXIMUM_BATCH:,}."
        )
    drafts = [_draft_or_reason(caller, namespace_id, new, now=now) for new in items]
    vectors = _Vectors(provider)
    vectors.prepare(_unknown_contents([draft for draft in drafts if isinstance(draft, Draft)]))
    return [
        draft if isinstance(draft, ItemOutcome) else _item(draft, vectors, now=now)
        for draft in drafts
    ]


def activate(*, caller: Caller, memory_id: UUID, now: datetime, reason: str) -> StoredMemory:
    """Let a proposed memory answer from now on; what approving its proposal does.

    One whose text gives orders takes a maintainer: its author's agent may be who was ordered.
    Raise MemoryUnknown, RightMissing, MemoryTaken.
    """
    try:
        with transaction.atomic():
            _activate(caller, memory_id, now=now, reason=reason)
    except IntegrityError as error:
        if not _is_of(error, *_ONCE_IN_SCOPE):
            raise
        raise MemoryTaken("Another active memory of the same scope has the same words.") from error
    return queries.get_memory(caller=caller, memory_id=memory_id, now=now)


# --- One memory -----------------------------------------------------------------------------------
@dataclass(slots=True)
class _Vectors:
    """Asks the model outside of transactions, and no more once it is away."""

    provider: Provider | None
    is_away: bool = False
    fingerprint: str = ""
    known: dict[str, NDArray[np.float32]] = field(default_factory=dict)

    def prepare(self, contents: Sequence[str]) -> None:
        """Embed many contents, 64 at once."""
        for start in range(0, len(contents), _EMBEDDED_AT_ONCE):
            batch = contents[start : start + _EMBEDDED_AT_ONCE]
            if self.is_away:
                return
            try:
                model = self.provider or embedding.from_settings()
                rows = model.embed(batch, kind="document")
                self.fingerprint = model.fingerprint
                self.known |= dict(zip(batch, rows, strict=True))
            except EmbeddingUnavailable as error:
                self.is_away = True
                logger.warning("memory_not_embedded", reason=str(error))

    def of(self, content: str) -> QuestionVector | None:
        """Return the vector of a content; None without a model."""
        if content not in self.known:
            self.prepare([content])
        values = self.known.get(content)
        return (
            None if values is None else QuestionVector(values=values, fingerprint=self.fingerprint)
        )


def _stored(draft: Draft, vectors: _Vectors, *, now: datetime) -> StoreOutcome:
    if replayed := _replayed(draft, now=now):
        return replayed
    check_superseded(
        caller=draft.caller,
        ids=draft.supersedes,
        namespace_id=draft.namespace_id,
        visibility=draft.visibility,
        now=now,
    )
    stands = _stands(draft, now=now)
    for _ in range(_ATTEMPTS):
        if outcome := _repeated(draft, stands, now=now):
            return outcome
        vector = vectors.of(draft.content)
        if vector is None:
            draft = replace(draft, notes=_with(draft.notes, _BY_WORDS))
        kin = kin_of(draft, vector=vector, now=now)
        twin = _twin(draft, kin)
        if twin and (outcome := _confirmed(draft, twin, kin, stands, now=now)):
            return outcome
        if outcome := _created(draft, vector, kin, stands, now=now):
            return outcome
        if outcome := _replayed(draft, now=now):
            return outcome
    raise MemoryInvalid("This memory is being stored and removed at the same time; try again.")


@dataclass(frozen=True, slots=True)
class _Stands:
    """What a memory stands on: its ties to code and memories, and the code that it cites."""

    ties: Sequence[Tie] = ()
    anchors: Sequence[DraftAnchor] = ()

    def write(self, memory: Memory, caller: Caller, *, now: datetime) -> None:
        """Write the memory's vertex with all of it, in the caller's transaction."""
        tie_memory(memory, self.ties, actor=caller.username, now=now)
        if self.anchors:
            anchor_memory(memory, self.anchors, actor=caller.username, now=now)


def _stands(draft: Draft, *, now: datetime) -> _Stands:
    ties = named_ties(
        caller=draft.caller,
        namespace_id=draft.namespace_id,
        repository_id=draft.repository_id,
        ids=draft.links,
        now=now,
    )
    if draft.auto_link and draft.repository_id is not None:
        ties += mentioned_ties(
            repository_id=draft.repository_id, content=draft.content, besides=ties
        )
    return _Stands(
        ties=ties,
        anchors=drafted_anchors(draft.citations, repository_id=draft.repository_id),
    )


def _replayed(draft: Draft, *, now: datetime) -> StoreOutcome | None:
    """Give the first answer again to who asks again with the same idempotency key."""
    if not draft.idempotency_key:
        return None
    memory = Memory.objects.filter(
        namespace_id=draft.namespace_id,
        author_id=draft.caller.user_id,
        idempotency_key=draft.idempotency_key,
    ).first()
    if memory is None:
        return None
    first = memory.versions.order_by("number").first()
    said = first.snapshot if first else snapshot_of(memory)
    if (said["content"], said["memory_type"]) != (draft.content, draft.memory_type.value):
        raise KeyReused(
            f"The idempotency key {draft.idempotency_key!r} was used for another memory,"
            f" {memory.pk}; give each memory a key of its own."
        )
    was_proposed = said["state"] == Memory.State.PROPOSED
    action = StoreAction.QUEUED if was_proposed else StoreAction.CREATED
    return replace(_outcome(memory, action, (), draft, now=now), is_replay=True)


@transaction.atomic
def _repeated(draft: Draft, stands: _Stands, *, now: datetime) -> StoreOutcome | None:
    """Add tags and ties to the memory with the same words; None when there is none.

    The row is locked first: two repetitions at once must not lose each other's tags. One that is
    past its time makes room instead.
    """
    memory = _same_words(draft)
    if memory is None:
        return None
    if memory.expires_at is not None and memory.expires_at <= now:
        _expire(memory, draft, now=now)
        return None
    if memory.state == Memory.State.PROPOSED:
        return _outcome(memory, StoreAction.QUEUED, stands.ties, draft, now=now)
    return _again(draft, memory, (), stands, now=now)


@transaction.atomic
def _confirmed(
    draft: Draft, twin: Kin, kin: Sequence[Kin], stands: _Stands, *, now: datetime
) -> StoreOutcome | None:
    """Do as `_repeated` with a memory that says the same in other words; None if it went away."""
    rows = Memory.objects.filter(queries.holding(now=now), pk=twin.id)
    memory = rows.select_for_update().defer("embedding").first()
    if memory is None:
        return None
    return _again(draft, memory, kin, stands, now=now)


def _again(
    draft: Draft, memory: Memory, kin: Sequence[Kin], stands: _Stands, *, now: datetime
) -> StoreOutcome:
    """Have a locked memory stand for a draft that says the same."""
    added = tuple(tag for tag in draft.tags if tag not in memory.tags)
    if added:
        tags = list(valid_tags([*memory.tags, *added]))
        record_version(memory, change=Change.TAGGED, actor=draft.caller, now=now, agent=draft.agent)
        memory.tags = tags
        memory.tokens = words_of_memory(memory)
        memory.save(update_fields=["tags", "tokens", "updated_at"])
    stands.write(memory, draft.caller, now=now)
    _count_confirmation(memory)
    superseding = supersede(memory=memory, ids=draft.supersedes, caller=draft.caller, now=now)
    action = StoreAction.UPDATED if added else StoreAction.UNCHANGED
    if superseding.done:
        action = StoreAction.SUPERSEDED
    return _outcome(
        memory,
        action,
        stands.ties,
        draft,
        now=now,
        added_tags=added,
        kin=kin,
        superseding=superseding,
    )


def _created(
    draft: Draft,
    vector: QuestionVector | None,
    kin: Sequence[Kin],
    stands: _Stands,
    *,
    now: datetime,
) -> StoreOutcome | None:
    """Write the row and all that belongs to it; None when the same was there first."""
    try:
        with transaction.atomic():
            memory = _row(draft, vector)
            memory.save(force_insert=True)
            forget_contexts([memory.pk])
            note_new_entities([(memory, draft.entities)])
            if draft.state == Memory.State.PROPOSED:
                return _queued(memory, draft, kin, stands, now=now)
            stands.write(memory, draft.caller, now=now)
            superseding = supersede(
                memory=memory, ids=draft.supersedes, caller=draft.caller, now=now
            )
            conflicts = [
                each
                for each in kin
                if each.relation is Relation.CONFLICT and each.id not in superseding.done
            ][:_MOST_CONFLICTS]
            for conflict in conflicts:
                _note_conflict(memory, conflict, draft.caller, now=now)
    except IntegrityError as error:
        if _is_of(error, *_ONCE_IN_SCOPE, _KEY_ONCE):
            return None
        raise
    action = StoreAction.CONFLICT if conflicts else StoreAction.CREATED
    if superseding.done:
        action = StoreAction.SUPERSEDED
    return _outcome(memory, action, stands.ties, draft, now=now, kin=kin, superseding=superseding)


def _queued(
    memory: Memory, draft: Draft, kin: Sequence[Kin], stands: _Stands, *, now: datetime
) -> StoreOutcome:
    """Put a new memory before a person; its ties wait with it."""
    source = graph_id(label=VertexLabel.MEMORY, key=memory.number)
    kind = RelationshipKind.RELATES_TO.value
    memory.retired_links = [
        {"source": source, "target": tie.vertex, "kind": kind, "weight": tie.weight}
        for tie in stands.ties
    ]
    memory.save(update_fields=["retired_links"])
    if stands.anchors:
        anchor_memory(memory, stands.anchors, actor=draft.caller.username, now=now)
    why = (
        f"Its text gives orders to agents ({', '.join(draft.flags)})."
        if draft.flags
        else f"{draft.caller.username} proposes it."
    )
    propose(
        namespace_id=memory.namespace_id,
        kind="new",
        memory_ids=[memory.pk],
        proposal={
            "operation": "activate",
            "arguments": {"supersedes": [str(key) for key in draft.supersedes]},
        },
        reason=why,
        confidence=0.2 if draft.flags else 0.7,
        proposed_by=draft.caller.username,
        now=now,
        repository_id=memory.repository_id,
    )
    return _outcome(memory, StoreAction.QUEUED, stands.ties, draft, now=now, kin=kin)


def _activate(caller: Caller, memory_id: UUID, *, now: datetime, reason: str) -> None:
    rows = queries.visible_memories(caller=caller, now=now, include_inactive=True)
    memory = rows.select_for_update(of=("self",), no_key=True).filter(pk=memory_id).first()
    if memory is None or memory.state != Memory.State.PROPOSED:
        raise queries.unknown(memory_id)
    require_mine(caller=caller, memory=memory)
    if memory.visibility != Memory.Visibility.PRIVATE:
        require_harmless(caller=caller, memory=memory)
    record_version(memory, change=Change.APPROVED, actor=caller, now=now, reason=reason)
    waiting = memory.retired_links
    memory.state = Memory.State.ACTIVE
    memory.retired_links = []
    memory.save(update_fields=["state", "retired_links", "updated_at"])
    tie_memory(memory, (), actor=caller.username, now=now)
    for tie in waiting:
        try:
            graph.link(namespace_id=memory.namespace_id, actor=caller.username, now=now, **tie)
        except graph.NodeUnknown:
            # The code it named is gone by now.
            continue


def _note_conflict(memory: Memory, conflict: Kin, caller: Caller, *, now: datetime) -> None:
    other = (
        Memory.objects.only("number", "namespace_id", "visibility").filter(pk=conflict.id).first()
    )
    if other is None:  # purged since the two were compared
        return
    target = graph.ensure_memory_vertex(
        namespace_id=other.namespace_id, number=other.number, memory_id=other.pk
    )
    graph.link(
        namespace_id=memory.namespace_id,
        source=graph_id(label=VertexLabel.MEMORY, key=memory.number),
        target=target,
        kind=RelationshipKind.CONTRADICTS.value,
        actor=caller.username,
        now=now,
        weight=conflict.similarity,
    )
    if memory.visibility == Memory.Visibility.PRIVATE != other.visibility:
        return  # what is kept to oneself replaces nothing that others see
    propose(
        namespace_id=memory.namespace_id,
        kind="conflict",
        memory_ids=[memory.pk, conflict.id],
        proposal={"operation": "supersede", "arguments": {}},
        reason=f"The two contradict each other. {conflict.reason} Approve if the first holds.",
        confidence=0.5,
        proposed_by=caller.username,
        now=now,
        repository_id=memory.repository_id,
    )


# --- A batch --------------------------------------------------------------------------------------
_REJECTIONS: tuple[type[Exception], ...] = (
    KeyReused,
    LinkUnknown,
    MemoryInvalid,
    RepositoryUnknown,
    RightMissing,
    queries.MemoryUnknown,
)


def _draft_or_reason(
    caller: Caller, namespace_id: UUID, new: NewMemory, *, now: datetime
) -> Draft | ItemOutcome:
    try:
        return drafted(caller=caller, namespace_id=namespace_id, new=new, now=now)
    except _REJECTIONS as error:
        return _rejected(error)


def _item(draft: Draft, vectors: _Vectors, *, now: datetime) -> ItemOutcome:
    try:
        return ItemOutcome(outcome=_stored(draft, vectors, now=now))
    except _REJECTIONS as error:
        return _rejected(error)


def _rejected(error: Exception) -> ItemOutcome:
    return ItemOutcome(rejected=str(error), code=type(error).__name__)


def _unknown_contents(drafts: Sequence[Draft]) -> list[str]:
    """Return the contents that no active memory of the namespace has: only these need a vector."""
    if not drafts:
        return []
    hashes = {draft.content_hash: draft.content for draft in drafts}
    known = Memory.objects.filter(
        namespace_id=drafts[0].namespace_id,
        content_hash__in=list(hashes),
        state=Memory.State.ACTIVE,
    ).values_list("content_hash", flat=True)
    for found in known:
        hashes.pop(bytes(found), None)
    return list(hashes.values())


# --- Parts ----------------------------------------------------------------------------------------
def _same_words(draft: Draft) -> Memory | None:
    """Return the memory of the draft's scope with the same words, locked.

    What somebody keeps to themselves is a scope of its own. A proposal is the same only as its
    author's: another's tells nobody that it waits.
    """
    rows: QuerySet[Memory] = Memory.objects.filter(
        Q(repository_id=draft.repository_id),
        namespace_id=draft.namespace_id,
        branch=draft.branch,
        content_hash=draft.content_hash,
    )
    if draft.visibility is Visibility.PRIVATE:
        rows = rows.filter(visibility=Memory.Visibility.PRIVATE, author_id=draft.caller.user_id)
    else:
        rows = rows.exclude(visibility=Memory.Visibility.PRIVATE)
    own_proposal = Q(state=Memory.State.PROPOSED, author_id=draft.caller.user_id)
    active = Q(state=Memory.State.ACTIVE)
    wanted = active | own_proposal if draft.state == Memory.State.PROPOSED else active
    # An active one answers already, so it goes before a proposal.
    ordered = rows.filter(wanted).order_by("state", "pk")
    return ordered.select_for_update().defer("embedding").first()


def _twin(draft: Draft, kin: Sequence[Kin]) -> Kin | None:
    """Return the memory that says the same already, unless the caller says that it does not.

    A draft that replaces others, or that says more beside its content, is stored for itself.
    """
    says_more = draft.rationale or draft.alternatives or draft.acceptance_criteria
    if draft.is_distinct or draft.supersedes or says_more:
        return None
    return next((each for each in kin if each.relation is Relation.SAME), None)


def _with(notes: tuple[str, ...], note: str) -> tuple[str, ...]:
    return notes if note in notes else (*notes, note)


def _expire(memory: Memory, draft: Draft, *, now: datetime) -> None:
    record_version(memory, change=Change.EXPIRED, actor=draft.caller, now=now)
    graph.unlink_memory(namespace_id=memory.namespace_id, number=memory.number)
    memory.state = Memory.State.EXPIRED
    memory.ended_at = memory.expires_at
    memory.save(update_fields=["state", "ended_at", "updated_at"])


def _count_confirmation(memory: Memory) -> None:
    MemoryUse.objects.bulk_create([MemoryUse(memory=memory)], ignore_conflicts=True)
    MemoryUse.objects.filter(memory=memory).update(confirmed=F("confirmed") + 1)


def _row(draft: Draft, vector: QuestionVector | None) -> Memory:
    return Memory(
        number=_next_number(),
        namespace_id=draft.namespace_id,
        repository_id=draft.repository_id,
        branch=draft.branch,
        visibility=draft.visibility,
        memory_type=draft.memory_type,
        content=draft.content,
        content_hash=draft.content_hash,
        rationale=draft.rationale,
        alternatives=list(draft.alternatives),
        acceptance_criteria=list(draft.acceptance_criteria),
        evidence=list(draft.evidence),
        tags=list(draft.tags),
        importance=draft.importance,
        confidence=draft.confidence,
        is_pinned=draft.is_pinned,
        state=draft.state,
        author_id=draft.caller.user_id,
        author_name=draft.caller.username,
        agent=draft.agent,
        model=draft.model,
        session_id=draft.session_id,
        source=draft.source,
        idempotency_key=draft.idempotency_key,
        token_id=draft.caller.token_id,
        created_at=draft.created_at,
        expires_at=draft.expires_at,
        tokens=draft.words,
        embedding=None if vector is None else vector.values,
        embedding_fingerprint="" if vector is None else vector.fingerprint,
    )


def _outcome(
    memory: Memory,
    action: StoreAction,
    ties: Sequence[Tie],
    draft: Draft,
    *,
    now: datetime,
    **more: Any,
) -> StoreOutcome:
    superseding: Superseding = more.pop("superseding", Superseding())
    row = queries.shown(Memory.objects.filter(pk=memory.pk)).get()
    return StoreOutcome(
        memory=queries.stored(row, now=now),
        action=action,
        linked=tuple(tie.id for tie in ties),
        superseded=superseding.done,
        queued=superseding.queued,
        redactions=draft.redactions,
        flags=draft.flags,
        notes=(*draft.notes, *superseding.notes),
        added_tags=more.get("added_tags", ()),
        kin=tuple(more.get("kin", ())),
    )


def _next_number() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval('memory_memory_number')")
        return int(cursor.fetchone()[0])


def _is_of(error: IntegrityError, *constraints: str) -> bool:
    return any(name in str(error) for name in constraints)
