"""What a provider promises."""

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Kind = Literal["query", "document"]


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
