"""Weighted PageRank, of all or seen from some nodes."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from graph.algorithms.network import Edges, Positions

DAMPING: Final = 0.85
_TOLERANCE: Final = 1e-8
_MAX_ITERATIONS: Final = 200


def pagerank(
    edges: Edges, *, damping: float = DAMPING, near: Positions | None = None
) -> NDArray[np.float64]:
    """Return the rank of each node; ranks sum to 1.

    Each node gives its rank away in proportion to the weights of its edges. What it does not give
    (it has no edges, or by chance: 1 - damping) goes evenly to all, or evenly to the nodes `near`
    which are asked about: then ranks say what matters to those.
    Brin and Page, "The anatomy of a large-scale hypertextual web search engine", 1998; Haveliwala,
    "Topic-sensitive PageRank", 2002.
    """
    if edges.count == 0:
        return np.zeros(0)
    start = np.zeros(edges.count)
    start[near if near is not None and len(near) else slice(None)] = 1.0
    start /= start.sum()
    given = np.bincount(edges.sources, weights=edges.weights, minlength=edges.count)
    shares = Edges(
        count=edges.count,
        sources=edges.targets,
        targets=edges.sources,
        weights=edges.weights / given[edges.sources],
    ).matrix()
    has_no_edge = given == 0
    ranks = start.copy()
    for _ in range(_MAX_ITERATIONS):
        returned = damping * ranks[has_no_edge].sum() + 1 - damping
        following = damping * (shares @ ranks) + returned * start
        change = np.abs(following - ranks).sum()
        ranks = following
        if change < _TOLERANCE:
            break
    return np.asarray(ranks / ranks.sum())


def percentiles(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each rank the share of nodes (0..1) that have a lower one; equal ranks tie."""
    if len(ranks) < 2:  # noqa: PLR2004  nobody to compare with
        return np.ones(len(ranks))
    below = np.searchsorted(np.sort(ranks), ranks, side="left")
    return np.asarray(below / (len(ranks) - 1), dtype=np.float64)
