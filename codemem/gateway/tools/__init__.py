"""The agent tools, a module by topic; importing this package fills the registry."""

from codemem.gateway.tools import (
    cypher,
    findings,
    groups,
    history,
    memory,
    proposals,
    review,
    services,
    symbols,
    upkeep,
)

__all__ = [
    "cypher",
    "findings",
    "groups",
    "history",
    "memory",
    "proposals",
    "review",
    "services",
    "symbols",
    "upkeep",
]
