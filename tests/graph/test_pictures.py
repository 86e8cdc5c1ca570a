"""What the explorer draws: groups that open, kinds, surroundings; and that it stays put."""

import pytest

from graph import queries, services
from graph.models import Layout
from graph.pictures import EVERY_GROUP, Wanted
from graph.values import EdgeKind, NodeKind
from tests.factories import edge_fact, make_repository, snapshot, symbol_fact
from tests.gateway.team import show

pytestmark = pytest.mark.django_db

FILES = ("mail/box.py", "mail/send.py", "pay/bill.py", "pay/total.py")


def facts(paths=FILES, commit="1"):
    symbols = [symbol_fact(path, f"f{n}", line=10 * n + 1) for path in paths for n in range(4)]
    ids = {path: [symbol.id for symbol in symbols if symbol.path == path] for path in paths}
    edges = [
        edge_fact(f"file:{path}", one, EdgeKind.CONTAINS) for path in paths for one in ids[path]
    ]
    for below, above in zip(paths[::2], paths[1::2], strict=True):
        part = [*ids[below], *ids[above]]
        edges += [edge_fact(user, used, line=1) for n, user in enumerate(part) for used in part[:n]]
    edges.append(edge_fact(ids[paths[3]][0], ids[paths[0]][0]))
    return snapshot(*symbols, edges=edges, commit=commit)


@pytest.fixture
def drawn(repository):
    show(repository, facts())
    services.lay_out_repository(repository_id=repository.pk)
    return repository


def scene(repository, **wanted):
    return queries.repository_scene(repository_id=repository.pk, wanted=Wanted(**wanted))


def test_groups_are_drawn_as_one_until_they_are_opened(drawn):
    closed = scene(drawn)
    assert {mark.kind for mark in closed.marks} == {"group"}
    assert sum(mark.members for mark in closed.marks) == 20
    opened = scene(drawn, opened=frozenset({closed.marks[0].group}))
    names = {mark.id for mark in opened.marks if mark.kind != "group"}
    assert len(names) == closed.marks[0].members
    assert len(opened.marks) == len(names) + len(closed.marks) - 1


def test_edges_between_groups_stand_for_all_of_theirs(drawn):
    (tie,) = scene(drawn).ties
    assert (tie.kind, round(tie.weight, 2)) == ("CALLS", 0.9)


def test_an_opened_picture_has_each_node_and_edge_once(drawn):
    every = scene(drawn, opened=EVERY_GROUP)
    assert every.nodes_total == len(every.marks) == 20
    assert len({mark.id for mark in every.marks}) == 20
    calls = {(every.marks[tie.source].id, every.marks[tie.target].id) for tie in every.ties}
    assert len(calls) == every.edges_total == 2 * 28 + 1


def test_only_wanted_kinds_are_drawn(drawn):
    files = scene(drawn, opened=EVERY_GROUP, node_kinds=frozenset({NodeKind.FILE}))
    assert {mark.id for mark in files.marks} == {f"file:{path}" for path in FILES}
    contained = scene(drawn, opened=EVERY_GROUP, edge_kinds=frozenset({EdgeKind.CONTAINS}))
    assert {tie.kind for tie in contained.ties} == {"CONTAINS"}
    assert len(contained.ties) == 16


def test_the_most_important_nodes_are_drawn_when_there_are_too_many(drawn):
    few = scene(drawn, opened=EVERY_GROUP, node_limit=3)
    best = queries.important_nodes(repository_ids=[drawn.pk], limit=3)
    assert {mark.id for mark in few.marks} == {one.node.id for one in best}
    assert few.nodes_total == 20


def test_the_picture_stays_put_after_a_push(drawn):
    before = {mark.id: (mark.x, mark.y) for mark in scene(drawn, opened=EVERY_GROUP).marks}
    show(drawn, facts((*FILES, "mail/new.py", "mail/newer.py"), commit="2"))
    assert queries.repositories_to_lay_out() == [drawn.pk]
    services.lay_out_repository(repository_id=drawn.pk)
    assert not queries.repositories_to_lay_out()
    after = {mark.id: (mark.x, mark.y) for mark in scene(drawn, opened=EVERY_GROUP).marks}
    assert after.keys() > before.keys()
    moved = [
        ((after[key][0] - x) ** 2 + (after[key][1] - y) ** 2) ** 0.5
        for key, (x, y) in before.items()
    ]
    assert sorted(moved)[len(moved) // 2] < 1.0


def test_what_is_around_a_node_stands_in_rings(drawn):
    (node,) = queries.find_nodes(repository_id=drawn.pk, text="sym:pay/bill.py#f0")
    near = queries.scene_around(
        namespace_id=drawn.namespace_id, repository_id=drawn.pk, node=node, depth=2
    )
    assert near.marks[0].id == node.id
    assert (near.marks[0].x, near.marks[0].y) == (0.0, 0.0)
    distance = {mark.id: mark.x**2 + mark.y**2 for mark in near.marks}
    depth = {mark.id: mark.depth for mark in near.marks}
    nearest_far = min(distance[one] for one in depth if depth[one] == 2)
    assert all(distance[one] < nearest_far for one in depth if depth[one] == 1)
    assert all(tie.source < len(near.marks) for tie in near.ties)


def test_columns_say_the_same_as_marks(drawn):
    found = scene(drawn, opened=EVERY_GROUP)
    columns = found.as_columns()
    assert columns["nodes"]["id"] == [mark.id for mark in found.marks]
    kinds = [columns["edge_kinds"][kind] for kind in columns["edges"]["kind"]]
    assert kinds == [tie.kind for tie in found.ties]


def test_a_repository_without_a_picture_says_so(repository, namespace, maintainer):
    with pytest.raises(queries.NotLaidOut):
        scene(repository)
    other = make_repository(namespace, "other", created_by=maintainer)
    assert queries.find_layout(repository_id=other.pk) is None
    assert not Layout.objects.exists()
