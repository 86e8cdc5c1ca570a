"""The tasks, a module by topic; importing this package registers them."""

from workers.tasks import indexing, maintenance, ranking, services

__all__ = ["indexing", "maintenance", "ranking", "services"]
