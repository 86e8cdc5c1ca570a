import numpy as np
import pytest
from numpy.typing import NDArray

from graph.algorithms.network import Edges
from graph.algorithms.pagerank import pagerank, percentiles


def edges_of(
    pairs: list[tuple[int, int]], *, count: int, weights: list[float] | None = None
) -> Edges:
    columns = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return Edges(
        count=count,
        sources=columns[:, 0],
        targets=columns[:, 1],
        weights=np.ones(len(pairs)) if weights is None else np.array(weights),
    )


def ranks_of(pairs: list[tuple[int, int]], **given: object) -> NDArray[np.float64]:
    return pagerank(edges_of(pairs, **given))  # type: ignore[arg-type]


def test_ranks_of_a_known_graph_are_the_published_ones():
    # Langville and Meyer, "Google's PageRank and Beyond", 2006: six pages, the second a dead end.
    links = [(1, 2), (1, 3), (3, 1), (3, 2), (3, 5), (4, 5), (4, 6), (5, 4), (5, 6), (6, 4)]
    known = edges_of([(a - 1, b - 1) for a, b in links], count=6)

    ranks = pagerank(known, damping=0.9)

    assert ranks == pytest.approx([0.03721, 0.05396, 0.04151, 0.37508, 0.20600, 0.28625], abs=1e-5)


def test_ranks_seen_from_a_node_are_of_what_it_reaches():
    two_halves = edges_of([(0, 1), (1, 2), (3, 4), (4, 5)], count=6)

    ranks = pagerank(two_halves, near=np.array([0]))

    assert ranks.sum() == pytest.approx(1)
    assert (ranks[:3] > 0).all()
    assert (ranks[3:] == 0).all()
    assert ranks[1] > ranks[2]


def test_ranks_satisfy_the_equation_they_are_defined_by():
    edges = [(0, 1), (0, 2), (1, 2), (3, 2), (2, 0)]
    ranks = ranks_of(edges, count=5)

    dangling = ranks[4]
    base = (0.15 + 0.85 * dangling) / 5
    assert ranks[2] == pytest.approx(base + 0.85 * (ranks[0] / 2 + ranks[1] + ranks[3]), abs=1e-7)
    assert ranks[0] == pytest.approx(base + 0.85 * ranks[2], abs=1e-7)
    assert ranks[4] == pytest.approx(base, abs=1e-7)


def test_ranks_sum_to_one_also_with_nodes_that_lead_nowhere():
    assert ranks_of([(0, 1)], count=3).sum() == pytest.approx(1.0)


def test_a_heavier_edge_passes_on_more():
    ranks = ranks_of([(0, 1), (0, 2)], count=3, weights=[3.0, 1.0])

    assert ranks[1] > ranks[2]


def test_several_edges_between_two_nodes_add_up():
    twice = ranks_of([(0, 1), (0, 1), (0, 2)], count=3)

    assert twice == pytest.approx(ranks_of([(0, 1), (0, 2)], count=3, weights=[2.0, 1.0]))


def test_nodes_without_edges_are_equal():
    assert ranks_of([], count=4) == pytest.approx([0.25] * 4)
    assert len(ranks_of([], count=0)) == 0


def test_a_percentile_is_the_share_of_nodes_below():
    assert percentiles(np.array([0.1, 0.4, 0.1, 0.2])).tolist() == [0.0, 1.0, 0.0, 2 / 3]
    assert percentiles(np.array([0.5])).tolist() == [1.0]
    assert percentiles(np.array([])).tolist() == []
