"""Questions about time as agents ask them."""

from typing import Any

import pytest

from indexing.models import History
from tests.fakes import StoppedClock
from tests.gateway import surfaces
from tests.gateway.examples import CHARGE
from tests.gateway.past import FIRST, REQUEST, SECOND
from tests.gateway.surfaces import Answer
from tests.gateway.team import Team


@pytest.fixture(autouse=True)
def _clock(clock: StoppedClock) -> None:
    """The server's day is that of tests.factories.NOW."""


def test_commits_of_a_time_come_with_what_they_did(team: Team) -> None:
    told = _ask(team, "what_changed", **{"from": "2026-01-01"}).content
    (commit,) = told["commits"]
    assert commit["commit"] == SECOND
    assert commit["pull_request"] == {"number": REQUEST, "title": "Charge customers"}
    assert {"id": CHARGE, "change": "added"} in commit["symbols"]
    assert {file["id"] for file in commit["files"]} >= {"file:app/billing.py", "file:app/web.py"}
    assert told["history"] == {"commits_indexed": 2, "commits_total": 2, "complete": True}


def test_commits_may_name_the_ends_of_a_time(team: Team) -> None:
    told = _ask(team, "what_changed", **{"from": FIRST[:12], "to": SECOND}).content
    assert [commit["commit"] for commit in told["commits"]] == [SECOND]
    wrong = _ask(team, "what_changed", **{"from": SECOND, "to": FIRST})
    assert "exchange them" in wrong.content["error"]["message"]


def test_the_namespace_as_a_whole_may_be_asked(team: Team) -> None:
    told = surfaces.over_rest(
        token=team.token(team.reader),
        tool="what_changed",
        arguments={"namespace": "team", "from": "2025-01-01"},
    ).content
    assert told["total"] == 2
    assert told["scope"]["namespace"] == "team"


def test_a_time_before_the_first_commit_is_explained(team: Team) -> None:
    told = _ask(team, "what_changed", **{"from": "2020-01-01", "to": "2020-02-01"}).content
    assert told["commits"] == []
    assert "The first commit is of 2025-01-10" in told["note"]
    for name, arguments in (
        ("graph_at_time", {"at": "2020-01-01"}),
        ("detect_drift", {"from": "2020-01-01"}),
    ):
        answer = _ask(team, name, **arguments)
        assert answer.content["error"]["code"] == "invalid_arguments"
        assert "the first commit is of 2025-01-10" in answer.content["error"]["message"]


def test_a_time_in_which_nothing_happened_is_said_to_be_one(team: Team) -> None:
    told = _ask(team, "what_changed", **{"from": "2025-03-01", "to": "2025-04-01"}).content
    assert told["note"] == "No commit came to a default branch in that time."


@pytest.mark.parametrize("tool", ["what_changed", "detect_drift"])
def test_a_reversed_time_is_refused(team: Team, tool: str) -> None:
    answer = _ask(team, tool, **{"from": "2026-02-25", "to": "2025-06-01"})
    assert answer.content["error"]["code"] == "invalid_arguments"
    assert "exchange them" in answer.content["error"]["message"]


def test_the_graph_of_a_past_day_is_counted(team: Team) -> None:
    then = _ask(team, "graph_at_time", at="2025-06-30").content
    now = _ask(team, "graph_at_time", at=SECOND[:8]).content
    assert then["at"]["commit"] == FIRST
    assert then["nodes"] == {"file": 1, "class": 1, "method": 1}
    assert now["nodes"]["file"] == 3
    assert now["edges"]["CALLS"] >= 2
    assert now["live_nodes"] == sum(now["nodes"].values())


def test_a_past_symbol_graph_has_the_callers_of_that_day(team: Team) -> None:
    told = _ask(
        team, "get_symbol_graph", qualified_name="charge", at="2026-02-28", direction="in", depth=2
    ).content
    assert told["at"]["commit"] == SECOND
    callers = {edge["node"]["id"] for edge in told["edges"] if edge["relationship"] == "CALLS"}
    assert callers == {"sym:app/web.py#checkout", "sym:tests/test_billing.py#test_charge"}
    before = _ask(team, "get_symbol_graph", qualified_name="charge", at="2025-06-30")
    assert before.content["error"]["code"] == "not_found"
    assert "2025-01-10" in before.content["error"]["message"]


def test_a_past_graph_is_walked(team: Team) -> None:
    told = _ask(
        team, "graph_traverse", start_id=CHARGE, at=SECOND, direction="in", max_depth=1
    ).content
    assert {visit["id"] for visit in told["visits"]} >= {CHARGE, "sym:app/web.py#checkout"}
    memory = _ask(team, "graph_traverse", start_id=str(team.decision), at=SECOND)
    assert memory.content["error"]["code"] == "not_found"


def test_old_files_that_much_depends_on_are_found(team: Team) -> None:
    told = _ask(team, "find_stale_files", stale_days=5).content
    assert told["total_stale"] == len(told["files"]) == 3
    assert told["files"][0]["path"] == "app/billing.py"
    assert told["files"][0]["last_changed"].startswith("2026-02-20")


def test_a_window_that_is_too_long_hides_nothing(team: Team) -> None:
    told = _ask(team, "find_stale_files", stale_days=3650).content
    assert told["total_stale"] == 0
    assert len(told["files"]) == 3
    assert "No file is older than 3650 days" in told["note"]


def test_drift_compares_two_real_graphs(team: Team) -> None:
    told = _ask(team, "detect_drift", **{"from": FIRST, "to": SECOND}).content
    assert told["added_files"] == ["app/web.py", "tests/test_billing.py"]
    assert told["removed_files"] == []
    calls = {
        (edge["source"], edge["target"])
        for edge in told["new_cross_module_edges"]
        if edge["relationship"] == "CALLS"
    }
    assert calls == {("sym:tests/test_billing.py#test_charge", CHARGE)}
    (coupling,) = told["coupling_changes"]
    assert (coupling["source_module"], coupling["target_module"]) == ("tests", "app")
    assert coupling["before"] == 0
    assert coupling["after"] == told["new_cross_module_total"]
    assert told["hotspots"][0] == {"path": "app/billing.py", "commits": 2}


def test_a_symbol_tells_its_history(team: Team) -> None:
    told = _ask(team, "symbol_history", node_id="charge").content
    (event,) = told["events"]
    assert (event["commit"], event["author"]) == (SECOND, "Ada")
    assert event["change"] == {"id": CHARGE, "change": "added"}
    assert event["pull_request"]["number"] == REQUEST
    assert told["valid_from"]["commit"] == SECOND
    assert "valid_to" not in told


def test_a_symbol_says_since_when_it_is_there(team: Team) -> None:
    told = _ask(team, "get_symbol_info", qualified_name="Invoice.total").content
    assert told["valid_from"]["commit"] == FIRST
    assert told["last_changed"]["commit"] == FIRST


def test_a_history_under_way_says_how_far_it_is(team: Team) -> None:
    History.objects.update(commits_total=5)
    told = _ask(team, "symbol_history", node_id=CHARGE).content
    assert told["history"]["complete"] is False
    History.objects.all().delete()
    for name, arguments in (("graph_at_time", {"at": "2025-06-30"}), ("find_stale_files", {})):
        answer = _ask(team, name, **arguments)
        assert answer.content["error"]["code"] == "past_unavailable"


def _ask(team: Team, tool: str, **arguments: Any) -> Answer:
    place = {"namespace": "team", "repository": "app"}
    return surfaces.over_rest(
        token=team.token(team.reader), tool=tool, arguments={**place, **arguments}
    )
