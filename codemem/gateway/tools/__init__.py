"""The agent tools, a module by topic; importing this package fills the registry."""

from codemem.gateway.tools import groups, memory, review, symbols, upkeep

__all__ = ["groups", "memory", "review", "symbols", "upkeep"]
