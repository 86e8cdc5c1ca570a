"""Vectors of symbols, stored by what was embedded: equal texts share one, wherever they stand."""

from collections.abc import Mapping, Sequence

from django.db import connection

from codemem.embedding.vectors import vector_text

_STATEMENT = """
    update graph_symbolversion version
    set embedding = given.embedding::halfvec, embedding_fingerprint = %s
    from unnest(%s::bytea[], %s::text[]) as given (digest, embedding)
    where version.embedding_digest = given.digest
"""

_TAKE_CACHED = """
    with portion as materialized (
        select id, embedding_digest from graph_symbolversion
        where id > %(after)s and embedding_fingerprint <> %(fingerprint)s
        order by id limit %(limit)s
    ), taken as (
        update graph_symbolversion version
        set embedding = cached.vector, embedding_fingerprint = %(fingerprint)s
        from portion join embedding_cachedvector cached
            on cached.digest = portion.embedding_digest and cached.model_id = %(model)s
        where version.id = portion.id
    )
    select max(id) from portion
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
            [fingerprint, list(vectors), [vector_text(vector) for vector in vectors.values()]],
        )
        return int(cursor.rowcount)


def take_cached_symbol_vectors(
    *, model_id: int, fingerprint: str, after: int, limit: int
) -> int | None:
    """Give the next symbols their vectors of a model from the cache; return where to go on.

    Reads `limit` versions in the order of their keys, behind `after`; None when there are none.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            _TAKE_CACHED,
            {"model": model_id, "fingerprint": fingerprint, "after": after, "limit": limit},
        )
        last: int | None = cursor.fetchone()[0]
    return last
