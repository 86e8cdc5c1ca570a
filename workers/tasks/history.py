"""Tasks about the past: history is read in slices, so that other repositories get their turn."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from indexing.history import backfill
from workers import queue

_SLICE_SECONDS = 60.0


@shared_task
def advance(*, repository_id: str) -> None:
    """Bring a repository's history further for a while; queue the rest."""
    if backfill.advance(repository_id=UUID(repository_id), seconds=_SLICE_SECONDS):
        queue.advance_history(repository_id=UUID(repository_id))


@shared_task
def advance_all() -> None:
    """Queue the histories that are behind and that nobody is at: a message or a worker was lost."""
    for repository_id in backfill.histories_to_advance(now=timezone.now()):
        queue.advance_history(repository_id=repository_id)
