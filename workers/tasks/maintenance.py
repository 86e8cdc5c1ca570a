"""Tasks by the clock: what keeps promises when a message, a worker or a provider was lost."""

from datetime import timedelta

import structlog
from celery import shared_task
from django.conf import settings
from django.utils import timezone

from codemem.embedding import EmbeddingUnavailable
from graph import queries as graph_queries
from graph import services as graph
from indexing import dependencies, embedding
from indexing import services as indexing
from memory import handoffs
from memory import services as memory
from workers import queue

log = structlog.get_logger(__name__)

_CONTEXTS_AT_ONCE = 500


@shared_task
def recover_runs() -> None:
    """Send stalled and forgotten index runs to a worker again."""
    for run_id in indexing.recover_runs(now=timezone.now()):
        log.info("run_recovered", run_id=str(run_id))
        queue.index(run_id=run_id)


@shared_task
def embed_missing_symbols() -> None:
    """Queue the vectors of repositories that lack some: the model was away, or is another now."""
    try:
        waiting = embedding.repositories_to_embed()
    except EmbeddingUnavailable as error:
        log.warning("embedding_unavailable", reason=str(error))
        return
    for repository_id in waiting:
        queue.embed_symbols(repository_id=repository_id)


@shared_task
def expire_memories() -> None:
    """Mark memories whose time is over as expired."""
    memory.expire_due(now=timezone.now())


@shared_task
def expire_handoffs() -> None:
    """Mark offers that nobody claimed in time."""
    handoffs.expire_due(now=timezone.now())


@shared_task
def embed_missing() -> None:
    """Give vectors to memories that were stored while the provider was away."""
    try:
        memory.embed_missing(limit=500)
    except EmbeddingUnavailable as error:
        log.warning("embedding_unavailable", reason=str(error))


@shared_task
def make_contexts() -> None:
    """Read new and changed memories among their neighbors, and word by word."""
    try:
        while memory.make_contexts(limit=_CONTEXTS_AT_ONCE) == _CONTEXTS_AT_ONCE:
            pass
    except EmbeddingUnavailable as error:
        log.warning("embedding_unavailable", reason=str(error))


@shared_task
def build_vector_indexes() -> None:
    """Give each large namespace its own indexes of memories, and each large repository its own."""
    memory.ensure_vector_indexes()
    graph.ensure_vector_indexes()


@shared_task
def expire_overlays() -> None:
    """Drop private overlays whose time is over, and branches that nobody used for long."""
    now = timezone.now()
    graph.expire_overlays(now=now, idle_since=now - timedelta(days=settings.BRANCH_IDLE_DAYS))


@shared_task
def prune_graph() -> None:
    """Delete what ended in the graph and what nobody may read any more."""
    for namespace_id in graph_queries.namespaces_with_repositories():
        graph.prune(namespace_id=namespace_id, now=timezone.now())
    dependencies.prune()
