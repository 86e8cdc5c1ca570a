"""Tasks that keep memories true to the code: what a push means for them."""

from datetime import datetime
from uuid import UUID

import redis
import structlog
from celery import shared_task
from django.conf import settings
from django.utils import timezone

from indexing import memories
from memory import services as memory

log = structlog.get_logger(__name__)

_RECALLED_ONCE_IN_SECONDS = 60


@shared_task
def note_recalled(*, user_id: str, memory_ids: str, at: str) -> None:
    """Count that a user recalled memories, each at most once a minute."""
    client = redis.Redis.from_url(settings.REDIS_URL)
    try:
        first = [
            key
            for key in memory_ids.split(",")
            if client.set(f"recalled:{user_id}:{key}", 1, nx=True, ex=_RECALLED_ONCE_IN_SECONDS)
        ]
    finally:
        client.close()
    memory.note_recalled(memory_ids=[UUID(key) for key in first], now=datetime.fromisoformat(at))


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
