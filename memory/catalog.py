"""Memories as people look through them: narrowed, in pages, with the state of what they cite.

Knows no question; who asks something uses `memory.recall`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from codemem.accounts.values import Caller
from memory import queries
from memory.anchors import AnchorState, worst
from memory.models import Anchor, Memory
from memory.values import StoredMemory

ANY: Final = "any"
NOT_ANCHORED: Final = "none"
STATES: Final = (ANY, *(state.value for state in Memory.State))
ANCHORED: Final = (NOT_ANCHORED, *(state.value for state in AnchorState))
PAGE_SIZE: Final = 30
MAXIMUM_PAGE: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowing:
    """What a list is narrowed to; what is empty narrows nothing.

    `state` is the one that readers are shown (what is past its time is expired, swept or not);
    `anchored` is the worst state of what a memory cites at its last check, or NOT_ANCHORED.
    """

    memory_type: str = ""
    state: str = Memory.State.ACTIVE.value
    visibility: str = ""
    repository_id: UUID | None = None
    author: str = ""
    tag: str = ""
    anchored: str = ""
    is_pinned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A memory in a list, with the worst state of its anchors; None: it cites no code."""

    memory: StoredMemory
    anchored: AnchorState | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogPage:
    """One page, counted from 1, of `total` memories."""

    entries: tuple[Entry, ...]
    total: int
    number: int
    size: int

    @property
    def last(self) -> int:
        return max(1, -(-self.total // self.size))


def catalog(
    *,
    caller: Caller,
    namespace_id: UUID,
    now: datetime,
    narrowing: Narrowing,
    page: int = 1,
    size: int = PAGE_SIZE,
) -> CatalogPage:
    """Return a page of a namespace's memories that the caller sees, newest first. Three queries."""
    rows = queries.visible_memories(caller=caller, now=now, include_inactive=True).filter(
        _narrowed(narrowing, now=now), namespace_id=namespace_id
    )
    if narrowing.anchored:
        rows = _anchored(rows, narrowing.anchored)
    total = rows.count()
    number = min(max(page, 1), MAXIMUM_PAGE, max(1, -(-total // size)))
    newest = queries.shown(rows).order_by("-created_at", "-pk")
    shown = newest[(number - 1) * size : number * size]
    return CatalogPage(
        entries=entries_of([queries.stored(row, now=now) for row in shown]),
        total=total,
        number=number,
        size=size,
    )


def entries_of(memories: Collection[StoredMemory]) -> tuple[Entry, ...]:
    """Return memories with the state of what they cite at the last check. One query."""
    states = _worst_states([memory.id for memory in memories])
    return tuple(Entry(memory=memory, anchored=states.get(memory.id)) for memory in memories)


def _narrowed(narrowing: Narrowing, *, now: datetime) -> Q:
    condition = _in_state(narrowing.state, now=now)
    if narrowing.repository_id is not None:
        condition &= queries.in_repository(narrowing.repository_id)
    if narrowing.tag:
        condition &= Q(tags__contains=[narrowing.tag])
    if narrowing.is_pinned:
        condition &= Q(is_pinned=True)
    for column, wanted in (
        ("memory_type", narrowing.memory_type),
        ("visibility", narrowing.visibility),
        ("author_name", narrowing.author),
    ):
        if wanted:
            condition &= Q(**{column: wanted})
    return condition


def _in_state(state: str, *, now: datetime) -> Q:
    if state == ANY:
        return Q()
    if state == Memory.State.ACTIVE:
        return queries.holding(now=now)
    if state == Memory.State.EXPIRED:
        return Q(state=state) | Q(state=Memory.State.ACTIVE, expires_at__lte=now)
    return Q(state=state)


def _anchored(rows: QuerySet[Memory], wanted: str) -> QuerySet[Memory]:
    """Return the memories whose anchors are in this state and none in a worse one."""
    anchors = Anchor.objects.filter(memory=OuterRef("pk"))
    if wanted == NOT_ANCHORED:
        return rows.filter(~Exists(anchors))
    state = AnchorState(wanted)
    worse = [
        other.value for other in AnchorState if other != state and worst([state, other]) == other
    ]
    return rows.filter(
        Exists(anchors.filter(state=state)), ~Exists(anchors.filter(state__in=worse))
    )


def _worst_states(memory_ids: Collection[UUID]) -> Mapping[UUID, AnchorState]:
    found: dict[UUID, list[AnchorState]] = {}
    rows = Anchor.objects.filter(memory__in=memory_ids).order_by().values_list("memory", "state")
    for memory_id, state in rows if memory_ids else ():
        found.setdefault(memory_id, []).append(AnchorState(state))
    states = {memory_id: worst(mine) for memory_id, mine in found.items()}
    return {memory_id: state for memory_id, state in states.items() if state is not None}
