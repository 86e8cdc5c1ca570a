"""Which model answers: the one that settings name, or the one before until vectors are there."""

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.db import DatabaseError

from codemem import embedding
from codemem.embedding.cache import CachedProvider
from codemem.embedding.errors import EmbeddingUnavailable
from codemem.embedding.models import EmbeddingModel
from codemem.embedding.protocol import Provider
from codemem.embedding.specification import Specification

ASK_AGAIN_SECONDS: Final = 10.0
"""How long a process may go on with the model before, after another one took over."""


@dataclass(frozen=True, slots=True)
class _Serving:
    fingerprint: str
    specification: dict[str, Any]


def provider(*, is_patient: bool) -> Provider:
    """Return the model that answers, with its cache. One query in ten seconds."""
    return opened(_serving_specification(), is_patient=is_patient)


def opened(specification: Specification, *, is_patient: bool) -> CachedProvider:
    """Return a model with its cache; raise what `embedding.get_provider` raises."""
    model = embedding.get_provider(
        specification, models_directory=Path(settings.MODELS_DIRECTORY), is_patient=is_patient
    )
    return CachedProvider(model, specification)


def configured() -> Specification:
    """Return the model that the settings name."""
    return Specification(
        provider=settings.EMBEDDING_PROVIDER,
        model=settings.EMBEDDING_MODEL,
        dimensions=settings.EMBEDDING_DIMENSIONS,
        precision=settings.EMBEDDING_PRECISION,
        query_prefix=settings.EMBEDDING_QUERY_PREFIX,
        document_prefix=settings.EMBEDDING_DOCUMENT_PREFIX,
        base_url=settings.EMBEDDING_BASE_URL,
        batch_size=settings.EMBEDDING_BATCH_SIZE,
        timeout_seconds=settings.EMBEDDING_TIMEOUT_SECONDS,
        retries=settings.EMBEDDING_RETRIES,
        api_key=settings.EMBEDDING_API_KEY,
    )


def recorded(*, fingerprint: str, specification: dict[str, Any]) -> Specification:
    """Return how to open a model that made vectors: as settings say, if they still name it."""
    wanted = configured()
    try:
        if opened(wanted, is_patient=True).fingerprint == fingerprint:
            return wanted
    except EmbeddingUnavailable:
        pass  # a folder that is not there: the model before may still answer
    is_same_account = (wanted.provider, wanted.base_url) == (
        specification.get("provider"),
        specification.get("base_url"),
    )
    key = settings.EMBEDDING_PREVIOUS_API_KEY or (wanted.api_key if is_same_account else "")
    try:
        return Specification.read(specification, api_key=key)
    except TypeError:  # written by a version that knew other fields
        return wanted


def forget() -> None:
    """Have the next question ask the database which model answers."""
    _memory.forget()


def _serving_specification() -> Specification:
    serving = _memory.get()
    if serving is None:
        return configured()
    return recorded(fingerprint=serving.fingerprint, specification=serving.specification)


class _Memory:
    """What the database said last, for ten seconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.forget()

    def forget(self) -> None:
        self._serving: _Serving | None = None
        self._until = 0.0

    def get(self) -> _Serving | None:
        if time.monotonic() >= self._until:
            with self._lock:
                self._serving = _asked(self._serving)
                self._until = time.monotonic() + ASK_AGAIN_SECONDS
        return self._serving


def _asked(before: _Serving | None) -> _Serving | None:
    """Return the model that serves; without a database what was known before."""
    try:
        row = (
            EmbeddingModel.objects.filter(is_serving=True)
            .values_list("fingerprint", "specification")
            .first()
        )
    except DatabaseError:
        return before
    return _Serving(*row) if row else None


_memory = _Memory()
