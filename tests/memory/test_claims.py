import pytest

from memory.claims import chosen, claims_of_answer, claims_of_prompt
from memory.values import MemoryType


@pytest.mark.parametrize(
    ("text", "kind", "content"),
    [
        ("Please always run ruff first.", "preference", "Always run ruff first."),
        ("I prefer small pull requests over large ones.", "preference", None),
        ("From now on use pnpm, not npm.", "preference", None),
        ("Fix it. And never add emojis to logs.", "preference", "Never add emojis to logs."),
        ("We never call the payment API inside a transaction.", "rule", None),
        ("In this repo, all migrations must be reversible.", "rule", None),
        ("We decided to store money in cents because floats round.", "decision", None),
        ("Ok, let's go with Redis, not Kafka.", "decision", "Let's go with Redis, not Kafka."),
    ],
)  # fmt: skip
def test_what_is_said_to_hold_is_a_claim(text, kind, content):
    (claim,) = claims_of_prompt(text, observation=7)
    assert claim.memory_type is MemoryType(kind)
    assert claim.observations == (7,)
    assert content is None or claim.content == content


@pytest.mark.parametrize(
    "text",
    [
        "Please fix the failing test in tests/test_cart.py.",
        "The test always fails on Mondays, have a look.",
        "Why do we always get two rows here?",
        "Never mind, go on.",
        "It has never worked on Windows.",
        "```\nalways use tabs in this file, never spaces\n```",
        "> always quote the header in replies to them",
        "I want you to add a button to the page.",
        "Add a column for the total and run the tests.",
    ],
)
def test_tasks_and_tales_are_no_claims(text):
    assert claims_of_prompt(text, observation=1) == []


def test_an_answer_claims_decisions_with_their_reason_only():
    text = "I chose a partial index because most rows are closed. I chose well. All tests pass."
    (claim,) = claims_of_answer(text, observation=3)
    assert claim.content == "I chose a partial index because most rows are closed."


def test_a_handful_is_chosen_none_twice():
    text = "\n".join(f"Always do thing number {number} before lunch." for number in range(9))
    claims = claims_of_prompt(text + "\n" + text, observation=1)
    assert len(claims) == 18
    assert len(chosen(claims, most=5)) == 3
