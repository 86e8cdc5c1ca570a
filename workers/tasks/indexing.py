"""Tasks that bring a repository's graph up to date: load, one service call, queue what follows."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from indexing import embedding, pipeline, queries
from workers import queue


@shared_task
def index(*, run_id: str) -> None:
    """Carry out an index run, then queue what follows from it and the runs that it kept waiting."""
    outcome = pipeline.run_index(run_id=UUID(run_id), now=timezone.now())
    if outcome is None:
        return
    if outcome.is_indexed:
        queue.embed_symbols(repository_id=outcome.repository_id)
        queue.rank_repository(repository_id=outcome.repository_id)
        queue.refine(repository_id=outcome.repository_id)
        queue.refresh_crossing(repository_id=outcome.repository_id)
        queue.advance_history(repository_id=outcome.repository_id)
        queue.find_findings(repository_id=outcome.repository_id)
        queue.keep_words(repository_id=outcome.repository_id)
        queue.settle_memories(repository_id=outcome.repository_id, ref=outcome.ref)
    for waiting in queries.waiting_runs(repository_id=outcome.repository_id, ref=outcome.ref):
        queue.index(run_id=waiting)


@shared_task
def embed_symbols(*, repository_id: str) -> None:
    """Compute vectors that a repository's live symbols lack, for a while; queue the rest."""
    if embedding.embed_symbols(repository_id=UUID(repository_id)):
        queue.embed_symbols(repository_id=UUID(repository_id))
