"""A picture keeps groups apart, ties short, and what was there before where it was."""

import numpy as np
import pytest

from graph.algorithms.layout import NO_GROUP, lay_out, rings
from graph.algorithms.network import Edges


def a_graph(groups: int = 6, members: int = 30, *, seed: int = 3):
    """Return groups of nodes that are tied among each other, few ties between groups."""
    random = np.random.default_rng(seed)
    count = groups * members
    numbers = np.repeat(np.arange(groups), members)
    sources = random.integers(0, count, 6 * count)
    inside = numbers[sources] * members + random.integers(0, members, len(sources))
    targets = np.where(random.random(len(sources)) < 0.9, inside, sources[::-1])
    apart = sources != targets
    edges = Edges(
        count=count,
        sources=sources[apart],
        targets=targets[apart],
        weights=np.ones(int(apart.sum())),
    )
    return edges, numbers, random.random(count)


def lengths(vectors):
    return np.sqrt(np.square(vectors).sum(axis=1))


def test_no_two_discs_overlap_and_members_stay_in_theirs():
    edges, groups, ranks = a_graph()
    picture = lay_out(edges=edges, groups=groups, ranks=ranks)
    gaps = lengths((picture.centers[:, None] - picture.centers[None, :]).reshape(-1, 2))
    needed = (picture.radii[:, None] + picture.radii[None, :]).reshape(-1)
    apart = ~np.eye(len(picture.radii), dtype=bool).reshape(-1)
    assert (gaps[apart] > needed[apart]).all()
    from_center = lengths(picture.places - picture.centers[groups])
    assert (from_center <= picture.radii[groups] + 1e-6).all()


def test_what_is_tied_stands_nearer_than_what_is_not():
    # Two cliques in one group, tied by one edge.
    one = [(a, b) for a in range(10) for b in range(a)]
    pairs = np.array([*one, *((a + 10, b + 10) for a, b in one), (0, 10)])
    edges = Edges(count=20, sources=pairs[:, 0], targets=pairs[:, 1], weights=np.ones(len(pairs)))
    picture = lay_out(edges=edges, groups=np.zeros(20, np.int64), ranks=np.linspace(1, 0, 20))
    first, second = picture.places[:10], picture.places[10:]
    spread = lengths(first - first.mean(axis=0)).mean()
    assert lengths((first.mean(axis=0) - second.mean(axis=0))[None])[0] > spread


def test_the_same_graph_gives_the_same_picture():
    edges, groups, ranks = a_graph()
    once, again = (lay_out(edges=edges, groups=groups, ranks=ranks) for _ in range(2))
    assert np.array_equal(once.places, again.places)


def test_a_picture_stays_put_when_some_nodes_are_new():
    edges, groups, ranks = a_graph()
    first = lay_out(edges=edges, groups=groups, ranks=ranks)
    before = first.places.copy()
    before[::20] = np.nan
    second = lay_out(edges=edges, groups=groups, ranks=ranks, before=before)
    known = ~np.isnan(before[:, 0])
    moved = lengths(second.places - first.places)[known]
    width = np.ptp(first.places, axis=0).max()
    assert np.median(moved) < 0.01 * width
    assert np.isfinite(second.places).all()


def test_nodes_of_no_group_have_a_disc_of_their_own():
    edges, groups, ranks = a_graph(groups=2)
    groups = np.where(np.arange(len(groups)) % 10 == 0, NO_GROUP, groups)
    picture = lay_out(edges=edges, groups=groups, ranks=ranks)
    assert len(picture.radii) == 3


@pytest.mark.parametrize("count", [0, 1, 2])
def test_next_to_nothing_can_be_drawn(count):
    none = np.zeros(0, np.int64)
    edges = Edges(count=count, sources=none, targets=none, weights=np.zeros(0))
    picture = lay_out(edges=edges, groups=np.full(count, NO_GROUP), ranks=np.ones(count))
    assert picture.places.shape == (count, 2)
    assert np.isfinite(picture.places).all()


def test_rings_put_each_depth_outside_of_the_one_before():
    depths = np.array([0, 1, 1, 2, 2, 2])
    places = rings(depths, np.array([0, 0, 0, 1, 1, 2]))
    distance = lengths(places)
    assert distance[0] == 0
    assert max(distance[1:3]) < min(distance[3:])
    # Children stand nearer to their own parent than to the other.
    assert lengths(places[[3]] - places[[1]]) < lengths(places[[3]] - places[[2]])
