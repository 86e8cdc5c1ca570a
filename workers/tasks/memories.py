"""Tasks that keep memories true to the code: what a push means for them."""

from datetime import datetime
from uuid import UUID

import redis
import structlog
from celery import shared_task
from django.conf import settings
from django.utils import timezone

from codemem.accounts import queries as accounts_queries
from codemem.accounts import services as accounts
from codemem.accounts.values import Action
from graph import queries as graph
from indexing import memories
from indexing.bootstrap import read_by_model
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


@shared_task
def read_documents(*, repository_id: str, user_id: str, commit: str) -> None:
    """Have a language model read a repository's documents, for whoever asked for it."""
    user = accounts_queries.get_user(user_id=int(user_id))
    repository = graph.get_repository(repository_id=UUID(repository_id))
    caller = accounts.caller_of_user(user=user)
    # What was allowed when it was asked for may not be any more.
    if not user.is_active or not caller.can(Action.WRITE_MEMORY, repository.namespace_id):
        return
    reading = read_by_model(caller=caller, repository=repository, commit=commit, now=timezone.now())
    log.info(
        "documents_read",
        documents=reading.documents,
        found=len(reading.seeds),
        model=reading.model,
        refused=reading.refused,
    )
