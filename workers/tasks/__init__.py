"""The tasks, a module by topic; importing this package registers them."""

from workers.tasks import (
    consolidation,
    embedding,
    erasure,
    findings,
    history,
    indexing,
    maintenance,
    memories,
    ranking,
    reviewing,
    reviews,
    scip,
    services,
    sessions,
)

__all__ = [
    "consolidation",
    "embedding",
    "erasure",
    "findings",
    "history",
    "indexing",
    "maintenance",
    "memories",
    "ranking",
    "reviewing",
    "reviews",
    "scip",
    "services",
    "sessions",
]
