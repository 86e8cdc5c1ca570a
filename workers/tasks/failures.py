"""The task that learns from what failed in sessions."""

from uuid import UUID

import structlog
from celery import shared_task
from django.utils import timezone

from memory import failures

log = structlog.get_logger(__name__)


@shared_task
def learn(*, session_id: str) -> None:
    """Read on in a session: what failed, what was tried, what a check proves."""
    learned = failures.learn(session_id=UUID(session_id), now=timezone.now())
    if learned.new or learned.again or learned.resolved or learned.proposed:
        log.info(
            "failures_learned",
            session=session_id,
            new=len(learned.new),
            again=len(learned.again),
            resolved=len(learned.resolved),
            proposed=learned.proposed,
        )
