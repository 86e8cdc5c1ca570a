"""Pictures of the past: what still stands keeps its place, and what came and went is told."""

from uuid import uuid4

from graph.values import EdgeKind
from indexing.history.graphs import CommitGraph
from indexing.history.scenes import difference, drift_scene, scene_at
from tests.factories import edge_fact, file_fact, symbol_fact

PLACES = {"file:a.py": (0.0, 0.0, 1), "sym:a.py#one": (5.0, 5.0, 1), "sym:a.py#two": (9.0, 1.0, 1)}


def graph(*names, calls=(), line=1):
    symbols = [symbol_fact("a.py", name, line=line + 10 * n) for n, name in enumerate(names)]
    edges = [
        edge_fact(f"sym:a.py#{one}", f"sym:a.py#{other}", EdgeKind.CALLS) for one, other in calls
    ]
    return CommitGraph(
        repository_id=uuid4(), files=[file_fact("a.py")], symbols=symbols, edges=edges
    )


def test_what_stands_today_is_where_it_stands_today():
    scene = scene_at(graph("one", "old", calls=[("old", "one")]), places=PLACES)
    at = {mark.id: (mark.x, mark.y) for mark in scene.marks}
    assert at["sym:a.py#one"] == (5.0, 5.0)
    # What is gone since then is shown beside what it was tied to.
    x, y = at["sym:a.py#old"]
    assert abs(x - 5.0) + abs(y - 5.0) < 3


def test_the_most_tied_nodes_are_drawn_when_there_are_too_many():
    then = graph("one", "two", "three", calls=[("one", "two"), ("three", "two")])
    scene = scene_at(then, places=PLACES, limit=1)
    assert [mark.id for mark in scene.marks] == ["sym:a.py#two"]
    assert scene.nodes_total == 4


def test_a_difference_is_what_came_went_and_changed_not_what_moved_down():
    before = graph("one", "two", "old", calls=[("one", "two")])
    after = graph("one", "two", "new", calls=[("one", "new")], line=50)
    found = difference(before, after)
    assert found.appeared == ("sym:a.py#new",)
    assert found.vanished == ("sym:a.py#old",)
    assert found.changed == ("sym:a.py#one",)


def test_a_drift_shows_its_difference_and_what_is_tied_to_it():
    before = graph("one", "two", "old", calls=[("old", "two")])
    after = graph("one", "two", "new", calls=[("new", "two")])
    scene = drift_scene(before, after, places=PLACES)
    states = {mark.id: mark.state for mark in scene.marks}
    assert states == {
        "sym:a.py#new": "appeared",
        "sym:a.py#old": "vanished",
        "sym:a.py#two": "",
    }
    assert {tie.state for tie in scene.ties} == {"appeared", "vanished"}
    assert scene.counts == {"appeared": 1, "vanished": 1, "changed": 0}


def test_nothing_at_all_can_be_drawn():
    assert scene_at(graph(), places={}).marks[0].id == "file:a.py"
