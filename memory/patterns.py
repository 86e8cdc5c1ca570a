"""Patterns in what is known: what fails again and again, what many ask, prefer and decide about.

Only what is in the database counts, and how sure a pattern is says how few cases it rests on: the
lower end of Wilson's interval (1927), so that three of three are not a certainty.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from math import sqrt
from typing import Final
from uuid import UUID

from django.db.models import QuerySet

from codemem.accounts.values import Caller
from codemem.words import code_tokens
from graph import queries as graph
from graph.values import VertexLabel, graph_id
from memory import queries
from memory.entities import normal_path
from memory.models import Anchor, Memory, MemoryEntity
from memory.values import MemoryType, RelationshipKind

MAXIMUM_MEMORIES: Final = 20
MAXIMUM_OF_A_KIND: Final = 10

_MOST_READ: Final = 20_000
_Z: Final = 1.96
_ALIKE: Final = 0.6
DECIDING: Final = frozenset({MemoryType.DECISION, MemoryType.RULE, MemoryType.REQUIREMENT})
"""Types that say how something is to be."""

_TASTES: Final = frozenset({MemoryType.PREFERENCE, MemoryType.STYLE, MemoryType.HABIT})
_CHAIN: Final = frozenset(
    {
        RelationshipKind.EVOLVED_INTO,
        RelationshipKind.LEADS_TO,
        RelationshipKind.DERIVED_FROM,
        RelationshipKind.SUPERSEDES,
    }
)
_FAILING: Final = frozenset(
    {MemoryEntity.Kind.ERROR, MemoryEntity.Kind.PATH, MemoryEntity.Kind.SYMBOL}
)
_NOT_A_THEME: Final = frozenset({"topic", "leaf", "condensed"})


class PatternKind(StrEnum):
    """What recurs."""

    REPEATED_FAILURE = "repeated_failure"
    FILE_HOTSPOT = "file_hotspot"
    DECISION_CHAIN = "decision_chain"
    RECURRING_TAG = "recurring_tag"
    RECURRING_QUESTION = "recurring_question"
    SHARED_PREFERENCE = "shared_preference"
    # Of code: found by `indexing.change_patterns`.
    CHANGES_TOGETHER = "changes_together"
    HOT_WITHOUT_DECISION = "hot_without_decision"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """`confidence` (0..1) is low for few cases, however clear they are."""

    kind: PatternKind
    description: str
    frequency: int
    confidence: float
    memory_ids: tuple[UUID, ...]
    people: int
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What the caller may read, as far as patterns need it."""

    memories: Mapping[UUID, Memory]
    entities: Mapping[tuple[str, str], tuple[UUID, ...]]
    now: datetime
    minimum: int

    def of(self, *types: MemoryType) -> list[Memory]:
        return [row for row in self.memories.values() if row.memory_type in types]


def detect(
    *,
    caller: Caller,
    namespace_id: UUID,
    now: datetime,
    repository_id: UUID | None = None,
    minimum: int = 3,
    kinds: frozenset[PatternKind] = frozenset(PatternKind),
) -> list[Pattern]:
    """Return what recurs among the memories that the caller may read, of each kind the surest.

    Private memories of others are in no count. Three queries, and those of the graph.
    """
    rows = queries.visible_memories(caller=caller, now=now).filter(namespace_id=namespace_id)
    if repository_id is not None:
        rows = rows.filter(queries.in_repository(repository_id))
    known = _known(rows, now=now, minimum=minimum)
    found: list[Pattern] = []
    for kind, detector in _DETECTORS.items():
        if kind in kinds:
            ranked = sorted(detector(known), key=lambda one: (-one.confidence, -one.frequency))
            found += ranked[:MAXIMUM_OF_A_KIND]
    return found


def memories_naming(
    *,
    caller: Caller,
    namespace_id: UUID,
    repository_id: UUID,
    paths: Collection[str],
    now: datetime,
    memory_types: Collection[MemoryType] | None = None,
) -> dict[str, list[UUID]]:
    """Return which memories that the caller may read name or cite some files, by path.

    They answer for the repository: its own, and those of all. Two queries.
    """
    rows = queries.visible_memories(caller=caller, now=now).filter(
        queries.in_repository(repository_id), namespace_id=namespace_id
    )
    if memory_types is not None:
        rows = rows.filter(memory_type__in=memory_types)
    by_key = {normal_path(path): path for path in paths}
    named = MemoryEntity.objects.filter(
        memory__in=rows, kind=MemoryEntity.Kind.PATH, key__in=list(by_key)
    ).values_list("key", "memory_id")
    cited = Anchor.objects.filter(
        memory__in=rows, repository_id=repository_id, path__in=list(paths)
    ).values_list("path", "memory_id")
    found: dict[str, list[UUID]] = defaultdict(list)
    for path, memory_id in {*((by_key[key], memory_id) for key, memory_id in named), *cited}:
        found[path].append(memory_id)
    return dict(found)


def as_markdown(patterns: Sequence[Pattern]) -> str:
    """Return patterns as a page; one line says what each rests on."""
    if not patterns:
        return "No pattern recurs often enough."
    lines = []
    for kind in PatternKind:
        mine = [one for one in patterns if one.kind is kind]
        if mine:
            lines += [f"## {kind.value.replace('_', ' ').capitalize()}", ""]
            lines += [
                f"- {one.description} ({one.frequency} times, {one.people} people,"
                f" confidence {one.confidence:.2f})"
                for one in mine
            ]
            lines.append("")
    return "\n".join(lines).rstrip()


def certainty(cases: int, of: int) -> float:
    """Return the least share that `cases` of `of` speak for, with 95 % confidence."""
    if of <= 0:
        return 0.0
    share = min(cases / of, 1.0)
    middle = share + _Z * _Z / (2 * of)
    width = _Z * sqrt(share * (1 - share) / of + _Z * _Z / (4 * of * of))
    return max((middle - width) / (1 + _Z * _Z / of), 0.0)


def _known(rows: QuerySet[Memory], *, now: datetime, minimum: int) -> _Known:
    newest = rows.defer(*queries.SEARCH_COLUMNS).order_by("-id")[:_MOST_READ]
    memories = {row.pk: row for row in newest if row.source != "consolidation"}
    entities: dict[tuple[str, str], list[UUID]] = defaultdict(list)
    named = MemoryEntity.objects.filter(memory__in=rows).values_list("kind", "key", "memory_id")
    for kind, key, memory_id in named:
        if memory_id in memories:
            entities[kind, key].append(memory_id)
    return _Known(
        memories=memories,
        entities={name: tuple(ids) for name, ids in entities.items()},
        now=now,
        minimum=minimum,
    )


def _repeated_failures(known: _Known) -> Iterator[Pattern]:
    """Yield error signatures, files and symbols that failures keep naming."""
    failures = {row.pk for row in known.of(MemoryType.FAILURE)}
    told: set[tuple[str, tuple[UUID, ...]]] = set()
    # The longest names first: a path and its file name are one thing if the same failures name it.
    for (kind, key), ids in sorted(known.entities.items(), key=lambda named: -len(named[0][1])):
        failed = [memory_id for memory_id in ids if memory_id in failures]
        is_told = (kind, tuple(failed)) in told and kind != MemoryEntity.Kind.ERROR
        if kind in _FAILING and _enough(known, failed) and not is_told:
            told.add((kind, tuple(failed)))
            what = "The error" if kind == MemoryEntity.Kind.ERROR else "Work on"
            yield _pattern(
                known,
                PatternKind.REPEATED_FAILURE,
                f"{what} `{key}` failed again and again",
                failed,
                # Of what is known about it, how much is failure.
                confidence=certainty(len(failed), len(ids)),
                subject=key,
            )


def _file_hotspots(known: _Known) -> Iterator[Pattern]:
    """Yield files that memories name much more often than files are named on the whole."""
    paths = {
        key: ids for (kind, key), ids in known.entities.items() if kind == MemoryEntity.Kind.PATH
    }
    named = {memory_id for ids in paths.values() for memory_id in ids}
    for key, ids in paths.items():
        if _enough(known, ids):
            yield _pattern(
                known,
                PatternKind.FILE_HOTSPOT,
                f"`{key}` is what memories are about",
                ids,
                confidence=certainty(len(ids), len(named)) ** 0.5,
                subject=key,
            )


def _decision_chains(known: _Known) -> Iterator[Pattern]:
    """Yield decisions that followed from one another, over links that people and agents made."""
    decisions = known.of(MemoryType.DECISION, MemoryType.REQUIREMENT, MemoryType.RULE)
    if not decisions:
        return
    by_vertex = {graph_id(label=VertexLabel.MEMORY, key=row.number): row.pk for row in decisions}
    links = graph.links_of(
        namespace_id=decisions[0].namespace_id, vertices=list(by_vertex), limit=_MOST_READ
    )
    groups = {key: key for key in by_vertex}

    def root(vertex: int) -> int:
        while groups[vertex] != vertex:
            groups[vertex] = groups[groups[vertex]]
            vertex = groups[vertex]
        return vertex

    for link in links:
        if link.kind in _CHAIN and link.source in groups and link.target in groups:
            groups[root(link.source)] = root(link.target)
    chains: dict[int, list[UUID]] = defaultdict(list)
    for vertex in groups:
        chains[root(vertex)].append(by_vertex[vertex])
    for chain in chains.values():
        if _enough(known, chain):
            ordered = sorted(chain, key=lambda key: (known.memories[key].created_at, key))
            yield _pattern(
                known,
                PatternKind.DECISION_CHAIN,
                f"{len(ordered)} decisions followed from one another",
                ordered,
                confidence=certainty(len(ordered), len(ordered)),
                subject=str(ordered[0]),
            )


def _recurring_tags(known: _Known) -> Iterator[Pattern]:
    """Yield tags that came up in several sessions or by several people, not in one burst."""
    tagged: dict[str, list[UUID]] = defaultdict(list)
    for row in known.memories.values():
        for tag in set(row.tags) - _NOT_A_THEME:
            tagged[tag].append(row.pk)
    for tag, ids in tagged.items():
        days = {known.memories[key].created_at.date() for key in ids}
        if _enough(known, ids) and len(days) >= known.minimum:
            yield _pattern(
                known,
                PatternKind.RECURRING_TAG,
                f"“{tag}” comes up again and again, on {len(days)} days",
                ids,
                confidence=certainty(len(days), len(ids)),
                subject=tag,
            )


def _recurring_questions(known: _Known) -> Iterator[Pattern]:
    yield from _alike(
        known,
        known.of(MemoryType.QUESTION),
        PatternKind.RECURRING_QUESTION,
        lambda ids, _: f"{len(ids)} questions ask nearly the same",
    )


def _shared_preferences(known: _Known) -> Iterator[Pattern]:
    """Yield preferences that several people hold: candidates for a rule."""
    for pattern in _alike(
        known,
        known.of(*_TASTES),
        PatternKind.SHARED_PREFERENCE,
        lambda _, people: f"{people} people prefer nearly the same: a candidate for a rule",
    ):
        if pattern.people > 1:
            yield pattern


def _alike(
    known: _Known,
    rows: Sequence[Memory],
    kind: PatternKind,
    described: Callable[[Sequence[UUID], int], str],
) -> Iterator[Pattern]:
    """Yield groups around one memory each whose words are mostly the same."""
    words = {row.pk: frozenset(code_tokens(row.content)) for row in rows}
    having: dict[str, list[UUID]] = defaultdict(list)
    for key, mine in words.items():
        for word in mine:
            having[word].append(key)
    taken: set[UUID] = set()
    for row in sorted(rows, key=lambda row: (row.created_at, row.pk)):
        if row.pk in taken:
            continue
        shared = Counter(key for word in words[row.pk] for key in having[word])
        group = [
            key
            for key, common in shared.items()
            if key not in taken and common >= _ALIKE * len(words[row.pk] | words[key])
        ]
        if _enough(known, group):
            taken.update(group)
            people = len({known.memories[key].author_id for key in group})
            yield _pattern(
                known,
                kind,
                described(group, people),
                sorted(group),
                confidence=certainty(people, len(group)),
                subject=str(row.pk),
            )


def _pattern(
    known: _Known,
    kind: PatternKind,
    description: str,
    ids: Sequence[UUID],
    *,
    confidence: float,
    subject: str,
) -> Pattern:
    return Pattern(
        kind=kind,
        description=description,
        frequency=len(ids),
        confidence=round(confidence, 3),
        memory_ids=tuple(ids[:MAXIMUM_MEMORIES]),
        people=len({known.memories[key].author_id for key in ids}),
        subject=subject,
    )


def _enough(known: _Known, ids: Sequence[UUID]) -> bool:
    return len(ids) >= known.minimum


_DETECTORS: Final[Mapping[PatternKind, Callable[[_Known], Iterator[Pattern]]]] = {
    PatternKind.REPEATED_FAILURE: _repeated_failures,
    PatternKind.FILE_HOTSPOT: _file_hotspots,
    PatternKind.DECISION_CHAIN: _decision_chains,
    PatternKind.RECURRING_TAG: _recurring_tags,
    PatternKind.RECURRING_QUESTION: _recurring_questions,
    PatternKind.SHARED_PREFERENCE: _shared_preferences,
}
