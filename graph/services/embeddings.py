"""Vectors of symbols, stored by what was embedded: equal texts share one, wherever they stand."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection

_STATEMENT = """
    update graph_symbolversion version
    set embedding = given.embedding::halfvec, embedding_fingerprint = %s
    from unnest(%s::bytea[], %s::text[]) as given (digest, embedding)
    where version.embedding_digest = given.digest
"""


def store_symbol_embeddings(*, vectors: Mapping[bytes, Sequence[float]], fingerprint: str) -> int:
    """Store vectors (unit length) by embedding digest; return how many rows got one.

    `fingerprint` names the model: vectors of different models are never compared.
    """
    if not vectors:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(
            _STATEMENT,
            [fingerprint, list(vectors), [_vector_text(vector) for vector in vectors.values()]],
        )
        return int(cursor.rowcount)


def _vector_text(vector: Sequence[float] | Any) -> str:
    return f"[{','.join(format(float(number), '.6g') for number in vector)}]"
