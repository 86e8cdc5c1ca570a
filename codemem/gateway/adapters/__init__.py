"""One adapter for each client: its payloads in, our events out, and our answer in its own form."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from codemem.gateway.adapters import (
    claude_code,
    codex,
    cursor,
    gemini,
    opencode,
    vscode,
    windsurf,
)
from codemem.gateway.adapters.delivery import Delivery
from memory.events import HookAnswer, HookEvent


@dataclass(frozen=True, slots=True)
class Adapter:
    """How one client speaks."""

    events_of: Callable[[Delivery], list[HookEvent]]
    answer: Callable[[HookAnswer, str], dict[str, Any]]


ADAPTERS: Mapping[str, Adapter] = {
    "claude-code": Adapter(claude_code.events_of, claude_code.answer),
    "codex": Adapter(codex.events_of, codex.answer),
    "cursor": Adapter(cursor.events_of, cursor.answer),
    "gemini": Adapter(gemini.events_of, gemini.answer),
    "opencode": Adapter(opencode.events_of, opencode.answer),
    "vscode": Adapter(vscode.events_of, vscode.answer),
    "windsurf": Adapter(windsurf.events_of, windsurf.answer),
}


def recognized(agent: str, payload: Mapping[str, Any]) -> str:
    """Return which client sends a payload: Cursor and VS Code run Claude Code's hooks, too."""
    if agent != "claude-code":
        return agent
    if "conversation_id" in payload and "workspace_roots" in payload:
        return "cursor"
    if "sessionId" in payload and "session_id" not in payload:
        return "vscode"
    return agent
