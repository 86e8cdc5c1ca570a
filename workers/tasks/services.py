"""Tasks that look across repositories: packages, endpoints, requests, topics."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from indexing.crossing import services
from workers import queue


@shared_task
def refresh_crossing(*, repository_id: str) -> None:
    """Read what a repository says across its border; queue the siblings that look at it."""
    try:
        report = services.refresh_crossing(repository_id=UUID(repository_id), now=timezone.now())
    except services.CrossingBusy:
        # The pass under way may have begun before the push that asks for this one.
        queue.refresh_crossing(repository_id=UUID(repository_id), is_again=True)
        return
    for sibling in report.siblings if report else ():
        queue.link_crossing(repository_id=sibling)


@shared_task
def link_crossing(*, repository_id: str) -> None:
    """Compute the edges that leave a repository again."""
    try:
        services.link_crossing(repository_id=UUID(repository_id))
    except services.CrossingBusy:
        queue.link_crossing(repository_id=UUID(repository_id), is_again=True)
