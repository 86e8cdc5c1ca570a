"""The graph of one commit, held in memory: nodes found by name, neighbors, dependents, walks.

Answers in the same shapes and by the same rules as `graph.queries` does of the live graph, except
that nothing is ranked. Pure: how a graph is made is `indexing.history.past`'s business. Its
vertices are numbers of its own.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final
from uuid import UUID

from graph.queries import Algorithm
from graph.values import (
    LEAST_CONFIDENCE_OF_A_CALL,
    Dependent,
    Dependents,
    Direction,
    Edge,
    EdgeFact,
    EdgeKind,
    FileFact,
    GraphCounts,
    Neighbor,
    Neighborhood,
    Node,
    NodeKind,
    SymbolFact,
    Traversal,
    Visit,
)

_SEPARATORS: Final = re.compile(r"::|#|/")
DEPENDENCIES: Final = frozenset(
    {
        *(EdgeKind.CALLS, EdgeKind.REFERENCES, EdgeKind.IMPORTS),
        *(EdgeKind.INHERITS, EdgeKind.IMPLEMENTS, EdgeKind.OVERRIDES),
    }
)


class CommitGraph:
    """All files and symbols of one commit, and the syntax edges between them."""

    def __init__(
        self,
        *,
        repository_id: UUID,
        files: Iterable[FileFact],
        symbols: Iterable[SymbolFact],
        edges: Iterable[EdgeFact],
    ) -> None:
        facts: list[FileFact | SymbolFact] = [*files, *symbols]
        self.nodes = [
            _node(repository_id, vertex, fact) for vertex, fact in enumerate(facts, start=1)
        ]
        self.by_id = {node.id: node for node in self.nodes}
        self.edges = list(_stored(edges, self.by_id))
        self._from: defaultdict[int, list[Edge]] = defaultdict(list)
        self._to: defaultdict[int, list[Edge]] = defaultdict(list)
        for edge in self.edges:
            self._from[edge.source].append(edge)
            self._to[edge.target].append(edge)

    def node(self, vertex: int) -> Node:
        return self.nodes[vertex - 1]

    def counts(self) -> GraphCounts:
        """Return how much the graph holds, by kind."""
        return GraphCounts(
            repositories=1,
            nodes=dict(Counter(node.kind.value for node in self.nodes)),
            edges=dict(Counter(edge.kind for edge in self.edges)),
            links={},
        )

    def find_nodes(self, text: str, *, limit: int = 20) -> list[Node]:
        """Return the nodes that a text names, of the most exact reading that names any."""
        text = text.strip().removesuffix("()").strip()
        for found in self._readings(text) if text else ():
            if found:
                return sorted(found, key=lambda node: (-len(self._to[node.vertex]), node.id))[
                    :limit
                ]
        return []

    def neighbors(
        self,
        vertices: Collection[int],
        *,
        direction: Direction = Direction.BOTH,
        kinds: Collection[str] | None = None,
        minimum_confidence: float = 0.0,
        limit: int = 100,
    ) -> Neighborhood:
        """Return the edges of some vertices, the most certain ones first."""
        found = [
            Neighbor(edge=edge, origin=near, vertex=far, node=self.node(far))
            for edge, near, far in self._edges_at(vertices, direction)
            if edge.confidence >= minimum_confidence and (kinds is None or edge.kind in kinds)
        ]
        found.sort(key=lambda one: _surest_first(one.edge))
        return Neighborhood(neighbors=tuple(found[:limit]), is_truncated=len(found) > limit)

    def dependents(
        self, vertices: Collection[int], *, max_depth: int = 3, node_limit: int = 500
    ) -> Dependents:
        """Return what depends on some vertices, nearest first; no further from a file."""
        reached: dict[int, int] = dict.fromkeys(vertices, 0)
        frontier = list(reached)
        for depth in range(1, max_depth + 1):
            found = dict.fromkeys(
                edge.source
                for vertex in frontier
                for edge in self._to[vertex]
                if edge.kind in DEPENDENCIES and edge.source not in reached
            )
            reached |= dict.fromkeys(found, depth)
            frontier = [one for one in found if self.node(one).kind is not NodeKind.FILE]
        dependents = [
            Dependent(node=self.node(vertex), depth=depth, score=None)
            for vertex, depth in reached.items()
            if depth
        ]
        dependents.sort(key=lambda one: (one.depth, one.node.id))
        return Dependents(
            dependents=tuple(dependents[:node_limit]), is_truncated=len(dependents) > node_limit
        )

    def count_dependents(self, vertices: Collection[int], *, limit: int) -> int:
        return len(self.dependents(vertices, max_depth=1, node_limit=limit).dependents)

    def traverse(
        self,
        starts: Collection[int],
        *,
        max_depth: int = 2,
        algorithm: Algorithm = Algorithm.BREADTH_FIRST,
        direction: Direction = Direction.BOTH,
        kinds: Collection[str] | None = None,
        exclude_node_kinds: Collection[NodeKind] = (),
        node_limit: int = 200,
    ) -> Traversal:
        """Walk from some vertices and return every vertex once, by a shortest path."""
        visits = {start: self._visit(start, depth=0) for start in starts}
        frontier = list(visits)
        is_truncated = False
        for depth in range(1, max_depth + 1):
            ahead = sorted(
                self._edges_at(frontier, direction), key=lambda row: _surest_first(row[0])
            )
            frontier = []
            for edge, near, far in ahead:
                if far in visits or (kinds is not None and edge.kind not in kinds):
                    continue
                if self.node(far).kind in exclude_node_kinds:
                    continue
                if len(visits) >= node_limit:
                    is_truncated = True
                    break
                visits[far] = self._visit(far, depth=depth, near=near, edge=edge)
                frontier.append(far)
        in_order = (
            list(visits.values()) if algorithm is Algorithm.BREADTH_FIRST else _depth_first(visits)
        )
        return Traversal(visits=tuple(in_order), is_truncated=is_truncated)

    def _visit(
        self, vertex: int, *, depth: int, near: int | None = None, edge: Edge | None = None
    ) -> Visit:
        return Visit(
            vertex=vertex, depth=depth, node=self.node(vertex), reached_from=near, edge=edge
        )

    def _edges_at(
        self, vertices: Collection[int], direction: Direction
    ) -> Iterator[tuple[Edge, int, int]]:
        """Yield each edge with its near and its far end."""
        for vertex in vertices:
            if direction is not Direction.IN:
                yield from ((edge, vertex, edge.target) for edge in self._from[vertex])
            if direction is not Direction.OUT:
                yield from ((edge, vertex, edge.source) for edge in self._to[vertex])

    def _readings(self, text: str) -> Iterator[list[Node]]:
        """Yield what every reading of a text means, the most exact one first."""
        path = text.removeprefix("file:").removeprefix("./")
        if not text.startswith("sym:"):
            yield self._with_id(f"file:{path}")
        if text.startswith("file:"):
            return
        uid = text.removeprefix("sym:") if "#" in text else text.replace("::", "#", 1)
        yield self._with_id(f"sym:{uid}")
        if text.startswith("sym:"):
            return
        dotted = _SEPARATORS.sub(".", text).strip(".")
        symbols = [node for node in self.nodes if node.kind is not NodeKind.FILE]
        yield [node for node in symbols if node.qualified_name in {text, dotted}]
        yield [node for node in symbols if node.local_name == dotted]
        yield [node for node in symbols if node.qualified_name.endswith(f".{dotted}")]
        yield [
            node
            for node in self.nodes
            if node.kind is NodeKind.FILE and node.path.endswith(f"/{path}")
        ]
        yield [node for node in symbols if node.name == dotted]

    def _with_id(self, id: str) -> list[Node]:  # noqa: A002  the field's term
        return [self.by_id[id]] if id in self.by_id else []


def _stored(edges: Iterable[EdgeFact], nodes: Mapping[str, Node]) -> Iterator[Edge]:
    """Yield the edges as the live graph would store them: of doubles the surest, first mentioned.

    A call of low confidence is a candidate, and none where the call is known.
    """
    best: dict[tuple[str, str, str], EdgeFact] = {}
    for edge in edges:
        key = (_label(edge), edge.source, edge.target)
        known = best.get(key)
        if known is None or (-edge.confidence, edge.line) < (-known.confidence, known.line):
            best[key] = edge
    for (label, source, target), edge in best.items():
        is_known = label == EdgeKind.MAY_CALL and (EdgeKind.CALLS.value, source, target) in best
        if is_known or source not in nodes or target not in nodes:
            continue
        yield Edge(
            kind=label,
            source=nodes[source].vertex,
            target=nodes[target].vertex,
            confidence=float(edge.confidence),
            rule=edge.rule,
            line=max(edge.line, nodes[source].start_line),
        )


def _label(edge: EdgeFact) -> str:
    is_candidate = edge.kind is EdgeKind.CALLS and edge.confidence < LEAST_CONFIDENCE_OF_A_CALL
    return EdgeKind.MAY_CALL.value if is_candidate else edge.kind.value


def _node(repository_id: UUID, vertex: int, fact: FileFact | SymbolFact) -> Node:
    if isinstance(fact, FileFact):
        return Node(
            vertex=vertex,
            id=fact.id,
            repository_id=repository_id,
            kind=NodeKind.FILE,
            name=fact.path.rpartition("/")[2],
            local_name="",
            qualified_name=fact.path,
            path=fact.path,
            language=fact.language or "",
            start_line=1,
            end_line=fact.lines,
        )
    return Node(
        vertex=vertex,
        id=fact.id,
        repository_id=repository_id,
        kind=fact.kind,
        name=fact.name,
        local_name=fact.local_name,
        qualified_name=fact.qualified_name,
        path=fact.path,
        language=fact.language,
        start_line=fact.start_line,
        end_line=fact.end_line,
        signature=fact.signature,
        doc=fact.doc,
        visibility=fact.visibility,
        is_test=fact.is_test,
    )


def _surest_first(edge: Edge) -> tuple[float, str, int, int]:
    return -edge.confidence, edge.kind, edge.source, edge.target


def _depth_first(visits: Mapping[int, Visit]) -> Sequence[Visit]:
    """Return the same tree of shortest paths, each branch told to its end before the next."""
    children: defaultdict[int | None, list[Visit]] = defaultdict(list)
    for visit in visits.values():
        children[visit.reached_from].append(visit)
    order: list[Visit] = []
    waiting = children[None][::-1]
    while waiting:
        order.append(waiting.pop())
        waiting += children[order[-1].vertex][::-1]
    return order
