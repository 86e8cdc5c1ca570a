"""Who depends on itself through others, and what rests on what: cycles and layers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np

from graph.algorithms.network import Edges, Positions


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """Nodes that all reach each other; without the `closing` edges none would reach itself."""

    nodes: tuple[int, ...]
    edge_count: int
    closing: tuple[tuple[int, int], ...]


def components(edges: Edges) -> Positions:
    """Return the number of each node's strongly connected component."""
    if edges.count == 0:
        return np.zeros(0, np.int64)
    from scipy.sparse.csgraph import connected_components

    _, numbers = connected_components(edges.matrix(), directed=True, connection="strong")
    return np.asarray(numbers, dtype=np.int64)


def cycles(edges: Edges, *, minimum_size: int = 2) -> list[Cycle]:
    """Return the cycles of at least so many nodes, the largest first."""
    numbers = components(edges)
    sizes = np.bincount(numbers, minlength=1)
    inside = edges.among(sizes[numbers] >= max(minimum_size, 2))
    same = numbers[inside.sources] == numbers[inside.targets]
    members: dict[int, list[int]] = {}
    for node in np.nonzero(sizes[numbers] >= max(minimum_size, 2))[0].tolist():
        members.setdefault(int(numbers[node]), []).append(node)
    within: dict[int, dict[tuple[int, int], float]] = {number: {} for number in members}
    columns = (inside.sources[same], inside.targets[same], inside.weights[same])
    for source, target, weight in zip(*(column.tolist() for column in columns), strict=True):
        weights = within[int(numbers[source])]
        weights[source, target] = weights.get((source, target), 0.0) + weight
    found = [
        Cycle(
            nodes=tuple(nodes),
            edge_count=len(within[number]),
            closing=tuple(closing_edges(nodes, within[number])),
        )
        for number, nodes in members.items()
    ]
    return sorted(found, key=lambda cycle: (-len(cycle.nodes), cycle.nodes))


def closing_edges(
    nodes: Sequence[int], weights: dict[tuple[int, int], float]
) -> list[tuple[int, int]]:
    """Return edges of little weight without which no node reaches itself, the lightest first.

    Eades, Lin and Smyth, "A fast and effective heuristic for the feedback arc set problem", 1993:
    put the nodes in an order with few edges backwards; these close the cycles. Here an order by
    what a node gives less what it takes, so that light edges are the ones left over.
    """
    order = _Order(nodes, weights).arranged()
    place = {node: position for position, node in enumerate(order)}
    backward = [edge for edge in weights if place[edge[0]] > place[edge[1]]]
    return sorted(backward, key=lambda edge: (weights[edge], edge))


def layers(edges: Edges) -> Positions:
    """Return how high each node stands: 0 depends on nothing, others one above what they need.

    Nodes of one cycle share a layer.
    """
    numbers = components(edges)
    count = int(numbers.max(initial=-1)) + 1
    between = edges.between(numbers, count=count)
    waiting_for = np.bincount(between.sources, minlength=count)
    order = np.argsort(between.targets, kind="stable")
    users = between.sources[order]
    first = np.searchsorted(between.targets[order], np.arange(count + 1))
    height = np.zeros(count, np.int64)
    ready = np.nonzero(waiting_for == 0)[0]
    level = 0
    while len(ready):
        height[ready] = level
        spans = [users[first[node] : first[node + 1]] for node in ready.tolist()]
        freed = np.concatenate(spans)
        np.subtract.at(waiting_for, freed, 1)
        ready = np.unique(freed[waiting_for[freed] == 0])
        level += 1
    return height[numbers]


class _Order:
    """Puts nodes in an order in which heavy edges lead forwards: sources in front, sinks behind."""

    def __init__(self, nodes: Sequence[int], weights: Mapping[tuple[int, int], float]) -> None:
        self.given: dict[int, dict[int, float]] = {node: {} for node in nodes}
        self.taken: dict[int, dict[int, float]] = {node: {} for node in nodes}
        self.surplus = dict.fromkeys(nodes, 0.0)
        for (source, target), weight in weights.items():
            self.given[source][target] = weight
            self.taken[target][source] = weight
            self.surplus[source] += weight
            self.surplus[target] -= weight
        self.left = set(nodes)
        # What nodes had to spare when they were last looked at, the most first.
        self.richest = [(-value, node) for node, value in self.surplus.items()]
        heapify(self.richest)
        # Nodes that only take, and that only give.
        self.sinks = [node for node in nodes if not self.given[node]]
        self.sources = [node for node in nodes if not self.taken[node]]

    def arranged(self) -> list[int]:
        front: list[int] = []
        back: list[int] = []
        while self.left:
            if self.sinks:
                self._move(self.sinks.pop(), back)
            elif self.sources:
                self._move(self.sources.pop(), front)
            else:
                self._move(self._richest_left(), front)
        return front + back[::-1]

    def _richest_left(self) -> int:
        while True:
            value, node = heappop(self.richest)
            if node in self.left and -value <= self.surplus[node]:
                return node
            if node in self.left:
                heappush(self.richest, (-self.surplus[node], node))

    def _move(self, node: int, end: list[int]) -> None:
        if node not in self.left:
            return
        self.left.discard(node)
        end.append(node)
        for other, weight in self.given[node].items():
            del self.taken[other][node]
            self.surplus[other] += weight
            if not self.taken[other]:
                self.sources.append(other)
        for other, weight in self.taken[node].items():
            del self.given[other][node]
            self.surplus[other] -= weight
            if not self.given[other]:
                self.sinks.append(other)
