"""Reads of memories. The one entry is `visible_memories`: permission and expiry filtered in SQL."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from uuid import UUID

from django.db.models import Count, Q, QuerySet

from codemem.accounts.values import Action, Caller
from graph import queries as graph
from graph.values import VertexLabel, graph_id, key_of, label_of
from memory.models import Memory
from memory.models.memory import CITED
from memory.values import MemoryCounts, MemoryType, StoredMemory, Visibility

# What searches read and nobody shows: several kilobytes a row.
SEARCH_COLUMNS = ("tokens", "lexemes", "embedding", "retired_links")
_MOST_WORDS = 8


class MemoryUnknown(Exception):
    """There is no such memory, or not for this caller: the two are never told apart."""


class CitationAmbiguous(Exception):
    """Several memories have the end of their ids in common."""


def visible_memories(
    *,
    caller: Caller,
    now: datetime,
    action: Action = Action.READ_MEMORY,
    include_inactive: bool = False,
) -> QuerySet[Memory]:
    """Return the memories that the caller may do `action` with: shared ones, and their own.

    Retired and expired ones only when asked for; expired means past its time, swept or not.
    """
    mine = Memory.objects.filter(visible_to(caller), namespace_id__in=caller.namespaces_for(action))
    return mine if include_inactive else mine.filter(holding(now=now))


def list_memories(
    *, caller: Caller, now: datetime, include_inactive: bool = False
) -> QuerySet[Memory]:
    """Return the visible memories for a listing, newest first; one query when evaluated."""
    rows = visible_memories(caller=caller, now=now, include_inactive=include_inactive)
    return shown(rows).order_by("-created_at", "-id")


def memories_saying(
    *, caller: Caller, namespace_ids: Iterable[UUID], text: str, limit: int, now: datetime
) -> list[StoredMemory]:
    """Return the newest memories whose content has every word of a text, in any case. One query.

    For finding again what one knows to be there, letter by letter; questions are for `recall`.
    """
    rows = visible_memories(caller=caller, now=now).filter(namespace_id__in=list(namespace_ids))
    for word in text.split()[:_MOST_WORDS]:
        rows = rows.filter(content__icontains=word)
    found = shown(rows).order_by("-created_at", "-id")[:limit]
    return [stored(row, now=now) for row in found]


def get_memory(
    *, caller: Caller, memory_id: UUID, now: datetime, include_inactive: bool = False
) -> StoredMemory:
    """Return one memory; raise MemoryUnknown."""
    rows = visible_memories(caller=caller, now=now, include_inactive=include_inactive)
    memory = shown(rows).filter(pk=memory_id).first()
    if memory is None:
        raise unknown(memory_id)
    return stored(memory, now=now)


def cited_id(*, caller: Caller, ending: str, now: datetime) -> UUID:
    """Return the id of the one visible memory whose id ends in these eight digits. One query.

    Whether it holds makes no difference here. Raise MemoryUnknown, or CitationAmbiguous.
    """
    rows = visible_memories(caller=caller, now=now, include_inactive=True)
    found = rows.alias(ending=CITED).filter(ending=ending).values_list("pk", flat=True)[:2]
    if not found:
        raise unknown(f"whose id ends in {ending}")
    if len(found) > 1:
        raise CitationAmbiguous(f"Several memories have an id that ends in {ending}: give it all.")
    return found[0]


def memories_by_id(
    *, caller: Caller, memory_ids: Iterable[UUID | str], now: datetime
) -> dict[UUID, StoredMemory]:
    """Return those of some memories that the caller sees, ended ones too. One query at most."""
    keys = list(memory_ids)
    if not keys:
        return {}
    rows = visible_memories(caller=caller, now=now, include_inactive=True).filter(pk__in=keys)
    return {row.pk: stored(row, now=now) for row in shown(rows)}


def memories_about(
    *,
    caller: Caller,
    namespace_id: UUID,
    vertices: Iterable[int],
    now: datetime,
    branch: str = "",
    limit: int = 20,
) -> list[StoredMemory]:
    """Return the memories tied to any of these nodes, most important first, then newest.

    `vertices` are graph ids of files and symbols (`graph.values.Node.vertex`). Two queries.
    """
    numbers = graph.memories_linked_to(namespace_id=namespace_id, vertices=list(vertices))
    rows = visible_memories(caller=caller, now=now).filter(
        on_branch(branch), namespace_id=namespace_id, number__in=set(numbers)
    )
    best = shown(rows).order_by("-importance", "-created_at", "-id")[:limit]
    return [stored(memory, now=now) for memory in best]


def memories_by_vertex(
    *, caller: Caller, namespace_id: UUID, vertices: Iterable[int], now: datetime
) -> Mapping[int, StoredMemory]:
    """Return the visible memories among some vertices of the graph, by vertex."""
    label = VertexLabel.MEMORY
    numbers = [key_of(vertex) for vertex in vertices if label_of(vertex) is label]
    if not numbers:
        return {}
    rows = visible_memories(caller=caller, now=now).filter(
        namespace_id=namespace_id, number__in=numbers
    )
    return {
        graph_id(label=label, key=memory.number): stored(memory, now=now) for memory in shown(rows)
    }


def counts(*, caller: Caller, now: datetime) -> list[MemoryCounts]:
    """Return how many memories hold in each namespace that has any, by type. One query."""
    rows = (
        visible_memories(caller=caller, now=now)
        .order_by("namespace__name", "memory_type")
        .values_list("namespace_id", "namespace__name", "memory_type")
        .annotate(held=Count("pk"), embedded=Count("embedding"))
    )
    by_namespace: dict[tuple[UUID, str], list[tuple[str, int, int]]] = {}
    for namespace_id, name, memory_type, held, embedded in rows:
        by_namespace.setdefault((namespace_id, name), []).append((memory_type, held, embedded))
    return [
        MemoryCounts(
            namespace_id=namespace_id,
            namespace=name,
            by_type={MemoryType(kind): held for kind, held, _ in kinds},
            not_embedded=sum(held - embedded for _, held, embedded in kinds),
        )
        for (namespace_id, name), kinds in by_namespace.items()
    ]


def unknown(memory_id: object) -> MemoryUnknown:
    return MemoryUnknown(f"There is no memory {memory_id} here, or not for you.")


def visible_to(caller: Caller) -> Q:
    """Return the condition that a memory is shared, or the caller's own."""
    return ~Q(visibility=Memory.Visibility.PRIVATE) | Q(author_id=caller.user_id)


def versions_visible_to(caller: Caller) -> Q:
    """Return the condition that a version is of when its memory was shared, or the caller's own.

    Of memories that the caller sees: who publishes what was private shows what it says now.
    """
    was_private = Q(snapshot__visibility=Memory.Visibility.PRIVATE.value)
    return ~was_private | Q(memory__author_id=caller.user_id)


def holding(*, now: datetime) -> Q:
    """Return the condition that a memory is active and not past its time."""
    return Q(state=Memory.State.ACTIVE) & (Q(expires_at=None) | Q(expires_at__gt=now))


def in_repository(repository_id: UUID) -> Q:
    """Return the condition that a memory answers for a repository: its own, or everybody's."""
    of_all = Q(repository_id=None) | Q(visibility=Memory.Visibility.NAMESPACE)
    return Q(repository_id=repository_id) | of_all


def on_branch(branch: str) -> Q:
    """Return the condition that a memory holds on a branch: it names this branch or none."""
    return Q(branch__in={"", branch})


def shown(rows: QuerySet[Memory]) -> QuerySet[Memory]:
    """Return rows with the names that readers are shown, without what only searches read."""
    return (
        rows.select_related("namespace", "repository")
        .defer(*SEARCH_COLUMNS)
        .annotate(is_embedded=Q(embedding__isnull=False))
    )


def stored(memory: Memory, *, now: datetime) -> StoredMemory:
    """Return a row as a frozen value; `is_embedded` is annotated by `shown`."""
    return StoredMemory(
        id=memory.pk,
        number=memory.number,
        namespace_id=memory.namespace_id,
        namespace=memory.namespace.name,
        repository_id=memory.repository_id,
        repository=memory.repository.name if memory.repository else None,
        branch=memory.branch,
        visibility=Visibility(memory.visibility),
        memory_type=MemoryType(memory.memory_type),
        content=memory.content,
        rationale=memory.rationale,
        alternatives=tuple(memory.alternatives),
        acceptance_criteria=tuple(memory.acceptance_criteria),
        evidence=tuple(memory.evidence),
        tags=tuple(memory.tags),
        importance=memory.importance,
        confidence=memory.confidence,
        state=state_shown(memory.state, expires_at=memory.expires_at, now=now),
        author_id=memory.author_id,
        author=memory.author_name,
        agent=memory.agent,
        model=memory.model,
        session_id=memory.session_id,
        source=memory.source,
        is_pinned=memory.is_pinned,
        superseded_by=memory.superseded_by_id,
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        expires_at=memory.expires_at,
        ended_at=memory.ended_at,
        retired_at=memory.retired_at,
        retired_by=memory.retired_by,
        is_embedded=_is_embedded(memory),
        version=memory.version,
    )


def state_shown(state: str, *, expires_at: datetime | None, now: datetime) -> str:
    """Return a row's state as readers see it: expired when it is past its time, swept or not."""
    is_past = expires_at is not None and expires_at <= now
    return Memory.State.EXPIRED.value if state == Memory.State.ACTIVE and is_past else state


def _is_embedded(memory: Memory) -> bool:
    # The column is asked for only where there is no annotation: rows of a search defer it, and
    # reading it there would be a query for each.
    annotated: bool | None = getattr(memory, "is_embedded", None)
    return memory.embedding is not None if annotated is None else annotated
