"""Start-up of the console: says when its scripts were never fetched."""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Warning, register  # noqa: A004


class ConsoleConfig(AppConfig):
    name = "codemem.console"
    label = "console"

    def ready(self) -> None:
        register(check_assets)


def check_assets(**_options: Any) -> Sequence[CheckMessage]:
    """Warn when the browser's libraries are missing: pages work then, but do not move."""
    if settings.STATICFILES_DIRS:
        return []
    return [
        Warning(
            "The console's scripts (htmx, Alpine, sigma) are not there.",
            hint="`make setup` fetches them into .local/vendor.",
            id="console.W001",
        )
    ]
