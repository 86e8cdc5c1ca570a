"""Brings what was said around short memories: "yes, do that" tells nothing by itself.

What is brought is context, never an answer: it is not ranked, and no memory is found by being
brought. It passes the filters of every read in the one statement that loads it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from codemem.accounts.values import Caller
from codemem.postgres.binary import binary_rows
from memory.candidates import condition_of
from memory.pool import array_of_keys
from memory.values import Neighbor, RecallQuery

_SAID = """
    SELECT id, content, author_name FROM memory_memory
    WHERE {condition} AND id = ANY (%(keys)s::uuid[])
"""
_NAMED = 2  # steps away: so near, what is told elsewhere is worth its id

Steps = Mapping[UUID, int]
"""How far the neighbors of one memory stand from it: below zero before, above zero after."""


def places(around: Sequence[UUID], *, before: int) -> dict[UUID, int]:
    """Return where neighbors in their order stand; `before` of them come before."""
    return {key: place - before + (place >= before) for place, key in enumerate(around)}


def neighbors_of(
    *,
    caller: Caller,
    query: RecallQuery,
    around: Mapping[UUID, Steps],
    characters: Mapping[UUID, int],
    now: datetime,
) -> dict[UUID, tuple[Neighbor, ...]]:
    """Return what was said around some memories, each in order, best memories first.

    `around` is in the order of the answer; `characters` are how many each may have. Nearer ones
    come first, and nothing is told twice in one answer, hits included. No query without neighbors,
    else one. Of the past (`as_of`) nothing is known.
    """
    if query.as_of is not None:
        return {}
    near = {key: steps for key, steps in around.items() if characters[key] > 0}
    wanted = {key for steps in near.values() for key in steps} - set(around)
    said = _said(caller, query, wanted, now=now) if wanted else {}
    told = set(around)
    neighbors = {}
    for key, steps in near.items():
        mine = list(_within(steps, said, told=told, characters=characters[key]))
        told.update(one.id for one in mine)
        neighbors[key] = tuple(sorted(mine, key=lambda one: one.steps))
    return {key: mine for key, mine in neighbors.items() if mine}


def _said(
    caller: Caller, query: RecallQuery, wanted: Collection[UUID], *, now: datetime
) -> dict[UUID, tuple[str, str]]:
    condition = condition_of(
        caller=caller, query=_unnarrowed(query), namespace_ids=query.namespace_ids, now=now
    )
    statement = _SAID.format(condition=condition.text)
    parameters = {**condition.parameters, "keys": array_of_keys(key.bytes for key in wanted)}
    return {key: (content, author) for key, content, author in binary_rows(statement, parameters)}


def _unnarrowed(query: RecallQuery) -> RecallQuery:
    """Return the question without what narrows its answers: what explains them may be of any kind.

    Whose eyes, which scope and which branch stay, and so does what is not wanted at all.
    """
    return replace(
        query,
        memory_types=frozenset(),
        tags=frozenset(),
        min_importance=0.0,
        min_confidence=0.0,
        include=frozenset(),
        since=None,
        until=None,
        author="",
    )


def _within(
    steps: Steps,
    said: Mapping[UUID, tuple[str, str]],
    *,
    told: Collection[UUID],
    characters: int,
) -> Iterator[Neighbor]:
    """Yield neighbors, the nearest first, as many characters as there may be; the last is cut.

    Of what is told elsewhere the nearest are named.
    """
    for key in sorted(steps, key=lambda key: (abs(steps[key]), steps[key])):
        if characters <= 0:
            return
        if key in told:
            if abs(steps[key]) <= _NAMED:
                yield Neighbor(id=key, steps=steps[key])
        elif key in said:
            content, author = said[key]
            shown = content if len(content) <= characters else f"{content[: characters - 1]}\u2026"
            characters -= len(shown)
            yield Neighbor(id=key, steps=steps[key], content=shown, author=author)
