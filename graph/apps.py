"""Start-up of the graph app."""

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class GraphConfig(AppConfig):
    name = "graph"
    verbose_name = "Code graph"

    def ready(self) -> None:
        from graph import checks  # noqa: F401  registers the system checks

        post_migrate.connect(_ensure_words_index, sender=self)


def _ensure_words_index(**_: Any) -> None:
    from graph.indexes import ensure_words_index

    ensure_words_index()
