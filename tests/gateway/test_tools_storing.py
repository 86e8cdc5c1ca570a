"""What agents are told when they store: what was kept, taken out, close to it, refused."""

from typing import Any
from uuid import UUID

import pytest

from memory import queries
from memory.anchors import read_citation as citation_of_text
from memory.values import StoredMemory
from tests import factories
from tests.gateway import surfaces
from tests.gateway.examples import CHARGE, PLACE
from tests.gateway.surfaces import Answer
from tests.gateway.team import DECISION, Team
from tests.memory.secret_samples import secrets

pytestmark = pytest.mark.django_db


def ask(team: Team, tool: str, **arguments: object) -> Answer:
    return surfaces.over_rest(
        token=team.token(team.writer), tool=tool, arguments={**PLACE, **arguments}
    )


def stored(team: Team, **arguments: object) -> dict[str, Any]:
    answer = ask(team, "store_memory", **arguments)
    assert not answer.is_error, answer.text
    content: dict[str, Any] = answer.content
    return content


def row(team: Team, content: dict[str, Any]) -> StoredMemory:
    return queries.get_memory(
        caller=factories.caller_of(team.writer),
        memory_id=UUID(content["id"]),
        now=factories.NOW,
        include_inactive=True,
    )


def test_a_decision_is_kept_with_all_that_it_is_made_of(team: Team) -> None:
    content = stored(
        team,
        content="Refunds are booked as negative charges.",
        memory_type="decision",
        rationale="The books stay one list.",
        alternatives=[{"option": "a table of refunds", "reason": "two sources of truth"}],
        acceptance_criteria=["The sum of an invoice is the sum of its charges."],
        evidence=[{"kind": "file", "ref": "app/billing.py"}],
        session_id="s-1",
        model="opus",
        links=[CHARGE],
    )
    memory = row(team, content)
    assert memory.rationale == "The books stay one list."
    assert memory.alternatives[0]["option"] == "a table of refunds"
    assert memory.evidence == ({"kind": "file", "ref": "app/billing.py"},)
    assert (content["action"], content["visibility"]) == ("created", "repository")
    assert CHARGE in content["linked"]


def test_redactions_are_told_by_rule_and_count(team: Team) -> None:
    (_, token), *_ = secrets()["github-token"]
    content = stored(team, content=f"CI clones with {token}.")
    assert content["redactions"] == {"github-token": 1}
    assert token not in str(content)


def test_what_is_close_is_told_with_a_reason(team: Team) -> None:
    content = stored(team, content=f"{DECISION} No longer twice.", memory_type="decision")
    (kin,) = content["similar"]
    assert (kin["id"], kin["relation"]) == (str(team.decision), "update")
    assert "say supersedes" in kin["reason"]
    again = stored(
        team,
        content=f"{DECISION} No longer twice.",
        memory_type="decision",
        supersedes=[str(team.decision)],
    )
    assert (again["action"], again["superseded"]) == ("superseded", [str(team.decision)])


def test_a_batch_tells_of_each_item(team: Team) -> None:
    answer = ask(
        team,
        "store_memories",
        items=[
            {"content": "Tests of billing run twice.", "memory_type": "insight"},
            {"content": "Misspelt.", "memorytype": "insight"},
            {"content": " ", "memory_type": "insight"},
            {"content": "Elsewhere.", "namespace": "quagga-keepers"},
            {"content": DECISION, "memory_type": "decision"},
            {"content": "Bad anchor.", "anchors": ["../secret"]},
        ],
    )
    results = answer.content["results"]
    assert [item["action"] for item in results] == [
        "created",
        "rejected",
        "rejected",
        "rejected",
        "unchanged",
        "rejected",
    ]
    assert "memorytype" in results[1]["reason"]
    assert "for the whole call" in results[3]["reason"]
    assert results[4]["memory"]["id"] == str(team.decision)


@pytest.mark.parametrize(
    ("anchor", "cited"),
    [
        ("src/a.py", {"path": "src/a.py"}),
        ("src/a.py:10-20@abcdef1", {"start_line": 10, "end_line": 20, "commit": "abcdef1"}),
        ("src/a.py:7", {"start_line": 7, "end_line": 7}),
        ("sym:src/a.py#A.b", {"symbol": "sym:src/a.py#A.b", "path": "src/a.py"}),
        ("pkg:npm:@types/node", {"package": "pkg:npm:@types/node"}),
    ],
)
def test_code_is_cited_in_one_word(anchor: str, cited: dict[str, object]) -> None:
    found = citation_of_text(anchor)
    assert {name: getattr(found, name) for name in cited} == cited


def test_a_key_that_was_used_is_an_error_of_its_own(team: Team) -> None:
    stored(team, content="Once.", idempotency_key="k")
    answer = ask(team, "store_memory", content="Twice.", idempotency_key="k")
    assert answer.code == "idempotency_key_reused"


@pytest.mark.parametrize(
    ("headers", "agent"),
    [
        ({"User-Agent": "claude-code/2.1.3 (cli)"}, "claude-code 2.1.3"),
        ({"User-Agent": "python-httpx/0.27"}, ""),
        ({"User-Agent": "node"}, ""),
        ({"Codemem-Agent": "my-agent 1", "User-Agent": "curl/8"}, "my-agent 1"),
        ({}, ""),
    ],
)
def test_the_agent_is_known_by_what_it_says_of_itself(
    team: Team, headers: dict[str, str], agent: str
) -> None:
    answer = surfaces.send(
        "tools/call",
        {"name": "store_memory", "arguments": {**PLACE, "content": "Who wrote this?"}},
        token=team.token(team.writer),
        is_modern=False,
        headers=headers,
    )
    assert row(team, answer.json()["result"]["structuredContent"]).agent == agent
