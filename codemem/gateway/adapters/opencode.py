"""opencode's plugin, which `codemem init` writes: Claude Code's shape with opencode's tools."""

from typing import Any

from codemem.gateway.adapters import claude_code
from codemem.gateway.adapters.delivery import Delivery
from memory.events import Doing, HookAnswer, HookEvent

_DOING = {
    Doing.READ: "read glob grep list ls webfetch websearch codesearch lsp",
    Doing.EDIT: "edit write multiedit patch apply_patch",
    Doing.RUN: "bash",
    Doing.DELEGATE: "task",
}
_BY_NAME = {name: doing for doing, names in _DOING.items() for name in names.split()}


def events_of(delivery: Delivery) -> list[HookEvent]:
    """Return the events of what the plugin hands on."""
    return claude_code.read_events(delivery, kinds=claude_code.KINDS, doing_of=_doing_of)


def answer(answer: HookAnswer, event: str) -> dict[str, Any]:
    """Return what the plugin puts before the model."""
    return claude_code.answer(answer, event)


def _doing_of(name: str) -> Doing:
    return _BY_NAME.get(name.lower(), Doing.OTHER)
