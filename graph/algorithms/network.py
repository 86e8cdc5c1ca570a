"""The columns of a graph: nodes as sorted vertices, edges as positions, what each edge weighs."""

import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from graph.values import EdgeKind, VertexLabel, graph_id

Positions = NDArray[np.int64]
Weights = NDArray[np.float64]

# How much of its importance a node passes on by an edge of this kind, times the edge's confidence.
EDGE_WEIGHTS: Final[Mapping[EdgeKind, float]] = {
    EdgeKind.CALLS: 1.0,  # cannot work without it
    EdgeKind.INHERITS: 1.0,
    EdgeKind.IMPLEMENTS: 1.0,
    EdgeKind.OVERRIDES: 0.5,  # whoever calls the base may reach it
    EdgeKind.REFERENCES: 0.5,  # a type or a value that is mentioned, often once among many
    EdgeKind.IMPORTS: 0.3,  # says that a use will follow, which then has its own edge
    EdgeKind.CONTAINS: 0.1,  # what an important file defines is a little important
}
DEPENDENCIES: Final = tuple(kind for kind in EDGE_WEIGHTS if kind is not EdgeKind.CONTAINS)

_WEIGHT_BY_NAME: Final = {kind.value: weight for kind, weight in EDGE_WEIGHTS.items()}
_FIRST_FILE: Final = graph_id(label=VertexLabel.FILE, key=0)
_BEHIND_FILES: Final = graph_id(label=VertexLabel.PACKAGE, key=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The live nodes of one or more repositories and the edges that leave them.

    `vertices` are sorted (int64); `files` says at which position the file of each node stands (a
    file's own for a file). Edges are positions: those from `len(vertices)` on are of `foreign`
    (sorted vertices elsewhere: other repositories, packages). `kinds` are positions in
    `kind_names`.
    """

    vertices: Positions
    files: Positions
    foreign: Positions
    sources: Positions
    targets: Positions
    kinds: NDArray[np.uint8]
    confidences: NDArray[np.float32]
    kind_names: tuple[str, ...]

    @property
    def size(self) -> int:
        return len(self.vertices)

    @property
    def is_file(self) -> NDArray[np.bool_]:
        return (self.vertices >= _FIRST_FILE) & (self.vertices < _BEHIND_FILES)

    def edges(self, kinds: Collection[str] = DEPENDENCIES) -> "Edges":
        """Return the edges of some kinds among the network's own nodes, without those to itself."""
        wanted = [number for number, name in enumerate(self.kind_names) if name in set(kinds)]
        inside = (
            np.isin(self.kinds, wanted)
            & (self.targets < self.size)
            & (self.sources != self.targets)
        )
        return Edges(
            count=self.size,
            sources=self.sources[inside],
            targets=self.targets[inside],
            weights=self.weights()[inside],
        )

    def weights(self) -> Weights:
        """Return what each edge weighs: its kind's weight times its confidence."""
        weight_of = np.array([_WEIGHT_BY_NAME[name] for name in self.kind_names])
        return np.asarray(weight_of[self.kinds] * self.confidences, dtype=np.float64)

    def positions(self, vertices: Sequence[int]) -> Positions:
        """Return where those of some vertices stand that are nodes of the network."""
        found, are_there = _positions(self.vertices, np.array(vertices, dtype=np.int64))
        return found[are_there]

    def packed(self) -> bytes:
        """Return the columns as compressed bytes (10 bytes an edge of Django's source: 5)."""
        target = io.BytesIO()
        np.savez_compressed(
            target,
            vertices=self.vertices,
            files=self.files.astype(np.int32),
            foreign=self.foreign,
            sources=self.sources.astype(np.int32),
            targets=self.targets.astype(np.int32),
            kinds=self.kinds,
            confidences=self.confidences,
            kind_names=np.array(self.kind_names, dtype="U40"),
        )
        return target.getvalue()


@dataclass(frozen=True, slots=True, kw_only=True)
class Edges:
    """Edges between `count` nodes by position; weights are above 0."""

    count: int
    sources: Positions
    targets: Positions
    weights: Weights

    def among(self, nodes: NDArray[np.bool_]) -> "Edges":
        """Return the edges that begin and end at chosen nodes."""
        inside = nodes[self.sources] & nodes[self.targets]
        return Edges(
            count=self.count,
            sources=self.sources[inside],
            targets=self.targets[inside],
            weights=self.weights[inside],
        )

    def between(self, places: Positions, *, count: int) -> "Edges":
        """Return the edges between the places that nodes belong to, parallel ones as one."""
        sources, targets = places[self.sources], places[self.targets]
        apart = sources != targets
        pairs, inverse = np.unique(sources[apart] * count + targets[apart], return_inverse=True)
        weights = np.bincount(inverse, weights=self.weights[apart], minlength=len(pairs))
        return Edges(
            count=count,
            sources=pairs // count,
            targets=pairs % count,
            weights=weights.astype(np.float64),
        )

    def matrix(self) -> Any:
        """Return the weights as a scipy CSR array, sources in rows."""
        # Half a second and 60 MB, which processes that compute nothing should not pay for.
        from scipy.sparse import csr_array

        return csr_array((self.weights, (self.sources, self.targets)), shape=(self.count,) * 2)


def network(
    *,
    vertices: NDArray[np.int64],
    files: NDArray[np.int64],
    sources: NDArray[np.int64],
    targets: NDArray[np.int64],
    kinds: NDArray[np.uint8],
    confidences: NDArray[np.float32],
    kind_names: Sequence[str],
) -> Network:
    """Return the network of unsorted columns of vertices; edges from elsewhere are left out."""
    order = np.argsort(vertices)
    vertices, files = vertices[order], files[order]
    source_positions, are_own = _positions(vertices, sources)
    targets, kinds, confidences = targets[are_own], kinds[are_own], confidences[are_own]
    target_positions, are_inside = _positions(vertices, targets)
    foreign = np.unique(targets[~are_inside])
    abroad, _ = _positions(foreign, targets)
    file_positions, have_file = _positions(vertices, files)
    return Network(
        vertices=vertices,
        files=np.where(have_file, file_positions, np.arange(len(vertices))),
        foreign=foreign,
        sources=source_positions[are_own],
        targets=np.where(are_inside, target_positions, abroad + len(vertices)),
        kinds=kinds,
        confidences=confidences,
        kind_names=tuple(kind_names),
    )


def unpacked(data: bytes) -> Network:
    """Return what `Network.packed` made."""
    with np.load(io.BytesIO(data), allow_pickle=False) as columns:
        return Network(
            vertices=columns["vertices"],
            files=columns["files"].astype(np.int64),
            foreign=columns["foreign"],
            sources=columns["sources"].astype(np.int64),
            targets=columns["targets"].astype(np.int64),
            kinds=columns["kinds"],
            confidences=columns["confidences"],
            kind_names=tuple(columns["kind_names"].tolist()),
        )


def joined(networks: Sequence[Network]) -> Network:
    """Return several repositories as one network, in which edges between them lead inside."""
    names = list(dict.fromkeys(name for part in networks for name in part.kind_names))
    return network(
        vertices=_concatenated([part.vertices for part in networks], np.int64),
        files=_concatenated([part.vertices[part.files] for part in networks], np.int64),
        sources=_concatenated([part.vertices[part.sources] for part in networks], np.int64),
        targets=_concatenated(
            [np.concatenate([part.vertices, part.foreign])[part.targets] for part in networks],
            np.int64,
        ),
        kinds=_concatenated(
            [
                np.array([names.index(name) for name in part.kind_names], np.uint8)[part.kinds]
                for part in networks
            ],
            np.uint8,
        ),
        confidences=_concatenated([part.confidences for part in networks], np.float32),
        kind_names=names,
    )


def _concatenated(parts: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, dtype), *parts])


def _positions(
    vertices: NDArray[np.int64], wanted: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return where each wanted vertex stands among the sorted vertices, and whether it does."""
    if not len(vertices):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
    positions = np.searchsorted(vertices, wanted).clip(max=len(vertices) - 1)
    return positions, vertices[positions] == wanted
