"""Counting what was recalled: being useful keeps a memory fresh for the decay cycle."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import F

from codemem import policies
from memory.models import Memory, MemoryUse


@transaction.atomic
def note_recalled(*, memory_ids: Collection[UUID], now: datetime) -> int:
    """Count that memories were recalled, once for each; return how many counted.

    Memories of namespaces that do not want it, and those that are gone, are left out.
    """
    held = Memory.objects.filter(pk__in=set(memory_ids)).values_list("pk", "namespace_id")
    rows = dict(held.order_by("pk"))
    wanted = policies.values(set(rows.values()), "recall.counts_as_access")
    counted = [
        key for key, namespace in rows.items() if wanted[namespace]["recall.counts_as_access"]
    ]
    MemoryUse.objects.bulk_create(
        [MemoryUse(memory_id=key) for key in counted], ignore_conflicts=True
    )
    return MemoryUse.objects.filter(memory_id__in=counted).update(
        recalled=F("recalled") + 1, recalled_at=now
    )
