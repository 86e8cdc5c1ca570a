"""The blast radius of changes: which nodes of the graph they change, and who depends on those.

Reads the graph; the changes themselves were found by `indexing.changes`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from graph import impact
from graph import queries as graph
from graph.impact import Reach
from graph.values import (
    LIVE,
    Dependent,
    Direction,
    EdgeKind,
    Neighbor,
    Node,
    NodeKind,
    RepositoryValue,
    Score,
    View,
)
from indexing.changes import FileChange, SymbolChange, SymbolStatus
from indexing.languages import is_test_path
from indexing.values import ReviewedDependent, Use

NODE_LIMIT: Final = 2_000
"""More dependents than this are not told apart: the change reaches everything."""

_EDGE_LIMIT: Final = 10_000

_TEST_DEPTH: Final = 4

# Whoever has such an edge to a node depends on it; the same as the graph's own `dependents`.
_DEPENDENCY_KINDS: Final = (
    EdgeKind.CALLS,
    EdgeKind.REFERENCES,
    EdgeKind.IMPORTS,
    EdgeKind.INHERITS,
    EdgeKind.IMPLEMENTS,
    EdgeKind.OVERRIDES,
)


# --- The changed nodes of the graph ------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedNodes:
    """The changes, and the live nodes that they change; nodes by text id, files by vertex."""

    changes: Sequence[FileChange]
    symbols: Mapping[str, Node]
    symbols_in: Mapping[str, Sequence[Node]]
    files: Mapping[str, int]
    scores: Mapping[int, Score]

    def vertex_of(self, change: SymbolChange) -> int | None:
        node = self.symbols.get(change.old_id) if change.old_id else None
        return node.vertex if node else None

    def percentile_of(self, vertex: int | None) -> float | None:
        score = self.scores.get(vertex) if vertex is not None else None
        return score.percentile if score else None

    @property
    def symbol_changes(self) -> list[SymbolChange]:
        return [symbol for change in self.changes for symbol in change.symbols]

    @property
    def paths(self) -> frozenset[str]:
        sides = ((change.diff.old_path, change.diff.new_path) for change in self.changes)
        return frozenset(path for side in sides for path in side if path is not None)

    def seeds(self) -> dict[int, str]:
        """Return the vertices whose dependents may notice, with their text ids."""
        found = {
            vertex: change.old_id
            for change in self.symbol_changes
            if is_noticeable(change) and (vertex := self.vertex_of(change)) and change.old_id
        }
        for change in self.changes:
            vertex = self.files.get(change.diff.old_path or "")
            if vertex and change.old_id and (change.changes_module or change.is_gone):
                found[vertex] = change.old_id
        return found

    def moved(self) -> dict[int, str]:
        """Return the vertices of moved files and of what is in them, with their text ids."""
        found: dict[int, str] = {}
        for change in self.changes:
            path = change.diff.old_path or ""
            if change.is_moved and change.old_id and path in self.files:
                found[self.files[path]] = change.old_id
                found.update((node.vertex, node.id) for node in self.symbols_in.get(path, ()))
        return found

    def interface_ids(self) -> frozenset[str]:
        """Return the text ids of what others may have to change their code for."""
        symbols = (
            change.old_id
            for change in self.symbol_changes
            if change.is_interface_change and change.old_id
        )
        files = (c.old_id for c in self.changes if c.old_id and (c.is_gone or c.is_moved))
        return frozenset((*symbols, *files))


def is_noticeable(change: SymbolChange) -> bool:
    return change.status is not SymbolStatus.ADDED and not change.is_trivial


def find_in_graph(
    repository: RepositoryValue, changes: Sequence[FileChange], *, view: View = LIVE
) -> ChangedNodes:
    """Look up what changed among the nodes that a branch shows at the old paths. Four queries."""
    paths = {change.diff.old_path for change in changes if change.old_id and change.diff.old_path}
    shown = graph.blobs_of(repository_id=repository.id, paths=paths, view=view)
    files = {path: vertex for path, (_, vertex) in shown.items()}
    symbols_in = graph.live_symbols_in(repository_id=repository.id, paths=paths, view=view)
    symbols = {node.id: node for nodes in symbols_in.values() for node in nodes}
    touched = {s.old_id for change in changes for s in change.symbols if s.old_id in symbols}
    vertices = {*files.values(), *(symbols[uid].vertex for uid in touched if uid)}
    return ChangedNodes(
        changes=changes,
        symbols=symbols,
        symbols_in=symbols_in,
        files=files,
        scores=graph.scores_of(vertices=vertices),
    )


# --- Who depends on it -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """How a dependent reaches the change: the surest way, and all changed nodes at its ends."""

    confidence: float
    origins: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlastRadius:
    """Everyone who depends on the change, the most important first; tests apart."""

    dependents: Sequence[ReviewedDependent]
    tests: Sequence[ReviewedDependent]
    tested: frozenset[str]
    direct_counts: Mapping[str, int]
    is_truncated: bool
    is_blind_to_tests: bool

    def direct_by_path(self) -> Counter[str]:
        """Count, by path, the direct dependents that the diff leaves as they are, tests too."""
        everyone = (*self.dependents, *self.tests)
        return Counter(one.node.path for one in everyone if one.depth == 1 and not one.is_in_change)

    def notes(self) -> list[str]:
        if not self.is_truncated:
            return []
        return [f"More than {NODE_LIMIT:,} nodes depend on the change; the nearest are counted."]


def follow(
    repository: RepositoryValue, changed: ChangedNodes, *, depth: int, view: View = LIVE
) -> BlastRadius:
    """Find and rank the dependents of what changed, up to `depth` steps away; about ten queries.

    Dependents are those that the branch of the view has.

    Tests are followed farther, because they come in at the public end of the code.
    """
    reached = _reach(repository, changed, depth=max(depth, _TEST_DEPTH), view=view)
    ways = _ways(reached)
    ranked = _ranked(_without_mere_importers(reached), reached, ways, changed)
    tests = [one for one in ranked if is_test(one.node)]
    return BlastRadius(
        dependents=[one for one in ranked if one.depth <= depth and not is_test(one.node)],
        tests=tests,
        tested=frozenset(origin for one in tests for origin in _origins(ways, one.node.vertex)),
        direct_counts=Counter(use.changed_id for one in ranked for use in one.uses),
        is_truncated=reached.is_cut_within(depth),
        is_blind_to_tests=reached.is_truncated,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reached:
    """Who was reached from the changed nodes, and over which edges, each listed by its source.

    `ids` are the text ids of the changed nodes; `uses` the edges that arrive at them, `steps` the
    same and those among the dependents.
    """

    ids: Mapping[int, str]
    dependents: Mapping[int, Dependent]
    uses: Mapping[int, Sequence[Neighbor]]
    steps: Mapping[int, Sequence[Neighbor]]
    is_truncated: bool

    def is_cut_within(self, depth: int) -> bool:
        """Tell whether dependents are missing that are so near; only the farthest are cut off."""
        farthest = max((one.depth for one in self.dependents.values()), default=0)
        return self.is_truncated and farthest <= depth


def _reach(
    repository: RepositoryValue, changed: ChangedNodes, *, depth: int, view: View
) -> _Reached:
    seeds, moved = changed.seeds(), changed.moved()
    found = graph.dependents(
        namespace_id=repository.namespace_id,
        vertices=list(seeds),
        max_depth=depth,
        node_limit=NODE_LIMIT,
        view=view,
    )
    # Users in other repositories are told apart, to whom may know (indexing.crossing.reached).
    here = [one for one in found.dependents if one.node.repository_id == repository.id]
    importers = _uses(repository, moved, (EdgeKind.IMPORTS,), view)
    uses = [*_uses(repository, seeds, _DEPENDENCY_KINDS, view), *importers]
    farther = _uses(repository, _walked_on(here), _DEPENDENCY_KINDS, view)
    return _Reached(
        ids={**moved, **seeds},
        dependents=_with_importers(here, importers, {**moved, **seeds}),
        uses=_by_source(uses),
        steps=_by_source([*uses, *farther]),
        is_truncated=found.is_truncated,
    )


def _uses(
    repository: RepositoryValue, vertices: Iterable[int], kinds: Sequence[EdgeKind], view: View
) -> list[Neighbor]:
    neighborhood = graph.neighbors(
        namespace_id=repository.namespace_id,
        vertices=list(vertices),
        direction=Direction.IN,
        kinds=kinds,
        limit=_EDGE_LIMIT,
        view=view,
    )
    return [
        neighbor
        for neighbor in neighborhood.neighbors
        if neighbor.node is not None and neighbor.node.repository_id == repository.id
    ]


def _walked_on(reached: Sequence[Dependent]) -> list[int]:
    """Return the dependents that others were reached from; never files, as in the graph."""
    farthest = max((one.depth for one in reached), default=0)
    return [
        one.node.vertex
        for one in reached
        if one.depth < farthest and one.node.kind is not NodeKind.FILE
    ]


def _with_importers(
    reached: Iterable[Dependent], importers: Iterable[Neighbor], ids: Mapping[int, str]
) -> dict[int, Dependent]:
    """Add who imports a moved file: a direct dependent, whatever else was found."""
    found = {one.node.vertex: one for one in reached}
    nodes = {one.vertex: one.node for one in importers if one.node and one.vertex not in ids}
    scores = graph.scores_of(vertices=nodes)
    for vertex, node in nodes.items():
        found[vertex] = Dependent(node=node, depth=1, score=scores.get(vertex))
    return found


def _by_source(uses: Iterable[Neighbor]) -> dict[int, list[Neighbor]]:
    found: dict[int, list[Neighbor]] = {}
    for use in uses:
        found.setdefault(use.edge.source, []).append(use)
    return found


def _ways(reached: _Reached) -> dict[int, _Way]:
    """Carry confidence and origin from the change outward, level by level."""
    depths = {vertex: one.depth for vertex, one in reached.dependents.items()}
    depths |= dict.fromkeys(reached.ids, 0)
    ways = {
        vertex: _Way(confidence=1.0, origins=frozenset({uid}))
        for vertex, uid in reached.ids.items()
    }
    for vertex, one in sorted(reached.dependents.items(), key=lambda item: item[1].depth):
        steps = [
            (step.edge.confidence * ways[target].confidence, target)
            for step in reached.steps.get(vertex, ())
            if (target := step.edge.target) in ways and depths[target] < one.depth
        ]
        if steps and vertex not in reached.ids:
            ways[vertex] = _Way(
                confidence=max(confidence for confidence, _ in steps),
                origins=frozenset().union(*(ways[target].origins for _, target in steps)),
            )
    return ways


def _origins(ways: Mapping[int, _Way], vertex: int) -> frozenset[str]:
    way = ways.get(vertex)
    return way.origins if way else frozenset()


def _without_mere_importers(reached: _Reached) -> list[Dependent]:
    """Drop a file that only imports what a symbol of its own uses: that symbol stands for it."""
    nearest: dict[str, int] = {}
    for one in reached.dependents.values():
        if one.node.kind is not NodeKind.FILE:
            path = one.node.path
            nearest[path] = min(one.depth, nearest.get(path, one.depth))
    return [
        one
        for vertex, one in reached.dependents.items()
        if one.node.kind is not NodeKind.FILE
        or nearest.get(one.node.path, one.depth + 1) > one.depth
        or any(step.edge.kind != EdgeKind.IMPORTS for step in reached.steps.get(vertex, ()))
    ]


def _ranked(
    dependents: Iterable[Dependent],
    reached: _Reached,
    ways: Mapping[int, _Way],
    changed: ChangedNodes,
) -> list[ReviewedDependent]:
    interface, paths = changed.interface_ids(), changed.paths
    keyed = []
    for one in dependents:
        way = ways.get(one.node.vertex, _UNKNOWN_WAY)
        dependent = ReviewedDependent(
            node=one.node,
            depth=one.depth,
            percentile=one.score.percentile if one.score else None,
            confidence=way.confidence,
            is_in_change=one.node.path in paths,
            uses=_surest_uses(reached.uses.get(one.node.vertex, ()), reached.ids),
        )
        reach = Reach(
            depth=dependent.depth,
            confidence=dependent.confidence,
            percentile=dependent.percentile,
            uses_interface=not interface.isdisjoint(way.origins),
            is_in_change=dependent.is_in_change,
        )
        keyed.append((-impact.priority(reach), dependent.depth, dependent.node.id, dependent))
    return [dependent for *_, dependent in sorted(keyed, key=lambda row: row[:-1])]


# Only where a hub has more edges than are read.
_UNKNOWN_WAY: Final = _Way(confidence=0.5, origins=frozenset())


def _surest_uses(uses: Iterable[Neighbor], ids: Mapping[int, str]) -> tuple[Use, ...]:
    surest: dict[str, Use] = {}
    for use in uses:
        uid = ids[use.edge.target]
        if uid not in surest or use.edge.confidence > surest[uid].confidence:
            surest[uid] = Use.of(use.edge, changed_id=uid)
    return tuple(sorted(surest.values(), key=lambda use: (-use.confidence, use.changed_id)))


def is_test(node: Node) -> bool:
    return node.is_test or is_test_path(node.path)
