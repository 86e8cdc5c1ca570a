"""Codex's hooks: Claude Code's shape with answers as text, and fields that it knows only."""

from dataclasses import replace
from typing import Any

from codemem.gateway.adapters import claude_code
from codemem.gateway.adapters.delivery import Delivery
from memory.commands import CommandKind, read_command
from memory.events import Doing, EventKind, HookAnswer, HookEvent
from memory.failures.diagnostics import diagnostics_of

_KINDS = {
    "SessionStart": EventKind.SESSION_START,
    "UserPromptSubmit": EventKind.PROMPT,
    "PreToolUse": EventKind.TOOL_START,
    "PostToolUse": EventKind.TOOL_USE,
    "PreCompact": EventKind.COMPACTION_START,
    "PostCompact": EventKind.COMPACTION_END,
    "SubagentStart": EventKind.SUBAGENT_START,
    "SubagentStop": EventKind.SUBAGENT_STOP,
    "Stop": EventKind.STOP,
    "SessionEnd": EventKind.SESSION_END,
}
_DOING = {
    "Bash": Doing.RUN,
    "shell": Doing.RUN,
    "exec_command": Doing.RUN,
    "local_shell": Doing.RUN,
    "apply_patch": Doing.EDIT,
    "Edit": Doing.EDIT,
    "Write": Doing.EDIT,
    "read_file": Doing.READ,
    "list_dir": Doing.READ,
    "grep_files": Doing.READ,
    "view_image": Doing.READ,
    "web_search": Doing.READ,
    "spawn_agent": Doing.DELEGATE,
}


def events_of(delivery: Delivery) -> list[HookEvent]:
    """Return the events of a payload. A patch that is run as a command edits files."""
    events = claude_code.read_events(delivery, kinds=_KINDS, doing_of=_doing_of)
    return [_judged(event) for event in events]


def answer(answer: HookAnswer, event: str) -> dict[str, Any]:
    """Return the hook's JSON, with nothing in it that Codex would refuse."""
    return claude_code.answer(answer, event)


def _doing_of(name: str) -> Doing:
    return _DOING.get(name, Doing.OTHER)


def _judged(event: HookEvent) -> HookEvent:
    """Return a command as failed where what it wrote says so.

    Codex (0.169) tells what a command wrote and nothing of how it ended. Without this every test
    run would count as passed. What only looks (cat, grep) shows errors that are not its own.
    """
    tool = event.tool
    if event.kind is not EventKind.TOOL_USE or tool is None or tool.doing is not Doing.RUN:
        return event
    command = read_command(tool.command)
    if tool.exit_code is not None or command is None or command.kind is CommandKind.LOOK:
        return event
    if not diagnostics_of(tool.output):
        return event
    return replace(event, kind=EventKind.TOOL_FAILURE, tool=replace(tool, is_failure=True))
