"""Claude Code's hooks, and the shape that Codex, Gemini CLI and VS Code took over from it."""

from collections.abc import Callable, Mapping
from typing import Any

from codemem.gateway.adapters.delivery import Delivery, mapping_of, objects_of, text_of, tool_use
from memory.events import Doing, EventKind, HookAnswer, HookEvent, Start, ToolUse

_DOING = {
    Doing.READ: "Read Glob Grep LS NotebookRead WebFetch WebSearch BashOutput TaskOutput",
    Doing.EDIT: "Edit Write MultiEdit NotebookEdit",
    Doing.RUN: "Bash PowerShell",
    Doing.DELEGATE: "Task Agent",
}
DOING: Mapping[str, Doing] = {
    name: doing for doing, names in _DOING.items() for name in names.split()
}
KINDS: Mapping[str, EventKind] = {
    "SessionStart": EventKind.SESSION_START,
    "UserPromptSubmit": EventKind.PROMPT,
    "PreToolUse": EventKind.TOOL_START,
    "PostToolUse": EventKind.TOOL_USE,
    "PostToolUseFailure": EventKind.TOOL_FAILURE,
    "PostToolBatch": EventKind.TOOL_USE,
    "Stop": EventKind.STOP,
    "StopFailure": EventKind.STOP,
    "SubagentStart": EventKind.SUBAGENT_START,
    "SubagentStop": EventKind.SUBAGENT_STOP,
    "PreCompact": EventKind.COMPACTION_START,
    "PostCompact": EventKind.COMPACTION_END,
    "Notification": EventKind.NOTIFICATION,
    "SessionEnd": EventKind.SESSION_END,
}
_MAY_HOLD_CONTEXT = frozenset({"SessionStart", "UserPromptSubmit", "PreToolUse"})


def events_of(delivery: Delivery) -> list[HookEvent]:
    """Return the events of a payload; a batch of tools is one for each."""
    return read_events(delivery, kinds=KINDS, doing_of=doing_of)


def answer(answer: HookAnswer, event: str) -> dict[str, Any]:
    """Return the hook's JSON: context for the model, and nothing at all where there is none.

    Never after Stop: what is returned there has the turn run again.
    """
    return in_context(answer, event, allowed=_MAY_HOLD_CONTEXT)


def in_context(answer: HookAnswer, event: str, *, allowed: frozenset[str]) -> dict[str, Any]:
    """Return the answer as additional context of the hooks that may hold some."""
    text = "\n".join(part for part in (answer.context, answer.warning) if part)
    if not text or event not in allowed:
        return {}
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def doing_of(name: str) -> Doing:
    return DOING.get(name, Doing.OTHER)


def read_events(
    delivery: Delivery, *, kinds: Mapping[str, EventKind], doing_of: Callable[[str], Doing]
) -> list[HookEvent]:
    """Return what a payload of this shape says; the tables are the client's own words."""
    name = delivery.event_name
    kind = kinds.get(name, EventKind.OTHER)
    tools = _tools(delivery, kind, doing_of)
    if kind in (EventKind.TOOL_START, EventKind.TOOL_USE, EventKind.TOOL_FAILURE):
        return [_event(delivery, _settled(kind, tool), tool) for tool in tools]
    return [_event(delivery, kind, None)]


def start_of(text: str) -> Start:
    try:
        return Start(text)
    except ValueError:
        return Start.STARTUP


def _event(delivery: Delivery, kind: EventKind, tool: ToolUse | None) -> HookEvent:
    failed = delivery.text("error", "error_details") if kind is EventKind.STOP else ""
    return HookEvent(
        agent=delivery.agent,
        kind=kind,
        session_id=delivery.text("session_id", "sessionId"),
        source_event=delivery.event_name,
        checkout=delivery.checkout_at(delivery.text("cwd")),
        agent_version=delivery.agent_version,
        model=delivery.text("model"),
        start=start_of(delivery.text("source")) if kind is EventKind.SESSION_START else None,
        prompt=delivery.text("prompt") if kind is EventKind.PROMPT else "",
        tool=tool,
        text=_text(delivery, kind),
        reason=failed or (delivery.text("reason") if kind is EventKind.SESSION_END else ""),
        subagent_id=delivery.text("agent_id"),
        subagent_type=delivery.text("agent_type"),
        event_id=delivery.text("prompt_id", "turn_id"),
        happened_at=delivery.happened_at,
    )


def _text(delivery: Delivery, kind: EventKind) -> str:
    match kind:
        case EventKind.STOP | EventKind.SUBAGENT_STOP:
            return delivery.text("last_assistant_message", "prompt_response")
        case EventKind.COMPACTION_END:
            return delivery.text("compact_summary", "summary")
    return ""


def _settled(kind: EventKind, tool: ToolUse) -> EventKind:
    """Return a use as a failure where the tool's own answer says that it failed."""
    is_failed_use = kind is EventKind.TOOL_USE and tool.is_failure
    return EventKind.TOOL_FAILURE if is_failed_use else kind


def _tools(delivery: Delivery, kind: EventKind, doing_of: Callable[[str], Doing]) -> list[ToolUse]:
    calls = objects_of(delivery.payload, "tool_calls") or [delivery.payload]
    return [_tool(call, kind, doing_of) for call in calls if text_of(call, "tool_name", "toolName")]


def _tool(call: Mapping[str, Any], kind: EventKind, doing_of: Callable[[str], Doing]) -> ToolUse:
    name = text_of(call, "tool_name", "toolName")
    response = call.get("tool_response", call.get("tool_output", call.get("tool_result")))
    said = response if isinstance(response, Mapping) else {}
    is_failure = kind is EventKind.TOOL_FAILURE or call.get("is_error") is True
    return tool_use(
        name=name,
        doing=doing_of(name),
        use_id=text_of(call, "tool_use_id", "toolUseId", "tool_call_id"),
        arguments=mapping_of(call, "tool_input", "toolInput"),
        output=text_of(call, "error") or response,
        has_failed=is_failure or said.get("is_error") is True or bool(said.get("error")),
        is_interrupted=call.get("is_interrupt") is True or said.get("interrupted") is True,
        exit_code=_exit_code(mapping_of(call, "metadata")),
    )


def _exit_code(metadata: Mapping[str, Any]) -> int | None:
    code = metadata.get("exit")
    return code if isinstance(code, int) and not isinstance(code, bool) else None
