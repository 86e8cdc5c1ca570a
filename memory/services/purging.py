"""Erasing a memory for good: the only thing here that cannot be undone.

First a preview that counts what would go, then the purge itself, in one transaction over all
tables and the graph: a kill in the middle leaves everything as it was. What stays is an audit event
with counts. `tests/memory/services/test_purging.py` looks for the text in every column there is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib.admin.models import LogEntry
from django.db import models, transaction
from django.db.models import Q

from codemem.accounts.values import Caller
from codemem.embedding import cache
from codemem.embedding.models import CachedVector
from graph import queries as graph_queries
from graph import services as graph
from graph.values import VertexLabel, graph_id
from memory import queries, summaries
from memory.context import forget_contexts
from memory.models import ConsolidationChange, Injection, Memory, MemoryUse, ReviewItem
from memory.privacy import private_rows
from memory.services.captured import count_captured, erase_captured
from memory.services.retirement import locked_memory, record_event, require_mine

_EDGES_COUNTED = 100_000
_ECHOES_NAMED = 20


class PurgeUnconfirmed(Exception):
    """Erasing takes the memory's own id as confirmation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Purge:
    """What a purge erases, or erased, by kind and count.

    `echoes` are other memories, visible to the caller, in which the same words stand: merged and
    split ones, quotations. They are left alone, and named so that somebody can look.
    """

    memory_id: UUID
    is_done: bool
    rows: Mapping[str, int]
    echoes: tuple[UUID, ...]
    at: datetime
    by: str


def preview_purge(*, caller: Caller, memory_id: UUID, now: datetime) -> Purge:
    """Return what a purge would erase; raise MemoryUnknown or RightMissing."""
    with transaction.atomic():
        memory = locked_memory(caller=caller, memory_id=memory_id, now=now)
        require_mine(caller=caller, memory=memory)
        return Purge(
            memory_id=memory.pk,
            is_done=False,
            rows=_counted(memory, seen_by=caller),
            echoes=_echoes(caller, memory, now=now),
            at=now,
            by=caller.username,
        )


@transaction.atomic
def purge_memory(
    *, caller: Caller, memory_id: UUID, confirm: str, now: datetime, reason: str = ""
) -> Purge:
    """Erase a memory, its author's own or for maintainers any; return the receipt.

    `confirm` is the memory's id. Raise MemoryUnknown, RightMissing, PurgeUnconfirmed.
    """
    memory = locked_memory(caller=caller, memory_id=memory_id, now=now)
    require_mine(caller=caller, memory=memory)
    if confirm != str(memory_id):
        raise PurgeUnconfirmed(
            f"This erases the memory for good. To confirm, pass its id, {memory_id}."
        )
    echoes = _echoes(caller, memory, now=now)
    rows = _counted(memory)
    _erase(memory)
    record_event(caller, memory, "memory.purge", {"rows": rows, "reason": reason})
    return Purge(
        memory_id=memory_id,
        is_done=True,
        rows=rows,
        echoes=echoes,
        at=now,
        by=caller.username,
    )


def _counted(memory: Memory, *, seen_by: Caller | None = None) -> dict[str, int]:
    """Return what there is of a memory by kind, without what there is none of.

    Of sessions that hold its words a preview counts those that the caller may see.
    """
    links = graph_queries.links_of(
        namespace_id=memory.namespace_id, vertices=[_vertex(memory)], limit=_EDGES_COUNTED
    )
    counts = {
        "memory": 1,
        "embedding": int(memory.embedding is not None),
        "links": len(links) + len(memory.retired_links),
        "summaries": len(summaries.telling(memory.pk)),
        "review_items": _proposals(memory).count(),
        "consolidation_changes": _changes(memory).count(),
        "admin_log_entries": _log_entries(memory).count(),
        "cached_vectors": CachedVector.objects.filter(digest__in=_digests(memory)).count(),
    }
    counts |= {
        "versions": memory.versions.count(),
        "anchors": memory.anchors.count(),
        "entities": memory.entities.count(),
        "feedback": memory.feedback.count(),
        "use": MemoryUse.objects.filter(memory=memory).count(),
        "injections": memory.injections.filter(
            Q() if seen_by is None else private_rows(seen_by)[Injection]
        ).count(),
        "captured": count_captured(
            namespace_id=memory.namespace_id, texts=_said(memory), caller=seen_by
        ),
    }
    return {name: count for name, count in counts.items() if count}


def _erase(memory: Memory) -> None:
    summaries.erase_telling(memory.pk)
    graph.unlink_memory(namespace_id=memory.namespace_id, number=memory.number)
    _forget_ties_to(memory)
    _proposals(memory).delete()
    _changes(memory).delete()
    _log_entries(memory).delete()
    cache.purge(digests=_digests(memory))
    erase_captured(namespace_id=memory.namespace_id, texts=_said(memory))
    # Its neighbors are found by its words, too.
    forget_contexts([memory.pk])
    # Versions, anchors, entities, feedback, use and injections go with the row.
    Memory.objects.filter(pk=memory.pk).delete()


def _forget_ties_to(memory: Memory) -> None:
    """Take ties to the memory out of what retired ones remember of theirs."""
    vertex = _vertex(memory)
    holding = Q(retired_links__contains=[{"source": vertex}]) | Q(
        retired_links__contains=[{"target": vertex}]
    )
    rows = Memory.objects.select_for_update(no_key=True).filter(
        holding, namespace_id=memory.namespace_id
    )
    for other in rows.exclude(pk=memory.pk).order_by("pk").only("retired_links"):
        kept = [tie for tie in other.retired_links if vertex not in (tie["source"], tie["target"])]
        Memory.objects.filter(pk=other.pk).update(retired_links=kept)


def _proposals(memory: Memory) -> models.QuerySet[ReviewItem]:
    return ReviewItem.objects.filter(
        namespace_id=memory.namespace_id, memory_ids__contains=[str(memory.pk)]
    )


def _changes(memory: Memory) -> models.QuerySet[ConsolidationChange]:
    """Return what cycles did with it. Undoing such a run leaves out what is not there any more."""
    return ConsolidationChange.objects.filter(memory_id=memory.pk)


def _log_entries(memory: Memory) -> models.QuerySet[LogEntry]:
    """Return what Django's admin noted: it names a thing by how it begins."""
    return LogEntry.objects.filter(content_type__app_label="memory", object_id=str(memory.pk))


def _digests(memory: Memory) -> list[bytes]:
    """Return the keys under which vectors of what it says, or said, may be kept."""
    return [cache.digest_of(text) for text in _said(memory)]


def _said(memory: Memory) -> list[str]:
    """Return what it says, and what it said before."""
    said = {memory.content}
    for snapshot in memory.versions.values_list("snapshot", flat=True):
        said.add(str(snapshot.get("content", "")))
    return sorted(said)


def _echoes(caller: Caller, memory: Memory, *, now: datetime) -> tuple[UUID, ...]:
    """Return other memories that the caller sees and that say the same, whole or in part of it."""
    rows = queries.visible_memories(caller=caller, now=now, include_inactive=True)
    found = (
        rows.filter(namespace_id=memory.namespace_id, content__contains=memory.content)
        .exclude(pk=memory.pk)
        .values_list("pk", flat=True)
    )
    return tuple(found[:_ECHOES_NAMED])


def _vertex(memory: Memory) -> int:
    return graph_id(label=VertexLabel.MEMORY, key=memory.number)
