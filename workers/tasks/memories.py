"""Tasks that keep memories true to the code: what a push means for them."""

from uuid import UUID

import structlog
from celery import shared_task
from django.utils import timezone

from indexing import memories

log = structlog.get_logger(__name__)


@shared_task
def settle(*, repository_id: str, ref: str) -> None:
    """Check the anchors that pushes touched, and promote the memories of merged branches."""
    settled = memories.settle(repository_id=UUID(repository_id), ref=ref, now=timezone.now())
    if settled is not None:
        log.info(
            "memories_settled",
            anchors_changed=settled.anchors_changed,
            promoted=settled.promoted,
            queued=settled.queued,
            expiring=settled.expiring,
        )
