import numpy as np
import pytest

from graph.algorithms.cycles import components, cycles, layers
from tests.graph.algorithms.test_pagerank import edges_of


def test_cycles_are_found_the_largest_first():
    pairs = [(0, 1), (1, 0), (1, 2), (2, 3), (3, 4), (4, 2), (5, 2)]
    first, second = cycles(edges_of(pairs, count=6))
    assert (first.nodes, first.edge_count) == ((2, 3, 4), 3)
    assert (second.nodes, second.edge_count) == ((0, 1), 2)
    assert [found.nodes for found in cycles(edges_of(pairs, count=6), minimum_size=3)] == [
        (2, 3, 4)
    ]


def test_the_lightest_edge_closes_a_cycle():
    weights = [3.0, 3.0, 0.1]
    (found,) = cycles(edges_of([(0, 1), (1, 2), (2, 0)], count=3, weights=weights))
    assert found.closing == ((2, 0),)


@pytest.mark.parametrize("seed", range(20))
def test_without_the_closing_edges_there_is_no_cycle(seed):
    rng = np.random.default_rng(seed)
    pairs = sorted({(int(a), int(b)) for a, b in rng.integers(0, 30, (90, 2)) if a != b})
    found = cycles(edges_of(pairs, count=30))
    closing = {edge for cycle in found for edge in cycle.closing}
    kept = [pair for pair in pairs if pair not in closing]
    assert found
    assert cycles(edges_of(kept, count=30)) == []
    assert len(closing) <= sum(cycle.edge_count for cycle in found) / 2


def test_layers_say_how_much_lies_below():
    pairs = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 3), (3, 2)]
    assert layers(edges_of(pairs, count=6)).tolist() == [2, 1, 0, 1, 1, 0]


def test_nothing_has_no_components_and_no_layers():
    empty = edges_of([], count=0)
    assert len(components(empty)) == len(layers(empty)) == 0
    assert cycles(empty) == []
    assert layers(edges_of([], count=2)).tolist() == [0, 0]
