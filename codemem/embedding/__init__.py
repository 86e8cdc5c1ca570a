"""Turns text into vectors: what a provider promises, and which ones there are.

Knows nothing of what the vectors are for. Loading this package loads no model and no Django.
"""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from codemem.embedding.errors import (
    EmbeddingUnavailable,
    ProviderUnknown,
    SpecificationInvalid,
)
from codemem.embedding.protocol import Kind, Provider
from codemem.embedding.specification import Specification

__all__ = [
    "EmbeddingUnavailable",
    "Kind",
    "Provider",
    "ProviderUnknown",
    "Specification",
    "SpecificationInvalid",
    "from_settings",
    "get_provider",
    "in_background",
]


def from_settings() -> Provider:
    """Return the model that answers now, for somebody who waits.

    That is the one that the settings choose; while vectors for another one are still being built,
    the one before. Raises ProviderUnknown, SpecificationInvalid, EmbeddingUnavailable.
    """
    from codemem.embedding import serving  # needs Django; `prepare` runs without it

    return serving.provider(is_patient=False)


def in_background() -> Provider:
    """Return the same model for work that nobody waits for: it tries longer."""
    from codemem.embedding import serving

    return serving.provider(is_patient=True)


def get_provider(
    specification: Specification, *, models_directory: Path, is_patient: bool = False
) -> Provider:
    """Return the provider of a model, the same one for the life of the process.

    Ask again instead of keeping it across a fork. Raises ProviderUnknown, SpecificationInvalid,
    and EmbeddingUnavailable where not even the model's name can be told.
    """
    make = _PROVIDERS.get(specification.provider)
    if make is None:
        known = ", ".join(sorted(_PROVIDERS))
        raise ProviderUnknown(
            f"There is no embedding provider {specification.provider!r}; there is: {known}."
        )
    key = (specification, models_directory, is_patient)
    return _open_providers.get(key, lambda: make(*key))


def _local(_specification: Specification, models_directory: Path, _is_patient: bool) -> Provider:  # noqa: FBT001
    from codemem.embedding.local import LocalProvider

    return LocalProvider(models_directory=models_directory)


def _huggingface(
    specification: Specification,
    models_directory: Path,
    _is_patient: bool,  # noqa: FBT001
) -> Provider:
    from codemem.embedding.huggingface import HuggingFaceProvider

    return HuggingFaceProvider(specification, models_directory=models_directory)


def _remote(specification: Specification, _models_directory: Path, is_patient: bool) -> Provider:  # noqa: FBT001
    from codemem.embedding.remote import RemoteProvider

    return RemoteProvider(specification, is_patient=is_patient)


_Key = tuple[Specification, Path, bool]
_PROVIDERS: Final[dict[str, Callable[[Specification, Path, bool], Provider]]] = {
    "local": _local,
    "huggingface": _huggingface,
    "ollama": _remote,
    "openai": _remote,
    "gemini": _remote,
}


class _OpenProviders:
    """The providers of this process; a forked child starts without any.

    A model that was loaded before a fork is not used after it: the child would share its memory
    but not the threads behind it, and might inherit a lock that nobody is left to release.
    """

    def __init__(self) -> None:
        self.forget()
        os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        self._lock = threading.Lock()
        self._providers: dict[_Key, Provider] = {}

    def get(self, key: _Key, make: Callable[[], Provider]) -> Provider:
        with self._lock:
            if key not in self._providers:
                self._providers[key] = make()
            return self._providers[key]


_open_providers = _OpenProviders()
