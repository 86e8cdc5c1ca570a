"""The agent tools, a module by topic; importing this package fills the registry."""

from codemem.gateway.tools import (
    consolidation,
    cypher,
    editing,
    findings,
    groups,
    history,
    knowledge,
    namespaces,
    proposals,
    recall,
    review,
    services,
    sessions,
    storing,
    symbols,
    upkeep,
)

__all__ = [
    "consolidation",
    "cypher",
    "editing",
    "findings",
    "groups",
    "history",
    "knowledge",
    "namespaces",
    "proposals",
    "recall",
    "review",
    "services",
    "sessions",
    "storing",
    "symbols",
    "upkeep",
]
