"""Start-up of the indexing app."""

from django.apps import AppConfig


class IndexingConfig(AppConfig):
    name = "indexing"
    verbose_name = "Indexing"

    def ready(self) -> None:
        # Memories cite content, which only this floor can read.
        from indexing import policies  # noqa: F401
        from indexing.memories import MirrorReader
        from memory.anchors_seen import read_code_with

        read_code_with(MirrorReader())
