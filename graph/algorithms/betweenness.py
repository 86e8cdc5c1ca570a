"""How often a node stands on a shortest way between two others: who would be missed as a bridge."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from graph.algorithms.network import Edges, Positions

SAMPLES: Final = 256
_SEED: Final = 20


def betweenness(edges: Edges, *, samples: int = SAMPLES) -> NDArray[np.float64]:
    """Return for each node the share (0..1) of ordered pairs whose shortest ways lead through it.

    Exact when there are no more than `samples` nodes with an edge to follow; else extrapolated
    from so many of them, drawn with a fixed seed so that the same graph gives the same figures.
    Brandes, "A faster algorithm for betweenness centrality", 2001, level by level; sampling as in
    Brandes and Pich, "Centrality estimation in large networks", 2007.
    """
    total = np.zeros(edges.count)
    pairs = edges.count * (edges.count - 1)
    starts = np.unique(edges.sources)
    if not len(starts) or not pairs:
        return total
    chosen = starts
    if len(starts) > samples:
        chosen = np.random.default_rng(_SEED).choice(starts, samples, replace=False)
    ways = _Ways.of(edges)
    for start in chosen.tolist():
        ways.add_dependencies(start, total)
    return total * (len(starts) / len(chosen)) / pairs


@dataclass(frozen=True, slots=True)
class _Ways:
    """Edges by source, and per node the state of one search (reset after each)."""

    first: Positions
    targets: Positions
    depth: Positions
    paths: NDArray[np.float64]
    share: NDArray[np.float64]

    @classmethod
    def of(cls, edges: Edges) -> "_Ways":
        pairs = np.unique(edges.sources * edges.count + edges.targets)
        first = np.searchsorted(pairs // edges.count, np.arange(edges.count + 1))
        return cls(
            first,
            pairs % edges.count,
            np.full(edges.count, -1),
            np.zeros(edges.count),
            np.zeros(edges.count),
        )

    def add_dependencies(self, start: int, total: NDArray[np.float64]) -> None:
        """Add to each node how much all ways from `start` depend on it."""
        levels = self._search(start)
        nodes = [np.array([start])]
        for sources, targets in reversed(levels):
            shares = self.paths[sources] / self.paths[targets] * (1 + self.share[targets])
            np.add.at(self.share, sources, shares)
        for _, targets in levels:
            nodes.append(targets)
        reached = np.unique(np.concatenate(nodes))
        through = reached[reached != start]
        total[through] += self.share[through]
        self.depth[reached] = -1
        self.paths[reached] = 0
        self.share[reached] = 0

    def _search(self, start: int) -> list[tuple[Positions, Positions]]:
        """Count the shortest ways to each node; return the edges on them, level by level."""
        self.depth[start], self.paths[start] = 0, 1
        frontier = np.array([start])
        levels: list[tuple[Positions, Positions]] = []
        while len(frontier):
            sources, targets = self._leaving(frontier)
            level = len(levels) + 1
            self.depth[targets[self.depth[targets] < 0]] = level
            on_way = self.depth[targets] == level
            sources, targets = sources[on_way], targets[on_way]
            if not len(targets):
                break
            np.add.at(self.paths, targets, self.paths[sources])
            levels.append((sources, targets))
            frontier = np.unique(targets)
        return levels

    def _leaving(self, nodes: Positions) -> tuple[Positions, Positions]:
        counts = self.first[nodes + 1] - self.first[nodes]
        ends = np.cumsum(counts)
        places = np.arange(ends[-1]) + np.repeat(self.first[nodes] - (ends - counts), counts)
        return np.repeat(nodes, counts), self.targets[places]
