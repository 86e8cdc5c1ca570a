"""What time does to memories, and what is made up for later: expiry and missing vectors."""

from datetime import datetime

from django.db import transaction
from django.db.models import F, Q, QuerySet

from codemem import embedding
from codemem.embedding import Provider
from graph import services as graph
from memory.models import Memory
from memory.queries import SEARCH_COLUMNS
from memory.services.versioning import Change, record_versions

_BATCH = 500
_EMBEDDED_AT_ONCE = 64
_ACTOR = "schedule"


def expire_due(*, now: datetime) -> int:
    """Mark every memory that is past its time as expired and take it out of the graph.

    Reads leave such memories out already; this keeps the indexes small. Each leaves a version. A
    pinned one has an end only where somebody named it: storing gives it none by itself. Works in
    transactions of 500 rows, each skipping what another process has in hand; safe to run twice.
    """
    expired = 0
    while batch := _expire_batch(now=now):
        expired += batch
    return expired


def embed_missing(*, limit: int, provider: Provider | None = None) -> int:
    """Embed active memories that have no vector of the current model; return how many.

    Raise EmbeddingUnavailable; what was embedded before that stays.
    """
    provider = provider or embedding.in_background()
    waiting = list(_not_embedded(provider).order_by("pk")[:limit])
    for start in range(0, len(waiting), _EMBEDDED_AT_ONCE):
        batch = waiting[start : start + _EMBEDDED_AT_ONCE]
        vectors = provider.embed([memory.content for memory in batch], kind="document")
        for memory, vector in zip(batch, vectors, strict=True):
            # Only of the text that was embedded: somebody may have refined it meanwhile.
            Memory.objects.filter(pk=memory.pk, content_hash=memory.content_hash).update(
                embedding=vector, embedding_fingerprint=provider.fingerprint
            )
    return len(waiting)


@transaction.atomic
def _expire_batch(*, now: datetime) -> int:
    due = (
        Memory.objects.select_for_update(skip_locked=True)
        .filter(state=Memory.State.ACTIVE, expires_at__lte=now)
        .defer(*SEARCH_COLUMNS)[:_BATCH]
    )
    memories = list(due)
    record_versions(memories, change=Change.EXPIRED, actor=_ACTOR, now=now)
    for memory in memories:
        graph.unlink_memory(namespace_id=memory.namespace_id, number=memory.number)
    Memory.objects.filter(pk__in=[memory.pk for memory in memories]).update(
        state=Memory.State.EXPIRED, ended_at=F("expires_at"), updated_at=now
    )
    return len(memories)


def _not_embedded(provider: Provider) -> QuerySet[Memory]:
    stale = Q(embedding=None) | ~Q(embedding_fingerprint=provider.fingerprint)
    return Memory.objects.filter(stale, state=Memory.State.ACTIVE).only("content", "content_hash")
