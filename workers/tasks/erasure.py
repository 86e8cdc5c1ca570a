"""Tasks that erase deleted namespaces."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from indexing import erasure
from workers import queue


@shared_task
def erase_namespace(*, erasure_id: str) -> None:
    """Erase a namespace whose grace is over; what could not be done yet, the clock asks again."""
    erasure.erase(erasure_id=UUID(erasure_id), now=timezone.now())


@shared_task
def erase_due() -> None:
    """Queue the deletions whose time has come, and those that were broken off."""
    for erasure_id in erasure.due_erasures(now=timezone.now()):
        queue.erase_namespace(erasure_id=erasure_id)
