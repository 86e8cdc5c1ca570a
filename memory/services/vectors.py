"""Vectors of memories when another model is to answer: which texts lack one, and where it goes."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection

# The address of a text in the cache is the SHA-256 of its UTF-8.
_TO_EMBED = """
    FROM memory_memory memory
    WHERE state = 'active' AND embedding_fingerprint <> %(fingerprint)s
        AND NOT EXISTS (
            SELECT FROM embedding_cachedvector cached
            WHERE cached.model_id = %(model)s
                AND cached.digest = sha256(convert_to(memory.content, 'UTF8')))
"""
_NEXT = f"SELECT id, content {_TO_EMBED} AND id > %(after)s ORDER BY id LIMIT %(limit)s"
_COUNT = f"SELECT count(*) {_TO_EMBED}"
_TAKE_CACHED = """
    WITH portion AS MATERIALIZED (
        SELECT id, content FROM memory_memory
        WHERE state = 'active' AND embedding_fingerprint <> %(fingerprint)s AND id > %(after)s
        ORDER BY id LIMIT %(limit)s
    ), taken AS (
        UPDATE memory_memory memory
        SET embedding = cached.vector, embedding_fingerprint = %(fingerprint)s
        FROM portion JOIN embedding_cachedvector cached
            ON cached.digest = sha256(convert_to(portion.content, 'UTF8'))
            AND cached.model_id = %(model)s
        WHERE memory.id = portion.id AND memory.content = portion.content
    )
    SELECT id FROM portion ORDER BY id DESC LIMIT 1
"""
FIRST = UUID(int=0)


@dataclass(frozen=True, slots=True)
class TextToEmbed:
    memory_id: UUID
    text: str


def count_texts_to_embed(*, model_id: int, fingerprint: str) -> int:
    """Count active memories whose text has no vector of a model, here or in the cache."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, {"model": model_id, "fingerprint": fingerprint})
        return int(cursor.fetchone()[0])


def texts_to_embed(
    *, model_id: int, fingerprint: str, after: UUID, limit: int
) -> Sequence[TextToEmbed]:
    """Return the next of them, in the order of their ids."""
    with connection.cursor() as cursor:
        cursor.execute(
            _NEXT, {"model": model_id, "fingerprint": fingerprint, "after": after, "limit": limit}
        )
        return [TextToEmbed(memory_id, content) for memory_id, content in cursor.fetchall()]


def take_cached_vectors(*, model_id: int, fingerprint: str, after: UUID, limit: int) -> UUID | None:
    """Give the next memories their vectors of a model from the cache; return where to go on.

    Reads `limit` rows behind `after`; None when there are none. A memory whose text changed
    meanwhile is left for `embed_missing`.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            _TAKE_CACHED,
            {"model": model_id, "fingerprint": fingerprint, "after": after, "limit": limit},
        )
        row = cursor.fetchone()
    return row[0] if row else None
