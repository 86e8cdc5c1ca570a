"""The creative cycle: ties memories that share a theme and that nobody has tied yet.

What counts as alike is taken from how alike the memories of the circle are at random, because that
differs from team to team and from model to model.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from graph import services as graph
from graph.services import NewLink
from graph.values import VertexLabel, graph_id
from memory.consolidation.circles import Circle
from memory.consolidation.nearest import Pair, nearest_pairs, spread
from memory.consolidation.reports import Report
from memory.consolidation.vectors import Embedded, embedded
from memory.consolidation.work import ACTOR, Work, batches
from memory.models import Memory
from memory.values import RelationshipKind

_NEIGHBORS: Final = 8
_DEVIATIONS: Final = 2.0
# Of fewer memories nobody can say what is more alike than usual.
_FEWEST_PAIRS: Final = 10
# From here on two texts are near duplicates, which the cluster cycle is there for.
_THE_SAME: Final = 0.97
_STEP: Final = 200


def run(work: Work, circle: Circle) -> Report:
    """Tie each memory to its nearest ones of the circle, a few at most, one tie for a pair."""
    report = Report()
    groups = embedded(circle, now=work.now)
    tied, degrees = _ties(work, groups)
    report.before = {
        "memories": sum(len(group.memories) for group in groups),
        "ties": len(tied),
    }
    wanted = [link for group in groups for link in _new_links(work, group, tied, degrees, report)]
    report.changed = len(wanted)
    report.after = report.before | {"ties": len(tied) + len(wanted)}
    if not work.is_dry:
        for batch in batches(wanted, _STEP):
            _write(work, batch)
    return report


def _new_links(
    work: Work,
    group: Embedded,
    tied: set[frozenset[int]],
    degrees: Counter[int],
    report: Report,
) -> Iterator[tuple[Memory, Memory, NewLink]]:
    """Yield ties from the newer memory to the older one, the most alike first."""
    chance = spread(group.vectors)
    if chance.pairs < _FEWEST_PAIRS:
        report.note("Too few memories to say which are more alike than usual.")
        return
    threshold = max(
        chance.at(work.number("quantile")), chance.mean + _DEVIATIONS * chance.deviation
    )
    report.before |= {"random_mean": chance.mean, "threshold": threshold}
    most = work.count("maximum_ties")
    for pair in nearest_pairs(group.vectors, k=_NEIGHBORS, cosine=threshold):
        older, newer = _by_age(group.memories, pair)
        ends = vertex(older), vertex(newer)
        if pair.cosine >= _THE_SAME:
            report.leave_out("near duplicates")
        elif frozenset(ends) in tied:
            report.leave_out("tied already")
        elif any(degrees[end] >= most for end in ends):
            report.leave_out("tied enough")
        else:
            degrees.update(ends)
            kind = _kind(older, newer)
            report.show(
                source=str(newer.pk),
                kind=kind.value,
                target=str(older.pk),
                cosine=round(pair.cosine, 3),
            )
            link = NewLink(source=ends[1], target=ends[0], kind=kind, weight=round(pair.cosine, 4))
            yield newer, older, link


def vertex(memory: Memory) -> int:
    return graph_id(label=VertexLabel.MEMORY, key=memory.number)


def _ties(work: Work, groups: Sequence[Embedded]) -> tuple[set[frozenset[int]], Counter[int]]:
    """Return which memories are tied, by anybody and in either direction, and the cycle's own."""
    vertices = [vertex(memory) for group in groups for memory in group.memories]
    inside = set(vertices)
    tied: set[frozenset[int]] = set()
    degrees: Counter[int] = Counter()
    for link in graph.link_rows(namespace_id=work.namespace_id, vertices=vertices):
        if link.source in inside and link.target in inside:
            tied.add(frozenset((link.source, link.target)))
            if ACTOR in link.properties:
                degrees.update((link.source, link.target))
    return tied, degrees


def _by_age(memories: Sequence[Memory], pair: Pair) -> tuple[Memory, Memory]:
    ends = sorted(
        (memories[pair.one], memories[pair.other]),
        key=lambda memory: (memory.created_at, memory.pk),
    )
    return ends[0], ends[1]


def _kind(one: Memory, other: Memory) -> RelationshipKind:
    same = one.memory_type == other.memory_type
    return RelationshipKind.SIMILAR_TO if same else RelationshipKind.SHARES_THEME


def _write(work: Work, wanted: Sequence[tuple[Memory, Memory, NewLink]]) -> None:
    ids = {memory.pk for newer, older, _ in wanted for memory in (newer, older)}
    with work.changing(ids, tables=()):
        graph.link_all(
            namespace_id=work.namespace_id,
            links=[link for _, _, link in wanted],
            actor=ACTOR,
            now=work.now,
        )
