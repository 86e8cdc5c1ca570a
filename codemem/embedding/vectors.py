"""What must hold of a model's vectors before anybody keeps them."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from codemem.embedding.errors import EmbeddingUnavailable


def unit_rows(rows: Sequence[object], *, dimensions: int, model: str) -> NDArray[np.float32]:
    """Return vectors as n x dimensions float32, rows unit-length; raise EmbeddingUnavailable.

    Another length than was promised, a number that is none, and a vector of zeros are refused: a
    distance to them means nothing, and an index that holds one cannot be built.
    """
    lengths = {len(row) if isinstance(row, Sequence | np.ndarray) else 0 for row in rows}
    if lengths - {dimensions}:
        given = ", ".join(str(length) for length in sorted(lengths))
        raise EmbeddingUnavailable(
            f"{model} answers vectors of {given} numbers, not of {dimensions}.",
            hint="Set CODEMEM_EMBEDDING_DIMENSIONS to what the model gives, then re-embed.",
        )
    try:
        vectors = np.array(rows, np.float32).reshape(len(rows), dimensions)
    except (TypeError, ValueError) as error:
        raise EmbeddingUnavailable(
            f"{model} answers vectors that are not made of numbers.", hint="Use another model."
        ) from error
    lengths_of_rows = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not (np.isfinite(vectors).all() and (lengths_of_rows > 0).all()):
        raise EmbeddingUnavailable(
            f"{model} answers vectors with numbers that are none, or with zeros only.",
            hint="Its server is out of memory or broken: see its log, or use another model.",
        )
    return np.asarray(vectors / lengths_of_rows, np.float32)


def vector_text(vector: Iterable[float]) -> str:
    """Return a vector as Postgres reads it; six digits are more than half precision keeps."""
    return f"[{','.join(format(float(number), '.6g') for number in vector)}]"
