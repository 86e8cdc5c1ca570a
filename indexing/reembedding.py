"""Carries out a change of models: every text embedded anew, beside, then switched.

Killed anywhere, it goes on where it stopped: what is missing is known from the rows alone. Until
all texts have a vector of the new model nothing that answers is touched; then the new model
serves, and the rows take their vectors from the cache. Only meanwhile (4 s for 20,000 rows on a
busy machine) do those that have none yet answer by words alone.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

import structlog

from codemem.embedding import EmbeddingUnavailable, reembedding
from codemem.embedding.reembedding import Job
from graph import queries as graph_queries
from graph import services as graph
from indexing import queries
from indexing.locks import Work, only_worker
from memory import services as memory

log = structlog.get_logger(__name__)

SLICE_SECONDS: Final = 20.0
_BATCH: Final = 256
_TAKEN_AT_ONCE: Final = 2_000


def advance(*, now: Callable[[], datetime]) -> bool:
    """Go on with the change of models for 20 seconds; return whether there is more to do.

    False, too, when another worker is at it, or the model does not answer: the clock asks again.
    """
    try:
        job = reembedding.open_job()
        if job is None:
            return False
        with only_worker(work=Work.REEMBED, repository_id=job.id) as is_ours:
            return is_ours and _advance(job, _Slice(now=now))
    except EmbeddingUnavailable as error:
        log.warning("embedding_unavailable", reason=str(error))
        reembedding.note_trouble(reason=str(error), now=now())
        return False


@dataclass(slots=True)
class _Slice:
    """A worker's turn."""

    now: Callable[[], datetime]
    until: float = field(default_factory=lambda: time.monotonic() + SLICE_SECONDS)

    def is_over(self) -> bool:
        return time.monotonic() >= self.until


def _advance(job: Job, turn: _Slice) -> bool:
    if not job.is_switching:
        reembedding.note_total(job_id=job.id, left=_left(job), now=turn.now())
        is_built = _build_memories(job, turn) and _build_symbols(job, turn)
        if not is_built or not reembedding.switch(job_id=job.id, now=turn.now()):
            return reembedding.is_running(job_id=job.id)
    _take_from_cache(job)
    reembedding.finish(job_id=job.id, now=turn.now())
    memory.ensure_vector_indexes()
    graph.ensure_vector_indexes()
    return False


def _left(job: Job) -> int:
    return memory.count_texts_to_embed(
        model_id=job.model_id, fingerprint=job.fingerprint
    ) + graph_queries.count_symbols_to_embed(model_id=job.model_id, fingerprint=job.fingerprint)


def _build_memories(job: Job, turn: _Slice) -> bool:
    """Embed texts of memories until there are none, or the turn is over; tell whether all are."""
    after = memory.FIRST
    while batch := memory.texts_to_embed(
        model_id=job.model_id, fingerprint=job.fingerprint, after=after, limit=_BATCH
    ):
        if not _embedded(job, [item.text for item in batch], turn):
            return False
        after = batch[-1].memory_id
    return True


def _build_symbols(job: Job, turn: _Slice) -> bool:
    for repository_id in queries.repositories_to_embed(fingerprint=job.fingerprint):
        if not _build_symbols_of(repository_id, job, turn):
            return False
    return True


def _build_symbols_of(repository_id: UUID, job: Job, turn: _Slice) -> bool:
    after = b""
    while batch := graph_queries.symbols_to_embed(
        repository_id=repository_id,
        fingerprint=job.fingerprint,
        limit=_BATCH,
        uncached_of=job.model_id,
        after=after,
    ):
        if not _embedded(job, [item.text for item in batch], turn):
            return False
        after = batch[-1].digest
    return True


def _embedded(job: Job, texts: list[str], turn: _Slice) -> bool:
    """Embed a batch into the cache; False, having done nothing, when the turn is over."""
    if turn.is_over() or not reembedding.is_running(job_id=job.id):
        return False
    started = time.monotonic()
    job.provider.embed(texts, kind="document")
    reembedding.note_work(
        job_id=job.id, texts=len(texts), seconds=time.monotonic() - started, now=turn.now()
    )
    return True


def _take_from_cache(job: Job) -> None:
    """Give every row its new vector, memories first: they answer more often."""
    after: UUID | None = memory.FIRST
    while after is not None:
        after = memory.take_cached_vectors(
            model_id=job.model_id, fingerprint=job.fingerprint, after=after, limit=_TAKEN_AT_ONCE
        )
    last: int | None = 0
    while last is not None:
        last = graph.take_cached_symbol_vectors(
            model_id=job.model_id, fingerprint=job.fingerprint, after=last, limit=_TAKEN_AT_ONCE
        )
