"""Cursor's hooks: events in camel case, conversations for sessions, edits apart from tools.

What a hook says before a tool is shown only where it forbids the tool; so what went wrong before
is told with the tool's result. Written from the documents: no Cursor could be run here.
"""

from typing import Any

from codemem.gateway.adapters import claude_code
from codemem.gateway.adapters.delivery import Delivery, mapping_of, text_of, tool_use
from codemem.gateway.adapters.gemini import warned_after
from memory.events import Checkout, Doing, EventKind, HookAnswer, HookEvent, Start, ToolUse

_KINDS = {
    "sessionStart": EventKind.SESSION_START,
    "beforeSubmitPrompt": EventKind.PROMPT,
    "postToolUse": EventKind.TOOL_USE,
    "postToolUseFailure": EventKind.TOOL_FAILURE,
    "afterFileEdit": EventKind.TOOL_USE,
    "afterShellExecution": EventKind.TOOL_USE,
    "afterMCPExecution": EventKind.TOOL_USE,
    "afterAgentResponse": EventKind.STOP,
    "subagentStart": EventKind.SUBAGENT_START,
    "subagentStop": EventKind.SUBAGENT_STOP,
    "preCompact": EventKind.COMPACTION_START,
    "sessionEnd": EventKind.SESSION_END,
}
_DOING = {
    Doing.READ: "Read Grep Glob LS List Search Semantic WebSearch WebFetch read_file grep_search"
    " list_dir file_search codebase_search",
    Doing.EDIT: "Write Edit MultiEdit Delete edit_file search_replace delete_file",
    Doing.RUN: "Shell Bash run_terminal_cmd",
    Doing.DELEGATE: "Task",
}
_BY_NAME = {name: doing for doing, names in _DOING.items() for name in names.split()}
# Told again by their own events, with what was changed.
_TOLD_APART = frozenset({"Write", "Edit", "MultiEdit", "edit_file", "search_replace"})


def events_of(delivery: Delivery) -> list[HookEvent]:
    """Return the events of a payload, also where Cursor runs hooks written for Claude Code."""
    name = delivery.event_name
    kind = _KINDS.get(name) or claude_code.KINDS.get(name, EventKind.OTHER)
    tool = _tool(delivery, name, kind)
    is_use = kind in (EventKind.TOOL_USE, EventKind.TOOL_FAILURE)
    if is_use and tool is None:
        return []
    if tool is not None and tool.is_failure:
        kind = EventKind.TOOL_FAILURE
    event = _event(delivery, kind, tool)
    warned = warned_after([event]) if name.startswith(("postTool", "PostTool")) else []
    is_told_apart = tool is not None and tool.name in _TOLD_APART and name == "postToolUse"
    return warned if is_told_apart else [*warned, event]


def answer(answer: HookAnswer, event: str) -> dict[str, Any]:
    """Return the hook's JSON: context may be added at a conversation's start and after tools."""
    text = "\n".join(part for part in (answer.context, answer.warning) if part)
    if not text or event not in ("sessionStart", "postToolUse"):
        return {}
    return {"additional_context": text}


def _event(delivery: Delivery, kind: EventKind, tool: ToolUse | None) -> HookEvent:
    return HookEvent(
        agent="cursor",
        kind=kind,
        session_id=delivery.text("conversation_id", "session_id"),
        source_event=delivery.event_name,
        checkout=_checkout(delivery),
        agent_version=delivery.text("cursor_version") or delivery.agent_version,
        model=delivery.text("model"),
        start=Start.STARTUP if kind is EventKind.SESSION_START else None,
        prompt=delivery.text("prompt") if kind is EventKind.PROMPT else "",
        tool=tool,
        text=delivery.text("text", "summary", "last_assistant_message"),
        reason=delivery.text("reason") if kind is EventKind.SESSION_END else "",
        subagent_id=delivery.text("subagent_id"),
        subagent_type=delivery.text("subagent_type"),
        event_id=delivery.text("generation_id"),
        happened_at=delivery.happened_at,
    )


def _checkout(delivery: Delivery) -> Checkout:
    roots = delivery.payload.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
    return delivery.checkout_at(delivery.text("cwd") or first)


def _tool(delivery: Delivery, event: str, kind: EventKind) -> ToolUse | None:
    payload = delivery.payload
    match event:
        case "afterFileEdit":
            return tool_use(name="Edit", doing=Doing.EDIT, use_id="", arguments=payload)
        case "afterShellExecution":
            output = payload.get("output")
            return tool_use(
                name="Shell", doing=Doing.RUN, use_id="", arguments=payload, output=output
            )
    name = text_of(payload, "tool_name")
    if not name or kind not in (EventKind.TOOL_USE, EventKind.TOOL_FAILURE):
        return None
    return tool_use(
        name=name,
        doing=_BY_NAME.get(name, Doing.OTHER),
        use_id=text_of(payload, "tool_use_id"),
        arguments=mapping_of(payload, "tool_input"),
        output=text_of(payload, "error_message", "error")
        or payload.get("tool_output", payload.get("tool_response", payload.get("result_json"))),
        has_failed=kind is EventKind.TOOL_FAILURE,
        is_interrupted=payload.get("is_interrupt") is True,
    )
