"""Tasks of consolidation: the runs of a namespace one after the other, and what the clock asks."""

from uuid import UUID

import structlog
from celery import shared_task
from django.utils import timezone

from memory import services as memory
from memory.consolidation import runs
from workers import queue

log = structlog.get_logger(__name__)


@shared_task
def consolidate(*, namespace_id: str) -> None:
    """Carry out the run that waits longest, then ask for the next; later, if another is at work."""
    run_id = runs.next_run(namespace_id=UUID(namespace_id))
    if run_id is None:
        return
    is_done = runs.execute(run_id=run_id, now=timezone.now())
    queue.consolidate(namespace_id=UUID(namespace_id), is_again=not is_done)


@shared_task
def consolidate_due() -> None:
    """Ask for the cycles whose time has come, by each namespace's own policy."""
    for namespace_id in runs.request_due(now=timezone.now()):
        queue.consolidate(namespace_id=namespace_id)


@shared_task
def recover() -> None:
    """Send runs again whose message was lost or whose worker died."""
    for namespace_id in runs.recover(now=timezone.now()):
        log.info("consolidation_recovered", namespace_id=str(namespace_id))
        queue.consolidate(namespace_id=namespace_id)


@shared_task
def prune() -> None:
    """Forget how to undo runs of long ago."""
    runs.prune(now=timezone.now())


@shared_task
def close_overtaken() -> None:
    """Close proposals about memories that have changed since."""
    memory.close_overtaken(now=timezone.now())
