"""One adapter for each client: its payloads in, our events out, and our answer in its own form."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from codemem.gateway.adapters import claude_code, codex
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
}
