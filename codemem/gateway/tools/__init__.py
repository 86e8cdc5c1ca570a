"""The agent tools, a module by topic; importing this package fills the registry."""

from codemem.gateway.tools import memory, upkeep

__all__ = ["memory", "upkeep"]
