"""The cluster cycle: near duplicates, put before people or merged, never chained.

Near is not the same: "release 1.1.1" and "release 1.1.2" are .97 alike. So two memories are put
together only when their numbers, names and negations are equal, too, and each is compared with the
one that stays, not with one that is like another.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from memory.consolidation.circles import Circle
from memory.consolidation.nearest import Pair, pairs_from
from memory.consolidation.reports import Report
from memory.consolidation.vectors import Embedded, embedded
from memory.consolidation.work import Work
from memory.models import Memory, ReviewItem
from memory.reconciling import statement
from memory.services import merging

_MERGE: Final = "merge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicates:
    """The memory that stays, those that say the same, and how alike the least alike one is."""

    keeper: Memory
    others: tuple[Memory, ...]
    cosine: float


def run(work: Work, circle: Circle) -> Report:
    """Propose to merge near duplicates, or merge them where the namespace says so."""
    report = Report()
    groups = embedded(circle, now=work.now)
    report.before = {"memories": sum(len(group.memories) for group in groups)}
    found = [
        one for group in groups for one in _duplicates(group, work.number("similarity"), report)
    ]
    spare = sum(len(one.others) for one in found)
    report.before |= {"groups": len(found), "duplicates": spare}
    report.after = dict(report.before)
    for one in found:
        others = [str(memory.pk) for memory in one.others]
        report.show(keeper=str(one.keeper.pk), others=others, cosine=round(one.cosine, 3))
    if work.policy["policy"] == _MERGE:
        report.changed = spare
        report.after |= {
            "memories": report.before["memories"] - spare,
            "groups": 0,
            "duplicates": 0,
        }
        if not work.is_dry:
            for one in found:
                _merge(work, one)
    else:
        report.proposed = len(found)
        if not work.is_dry:
            report.proposed = sum(_propose(work, one) for one in found)
            report.leave_out("proposed before", len(found) - report.proposed)
    return report


def _duplicates(group: Embedded, similarity: float, report: Report) -> list[Duplicates]:
    """Return stars around the memory that stays; every memory is in one of them at most."""
    alike: dict[int, list[tuple[int, float]]] = {}
    for pair in pairs_from(group.vectors, cosine=similarity):
        if why := _apart(group.memories, pair):
            report.leave_out(why)
            continue
        alike.setdefault(pair.one, []).append((pair.other, pair.cosine))
        alike.setdefault(pair.other, []).append((pair.one, pair.cosine))
    taken: set[int] = set()
    found = []
    for keeper in sorted(alike, key=lambda place: _worth(group.memories[place])):
        others = [(place, cosine) for place, cosine in alike[keeper] if place not in taken]
        if keeper in taken or not others:
            continue
        taken.update({keeper, *(place for place, _ in others)})
        found.append(
            Duplicates(
                keeper=group.memories[keeper],
                others=tuple(group.memories[place] for place, _ in others),
                cosine=min(cosine for _, cosine in others),
            )
        )
    return found


def _apart(memories: Sequence[Memory], pair: Pair) -> str:
    """Return why two memories that are near are not the same; empty when they are."""
    one, other = memories[pair.one], memories[pair.other]
    if _scope(one) != _scope(other):
        return "in another scope"
    if one.memory_type != other.memory_type:
        return "of another type"
    if _facts(one.content) != _facts(other.content):
        return "with other numbers, names or negations"
    return ""


def _scope(memory: Memory) -> tuple[str, UUID | None, str]:
    return memory.visibility, memory.repository_id, memory.branch


def _facts(text: str) -> tuple[frozenset[str], frozenset[str], int]:
    said = statement(text)
    return said.numbers, said.names, said.negations % 2


def _worth(memory: Memory) -> tuple[bool, float, int, datetime, UUID]:
    """Return an order in which the memory that should stay comes first."""
    use = getattr(memory, "use", None)
    recalled = use.recalled if use is not None else 0
    return (
        not memory.is_pinned,
        -memory.importance,
        -recalled,
        memory.created_at,
        memory.pk,
    )


def _propose(work: Work, found: Duplicates) -> bool:
    return work.propose(
        kind=ReviewItem.Kind.MERGE,
        operation="merge",
        memory_ids=[found.keeper.pk, *(memory.pk for memory in found.others)],
        reason=f"They are {found.cosine:.2f} alike, with the same numbers, names and negations. The"
        " first one would stay, with the tags, links, anchors and uses of all.",
        confidence=found.cosine,
        arguments={"keep": str(found.keeper.pk)},
    )


def _merge(work: Work, found: Duplicates) -> None:
    ids = [found.keeper.pk, *(memory.pk for memory in found.others)]
    with work.changing(ids):
        merging.fold(
            keeper_id=found.keeper.pk,
            other_ids=ids[1:],
            actor="consolidation",
            reason=f"near duplicates, run {work.run.pk}",
            now=work.now,
        )
