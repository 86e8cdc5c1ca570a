"""What each client says becomes our events, and our answer becomes what it shows to its model."""

import pytest

from codemem.gateway.adapters import ADAPTERS, recognized
from codemem.gateway.adapters.delivery import Delivery, exit_code_in, output_of, paths_in
from memory.events import Checkout, Doing, EventKind, HookAnswer, Start

TOLD = HookAnswer(context="what the team knows", warning="it failed before")


def events(agent, payload, *, event="", directory="/w"):
    delivery = Delivery(
        agent=agent, payload=payload, event=event, checkout=Checkout(directory=directory)
    )
    return ADAPTERS[agent].events_of(delivery)


def only(agent, payload, **fields):
    found = events(agent, payload, **fields)
    assert len(found) == 1, found
    return found[0]


CLAUDE = {"session_id": "s1", "cwd": "/w", "prompt_id": "p1"}


@pytest.mark.parametrize(
    ("event", "fields", "kind"),
    [
        ("SessionStart", {"source": "compact"}, EventKind.SESSION_START),
        ("UserPromptSubmit", {"prompt": "hello"}, EventKind.PROMPT),
        ("Stop", {"last_assistant_message": "done"}, EventKind.STOP),
        ("StopFailure", {"error": "rate_limit"}, EventKind.STOP),
        ("SubagentStart", {"agent_id": "a", "agent_type": "Explore"}, EventKind.SUBAGENT_START),
        ("SubagentStop", {"agent_id": "a", "agent_type": "Explore"}, EventKind.SUBAGENT_STOP),
        ("PreCompact", {"trigger": "auto"}, EventKind.COMPACTION_START),
        ("PostCompact", {"compact_summary": "we did x"}, EventKind.COMPACTION_END),
        ("Notification", {"message": "waiting"}, EventKind.NOTIFICATION),
        ("SessionEnd", {"reason": "clear"}, EventKind.SESSION_END),
        ("WorktreeCreate", {}, EventKind.OTHER),
        ("SomethingNew", {"x": [1, {"y": None}]}, EventKind.OTHER),
    ],
)
def test_claude_codes_events_are_known(event, fields, kind):
    found = only("claude-code", {**CLAUDE, "hook_event_name": event, **fields})
    assert (found.kind, found.session_id, found.event_id) == (kind, "s1", "p1")
    assert found.start is (Start.COMPACT if kind is EventKind.SESSION_START else None)


def test_claude_codes_batch_is_one_event_for_each_tool():
    found = events(
        "claude-code",
        {
            **CLAUDE,
            "hook_event_name": "PostToolBatch",
            "tool_calls": [
                {
                    "tool_name": "Bash",
                    "tool_input": {"command": "make"},
                    "tool_use_id": "t1",
                    "tool_response": {"stdout": "built", "stderr": "", "interrupted": False},
                },
                {
                    "tool_name": "Edit",
                    "tool_input": {"file_path": "/w/a.py", "old_string": "a", "new_string": "b"},
                    "tool_use_id": "t2",
                    "tool_response": {"is_error": True, "error": "no such text"},
                },
                "not an object",
                {"tool_use_id": "nameless"},
            ],
        },
    )
    assert [(one.tool.name, one.tool.doing, one.kind) for one in found] == [
        ("Bash", Doing.RUN, EventKind.TOOL_USE),
        ("Edit", Doing.EDIT, EventKind.TOOL_FAILURE),
    ]
    assert found[0].tool.output == "built"
    assert found[1].tool.paths == ("/w/a.py",)


def test_claude_codes_failure_has_its_exit_code():
    found = only(
        "claude-code",
        {
            **CLAUDE,
            "hook_event_name": "PostToolUseFailure",
            "tool_name": "Bash",
            "tool_input": {"command": "pytest"},
            "tool_use_id": "t1",
            "error": "Exit code 2\nE  boom",
            "is_interrupt": False,
        },
    )
    assert (found.tool.exit_code, found.tool.is_failure) == (2, True)


def test_words_of_a_commands_own_output_are_no_failure():
    found = only(
        "claude-code",
        {
            **CLAUDE,
            "hook_event_name": "PostToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": "cat log"},
            "tool_response": {"stdout": "exit code 1", "stderr": ""},
        },
    )
    assert not found.tool.is_failure


def test_what_a_person_interrupted_has_not_failed():
    found = only(
        "claude-code",
        {
            **CLAUDE,
            "hook_event_name": "PostToolUseFailure",
            "tool_name": "Bash",
            "tool_input": {"command": "sleep 99"},
            "error": "interrupted",
            "is_interrupt": True,
        },
    )
    assert (found.tool.is_failure, found.tool.is_interrupted) == (False, True)


@pytest.mark.parametrize(
    ("response", "failed"),
    [("Exit code: 1\nOutput:\nboom", True), ("Exit code: 0\nOutput:\nfine", False)],
)
def test_codex_tells_a_failure_in_its_text(response, failed):
    found = only(
        "codex",
        {
            "session_id": "c1",
            "turn_id": "t",
            "hook_event_name": "PostToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": ["bash", "-lc", "make"]},
            "tool_response": response,
            "tool_use_id": "u1",
        },
    )
    assert found.kind is (EventKind.TOOL_FAILURE if failed else EventKind.TOOL_USE)
    assert found.tool.command == "bash -lc make"


def test_codex_patches_name_their_files():
    patch = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-a\n+b\n*** End Patch"
    found = only(
        "codex",
        {
            "session_id": "c1",
            "hook_event_name": "PostToolUse",
            "tool_name": "apply_patch",
            "tool_input": {"command": patch},
            "tool_response": "Done",
        },
    )
    assert (found.tool.doing, found.tool.paths) == (Doing.EDIT, ("src/a.py",))


def test_gemini_is_warned_with_a_tools_result():
    found = events(
        "gemini",
        {
            "session_id": "g1",
            "cwd": "/w",
            "hook_event_name": "AfterTool",
            "tool_name": "run_shell_command",
            "tool_input": {"command": "npm test"},
            "tool_response": {"llmContent": "Output: x\nExit Code: 1", "returnDisplay": "x"},
        },
    )
    assert [one.kind for one in found] == [EventKind.TOOL_START, EventKind.TOOL_FAILURE]
    assert found[1].tool.exit_code == 1


def test_gemini_says_its_answer_after_the_turn():
    found = only(
        "gemini",
        {
            "session_id": "g1",
            "hook_event_name": "AfterAgent",
            "prompt": "do it",
            "prompt_response": "done",
        },
    )
    assert (found.kind, found.text, found.prompt) == (EventKind.STOP, "done", "")


CURSOR = {"conversation_id": "c1", "generation_id": "g1", "workspace_roots": ["/w"]}


def test_cursor_tells_an_edit_once():
    by_tool = events(
        "cursor",
        {
            **CURSOR,
            "hook_event_name": "postToolUse",
            "tool_name": "Write",
            "tool_input": {"file_path": "/w/a.py"},
            "tool_use_id": "t1",
            "tool_output": "{}",
        },
    )
    by_edit = only(
        "cursor",
        {
            **CURSOR,
            "hook_event_name": "afterFileEdit",
            "file_path": "/w/a.py",
            "edits": [{"old_string": "a", "new_string": "b"}],
        },
    )
    assert [one.kind for one in by_tool] == [EventKind.TOOL_START]
    assert (by_edit.session_id, by_edit.tool.doing) == ("c1", Doing.EDIT)
    assert by_edit.tool.paths == ("/w/a.py",)
    assert by_edit.checkout.directory == "/w"


def test_cursor_names_its_event_in_the_address_too():
    found = only("cursor", {**CURSOR, "prompt": "hello"}, event="beforeSubmitPrompt")
    assert (found.kind, found.prompt) == (EventKind.PROMPT, "hello")


@pytest.mark.parametrize(
    ("action", "told", "doing", "paths", "command"),
    [
        ("post_read_code", {"file_path": "/w/a.py"}, Doing.READ, ("/w/a.py",), ""),
        ("post_run_command", {"command_line": "make", "cwd": "/w"}, Doing.RUN, (), "make"),
        (
            "post_write_code",
            {"file_path": "/w/a.py", "edits": [{"old_string": "a", "new_string": "b"}]},
            Doing.EDIT,
            ("/w/a.py",),
            "",
        ),
    ],
)
def test_windsurf_wraps_its_tools(action, told, doing, paths, command):
    found = only(
        "windsurf",
        {"agent_action_name": action, "trajectory_id": "w1", "tool_info": told},
    )
    assert found.session_id == "w1"
    assert (found.tool.doing, found.tool.paths, found.tool.command) == (doing, paths, command)


def test_opencode_tells_exit_codes_beside():
    found = only(
        "opencode",
        {
            "session_id": "o1",
            "cwd": "/w",
            "hook_event_name": "PostToolUse",
            "tool_name": "bash",
            "tool_input": {"command": "make"},
            "tool_response": "boom",
            "tool_use_id": "t",
            "metadata": {"exit": 2},
        },
    )
    assert (found.kind, found.tool.exit_code) == (EventKind.TOOL_FAILURE, 2)


def test_vscode_spells_in_camel_case():
    found = only(
        "vscode",
        {
            "sessionId": "v1",
            "hookEventName": "PostToolUse",
            "cwd": "/w",
            "tool_name": "replace_string_in_file",
            "tool_input": {"filePath": "/w/a.py", "oldString": "a", "newString": "b"},
            "tool_use_id": "t",
        },
    )
    assert (found.session_id, found.tool.doing) == ("v1", Doing.EDIT)
    assert found.tool.paths == ("/w/a.py",)


def test_who_runs_claude_codes_hooks_is_recognized():
    assert recognized("claude-code", CURSOR) == "cursor"
    assert recognized("claude-code", {"sessionId": "v", "hookEventName": "Stop"}) == "vscode"
    assert recognized("claude-code", CLAUDE) == "claude-code"
    assert recognized("codex", CURSOR) == "codex"


@pytest.mark.parametrize(
    ("agent", "event", "answer"),
    [
        ("claude-code", "SessionStart", "hookSpecificOutput"),
        ("claude-code", "PreToolUse", "hookSpecificOutput"),
        ("codex", "SessionStart", "hookSpecificOutput"),
        ("codex", "PreToolUse", "hookSpecificOutput"),
        ("opencode", "PreToolUse", "hookSpecificOutput"),
        ("gemini", "AfterTool", "hookSpecificOutput"),
        ("vscode", "PreToolUse", "hookSpecificOutput"),
        ("cursor", "sessionStart", "additional_context"),
        ("cursor", "postToolUse", "additional_context"),
    ],
)
def test_each_client_is_answered_in_its_own_form(agent, event, answer):
    given = ADAPTERS[agent].answer(TOLD, event)
    assert set(given) == {answer}
    inside = given[answer]
    text = inside if isinstance(inside, str) else inside["additionalContext"]
    assert text == "what the team knows\nit failed before"
    if isinstance(inside, dict):
        assert set(inside) == {"hookEventName", "additionalContext"}
        assert inside["hookEventName"] == event


@pytest.mark.parametrize("agent", ADAPTERS)
@pytest.mark.parametrize(
    "event", ["Stop", "SubagentStop", "SessionEnd", "AfterAgent", "stop", "post_cascade_response"]
)
def test_nothing_is_ever_said_at_an_end(agent, event):
    assert ADAPTERS[agent].answer(TOLD, event) == {}


@pytest.mark.parametrize("agent", ADAPTERS)
def test_silence_is_an_empty_answer(agent):
    for event in ("SessionStart", "sessionStart", "PreToolUse", "AfterTool"):
        assert ADAPTERS[agent].answer(HookAnswer(), event) == {}


ODD = [
    {},
    {"session_id": None},
    {"session_id": ["x"], "hook_event_name": {"a": 1}},
    {"session_id": "s", "hook_event_name": "PostToolUse"},
    {"session_id": "s", "hook_event_name": "PostToolUse", "tool_name": 7, "tool_input": "x"},
    {"session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": []},
    {"session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "Edit",
     "tool_input": {"file_path": 9, "edits": "x", "files": [1, None]}, "tool_response": [[[1]]]},
    {"session_id": "s", "hook_event_name": "PostToolBatch", "tool_calls": {"a": 1}},
    {"session_id": "s", "hook_event_name": "PostToolBatch", "tool_calls": [None, 3, []]},
    {"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": {"text": "x"}},
    {"session_id": "s", "hook_event_name": "SessionStart", "source": "never heard of"},
    {"conversation_id": 5, "workspace_roots": "x", "hook_event_name": "afterFileEdit"},
    {"agent_action_name": "post_write_code", "tool_info": None, "trajectory_id": "w"},
    {"agent_action_name": "post_mcp_tool_use", "tool_info": {"mcp_result": {"a": [1]}}},
    {"session_id": "s\0\ud800", "hook_event_name": "Stop", "last_assistant_message": "\ud83d"},
]  # fmt: skip


@pytest.mark.parametrize("agent", ADAPTERS)
@pytest.mark.parametrize("payload", ODD, ids=range(len(ODD)))
def test_payloads_of_any_shape_are_read_without_an_error(agent, payload):
    for found in events(agent, payload):
        assert isinstance(found.session_id, str)


def test_answers_of_tools_become_text():
    assert output_of({"stdout": "a", "stderr": "b"}) == "a\nb"
    assert output_of([{"type": "text", "text": "a"}, "b"]) == "a\nb"
    assert output_of(None) == ""
    assert output_of(7) == "7"


def test_exit_codes_stand_at_the_start_of_a_line():
    assert exit_code_in("Exit code: 3\nfoo") == 3
    assert exit_code_in("Process exited with code 4") == 4
    assert exit_code_in("the docs say exit code 5 is odd") is None


def test_files_are_found_under_many_names():
    assert paths_in({"file_path": "a", "filePath": "b", "files": ["c", 4]}) == ("a", "b", "c")
