"""What follows from sessions of agents: learning while they run, and what is done once they end."""

from uuid import UUID

import structlog
from celery import shared_task
from django.utils import timezone

from memory import distillation, failures, handoffs, sessions
from workers import queue

log = structlog.get_logger(__name__)


@shared_task
def learn(*, session_id: str) -> None:
    """Look at what failed in a session since the last time, and at what validated a fix."""
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


@shared_task
def end(*, session_id: str) -> None:
    """Distill a session that ended and offer it to the next one."""
    key, now = UUID(session_id), timezone.now()
    # Its last failures, and those whose message Redis did not take.
    failures.learn(session_id=key, now=now)
    distilled = distillation.distill(session_id=key, now=now)
    if distilled.proposed:
        log.info("session_distilled", session=session_id, proposed=len(distilled.proposed))
    handoffs.offer_automatic(session_id=key, now=now)
    sessions.note_finished(session_id=key, now=now)


@shared_task
def close_silent() -> None:
    """End the sessions of which nothing was heard for half an hour."""
    now = timezone.now()
    for session_id in sessions.close_silent(now=now):
        queue.end_session(session_id=session_id, now=now)


@shared_task
def finish_ended() -> None:
    """Ask again for sessions that ended while Redis was away, or whose worker died."""
    now = timezone.now()
    for session_id in sessions.unfinished(now=now):
        queue.end_session(session_id=session_id, now=now)


@shared_task
def forget_captured() -> None:
    """Erase what was captured and is older than its namespace keeps it."""
    count = sessions.forget_captured(now=timezone.now())
    if count:
        log.info("captured_rows_forgotten", rows=count)
