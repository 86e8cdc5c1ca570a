"""Vectors by the text they are of: what was embedded once is not embedded again.

Memories and code share them. Questions are not among them: each process remembers its own.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta

import numpy as np
from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.utils import timezone
from numpy.typing import NDArray

from codemem.embedding.models import CachedVector, EmbeddingModel, Reembedding
from codemem.embedding.protocol import Kind, Provider
from codemem.embedding.specification import Specification
from codemem.embedding.vectors import vector_text

_USED_IS_NOTED_AFTER = timedelta(days=1)
_AT_ONCE = 5_000

_REMEMBER = """
    INSERT INTO embedding_cachedvector (digest, model_id, vector, used_at)
    SELECT given.digest, %s, given.vector::halfvec, %s
    FROM unnest(%s::bytea[], %s::text[]) AS given (digest, vector)
    ON CONFLICT DO NOTHING
"""


class CachedProvider:
    """A provider that asks the cache before its model. See Provider for what it promises."""

    def __init__(self, model: Provider, specification: Specification) -> None:
        self.model = model
        self.specification = specification
        self.dimensions = model.dimensions
        self.fingerprint = model.fingerprint
        self.max_tokens = model.max_tokens

    def embed(self, texts: Sequence[str], *, kind: Kind) -> NDArray[np.float32]:
        """See Provider.embed. Two queries for documents, three when some are new."""
        if kind == "query" or not texts or not settings.EMBEDDING_CACHE_VECTORS:
            return self.model.embed(texts, kind=kind)
        digests = [digest_of(text) for text in texts]
        model_id = registered(self)
        known = _known(model_id, digests, now=timezone.now())
        new = {
            digest: text for digest, text in zip(digests, texts, strict=True) if digest not in known
        }
        if new:
            made = self.model.embed(list(new.values()), kind=kind)
            known |= dict(zip(new, made, strict=True))
            remember(model_id=model_id, vectors={digest: known[digest] for digest in new})
        return np.stack([known[digest] for digest in digests])


def digest_of(text: str) -> bytes:
    """Return a text's address in the cache, its SHA-256."""
    return hashlib.sha256(text.encode(errors="replace")).digest()


def registered(model: CachedProvider) -> int:
    """Return the key of a model's row, making it at its first vector.

    The first model that ever made one serves. One query where the row is there.
    """
    rows = EmbeddingModel.objects.filter(fingerprint=model.fingerprint)
    known = rows.values_list("pk", flat=True).first()
    if known is not None:
        return known
    values = {
        "dimensions": model.dimensions,
        "specification": model.specification.described(),
    }
    is_first = not EmbeddingModel.objects.filter(is_serving=True).exists()
    try:
        with transaction.atomic():
            return EmbeddingModel.objects.create(
                fingerprint=model.fingerprint, is_serving=is_first, **values
            ).pk
    except IntegrityError:  # another process was first, with this model or to serve
        row, _ = EmbeddingModel.objects.get_or_create(
            fingerprint=model.fingerprint, defaults=values
        )
        return row.pk


def remember(*, model_id: int, vectors: Mapping[bytes, NDArray[np.float32]]) -> None:
    """Keep vectors by their digests. One statement."""
    ordered = sorted(vectors)  # or two processes with the same texts could wait for each other
    with connection.cursor() as cursor:
        cursor.execute(
            _REMEMBER,
            [
                model_id,
                timezone.now(),
                ordered,
                [vector_text(vectors[digest]) for digest in ordered],
            ],
        )


def purge(*, digests: Collection[bytes]) -> int:
    """Erase the vectors of some texts, of every model; return how many there were."""
    deleted, _ = CachedVector.objects.filter(digest__in=list(digests)).delete()
    return deleted


def trim(*, keep: int) -> int:
    """Drop the vectors that were not used for longest, and return how many.

    Those of a model that is being changed to stay: they are not a cache yet.
    """
    rows = CachedVector.objects.exclude(
        model__in=Reembedding.objects.filter(finished_at=None).values("model")
    )
    dropped = 0
    while (excess := rows.count() - keep) > 0:
        oldest = rows.order_by("used_at").values_list("digest", "model_id")
        keys = list(oldest[: min(excess, _AT_ONCE)])
        with connection.cursor() as cursor:
            cursor.execute(
                "DELETE FROM embedding_cachedvector cached"
                " USING unnest(%s::bytea[], %s::bigint[]) AS given (digest, model)"
                " WHERE cached.digest = given.digest AND cached.model_id = given.model",
                [[bytes(digest) for digest, _ in keys], [model for _, model in keys]],
            )
            dropped += cursor.rowcount
    return dropped


def _known(
    model_id: int, digests: Collection[bytes], *, now: datetime
) -> dict[bytes, NDArray[np.float32]]:
    rows = CachedVector.objects.filter(model=model_id, digest__in=set(digests))
    found, stale = {}, []
    for digest, vector, used_at in rows.values_list("digest", "vector", "used_at"):
        row = np.array(vector, np.float32)
        found[bytes(digest)] = row / np.linalg.norm(row)
        if used_at < now - _USED_IS_NOTED_AFTER:
            stale.append(digest)
    if stale:
        rows.filter(digest__in=stale).update(used_at=now)
    return found
