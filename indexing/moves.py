"""What only seems gone and new: functions and classes that a change renames or moves.

Compares what files lost with what files gained, all files of a change together. Pure.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from graph.values import NodeKind
from indexing.changes import FileChange, SymbolChange, SymbolStatus
from indexing.facts import Definition

_MOVABLE: Final = frozenset(
    {NodeKind.FUNCTION, NodeKind.METHOD, NodeKind.CLASS, NodeKind.INTERFACE, NodeKind.ENUM}
)
_WORD: Final = re.compile(r"\w+")
_LEAST_WORDS: Final = 8
_LEAST_ALIKE: Final = 0.6
_LEAST_ALIKE_UNNAMED: Final = 0.75
# Everything is compared with everything: a reorganization of thousands of symbols is not.
_MOST_COMPARED: Final = 20_000


def pair_moves(changes: Sequence[FileChange]) -> list[FileChange]:
    """Return the changes with what was renamed or moved as one change, where the new one stands.

    A pair has the same kind and language and says the same, or, of the same name, mostly so.
    Members of a moved class move with it.
    """
    gone = [one for one in _symbols(changes, SymbolStatus.REMOVED) if _is_movable(one[1])]
    new = [one for one in _symbols(changes, SymbolStatus.ADDED) if _is_movable(one[1])]
    if not gone or not new or len(gone) * len(new) > _MOST_COMPARED:
        return list(changes)
    pairs = _pairs(gone, new)
    return _with_pairs(changes, pairs) if pairs else list(changes)


_Found = tuple[FileChange, SymbolChange]


def _symbols(changes: Iterable[FileChange], status: SymbolStatus) -> list[_Found]:
    return [
        (change, symbol)
        for change in changes
        for symbol in change.symbols
        if symbol.status is status
    ]


def _is_movable(symbol: SymbolChange) -> bool:
    return symbol.definition.kind in _MOVABLE


def _pairs(gone: Sequence[_Found], new: Sequence[_Found]) -> dict[str, _Found]:
    """Return what each new symbol was, by its id; the surest pairs are made first."""
    words = {id(symbol): _words(symbol.definition) for _, symbol in (*gone, *new)}
    likely = sorted(
        (
            (-likeness, number, place)
            for number, (old_file, old) in enumerate(gone)
            for place, (new_file, one) in enumerate(new)
            if old_file.language == new_file.language
            and (likeness := _likeness(old, one, words)) > 0
        ),
    )
    taken_old: set[int] = set()
    taken_new: set[int] = set()
    pairs = {}
    for _, number, place in likely:
        if number not in taken_old and place not in taken_new:
            taken_old.add(number)
            taken_new.add(place)
            new_id = new[place][1].new_id
            assert new_id is not None
            pairs[new_id] = gone[number]
    return pairs


def _likeness(old: SymbolChange, new: SymbolChange, words: dict[int, Counter[str]]) -> float:
    """Return how surely one became the other, 0 where it did not."""
    before, after = old.definition, new.definition
    if before.kind is not after.kind:
        return 0.0
    one, other = words[id(old)], words[id(new)]
    if min(one.total(), other.total()) < _LEAST_WORDS and before.name != after.name:
        return 0.0
    alike = 2 * (one & other).total() / max(one.total() + other.total(), 1)
    least = _LEAST_ALIKE if before.name == after.name else _LEAST_ALIKE_UNNAMED
    if alike < least:
        return 0.0
    return alike + (before.name == after.name)


def _words(definition: Definition) -> Counter[str]:
    return Counter(_WORD.findall(definition.source_text))


def _with_pairs(changes: Sequence[FileChange], pairs: dict[str, _Found]) -> list[FileChange]:
    moved_from = {old.old_id for _, old in pairs.values()}
    owners = {
        f"{old.old_id}.": (old, new_id)
        for new_id, (_, old) in pairs.items()
        if old.old_id is not None
    }
    texts = {
        symbol.new_id: symbol.definition.source_text
        for change in changes
        for symbol in change.symbols
        if symbol.new_id is not None and symbol.new_id in pairs
    }

    def told(symbol: SymbolChange) -> Iterator[SymbolChange]:
        if symbol.status is SymbolStatus.ADDED and symbol.new_id in pairs:
            yield _joined(pairs[symbol.new_id][1], symbol)
        elif symbol.status is SymbolStatus.REMOVED and symbol.old_id not in moved_from:
            yield _member(symbol, owners, texts)
        elif symbol.status is not SymbolStatus.REMOVED:
            yield symbol

    return [
        replace(change, symbols=tuple(one for symbol in change.symbols for one in told(symbol)))
        for change in changes
    ]


def _joined(old: SymbolChange, new: SymbolChange) -> SymbolChange:
    before, after = old.definition, new.definition
    is_moved = _path(old.old_id) != _path(new.new_id)
    return SymbolChange(
        status=SymbolStatus.MOVED if is_moved else SymbolStatus.RENAMED,
        old_id=old.old_id,
        new_id=new.new_id,
        old=before,
        new=after,
        signature_changed=before.parameters != after.parameters,
        visibility_changed=before.visibility != after.visibility,
    )


def _member(
    symbol: SymbolChange,
    owners: dict[str, tuple[SymbolChange, str]],
    texts: dict[str, str],
) -> SymbolChange:
    """Return a member that is gone as one that moved with its class, where the class has it yet."""
    for start, (_, new_owner) in owners.items():
        if symbol.old_id is not None and symbol.old_id.startswith(start):
            name = symbol.definition.name
            if re.search(rf"\b{re.escape(name)}\b", texts.get(new_owner, "")):
                new_id = f"{new_owner}.{symbol.old_id.removeprefix(start)}"
                is_moved = _path(symbol.old_id) != _path(new_id)
                return replace(
                    symbol,
                    status=SymbolStatus.MOVED if is_moved else SymbolStatus.RENAMED,
                    new_id=new_id,
                )
    return symbol


def _path(uid: str | None) -> str:
    return (uid or "").removeprefix("sym:").partition("#")[0]
