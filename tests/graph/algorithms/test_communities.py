from itertools import combinations
from random import Random

import pytest

from graph.algorithms.communities import communities, names_of
from tests.graph.algorithms.test_pagerank import edges_of

CLIQUES = [range(5), range(5, 9), range(9, 12)]
TIED = [pair for clique in CLIQUES for pair in combinations(clique, 2)]


def test_what_is_tied_to_each_other_is_a_group():
    found = communities(edges_of([*TIED, (0, 5), (5, 9)], count=13))
    assert [set(group.nodes.tolist()) for group in found.found] == [set(c) for c in CLIQUES]
    first, second, third = found.found
    assert first.cohesion == pytest.approx(10 / 11)
    assert (first.neighbors, third.neighbors) == (((1, 1.0),), ((1, 1.0),))
    assert {number for number, _ in second.neighbors} == {0, 2}
    assert found.modularity > 0.5


def test_the_direction_of_an_edge_does_not_matter():
    turned = communities(edges_of([(b, a) for a, b in TIED], count=12))
    assert [len(group.nodes) for group in turned.found] == [5, 4, 3]


def test_dividing_twice_gives_the_same():
    edges = edges_of(TIED, count=12)
    first, second = communities(edges), communities(edges)
    assert [g.nodes.tolist() for g in first.found] == [g.nodes.tolist() for g in second.found]


def test_what_belongs_nowhere_clearly_is_divided_the_same_way_every_time():
    chance = Random(3)
    pairs = [(a, b) for a, b in combinations(range(120), 2) if chance.random() < 0.06]
    edges = edges_of(pairs, count=120)
    found = [[group.nodes.tolist() for group in communities(edges).found] for _ in range(5)]
    assert all(one == found[0] for one in found)


def test_without_ties_there_are_no_groups():
    assert communities(edges_of([], count=5)).found == ()


def test_a_group_is_called_by_its_place_and_its_own_words():
    groups = [
        [("app/mail/send.py", "sendMail"), ("app/mail/box.py", "MailBox"), ("lib/x.py", "Mail_x")],
        [("app/pay/invoice.py", "Invoice"), ("app/pay/total.py", "invoice_total")],
        [("a.py", "f"), ("b/c.py", "g")],
        [],
    ]
    assert names_of(groups)[:2] == ["app/mail", "app/pay: invoice"]
    assert names_of(groups)[2:] == ["/", "/"]
