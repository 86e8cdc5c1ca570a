"""What a ranking finds: groups, cycles, what matters to some nodes and to a namespace."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from graph import queries, services
from graph.models import Analysis, NodeScore, Repository
from graph.values import EdgeKind, NodeKind
from tests.factories import edge_fact, make_repository, snapshot, symbol_fact
from tests.gateway.team import show

pytestmark = pytest.mark.django_db

FILES = ("mail/box.py", "mail/send.py", "pay/bill.py", "pay/total.py")


@pytest.fixture
def ranked(repository):
    """Return a repository of two parts, four functions to a file, all of a part tied to each other.

    In the mail part two files need each other; the pay part stands on a function of it.
    """
    symbols = [symbol_fact(path, f"f{n}", line=10 * n + 1) for path in FILES for n in range(4)]
    ids = {path: [symbol.id for symbol in symbols if symbol.path == path] for path in FILES}
    edges = [
        edge_fact(f"file:{path}", one, EdgeKind.CONTAINS) for path in FILES for one in ids[path]
    ]
    for below, above in (FILES[:2], FILES[2:]):
        part = [*ids[below], *ids[above]]
        edges += [edge_fact(user, used, line=1) for n, user in enumerate(part) for used in part[:n]]
    edges.append(edge_fact(ids["mail/box.py"][0], ids["mail/send.py"][3], confidence=0.6))
    edges.append(edge_fact(ids["pay/total.py"][0], ids["mail/box.py"][0]))
    show(repository, snapshot(*symbols, edges=edges))
    return repository


def place(repository: Repository):
    return {"repository_id": repository.pk, "namespace_id": repository.namespace_id}


def vertex(repository: Repository, text: str) -> int:
    (node,) = queries.find_nodes(repository_id=repository.pk, text=text)
    return node.vertex


def test_parts_are_groups_with_names_members_and_neighbors(ranked):
    found = queries.related_groups(**place(ranked))
    assert found.resolution == 1.0
    assert found.total == len(found.groups)
    assert {group.name.split(":")[0] for group in found.groups} == {"mail", "pay"}
    mail = next(group for group in found.groups if group.name.startswith("mail"))
    assert mail.size == 10
    assert 0.8 < mail.cohesion < 1
    assert mail.neighbors == ((next(g.number for g in found.groups if g is not mail), "pay"),)
    assert {member.node.path for member in mail.members} == {"mail/box.py", "mail/send.py"}
    ranks = [member.score.rank for member in mail.members if member.score]
    assert ranks == sorted(ranks, reverse=True)


def test_the_group_of_one_symbol_can_be_asked_for(ranked):
    send = vertex(ranked, "sym:mail/send.py#f2")
    (group,) = queries.related_groups(**place(ranked), containing=send, members=2).groups
    assert group.name.startswith("mail")
    assert len(group.members) == 2


def test_the_nearest_resolution_answers(ranked):
    analysis = Analysis.objects.get(repository=ranked)
    for resolution in (4.0, 16.0):
        analysis.communities.create(
            resolution=resolution, number=0, name="one", cohesion=1, rank=1, members=[]
        )
    for asked, kept in ((0.1, 1.0), (1.9, 1.0), (2.1, 4.0), (99, 16.0)):
        assert queries.related_groups(**place(ranked), resolution=asked).resolution == kept


def test_files_in_a_cycle_are_told_with_the_edge_to_cut(ranked):
    found = queries.cycles(**place(ranked))
    (cycle,) = found.cycles
    assert (found.total, cycle.size, cycle.severity) == (1, 2, queries.Severity.LOW)
    assert set(cycle.members) == {"file:mail/box.py", "file:mail/send.py"}
    (closing,) = cycle.closing
    assert (closing.source, closing.target) == ("file:mail/box.py", "file:mail/send.py")
    assert closing.examples == (("sym:mail/box.py#f0", "CALLS", "sym:mail/send.py#f3"),)


def test_symbols_and_directories_have_cycles_of_their_own(ranked):
    (cycle,) = queries.cycles(**place(ranked), level=queries.Level.SYMBOL).cycles
    assert "sym:mail/send.py#f3" in cycle.members
    assert cycle.closing_count >= 1
    assert queries.cycles(**place(ranked), level=queries.Level.DIRECTORY).cycles == ()


def test_only_the_asked_kinds_of_edges_are_followed(ranked):
    assert queries.cycles(**place(ranked), kinds=[EdgeKind.IMPORTS]).total == 0
    assert queries.cycles(**place(ranked), kinds=[EdgeKind.CALLS]).total == 1
    assert queries.cycles(**place(ranked), minimum_size=3).total == 0


def test_what_matters_to_a_symbol_is_what_it_reaches(ranked):
    asked = vertex(ranked, "sym:mail/send.py#f1")
    found = queries.important_near(**place(ranked), vertices=[asked], limit=50)
    assert {item.node.path for item in found} == {"mail/box.py", "mail/send.py"}
    assert asked not in {item.node.vertex for item in found}
    functions = queries.important_near(
        **place(ranked), vertices=[asked], limit=3, kinds=[NodeKind.FUNCTION]
    )
    assert len(functions) == 3


def test_layers_follow_from_the_files(ranked):
    layers = {
        path: NodeScore.objects.get(node=vertex(ranked, f"file:{path}")).layer for path in FILES
    }
    assert layers == {"mail/box.py": 0, "mail/send.py": 0, "pay/bill.py": 0, "pay/total.py": 1}


def test_a_namespace_is_ranked_over_its_repositories(ranked, namespace):
    other = make_repository(namespace)
    show(other, snapshot(symbol_fact("lone.py", "alone")))
    assert not services.is_namespace_ranked(namespace_id=namespace.pk)

    assert services.rank_namespace(namespace_id=namespace.pk) == 22

    assert services.is_namespace_ranked(namespace_id=namespace.pk)
    found = queries.important_in_namespace(
        namespace_id=namespace.pk, repository_ids=[ranked.pk, other.pk], limit=50
    )
    assert {item.node.repository_id for item in found} == {ranked.pk, other.pk}
    ranks = [item.score.rank for item in found if item.score]
    assert sum(ranks) == pytest.approx(1)
    assert ranks == sorted(ranks, reverse=True)
    mine = queries.important_in_namespace(
        namespace_id=namespace.pk,
        repository_ids=[other.pk],
        limit=50,
        kinds=[NodeKind.FUNCTION],
    )
    assert [item.node.name for item in mine] == ["alone"]


def test_ranking_asks_for_no_symbol_by_its_key(ranked, namespace):
    """All of them are wanted, and there may be hundreds of thousands."""
    small = make_repository(namespace, "small")
    show(small, snapshot(symbol_fact("a.py", "foo")))

    def asked(rank):
        with CaptureQueriesContext(connection) as taken:
            rank()
        return [one["sql"] for one in taken if '"graph_symbolversion"' in one["sql"]]

    (of_sixteen,) = asked(lambda: services.rank_repository(repository_id=ranked.pk))
    (of_one,) = asked(lambda: services.rank_repository(repository_id=small.pk))
    (of_all,) = asked(lambda: services.rank_namespace(namespace_id=namespace.pk))
    assert of_sixteen.replace(ranked.pk.hex, small.pk.hex) == of_one
    assert " IN (" not in of_all


def test_an_edge_of_another_repository_changes_nothing(ranked, namespace):
    before = list(NodeScore.objects.filter(repository=ranked).order_by("node").values_list("rank"))
    show(make_repository(namespace), snapshot(symbol_fact("mail/box.py", "f0")))
    services.rank_repository(repository_id=ranked.pk)
    after = list(NodeScore.objects.filter(repository=ranked).order_by("node").values_list("rank"))
    assert before == after


def test_the_newest_analysis_alone_keeps_columns_and_groups(ranked):
    services.rank_repository(repository_id=ranked.pk)
    old, new = Analysis.objects.filter(repository=ranked).order_by("id")
    assert (old.network, old.communities.count()) == (None, 0)
    assert new.network is not None
    assert new.commit == "1" * 40


def test_a_repository_is_to_be_ranked_after_each_change(ranked, namespace):
    other = make_repository(namespace)
    assert queries.repositories_to_rank() == []
    show(other, snapshot(symbol_fact("a.py", "one")))
    wanted = snapshot(symbol_fact("a.py", "two"), commit="2")
    services.put(repository_id=ranked.pk, ref_name="main", snapshot=wanted)
    assert queries.repositories_to_rank() == [ranked.pk]
    assert queries.repositories_to_rank(repository_id=other.pk) == []


def test_what_was_never_ranked_says_so(repository):
    for ask in (queries.related_groups, queries.cycles):
        with pytest.raises(queries.NotRanked):
            ask(**place(repository))
