"""Store, recall, delete and associate as agents call them."""

from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from codemem.accounts.models import AuditEvent, User
from memory.context import make_contexts
from memory.extracting import citation
from memory.models import Memory
from tests.gateway import surfaces
from tests.gateway.examples import CHARGE, PLACE
from tests.gateway.surfaces import Answer
from tests.gateway.team import DECISION, Team

CONTENT = "Refunds go through `charge` with a negative amount."


def test_a_memory_is_stored_linked_and_recalled_with_its_reasons(team: Team) -> None:
    stored = _ask(team, "store_memory", content=CONTENT, memory_type="pattern", tags=["Money"])
    assert stored.content["action"] == "created"
    assert stored.content["embedded"] is True
    assert stored.content["linked"] == [CHARGE]
    hit = _ask(
        team, "recall", query="How do refunds work?", explain=True, include_impact=True
    ).content["results"][0]
    assert hit["id"] == stored.content["id"]
    assert (hit["author"], hit["tags"]) == ("olga", ["money"])
    assert len(hit["parts"]) == 9
    assert hit["impact"][0]["id"] == CHARGE
    assert hit["impact"][0]["dependents"] == 2


def test_the_same_words_again_change_nothing_but_say_so(team: Team) -> None:
    again = _ask(team, "store_memory", content=DECISION, memory_type="decision", tags=["new"])
    assert again.content["action"] == "updated"
    assert again.content["id"] == str(team.decision)
    assert again.content["added_tags"] == ["new"]


def test_nothing_answers_a_question_about_something_else(team: Team) -> None:
    assert _ask(team, "recall", query="Which wine goes with oysters?").content["results"] == []


def test_a_deleted_memory_is_not_recalled_and_its_deletion_is_on_record(team: Team) -> None:
    deleted = _ask(team, "delete_memory", id=str(team.decision), reason="Wrong.")
    assert deleted.content["state"] == "retired"
    assert DECISION not in _ask(team, "recall", query="How are invoice totals rounded?").text
    event = AuditEvent.objects.get(action="memory.delete", target=str(team.decision))
    assert (event.actor, event.detail) == ("olga", {"reason": "Wrong."})


def test_deleting_twice_is_deleting_once(team: Team) -> None:
    answers = [_ask(team, "delete_memory", id=str(team.decision)) for _ in range(2)]
    assert answers[0] == answers[1]


def test_a_writer_deletes_own_memories_and_a_maintainer_all(team: Team) -> None:
    stored = _ask(team, "store_memory", content=CONTENT).content["id"]

    def delete(user: User) -> str:
        token = team.token(user)
        return surfaces.over_rest(token=token, tool="delete_memory", arguments={"id": stored}).code

    assert delete(team.writer) == "right_missing"
    assert delete(team.maintainer) == "ok"


def test_associated_memories_are_reached_by_expanding(team: Team) -> None:
    ends = {"source_id": str(team.note), "target_id": str(team.decision)}
    tied = _ask(team, "associate_memories", relationship="DEPENDS_ON", **ends)
    # The ids say which namespace is meant.
    assert tied.content["scope"]["namespace"] == "team"
    hits = _ask(team, "recall", query="May checkout charge twice?", expand=True, k=1).content
    assert [hit["id"] for hit in hits["results"]] == [str(team.note), str(team.decision)]
    assert hits["results"][1]["path"]


def test_a_symbol_and_a_memory_are_tied_both_ways(team: Team) -> None:
    tied = _ask(
        team,
        "associate_memories",
        source_id="sym:app/web.py#checkout",
        target_id=str(team.decision),
        relationship="IMPLEMENTS",
    )
    assert tied.code == "ok"
    told = _ask(team, "get_symbol_info", qualified_name="checkout").content
    assert str(team.decision) in {memory["id"] for memory in told["memories"]}


def test_a_node_is_not_tied_to_itself(team: Team) -> None:
    ends = {"source_id": str(team.note), "target_id": str(team.note)}
    answer = _ask(team, "associate_memories", relationship="DEPENDS_ON", **ends)
    assert answer.code == "invalid_arguments"


def _ask(team: Team, name: str, **arguments: Any) -> Answer:
    place = {} if name == "delete_memory" else PLACE
    return surfaces.over_rest(
        token=team.token(team.owner), tool=name, arguments={**place, **arguments}
    )


def test_short_answers_come_with_what_was_said_around_them(team: Team) -> None:
    question = "Should invoices of refunds be numbered apart? " * 3
    for content in (question, "Refund numbering: yes, do that, from March on."):
        _ask(team, "store_memory", content=content, memory_type="insight", session_id="one")
    make_contexts(limit=100)
    asked = {"query": "refund numbering from March on", "k": 1}
    (hit,) = _ask(team, "recall", **asked).content["results"]
    (before,) = hit["neighbors"]
    assert (before["steps"], before["content"]) == (-1, question.strip())
    assert before["author"] == "olga"
    (bare,) = _ask(team, "recall", **asked, neighbors=False).content["results"]
    assert "neighbors" not in bare
    index = _ask(team, "recall", **asked, mode="index").content
    assert "numbered apart" not in str(index)


def test_what_was_said_around_counts_in_the_budget_and_gives_way_first(team: Team) -> None:
    question = "Should invoices of refunds be numbered apart? " * 5
    for content in (question, "Refund numbering: yes, do that, from March on."):
        _ask(team, "store_memory", content=content, memory_type="insight", session_id="one")
    make_contexts(limit=100)
    asked = {"query": "refund numbering from March on", "k": 1}
    whole = _ask(team, "recall", **asked, max_tokens=200).content
    assert whole["results"][0]["neighbors"]
    assert whole["tokens"] == 12 + 58
    small = _ask(team, "recall", **asked, max_tokens=60).content
    assert "neighbors" not in small["results"][0]
    assert small["tokens"] == 12


def test_times_in_an_answer_are_told_as_they_were_meant(team: Team) -> None:
    _ask(team, "store_memory", content="Refund codes were renamed last year.")
    (hit,) = _ask(team, "recall", query="when were refund codes renamed", k=1).content["results"]
    assert hit["times"] == {"last year": str(datetime.fromisoformat(hit["created_at"]).year - 1)}


def test_a_memory_is_named_by_the_end_of_its_id_as_texts_cite_it(team: Team) -> None:
    cited = citation(team.decision)
    for ending in (cited, cited.strip("[]").upper()):
        answer = _ask(team, "mark_memory", id=ending, mark="helpful")
        assert answer.content["memory"]["id"] == str(team.decision)
    other = _ask(team, "store_memory", content=CONTENT, supersedes=[cited])
    assert other.content["superseded"] == [str(team.decision)]


def test_what_one_may_not_see_has_no_short_name(team: Team) -> None:
    for memory_id in (team.foreign_note, uuid4()):
        ending = str(memory_id)[-8:]
        error = _ask(team, "mark_memory", id=ending, mark="helpful").content["error"]
        assert error["code"] == "not_found"
        assert ending in error["message"]


def test_a_short_name_that_two_memories_share_names_none(team: Team) -> None:
    ids = [UUID(f"0190000{number}-0000-7000-8000-0000feedbeef") for number in (1, 2)]
    for number, memory_id in enumerate(ids, 10**9):
        copy = Memory.objects.get(pk=team.decision)
        copy.pk, copy.number, copy.content = memory_id, number, f"Kept apart: {memory_id}."
        copy.content_hash = memory_id.bytes * 2
        copy._state.adding = True
        copy.save()
    error = _ask(team, "mark_memory", id="feedbeef", mark="helpful").content["error"]
    assert error["code"] == "citation_ambiguous"
