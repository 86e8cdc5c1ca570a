"""Questions about a branch, and about what one is editing: what answers, and for whom."""

from dataclasses import replace
from typing import Any

import pytest

from codemem.accounts.models import User
from graph import queries as graph
from graph import services
from graph.values import Delta
from tests import factories
from tests.gateway import surfaces
from tests.gateway.surfaces import Answer
from tests.gateway.team import Team, billing


@pytest.fixture
def branch(team: Team) -> Team:
    """Index a branch that changes a function, adds a caller and removes a file."""
    put(team, ref_name="topic")
    return team


def put(team: Team, *, ref_name: str, owner: User | None = None) -> None:
    base = graph.newest_revision(repository_id=team.repository.pk)
    assert base is not None
    known = {symbol.local_name: symbol for symbol in billing().symbols}
    refund = factories.symbol_fact("app/refund.py", "refund")
    charge = replace(known["charge"], doc="Take the money, later.", start_line=30, end_line=34)
    services.put_delta(
        repository_id=team.repository.pk,
        ref_name=ref_name,
        base_revision=base.id,
        owner_id=owner.pk if owner else None,
        delta=Delta(
            commit="b" * 40,
            committed_at=2_000,
            files=(
                factories.file_fact("app/billing.py", blob="2"),
                factories.file_fact("app/refund.py"),
            ),
            symbols=(known["Invoice"], known["Invoice.total"], charge, refund),
            edges=(
                factories.edge_fact(refund.id, charge.id, line=2),
                factories.edge_fact(charge.id, known["Invoice.total"].id, line=32),
            ),
            removed=("app/web.py", "tests/test_billing.py"),
        ),
    )


def test_a_branch_is_answered_as_its_checkout_would_be(branch: Team) -> None:
    told = _ask(branch, "get_symbol_graph", qualified_name="charge", direction="in", ref="topic")
    users = [edge["node"]["id"] for edge in told.content["edges"]]
    assert users == ["sym:app/refund.py#refund"]
    assert told.content["symbol"]["start_line"] == 30
    code = told.content["code"]
    assert (code["ref"], code["indexed_commit"], code["behind"]) == ("topic", "b" * 40, False)

    main = _ask(branch, "get_symbol_graph", qualified_name="charge", direction="in")
    assert "sym:app/refund.py#refund" not in repr(main.content)
    assert len(main.content["edges"]) == 3


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("get_symbol_info", {"qualified_name": "checkout"}),
        ("get_symbol_graph", {"qualified_name": "checkout"}),
        ("graph_traverse", {"start_id": "sym:app/web.py#checkout"}),
        ("summary_tree", {"start_id": "file:app/web.py"}),
    ],
)
def test_what_a_branch_removed_is_not_found_on_it(
    branch: Team, tool: str, arguments: dict[str, Any]
) -> None:
    assert _ask(branch, tool, **arguments, ref="topic").code == "not_found"
    assert _ask(branch, tool, **arguments).code == "ok"


def test_searches_walks_and_trees_read_the_branch(branch: Team) -> None:
    found = _ask(branch, "search_code", query="later", mode="text", ref="topic").content
    assert [hit["id"] for hit in found["results"]] == ["sym:app/billing.py#charge"]
    assert _ask(branch, "search_code", query="later", mode="text").content["results"] == []
    start = "sym:app/refund.py#refund"
    walk = _ask(branch, "graph_traverse", start_id=start, direction="out", ref="topic").content
    assert [visit["id"] for visit in walk["visits"]] == [
        start,
        "sym:app/billing.py#charge",
        "sym:app/billing.py#Invoice.total",
    ]
    tree = _ask(branch, "summary_tree", ref="topic").content["tree"]
    assert "app/refund.py" in repr(tree)
    assert "app/web.py" not in repr(tree)


def test_a_branch_that_is_not_indexed_says_what_to_do(team: Team) -> None:
    answer = _ask(team, "get_symbol_info", qualified_name="charge", ref="elsewhere")

    assert answer.code == "ref_not_indexed"
    assert "codemem index" in answer.content["error"]["hint"]


def test_the_branch_of_the_connection_is_answered_for_when_it_is_indexed(branch: Team) -> None:
    headers = {"Codemem-Ref": "topic"}
    answer = _ask(branch, "get_symbol_info", headers, qualified_name="refund")
    assert answer.content["code"]["ref"] == "topic"

    services.forget_branch(repository_id=branch.repository.pk, ref_name="topic")
    answer = _ask(branch, "get_symbol_info", headers, qualified_name="charge")
    assert answer.content["code"]["ref"] == "main"
    assert "topic is not indexed" in answer.content["code"]["note"]


def test_a_private_work_tree_is_seen_by_its_user_and_by_nobody_else(team: Team) -> None:
    put(team, ref_name="worktree:laptop", owner=team.writer)
    question: dict[str, Any] = {"qualified_name": "refund", "ref": "worktree:laptop"}

    mine = _ask(team, "get_symbol_info", who=team.writer, **question)
    assert mine.content["symbol"]["id"] == "sym:app/refund.py#refund"
    assert mine.content["code"]["ref"] == "worktree:laptop"

    for other in (team.owner, team.maintainer, team.reader):
        foreign = _ask(team, "get_symbol_info", who=other, **question)
        unknown = _ask(team, "get_symbol_info", who=other, **question | {"ref": "worktree:none"})
        assert foreign.code == unknown.code == "ref_not_indexed"
        assert "refund.py" not in repr(foreign.content)
        headers = {"Codemem-Ref": "worktree:laptop"}
        fallen_back = _ask(team, "get_symbol_info", headers, who=other, qualified_name="refund")
        assert fallen_back.code == "not_found"


def _ask(
    team: Team,
    tool: str,
    headers: dict[str, str] | None = None,
    *,
    who: User | None = None,
    **arguments: Any,
) -> Answer:
    token = factories.make_token(who or team.owner).secret
    return surfaces.over_rest(
        token=token,
        tool=tool,
        arguments={"repository": "app", "namespace": "team", **arguments},
        headers=headers,
    )
