"""Turns text into vectors: what a provider promises, and which ones there are.

Knows nothing of what the vectors are for. Loading this package loads no model.
"""

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Kind = Literal["query", "document"]


class EmbeddingUnavailable(Exception):
    """No vectors can be made at present; `hint` says what an administrator can do."""

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(f"{message} {hint}")
        self.hint = hint


class ProviderUnknown(Exception):
    """The settings name an embedding provider that does not exist."""


class Provider(Protocol):
    """A model that embeds text, safe to use from several threads.

    `fingerprint` stands beside every stored vector: vectors with different ones must never be
    compared. `max_tokens` is where a longer text is cut off.
    """

    @property
    def dimensions(self) -> int: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def max_tokens(self) -> int: ...

    def embed(self, texts: Sequence[str], *, kind: Kind) -> NDArray[np.float32]:
        """Return one vector for each text, in order: n x dimensions float32, rows unit-length.

        `kind` says on which side of a search the texts stand; some models dress the two
        differently. Raises EmbeddingUnavailable.
        """
        ...


def from_settings() -> Provider:
    """Return the provider that the Django settings choose."""
    from django.conf import settings  # the only use of Django here; `prepare` runs without it

    return get_provider(
        settings.EMBEDDING_PROVIDER, models_directory=Path(settings.MODELS_DIRECTORY)
    )


def get_provider(name: str, *, models_directory: Path) -> Provider:
    """Return the provider of that name, the same one for the life of the process.

    Ask again instead of keeping it across a fork. Raises ProviderUnknown.
    """
    make = _PROVIDERS.get(name)
    if make is None:
        known = ", ".join(sorted(_PROVIDERS))
        raise ProviderUnknown(f"There is no embedding provider {name!r}; there is: {known}.")
    return _open_providers.get(name, models_directory, make)


def _local(models_directory: Path) -> Provider:
    from codemem.embedding.local import LocalProvider

    return LocalProvider(models_directory=models_directory)


_PROVIDERS: Final[dict[str, Callable[[Path], Provider]]] = {"local": _local}


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
        self._providers: dict[tuple[str, Path], Provider] = {}

    def get(self, name: str, directory: Path, make: Callable[[Path], Provider]) -> Provider:
        with self._lock:
            if (name, directory) not in self._providers:
                self._providers[name, directory] = make(directory)
            return self._providers[name, directory]


_open_providers = _OpenProviders()
