"""What one commit did to symbols: the outlines of each changed file before and after, compared.

Pure. Symbols are matched by name; what is gone in one place and new in another is matched by its
text. A merge is compared to all its parents: what any of them has already is not its own doing.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from graph.events import Happening, SymbolEvent, SymbolKey
from graph.values import NodeKind
from indexing.history.outline import Entry, Name, Outline, Text, without_name

# A few lines are alike by chance: such symbols moved only if they kept their name.
_LEAST_LETTERS_OF_A_RENAMED = 60
_LEAST_SHARE_OF_LINES = 0.6
_MOST_PAIRS = 2_500
_MOST_HOMONYMS = 400
# They have the name in common already.
_LEAST_SHARE_OF_HOMONYMS = 0.2
_MOVABLE = frozenset(
    {
        *(NodeKind.CLASS, NodeKind.INTERFACE, NodeKind.ENUM, NodeKind.TYPE),
        *(NodeKind.FUNCTION, NodeKind.METHOD, NodeKind.MACRO),
    }
)


@dataclass(frozen=True, slots=True)
class Version:
    """One side of a changed file. Without its text, white space cannot be told from changes."""

    path: str
    language: str
    outline: Outline
    text: Text | None


@dataclass(frozen=True, slots=True)
class Pair:
    """A changed file, with as many versions before as the commit has parents."""

    before: tuple[Version | None, ...]
    after: Version | None


def events_of(pairs: Sequence[Pair]) -> list[SymbolEvent]:
    """Return what a commit did to symbols, given all its changed files in known languages."""
    gone: list[_Found] = []
    new: list[_Found] = []
    events: list[SymbolEvent] = []
    for pair in pairs:
        matches = _matches(pair)
        events += _changed(pair, matches)
        gone += _gone(pair, matches)
        new += _new(pair, matches)
    moves = list(_moves(gone, new))
    left = {old.key for old, _, _ in moves}
    arrived = {now.key for _, now, _ in moves}
    for old, now, is_changed in moves:
        events.append(
            SymbolEvent(Happening.MOVED, now.key, now.version.language, old.key, is_changed)
        )
        events.append(
            SymbolEvent(Happening.LEFT, old.key, old.version.language, now.key, is_changed)
        )
    events += [
        SymbolEvent(happening, one.key, one.version.language)
        for happening, found, taken in (
            (Happening.ADDED, new, arrived),
            (Happening.REMOVED, gone, left),
        )
        for one in found
        if one.key not in taken
    ]
    return events


@dataclass(frozen=True, slots=True)
class _Found:
    """A symbol in a version of a file."""

    version: Version
    name: Name

    @property
    def key(self) -> SymbolKey:
        return SymbolKey(self.version.path, *self.name)

    @property
    def entry(self) -> Entry:
        return self.version.outline[self.name]


_Match = Mapping[Name, Name]
"""By the names of symbols in the version after: what the same symbols are called in one before."""


def _matches(pair: Pair) -> list[_Match | None]:
    """Return a match for each version before; None where one of the two is missing."""
    after = pair.after
    if after is None:
        return [None] * len(pair.before)
    return [None if before is None else _match(before, after) for before in pair.before]


def _match(before: Version, after: Version) -> _Match:
    same = {name: name for name in after.outline if name in before.outline}
    for name in list(_taken_over(before, after, same)):
        del same[name]
    numbered = {name.local_name for name in (*before.outline, *after.outline) if name.ordinal}
    for local_name in numbered:
        old = [_Found(before, name) for name in before.outline if name.local_name == local_name]
        new = [_Found(after, name) for name in after.outline if name.local_name == local_name]
        for one in new:
            same.pop(one.name, None)
        same |= {now.name: then.name for then, now in _homonyms(old, new)}
    return same


def _taken_over(before: Version, after: Version, same: _Match) -> Iterator[Name]:
    """Yield names that are another symbol's now, while what they named stands under a new name."""
    came = [_Found(after, name) for name in after.outline if name not in same]
    renamed = {_nameless(one) for one in came if one.name.kind in _MOVABLE and _is_long(one)}
    for name in same if renamed else ():
        then, now = _Found(before, name), _Found(after, name)
        if name.kind not in _MOVABLE or then.entry.body_hash == now.entry.body_hash:
            continue
        if not _is_long(then) or _nameless(then) not in renamed:
            continue
        if _share(_lines(then), _lines(now)) < _LEAST_SHARE_OF_LINES:
            yield name


def _homonyms(old: Sequence[_Found], new: Sequence[_Found]) -> Iterator[tuple[_Found, _Found]]:
    """Yield which of the symbols of one name is which: their numbers change with what is above.

    By their text, then by its lines, the most alike first, and last by their numbers.
    """
    old_left, new_left = {one.name: one for one in old}, {one.name: one for one in new}
    for find in (_of_one_text, _of_like_text, _of_one_number):
        for then, now in list(find(list(old_left.values()), list(new_left.values()))):
            if then.name in old_left and now.name in new_left:
                del old_left[then.name], new_left[now.name]
                yield then, now


def _of_one_text(old: Sequence[_Found], new: Sequence[_Found]) -> Iterator[tuple[_Found, _Found]]:
    yield from _alike(old, new, lambda one: (one.name, one.entry.body_hash))
    yield from _alike(old, new, lambda one: (one.name.kind, one.entry.body_hash))


def _of_like_text(old: Sequence[_Found], new: Sequence[_Found]) -> Iterator[tuple[_Found, _Found]]:
    if len(old) * len(new) > _MOST_HOMONYMS:
        return
    lines = {id(one): _lines(one) for one in (*old, *new) if one.version.text}
    found = [
        (_share(lines[id(then)], lines[id(now)]), then, now)
        for then in old
        for now in new
        if then.name.kind is now.name.kind and id(then) in lines and id(now) in lines
    ]
    for share, then, now in sorted(found, key=lambda row: -row[0]):
        if share >= _LEAST_SHARE_OF_HOMONYMS:
            yield then, now


def _of_one_number(old: Sequence[_Found], new: Sequence[_Found]) -> Iterator[tuple[_Found, _Found]]:
    yield from _alike(old, new, lambda one: one.name)


def _changed(pair: Pair, matches: Sequence[_Match | None]) -> Iterator[SymbolEvent]:
    """Yield the symbols that are there before and after and differ, or have another place now."""
    after = pair.after
    versions = [
        (version, match)
        for version, match in zip(pair.before, matches, strict=True)
        if version is not None and match is not None
    ]
    for name, entry in after.outline.items() if after is not None else ():
        # What one parent of a merge lacks came from the other: only that one is asked.
        known = [(version, match[name]) for version, match in versions if name in match]
        if after is None or not known:
            continue
        differences = [
            _difference(version, version.outline[then], after, entry) for version, then in known
        ]
        first, then = known[0]
        key, old = SymbolKey(after.path, *name), SymbolKey(first.path, *then)
        if old != key and len(pair.before) == 1:
            yield from _moved_with_others(old, key, (first, after), differences[0])
        elif all(differences):
            is_formatting = _FORMATTING in differences
            yield SymbolEvent(Happening.MODIFIED, key, after.language, is_formatting=is_formatting)


def _moved_with_others(
    old: SymbolKey, key: SymbolKey, versions: tuple[Version, Version], difference: str
) -> Iterator[SymbolEvent]:
    """Yield both ends of a move that a symbol made with its file, or behind one of its name."""
    is_changed, is_formatting = bool(difference), difference == _FORMATTING
    before, after = versions
    for happening, one, other, version in (
        (Happening.MOVED, key, old, after),
        (Happening.LEFT, old, key, before),
    ):
        yield SymbolEvent(happening, one, version.language, other, is_changed, is_formatting)


_SAME, _FORMATTING, _CHANGED = "", "formatting", "changed"


def _difference(before: Version, old: Entry, after: Version, new: Entry) -> str:
    if before.text is None or after.text is None:
        return _SAME if old.body_hash == new.body_hash else _CHANGED
    if old.body_hash == new.body_hash:
        is_same = before.text.own_lines(old) == after.text.own_lines(new)
        return _SAME if is_same else _FORMATTING
    is_formatting = before.text.letters(old) == after.text.letters(new)
    return _FORMATTING if is_formatting else _CHANGED


def _gone(pair: Pair, matches: Sequence[_Match | None]) -> Iterator[_Found]:
    """Yield what every version before has and the one after has not, by the first of them."""
    versions = [version for version in pair.before if version is not None]
    if len(versions) < len(pair.before):
        return
    first, *others = versions
    kept = {name for match in matches if match is not None for name in match.values()}
    for name in first.outline:
        if name not in kept and all(name in other.outline for other in others):
            yield _Found(first, name)


def _new(pair: Pair, matches: Sequence[_Match | None]) -> Iterator[_Found]:
    after = pair.after
    for name in after.outline if after is not None else ():
        known = (name in match for match in matches if match is not None)
        if after is not None and not any(known):
            yield _Found(after, name)


# --- Moves -------------------------------------------------------------------------------------


def _moves(gone: Sequence[_Found], new: Sequence[_Found]) -> Iterator[tuple[_Found, _Found, bool]]:
    """Yield (old, new, whether it changed) for what is the same thing elsewhere, surest first."""
    old_left = {one.key: one for one in gone if one.name.kind in _MOVABLE}
    new_left = {one.key: one for one in new if one.name.kind in _MOVABLE}
    for find, is_changed in ((_same_text, False), (_nearly_same_text, True)):
        for old, now in find(list(old_left.values()), list(new_left.values())):
            if old.key in old_left and now.key in new_left:
                del old_left[old.key], new_left[now.key]
                yield old, now, is_changed


def _same_text(gone: Sequence[_Found], new: Sequence[_Found]) -> Iterator[tuple[_Found, _Found]]:
    """Yield pairs of one text; first those that kept their whole name, last the renamed.

    A text of few letters may stand in several places: alone it proves nothing.
    """
    yield from _alike(gone, new, lambda one: (one.name.local_name, *_body(one)))
    long_gone, long_new = list(filter(_is_long, gone)), list(filter(_is_long, new))
    yield from _alike(long_gone, long_new, lambda one: (one.name.last, *_body(one)))
    if long_gone and long_new:
        yield from _alike(long_gone, long_new, _nameless)


def _alike(
    gone: Iterable[_Found], new: Iterable[_Found], key: Callable[[_Found], Hashable]
) -> Iterator[tuple[_Found, _Found]]:
    """Yield pairs that have one key, in their order."""
    waiting: defaultdict[Hashable, list[_Found]] = defaultdict(list)
    for old in gone:
        waiting[key(old)].append(old)
    for now in new:
        if same := waiting.get(key(now)):
            yield same.pop(0), now


def _nearly_same_text(
    gone: Sequence[_Found], new: Sequence[_Found]
) -> Iterator[tuple[_Found, _Found]]:
    """Yield pairs inside one file that share most of their lines, the most alike first."""
    by_path: defaultdict[str, list[tuple[_Found, Counter[bytes]]]] = defaultdict(list)
    for old in filter(_is_long, gone) if new else ():
        by_path[old.version.path].append((old, _lines(old)))
    found: list[tuple[float, int, _Found, _Found]] = []
    for now in new:
        candidates = by_path.get(now.version.path, ())
        if not 0 < len(candidates) * len(new) <= _MOST_PAIRS or not _is_long(now):
            continue
        lines = _lines(now)
        for old, old_lines in candidates:
            share = _share(old_lines, lines) if _like(old.name.kind) is _like(now.name.kind) else 0
            if share >= _LEAST_SHARE_OF_LINES:
                found.append((-share, len(found), old, now))
    for _, _, old, now in sorted(found, key=lambda row: row[:2]):
        yield old, now


def _is_long(one: _Found) -> bool:
    text = one.version.text
    return text is not None and len(text.letters(one.entry)) >= _LEAST_LETTERS_OF_A_RENAMED


def _body(one: _Found) -> tuple[NodeKind, str]:
    return _like(one.name.kind), one.entry.body_hash


def _nameless(one: _Found) -> tuple[NodeKind, bytes]:
    assert one.version.text is not None
    return _like(one.name.kind), one.version.text.nameless(one.name, one.entry)


def _like(kind: NodeKind) -> NodeKind:
    """Return the kind, where a function that becomes a method is still the same function."""
    return NodeKind.FUNCTION if kind is NodeKind.METHOD else kind


def _lines(one: _Found) -> Counter[bytes]:
    """Return how often a symbol has each line; its own name does not count."""
    assert one.version.text is not None
    text = b"\n".join(one.version.text.own_lines(one.entry))
    return Counter(line.strip() for line in without_name(one.name, text).split(b"\n"))


def _share(before: Counter[bytes], after: Counter[bytes]) -> float:
    """Return how many lines two symbols have in common, of all they have (Dice)."""
    return 2 * (before & after).total() / max(1, before.total() + after.total())
