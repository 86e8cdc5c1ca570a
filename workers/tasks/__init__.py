"""The tasks, a module by topic; importing this package registers them."""

from workers.tasks import history, indexing, maintenance, ranking, services

__all__ = ["history", "indexing", "maintenance", "ranking", "services"]
