"""Gemini CLI's hooks: Claude Code's shape under other names, and no way to warn before a tool.

What a hook says before a tool runs reaches the model only where it forbids the tool, which is not
ours to do. So what went wrong before is told with the tool's result.
"""

import re
from dataclasses import replace
from typing import Any

from codemem.gateway.adapters import claude_code
from codemem.gateway.adapters.delivery import Delivery
from memory.events import Doing, EventKind, HookAnswer, HookEvent

_KINDS = {
    "SessionStart": EventKind.SESSION_START,
    "BeforeAgent": EventKind.PROMPT,
    "AfterTool": EventKind.TOOL_USE,
    "AfterAgent": EventKind.STOP,
    "PreCompress": EventKind.COMPACTION_START,
    "Notification": EventKind.NOTIFICATION,
    "SessionEnd": EventKind.SESSION_END,
}
_DOING = {
    Doing.READ: "read_file read_many_files list_directory glob search_file_content grep_search"
    " ripgrep_search google_web_search web_fetch",
    Doing.EDIT: "replace write_file edit",
    Doing.RUN: "run_shell_command",
    Doing.DELEGATE: "delegate_to_agent",
}
_BY_NAME = {name: doing for doing, names in _DOING.items() for name in names.split()}
# Gemini CLI (0.61) puts what hooks said before the person's own words, and tells both as one.
_OURS = re.compile(r"\A(?:<hook_context>.*?</hook_context>\s*)+", re.DOTALL)
_MAY_HOLD_CONTEXT = frozenset({"SessionStart", "BeforeAgent", "AfterTool"})


def events_of(delivery: Delivery) -> list[HookEvent]:
    """Return the events of a payload; a tool's use is its start, too, so that it is warned of."""
    events = claude_code.read_events(delivery, kinds=_KINDS, doing_of=_doing_of)
    events = [replace(event, prompt=_OURS.sub("", event.prompt)) for event in events]
    return [*warned_after(events), *events]


def answer(answer: HookAnswer, event: str) -> dict[str, Any]:
    """Return the hook's JSON; a turn's end and a session's get none."""
    return claude_code.in_context(answer, event, allowed=_MAY_HOLD_CONTEXT)


def warned_after(events: list[HookEvent]) -> list[HookEvent]:
    """Return the start of each tool that was used, for clients that can be warned only then."""
    uses = (EventKind.TOOL_USE, EventKind.TOOL_FAILURE)
    return [replace(event, kind=EventKind.TOOL_START) for event in events if event.kind in uses]


def _doing_of(name: str) -> Doing:
    return _BY_NAME.get(name, Doing.OTHER)
