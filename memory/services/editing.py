"""Changing what memories say: refine one in place, split one in parts, merge several into one.

Refining keeps the memory's id, its links and its past: the old text is a version, and no second
memory is left active beside it. Splitting and merging make new memories; what they were made of is
superseded, and says by what. Each is one transaction: one who dies in the middle did nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypedDict, Unpack
from uuid import UUID

import numpy as np
from django.db import transaction
from django.db.models import Max, Sum
from numpy.typing import NDArray

from codemem import embedding
from codemem.accounts.values import Action, Caller
from codemem.embedding import EmbeddingUnavailable, Kind, Provider
from graph import queries as graph_queries
from graph import services as graph
from graph.values import VertexLabel, graph_id, label_of
from memory import queries
from memory.models import Memory, MemoryUse, ReviewItem
from memory.services import drafting, review
from memory.services.anchoring import (
    DraftAnchor,
    anchor_memory,
    copy_anchors,
    note_anchor_entities,
    remove_anchors,
)
from memory.services.drafting import Draft
from memory.services.linking import (
    MENTIONED_WEIGHT,
    NodesApart,
    Tie,
    mentioned_ties,
    named_ties,
    tie_memory,
)
from memory.services.naming import note_entities
from memory.services.retirement import (
    locked_memory,
    record_event,
    refusing_twins,
    require_mine,
)
from memory.services.rights import require
from memory.services.standing import StateUnfit, require_writable
from memory.services.storing import store_memory
from memory.services.versioning import Change, record_version, words_of_memory
from memory.values import (
    MemoryType,
    NewMemory,
    RelationshipKind,
    StoreAction,
    StoredMemory,
    StoreOutcome,
    Visibility,
)
from memory.wording import MemoryInvalid

FEWEST = 2
MAXIMUM_PARTS = 20
MAXIMUM_SOURCES = 20

_SEEN_BY = {Visibility.PRIVATE: 0, Visibility.REPOSITORY: 1, Visibility.NAMESPACE: 2}
_LINKS_CARRIED = 5_000
_TEXT_FIELDS = ("content", "rationale", "evidence")


class Refinement(TypedDict, total=False):
    """What refining may change; what is left out stays as it is."""

    content: str
    memory_type: MemoryType | str
    rationale: str
    alternatives: Sequence[Mapping[str, str]]
    acceptance_criteria: Sequence[str]
    evidence: Sequence[Mapping[str, str]]
    tags: Sequence[str]
    importance: float
    confidence: float
    expires_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refined:
    """A memory after refining, and which of its fields are different; none: it said so before."""

    memory: StoredMemory
    changed: tuple[str, ...]
    redactions: Mapping[str, int]
    linked: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One of the statements that a memory is split into; what is None is taken over from it."""

    content: str
    memory_type: MemoryType | None = None
    tags: Sequence[str] | None = None
    importance: float | None = None
    rationale: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """What a memory was split into, and the memory as it stands now."""

    source: StoredMemory
    parts: tuple[StoredMemory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """What memories were merged into. `kept` stay active: more people see them than the result.

    Without a memory, the merge waits for a person (`proposal_id`).
    """

    memory: StoredMemory | None
    superseded: tuple[UUID, ...] = ()
    kept: tuple[UUID, ...] = ()
    proposal_id: UUID | None = None


# --- Refining -------------------------------------------------------------------------------------
def refine_memory(
    *,
    caller: Caller,
    memory_id: UUID,
    now: datetime,
    expected_version: int | None = None,
    reason: str = "",
    agent: str = "",
    links: Sequence[str] = (),
    anchors: Sequence[DraftAnchor] | None = None,
    provider: Provider | None = None,
    **changes: Unpack[Refinement],
) -> Refined:
    """Change what a memory says; its id, its links and its author stay, the old text is a version.

    Fields that are not named stay as they are at the moment of the change, so that two who refine
    different fields at once both have their way. With `expected_version` a memory that has been
    changed since is refused with what it says now. `anchors` take the place of those there were.
    Without a model the vector is made later. Raise MemoryUnknown, RightMissing, StateUnfit,
    MemoryChanged, MemoryInvalid, LinkUnknown, MemoryTaken.
    """
    before = queries.get_memory(caller=caller, memory_id=memory_id, now=now, include_inactive=True)
    draft = _redrafted(caller, before, changes, now=now)
    vector = _vector(draft.content, provider) if draft.content != before.content else None
    ties = _ties(caller, before, draft, links, now=now)
    with refusing_twins(), transaction.atomic():
        memory = locked_memory(
            caller=caller, memory_id=memory_id, now=now, expected_version=expected_version
        )
        require_writable(caller, memory)
        _require_active(memory, now=now)
        wanted = {name: _as_kept(getattr(draft, name)) for name in changes}
        changed = tuple(name for name in wanted if getattr(memory, name) != wanted[name])
        if changed:
            record_version(
                memory, change=Change.REFINED, actor=caller, now=now, reason=reason, agent=agent
            )
            _apply(memory, {name: wanted[name] for name in changed}, vector)
            record_event(caller, memory, "memory.refine", {"fields": list(changed)})
        if set(changed) & set(_TEXT_FIELDS):
            note_entities(memory)
            note_anchor_entities(memory)
        if "content" in changed:
            _drop_mentions(memory, ties)
        tie_memory(memory, ties, actor=caller.username, now=now)
        if anchors is not None:
            removed = remove_anchors(memory, besides=anchors)
            added = anchor_memory(memory, anchors, actor=caller.username, now=now)
            changed += ("anchors",) if removed or added else ()
    return Refined(
        memory=_shown(caller, memory_id, now=now),
        changed=changed,
        redactions=draft.redactions,
        linked=tuple(tie.id for tie in ties),
    )


def _redrafted(
    caller: Caller, before: StoredMemory, changes: Mapping[str, Any], *, now: datetime
) -> Draft:
    """Return the memory with its changes, checked and cleaned as if it were stored anew."""
    new = NewMemory(
        content=before.content,
        memory_type=before.memory_type,
        repository_id=before.repository_id,
        branch=before.branch,
        visibility=before.visibility,
        rationale=before.rationale,
        alternatives=before.alternatives,
        acceptance_criteria=before.acceptance_criteria,
        evidence=before.evidence,
        tags=before.tags,
        importance=before.importance,
        confidence=before.confidence,
        is_pinned=before.is_pinned,
        source=before.source,
    )
    draft = drafting.drafted(
        caller=caller, namespace_id=before.namespace_id, new=replace(new, **changes), now=now
    )
    if draft.state == Memory.State.PROPOSED:
        raise MemoryInvalid(_takes_approval(draft.flags))
    return draft


def _ties(
    caller: Caller, before: StoredMemory, draft: Draft, links: Sequence[str], *, now: datetime
) -> list[Tie]:
    ties = named_ties(
        caller=caller,
        namespace_id=before.namespace_id,
        repository_id=before.repository_id,
        ids=links,
        now=now,
    )
    if before.repository_id is not None and draft.content != before.content:
        ties += mentioned_ties(
            repository_id=before.repository_id, content=draft.content, besides=ties
        )
    return ties


def _apply(
    memory: Memory, changes: Mapping[str, Any], vector: tuple[NDArray[np.float32], str] | None
) -> None:
    for name, value in changes.items():
        setattr(memory, name, value)
    if "content" in changes:
        memory.content_hash = drafting.content_hash(memory.content)
        memory.embedding, memory.embedding_fingerprint = vector or (None, "")
    memory.tokens = words_of_memory(memory)
    memory.save()


def _drop_mentions(memory: Memory, ties: Sequence[Tie]) -> None:
    """Take ties to code away that only the former text's words made."""
    vertex = _vertex(memory)
    mentioned = {tie.vertex for tie in ties}
    for link in graph_queries.links_of(
        namespace_id=memory.namespace_id, vertices=[vertex], limit=_LINKS_CARRIED
    ):
        is_mention = (
            link.source == vertex
            and link.kind == RelationshipKind.RELATES_TO
            and link.confidence == MENTIONED_WEIGHT
            and label_of(link.target) is not VertexLabel.MEMORY
        )
        if is_mention and link.target not in mentioned:
            graph.unlink(
                namespace_id=memory.namespace_id,
                source=vertex,
                target=link.target,
                kind=link.kind,
            )


# --- Splitting ------------------------------------------------------------------------------------
def split_memory(
    *,
    caller: Caller,
    memory_id: UUID,
    parts: Sequence[Part],
    now: datetime,
    expected_version: int | None = None,
    reason: str = "",
    agent: str = "",
    provider: Provider | None = None,
) -> Split:
    """Say in several memories what one said: they are PART_OF it, and it is superseded.

    Parts take over scope, visibility, type, tags, evidence, expiry, links and anchors. One's own,
    and for maintainers any. Raise MemoryUnknown, RightMissing, StateUnfit, MemoryChanged,
    MemoryInvalid.
    """
    if not FEWEST <= len(parts) <= MAXIMUM_PARTS:
        raise MemoryInvalid(f"A memory is split into 2 to {MAXIMUM_PARTS} parts, not {len(parts)}.")
    prepared = _Prepared.of([part.content for part in parts], provider)
    with transaction.atomic():
        source = locked_memory(
            caller=caller, memory_id=memory_id, now=now, expected_version=expected_version
        )
        require_mine(caller=caller, memory=source)
        _require_active(source, now=now)
        made = [
            _store_part(caller, source, part, agent=agent, now=now, provider=prepared)
            for part in parts
        ]
        keys = {memory.id for memory in made}
        if source.pk in keys or len(keys) != len(parts):
            raise MemoryInvalid("Each part must say something else than the others and the whole.")
        rows = {row.pk: row for row in Memory.objects.filter(pk__in=keys)}
        _carry(sources=[source], targets=list(rows.values()), caller=caller, now=now)
        _link_all(source, rows.values(), RelationshipKind.PART_OF, caller=caller, now=now)
        record_version(source, change=Change.SPLIT, actor=caller, now=now, reason=reason)
        _supersede(source, by=None, now=now)
        record_event(caller, source, "memory.split", {"parts": [str(memory.id) for memory in made]})
    return Split(
        source=_shown(caller, memory_id, now=now),
        parts=tuple(_shown(caller, memory.id, now=now) for memory in made),
    )


def _store_part(
    caller: Caller,
    source: Memory,
    part: Part,
    *,
    agent: str,
    now: datetime,
    provider: Provider,
) -> StoredMemory:
    outcome = store_memory(
        caller=caller,
        namespace_id=source.namespace_id,
        repository_id=source.repository_id,
        branch=source.branch,
        visibility=source.visibility,
        content=part.content,
        memory_type=part.memory_type or source.memory_type,
        tags=[*source.tags] if part.tags is None else list(part.tags),
        importance=source.importance if part.importance is None else part.importance,
        confidence=source.confidence,
        rationale=part.rationale,
        evidence=[{"kind": "memory", "ref": str(source.pk)}, *source.evidence][:50],
        is_pinned=source.is_pinned,
        expires_at=source.expires_at,
        is_distinct=True,
        agent=agent,
        now=now,
        provider=provider,
    )
    _require_answering(outcome)
    return outcome.memory


def _require_answering(outcome: StoreOutcome) -> None:
    """Raise MemoryInvalid if what takes the place of others would itself wait for approval."""
    if outcome.action is StoreAction.QUEUED:
        raise MemoryInvalid(_takes_approval(outcome.flags))


def _takes_approval(flags: Sequence[str]) -> str:
    return (
        f"This text gives orders to agents ({', '.join(flags)}); store it as a new memory"
        " that somebody approves."
    )


# --- Merging --------------------------------------------------------------------------------------
def merge_memories(
    *,
    caller: Caller,
    source_ids: Sequence[UUID],
    content: str,
    now: datetime,
    memory_type: MemoryType | None = None,
    importance: float | None = None,
    tags: Sequence[str] = (),
    rationale: str = "",
    reason: str = "",
    agent: str = "",
    provider: Provider | None = None,
) -> Merged:
    """Say in one memory what several said: it SUMMARIZES each, and they are superseded by it.

    It is seen by as many as the most private of them, on as few branches; sources that more people
    see, or that hold on more branches, stay active beside it. It has their tags, links, anchors and
    accesses, their mean confidence, their highest importance, the latest expiry. Who may not
    supersede one of them proposes the merge instead. Words that one of the sources or another
    memory has already are that memory. Raise MemoryUnknown, RightMissing, StateUnfit, NodesApart,
    MemoryInvalid.
    """
    distinct = sorted(set(source_ids))
    if not FEWEST <= len(distinct) <= MAXIMUM_SOURCES:
        raise MemoryInvalid(f"A merge is of 2 to {MAXIMUM_SOURCES} memories, not {len(distinct)}.")
    prepared = _Prepared.of([content], provider)
    with transaction.atomic():
        # In the order of their ids: two merges at once never wait for each other.
        sources = [locked_memory(caller=caller, memory_id=key, now=now) for key in distinct]
        for source in sources:
            require(caller=caller, action=Action.WRITE_MEMORY, namespace_id=source.namespace_id)
            _require_active(source, now=now)
        target = _target(sources)
        replaced = [source for source in sources if _is_covered(source, target)]
        if not all(_is_mine(caller, source) for source in replaced):
            return _proposed_merge(
                caller,
                sources,
                {
                    "content": drafting.cleaned_content(content),
                    "memory_type": memory_type.value if memory_type else None,
                    "importance": importance,
                    "tags": list(tags),
                },
                now=now,
            )
        outcome = store_memory(
            caller=caller,
            namespace_id=sources[0].namespace_id,
            repository_id=target.repository_id,
            branch=target.branch,
            visibility=target.visibility,
            content=content,
            memory_type=memory_type or _commonest_type(sources),
            rationale=rationale,
            tags=list(dict.fromkeys([*tags, *(tag for one in sources for tag in one.tags)]))[:50],
            importance=max(one.importance for one in sources) if importance is None else importance,
            confidence=sum(one.confidence for one in sources) / len(sources),
            evidence=[{"kind": "memory", "ref": str(one.pk)} for one in sources],
            is_pinned=any(one.is_pinned for one in sources),
            expires_at=_latest_expiry(sources),
            is_distinct=True,
            agent=agent,
            now=now,
            provider=prepared,
        )
        _require_answering(outcome)
        memory = Memory.objects.get(pk=outcome.memory.id)
        others = [source for source in sources if source.pk != memory.pk]
        ended = [source for source in replaced if source.pk != memory.pk]
        _carry(sources=others, targets=[memory], caller=caller, now=now)
        _carry_use(others, memory)
        for source in others:
            _link_all(source, [memory], RelationshipKind.SUMMARIZES, caller=caller, now=now)
        for source in ended:
            record_version(source, change=Change.MERGED, actor=caller, now=now, reason=reason)
            _supersede(source, by=memory, now=now)
        record_event(
            caller,
            memory,
            "memory.merge",
            {"sources": [str(source.pk) for source in sources]},
        )
    return Merged(
        memory=_shown(caller, memory.pk, now=now),
        superseded=tuple(source.pk for source in ended),
        kept=tuple(source.pk for source in others if source not in ended),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """Where a merged memory holds, and who sees it."""

    repository_id: UUID | None
    branch: str
    visibility: Visibility


def _target(sources: Sequence[Memory]) -> _Target:
    """Return the widest scope that is no wider than that of any source; raise NodesApart."""
    if len({source.namespace_id for source in sources}) != 1:
        raise NodesApart("They are in different namespaces; nothing crosses a namespace.")
    visibility = min(
        (Visibility(source.visibility) for source in sources), key=_SEEN_BY.__getitem__
    )
    repositories = {source.repository_id for source in sources if _is_bound(source)}
    branches = {source.branch for source in sources if source.branch}
    if len(repositories) > 1 or len(branches) > 1:
        raise NodesApart(
            "They hold in different repositories or branches; nothing would hold in all of them."
        )
    every = {source.repository_id for source in sources}
    common = repositories or (every if len(every) == 1 else {None})
    return _Target(
        repository_id=common.pop(),
        branch=branches.pop() if branches else "",
        visibility=visibility,
    )


def _is_bound(source: Memory) -> bool:
    """Say whether a memory answers for its repository only."""
    is_wide = source.visibility == Visibility.NAMESPACE
    return source.repository_id is not None and (not is_wide or bool(source.branch))


def _is_covered(source: Memory, target: _Target) -> bool:
    """Say whether all who see a source also see the merged memory, wherever they do."""
    is_as_visible = _SEEN_BY[Visibility(source.visibility)] <= _SEEN_BY[target.visibility]
    return is_as_visible and source.branch == target.branch


def _proposed_merge(
    caller: Caller, sources: Sequence[Memory], arguments: Mapping[str, Any], *, now: datetime
) -> Merged:
    item = review.propose(
        namespace_id=sources[0].namespace_id,
        kind=ReviewItem.Kind.MERGE,
        memory_ids=[source.pk for source in sources],
        proposal={"operation": "combine", "arguments": arguments},
        reason=f"{caller.username} says that one memory can say what these say.",
        confidence=0.7,
        proposed_by=caller.username,
        now=now,
    )
    return Merged(memory=None, proposal_id=item.pk if item else None)


def _commonest_type(sources: Sequence[Memory]) -> str:
    kinds = [source.memory_type for source in sources]
    return max(dict.fromkeys(kinds), key=kinds.count)


def _latest_expiry(sources: Sequence[Memory]) -> datetime | None:
    ends = [source.expires_at for source in sources if source.expires_at is not None]
    return max(ends) if len(ends) == len(sources) else None


# --- Parts ----------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    """A provider whose vectors were made before the transaction in which they are asked for."""

    fingerprint: str
    dimensions: int
    max_tokens: int
    vectors: Mapping[str, NDArray[np.float32]]

    @classmethod
    def of(cls, contents: Sequence[str], provider: Provider | None) -> Provider:
        texts = [drafting.cleaned_content(content) for content in contents]
        try:
            model = provider or embedding.from_settings()
            rows = model.embed(texts, kind="document")
        except EmbeddingUnavailable:
            return cls(fingerprint="", dimensions=0, max_tokens=0, vectors={})
        return cls(
            fingerprint=model.fingerprint,
            dimensions=model.dimensions,
            max_tokens=model.max_tokens,
            vectors=dict(zip(texts, rows, strict=True)),
        )

    def embed(self, texts: Sequence[str], *, kind: Kind) -> NDArray[np.float32]:  # noqa: ARG002
        if not all(text in self.vectors for text in texts):
            raise EmbeddingUnavailable("It was not embedded before.", hint="It will be, later.")
        return np.stack([self.vectors[text] for text in texts])


def _vector(content: str, provider: Provider | None) -> tuple[NDArray[np.float32], str] | None:
    try:
        model = provider or embedding.from_settings()
        return model.embed([content], kind="document")[0], model.fingerprint
    except EmbeddingUnavailable:
        return None


def _carry(
    *, sources: Sequence[Memory], targets: Sequence[Memory], caller: Caller, now: datetime
) -> None:
    """Give memories the links and anchors of those that they were made of."""
    among = {_vertex(source) for source in sources} | {_vertex(target) for target in targets}
    links = graph_queries.links_of(
        namespace_id=sources[0].namespace_id if sources else targets[0].namespace_id,
        vertices=[_vertex(source) for source in sources],
        limit=_LINKS_CARRIED,
    )
    carried: dict[tuple[int, int, str], float] = {}
    own = {_vertex(source) for source in sources}
    for link in links:
        if link.source in among and link.target in among:
            continue
        for target in targets:
            here = _vertex(target)
            key = (
                here if link.source in own else link.source,
                here if link.target in own else link.target,
                link.kind,
            )
            carried[key] = max(carried.get(key, 0.0), link.confidence)
    graph.link_all(
        namespace_id=targets[0].namespace_id,
        links=[
            graph.NewLink(source=start, target=end, kind=kind, weight=weight)
            for (start, end, kind), weight in carried.items()
        ],
        actor=caller.username,
        now=now,
    )
    for target in targets:
        copy_anchors(sources=sources, target=target)
        note_anchor_entities(target)


def _carry_use(sources: Sequence[Memory], target: Memory) -> None:
    use, _ = MemoryUse.objects.get_or_create(memory=target)
    counted = MemoryUse.objects.filter(memory__in=[*sources, target]).aggregate(
        recalled=Sum("recalled"), recalled_at=Max("recalled_at")
    )
    use.recalled, use.recalled_at = counted["recalled"] or 0, counted["recalled_at"]
    use.save(update_fields=["recalled", "recalled_at"])


def _link_all(
    whole: Memory,
    others: Any,
    kind: RelationshipKind,
    *,
    caller: Caller,
    now: datetime,
) -> None:
    """Tie others to a memory: other KIND whole."""
    for other in others:
        graph.link(
            namespace_id=whole.namespace_id,
            source=_vertex(other),
            target=_vertex(whole),
            kind=kind.value,
            actor=caller.username,
            now=now,
        )


def _supersede(memory: Memory, *, by: Memory | None, now: datetime) -> None:
    memory.state, memory.superseded_by, memory.ended_at = Memory.State.SUPERSEDED, by, now
    memory.save(update_fields=["state", "superseded_by", "ended_at", "updated_at"])


def _require_active(memory: Memory, *, now: datetime) -> None:
    is_over = memory.expires_at is not None and memory.expires_at <= now
    if memory.state != Memory.State.ACTIVE or is_over:
        state = Memory.State.EXPIRED.value if is_over else memory.state
        raise StateUnfit(f"The memory {memory.pk} is {state}; only what is active can be changed.")


def _is_mine(caller: Caller, memory: Memory) -> bool:
    is_own = memory.author_id == caller.user_id
    return is_own or caller.can(Action.DELETE_ANY_MEMORY, memory.namespace_id)


def _as_kept(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _vertex(memory: Memory) -> int:
    return graph_id(label=VertexLabel.MEMORY, key=memory.number)


def _shown(caller: Caller, memory_id: UUID, *, now: datetime) -> StoredMemory:
    return queries.get_memory(caller=caller, memory_id=memory_id, now=now, include_inactive=True)
