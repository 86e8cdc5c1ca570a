from collections import deque
from itertools import permutations

import numpy as np
import pytest

from graph.algorithms.betweenness import betweenness
from tests.graph.algorithms.test_pagerank import edges_of


def by_definition(pairs: list[tuple[int, int]], count: int) -> list[float]:
    """Count, for all pairs, the share of shortest ways through each node, the slow way."""
    following = {node: sorted({b for a, b in pairs if a == node}) for node in range(count)}

    def ways(start: int, end: int) -> list[list[int]]:
        found: list[list[int]] = []
        waiting = deque([[start]])
        while waiting:
            way = waiting.popleft()
            if found and len(way) > len(found[0]):
                break
            if way[-1] == end:
                found.append(way)
                continue
            waiting.extend([*way, node] for node in following[way[-1]] if node not in way)
        return found

    total = [0.0] * count
    for start, end in permutations(range(count), 2):
        shortest = ways(start, end)
        for way in shortest:
            for node in way[1:-1]:
                total[node] += 1 / len(shortest)
    return [value / (count * (count - 1)) for value in total]


@pytest.mark.parametrize("seed", range(5))
def test_it_is_what_its_definition_says(seed):
    rng = np.random.default_rng(seed)
    pairs = [(int(a), int(b)) for a, b in rng.integers(0, 9, (18, 2)) if a != b]
    assert betweenness(edges_of(pairs, count=9)) == pytest.approx(by_definition(pairs, 9))


def test_a_bridge_between_two_halves_stands_out():
    left = [(a, 4) for a in range(4)]
    right = [(4, b) for b in range(5, 9)]
    found = betweenness(edges_of(left + right, count=9))
    assert found[4] == pytest.approx(16 / 72)
    assert found.sum() == pytest.approx(found[4])


def test_a_sample_comes_near_and_is_the_same_each_time():
    rng = np.random.default_rng(3)
    pairs = [(int(a), int(b)) for a, b in rng.integers(0, 400, (1600, 2)) if a != b]
    edges = edges_of(pairs, count=400)
    exact, sampled = betweenness(edges, samples=1000), betweenness(edges, samples=100)
    assert np.corrcoef(exact, sampled)[0, 1] > 0.85
    assert sampled.sum() == pytest.approx(exact.sum(), rel=0.1)
    assert sampled.tolist() == betweenness(edges, samples=100).tolist()


def test_without_edges_nobody_is_between():
    assert betweenness(edges_of([], count=3)).tolist() == [0, 0, 0]
    assert len(betweenness(edges_of([], count=0))) == 0
