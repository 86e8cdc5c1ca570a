"""Tasks that look at code: findings and metrics after a push, a portion of blame at a time."""

from datetime import timedelta
from uuid import UUID

from celery import shared_task
from django.utils import timezone

from indexing import queries as indexing
from indexing.findings import analysis, queries, services
from workers import queue

_METRICS_ARE_KEPT = timedelta(days=730)


@shared_task
def find_findings(*, repository_id: str) -> None:
    """Analyze what is indexed; files that are left to blame wait behind other repositories.

    While another push is being indexed there is nothing to do: a message follows it, too.
    """
    if indexing.is_default_branch_pending(repository_id=UUID(repository_id)):
        return
    if analysis.analyze(repository_id=UUID(repository_id), now=timezone.now()):
        queue.find_findings(repository_id=UUID(repository_id))


@shared_task
def find_missing_findings() -> None:
    """Queue the analysis of repositories whose message, or whose worker, was lost."""
    for repository_id in queries.repositories_to_analyze():
        queue.find_findings(repository_id=repository_id)


@shared_task
def prune_metrics() -> None:
    """Forget what metrics were more than two years ago."""
    services.prune_metrics(before=timezone.now() - _METRICS_ARE_KEPT)
