"""What is kept of an event: tiers, caps, paths, secrets, keys. Nothing here touches a database."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memory.events import Checkout, Doing, EventKind, HookEvent, ToolUse
from memory.observed import MAXIMUM_BYTES, Rules, is_ignored, observe, relative_path, title_of

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
RULES = Rules(root="/home/w/app", ignored=(".env", "*.pem", "secrets/"), started_at=NOW)
KEY = "ghp_" + "a1B2c3D4e5" * 4


def event(kind=EventKind.TOOL_USE, **fields):
    return HookEvent(
        agent="claude-code", kind=kind, session_id="s", source_event=kind.value, **fields
    )


def used(doing, **fields):
    return event(tool=ToolUse(name=fields.pop("name", "Tool"), doing=doing, **fields))


def observed(an_event, at=NOW, rules=RULES):
    return observe(an_event, rules=rules, at=at)


def test_a_prompt_is_substance_and_stays_whole():
    kept = observed(event(EventKind.PROMPT, prompt="Fix it"))
    assert (kept.tier, kept.content) == ("S", "Fix it")


def test_of_a_look_only_what_it_looked_at_is_kept():
    kept = observed(
        used(Doing.READ, paths=("/home/w/app/a.py",), arguments={"pattern": "x"}, output="y" * 99)
    )
    assert (kept.tier, kept.paths, kept.content) == ("L", ("a.py",), "x")


def test_an_edit_is_kept_as_what_it_took_and_put():
    kept = observed(used(Doing.EDIT, arguments={"old_string": "a\nb", "new_string": "c"}))
    assert (kept.tier, kept.content) == ("M", "- a\n- b\n+ c")


def test_a_failure_is_substance_with_its_end():
    output = "start\n" + "x" * 50_000 + "\nAssertionError: at the end"
    kept = observed(used(Doing.RUN, command="pytest", output=output, is_failure=True))
    assert kept.tier == "S"
    assert kept.content.startswith("start\n")
    assert kept.content.endswith("AssertionError: at the end")
    assert len(kept.content.encode()) <= MAXIMUM_BYTES
    assert kept.original_bytes > 50_000


@pytest.mark.parametrize("size", [100, 9_000, 30_000, 5_000_000])
def test_a_row_holds_eight_kilobytes_at_most_in_any_script(size):
    for letter in ("x", "\u00e9", "\u6f22", "\U0001f600"):
        kept = observed(event(EventKind.PROMPT, prompt=letter * (size // 4)))
        assert len(kept.content.encode()) <= MAXIMUM_BYTES


def test_secrets_are_taken_out_of_texts_commands_and_paths():
    command = f"curl -H 'Authorization: Bearer {KEY}' https://x.example"
    kept = observed(
        used(Doing.RUN, command=command, paths=(f"/home/w/app/{KEY}.txt",), output=f"token={KEY}")
    )
    assert KEY not in f"{kept.command} {kept.content} {kept.paths}"
    assert KEY.lower() not in kept.tokens
    assert kept.redactions >= 3


@pytest.mark.parametrize("shift", range(-60, 60, 7))
def test_no_half_of_a_secret_stays_where_a_text_was_cut(shift):
    start = 2 * MAXIMUM_BYTES + 4_096 + shift
    text = f"{'x ' * (start // 2)} {KEY} {'y ' * 20_000}"
    for failed in (False, True):
        kept = observed(used(Doing.RUN, command="x", output=text, is_failure=failed))
        assert KEY[:12] not in kept.content
        assert KEY[-12:] not in kept.content
    kept = observed(event(EventKind.PROMPT, prompt=text))
    assert KEY[:12] not in kept.content


@pytest.mark.parametrize("name", ["TodoWrite", "update_plan", "write_todos", "ExitPlanMode"])
def test_bookkeeping_is_not_kept(name):
    assert observed(used(Doing.OTHER, name=name, output="x")) is None


def test_what_says_nothing_is_not_kept():
    assert observed(event(EventKind.PROMPT, prompt=" \n")) is None
    assert observed(event(EventKind.STOP)) is None
    assert observed(used(Doing.OTHER, name="mcp__x__y")) is None
    assert observed(event(EventKind.NOTIFICATION, text="waiting")) is None


@pytest.mark.parametrize(
    "tool",
    [
        ToolUse(name="Read", doing=Doing.READ, paths=("/home/w/app/.env",)),
        ToolUse(name="Edit", doing=Doing.EDIT, paths=("a.py", "/home/w/app/certs/x.pem")),
        ToolUse(name="Bash", doing=Doing.RUN, command="cat ./.env | head", output="A=1"),
        ToolUse(name="Bash", doing=Doing.RUN, command="cp secrets/a.txt /tmp", output=""),
        ToolUse(name="Read", doing=Doing.READ, paths=("/elsewhere/.env",)),
    ],
)
def test_nothing_is_kept_of_what_touches_ignored_files(tool):
    assert observed(event(tool=tool)) is None


def test_of_what_lies_outside_only_the_use_is_kept():
    kept = observed(
        used(Doing.EDIT, paths=("/home/w/.bashrc",), arguments={"new_string": "alias x=y"})
    )
    assert (kept.paths, kept.content, kept.command) == ((), "", "")


def test_metadata_has_tools_and_files_and_no_words():
    rules = replace(RULES, is_metadata=True)
    kept = observed(
        used(Doing.RUN, paths=("a.py",), command="make", output="secret words"), rules=rules
    )
    assert (kept.paths, kept.content, kept.command) == (("a.py",), "", "")
    assert kept.tokens == "a.py a py" or "secret" not in kept.tokens
    prompt = observed(event(EventKind.PROMPT, prompt="hush"), rules=rules)
    assert prompt.content == ""


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("/home/w/app/src/a.py", "src/a.py"),
        ("src/a.py", "sub/src/a.py"),
        ("../b.py", "b.py"),
        ("../../other/b.py", None),
        ("/home/w/app2/a.py", None),
        ("/home/w/app", None),
        ("~/x", None),
        ("", None),
        ("file:///home/w/app/a.py", "a.py"),
        ("/home/w/app/.claude/worktrees/one/src/a.py", "src/a.py"),
        ("/home/w/app/../app/./a.py", "a.py"),
        ("/home/w/app/a\0b.py", "a\ufffdb.py"),
    ],
)
def test_paths_become_relative_to_the_work_tree(path, inside):
    assert relative_path(path, root="/home/w/app", working="/home/w/app/sub") == inside


@pytest.mark.parametrize(
    ("path", "root"),
    [
        ("C:\\src\\app\\a\\b.py", "C:/src/app"),
        ("c:/src/app/a/b.py", "C:\\src\\app"),
        ("/private/tmp/app/a/b.py", "/tmp/app"),
    ],
)
def test_paths_are_known_in_other_spellings(path, root):
    assert relative_path(path, root=root, working=root) == "a/b.py"


def test_without_a_work_tree_relative_paths_stay_and_absolute_ones_go():
    assert relative_path("src/a.py", root="", working="") == "src/a.py"
    assert relative_path("../a.py", root="", working="") is None
    assert relative_path("/src/a.py", root="", working="") is None


@pytest.mark.parametrize(
    ("path", "glob", "is_it"),
    [
        ("a/.env", ".env", True),
        ("a/.env.local", ".env.*", True),
        ("secrets/a", "secrets/", True),
        ("a/secrets/b", "secrets/", True),
        ("secrets", "secrets/", False),
        ("docs/x.md", "docs/*.md", True),
        ("a.py", "*.pem", False),
        ("a.py", "", False),
    ],
)
def test_globs_name_files_and_folders(path, glob, is_it):
    assert is_ignored(path, [glob]) is is_it


def test_the_same_look_within_half_an_hour_is_the_same():
    look = used(Doing.READ, use_id="1", paths=("a.py",))
    again = used(Doing.READ, use_id="2", paths=("a.py",))
    later = NOW + timedelta(minutes=29)
    much_later = NOW + timedelta(minutes=31)
    assert observed(look).keys == observed(again, at=later).keys
    assert observed(look).keys != observed(again, at=much_later).keys


def test_a_use_and_a_failure_of_one_id_are_one():
    success = used(Doing.RUN, use_id="t1", command="x", output="1")
    failure = replace(success, kind=EventKind.TOOL_FAILURE)
    assert observed(success).keys == observed(failure).keys
    assert len(observed(success).keys) == 1


def test_what_has_no_id_may_happen_again():
    assert len(observed(event(EventKind.PROMPT, prompt="go on")).keys) > 1
    assert len(observed(event(EventKind.PROMPT, prompt="go on", event_id="p1")).keys) == 1


def test_a_subagent_is_named():
    kept = observed(
        replace(used(Doing.RUN, command="ls"), subagent_id="a1", subagent_type="Explore")
    )
    assert (kept.subagent_id, kept.subagent_type) == ("a1", "Explore")


def test_what_a_subagent_found_is_kept_once():
    tool = ToolUse(
        name="Task", doing=Doing.DELEGATE, arguments={"prompt": "look"}, output="It is in a.py"
    )
    delegated = observed(event(tool=tool))
    ended = observed(event(EventKind.SUBAGENT_STOP, subagent_id="a1", text="It is in a.py"))
    assert "It is in a.py" not in delegated.content
    assert ended.content == "It is in a.py"


def test_a_title_is_the_first_line_without_secrets():
    assert title_of(f"\n  Rotate {KEY} now\nthen more").startswith("Rotate [redacted:")
    assert title_of("") == ""


def test_a_relative_path_is_taken_from_where_the_agent_works():
    tool = ToolUse(name="Edit", doing=Doing.EDIT, paths=("a.py",))
    kept = observed(event(tool=tool, checkout=Checkout(directory="/home/w/app/sub")))
    assert kept.paths == ("sub/a.py",)
