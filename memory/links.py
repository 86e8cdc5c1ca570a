"""What the links of the graph add to a recall: memories of named code, neighbors, impact.

Knows vertices and numbers; which memories may answer is decided by the callers' filters.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_
from uuid import UUID

from django.db.models import Q

from codemem.words import identifiers
from graph import queries as graph
from graph.values import (
    LINK_LABEL,
    Edge,
    Node,
    RepositoryValue,
    Score,
    VertexLabel,
    Visit,
    graph_id,
    key_of,
    label_of,
)
from memory import scoring
from memory.entities import EntityKind, entities_of, of_kind
from memory.models import MemoryEntity
from memory.services.anchoring import memories_anchored_at
from memory.values import LinkedSymbol, RecallHit, RecallQuery, StoredMemory

_NAMES_READ = 3
_ENTITIES_READ = 10
_MEANINGS_OF_A_NAME = 3
_REPOSITORIES_SEARCHED = 3
_MEMORIES_OF_NAMED_CODE = 50
_LINKS_READ = 500
_NODES_WALKED = 200
_SYMBOLS_SHOWN = 5


def memories_of_named_code(query: RecallQuery) -> frozenset[int]:
    """Return the numbers of memories tied to the code that a question names.

    Reads the first three names, in the repository of the question, or in those of the namespaces
    when they are three at most.
    """
    names = identifiers(query.text)[:_NAMES_READ]
    if not names or not query.namespace_ids:
        return frozenset()
    found: list[int] = []
    for repository in _searched(query):
        meant = graph.nodes_by_name(
            repository_id=repository.id, texts=names, limit=_MEANINGS_OF_A_NAME
        )
        nodes = [node for name in names for node in meant[name]]
        found += graph.memories_linked_to(
            namespace_id=repository.namespace_id,
            vertices=[node.vertex for node in nodes],
            limit=_MEMORIES_OF_NAMED_CODE,
        )
    return frozenset(found[:_MEMORIES_OF_NAMED_CODE])


def memories_that_name(query: RecallQuery) -> frozenset[UUID]:
    """Return the ids of memories whose entities or anchors are what a question names.

    Ids only, of whatever memories there are: filter them by what may answer. Two queries at most.
    """
    entities = entities_of(query.text, limit=_ENTITIES_READ)
    if not entities or not query.namespace_ids:
        return frozenset()
    things = reduce(or_, (Q(kind=entity.kind, key=entity.key) for entity in entities))
    found = set(
        MemoryEntity.objects.filter(things, namespace_id__in=query.namespace_ids)
        .order_by("-pk")
        .values_list("memory_id", flat=True)[:_MEMORIES_OF_NAMED_CODE]
    )
    if query.repository_id is not None:
        found |= set(
            memories_anchored_at(
                repository_id=query.repository_id, paths=of_kind(entities, EntityKind.PATH)
            )
        )
    return frozenset(found)


def linked_memories(vertices: Mapping[UUID, Sequence[int]]) -> frozenset[int]:
    """Return the numbers of memories one link away from some, by namespace. A query for each."""
    return frozenset(
        key_of(end)
        for namespace_id, mine in vertices.items()
        for source, target, _ in graph.ties_of(
            namespace_id=namespace_id, vertices=mine, limit=_LINKS_READ
        )
        for end in (source, target)
        if _is_memory(end)
    )


def linked_relevance(
    by_namespace: Mapping[UUID, Sequence[int]],
    vertices: Sequence[int],
    relevances: Sequence[float],
) -> list[float]:
    """Return what each memory gains from linked ones of the same pool.

    One query for each namespace, and one for its graph.
    """
    by_vertex = dict(zip(vertices, relevances, strict=True))
    ties = (
        tie
        for namespace_id, mine in by_namespace.items()
        for tie in graph.ties_of(namespace_id=namespace_id, vertices=mine, limit=_LINKS_READ)
    )
    gains = scoring.linked_relevance(ties, by_vertex)
    return [gains.get(vertex, 0.0) for vertex in vertices]


def neighbors(
    hits: Sequence[RecallHit],
    *,
    depth: int,
    allowed: Callable[[Collection[int]], Mapping[int, StoredMemory]],
    limit: int,
) -> list[RecallHit]:
    """Return memories within `depth` links of memories around the hits, nearest first.

    Links are followed in both directions, and through code that two memories are tied to.
    `allowed` returns, of some numbers, the memories that may answer; no path leads through others.
    """
    found: list[RecallHit] = []
    for namespace_id in dict.fromkeys(hit.memory.namespace_id for hit in hits):
        starts = {vertex_of(hit.memory): hit for hit in hits if _is_in(hit, namespace_id)}
        found += _around(namespace_id, starts, depth=depth, allowed=allowed)
    found.sort(key=lambda hit: (-hit.score, hit.memory.id))
    return found[:limit]


def with_impact(hits: Sequence[RecallHit]) -> list[RecallHit]:
    """Return the hits with the code they are tied to, highest rank first. Four queries."""
    shown: list[RecallHit] = []
    for namespace_id in dict.fromkeys(hit.memory.namespace_id for hit in hits):
        mine = [hit for hit in hits if _is_in(hit, namespace_id)]
        links = graph.links_of(
            namespace_id=namespace_id,
            vertices=[vertex_of(hit.memory) for hit in mine],
            limit=_LINKS_READ,
        )
        ends = {end for link in links for end in (link.source, link.target)}
        nodes = graph.nodes_of(namespace_id=namespace_id, vertices=ends)
        scores = graph.scores_of(vertices=nodes)
        shown += [replace(hit, impact=_impact(hit, links, nodes, scores)) for hit in mine]
    by_id = {hit.memory.id: hit for hit in shown}
    return [by_id[hit.memory.id] for hit in hits]


def vertex_of(memory: StoredMemory) -> int:
    return graph_id(label=VertexLabel.MEMORY, key=memory.number)


def _searched(query: RecallQuery) -> list[RepositoryValue]:
    repositories = graph.list_repositories(namespace_ids=query.namespace_ids)
    if query.repository_id is not None:
        return [row for row in repositories if row.id == query.repository_id]
    return repositories if len(repositories) <= _REPOSITORIES_SEARCHED else []


def _is_in(hit: RecallHit, namespace_id: UUID) -> bool:
    return hit.memory.namespace_id == namespace_id


def _around(
    namespace_id: UUID,
    starts: Mapping[int, RecallHit],
    *,
    depth: int,
    allowed: Callable[[Collection[int]], Mapping[int, StoredMemory]],
) -> list[RecallHit]:
    # A step from memory to memory over shared code is two edges.
    walk = graph.traverse(
        namespace_id=namespace_id,
        starts=list(starts),
        max_depth=2 * depth,
        kinds=[LINK_LABEL],
        node_limit=_NODES_WALKED,
    )
    visits = {visit.vertex: visit for visit in walk.visits}
    memories = allowed([key_of(vertex) for vertex in visits if _is_memory(vertex)])
    hits: list[RecallHit] = []
    for vertex in visits:
        way = _way(vertex, visits)
        passed = [key_of(step.vertex) for step in way[1:] if _is_memory(step.vertex)]
        is_open = way[0].vertex in starts and all(number in memories for number in passed)
        if is_open and _is_memory(vertex) and vertex not in starts and len(passed) <= depth:
            hits.append(_reached(starts[way[0].vertex], way, memories))
    return hits


def _way(vertex: int, visits: Mapping[int, Visit]) -> list[Visit]:
    """Return the visits from a start to this vertex, both included."""
    way = [visits[vertex]]
    while (before := way[-1].reached_from) is not None and before in visits:
        way.append(visits[before])
    return way[::-1]


def _reached(
    origin: RecallHit, way: Sequence[Visit], memories: Mapping[int, StoredMemory]
) -> RecallHit:
    steps = [
        step.node.id if step.node else str(memories[key_of(step.vertex)].id) for step in way[1:]
    ]
    share = 0.5 ** sum(step.node is None for step in way[1:])
    return RecallHit(
        memory=memories[key_of(way[-1].vertex)],
        score=origin.score * share,
        relevance=origin.relevance * share,
        parts=scoring.NOTHING,
        path=(str(origin.memory.id), *steps),
    )


def _impact(
    hit: RecallHit,
    links: Iterable[Edge],
    nodes: Mapping[int, Node],
    scores: Mapping[int, Score],
) -> tuple[LinkedSymbol, ...]:
    weights: dict[int, float] = {}
    for link in links:
        ends = {link.source, link.target}
        if vertex_of(hit.memory) in ends:
            for end in ends.intersection(nodes):
                weights[end] = max(weights.get(end, 0.0), link.confidence)
    symbols = [
        _linked_symbol(nodes[vertex], weight, scores.get(vertex))
        for vertex, weight in weights.items()
    ]
    symbols.sort(key=lambda symbol: (-(symbol.rank or 0.0), symbol.id))
    return tuple(symbols[:_SYMBOLS_SHOWN])


def _linked_symbol(node: Node, weight: float, score: Score | None) -> LinkedSymbol:
    return LinkedSymbol(
        id=node.id,
        weight=weight,
        rank=score.rank if score else None,
        rank_percentile=score.percentile if score else None,
        dependents=score.in_degree if score else None,
    )


def _is_memory(vertex: int) -> bool:
    return label_of(vertex) is VertexLabel.MEMORY
