"""A picture of a graph as columns: which nodes are drawn where, and what ties them. Pure.

Nodes of groups that are not opened are drawn as one (a super-node), and the edges between two of
what is drawn are one edge.
"""

import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from graph.algorithms.layout import NO_GROUP
from graph.algorithms.network import DEPENDENCIES, Network, Positions
from graph.values import EdgeKind, NodeKind

MOST_NODES: Final = 2_000
MOST_EDGES: Final = 6_000
EVERY_GROUP: Final = frozenset({-2})
"""Stands for all groups where some are named: nothing is drawn as a super-node."""

# The width of a picture where it is drawn, about, and the radii of the smallest and largest group.
_WIDTH_PIXELS: Final = 460.0
_LEAST_PIXELS: Final = 4.0
_MOST_PIXELS: Final = 44.0
_KINDS: Final = tuple(NodeKind)
_NUMBER_OF_KIND: Final = {kind: number for number, kind in enumerate(_KINDS)}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDisc:
    """One group of the picture: its name, how many it has, and the disc that they stand in."""

    number: int
    name: str
    size: int
    x: float
    y: float
    radius: float
    rank: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """What is known of each node, by ascending vertex: place, group, kind, how important (0..1)."""

    vertices: Positions
    places: NDArray[np.float32]
    groups: NDArray[np.int32]
    kinds: NDArray[np.uint8]
    percentiles: NDArray[np.float32]

    def packed(self) -> bytes:
        """Return the columns as compressed bytes (12 bytes a node)."""
        target = io.BytesIO()
        np.savez_compressed(
            target,
            vertices=self.vertices,
            places=self.places,
            groups=self.groups,
            kinds=self.kinds,
            percentiles=self.percentiles,
        )
        return target.getvalue()

    def at(self, vertices: Positions) -> Positions:
        """Return where some vertices stand in the columns, -1 for those that are not there."""
        if not len(self.vertices):
            return np.full(len(vertices), -1)
        found = np.searchsorted(self.vertices, vertices).clip(max=len(self.vertices) - 1)
        return np.where(self.vertices[found] == vertices, found, -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is asked of a picture: kinds of nodes and edges (all when None), which groups opened."""

    node_kinds: frozenset[NodeKind] | None = None
    edge_kinds: frozenset[EdgeKind] | None = None
    opened: frozenset[int] = frozenset()
    node_limit: int = MOST_NODES
    edge_limit: int = MOST_EDGES


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """What is drawn: vertices of nodes first, then groups by number; edges by position in both.

    `nodes_total` and `edges_total` count what there is of the wanted kinds, drawn or not.
    """

    vertices: tuple[int, ...]
    groups: tuple[int, ...]
    x: tuple[float, ...]
    y: tuple[float, ...]
    sizes: tuple[float, ...]
    group_of: tuple[int, ...]
    sources: tuple[int, ...]
    targets: tuple[int, ...]
    edge_kinds: tuple[int, ...]
    weights: tuple[float, ...]
    kind_names: tuple[str, ...]
    nodes_total: int
    edges_total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One drawn node as a reader meets it: `state` is blank, or what became of it."""

    id: str
    name: str
    kind: str
    path: str
    x: float
    y: float
    size: float
    group: int
    members: int = 0
    state: str = ""
    depth: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tie:
    """One drawn edge between two marks by position; `weight` counts those that it stands for."""

    source: int
    target: int
    kind: str
    weight: float
    state: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A picture ready to be drawn, and how much of what there is it shows."""

    marks: tuple[Mark, ...]
    ties: tuple[Tie, ...]
    groups: tuple[GroupDisc, ...]
    nodes_total: int
    edges_total: int
    commit: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)

    def as_columns(self) -> dict[str, Any]:
        """Return it as columns for JSON: a tenth of the time and half the size of rows."""
        kinds = list(dict.fromkeys(tie.kind for tie in self.ties))
        number = {kind: place for place, kind in enumerate(kinds)}
        return {
            "nodes": {
                "id": [mark.id for mark in self.marks],
                "name": [mark.name for mark in self.marks],
                "kind": [mark.kind for mark in self.marks],
                "path": [mark.path for mark in self.marks],
                "x": [round(mark.x, 2) for mark in self.marks],
                "y": [round(mark.y, 2) for mark in self.marks],
                "size": [round(mark.size, 2) for mark in self.marks],
                "group": [mark.group for mark in self.marks],
                "members": [mark.members for mark in self.marks],
                "state": [mark.state for mark in self.marks],
                "depth": [mark.depth for mark in self.marks],
            },
            "edges": {
                "source": [tie.source for tie in self.ties],
                "target": [tie.target for tie in self.ties],
                "kind": [number[tie.kind] for tie in self.ties],
                "weight": [round(tie.weight, 2) for tie in self.ties],
                "state": [tie.state for tie in self.ties],
            },
            "edge_kinds": kinds,
            "groups": [
                {"number": group.number, "name": group.name, "size": group.size}
                for group in self.groups
            ],
            "nodes_total": self.nodes_total,
            "edges_total": self.edges_total,
            "commit": self.commit,
            "counts": dict(self.counts),
        }


def unpacked(data: bytes) -> Columns:
    """Return what `Columns.packed` made."""
    with np.load(io.BytesIO(data), allow_pickle=False) as columns:
        return Columns(
            vertices=columns["vertices"],
            places=columns["places"],
            groups=columns["groups"],
            kinds=columns["kinds"],
            percentiles=columns["percentiles"],
        )


def kind_numbers(kinds: Sequence[NodeKind]) -> NDArray[np.uint8]:
    return np.array([_NUMBER_OF_KIND[kind] for kind in kinds], np.uint8)


def draw(
    *, network: Network, columns: Columns, groups: Sequence[GroupDisc], wanted: Wanted
) -> Drawn:
    """Return the part of a network that is drawn: opened groups' best nodes, the rest as groups.

    Some milliseconds for 200,000 nodes and a million edges. Nodes that have no place yet (the
    network is newer than the picture) are not drawn.
    """
    place = columns.at(network.vertices)
    group_of = np.where(place >= 0, columns.groups[place], NO_GROUP - 1)
    is_opened = (
        place >= 0 if wanted.opened == EVERY_GROUP else np.isin(group_of, list(wanted.opened))
    )
    is_kind = _is_kind(columns.kinds[place], wanted.node_kinds)
    closed = [one for one in groups if not _is_open(one.number, wanted.opened)]
    nodes = _best(
        np.flatnonzero(is_opened & is_kind),
        columns.percentiles[place],
        wanted.node_limit - len(closed),
    )
    slots = _slots(network.size, nodes, group_of, closed)
    kinds = [
        kind
        for kind in network.kind_names
        if (wanted.edge_kinds is None and kind in DEPENDENCIES)
        or (wanted.edge_kinds is not None and kind in wanted.edge_kinds)
    ]
    ties = _ties(network, slots, kinds, len(nodes) + len(closed))
    sources, targets, tied_kinds, weights = (
        column[: wanted.edge_limit] for column in _heaviest_first(ties)
    )
    shown = place[nodes]
    return Drawn(
        vertices=tuple(network.vertices[nodes].tolist()),
        groups=tuple(one.number for one in closed),
        x=(*columns.places[shown, 0].tolist(), *(one.x for one in closed)),
        y=(*columns.places[shown, 1].tolist(), *(one.y for one in closed)),
        sizes=(
            *_sizes(columns.percentiles[shown]),
            *_group_sizes(closed, groups),
        ),
        group_of=(*columns.groups[shown].tolist(), *(one.number for one in closed)),
        sources=tuple(sources.tolist()),
        targets=tuple(targets.tolist()),
        edge_kinds=tuple(tied_kinds.tolist()),
        weights=tuple(weights.tolist()),
        kind_names=tuple(kinds),
        nodes_total=int((is_kind & (place >= 0)).sum()),
        edges_total=len(ties[0]),
    )


def _sizes(percentiles: NDArray[np.float32]) -> list[float]:
    """Return the sizes of drawn nodes: by their place among those that are drawn."""
    place = np.empty(len(percentiles))
    place[np.argsort(percentiles, kind="stable")] = np.arange(1, len(percentiles) + 1)
    shares = place / max(len(percentiles), 1)
    return [node_size(share) for share in shares.tolist()]


def node_size(percentile: float) -> float:
    """Return how large a node is drawn, in pixels: the best tenth stands out."""
    return 2.0 + 6.0 * percentile**6


def _group_sizes(closed: Sequence[GroupDisc], groups: Sequence[GroupDisc]) -> list[float]:
    """Return how large groups are drawn: as their discs are, so that none covers another."""
    ends = [
        (one.x + side * one.radius, one.y + side * one.radius) for one in groups for side in (-1, 1)
    ]
    width = max((max(axis) - min(axis) for axis in zip(*ends, strict=True)), default=0.0) or 1.0
    return [
        min(max(_WIDTH_PIXELS * one.radius / width, _LEAST_PIXELS), _MOST_PIXELS) for one in closed
    ]


def _is_kind(kinds: NDArray[np.uint8], wanted: Collection[NodeKind] | None) -> NDArray[np.bool_]:
    if wanted is None:
        return np.ones(len(kinds), np.bool_)
    return np.isin(kinds, [_NUMBER_OF_KIND[kind] for kind in wanted])


def _is_open(number: int, opened: frozenset[int]) -> bool:
    return opened == EVERY_GROUP or number in opened


def _best(nodes: Positions, values: NDArray[np.float32], limit: int) -> Positions:
    best = nodes[np.argsort(-values[nodes], kind="stable")[: max(limit, 0)]]
    # In the order of vertices, so that equal pictures are equal columns.
    return np.sort(best)


def _slots(
    size: int, nodes: Positions, group_of: Positions, closed: Sequence[GroupDisc]
) -> Positions:
    """Return as what each node of the network is drawn, -1 for what is not."""
    slots = np.full(size, -1)
    for number, group in enumerate(closed):
        slots[group_of == group.number] = len(nodes) + number
    slots[nodes] = np.arange(len(nodes))
    return slots


_Ties = tuple[Positions, Positions, Positions, NDArray[np.float64]]


def _ties(network: Network, slots: Positions, kinds: Sequence[str], count: int) -> _Ties:
    """Return the edges between what is drawn as sources, targets, kinds and weights."""
    inside = network.targets < network.size
    sources = np.where(inside, slots[network.sources], -1)
    targets = np.where(inside, slots[np.where(inside, network.targets, 0)], -1)
    number_of = np.full(len(network.kind_names) + 1, -1)
    for number, kind in enumerate(kinds):
        number_of[network.kind_names.index(kind)] = number
    kind_numbers = number_of[network.kinds]
    use = (sources >= 0) & (targets >= 0) & (sources != targets) & (kind_numbers >= 0)
    keys = (kind_numbers[use] * count + sources[use]) * count + targets[use]
    unique, inverse = np.unique(keys, return_inverse=True)
    weights = np.bincount(
        inverse, weights=network.confidences[use].astype(np.float64), minlength=len(unique)
    )
    count = max(count, 1)
    pairs = (unique % (count * count)).astype(np.int64)
    return (
        pairs // count,
        pairs % count,
        unique // (count * count),
        weights.astype(np.float64),
    )


def _heaviest_first(ties: _Ties) -> _Ties:
    order = np.argsort(-ties[3], kind="stable")
    return ties[0][order], ties[1][order], ties[2][order], ties[3][order]
