"""Questions about code as agents ask them."""

from typing import Any

import pytest

from tests.gateway import surfaces
from tests.gateway.examples import CHARGE
from tests.gateway.surfaces import Answer
from tests.gateway.team import Team

TOTAL = "sym:app/billing.py#Invoice.total"
CHECKOUT = "sym:app/web.py#checkout"
TEST = "sym:tests/test_billing.py#test_charge"


@pytest.mark.parametrize(
    "name", [TOTAL, "app.billing.Invoice.total", "Invoice.total", "total", "total()"]
)
def test_a_symbol_is_known_by_every_way_to_call_it(name: str, team: Team) -> None:
    told = _ask(team, "get_symbol_info", qualified_name=name).content
    assert told["symbol"]["id"] == TOTAL
    assert told["symbol"]["start_line"] == 10
    assert told["doc"] == "Sum in whole cents."
    assert told["dependents"] == 1
    assert str(team.decision) in {memory["id"] for memory in told["memories"]}


def test_what_a_symbol_uses_is_told_when_asked_for(team: Team) -> None:
    plain = _ask(team, "get_symbol_info", qualified_name="charge").content
    assert "dependencies" not in plain
    full = _ask(team, "get_symbol_info", qualified_name="charge", include_dependencies=True)
    (edge,) = full.content["dependencies"]
    assert (edge["relationship"], edge["direction"], edge["node"]["id"]) == ("CALLS", "out", TOTAL)
    assert edge["line"] == 22


def test_a_file_is_a_node_too(team: Team) -> None:
    told = _ask(team, "get_symbol_info", qualified_name="app/billing.py").content
    assert told["symbol"] == {
        "id": "file:app/billing.py",
        "kind": "file",
        "path": "app/billing.py",
        "rank_percentile": told["symbol"]["rank_percentile"],
    }


def test_callers_come_with_their_callers(team: Team) -> None:
    told = _ask(team, "get_symbol_graph", qualified_name="total", direction="in", depth=3).content
    assert [edge["node"]["id"] for edge in told["edges"] if edge["relationship"] == "CALLS"] == [
        CHARGE
    ]
    depths = {reached["id"]: reached["depth"] for reached in told["reachable"]}
    assert depths == {CHARGE: 1, CHECKOUT: 2, TEST: 2}
    assert told["truncated"] is False


def test_an_answer_that_is_cut_says_so(team: Team) -> None:
    told = _ask(team, "get_symbol_graph", qualified_name="charge", limit=1).content
    assert len(told["edges"]) == 1
    assert told["truncated"] is True


def test_an_ambiguous_name_is_answered_with_ids_to_choose_from(team: Team) -> None:
    from tests import factories
    from tests.gateway.team import show

    repository = factories.make_repository(team.namespace, "twice", created_by=team.owner)
    twins = [factories.symbol_fact(f"{letter}.py", "twin") for letter in "ab"]
    show(repository, factories.snapshot(*twins))
    answer = _ask(team, "get_symbol_info", repository="twice", qualified_name="twin")
    assert answer.code == "ambiguous"
    assert all(twin.id in answer.content["error"]["hint"] for twin in twins)


@pytest.mark.parametrize("mode", ["text", "hybrid"])
def test_a_search_finds_by_words(mode: str, team: Team) -> None:
    found = _ask(team, "search_code", query="take money", mode=mode).content["results"]
    assert found[0]["id"] == CHARGE


def test_a_search_keeps_to_its_filters(team: Team) -> None:
    found = _ask(team, "search_code", query="charge", mode="text", path_prefix="tests/").content
    assert [hit["id"] for hit in found["results"]] == [TEST]
    methods = _ask(team, "search_code", query="total", mode="text", kind="method").content
    assert [hit["id"] for hit in methods["results"]] == [TOTAL]


def test_a_walk_goes_from_code_to_memories_and_back(team: Team) -> None:
    walked = _ask(team, "graph_traverse", start_id=str(team.decision), max_depth=1).content
    start, *others = walked["visits"]
    assert (start["id"], start["kind"], start["depth"]) == (str(team.decision), "memory", 0)
    assert {TOTAL, "file:app/billing.py"} <= {visit["id"] for visit in others}
    assert all(visit["reached_from"] == str(team.decision) for visit in others)
    back = _ask(team, "graph_traverse", start_id=TOTAL, include_relationships=["RELATES_TO"])
    assert str(team.decision) in {visit["id"] for visit in back.content["visits"]}


def test_excluded_kinds_are_not_shown(team: Team) -> None:
    walked = _ask(team, "graph_traverse", start_id=CHARGE, exclude_kinds=["memory", "file"])
    kinds = {visit["kind"] for visit in walked.content["visits"]}
    assert kinds
    assert not kinds & {"memory", "file"}


def _ask(team: Team, name: str, **arguments: Any) -> Answer:
    place = {"namespace": "team", "repository": "app"}
    return surfaces.over_rest(
        token=team.token(team.owner), tool=name, arguments={**place, **arguments}
    )
