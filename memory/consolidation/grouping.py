"""Which memories are summarized together: long sessions in pieces, topics by their links. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import numpy as np

from graph.algorithms.communities import communities
from graph.algorithms.network import Edges

# A condensed summary is made of so many at least; fewer stay as they are.
FAN_OUT: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A memory or a summary, and how many tokens it has."""

    id: UUID
    tokens: int


def leaves(
    pieces: Sequence[Piece], *, maximum_tokens: int, is_over: bool
) -> list[tuple[Piece, ...]]:
    """Cut a history, oldest first, into runs of at most so many tokens.

    Unless it is over, the last run is left out: it still grows, and a summary of it would have to
    be made again each time. What is longer than a run by itself is a run of its own.
    """
    runs: list[list[Piece]] = []
    room = 0
    for piece in pieces:
        if not runs or piece.tokens > room:
            runs.append([])
            room = maximum_tokens
        runs[-1].append(piece)
        room -= piece.tokens
    closed = runs if is_over else runs[:-1]
    return [tuple(run) for run in closed]


def condensations(summaries: Sequence[Piece]) -> list[tuple[Piece, ...]]:
    """Put summaries of one level, oldest first, together by fours; what is left over waits."""
    whole = len(summaries) - len(summaries) % FAN_OUT
    return [tuple(summaries[start : start + FAN_OUT]) for start in range(0, whole, FAN_OUT)]


def topics(
    members: Sequence[UUID], ties: Iterable[tuple[UUID, UUID, float]], *, minimum: int
) -> list[tuple[UUID, ...]]:
    """Return groups of memories that are tied to each other more than to others."""
    places = {member: place for place, member in enumerate(members)}
    inside = [
        (places[one], places[other], weight)
        for one, other, weight in ties
        if one in places and other in places and one != other and weight > 0
    ]
    if not inside:
        return []
    sources, targets, weights = zip(*inside, strict=True)
    found = communities(
        Edges(
            count=len(members),
            sources=np.array(sources, dtype=np.int64),
            targets=np.array(targets, dtype=np.int64),
            weights=np.array(weights, dtype=np.float64),
        )
    )
    return [
        tuple(members[place] for place in sorted(int(node) for node in group.nodes))
        for group in found.found
        if len(group.nodes) >= minimum
    ]


def most_alike(
    members: Sequence[UUID], kept: Mapping[UUID, frozenset[UUID]], *, minimum: float = 0.5
) -> UUID | None:
    """Return the summary whose members these mostly are, by the share of common ones."""
    wanted = frozenset(members)
    best = max(
        kept,
        key=lambda key: (len(wanted & kept[key]) / len(wanted | kept[key] or {key}), key.int),
        default=None,
    )
    if best is None or len(wanted & kept[best]) < minimum * len(wanted | kept[best]):
        return None
    return best
