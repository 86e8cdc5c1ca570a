"""Start-up of the workers app: makes `shared_task` find our Celery application."""

from django.apps import AppConfig


class WorkersConfig(AppConfig):
    name = "workers"

    def ready(self) -> None:
        from workers.app import app  # noqa: F401
