"""Where in a suggested file the change would be: the symbols of it that most likely follow.

Says nothing of which files are suggested. Three things speak for a symbol: it uses what changes, it
is a test of that, or it holds identifiers of the changed lines.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from graph import queries as graph
from graph.values import SymbolText, View
from indexing.languages import is_test_path
from indexing.missing.values import MOST_SYMBOLS, LikelySymbol, Missing, Shown
from indexing.missing.words import held_in
from indexing.radius import BlastRadius, ChangedNodes, is_noticeable

_MOST_CHARACTERS: Final = 8_000
_NAMED: Final = 2
_SHORTEST_NAME: Final = 3
# A word that a larger share of the symbols holds tells them not apart; of few, any does.
_COMMON: Final = 0.2
_FEW: Final = 5

# What speaks for a symbol, the surest first: only their order matters.
_USES_INTERFACE: Final = 8.0
_USES: Final = 4.0
_HOLDS_REDEFINED: Final = 3.0
_NAMED_FOR: Final = 3.0
_HOLDS_GONE: Final = 1.5
_REACHES: Final = 1.0
_HOLDS: Final = 0.6
_LEAST: Final = 1.0


def with_symbols(
    missing: Missing,
    *,
    repository_id: UUID,
    changed: ChangedNodes,
    radius: BlastRadius,
    shown: Shown,
    view: View,
) -> Missing:
    """Return the same files in the same order, each with its likeliest symbols.

    Those that the view shows. One query for all files, none without any.
    """
    if not missing.changes:
        return missing
    texts = graph.symbol_texts_in(
        repository_id=repository_id,
        paths=[one.path for one in missing.changes],
        most_characters=_MOST_CHARACTERS,
        view=view,
    )
    search = _Search(texts, _users(radius, changed), _tested(changed), shown)
    return replace(
        missing,
        changes=tuple(replace(one, symbols=search.likeliest(one.path)) for one in missing.changes),
    )


@dataclass(frozen=True, slots=True)
class _Ground:
    """One thing that speaks for a symbol, and how much."""

    weight: float
    reason: str


def _users(radius: BlastRadius, changed: ChangedNodes) -> dict[str, _Ground]:
    """Return by id why symbols that depend on the change would follow it."""
    interface = changed.interface_ids()
    found: dict[str, _Ground] = {}
    for one in radius.tests:
        found[one.node.id] = _Ground(_REACHES / one.depth, "is a test that reaches what changes")
    for one in (*radius.dependents, *radius.tests):
        use = next((use for use in one.uses if use.changed_id in interface), None)
        weight = _USES_INTERFACE if use else _USES
        use = use or next(iter(one.uses), None)
        if use is not None:
            name = use.changed_id.partition("#")[2] or use.changed_id
            found[one.node.id] = _Ground(weight * use.confidence, f"{use.verb} {name}")
    return found


def _tested(changed: ChangedNodes) -> list[str]:
    """Return the names that a test of what changes may have, the longest first."""
    names = {one.definition.name for one in changed.symbol_changes if is_noticeable(one)}
    return sorted((one for one in names if len(one) >= _SHORTEST_NAME), key=lambda one: -len(one))


class _Search:
    """One question: the symbols of the suggested files, and what speaks for each."""

    def __init__(
        self,
        texts: Sequence[SymbolText],
        users: Mapping[str, _Ground],
        tested: Sequence[str],
        shown: Shown,
    ) -> None:
        self._users = users
        self._tested = tested
        self._redefined = shown.redefined
        self._gone = {word for word in shown.removed if word not in shown.added}
        changed = frozenset((*shown.changed, *shown.redefined))
        held = [held_in(one.text, changed) for one in texts]
        holders = Counter(word for words in held for word in words)
        most = max(_FEW, _COMMON * len(texts))
        rare = {word for word, count in holders.items() if count <= most}
        self._texts = texts
        self._words = _innermost(texts, [words & rare for words in held])

    def likeliest(self, path: str) -> tuple[LikelySymbol, ...]:
        found = []
        for one, words in zip(self._texts, self._words, strict=True):
            if one.path != path:
                continue
            grounds = sorted(self._grounds(one, words), key=lambda ground: -ground.weight)
            weight = sum(ground.weight for ground in grounds)
            if weight >= _LEAST:
                found.append((weight, one, grounds[0].reason))
        found.sort(key=lambda row: (-row[0], row[1].start_line, row[1].id))
        return tuple(
            LikelySymbol(id=one.id, name=one.local_name, line=one.start_line, reason=reason)
            for _, one, reason in found[:MOST_SYMBOLS]
        )

    def _grounds(self, one: SymbolText, words: Iterable[str]) -> Iterable[_Ground]:
        if one.id in self._users:
            yield self._users[one.id]
        if one.is_test or is_test_path(one.path):
            name = one.local_name.casefold()
            namesake = next((own for own in self._tested if own.casefold() in name), None)
            if namesake is not None:
                yield _Ground(_NAMED_FOR, f"is named for {namesake}")
        yield from self._of_words(set(words))

    def _of_words(self, words: set[str]) -> Iterable[_Ground]:
        redefined = sorted(words & self._redefined)
        gone = sorted(words & self._gone - self._redefined)
        others = sorted(words - self._redefined - self._gone)
        if redefined:
            yield _Ground(_HOLDS_REDEFINED, f"holds {_listed(redefined)}")
        if gone:
            yield _Ground(_HOLDS_GONE, f"holds {_listed(gone)}")
        if others:
            yield _Ground(_HOLDS * min(len(others), 3), f"holds {_listed(others)}")


def _innermost(texts: Sequence[SymbolText], held: Sequence[set[str]]) -> list[set[str]]:
    """Return the words of each symbol that no symbol inside of it holds."""
    own = [set(words) for words in held]
    around: list[int] = []
    for place, one in enumerate(texts):
        while around and not _is_in(one, texts[around[-1]]):
            around.pop()
        for outer in around:
            own[outer] -= held[place]
        around.append(place)
    return own


def _is_in(inner: SymbolText, outer: SymbolText) -> bool:
    return inner.path == outer.path and inner.start_line <= outer.end_line


def _listed(words: Sequence[str]) -> str:
    more = f" and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
    return ", ".join(words[:_NAMED]) + more
