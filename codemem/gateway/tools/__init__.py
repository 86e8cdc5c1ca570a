"""The agent tools, a module by topic; importing this package fills the registry."""

from codemem.gateway.tools import (
    cypher,
    editing,
    findings,
    groups,
    history,
    knowledge,
    memory,
    proposals,
    review,
    services,
    symbols,
    upkeep,
)

__all__ = [
    "cypher",
    "editing",
    "findings",
    "groups",
    "history",
    "knowledge",
    "memory",
    "proposals",
    "review",
    "services",
    "symbols",
    "upkeep",
]
