"""What recall can answer with beside a ranked list: a brief for a task, a digest of what is new.

Every memory shown passes the same filters as in `memory.recall`; budgets are estimates, and what
they leave out is named by id.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Count, Q, QuerySet

from codemem.accounts.values import Action, Caller
from graph import queries as graph
from graph.values import Node
from memory.candidates import answering
from memory.extracting import tokens_of
from memory.models import RecallVisit
from memory.places import likely_code
from memory.queries import memories_about, shown, stored
from memory.recall import recall
from memory.values import MemoryType, Neighbor, RecallHit, RecallQuery, StoredMemory

SECTIONS: dict[str, frozenset[MemoryType]] = {
    "rules": frozenset({MemoryType.RULE, MemoryType.REQUIREMENT, MemoryType.STYLE}),
    "decisions": frozenset({MemoryType.DECISION, MemoryType.PATTERN, MemoryType.PROCEDURE}),
    "failures": frozenset({MemoryType.FAILURE, MemoryType.FIX}),
    "questions": frozenset({MemoryType.QUESTION}),
}
"""The parts of a brief, in the order in which they are told."""

_OF_A_SECTION = 5
_ALWAYS_IMPORTANT = 0.8
_NODES_OF_A_NAME = 3
_ASKED_FOR_PLACES = 20
_FIRST_VISIT = timedelta(days=7)
# How many memories a digest tells, by how long its reader was away.
_SIZES = (
    (timedelta(hours=1), 3),
    (timedelta(hours=24), 8),
    (timedelta(days=7), 15),
    (timedelta(days=30), 25),
)
_LARGEST = 40

Ask = Callable[[RecallQuery], Sequence[StoredMemory]]
Around = dict[UUID, tuple[Neighbor, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    name: str
    memories: tuple[StoredMemory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """What to know before a task: memories by section, and the ids of code.

    First the code that it names, then the files and symbols that it would likely touch.
    """

    sections: tuple[Section, ...]
    code: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """What is new since a reader's last visit; `counts` are of all that is new, by type."""

    since: datetime
    counts: dict[str, int]
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """What a budget of tokens holds, and the ids of what it left out."""

    kept: tuple[StoredMemory, ...]
    left_out: tuple[UUID, ...]
    tokens: int


def brief(
    *, caller: Caller, query: RecallQuery, paths: Collection[str] = (), now: datetime
) -> Brief:
    """Return what the scope says to a task, most binding first: rules before decisions.

    What is tied or anchored to the named code comes with it, and rules of high importance come
    however they are worded. One recall for each section, and one for what the memories of the
    scope say of where the task would go.
    """
    text = "\n".join([query.text, *paths])
    code = _code(query, paths)
    about = _about(caller, query, code, now=now)
    sections = []
    for name, types in SECTIONS.items():
        wanted = query.memory_types & types if query.memory_types else types
        if not wanted:
            continue
        part = replace(query, text=text, memory_types=wanted, k=_OF_A_SECTION)
        found = [hit.memory for hit in recall(caller=caller, query=part, now=now).hits]
        found += [memory for memory in about if memory.memory_type in wanted]
        if name == "rules":
            found += _binding(caller, part, now=now)
        once = {memory.id: memory for memory in found}
        sections.append(Section(name=name, memories=tuple(once.values())[: 2 * _OF_A_SECTION]))
    return Brief(
        sections=tuple(part for part in sections if part.memories),
        code=_all_code(caller, query, code, now=now),
    )


def digest(*, caller: Caller, query: RecallQuery, now: datetime) -> Digest:
    """Return what came since the caller's last visit here, and note this one. No ranking by words.

    The first visit looks a week back. Whoever was away longer is told more.
    """
    since = query.since or _last_visit(caller, query) or now - _FIRST_VISIT
    new = replace(query, since=since)
    rows = answering(caller=caller, query=new, namespace_ids=new.namespace_ids, now=now)
    counts = dict(
        rows.order_by("memory_type").values_list("memory_type").annotate(held=Count("pk"))
    )
    latest = shown(rows).order_by("-importance", "-created_at", "-id")[: size_of(now - since)]
    memories = [stored(row, now=now) for row in latest]
    _note_visit(caller, query, now=now)
    return Digest(since=since, counts=counts, sections=tuple(_by_section(memories)))


def size_of(away: timedelta) -> int:
    """Return how many memories a digest tells somebody who was away for so long."""
    return next((size for limit, size in _SIZES if away < limit), _LARGEST)


def fitted(memories: Iterable[StoredMemory], *, max_tokens: int | None) -> Fitted:
    """Return as many memories, in their order, as a budget holds: a quarter of a character each.

    One that does not fit is left out, and a shorter one behind it may still come.
    """
    kept, left_out, used = [], [], 0
    for memory in memories:
        cost = tokens_of(memory.content)
        if max_tokens is not None and used + cost > max_tokens:
            left_out.append(memory.id)
            continue
        kept.append(memory)
        used += cost
    return Fitted(kept=tuple(kept), left_out=tuple(left_out), tokens=used)


def line_of(memory: StoredMemory) -> str:
    """Return a memory's first line, shortened, as the index mode shows it."""
    first = memory.content.strip().splitlines()[0] if memory.content.strip() else ""
    return first if len(first) <= _LINE_CHARACTERS else f"{first[: _LINE_CHARACTERS - 3]}..."


_LINE_CHARACTERS = 120


def fitted_around(hits: Iterable[RecallHit], *, used: int, max_tokens: int | None) -> Around:
    """Return what was said around the hits, in their order, as far as what is left holds it.

    Behind the hits themselves, because context is worth less than another answer.
    """
    told: Around = {}
    for hit in hits:
        cost = tokens_around([hit.neighbors])
        if hit.neighbors and (max_tokens is None or used + cost <= max_tokens):
            told[hit.memory.id] = hit.neighbors
            used += cost
    return told


def tokens_around(several: Iterable[Sequence[Neighbor]]) -> int:
    """Estimate the tokens of what was said around hits."""
    return sum(tokens_of(one.content) for neighbors in several for one in neighbors)


def _code(query: RecallQuery, paths: Collection[str]) -> list[Node]:
    if query.repository_id is None:
        return []
    meant = graph.nodes_by_name(
        repository_id=query.repository_id, texts=list(paths), limit=_NODES_OF_A_NAME
    )
    found = {node.vertex: node for path in paths for node in meant[path]}
    return list(found.values())


def _all_code(
    caller: Caller, query: RecallQuery, named: Sequence[Node], *, now: datetime
) -> tuple[str, ...]:
    """Return the ids of the code that a task names, and then of what it would likely touch."""
    if query.repository_id is None:
        return ()
    asked = replace(query, k=_ASKED_FOR_PLACES)
    hits = recall(caller=caller, query=asked, now=now).hits
    likely = likely_code(caller=caller, query=query, hits=hits)
    return tuple(dict.fromkeys((*(node.id for node in named), *likely)))


def _about(
    caller: Caller, query: RecallQuery, code: Sequence[Node], *, now: datetime
) -> list[StoredMemory]:
    if not code:
        return []
    found = {
        memory.id
        for namespace_id in query.namespace_ids
        for memory in memories_about(
            caller=caller,
            namespace_id=namespace_id,
            vertices=[node.vertex for node in code],
            now=now,
            branch=query.branch,
        )
    }
    rows = answering(caller=caller, query=query, namespace_ids=query.namespace_ids, now=now)
    best = shown(rows.filter(pk__in=found)).order_by("-importance", "-created_at", "-id")
    return [stored(row, now=now) for row in best]


def _binding(caller: Caller, query: RecallQuery, *, now: datetime) -> list[StoredMemory]:
    rows = answering(caller=caller, query=query, namespace_ids=query.namespace_ids, now=now)
    binding = rows.filter(Q(importance__gte=_ALWAYS_IMPORTANT) | Q(is_pinned=True))
    best = shown(binding).order_by("-is_pinned", "-importance", "-id")[:_OF_A_SECTION]
    return [stored(row, now=now) for row in best]


def _by_section(memories: Sequence[StoredMemory]) -> list[Section]:
    others = frozenset(MemoryType) - frozenset().union(*SECTIONS.values())
    parts = [
        Section(name=name, memories=tuple(one for one in memories if one.memory_type in types))
        for name, types in (*SECTIONS.items(), ("others", others))
    ]
    return [part for part in parts if part.memories]


def _visits(caller: Caller, query: RecallQuery) -> QuerySet[RecallVisit]:
    return RecallVisit.objects.filter(
        Q(repository_id=query.repository_id),
        user_id=caller.user_id,
        namespace_id__in=query.namespace_ids,
    )


def _last_visit(caller: Caller, query: RecallQuery) -> datetime | None:
    return min((visit.visited_at for visit in _visits(caller, query)), default=None)


def _note_visit(caller: Caller, query: RecallQuery, *, now: datetime) -> None:
    mine = [key for key in query.namespace_ids if caller.can(Action.READ_MEMORY, key)]
    _visits(caller, query).update(visited_at=now)
    # Those that are there are left as they were just written.
    RecallVisit.objects.bulk_create(
        [
            RecallVisit(
                user_id=caller.user_id,
                namespace_id=key,
                repository_id=query.repository_id,
                visited_at=now,
            )
            for key in mine
        ],
        ignore_conflicts=True,
    )
