"""The agent tools, a module by topic; importing this package fills the registry."""

from codemem.gateway.tools import memory, review, symbols, upkeep

__all__ = ["memory", "review", "symbols", "upkeep"]
