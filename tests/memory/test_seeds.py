"""What a repository says of itself: which statements are taken, of what type, and what is left."""

import pytest

from memory.seeds import Document, PastCommit, Seed, seeds_of, wanted
from memory.values import MemoryType

RECORD = """\
# 3. Use Postgres as the queue

Status: Accepted

## Context
Two stores get out of step.

## Considered Options
- Redis: loses jobs on restart.
- Postgres

## Decision
Jobs are rows, claimed with SKIP LOCKED.

## Consequences
One store.
"""


def of(path: str, text: str) -> list[Seed]:
    return seeds_of([Document(path=path, text=text)], [])


def commit(subject: str, body: str = "", *paths: str, sha: str = "a" * 40) -> PastCommit:
    return PastCommit(sha=sha, subject=subject, body=body, paths=paths or ("src/a.py",))


@pytest.mark.parametrize(
    "path",
    [
        "CLAUDE.md",
        "AGENTS.md",
        "packages/web/AGENTS.md",
        "GEMINI.md",
        ".cursorrules",
        ".windsurfrules",
        ".cursor/rules/python.mdc",
        ".github/copilot-instructions.md",
        "docs/adr/0003-queue.md",
        "doc/decisions/queue.md",
        "docs/architecture/decisions/0001.md",
        "README.md",
        "CONTRIBUTING.rst",
        "docs/design.md",
    ],
)
def test_documents_that_speak_to_developers_are_read(path: str) -> None:
    assert wanted(path)


@pytest.mark.parametrize(
    "path",
    [
        "src/app.py",
        "docs/usage.md",
        "docs/adr/README.md",
        "docs/adr/template.md",
        "node_modules/x/README.md",
        "node_modules/x/CLAUDE.md",
        "a/b/c/d/e/AGENTS.md",
        "docs/testing.rst",
        "LICENSE",
        ".env",
    ],
)
def test_others_are_not(path: str) -> None:
    assert not wanted(path)


def test_an_instruction_is_a_rule_and_a_command_a_procedure() -> None:
    text = "# Testing\n\n- Never mock the database.\n- Ok.\n\n```sh\nmake test\n```\n"
    rule, procedure = of("CLAUDE.md", text)
    assert (rule.memory_type, rule.content) == (
        MemoryType.RULE,
        "Testing: Never mock the database.",
    )
    assert (rule.path, rule.first_line) == ("CLAUDE.md", 3)
    assert procedure.memory_type is MemoryType.PROCEDURE
    assert "make test" in procedure.content


def test_the_same_rule_in_two_files_is_one() -> None:
    files = [
        Document(path=path, text="- Never push to main.") for path in ("CLAUDE.md", "AGENTS.md")
    ]
    assert len(seeds_of(files, [])) == 1


def test_a_record_gives_its_decision_with_reasons_and_what_was_turned_down() -> None:
    (seed,) = of("docs/adr/0003-queue.md", RECORD)
    assert seed.memory_type is MemoryType.DECISION
    assert seed.content == "Use Postgres as the queue: Jobs are rows, claimed with SKIP LOCKED."
    assert seed.rationale == "Two stores get out of step."
    assert seed.alternatives == ({"option": "Redis", "reason": "loses jobs on restart."},)
    assert seed.first_line == 13


@pytest.mark.parametrize("status", ["Superseded by 7", "Deprecated", "Rejected", "Draft"])
def test_a_record_that_does_not_hold_gives_nothing(status: str) -> None:
    assert of("docs/adr/0003-queue.md", RECORD.replace("Accepted", status)) == []
    below = RECORD.replace("Status: Accepted", f"## Status\n\n{status}")
    assert of("docs/adr/0003-queue.md", below) == []


def test_a_guide_gives_what_binds_and_a_readme_what_it_is() -> None:
    guide = "# Style\nWe like blue.\n\nPublic functions must have a docstring.\n"
    assert [one.memory_type for one in of("CONTRIBUTING.md", guide)] == [MemoryType.RULE]
    readme = "# x\n\nx is a small tool for queues.\n\nIt is fast and it is free.\n"
    assert [one.content for one in of("README.md", readme)] == ["x: x is a small tool for queues."]


def test_a_revert_with_a_reason_is_a_failure() -> None:
    reverts = commit(
        'Revert "Switch to crossbeam" (#12)',
        "This reverts commit 0123456789abcdef.\n\nIt was three times slower on Windows.\n",
    )
    (seed,) = seeds_of([], [reverts, commit('Revert "x"', "This reverts commit 0123456789.")])
    assert seed.memory_type is MemoryType.FAILURE
    assert seed.content.startswith("“Switch to crossbeam” was reverted: It was three times slower")


def test_a_break_and_a_reason_are_decisions_and_a_reasoned_fix_is_a_fix() -> None:
    found = seeds_of(
        [],
        [
            commit("feat!: drop v1", "BREAKING CHANGE: Clients must send v2.\n", sha="a" * 40),
            commit("Pin urllib3 (#4)", "Because 2.0 breaks our proxies.", sha="b" * 40),
            commit("Fix retries", "It failed because the clock was naive.", sha="c" * 40),
            commit("Bump x", "Because dependabot said so to us.", sha="d" * 40),
            commit("Tidy", "Moved some things around in here.", sha="e" * 40),
        ],
    )
    assert [(one.memory_type, one.content) for one in found] == [
        (MemoryType.DECISION, "feat!: drop v1. Breaking: Clients must send v2. (src/a.py)"),
        (MemoryType.DECISION, "Pin urllib3: Because 2.0 breaks our proxies. (src/a.py)"),
        (MemoryType.FIX, "Fix retries: It failed because the clock was naive. (src/a.py)"),
    ]


def test_what_is_mended_again_and_again_is_told_once() -> None:
    fixes = [commit(f"fix case {number}", "", sha=f"{number:040d}") for number in range(5)]
    (seed,) = seeds_of([], fixes, paths=["src/a.py"])
    assert seed.content == "src/a.py was mended 5 times. Last: fix case 0; fix case 1; fix case 2."
    assert seeds_of([], fixes[:3]) == []


def test_what_commits_say_of_files_that_are_gone_is_past() -> None:
    said = commit("Use pytz", "Because Python 2 has no time zones.", "old/tests.py")
    assert seeds_of([], [said], paths=["src/a.py"]) == []


def test_no_source_crowds_out_the_others() -> None:
    rules = "".join(f"- Never do thing number {number} again.\n" for number in range(500))
    found = seeds_of(
        [Document(path="CLAUDE.md", text=rules), Document(path="docs/adr/1.md", text=RECORD)], []
    )
    assert len(found) == 81
    assert {one.source for one in found} == {"instructions", "decision"}


def test_the_key_is_of_the_words_and_their_place() -> None:
    one, other = (
        of("CLAUDE.md", "- Never push to main."),
        of("CLAUDE.md", "\n\n- Never push to main."),
    )
    assert one[0].key == other[0].key
    assert one[0].key != of("AGENTS.md", "- Never push to main.")[0].key


@pytest.mark.parametrize(
    "text", ["", "\0", "# only\n", "@AGENTS.md\n", "- \n" * 500, "x" * 100_000]
)
def test_documents_without_statements_give_none(text: str) -> None:
    for path in ("CLAUDE.md", "docs/adr/1.md", "CONTRIBUTING.md", "README.md"):
        assert all(len(seed.content) < 2_000 for seed in of(path, text))
