"""Tasks about reviews that are kept."""

from celery import shared_task
from django.utils import timezone

from indexing.posting import services


@shared_task
def forget_reviews() -> None:
    """Delete the records of reviews that are older than their namespaces keep them."""
    services.forget_reviews(now=timezone.now())
