"""Tools for work that goes on: what an agent is shown at the start, and who it may hand over to."""

from typing import Any

import pytest

from codemem.accounts.models import User
from codemem.gateway import tool
from memory.models import Checkpoint, Handoff, Session
from tests.factories import NOW
from tests.gateway import surfaces
from tests.gateway.examples import PLACE
from tests.gateway.surfaces import Answer
from tests.gateway.team import DECISION, LEFT, WORK, Team, remember

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]

# Every name of the reference system (codemem 1.x), and the two that it left out of its list.
REFERENCE = """
    store_memory recall delete_memory associate_memories refine_memory split_memory merge_memories
    graph_traverse summary_tree codemem_status search_code get_symbol_info get_symbol_graph
    find_important_nodes find_related_groups get_cross_repo
    get_node_memories node_coverage
    consolidate detect_patterns get_decision_chain
    list_namespaces namespace_stats delete_namespace
    session_checkpoint session_context
    review_diff what_changed graph_at_time find_stale_files detect_drift symbol_history
    test_impact cycles
""".split()


def ask(team: Team, name: str, user: User | None = None, **arguments: object) -> Answer:
    return surfaces.over_rest(
        token=team.token(user or team.owner), tool=name, arguments={**PLACE, **arguments}
    )


def told(team: Team, name: str, user: User | None = None, **arguments: object) -> dict[str, Any]:
    answer = ask(team, name, user, **arguments)
    assert not answer.is_error, answer.text
    content: dict[str, Any] = answer.content
    return content


def test_there_are_thirty_two_names_and_two() -> None:
    assert len(REFERENCE) == len(set(REFERENCE)) == 34


@pytest.mark.parametrize("name", REFERENCE)
def test_every_tool_of_the_reference_is_there(name: str) -> None:
    assert tool.find_tool(name).description


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("session_checkpoint", {"session_id": "session-1", "namespace": "team"}),
        ("session_context", {"namespace": "team", "k": 3}),
    ],
)
def test_they_take_the_arguments_of_the_reference(
    name: str, arguments: dict[str, Any], team: Team
) -> None:
    answer = ask(team, name, **arguments)
    # Nothing was captured of the session, so there is nothing to read a checkpoint from.
    assert answer.code == ("invalid_arguments" if name == "session_checkpoint" else "ok")


def test_every_description_says_when_to_use_the_tool() -> None:
    for item in tool.registry().values():
        assert len(item.description) > 60, item.name
        assert len(item.description) < 520, item.name


# --- session_checkpoint ---------------------------------------------------------------------------
def test_a_checkpoint_goes_to_the_only_live_session(team: Team) -> None:
    kept = told(team, "session_checkpoint", summary="Half done.", next_steps=["The rest."])
    assert Checkpoint.objects.get().session.client_session_id == "session-1"
    assert kept["next_steps"] == ["The rest."]
    assert kept["captured"] == {"prompts": 0, "reads": 0, "changes": 0, "failures": 0}


def test_which_of_several_sessions_must_be_said(team: Team) -> None:
    told(team, "session_checkpoint", session_id="another", summary="Begun.")
    answer = ask(team, "session_checkpoint", summary="Half done.")
    assert answer.code == "ambiguous"
    assert "another" in answer.content["error"]["message"]


def test_an_agent_without_a_session_names_one(team: Team) -> None:
    answer = ask(team, "session_checkpoint", team.writer, summary="Half done.")
    assert answer.code == "invalid_arguments"
    assert "session_id" in answer.content["error"]["message"]
    told(team, "session_checkpoint", team.writer, session_id="mine", summary="Half done.")
    assert Session.objects.get(client_session_id="mine").user == team.writer


def test_nobody_writes_to_another_users_session(team: Team) -> None:
    told(team, "session_checkpoint", team.writer, session_id="session-1", summary="Mine.")
    assert Checkpoint.objects.get().session.user == team.writer


# --- session_context ------------------------------------------------------------------------------
def test_what_a_session_begins_with_comes_newest_first(team: Team) -> None:
    remember(team.writer, team.repository, "Deploys wait for green.")
    seen = told(team, "session_context", k=2)
    assert seen["newest"][0]["line"] == "Deploys wait for green."
    assert len(seen["newest"]) == 2
    assert [item["title"] for item in seen["work"]] == [WORK]
    assert [offer["id"] for offer in seen["offers"]] == [str(team.handoff)]
    assert LEFT not in str(seen)
    assert seen["counts"]["memories"] == 3


def test_it_tells_how_the_last_session_ended(team: Team) -> None:
    told(team, "session_checkpoint", session_id="session-1", summary="Rounding is done.")
    Session.objects.filter(client_session_id="session-1").update(ended_at=NOW)
    last = told(team, "session_context")["last_session"]
    assert last["summary"] == "Rounding is done."
    assert "last_session" not in told(team, "session_context", team.writer)


def test_a_colleague_sees_neither_work_nor_offers_of_others(team: Team) -> None:
    seen = told(team, "session_context", team.maintainer)
    assert "work" not in seen
    assert "offers" not in seen
    assert seen["counts"]["work"] == seen["counts"]["offers"] == 0


# --- handoff --------------------------------------------------------------------------------------
def test_work_goes_to_a_colleague_who_reads_it_by_claiming(team: Team) -> None:
    left = told(
        team, "handoff", operation="write", summary="Refunds next.", to="walter", files=["a.py"]
    )
    (offer,) = told(team, "handoff", team.writer)["offers"]
    assert offer["to_you"]
    assert "summary" not in offer
    got = told(team, "handoff", team.writer, operation="claim", id=offer["id"])
    assert got["handoff"]["summary"] == "Refunds next."
    assert "data" in got["note"]
    again = ask(team, "handoff", team.maintainer, operation="claim", id=left["handoff"]["id"])
    assert again.code == "not_found"


def test_a_session_is_tied_to_what_it_wrote_and_claimed(team: Team) -> None:
    told(team, "handoff", operation="claim", id=str(team.handoff), session_id="session-1")
    claimed = Handoff.objects.get(pk=team.handoff)
    assert claimed.claimed_in is not None
    assert claimed.claimed_in.client_session_id == "session-1"
    told(team, "handoff", operation="release", id=str(team.handoff))
    assert Handoff.objects.get(pk=team.handoff).state == "offered"
    told(team, "handoff", operation="cancel", id=str(team.handoff))
    answer = ask(team, "handoff", operation="claim", id=str(team.handoff))
    assert answer.code == "handoff_taken"


@pytest.mark.parametrize(
    "arguments",
    [
        {"operation": "claim"},
        {"operation": "write"},
        {"operation": "write", "id": "01920000-0000-7000-8000-00000000dead", "summary": "x"},
        {"operation": "write", "summary": "x", "to": "otto"},
        {"operation": "give"},
        {"operation": "claim", "id": "nothing"},
        {"sumary": "x"},
    ],
)
def test_a_handoff_that_says_too_little_or_wrong_is_refused(
    arguments: dict[str, Any], team: Team
) -> None:
    assert ask(team, "handoff", **arguments).code == "invalid_arguments"


@pytest.mark.parametrize("operation", ["claim", "release", "cancel"])
def test_another_users_handoff_is_like_none(operation: str, team: Team) -> None:
    nobodys = "01920000-0000-7000-8000-00000000dead"
    for user in (team.writer, team.outsider):
        place = {} if user is team.writer else {"namespace": None, "repository": None}
        asked: dict[str, Any] = {"operation": operation, **place}
        theirs = ask(team, "handoff", user, **asked, id=str(team.handoff))
        none = ask(team, "handoff", user, **asked, id=nobodys)
        assert theirs.code == "not_found"
        assert theirs.text.replace(str(team.handoff), nobodys) == none.text


# --- work -----------------------------------------------------------------------------------------
def test_work_is_opened_moved_on_and_completed(team: Team) -> None:
    opened = told(team, "work", operation="open", title="Refunds", remaining=["Tests"])
    key = opened["items"][0]["id"]
    told(team, "work", operation="update", id=key, done=["Code"], shared=True)
    (seen,) = told(team, "work", team.writer)["items"]
    assert (seen["done"], seen["remaining"]) == (["Code"], ["Tests"])
    assert told(team, "work", operation="complete", id=key)["items"][0]["state"] == "done"
    assert ask(team, "work", operation="update", id=key, done=["x"]).code == "state_unfit"
    assert told(team, "work", operation="resume", id=key)["items"][0]["state"] == "open"


def test_another_users_work_is_like_none(team: Team) -> None:
    nobodys = "01920000-0000-7000-8000-00000000dead"
    theirs = ask(team, "work", team.writer, operation="complete", id=str(team.work))
    none = ask(team, "work", team.writer, operation="complete", id=nobodys)
    assert theirs.code == "not_found"
    assert theirs.text.replace(str(team.work), nobodys) == none.text
    assert ask(team, "work", operation="pause").code == "invalid_arguments"


# --- mark_decision, mark_requirement --------------------------------------------------------------
def test_a_decision_keeps_what_was_turned_down_and_is_stored_once(team: Team) -> None:
    asked: dict[str, Any] = {
        "decision": "Refunds are negative charges.",
        "rationale": "One list of bookings.",
        "alternatives_rejected": [{"option": "A table of refunds", "reason": "Two truths."}],
        "tool_use_id": "toolu_1",
    }
    first = told(team, "mark_decision", **asked)
    assert (first["action"], first["memory_type"]) == ("created", "decision")
    assert told(team, "mark_decision", **asked)["id"] == first["id"]
    other = ask(team, "mark_decision", **{**asked, "decision": "Refunds are gifts."})
    assert other.code == "idempotency_key_reused"


def test_a_decision_takes_the_place_of_an_older_one(team: Team) -> None:
    made = told(
        team,
        "mark_decision",
        decision="Invoice totals are kept in tenths of cents.",
        rationale="Taxes.",
        supersedes=[str(team.decision)],
    )
    assert made["superseded"] == [str(team.decision)]
    assert DECISION not in str(told(team, "recall", query="invoice totals")["results"])


@pytest.mark.parametrize(("kind", "memory_type"), [("task", "requirement"), ("constraint", "rule")])
def test_what_is_asked_for_and_what_must_hold_are_kept_apart(
    kind: str, memory_type: str, team: Team
) -> None:
    kept = told(
        team,
        "mark_requirement",
        requirement=f"Refunds are booked within a day ({kind}).",
        kind=kind,
        acceptance_criteria=["A refund of Monday is in Tuesday's report."],
    )
    assert kept["memory_type"] == memory_type
