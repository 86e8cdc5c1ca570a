"""Start-up of the embedding app: the tables of models, cached vectors and re-embedding."""

from typing import Any

from django.apps import AppConfig
from django.core.checks import CheckMessage, Error, register


class EmbeddingConfig(AppConfig):
    name = "codemem.embedding"
    label = "embedding"
    verbose_name = "Embedding models"

    def ready(self) -> None:
        register(_settings_name_a_model)


def _settings_name_a_model(**_: Any) -> list[CheckMessage]:
    """Refuse to start with settings of a model that could never answer."""
    from codemem.embedding import SpecificationInvalid, serving
    from codemem.embedding.errors import EmbeddingUnavailable

    try:
        serving.opened(serving.configured(), is_patient=False)
    except SpecificationInvalid as error:
        return [Error(str(error), id="embedding.E001")]
    except EmbeddingUnavailable:
        pass  # a folder may come later; until then words answer
    return []
