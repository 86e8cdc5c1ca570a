"""Vectors of a repository's symbols: only of texts that nobody embedded before.

Runs after the graph is written and never delays it; killed half-way, it goes on where it stopped.
What is missing is known from the rows alone, so a lost message costs time, not vectors.
"""

import contextlib
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import structlog

from codemem.embedding import EmbeddingUnavailable, in_background
from graph import queries as graph_queries
from graph import services as graph
from indexing import queries
from indexing.locks import Work, only_worker

log = structlog.get_logger(__name__)

SLICE_SECONDS = 20.0
"""After so long a worker lets others in: vectors of a large repository take minutes."""

_BATCH = 256
_NICENESS = 10


def embed_symbols(*, repository_id: UUID) -> bool:
    """Embed live symbols without a vector of the current model; return whether some are left.

    Works for SLICE_SECONDS at most. Without a model nothing can be done now: the graph is usable
    as it is, and `repositories_to_embed` names the repository until the vectors are there.
    """
    with only_worker(work=Work.EMBED, repository_id=repository_id) as is_ours:
        if not is_ours:
            return False
        try:
            return _embed_slice(repository_id)
        except EmbeddingUnavailable as error:
            log.warning("embedding_unavailable", reason=str(error))
            return False


def repositories_to_embed() -> list[UUID]:
    """Return the repositories with live symbols that have no vector of the current model."""
    return queries.repositories_to_embed(fingerprint=in_background().fingerprint)


def _embed_slice(repository_id: UUID) -> bool:
    provider = in_background()
    deadline = time.monotonic() + SLICE_SECONDS
    with ThreadPoolExecutor(max_workers=1, initializer=_give_way) as background:
        while time.monotonic() < deadline:
            batch = graph_queries.symbols_to_embed(
                repository_id=repository_id, fingerprint=provider.fingerprint, limit=_BATCH
            )
            if not batch:
                return False
            texts = [item.text for item in batch]
            vectors = background.submit(provider.embed, texts, kind="document").result()
            graph.store_symbol_embeddings(
                vectors={item.digest: vector for item, vector in zip(batch, vectors, strict=True)},
                fingerprint=provider.fingerprint,
            )
    return True


def _give_way() -> None:
    """Let recalls, which embed their question on the same cores, go before this thread.

    Beside two embedding workers on two cores a question takes 3.8 ms at p50 (8.3 if they are not
    nice, 4.2 alone). Linux counts niceness by thread, so it ends with this one; a nice process
    would stay nice, also for the next push that it indexes.
    """
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
