"""What a session leaves, read by rules from what was captured of it; and texts made fit to keep."""

import pytest

from memory.baton import (
    LONGEST_SUMMARY,
    MOST_PARTS,
    Baton,
    Happening,
    baton_of,
    cleaned_baton,
    next_steps_in,
)
from memory.wording import MemoryInvalid


def prompt(text: str, **changes: object) -> Happening:
    return Happening(kind="prompt", tier="S", content=text, **changes)  # type: ignore[arg-type]


def ran(command: str, *, failed: bool = False, output: str = "") -> Happening:
    return Happening(
        kind="tool_failure" if failed else "tool_use",
        tier="M",
        tool="Bash",
        command=command,
        content=output,
        is_failure=failed,
    )


def edited(*paths: str, failed: bool = False) -> Happening:
    return Happening(kind="tool_use", tier="M", tool="Edit", paths=paths, is_failure=failed)


def answered(text: str) -> Happening:
    return Happening(kind="stop", tier="S", content=text)


def test_it_tells_the_first_and_the_last_prompt_and_the_last_answer() -> None:
    baton = baton_of(
        [prompt("Add retries."), answered("Done?"), prompt("Now tests."), answered("Tests pass.")]
    )
    assert baton.summary == (
        "Asked first: Add retries.\n\nAsked last: Now tests.\n\nAnswered last: Tests pass."
    )


def test_a_session_of_one_prompt_quotes_it_once() -> None:
    assert baton_of([prompt("Add retries.")]).summary == "Asked first: Add retries."


def test_what_a_subagent_was_asked_is_not_what_the_person_asked() -> None:
    baton = baton_of([prompt("Add retries."), prompt("Find callers.", is_of_subagent=True)])
    assert "Find callers" not in baton.summary


def test_changed_files_come_most_changed_first_and_looks_are_not_changes() -> None:
    look = Happening(kind="tool_use", tier="L", tool="Read", paths=("c.py",))
    baton = baton_of(
        [edited("a.py"), edited("b.py"), look, edited("b.py"), edited("d.py", failed=True)]
    )
    assert baton.files == ("b.py", "a.py")


def test_a_validation_that_failed_when_it_last_ran_is_left_open() -> None:
    baton = baton_of(
        [
            ran("pytest -q", failed=True, output="E\nFAILED tests/a.py::test_b - assert 1 == 2\n"),
            ran("ruff check .", failed=True, output="bad"),
            ran("ruff check ."),
            ran("grep -r x .", failed=True),
        ]
    )
    assert baton.open_questions == (
        "Still failing: pytest -q: FAILED tests/a.py::test_b - assert 1 == 2",
    )
    assert baton.done == ("Passed at last: ruff check .",)


def test_a_validation_that_passes_later_is_no_more_open() -> None:
    baton = baton_of([ran("cargo test", failed=True, output="panic"), ran("cargo test")])
    assert baton.open_questions == ()


@pytest.mark.parametrize(
    ("answer", "steps"),
    [
        ("Done.\n\n## Next steps\n- Add docs\n- Run CI\n\nBye.", ("Add docs", "Run CI")),
        ("Remaining work:\n1. Wire it up\n2) Ship", ("Wire it up", "Ship")),
        ("**TODO**\n\n* [x] old\n* [ ] new one", ("new one",)),
        ("Next: run the migration on staging", ("run the migration on staging",)),
        ("What's left:\n\n- one", ("one",)),
        ("Next time we meet it rains.", ()),
        ("Nothing is left to do here.", ()),
        ("", ()),
    ],
)
def test_next_steps_are_those_that_the_answer_lists(answer: str, steps: tuple[str, ...]) -> None:
    assert next_steps_in(answer) == steps


def test_a_session_of_nothing_leaves_nothing() -> None:
    assert baton_of([]) == Baton()


def test_a_long_prompt_is_cut() -> None:
    summary = baton_of([prompt("x" * 9_000)]).summary
    assert len(summary) < 1_600
    assert summary.endswith("…")


def test_secrets_are_taken_out_of_every_text() -> None:
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    clean = cleaned_baton(Baton(summary=f"Use {secret}", done=(f"pushed {secret}",)))
    assert secret not in str(clean.baton)
    assert sum(clean.redactions.values()) == 2


@pytest.mark.parametrize(
    "baton",
    [
        Baton(),
        Baton(summary="  "),
        Baton(summary="x" * (LONGEST_SUMMARY + 1)),
        Baton(summary="x", done=("y" * 1_001,)),
        Baton(summary="x", next_steps=tuple(str(n) for n in range(MOST_PARTS + 1))),
    ],
)
def test_what_cannot_be_kept_is_refused_in_a_sentence(baton: Baton) -> None:
    with pytest.raises(MemoryInvalid, match=r"\w"):
        cleaned_baton(baton)
