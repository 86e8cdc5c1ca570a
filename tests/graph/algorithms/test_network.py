import numpy as np
import pytest

from graph.algorithms.network import Network, joined, network, unpacked
from graph.values import EdgeKind, VertexLabel, graph_id

KINDS = [EdgeKind.CALLS, EdgeKind.CONTAINS]


def symbol(key: int) -> int:
    return graph_id(label=VertexLabel.SYMBOL, key=key)


def file(key: int) -> int:
    return graph_id(label=VertexLabel.FILE, key=key)


def network_of(nodes: dict[int, int], edges: list[tuple[int, int, int, float]]) -> Network:
    """Return a network of nodes with their files and edges (source, target, kind, confidence)."""
    columns = list(zip(*edges, strict=True)) or [(), (), (), ()]
    return network(
        vertices=np.array(list(nodes), np.int64),
        files=np.array(list(nodes.values()), np.int64),
        sources=np.array(columns[0], np.int64),
        targets=np.array(columns[1], np.int64),
        kinds=np.array(columns[2], np.uint8),
        confidences=np.array(columns[3], np.float32),
        kind_names=KINDS,
    )


@pytest.fixture
def small():
    """Two functions in a file; the second calls the first and something in another repository."""
    return network_of(
        {file(1): file(1), symbol(5): file(1), symbol(2): file(1)},
        [
            (symbol(5), symbol(2), 0, 0.5),
            (symbol(5), symbol(9), 0, 0.9),
            (symbol(5), symbol(5), 0, 1.0),
            (file(1), symbol(5), 1, 1.0),
            (symbol(77), symbol(5), 0, 1.0),
        ],
    )


def test_nodes_are_sorted_and_edges_are_their_positions(small):
    assert small.vertices.tolist() == [symbol(2), symbol(5), file(1)]
    assert small.files.tolist() == [2, 2, 2]
    assert small.is_file.tolist() == [False, False, True]
    assert small.foreign.tolist() == [symbol(9)]
    assert small.positions([symbol(5), symbol(404)]).tolist() == [1]


def test_edges_are_those_inside_to_others_with_weight_times_confidence(small):
    calls = small.edges([EdgeKind.CALLS])
    assert (calls.sources.tolist(), calls.targets.tolist()) == ([1], [0])
    assert calls.weights.tolist() == [0.5]
    every = small.edges(KINDS)
    assert sorted(every.weights.tolist()) == pytest.approx([0.1, 0.5])


def test_packing_keeps_everything(small):
    again = unpacked(small.packed())
    for column in ("vertices", "files", "foreign", "sources", "targets", "kinds", "confidences"):
        assert getattr(again, column).tolist() == getattr(small, column).tolist()
    assert again.kind_names == small.kind_names


def test_an_edge_between_repositories_leads_inside_when_they_are_joined(small):
    other = network_of({symbol(9): file(3), file(3): file(3)}, [])
    both = joined([small, other])
    calls = both.edges([EdgeKind.CALLS])
    named = {
        (int(both.vertices[source]), int(both.vertices[target]))
        for source, target in zip(calls.sources, calls.targets, strict=True)
    }
    assert named == {(symbol(5), symbol(2)), (symbol(5), symbol(9))}
    assert len(both.foreign) == 0
    assert both.size == 5


def test_edges_between_places_are_added_up():
    edges = network_of(
        {symbol(1): file(1), symbol(2): file(1), symbol(3): file(2), file(1): file(1)},
        [(symbol(1), symbol(3), 0, 0.5), (symbol(2), symbol(3), 0, 1.0)],
    ).edges()
    between = edges.between(np.array([0, 0, 1, 0]), count=2)
    assert (between.sources.tolist(), between.targets.tolist()) == ([0], [1])
    assert between.weights.tolist() == [1.5]


def test_nothing_is_a_network_too():
    empty = network_of({}, [])
    assert empty.size == 0
    assert joined([]).size == 0
    assert len(empty.edges().sources) == 0
