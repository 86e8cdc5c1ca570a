"""Tasks about reviews: posted by the server, tried again when due, forgotten when old."""

from uuid import UUID

from celery import shared_task
from django.utils import timezone

from indexing.posting import delivery, services
from workers import queue


@shared_task
def post_review(*, record_id: str) -> None:
    """Review a pull request and write its comment; what a host refuses for now is due again."""
    delivery.deliver(record_id=UUID(record_id), now=timezone.now())


@shared_task
def post_due() -> None:
    """Queue the reviews whose time has come, or whose message or worker was lost."""
    for record_id in delivery.due_records(now=timezone.now()):
        queue.post_review(record_id=record_id)


@shared_task
def forget_reviews() -> None:
    """Delete the records of reviews that are older than their namespaces keep them."""
    services.forget_reviews(now=timezone.now())
