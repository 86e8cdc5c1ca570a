"""Cycles: who depends on itself through others, and which edges would have to go."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from graph.algorithms.cycles import Cycle
from graph.algorithms.cycles import cycles as cycles_of
from graph.algorithms.network import DEPENDENCIES, Edges, Network
from graph.queries.analyses import AnalysisValue, analysis_value, current
from graph.queries.nodes import nodes_of
from graph.values import Node

_SHOWN_MEMBERS: Final = 25
_SHOWN_CLOSING: Final = 10
_EXAMPLES: Final = 2
_SEVERE_SIZE: Final = 10
_SEVERE_DIRECTORIES: Final = 3


class Level(StrEnum):
    """What the nodes of a cycle are."""

    SYMBOL = "symbol"
    FILE = "file"
    DIRECTORY = "directory"


class Severity(StrEnum):
    """How much a cycle entangles: one directory; two; more, or ten nodes and more."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Tie(NamedTuple):
    """One edge between two nodes, by text ids."""

    source: str
    kind: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosingEdge:
    """An edge that closes a cycle, by text ids, and examples of why it is there."""

    source: str
    target: str
    examples: tuple[Tie, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DependencyCycle:
    """Files, symbols or directories that all depend on each other; lists may be cut."""

    size: int
    severity: Severity
    members: tuple[str, ...]
    edge_count: int
    closing_count: int
    closing: tuple[ClosingEdge, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycles:
    """The largest cycles of a repository; `total` counts those that are not shown, too."""

    analysis: AnalysisValue
    total: int
    cycles: tuple[DependencyCycle, ...]


def cycles(
    *,
    repository_id: UUID,
    namespace_id: UUID,
    level: Level = Level.FILE,
    kinds: Collection[str] = DEPENDENCIES,
    minimum_size: int = 2,
    limit: int = 20,
) -> Cycles:
    """Return who depends on itself through others, by some kinds of edges, the largest first.

    Each with the edges that close it: without them there would be no cycle. Of the last analysis.
    Raise NotRanked. Four queries, 40 ms for 63,000 nodes.
    """
    analysis, network = current(repository_id=repository_id)
    ties = _Ties(network, kinds)
    if level is Level.DIRECTORY:
        every = nodes_of(
            namespace_id=namespace_id, vertices=network.vertices[network.is_file].tolist()
        )
        ties.gather_by_directory(every)
    elif level is Level.FILE:
        ties.places = network.files
    else:
        ties.leave_out(network.is_file)
    found = cycles_of(ties.between_places(), minimum_size=minimum_size)
    shown = found[:limit]
    examples = ties.examples([pair for cycle in shown for pair in cycle.closing[:_SHOWN_CLOSING]])
    wanted = {node for cycle in shown for node in cycle.nodes}
    wanted |= {end for held in examples.values() for tie in held for end in tie[:2]}
    nodes = _nodes_at(network, wanted, namespace_id)
    view = _View(level, nodes, examples)
    return Cycles(
        analysis=analysis_value(analysis),
        total=len(found),
        cycles=tuple(view.cycle(cycle) for cycle in shown),
    )


class _Ties:
    """The edges of some kinds, and the place that each node counts for (at first its own)."""

    def __init__(self, network: Network, kinds: Collection[str]) -> None:
        wanted = [number for number, name in enumerate(network.kind_names) if name in set(kinds)]
        chosen = np.isin(network.kinds, wanted) & (network.targets < network.size)
        self.network = network
        self.sources, self.targets = network.sources[chosen], network.targets[chosen]
        self.kinds = network.kinds[chosen]
        self.weights = network.weights()[chosen]
        self.places: NDArray[np.int64] = np.arange(network.size)

    def leave_out(self, nodes: NDArray[np.bool_]) -> None:
        kept = ~(nodes[self.sources] | nodes[self.targets])
        self.sources, self.targets = self.sources[kept], self.targets[kept]
        self.kinds, self.weights = self.kinds[kept], self.weights[kept]

    def gather_by_directory(self, files: Mapping[int, Node]) -> None:
        """Let each node count for the first file of its directory."""
        first: dict[str, int] = {}
        places = np.arange(self.network.size)
        for position in np.nonzero(self.network.is_file)[0].tolist():
            file = files.get(int(self.network.vertices[position]))
            if file is not None:
                places[position] = first.setdefault(_directory(file), position)
        self.places = places[self.network.files]

    def between_places(self) -> Edges:
        edges = Edges(
            count=self.network.size,
            sources=self.sources,
            targets=self.targets,
            weights=self.weights,
        )
        return edges.between(self.places, count=self.network.size)

    def examples(
        self, pairs: Sequence[tuple[int, int]]
    ) -> dict[tuple[int, int], list[tuple[int, int, str]]]:
        """Return the heaviest edges of nodes between pairs of places."""
        size = self.network.size
        keys = self.places[self.sources] * size + self.places[self.targets]
        wanted = np.array([source * size + target for source, target in pairs], np.int64)
        edges = np.nonzero(np.isin(keys, wanted))[0]
        found: dict[tuple[int, int], list[tuple[int, int, str]]] = {}
        for edge in edges[np.argsort(-self.weights[edges], kind="stable")].tolist():
            source, target = int(self.sources[edge]), int(self.targets[edge])
            held = found.setdefault((int(self.places[source]), int(self.places[target])), [])
            if len(held) < _EXAMPLES:
                held.append((source, target, self.network.kind_names[int(self.kinds[edge])]))
        return found


@dataclass(frozen=True, slots=True)
class _View:
    """Cycles of positions as readers see them: by text ids."""

    level: Level
    nodes: Mapping[int, Node]
    examples: Mapping[tuple[int, int], list[tuple[int, int, str]]]

    def cycle(self, cycle: Cycle) -> DependencyCycle:
        return DependencyCycle(
            size=len(cycle.nodes),
            severity=self._severity(cycle),
            members=tuple(map(self._id, cycle.nodes[:_SHOWN_MEMBERS])),
            edge_count=cycle.edge_count,
            closing_count=len(cycle.closing),
            closing=tuple(
                ClosingEdge(
                    source=self._id(source),
                    target=self._id(target),
                    examples=tuple(self._ties((source, target))),
                )
                for source, target in cycle.closing[:_SHOWN_CLOSING]
            ),
        )

    def _severity(self, cycle: Cycle) -> Severity:
        directories = {_directory(self.nodes[node]) for node in cycle.nodes if node in self.nodes}
        if len(directories) >= _SEVERE_DIRECTORIES or len(cycle.nodes) >= _SEVERE_SIZE:
            return Severity.HIGH
        return Severity.MEDIUM if len(directories) > 1 else Severity.LOW

    def _id(self, position: int) -> str:
        node = self.nodes.get(position)
        if node is None:
            return "gone"
        return f"pkg:{_directory(node)}/" if self.level is Level.DIRECTORY else node.id

    def _ties(self, pair: tuple[int, int]) -> list[Tie]:
        # Between two symbols the edge is its own example.
        known = [] if self.level is Level.SYMBOL else self.examples.get(pair, [])
        return [
            Tie(self.nodes[source].id, kind, self.nodes[target].id)
            for source, target, kind in known
            if source in self.nodes and target in self.nodes
        ]


def _nodes_at(network: Network, positions: Collection[int], namespace_id: UUID) -> dict[int, Node]:
    vertices = {int(network.vertices[position]): position for position in positions}
    nodes = nodes_of(namespace_id=namespace_id, vertices=vertices)
    return {vertices[vertex]: node for vertex, node in nodes.items()}


def _directory(node: Node) -> str:
    return node.path.rpartition("/")[0]
