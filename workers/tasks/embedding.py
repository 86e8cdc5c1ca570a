"""Tasks about models: a change of them goes on, and the cache of their vectors stays small."""

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from codemem.embedding import cache
from indexing import reembedding
from workers import queue


@shared_task
def reembed() -> None:
    """Go on with a change of models for a while; queue the rest."""
    if reembedding.advance(now=timezone.now):
        queue.reembed()


@shared_task
def trim_cache() -> None:
    """Drop the cached vectors that were not used for longest."""
    cache.trim(keep=settings.EMBEDDING_CACHE_VECTORS)
