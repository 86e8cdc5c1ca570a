"""Start-up of the gateway: loads the tool registry, so that a bad declaration fails at once."""

from django.apps import AppConfig


class GatewayConfig(AppConfig):
    name = "codemem.gateway"
    label = "gateway"

    def ready(self) -> None:
        # Reviews that the server posts are kept in the form in which this floor answers them.
        from codemem.gateway import tools  # noqa: F401
        from codemem.gateway.reviews import answer_of
        from indexing.posting.delivery import answer_with

        answer_with(answer_of)
