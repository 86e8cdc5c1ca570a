"""What a run changed, as one caller may see it: nothing of memories that they may not read."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import Q, QuerySet

from codemem.accounts.values import Caller
from graph.values import VertexLabel, key_of, label_of
from memory import queries
from memory.consolidation import images
from memory.models import ConsolidationChange, ConsolidationRun
from memory.services.review import visible_proposals

MAXIMUM_CHANGES: Final = 500

_PROPOSAL: Final = "memory_reviewitem"
_WHAT: Final[Mapping[str, str]] = {
    "memory_memory": "memory",
    "memory_memoryuse": "use",
    "memory_anchor": "anchor",
    "memory_memoryentity": "name",
    "memory_feedback": "feedback",
    _PROPOSAL: "proposal",
    images.LINKS: "link",
}
# What tells a reader something; texts are in the memory's history.
_SHOWN: Final = frozenset(
    {
        *("state", "visibility", "branch", "memory_type", "importance", "confidence", "tags"),
        *("is_pinned", "superseded_by_id", "ended_at", "expires_at", "retention"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeView:
    """One change: of what, to which memories, and the fields that tell something."""

    id: int
    kind: str
    what: str
    memory_ids: tuple[UUID, ...] = ()
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)
    proposal_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesPage:
    """Some changes in their order; `next_after` leads to more, None: that is all."""

    changes: tuple[ChangeView, ...]
    next_after: int | None


def changes_of(
    *, run: ConsolidationRun, caller: Caller, now: datetime, after: int = 0, limit: int = 100
) -> ChangesPage:
    """Return what a run that the caller sees has changed, behind the change `after`.

    Left out is what others keep to themselves: their memories, links to these, proposals about
    them. Five queries for each 500 changes.
    """
    found: list[ChangeView] = []
    last = after
    while len(found) <= limit:
        chunk = list(_rows(run, caller, now).filter(pk__gt=last)[:MAXIMUM_CHANGES])
        if not chunk:
            return ChangesPage(changes=tuple(found), next_after=None)
        found += _views(run, chunk, caller, now)
        last = chunk[-1].pk
    shown = tuple(found[:limit])
    return ChangesPage(changes=shown, next_after=shown[-1].id)


def _rows(run: ConsolidationRun, caller: Caller, now: datetime) -> QuerySet[ConsolidationChange]:
    visible = queries.visible_memories(caller=caller, now=now, include_inactive=True)
    mine = visible.filter(namespace_id=run.namespace_id).values("pk")
    return run.changes.filter(Q(memory_id=None) | Q(memory_id__in=mine)).order_by("pk")


def _views(
    run: ConsolidationRun, rows: Sequence[ConsolidationChange], caller: Caller, now: datetime
) -> Iterator[ChangeView]:
    ends = _visible_ends(run, rows, caller, now)
    proposals = _visible_proposals(rows, caller)
    for row in rows:
        table, _, key = row.subject.partition(":")
        if table == images.LINKS:
            yield from _link(row, ends)
        elif table == _PROPOSAL:
            if about := proposals.get(UUID(key)):
                yield _view(row, memory_ids=about, proposal_id=UUID(key))
        elif row.memory_id is not None:
            yield _view(row, memory_ids=(row.memory_id,))


def _link(row: ConsolidationChange, ends: Mapping[int, UUID]) -> Iterator[ChangeView]:
    """Yield a link if the caller may read every memory that it ties."""
    kept = row.after or row.before or {}
    link = images.link_of(row.subject, kept)
    memories = [end for end in (link.source, link.target) if _is_memory(end)]
    if all(end in ends for end in memories):
        said = {"kind": link.kind, "weight": link.weight}
        yield ChangeView(
            id=row.pk,
            kind=row.kind,
            what="link",
            memory_ids=tuple(ends[end] for end in memories),
            before=said if row.after is None else {},
            after=said if row.after is not None else {},
        )


def _view(
    row: ConsolidationChange, *, memory_ids: Iterable[UUID], proposal_id: UUID | None = None
) -> ChangeView:
    table = row.subject.partition(":")[0]
    return ChangeView(
        id=row.pk,
        kind=row.kind,
        what=_WHAT.get(table, table),
        memory_ids=tuple(memory_ids),
        before=_shown(row.before),
        after=_shown(row.after),
        proposal_id=proposal_id,
    )


def _shown(fields: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (fields or {}).items() if name in _SHOWN}


def _visible_ends(
    run: ConsolidationRun, rows: Iterable[ConsolidationChange], caller: Caller, now: datetime
) -> dict[int, UUID]:
    links = [
        images.link_of(row.subject, row.after or row.before or {})
        for row in rows
        if row.subject.startswith(f"{images.LINKS}:")
    ]
    numbers = {
        key_of(end) for link in links for end in (link.source, link.target) if _is_memory(end)
    }
    if not numbers:
        return {}
    visible = queries.visible_memories(caller=caller, now=now, include_inactive=True)
    here = visible.filter(namespace_id=run.namespace_id, number__in=numbers)
    by_id = images.vertices_of(list(here.values_list("pk", flat=True)))
    return {vertex: key for key, vertex in by_id.items()}


def _visible_proposals(
    rows: Iterable[ConsolidationChange], caller: Caller
) -> dict[UUID, tuple[UUID, ...]]:
    keys = [
        row.subject.partition(":")[2] for row in rows if row.subject.startswith(f"{_PROPOSAL}:")
    ]
    found = visible_proposals(caller=caller).filter(pk__in=keys) if keys else ()
    return {item.pk: tuple(UUID(key) for key in item.memory_ids) for item in found}


def _is_memory(vertex: int) -> bool:
    return label_of(vertex) is VertexLabel.MEMORY
