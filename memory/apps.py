"""Start-up of the memory app: declares what a namespace may decide about its memories."""

from django.apps import AppConfig


class MemoryConfig(AppConfig):
    name = "memory"
    verbose_name = "Memory"

    def ready(self) -> None:
        # Fills the table of what approving a proposal does.
        import memory.services.operations  # noqa: F401
        from memory import policies  # noqa: F401
