"""Windsurf's Cascade hooks: an envelope with an action and its details, and nothing to answer.

There is no start of a session and no way to add context: the tools over MCP are what its agent
has. Written from the documents: no Windsurf could be run here.
"""

from typing import Any

from codemem.gateway.adapters.delivery import Delivery, mapping_of, text_of, tool_use
from memory.events import Doing, EventKind, HookAnswer, HookEvent, ToolUse

_TOOLS = {
    "post_read_code": Doing.READ,
    "post_write_code": Doing.EDIT,
    "post_run_command": Doing.RUN,
    "post_mcp_tool_use": Doing.OTHER,
}
_KINDS = {
    "pre_user_prompt": EventKind.PROMPT,
    "post_cascade_response": EventKind.STOP,
} | dict.fromkeys(_TOOLS, EventKind.TOOL_USE)


def events_of(delivery: Delivery) -> list[HookEvent]:
    """Return the event of a payload; the first one opens the session."""
    action = delivery.text("agent_action_name", "hook_event_name") or delivery.event
    told = delivery.mapping("tool_info")
    kind = _KINDS.get(action, EventKind.OTHER)
    return [
        HookEvent(
            agent=delivery.agent,
            kind=kind,
            session_id=delivery.text("trajectory_id", "session_id"),
            source_event=action,
            checkout=delivery.checkout_at(text_of(told, "cwd") or delivery.text("cwd")),
            agent_version=delivery.agent_version,
            model=delivery.text("model_name", "model"),
            prompt=text_of(told, "user_prompt") if kind is EventKind.PROMPT else "",
            tool=_tool(action, told) if action in _TOOLS else None,
            text=text_of(told, "response") if kind is EventKind.STOP else "",
            event_id=delivery.text("execution_id"),
            happened_at=delivery.happened_at,
        )
    ]


def answer(answer: HookAnswer, event: str) -> dict[str, Any]:  # noqa: ARG001
    """Return nothing: what a hook says is shown to people only."""
    return {}


def _tool(action: str, told: Any) -> ToolUse:
    server, name = text_of(told, "mcp_server_name"), text_of(told, "mcp_tool_name")
    return tool_use(
        name=f"mcp__{server}__{name}" if name else action.removeprefix("post_"),
        doing=_TOOLS[action],
        use_id="",
        arguments=mapping_of(told, "mcp_tool_arguments") or told,
        output=told.get("mcp_result") or told.get("output"),
    )
