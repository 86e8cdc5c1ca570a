"""What became of memories: their versions, where they come from, what was learned when, and why.

Reads only. A memory's past is seen by who sees the memory now; what a caller may not see is not
walked through either, so that no chain tells of it.
"""

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from codemem.accounts.values import Caller
from graph import queries as graph
from graph.values import Edge, VertexLabel, graph_id, key_of, label_of
from memory import queries
from memory.models import Memory, MemoryVersion
from memory.services.versioning import Snapshot, snapshot_of
from memory.values import MemoryType, RelationshipKind, StoredMemory

CHAIN_TYPES = frozenset({MemoryType.DECISION, MemoryType.REQUIREMENT, MemoryType.RULE})
CHAIN_VERBS = frozenset(
    {
        *(RelationshipKind.LEADS_TO, RelationshipKind.DERIVED_FROM, RelationshipKind.SUPERSEDES),
        *(RelationshipKind.EVOLVED_INTO, RelationshipKind.INVALIDATED_BY),
        *(RelationshipKind.CONTRADICTS, RelationshipKind.DEPENDS_ON, RelationshipKind.BLOCKS),
        *(RelationshipKind.PART_OF, RelationshipKind.SUMMARIZES, RelationshipKind.REINFORCES),
    }
)
"""Verbs that say how one decision came from, replaced or rests on another."""

_ORIGINS = frozenset(
    {
        *(RelationshipKind.DERIVED_FROM, RelationshipKind.SUMMARIZES, RelationshipKind.PART_OF),
        *(RelationshipKind.SUPERSEDES, RelationshipKind.EVOLVED_INTO),
    }
)
_LINKS_READ = 1_000
_CHAIN_STEPS = 8
_DIFF_LINES = 200
_NOT_COMPARED = frozenset({"retired_by", "retired_at", "ended_at"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One field that a change touched; of the content a unified diff."""

    field: str
    before: Any = None
    after: Any = None
    diff: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionValue:
    """A version that ended: until when it held, by whom and why it was changed, into what."""

    number: int
    change: str
    reason: str
    by: str
    agent: str
    valid_from: datetime
    valid_to: datetime
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkValue:
    """A link as it is shown: both ends by id, the verb between them."""

    source: str
    relationship: str
    target: str
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """Memories in the order in which they were made, and the links among them."""

    memories: tuple[StoredMemory, ...] = ()
    links: tuple[LinkValue, ...] = ()
    is_truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that was learned or changed at a time."""

    at: datetime
    what: str  # stored, or what changed it
    memory: StoredMemory
    by: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeMemory:
    """A memory about a node, by which link, and through which node it was found."""

    memory: StoredMemory
    relationship: str
    via: str
    distance: int


# --- One memory -----------------------------------------------------------------------------------
def versions_of(
    *, caller: Caller, memory_id: UUID, now: datetime, limit: int = 50
) -> list[VersionValue]:
    """Return what a memory said before, the latest change first; raise MemoryUnknown."""
    memory = _row(caller, memory_id, now=now)
    mine = queries.versions_visible_to(caller)
    rows = list(MemoryVersion.objects.filter(mine, memory=memory).order_by("-number")[:limit])
    after: Snapshot = snapshot_of(memory)
    versions = []
    for row in rows:
        versions.append(
            VersionValue(
                number=row.number,
                change=row.change,
                reason=row.reason,
                by=row.changed_by_name,
                agent=row.agent,
                valid_from=row.valid_from,
                valid_to=row.valid_to,
                differences=tuple(_differences(row.snapshot, after)),
            )
        )
        after = row.snapshot
    return versions


def memory_at(
    *, caller: Caller, memory_id: UUID, version: int, now: datetime
) -> Mapping[str, Any] | None:
    """Return the snapshot of a version, the present one included; None when there is none."""
    memory = _row(caller, memory_id, now=now)
    if version == memory.version:
        return snapshot_of(memory)
    mine = queries.versions_visible_to(caller)
    row = MemoryVersion.objects.filter(mine, memory=memory, number=version).first()
    return row.snapshot if row else None


def origins_of(*, caller: Caller, memory: StoredMemory, now: datetime) -> tuple[LinkValue, ...]:
    """Return the links that say what a memory was made of and what was made of it."""
    vertex = _vertex(memory.number)
    links = [
        link
        for link in graph.links_of(
            namespace_id=memory.namespace_id, vertices=[vertex], limit=_LINKS_READ
        )
        if link.kind in _ORIGINS
    ]
    return _named(links, caller=caller, namespace_id=memory.namespace_id, now=now)


# --- Many memories --------------------------------------------------------------------------------
def timeline(
    *,
    caller: Caller,
    now: datetime,
    namespace_ids: Collection[UUID],
    repository_id: UUID | None = None,
    branch: str = "",
    since: datetime | None = None,
    until: datetime | None = None,
    around: StoredMemory | None = None,
    memory_ids: Collection[UUID] | None = None,
    limit: int = 50,
) -> list[Event]:
    """Return what was learned and changed, in the order of time, the latest `limit` of it.

    `around` brings what was learned nearest to one memory, before and after it, in its scope.
    Memories that ended are part of the past, and told of. Three queries.
    """
    rows = _in_scope(
        queries.visible_memories(caller=caller, now=now, include_inactive=True),
        namespace_ids=namespace_ids,
        repository_id=repository_id,
        branch=branch,
    ).exclude(state=Memory.State.PROPOSED)
    if memory_ids is not None:
        rows = rows.filter(pk__in=memory_ids)
    if around is not None:
        before = rows.filter(created_at__lte=around.created_at).order_by("-created_at", "-pk")
        after = rows.filter(created_at__gt=around.created_at).order_by("created_at", "pk")
        half = max(limit // 2, 1)
        near = [*queries.shown(before)[: half + 1], *queries.shown(after)[:half]]
        return sorted((_stored_event(row, now=now) for row in near), key=lambda event: event.at)
    stored = queries.shown(_between(rows, "created_at", since, until)).order_by("-created_at")
    changed = _between(
        MemoryVersion.objects.filter(
            queries.versions_visible_to(caller), memory__in=rows.order_by().values("pk")
        ),
        "valid_to",
        since,
        until,
    ).order_by("-valid_to")[:limit]
    events = [_stored_event(row, now=now) for row in stored[:limit]]
    events += _change_events(list(changed), caller=caller, now=now)
    return sorted(events, key=lambda event: event.at)[-limit:]


def decision_chain(
    *,
    caller: Caller,
    namespace_id: UUID,
    starts: Iterable[StoredMemory],
    now: datetime,
    limit: int = 50,
) -> Chain:
    """Return the decisions that some memories belong to, in the order in which they were made.

    Follows the verbs of CHAIN_VERBS both ways, through superseded ones, too: what replaced what is
    the point. Two queries for each step, eight at most; cycles end where they began.
    """
    found = {_vertex(memory.number): memory for memory in starts}
    frontier = list(found)
    links: dict[Edge, None] = {}
    is_truncated = False
    for _ in range(_CHAIN_STEPS):
        near = [
            link
            for link in graph.links_of(
                namespace_id=namespace_id, vertices=frontier, limit=_LINKS_READ
            )
            if link.kind in CHAIN_VERBS
        ]
        new = {end for link in near for end in (link.source, link.target)} - found.keys()
        visible = _memories(new, caller=caller, namespace_id=namespace_id, now=now)
        room = limit - len(found)
        is_truncated |= len(visible) > room
        frontier = list(visible)[:room]
        found |= {vertex: visible[vertex] for vertex in frontier}
        links |= dict.fromkeys(
            link for link in near if link.source in found and link.target in found
        )
        if not frontier:
            break
    memories = sorted(found.values(), key=lambda memory: (memory.created_at, memory.id))
    return Chain(
        memories=tuple(memories),
        links=tuple(_link_value(link, {v: str(m.id) for v, m in found.items()}) for link in links),
        is_truncated=is_truncated,
    )


def decisions_about(
    *,
    caller: Caller,
    namespace_id: UUID,
    vertices: Collection[int],
    anchored: Collection[UUID],
    now: datetime,
    limit: int = 50,
) -> list[StoredMemory]:
    """Return decisions, requirements and rules about some code, superseded ones too, newest first.

    `vertices` are nodes of the graph, `anchored` memories that are anchored there. Two queries.
    """
    numbers = graph.memories_linked_to(
        namespace_id=namespace_id, vertices=list(vertices), limit=_LINKS_READ
    )
    rows = queries.visible_memories(caller=caller, now=now, include_inactive=True).filter(
        Q(number__in=numbers) | Q(pk__in=anchored),
        namespace_id=namespace_id,
        memory_type__in=CHAIN_TYPES,
        state__in=[Memory.State.ACTIVE, Memory.State.RESOLVED, Memory.State.SUPERSEDED],
    )
    newest = queries.shown(rows).order_by("-created_at", "-pk")[:limit]
    return [queries.stored(row, now=now) for row in newest]


# --- Memories of code -----------------------------------------------------------------------------
def memories_of_nodes(
    *,
    caller: Caller,
    namespace_id: UUID,
    nodes: Mapping[int, tuple[str, int]],
    anchored: Mapping[UUID, float],
    now: datetime,
    branch: str = "",
    relationships: Collection[str] = (),
    limit: int = 50,
) -> list[NodeMemory]:
    """Return what is known about some nodes, nearest first, then by importance.

    `nodes` says of each vertex its text id and how far it is from what was asked about; `anchored`
    are memories anchored at those places. Only what holds now, and only what the caller sees.
    """
    links = graph.links_of(namespace_id=namespace_id, vertices=list(nodes), limit=_LINKS_READ)
    ways: dict[int, tuple[str, str, int]] = {}
    for link in links:
        for here, there in ((link.source, link.target), (link.target, link.source)):
            if here in nodes and label_of(there) is VertexLabel.MEMORY:
                via, distance = nodes[here]
                if relationships and link.kind not in relationships:
                    continue
                if there not in ways or ways[there][2] > distance:
                    ways[there] = (link.kind, via, distance)
    by_anchor = () if relationships else anchored
    rows = queries.visible_memories(caller=caller, now=now).filter(
        Q(number__in=[key_of(vertex) for vertex in ways]) | Q(pk__in=by_anchor),
        queries.on_branch(branch),
        namespace_id=namespace_id,
    )
    nearest = min(nodes.values(), key=lambda node: node[1], default=("", 0))
    found = []
    for row in queries.shown(rows):
        memory = queries.stored(row, now=now)
        elsewhere = 0 if anchored.get(memory.id) == 1 else 1
        by_anchor_alone = ("ANCHORED_AT", nearest[0], nearest[1] + elsewhere)
        kind, via, distance = ways.get(_vertex(memory.number), by_anchor_alone)
        found.append(NodeMemory(memory=memory, relationship=kind, via=via, distance=distance))
    found.sort(key=lambda one: (one.distance, -one.memory.importance, str(one.memory.id)))
    return found[:limit]


def count_about(
    *,
    caller: Caller,
    namespace_id: UUID,
    vertices: Collection[int],
    now: datetime,
    branch: str = "",
) -> dict[int, int]:
    """Return how many memories that hold and that the caller sees are tied to each node."""
    links = graph.links_of(
        namespace_id=namespace_id, vertices=list(vertices), limit=_LINKS_READ * 20
    )
    asked = set(vertices)
    tied: dict[int, set[int]] = {}
    for link in links:
        for here, there in ((link.source, link.target), (link.target, link.source)):
            if here in asked and label_of(there) is VertexLabel.MEMORY:
                tied.setdefault(here, set()).add(key_of(there))
    numbers = {number for mine in tied.values() for number in mine}
    rows = queries.visible_memories(caller=caller, now=now).filter(
        queries.on_branch(branch), namespace_id=namespace_id, number__in=numbers
    )
    visible = set(rows.values_list("number", flat=True))
    return {vertex: len(tied.get(vertex, set()) & visible) for vertex in vertices}


# --- Parts ----------------------------------------------------------------------------------------
def _row(caller: Caller, memory_id: UUID, *, now: datetime) -> Memory:
    rows = queries.visible_memories(caller=caller, now=now, include_inactive=True)
    memory = rows.defer(*queries.SEARCH_COLUMNS).filter(pk=memory_id).first()
    if memory is None:
        raise queries.unknown(memory_id)
    return memory


def _differences(before: Snapshot, after: Snapshot) -> Iterable[Difference]:
    for name in after:
        if name in _NOT_COMPARED or before.get(name) == after[name]:
            continue
        if name == "content":
            yield Difference(field=name, diff=_diff(str(before.get(name, "")), str(after[name])))
        else:
            yield Difference(field=name, before=before.get(name), after=after[name])


def _diff(before: str, after: str) -> str:
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2))[
        2:
    ]
    more = [f"... and {len(lines) - _DIFF_LINES} lines more"] if len(lines) > _DIFF_LINES else []
    return "\n".join([*lines[:_DIFF_LINES], *more])


def _in_scope(
    rows: QuerySet[Memory],
    *,
    namespace_ids: Collection[UUID],
    repository_id: UUID | None,
    branch: str,
) -> QuerySet[Memory]:
    rows = rows.filter(namespace_id__in=namespace_ids)
    if repository_id is None:
        return rows
    return rows.filter(queries.in_repository(repository_id), queries.on_branch(branch))


def _between(
    rows: QuerySet[Any], column: str, since: datetime | None, until: datetime | None
) -> QuerySet[Any]:
    if since is not None:
        rows = rows.filter(**{f"{column}__gte": since})
    if until is not None:
        rows = rows.filter(**{f"{column}__lt": until})
    return rows


def _stored_event(row: Memory, *, now: datetime) -> Event:
    memory = queries.stored(row, now=now)
    return Event(at=memory.created_at, what="stored", memory=memory, by=memory.author)


def _change_events(
    versions: Sequence[MemoryVersion], *, caller: Caller, now: datetime
) -> list[Event]:
    keys = {version.memory_id for version in versions}
    rows = queries.visible_memories(caller=caller, now=now, include_inactive=True)
    shown = queries.shown(rows.filter(pk__in=keys))
    memories = {row.pk: queries.stored(row, now=now) for row in shown}
    return [
        Event(
            at=version.valid_to,
            what=version.change,
            memory=memories[version.memory_id],
            by=version.changed_by_name,
            reason=version.reason,
        )
        for version in versions
        if version.memory_id in memories
    ]


def _memories(
    vertices: Collection[int], *, caller: Caller, namespace_id: UUID, now: datetime
) -> dict[int, StoredMemory]:
    """Return the memories among some vertices that the caller sees, superseded ones too."""
    numbers = [key_of(vertex) for vertex in vertices if label_of(vertex) is VertexLabel.MEMORY]
    rows = queries.visible_memories(caller=caller, now=now, include_inactive=True).filter(
        namespace_id=namespace_id,
        number__in=numbers,
        state__in=[Memory.State.ACTIVE, Memory.State.RESOLVED, Memory.State.SUPERSEDED],
    )
    return {
        _vertex(row.number): queries.stored(row, now=now)
        for row in queries.shown(rows).order_by("-importance", "-pk")
    }


def _named(
    links: Sequence[Edge], *, caller: Caller, namespace_id: UUID, now: datetime
) -> tuple[LinkValue, ...]:
    """Return links both of whose ends the caller sees, by the ids of memories."""
    ends = {end for link in links for end in (link.source, link.target)}
    seen = _memories(ends, caller=caller, namespace_id=namespace_id, now=now)
    names = {vertex: str(memory.id) for vertex, memory in seen.items()}
    return tuple(
        _link_value(link, names) for link in links if link.source in names and link.target in names
    )


def _link_value(link: Edge, names: Mapping[int, str]) -> LinkValue:
    return LinkValue(
        source=names[link.source],
        relationship=link.kind,
        target=names[link.target],
        weight=link.confidence,
    )


def _vertex(number: int) -> int:
    return graph_id(label=VertexLabel.MEMORY, key=number)
