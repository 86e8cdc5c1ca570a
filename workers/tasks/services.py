"""Tasks that look across repositories: packages, endpoints, requests, topics."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from indexing.crossing import services
from workers import queue


@shared_task
def refresh_crossing(*, repository_id: str) -> None:
    """Read what a repository says across its border; queue the siblings that look at it."""
    report = services.refresh_crossing(repository_id=UUID(repository_id), now=timezone.now())
    for sibling in report.siblings if report else ():
        queue.link_crossing(repository_id=sibling)


@shared_task
def link_crossing(*, repository_id: str) -> None:
    """Compute the edges that leave a repository again."""
    services.link_crossing(repository_id=UUID(repository_id))
