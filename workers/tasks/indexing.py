"""Tasks that bring a repository's graph up to date: load, one service call, queue what follows."""

from uuid import UUID

import structlog
from celery import shared_task
from django.utils import timezone

from graph import services as graph
from indexing import embedding, pipeline
from workers import queue

log = structlog.get_logger(__name__)


@shared_task
def index(*, run_id: str) -> None:
    """Carry out an index run, then rank and embed what it changed."""
    indexed = pipeline.run_index(run_id=UUID(run_id), now=timezone.now())
    if indexed is None or not indexed.has_changed:
        return
    queue.rank(repository_id=indexed.repository_id)
    queue.embed_symbols(repository_id=indexed.repository_id)


@shared_task
def rank(*, repository_id: str) -> None:
    """Compute and store PageRank of a repository."""
    graph.rank_repository(repository_id=UUID(repository_id))


@shared_task
def embed_symbols(*, repository_id: str) -> None:
    """Compute the vectors that a repository's live symbols lack."""
    embedding.embed_symbols(repository_id=UUID(repository_id))
