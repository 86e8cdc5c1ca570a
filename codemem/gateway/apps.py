"""Start-up of the gateway: loads the tool registry, so that a bad declaration fails at once."""

from django.apps import AppConfig


class GatewayConfig(AppConfig):
    name = "codemem.gateway"
    label = "gateway"

    def ready(self) -> None:
        from codemem.gateway import tools  # noqa: F401
