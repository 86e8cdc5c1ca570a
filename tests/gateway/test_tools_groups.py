"""Questions about the shape of code as agents ask them."""

from typing import Any

from codemem.gateway.errors import ArgumentsInvalid
from graph import services as graph
from tests.gateway import surfaces
from tests.gateway.examples import CHARGE
from tests.gateway.surfaces import Answer
from tests.gateway.team import Team

TOTAL = "sym:app/billing.py#Invoice.total"
TEST = "sym:tests/test_billing.py#test_charge"


def test_the_tree_begins_at_the_root_and_counts(team: Team) -> None:
    tree = _ask(team, "summary_tree", max_depth=2).content["tree"]
    assert tree["symbol_count"] == 5
    assert {child["id"] for child in tree["children"]} == {"pkg:app/", "pkg:tests/"}


def test_the_most_important_nodes_come_first(team: Team) -> None:
    found = _ask(team, "find_important_nodes", kinds=["function", "method"]).content["results"]
    assert found[0]["id"] in {TOTAL, CHARGE}
    assert [one["pagerank"] for one in found] == sorted(
        (one["pagerank"] for one in found), reverse=True
    )


def test_what_matters_to_a_node_is_what_it_uses(team: Team) -> None:
    found = _ask(team, "find_important_nodes", near=["charge"]).content["results"]
    assert found[0]["id"] == TOTAL
    assert CHARGE not in {one["id"] for one in found}
    assert TEST not in {one["id"] for one in found}


def test_a_namespace_is_ranked_as_a_whole(team: Team) -> None:
    before = _ask(team, "find_important_nodes", across_namespace=True).content
    assert before["note"] == "This namespace is not ranked yet."
    graph.rank_namespace(namespace_id=team.namespace.pk)
    after = _ask(team, "find_important_nodes", across_namespace=True).content
    assert {one["repository"] for one in after["results"]} == {"app"}
    refused = _ask(team, "find_important_nodes", across_namespace=True, near=["charge"])
    assert refused.code == ArgumentsInvalid.code


def test_the_tests_of_a_change_are_listed_nearest_first(team: Team) -> None:
    told = _ask(team, "test_impact", symbols=["Invoice.total"]).content
    assert [test["id"] for test in told["direct_tests"]] == [TEST]
    assert told["direct_tests"][0]["depth"] == 2
    assert told["paths"] == ["tests/test_billing.py"]
    assert told["transitive_tests"] == []


def test_groups_and_cycles_of_small_code_are_few(team: Team) -> None:
    groups = _ask(team, "find_related_groups").content
    assert groups["total"] == len(groups["groups"]) >= 1
    assert all(member for group in groups["groups"] for member in group["members"])
    assert _ask(team, "cycles").content["cycles"] == []


def _ask(team: Team, name: str, **arguments: Any) -> Answer:
    place = {"namespace": "team", "repository": "app"}
    return surfaces.over_rest(
        token=team.token(team.owner), tool=name, arguments={**place, **arguments}
    )
