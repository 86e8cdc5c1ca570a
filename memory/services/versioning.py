"""What a memory said before: one row for each change, written in the transaction of the change.

`record_version` is the one way to a version, and it is where two who change a memory at the same
time meet: the second one's change is refused, with what stands there now. `apply_snapshot` puts a
row back to what a version says, for undoing and for export; `as_of` reads the past.
"""

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, Max, Prefetch, QuerySet
from django.utils.dateparse import parse_datetime

from codemem.accounts.values import Caller
from memory.context import forget_contexts
from memory.models import Memory, MemoryVersion
from memory.wording import words_of

_TEXTS = ("content", "memory_type", "rationale", "state", "visibility", "branch", "retired_by")
_LISTS = ("tags", "alternatives", "acceptance_criteria", "evidence")
_NUMBERS = ("importance", "confidence", "is_pinned")
_TIMES = ("expires_at", "ended_at", "retired_at")
_KEYS = ("repository_id", "superseded_by_id")
SNAPSHOT_FIELDS = _TEXTS + _LISTS + _NUMBERS + _TIMES + _KEYS
"""What a snapshot holds: all that readers are shown and that a change may touch."""

_SHOWN_OF_A_CONFLICT = 500

Snapshot = Mapping[str, Any]


class MemoryChanged(Exception):
    """Somebody changed the memory since the caller read it; the message has what it says now."""


class Change(StrEnum):
    """What ended a version of a memory."""

    REFINED = "refined"
    TAGGED = "tagged"  # stored again with more tags
    SPLIT = "split"
    MERGED = "merged"
    SUPERSEDED = "superseded"
    RESOLVED = "resolved"
    REOPENED = "reopened"
    RETIRED = "retired"
    RESTORED = "restored"
    EXPIRED = "expired"
    PROMOTED = "promoted"
    MOVED = "moved"  # other visibility, repository or branch
    PINNED = "pinned"
    UNPINNED = "unpinned"
    RATED = "rated"  # feedback moved its confidence
    APPROVED = "approved"
    IMPORTED = "imported"
    CONSOLIDATED = "consolidated"
    UNDONE = "undone"


@transaction.atomic
def record_version(
    memory: Memory,
    *,
    change: Change,
    actor: Caller | str,
    now: datetime,
    reason: str = "",
    agent: str = "",
) -> MemoryVersion:
    """Keep what a memory says, before the caller changes it and in the same transaction.

    `memory` is the row as read, its fields not changed yet. Its `version` grows by one, in the
    table and in the object. Raise MemoryChanged when the table has another version than the
    object: whoever locked the row first (`SELECT ... FOR UPDATE`) never sees that.
    Seven statements, three of them for the contexts that it makes untrue.
    """
    versions = record_versions(
        [memory], change=change, actor=actor, now=now, reason=reason, agent=agent
    )
    return versions[0]


@transaction.atomic
def record_versions(
    memories: Iterable[Memory],
    *,
    change: Change,
    actor: Caller | str,
    now: datetime,
    reason: str = "",
    agent: str = "",
) -> list[MemoryVersion]:
    """Keep what many memories say, as `record_version` does for one; as few statements for all."""
    rows = list(memories)
    _take_versions(rows)
    since = _since(rows)
    person = actor if isinstance(actor, Caller) else None
    versions = [
        MemoryVersion(
            memory=memory,
            number=memory.version,
            snapshot=snapshot_of(memory),
            tokens=words_of_memory(memory),
            valid_from=since[memory.pk],
            # A clock that went back makes a version of no length, never of a negative one.
            valid_to=max(now, since[memory.pk]),
            change=change,
            reason=reason,
            changed_by_id=person.user_id if person else None,
            changed_by_name=person.username if person else str(actor),
            token_id=person.token_id if person else None,
            agent=agent[:100],
        )
        for memory in rows
    ]
    MemoryVersion.objects.bulk_create(versions)
    forget_contexts([memory.pk for memory in rows])
    for memory in rows:
        memory.version += 1
    return versions


def require_version(memory: Memory, *, expected: int | None) -> None:
    """Raise MemoryChanged unless a locked row is the version that the caller read (None: any)."""
    if expected is not None and memory.version != expected:
        raise _changed(memory, expected)


def snapshot_of(memory: Memory) -> dict[str, Any]:
    """Return a row's fields as JSON: times as ISO 8601, ids as text."""
    kept: dict[str, Any] = {name: getattr(memory, name) for name in _TEXTS + _NUMBERS}
    kept |= {name: list(getattr(memory, name)) for name in _LISTS}
    for name in _TIMES:
        at: datetime | None = getattr(memory, name)
        kept[name] = at.isoformat() if at else None
    for name in _KEYS:
        key: UUID | None = getattr(memory, name)
        kept[name] = str(key) if key else None
    return kept


def apply_snapshot(memory: Memory, snapshot: Snapshot) -> bool:
    """Set a row's fields to what a snapshot says; return whether its text is another now.

    What is derived from the text goes along, except the vector: of another text it is emptied, so
    that the sweep makes it anew. Saves nothing. Fields that the snapshot lacks stay.
    """
    before = memory.content
    for name in SNAPSHOT_FIELDS:
        if name in snapshot:
            setattr(memory, name, _restored(name, snapshot[name]))
    is_another = memory.content != before
    if is_another:
        memory.content_hash = content_hash(memory.content)
        memory.embedding, memory.embedding_fingerprint = None, ""
    memory.tokens = words_of_memory(memory)
    return is_another


def as_of(memories: QuerySet[Memory], *, caller: Caller, at: datetime) -> dict[UUID, Snapshot]:
    """Return what each memory said at a time, by id; memories that were made later are left out.

    Pass rows that the caller may see now; left out is what was private then, and not theirs. Two
    queries. The snapshot has the past's state too: filter by `snapshot["state"]`. What a
    version that was imported does not say is as it is now.
    """
    past = MemoryVersion.objects.filter(valid_from__lte=at, valid_to__gt=at).defer(
        "tokens", "lexemes"
    )
    rows = memories.filter(created_at__lte=at).prefetch_related(
        Prefetch("versions", queryset=past, to_attr="then")
    )
    found: dict[UUID, Snapshot] = {}
    for memory in rows:
        then: list[MemoryVersion] = getattr(memory, "then", [])
        if then and _is_hidden(then[0].snapshot, memory, caller):
            continue
        found[memory.pk] = snapshot_of(memory) | (then[0].snapshot if then else {})
    return found


def _is_hidden(snapshot: Snapshot, memory: Memory, caller: Caller) -> bool:
    is_own = memory.author_id == caller.user_id
    return snapshot.get("visibility") == Memory.Visibility.PRIVATE and not is_own


def words_of_memory(memory: Memory) -> str:
    """Return the words that a row is found by, from all that it says."""
    return words_of(
        memory.content,
        tags=memory.tags,
        rationale=memory.rationale,
        alternatives=memory.alternatives,
        acceptance_criteria=memory.acceptance_criteria,
    )


def words_of_snapshot(snapshot: Snapshot) -> str:
    """Return the words that a version is found by; raise TypeError for one that is none."""
    return words_of(
        snapshot.get("content", ""),
        tags=snapshot.get("tags", ()),
        rationale=snapshot.get("rationale", ""),
        alternatives=snapshot.get("alternatives", ()),
        acceptance_criteria=snapshot.get("acceptance_criteria", ()),
    )


def content_hash(content: str) -> bytes:
    return hashlib.sha256(content.encode()).digest()


def _take_versions(rows: list[Memory]) -> None:
    """Count each row's version up, or raise MemoryChanged for one that has moved on.

    Locked in one order, so that two who change several never wait for each other. Of two who read
    the same version, the second waits for the first here and then finds another one.
    """
    keys = [memory.pk for memory in rows]
    locked = Memory.objects.filter(pk__in=keys).order_by("pk").select_for_update(no_key=True)
    present = dict(locked.values_list("pk", "version"))
    for memory in rows:
        if present.get(memory.pk) != memory.version:
            raise _changed(Memory.objects.get(pk=memory.pk), memory.version)
    Memory.objects.filter(pk__in=keys).update(version=F("version") + 1)


def _since(rows: list[Memory]) -> dict[UUID, datetime]:
    """Return since when each row says what it says: its last change, or its beginning."""
    last = dict(
        MemoryVersion.objects.filter(memory__in=[memory.pk for memory in rows])
        .order_by()
        .values_list("memory")
        .annotate(Max("valid_to"))
    )
    return {memory.pk: last.get(memory.pk, memory.created_at) for memory in rows}


def _changed(present: Memory, expected: int) -> MemoryChanged:
    text = present.content[:_SHOWN_OF_A_CONFLICT]
    cut = "…" if len(present.content) > _SHOWN_OF_A_CONFLICT else ""
    return MemoryChanged(
        f"The memory {present.pk} is at version {present.version} by now, not {expected}; nothing"
        f" was changed. Read it, then say it again with expected_version {present.version}. It is"
        f" {present.state} and says: {text}{cut}"
    )


def _restored(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name in _TIMES:
        return parse_datetime(value)
    return UUID(value) if name in _KEYS else value
