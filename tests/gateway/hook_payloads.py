"""Payloads as clients send them: Claude Code's shape, and makers for the most common ones."""

import itertools
import json
from typing import Any

from django.test import Client

DIRECTORY = "/home/walter/src/app"
_numbers = itertools.count(1)


def payload(event: str, *, session: str = "s-1", **fields: Any) -> dict[str, Any]:
    """Return a payload of Claude Code."""
    return {
        "session_id": session,
        "transcript_path": "/home/walter/.claude/projects/app/s-1.jsonl",
        "cwd": DIRECTORY,
        "hook_event_name": event,
        "permission_mode": "default",
    } | fields


def start(*, session: str = "s-1", source: str = "startup") -> dict[str, Any]:
    return payload("SessionStart", session=session, source=source, model="opus-9")


def prompt(text: str, *, session: str = "s-1", **fields: Any) -> dict[str, Any]:
    return payload("UserPromptSubmit", session=session, prompt=text, **fields)


def used(name: str, arguments: dict[str, Any], response: Any = None, **fields: Any) -> Any:
    """Return a use of a tool, with a new id unless one is given."""
    fields.setdefault("tool_use_id", f"toolu_{next(_numbers)}")
    return payload(
        "PostToolUse", tool_name=name, tool_input=arguments, tool_response=response, **fields
    )


def failed(name: str, arguments: dict[str, Any], error: str, **fields: Any) -> Any:
    fields.setdefault("tool_use_id", f"toolu_{next(_numbers)}")
    return payload(
        "PostToolUseFailure",
        tool_name=name,
        tool_input=arguments,
        error=error,
        is_interrupt=False,
        **fields,
    )


def send(
    client: Client,
    token: str,
    content: Any,
    *,
    agent: str = "claude-code",
    event: str = "",
    remote: str = "",
    headers: dict[str, str] | None = None,
) -> Any:
    """Post a payload as the shim does; `remote` and what goes with it is sent at the start."""
    given = {"Authorization": f"Bearer {token}", "User-Agent": "claude-code/2.1.330"}
    if remote:
        given |= {
            "Codemem-Remote": remote,
            "Codemem-Ref": "main",
            "Codemem-Head": "a" * 40,
            "Codemem-Directory": DIRECTORY,
        }
    return client.post(
        f"/hooks/{agent}" + (f"?event={event}" if event else ""),
        data=content if isinstance(content, bytes) else json.dumps(content),
        content_type="application/json",
        headers=given | (headers or {}),
    )
