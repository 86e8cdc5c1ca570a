"""Pages about code: who sees them, what the picture's columns hold, and that code stays data."""

import dataclasses

import pytest
from django.urls import reverse

from graph import services
from graph.values import EdgeKind
from tests.factories import edge_fact, snapshot, symbol_fact
from tests.gateway.team import show

PAGES = [
    *("graph", "graph-columns", "symbols", "history", "history-past", "history-drift"),
    *("insights", "insights-health", "insights-security", "insights-performance"),
]
HOSTILE = "<script>alert(1)</script>"
USER = "sym:app/user.py#User.save"


def address(page, **names):
    return reverse(f"console:{page}", kwargs={"namespace": "team", "repository": "app", **names})


@pytest.fixture
def drawn(repository):
    """Return the repository with a class that is saved by a function of another file."""
    user = symbol_fact("app/user.py", "User.save", line=10)
    user = dataclasses.replace(user, doc=HOSTILE, signature=f"def save(self, note='{HOSTILE}')")
    others = [
        symbol_fact("app/main.py", f"run{number}", line=10 * number) for number in range(1, 5)
    ]
    edges = [
        edge_fact("file:app/user.py", user.id, EdgeKind.CONTAINS),
        *(edge_fact("file:app/main.py", one.id, EdgeKind.CONTAINS) for one in others),
        *(edge_fact(one.id, user.id, line=3) for one in others),
    ]
    show(repository, snapshot(user, *others, edges=edges))
    services.lay_out_repository(repository_id=repository.pk)
    return repository


@pytest.mark.parametrize("page", PAGES)
def test_a_page_about_code_is_for_members(page, as_reader, as_outsider, drawn):
    assert as_reader.get(address(page)).status_code == 200
    assert as_outsider.get(address(page)).status_code == 404


@pytest.mark.usefixtures("drawn")
@pytest.mark.parametrize(
    ("page", "names", "shown"),
    [("symbol", {"node_id": USER}, "run1"), ("file", {"path": "app/user.py"}, "User.save")],
)
def test_a_symbol_and_a_file_are_for_members_of_their_namespace(
    page, names, shown, as_reader, as_outsider
):
    found = as_reader.get(address(page, **names))

    assert found.status_code == 200
    assert shown in found.content.decode()
    assert as_outsider.get(address(page, **names)).status_code == 404


def test_what_code_says_is_shown_and_never_run(as_reader, drawn):
    inspector = as_reader.get(address("graph-node"), {"id": USER}).content.decode()
    assert HOSTILE not in inspector
    page = as_reader.get(address("symbol", node_id=USER)).content.decode()
    assert HOSTILE not in page
    assert "&lt;script&gt;alert(1)" in page


def test_the_picture_is_columns_of_one_length(as_reader, drawn):
    columns = as_reader.get(address("graph-columns"), {"open": "all"}).json()

    lengths = {len(column) for column in columns["nodes"].values()}
    assert lengths == {7}
    assert USER in columns["nodes"]["id"]
    assert len(columns["edges"]["source"]) == 4
    assert columns["edge_kinds"] == ["CALLS"]


def test_groups_are_closed_when_that_is_asked_for_and_open_by_number(as_reader, drawn):
    closed = as_reader.get(address("graph-columns"), {"open": "none"}).json()
    assert set(closed["nodes"]["kind"]) == {"group"}

    number = closed["nodes"]["group"][0]
    opened = as_reader.get(address("graph-columns"), {"open": str(number)}).json()
    assert len(opened["nodes"]["id"]) > len(closed["nodes"]["id"])


def test_around_a_symbol_only_wanted_kinds_and_steps_are_drawn(as_reader, drawn):
    near = as_reader.get(address("graph-columns"), {"focus": USER, "edge": "CALLS"}).json()

    assert near["nodes"]["id"][0] == USER
    assert set(near["nodes"]["depth"]) == {0, 1}
    assert len(near["nodes"]["id"]) == 5


def test_the_table_holds_what_the_picture_shows(as_reader, drawn):
    page = as_reader.get(address("graph"), {"as": "table", "open": "all"}).content.decode()

    assert "7 of 7 nodes" in page
    assert "run1" in page


def test_the_inspector_tells_of_a_node_and_of_a_group(as_reader, drawn):
    node = as_reader.get(address("graph-node"), {"id": USER}).content.decode()
    assert "run1" in node
    closed = as_reader.get(address("graph-columns"), {"open": "none"}).json()
    group = as_reader.get(address("graph-node"), {"id": closed["nodes"]["id"][0]})
    assert "Open this group" in group.content.decode()


@pytest.mark.parametrize(
    "query",
    [
        {"focus": "sym:none#none"},
        {"focus": "none", "as": "table"},
        {"id": "group:99"},
    ],
)
def test_what_is_not_there_is_a_page_that_is_not_there(query, as_reader, drawn):
    page = "graph-node" if "id" in query else "graph"
    assert as_reader.get(address(page), query).status_code == 404


@pytest.mark.parametrize("value", ["x", "-", "9" * 30, "1,,2", "\u0663"])
def test_groups_that_are_none_open_nothing(value, as_reader, drawn):
    assert as_reader.get(address("graph-columns"), {"open": value}).status_code == 200


def test_a_time_that_nobody_knows_is_told_in_a_sentence(as_reader, drawn):
    found = as_reader.get(address("history-drift"), {"from": "yesterday"})

    assert found.status_code == 400
    assert "history" in found.content.decode()


def test_a_repository_without_a_picture_says_what_happens_next(as_reader, repository):
    page = as_reader.get(address("graph")).content.decode()

    assert "There is no picture yet" in page
    assert as_reader.get(address("graph-columns")).status_code == 400


def test_symbols_are_found_while_they_are_typed(as_reader, drawn):
    found = as_reader.get(address("symbols"), {"q": "run1"}).content.decode()
    assert "sym:app/main.py%23run1" in found
    typed = as_reader.get(address("graph-suggestions"), {"q": "run2"}).content.decode()
    assert "run2" in typed
