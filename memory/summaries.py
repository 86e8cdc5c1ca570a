"""Summaries: what they are made of, and the way back to the originals.

A summary cites its sources as evidence (objects of kind "memory"), in order, with the beginning of
the hash of what each said; so it can be told whether it is still of what they say, also when a
source has expired and left the graph.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from codemem.accounts.values import Caller
from codemem.embedding import cache
from graph import services as graph
from memory import queries
from memory.context import forget_contexts
from memory.extracting import citation
from memory.models import ConsolidationChange, Memory, MemoryVersion, ReviewItem
from memory.values import MemoryType, StoredMemory

SOURCE: Final = "consolidation"
MAXIMUM_DEPTH: Final = 8
MAXIMUM_NODES: Final = 200

_HASH_CHARACTERS: Final = 12


class NotASummary(Exception):
    """The memory is an original: there is nothing to expand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One part of an expanded summary; `hidden` are its sources that the caller may not read."""

    memory: StoredMemory
    citation: str
    depth: int
    parent: UUID | None
    hidden: int = 0


def expand(
    *, caller: Caller, memory_id: UUID, now: datetime, depth: int = 1
) -> tuple[list[Node], bool]:
    """Return a summary with its sources, down to `depth`, and whether all of them are shown.

    The originals are shown in whatever state they are, each only to whom it may be shown: a
    summary opens nothing. Raise MemoryUnknown, NotASummary. One query for each level.
    """
    rows = queries.shown(queries.visible_memories(caller=caller, now=now, include_inactive=True))
    root = rows.filter(pk=memory_id).first()
    if root is None:
        raise queries.unknown(memory_id)
    if not sources_of(root):
        raise NotASummary(f"The memory {memory_id} is an original: it has no sources to expand.")
    nodes: list[Node] = []
    waiting: list[tuple[Memory, int, UUID | None]] = [(root, 0, None)]
    is_whole = True
    while waiting:
        level, waiting = waiting, []
        wanted = [key for row, at, _ in level if at < depth for key in sources_of(row)]
        found = {row.pk: row for row in rows.filter(pk__in=wanted)} if wanted else {}
        for row, at, parent in level:
            sources = sources_of(row) if at < depth else ()
            readable = [found[key] for key in sources if key in found]
            nodes.append(
                Node(
                    memory=queries.stored(row, now=now),
                    citation=citation(row.pk),
                    depth=at,
                    parent=parent,
                    hidden=len(sources) - len(readable),
                )
            )
            waiting += [(source, at + 1, row.pk) for source in readable]
        room = MAXIMUM_NODES - len(nodes)
        is_whole = is_whole and len(waiting) <= room
        waiting = waiting[: max(room, 0)]
    return nodes, is_whole


def sources_of(summary: Memory) -> tuple[UUID, ...]:
    """Return the memories that a summary was made of, in order; of an original none."""
    if summary.memory_type != MemoryType.SUMMARY:
        return ()
    return tuple(UUID(item["ref"]) for item in summary.evidence if item.get("kind") == "memory")


def evidence_of(members: Sequence[Memory]) -> list[dict[str, str]]:
    """Return what a summary of these cites."""
    return [
        {"kind": "memory", "ref": str(member.pk), "note": _hash_of(member)} for member in members
    ]


def kept_members(summaries: Iterable[Memory]) -> Mapping[UUID, frozenset[UUID]]:
    return {summary.pk: frozenset(sources_of(summary)) for summary in summaries}


def telling(memory_id: UUID) -> list[Memory]:
    """Return the summaries that tell of a memory, or once did, in any state and at any height."""
    found: dict[UUID, Memory] = {}
    asked = {memory_id}
    while asked:
        cited = [[{"kind": "memory", "ref": str(key)}] for key in asked]
        now = reduce(or_, (Q(evidence__contains=one) for one in cited))
        once = reduce(or_, (Q(snapshot__evidence__contains=one) for one in cited))
        past = MemoryVersion.objects.filter(once).values("memory_id")
        rows = Memory.objects.filter(now | Q(pk__in=past), source=SOURCE)
        level = rows.filter(memory_type=MemoryType.SUMMARY).defer(*queries.SEARCH_COLUMNS)
        fresh = {row.pk: row for row in level if row.pk not in found}
        found |= fresh
        asked = set(fresh)
    return list(found.values())


@transaction.atomic
def erase_telling(memory_id: UUID) -> int:
    """Erase every summary that tells of a memory; return how many.

    For a memory that is purged, or may not be told to those any more who read its summaries.
    Nothing is lost: what is left of the sources is summarized again by the next cycle.
    """
    rows = telling(memory_id)
    for row in rows:
        erase(row)
    return len(rows)


def erase(summary: Memory) -> None:
    """Erase a summary with all that repeats its words: versions, changes, proposals, vectors."""
    graph.unlink_memory(namespace_id=summary.namespace_id, number=summary.number)
    said = {summary.content}
    said |= {str(kept.get("content", "")) for kept in _snapshots(summary)}
    cache.purge(digests=[cache.digest_of(text) for text in sorted(said)])
    ConsolidationChange.objects.filter(memory_id=summary.pk).delete()
    ReviewItem.objects.filter(
        namespace_id=summary.namespace_id, memory_ids__contains=[str(summary.pk)]
    ).delete()
    # Its neighbors in a session are found by its words, too.
    forget_contexts([summary.pk])
    Memory.objects.filter(pk=summary.pk).delete()


def _snapshots(summary: Memory) -> list[Mapping[str, object]]:
    return list(
        MemoryVersion.objects.filter(memory_id=summary.pk).values_list("snapshot", flat=True)
    )


def _hash_of(member: Memory) -> str:
    return bytes(member.content_hash).hex()[:_HASH_CHARACTERS]
