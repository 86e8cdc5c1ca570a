"""Vectors of a repository's symbols: only of texts that nobody embedded before.

Runs after the graph is written and never delays it; killed half-way, it goes on where it stopped.
"""

from uuid import UUID

import structlog

from codemem.embedding import from_settings
from graph import queries, services

log = structlog.get_logger(__name__)

_BATCH = 256


def embed_symbols(*, repository_id: UUID) -> int:
    """Embed every live symbol without a vector of the current model; return how many."""
    provider = from_settings()
    done = 0
    while batch := queries.symbols_to_embed(
        repository_id=repository_id, fingerprint=provider.fingerprint, limit=_BATCH
    ):
        vectors = provider.embed([item.text for item in batch], kind="document")
        services.store_symbol_embeddings(
            vectors={
                item.digest: vector for item, vector in zip(batch, vectors, strict=True)
            },
            fingerprint=provider.fingerprint,
        )
        done += len(batch)
        log.info("symbols_embedded", repository_id=str(repository_id), done=done)
    return done
