"""Edges: who is tied to a node, who depends on it, and walks over both code and memories.

Reads AGE's label tables by SQL. Everything is bounded: a hub costs no more than its limit allows.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import islice
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db import connection
from psycopg import sql

from codemem.plans import array_of, kept_rows
from graph import cypher
from graph.queries.nodes import nodes_of, scores_of
from graph.queries.seen import edges_seen, view_parameters
from graph.values import (
    CROSSING_KINDS,
    LINK_LABEL,
    LIVE,
    SNAPSHOT_KINDS,
    Dependent,
    Dependents,
    Direction,
    Edge,
    EdgeKind,
    Neighbor,
    Neighborhood,
    Node,
    NodeKind,
    Traversal,
    VertexLabel,
    View,
    Visit,
    key_of,
    label_of,
)

_SHOWN_KINDS: Final = (*SNAPSHOT_KINDS, *CROSSING_KINDS)
# What others share is where a walk ends: everything would be two steps from everything else.
_SHARED_LABELS: Final = frozenset({VertexLabel.PACKAGE, VertexLabel.EXTERNAL})
# Of a hub's edges no more than this times the limit are read of each kind before the most certain
# ones are chosen.
_READ_FOR_EACH_SHOWN: Final = 10
# Nodes that a walk reads at once, where there is less room left: excluded ones take none.
_LEAST_READ: Final = 100


class Algorithm(StrEnum):
    """The order in which a traversal tells what it reached."""

    BREADTH_FIRST = "bfs"
    DEPTH_FIRST = "dfs"


def neighbors(
    *,
    namespace_id: UUID,
    vertices: Collection[int],
    direction: Direction = Direction.BOTH,
    kinds: Collection[str] | None = None,
    minimum_confidence: float = 0.0,
    limit: int = 100,
    view: View = LIVE,
) -> Neighborhood:
    """Return the edges of some vertices, the most certain ones first.

    `kinds` are labels, all of code (candidates too) without them, but not history's; LINK_LABEL
    brings the ties of memories, whose own relations are then the kinds of the edges. Three queries.
    """
    labels = list(_SHOWN_KINDS) if kinds is None else _known_labels(kinds)
    rows = _edge_rows(
        view=view,
        namespace_id=namespace_id,
        vertices=vertices,
        direction=direction,
        labels=labels,
        minimum_confidence=minimum_confidence,
        limit=limit + 1,
    )
    details = _details(namespace_id, rows, view)
    found = [_neighbor(row, details) for row in rows[:limit]]
    return Neighborhood(neighbors=tuple(found), is_truncated=len(rows) > limit)


def dependents(
    *,
    namespace_id: UUID,
    vertices: Collection[int],
    max_depth: int = 3,
    node_limit: int = 500,
    view: View = LIVE,
) -> Dependents:
    """Return what depends on some vertices, nearest first and then by rank.

    Follows facts only (calls, references, imports, bases) and goes no further from a file that it
    reaches. What is cut off by the limit is the farthest. Four queries.
    """
    reached, is_truncated = _reached(namespace_id, vertices, max_depth, node_limit, view)
    nodes = nodes_of(namespace_id=namespace_id, vertices=reached, view=view)
    scores = scores_of(vertices=reached)
    found = [
        Dependent(node=nodes[vertex], depth=depth, score=scores.get(vertex))
        for vertex, depth in reached.items()
        if vertex in nodes
    ]
    found.sort(key=_nearest_and_most_important_first)
    return Dependents(dependents=tuple(found), is_truncated=is_truncated)


def count_dependents(
    *, namespace_id: UUID, vertices: Collection[int], limit: int, view: View = LIVE
) -> int:
    """Return how many nodes depend directly on some vertices, `limit` at most. Two queries."""
    reached, _ = _reached(namespace_id, vertices, 1, limit, view)
    return len(reached)


def links_of(
    *, namespace_id: UUID, vertices: Collection[int], limit: int = 100
) -> tuple[Edge, ...]:
    """Return the ties between memories and code, or among memories, at some vertices. One query."""
    rows = _link_rows(namespace_id, vertices, limit)
    return tuple(dict.fromkeys(row.edge(None) for row in rows))


def ties_of(
    *, namespace_id: UUID, vertices: Collection[int], limit: int = 100
) -> list[tuple[int, int, float]]:
    """Return what `links_of` does as (source, target, weight), which is made sooner. One query."""
    if not vertices or not cypher.has_graph(namespace_id):
        return []
    statement = _ties_statement(cypher.graph_name(namespace_id))
    parameters = {
        "vertices": array_of(vertices),
        "limit": limit,
        "read": limit * _READ_FOR_EACH_SHOWN,
    }
    return kept_rows(statement, parameters)


def memories_linked_to(
    *, namespace_id: UUID, vertices: Collection[int], limit: int = 1_000
) -> list[int]:
    """Return the numbers of the memories tied to any of these vertices. One query."""
    links = links_of(namespace_id=namespace_id, vertices=vertices, limit=limit)
    asked = set(vertices)
    ends = (end for link in links for end in (link.source, link.target) if end not in asked)
    return list(dict.fromkeys(key_of(end) for end in ends if label_of(end) is VertexLabel.MEMORY))


def edges_among(
    *,
    namespace_id: UUID,
    vertices: Collection[int],
    kinds: Collection[str],
    limit: int = 6_000,
    view: View = LIVE,
) -> list[Edge]:
    """Return the edges that begin and end at some vertices, the most certain first. One query."""
    rows = _edge_rows(
        view=view,
        namespace_id=namespace_id,
        vertices=vertices,
        direction=Direction.OUT,
        labels=_known_labels(kinds),
        minimum_confidence=0.0,
        limit=limit,
    )
    ends = set(vertices)
    return [row.edge(None) for row in rows if row.target in ends and row.target != row.source]


def parents_of(
    *, namespace_id: UUID, vertices: Collection[int], view: View = LIVE
) -> dict[int, int]:
    """Return the vertex that contains each of some vertices. One query."""
    if not vertices or not cypher.has_graph(namespace_id):
        return {}
    statement = sql.SQL("SELECT end_id::bigint, start_id::bigint FROM ({}) e").format(
        edges_seen(
            graph=cypher.graph_name(namespace_id),
            label=EdgeKind.CONTAINS,
            condition=_is_near("end_id"),
            view=view,
        )
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, {"vertices": list(vertices), **view_parameters(view)})
        return dict(cursor.fetchall())


def traverse(
    *,
    namespace_id: UUID,
    starts: Collection[int],
    max_depth: int = 2,
    algorithm: Algorithm = Algorithm.BREADTH_FIRST,
    direction: Direction = Direction.BOTH,
    kinds: Collection[str] | None = None,
    exclude_node_kinds: Collection[NodeKind] = (),
    minimum_confidence: float = 0.0,
    node_limit: int = 200,
    view: View = LIVE,
    known: Collection[Node] = (),
    allowed_memories: Callable[[Collection[int]], Collection[int]] | None = None,
) -> Traversal:
    """Walk from some vertices and return every vertex once, by a shortest path.

    `kinds` are labels or relations of links; without them facts, candidates and links are all
    followed, and history only when it is named. Nodes of excluded kinds are neither returned nor
    walked through, except as starts; the same holds for code that is gone. Packages and external
    symbols are returned, but lead on only from the start. `known` are those starts whose nodes this
    view has shown already. `allowed_memories` says which of some memories may be entered: no way
    leads through the others, and none of the limit is spent on them. Two queries for each level,
    three with what no file defines.
    """
    nodes = {node.vertex: node for node in known}
    nodes |= nodes_of(namespace_id=namespace_id, vertices=set(starts) - nodes.keys(), view=view)
    walk = _Walk(
        namespace_id=namespace_id,
        view=view,
        excluded=frozenset(exclude_node_kinds),
        steps=dict.fromkeys(starts, _Step(depth=0)),
        nodes=nodes,
        allowed_memories=allowed_memories,
    )
    labels = [*_SHOWN_KINDS, LINK_LABEL] if kinds is None else _labels_of(kinds)
    frontier = list(walk.steps)
    for depth in range(1, max_depth + 1):
        room = node_limit - len(walk.steps)
        if not frontier or room <= 0:
            walk.is_truncated |= bool(frontier)
            break
        rows = _edge_rows(
            view=view,
            namespace_id=namespace_id,
            vertices=frontier,
            direction=direction,
            labels=labels,
            minimum_confidence=minimum_confidence,
            limit=_READ_FOR_EACH_SHOWN * (node_limit + 1),
        )
        wanted = [row for row in rows if kinds is None or {row.kind, row.label} & set(kinds)]
        frontier = walk.advance(wanted, depth=depth, room=room)
    return walk.traversal(algorithm)


def _link_rows(namespace_id: UUID, vertices: Collection[int], limit: int) -> list["_EdgeRow"]:
    return _edge_rows(
        view=LIVE,
        namespace_id=namespace_id,
        vertices=vertices,
        direction=Direction.BOTH,
        labels=[LINK_LABEL],
        minimum_confidence=0.0,
        limit=limit,
    )


class _EdgeRow(NamedTuple):
    """An edge as its label table has it, and the end that was asked about."""

    label: str
    kind: str
    source: int
    target: int
    confidence: float
    rule: str
    line_offset: int | None
    sources: int
    origin: int

    @property
    def other(self) -> int:
        return self.target if self.origin == self.source else self.source

    def edge(self, source: Node | None) -> Edge:
        line = None
        if source is not None and self.line_offset is not None:
            line = source.start_line + self.line_offset
        return Edge(
            kind=self.kind,
            source=self.source,
            target=self.target,
            confidence=self.confidence,
            rule=self.rule,
            line=line,
            sources=self.sources,
        )


def _edge_rows(
    *,
    view: View,
    namespace_id: UUID,
    vertices: Collection[int],
    direction: Direction,
    labels: Sequence[str],
    minimum_confidence: float,
    limit: int,
) -> list[_EdgeRow]:
    if not vertices or not labels or not cypher.has_graph(namespace_id):
        return []
    statement = _edges_statement(
        cypher.graph_name(namespace_id), direction, tuple(labels), view.is_live
    )
    parameters: dict[str, Any] = {
        "vertices": array_of(vertices),
        "labels": list(labels),
        "minimum": minimum_confidence,
        "limit": limit,
        "read": limit * _READ_FOR_EACH_SHOWN,
        **view_parameters(view),
    }
    return [_EdgeRow._make(row) for row in kept_rows(statement, parameters)]


_ENDS: Final = {
    Direction.OUT: ("start_id",),
    Direction.IN: ("end_id",),
    Direction.BOTH: ("start_id", "end_id"),
}
_FUNCTIONS: Final = {"start_id": "edges_out", "end_id": "edges_in"}
# Columns as in _EdgeRow.
_SELECT_CODE: Final = """
    SELECT label, label AS kind, source, target, confidence, rule, line_offset, sources, origin
    FROM {function}(%(vertices)s::bigint[], %(labels)s::text[], %(minimum)s::float8,
        %(read)s::bigint{through})
"""
_SELECT_LINEAGE: Final = """
    (SELECT {label} AS label, {label} AS kind, start_id::bigint AS source, end_id::bigint AS target,
        coalesce({c}::float8, 1) AS confidence, coalesce({r}::text, '') AS rule,
        {o}::bigint AS line_offset, coalesce({s}::bigint, 0) AS sources, {near}::bigint AS origin
    FROM {edges} e
    WHERE {is_near} AND coalesce({c}::float8, 1) >= %(minimum)s
    LIMIT %(read)s)
"""
_SELECT_LINKS: Final = """
    (SELECT {label} AS label, {kind}::text AS kind, start_id::bigint AS source,
        end_id::bigint AS target, {w}::float8 AS confidence, '' AS rule,
        NULL::bigint AS line_offset, 0::bigint AS sources, {near}::bigint AS origin
    FROM {edges} e
    WHERE {is_near} AND {w}::float8 >= %(minimum)s
    LIMIT %(read)s)
"""


# Only what a tie is: its kind and its rule take as long to read as all the rest. What is found from
# both of its ends is one.
_SELECT_TIES: Final = """
    SELECT source, target, weight FROM (
        (SELECT start_id::bigint AS source, end_id::bigint AS target, {w}::float8 AS weight
        FROM {edges} e WHERE {starts} AND {w}::float8 >= 0 LIMIT %(read)s)
        UNION
        (SELECT start_id::bigint, end_id::bigint, {w}::float8
        FROM {edges} e WHERE {ends} AND {w}::float8 >= 0 LIMIT %(read)s)
    ) tie
    ORDER BY weight DESC, source, target LIMIT %(limit)s
"""


@lru_cache(maxsize=512)
def _ties_statement(graph: str) -> str:
    return (
        sql.SQL(_SELECT_TIES)
        .format(
            edges=sql.Identifier(graph, LINK_LABEL),
            starts=_is_near("start_id"),
            ends=_is_near("end_id"),
            w=cypher.property_of("w", table="e"),
        )
        .as_string(None)
    )


@lru_cache(maxsize=512)
def _edges_statement(
    graph: str,
    direction: Direction,
    labels: tuple[str, ...],
    is_live: bool,  # noqa: FBT001
) -> str:
    """Return the text of a query; putting it together takes longer than the query itself."""
    selects: list[sql.Composed] = []
    for near in _ENDS[direction]:
        if set(labels) & set(_SHOWN_KINDS):
            selects.append(_select_code(graph, near, is_live=is_live))
        selects += [
            _select(graph, label, near) for label in labels if label not in set(_SHOWN_KINDS)
        ]
    return (
        sql.SQL(
            "SELECT * FROM ({}) edge ORDER BY confidence DESC, kind, source, target LIMIT %(limit)s"
        )
        .format(sql.SQL(" UNION ALL ").join(selects))
        .as_string(None)
    )


def _select_code(graph: str, near: str, *, is_live: bool) -> sql.Composed:
    through = "" if is_live else ", %(view_layer)s::int, %(view_revision)s::bigint"
    return sql.SQL(_SELECT_CODE).format(
        function=sql.Identifier(graph, _FUNCTIONS[near]), through=sql.SQL(through)
    )


def _select(graph: str, label: str, near: str) -> sql.Composed:
    text = _SELECT_LINKS if label == LINK_LABEL else _SELECT_LINEAGE
    properties = ("c", "r", "o", "s", "w", "kind")
    return sql.SQL(text).format(
        label=sql.Literal(str(label)),
        near=sql.Identifier(near),
        edges=sql.Identifier(graph, label),
        is_near=_is_near(near),
        **{key: cypher.property_of(key, table="e") for key in properties},
    )


def _is_near(end: str) -> sql.Composed:
    return sql.SQL("{} = ANY (%(vertices)s::bigint[]::ag_catalog.graphid[])").format(
        sql.Identifier(end)
    )


def _known_labels(kinds: Collection[str]) -> list[str]:
    return [label for label in (*EdgeKind, LINK_LABEL) if label in kinds]


def _labels_of(kinds: Collection[str]) -> list[str]:
    """Return the labels to read for some kinds: a relation of links is found under LINK_LABEL."""
    labels = _known_labels(kinds)
    if LINK_LABEL not in labels and any(kind not in set(EdgeKind) for kind in kinds):
        labels.append(LINK_LABEL)
    return labels


def _details(namespace_id: UUID, rows: Iterable[_EdgeRow], view: View) -> dict[int, Node]:
    ends = {end for row in rows for end in (row.source, row.target)}
    return nodes_of(namespace_id=namespace_id, vertices=ends, view=view)


def _neighbor(row: _EdgeRow, details: dict[int, Node]) -> Neighbor:
    return Neighbor(
        edge=row.edge(details.get(row.source)),
        origin=row.origin,
        vertex=row.other,
        node=details.get(row.other),
    )


def _reached(
    namespace_id: UUID,
    vertices: Collection[int],
    max_depth: int,
    node_limit: int,
    view: View,
) -> tuple[dict[int, int], bool]:
    """Return vertex -> depth, and whether the graph's own function cut the answer."""
    if not vertices or not cypher.has_graph(namespace_id):
        return {}, False
    # The function that sees through an overlay is another one: that of the live graph reads
    # indexes only.
    through = "" if view.is_live else ", %(view_layer)s::int, %(view_revision)s::bigint"
    name = sql.Identifier(cypher.graph_name(namespace_id), "dependents").as_string(None)
    statement = (
        f"SELECT id, depth FROM {name}"  # noqa: S608  quoted
        f"(%(vertices)s::bigint[], %(max_depth)s::int, %(node_limit)s::int{through})"
    )
    parameters = {
        "vertices": array_of(vertices),
        "max_depth": max_depth,
        "node_limit": node_limit,
        **view_parameters(view),
    }
    rows: list[tuple[int | None, int]] = kept_rows(statement, parameters)
    reached = {vertex: depth for vertex, depth in rows if vertex is not None}
    return reached, len(reached) < len(rows)


def _nearest_and_most_important_first(dependent: Dependent) -> tuple[int, float, str]:
    rank = dependent.score.rank if dependent.score else 0.0
    return dependent.depth, -rank, dependent.node.id


@dataclass(frozen=True, slots=True)
class _Step:
    depth: int
    row: _EdgeRow | None = None


@dataclass(slots=True, kw_only=True)
class _Walk:
    """What a traversal has reached so far, in breadth-first order."""

    namespace_id: UUID
    view: View
    excluded: frozenset[NodeKind]
    steps: dict[int, _Step]
    nodes: dict[int, Node]
    allowed_memories: Callable[[Collection[int]], Collection[int]] | None = None
    is_truncated: bool = False

    def advance(self, rows: Sequence[_EdgeRow], *, depth: int, room: int) -> list[int]:
        """Take the far ends of some edges in, as far as there is room, and return the new ones.

        A vertex is reached by the first of its edges. A hub has far more of them than there is
        room: nodes are read as they are needed.
        """
        first: dict[int, _EdgeRow] = {}
        for row in rows:
            if (other := row.other) not in self.steps:
                first.setdefault(other, row)
        reached: list[int] = []
        waiting = iter(first.items())
        while batch := list(islice(waiting, max(room - len(reached), _LEAST_READ) + 1)):
            ahead = [vertex for vertex, _ in batch]
            self.nodes |= nodes_of(namespace_id=self.namespace_id, vertices=ahead, view=self.view)
            hidden = self._hidden(ahead)
            for vertex, row in batch:
                if vertex in hidden or not self._may_enter(vertex):
                    continue
                if len(reached) == room:
                    self.is_truncated = True
                    return _leading_on(reached)
                self.steps[vertex] = _Step(depth=depth, row=row)
                reached.append(vertex)
        return _leading_on(reached)

    def traversal(self, algorithm: Algorithm) -> Traversal:
        is_breadth_first = algorithm is Algorithm.BREADTH_FIRST
        order = self.steps if is_breadth_first else _depth_first(self.steps)
        visits = tuple(self._visit(vertex, self.steps[vertex]) for vertex in order)
        return Traversal(visits=visits, is_truncated=self.is_truncated)

    def _hidden(self, vertices: Collection[int]) -> set[int]:
        memories = {one for one in vertices if label_of(one) is VertexLabel.MEMORY}
        if not memories or self.allowed_memories is None:
            return set()
        return memories - set(self.allowed_memories(memories))

    def _may_enter(self, vertex: int) -> bool:
        if label_of(vertex) is VertexLabel.MEMORY:
            return NodeKind.MEMORY not in self.excluded
        return vertex in self.nodes and self.nodes[vertex].kind not in self.excluded

    def _visit(self, vertex: int, step: _Step) -> Visit:
        row = step.row
        return Visit(
            vertex=vertex,
            depth=step.depth,
            node=self.nodes.get(vertex),
            reached_from=row.origin if row else None,
            edge=row.edge(self.nodes.get(row.source)) if row else None,
        )


def _leading_on(vertices: Iterable[int]) -> list[int]:
    return [vertex for vertex in vertices if label_of(vertex) not in _SHARED_LABELS]


def _depth_first(steps: dict[int, _Step]) -> list[int]:
    """Return the same tree of shortest paths, each branch told to its end before the next."""
    children: dict[int | None, list[int]] = {}
    for vertex, step in steps.items():
        children.setdefault(step.row.origin if step.row else None, []).append(vertex)
    order: list[int] = []
    waiting = children.get(None, [])[::-1]
    while waiting:
        order.append(waiting.pop())
        waiting += children.get(order[-1], [])[::-1]
    return order
