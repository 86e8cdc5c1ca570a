"""Which symbols a change of one file touches: the definitions before and after, compared.

Facts in, changes out; knows nothing of Git, rows or who depends on what. A definition inside a
function is no symbol here: nothing outside can name it, so the function stands for it.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from graph.values import NodeKind, Visibility, file_id, symbol_id
from indexing.diffs import ChangeStatus, FileDiff, LineRange
from indexing.facts import MODULE_SCOPE, BlobFacts, Definition, ImportKind
from indexing.languages import Language


class SymbolStatus(StrEnum):
    """What happened to one symbol."""

    ADDED = "added"
    REMOVED = "removed"
    MODIFIED = "modified"
    RENAMED = "renamed"
    MOVED = "moved"


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolChange:
    """One symbol that a change touches. What is not there on a side is None.

    `signature_changed`, `visibility_changed` and `defaults_changed` are None when the new side was
    not seen; the last says that parameters are the same but for what they default to. A change
    `is_trivial` when its lines look like comments, documentation or blanks; a line of a string
    that begins like a comment is taken for one. What is renamed or moved has another id on each
    side (`indexing.moves`).
    """

    status: SymbolStatus
    old_id: str | None
    new_id: str | None
    old: Definition | None
    new: Definition | None
    signature_changed: bool | None = False
    visibility_changed: bool | None = False
    defaults_changed: bool | None = False
    is_trivial: bool = False

    @property
    def definition(self) -> Definition:
        """The symbol as it is now, or was if it is gone."""
        definition = self.new or self.old
        assert definition is not None
        return definition

    @property
    def is_interface_change(self) -> bool:
        """Tell whether somebody outside may have to change: it was public and is not the same."""
        if self.old is None or self.old.visibility is not Visibility.PUBLIC:
            return False
        is_gone = self.status in {SymbolStatus.REMOVED, SymbolStatus.RENAMED, SymbolStatus.MOVED}
        return is_gone or bool(self.signature_changed or self.visibility_changed)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """What a change does to one file.

    `containing` are ids of symbols that did not change themselves but hold one that did.
    `changes_module`: it changes code outside all symbols, other than comments and imports.
    `contents` are both sides as far as they are at hand.
    """

    diff: FileDiff
    language: str | None
    symbols: tuple[SymbolChange, ...] = ()
    containing: tuple[str, ...] = ()
    changes_module: bool = False
    contents: tuple[bytes | None, bytes | None] = field(default=(None, None), repr=False)

    @property
    def old_id(self) -> str | None:
        """The file that is not what it was: none for one that is new."""
        path = self.diff.old_path if self.diff.has_old_side else None
        return file_id(path) if path is not None else None

    @property
    def is_moved(self) -> bool:
        return self.diff.status is ChangeStatus.RENAMED

    @property
    def is_gone(self) -> bool:
        return self.diff.status is ChangeStatus.DELETED


def compare(
    diff: FileDiff, *, language: Language, old: BlobFacts | None, new: BlobFacts | None
) -> FileChange:
    """Return what changed in a file, as far as its sides were seen.

    Symbols are matched by local name and ordinal. With both sides their contents are compared;
    with the old side alone the lines of the diff say which symbols are touched, and a symbol
    is gone when all of its lines are.
    """
    before = _Side(diff.old_path, old) if diff.has_old_side and diff.old_path and old else None
    after = _Side(diff.new_path, new) if diff.new_path is not None and new else None
    comparison = _Comparison(diff, language, before, after)
    symbols = tuple(comparison.symbols())
    return FileChange(
        diff=diff,
        language=language.name,
        symbols=symbols,
        containing=tuple(comparison.containing(symbols)),
        changes_module=comparison.changes_module(),
    )


def differ_in_defaults(old: Definition, new: Definition) -> bool:
    """Tell whether two definitions take the same parameters, but for what these default to."""
    if old.parameters == new.parameters or len(old.parameters) != len(new.parameters):
        return False
    return all(
        _before_default(one) == _before_default(other)
        for one, other in zip(old.parameters, new.parameters, strict=True)
    )


_DEFAULT = re.compile(r"\s*(?<![=!<>])=(?![=>]).*", re.DOTALL)


def _before_default(parameter: str) -> str:
    return _DEFAULT.sub("", parameter).rstrip("? ")


# --- One side of a file ------------------------------------------------------------------------

_FUNCTIONS = frozenset({NodeKind.FUNCTION, NodeKind.METHOD})
_OWNERS = frozenset({NodeKind.CLASS, NodeKind.INTERFACE, NodeKind.ENUM, NodeKind.TYPE})

Key = tuple[str, int]
"""Local name and ordinal: what a symbol is called inside its file."""


@dataclass(frozen=True, slots=True)
class _Symbol:
    """A definition that others can name, with its number in the facts and its key."""

    index: int
    key: Key
    definition: Definition

    @property
    def is_owner(self) -> bool:
        return self.definition.kind in _OWNERS


class _Side:
    """A file before or after the change."""

    def __init__(self, path: str, facts: BlobFacts) -> None:
        self.path = path
        self.facts = facts
        self.symbols = {symbol.key: symbol for symbol in _symbols(facts)}
        self._by_index = {symbol.index: symbol for symbol in self.symbols.values()}
        self._members: defaultdict[int, list[LineRange]] = defaultdict(list)
        for one in facts.definitions:
            if one.kind in _FUNCTIONS | _OWNERS:
                self._members[one.parent].append(_span(one))

    def id_of(self, symbol: _Symbol) -> str:
        local_name, ordinal = symbol.key
        return symbol_id(path=self.path, local_name=local_name, ordinal=ordinal)

    def owner_of(self, symbol: _Symbol) -> _Symbol | None:
        """Return the nearest named definition around a symbol."""
        index = symbol.definition.parent
        while index != MODULE_SCOPE and index not in self._by_index:
            index = self.facts.definitions[index].parent
        return self._by_index.get(index)

    def own_lines(self, symbol: _Symbol) -> Iterator[LineRange]:
        """Yield a symbol's lines; those of a class without its methods and inner classes."""
        members = self._members[symbol.index] if symbol.is_owner else ()
        return _without(_span(symbol.definition), members)

    def module_lines(self) -> Iterator[LineRange]:
        """Yield the lines that are in no named definition."""
        named = (_span(one) for one in self.facts.definitions if one.kind is not None)
        return _without(LineRange(1, self.facts.lines), named)

    def import_lines(self) -> frozenset[int]:
        return frozenset(one.line for one in self.facts.imports)

    def offered_names(self) -> set[str]:
        """Return the names that others may import from here although they are not defined here."""
        is_face = _PACKAGE_FACE.search(self.path) is not None
        return {
            one.alias or one.name or one.module
            for one in self.facts.imports
            if is_face or one.kind in _REEXPORTS
        }


_PACKAGE_FACE = re.compile(r"(^|/)(__init__\.pyi?|index\.[cm]?[jt]sx?)$")
_REEXPORTS = frozenset(
    {ImportKind.EXPORT_NAME, ImportKind.EXPORT_NAMESPACE, ImportKind.EXPORT_STAR}
)


def _symbols(facts: BlobFacts) -> Iterator[_Symbol]:
    # Counted as indexing.resolution.symbols counts them, or the ids would not meet.
    seen: Counter[str] = Counter()
    in_function: list[bool] = []
    for index, definition in enumerate(facts.definitions):
        parent = definition.parent
        is_local = parent != MODULE_SCOPE and (
            in_function[parent] or facts.definitions[parent].kind in _FUNCTIONS
        )
        in_function.append(is_local)
        if definition.kind is None:
            continue
        key = (definition.local_name, seen[definition.local_name])
        seen[definition.local_name] += 1
        if not is_local:
            yield _Symbol(index, key, definition)


def _span(definition: Definition) -> LineRange:
    return LineRange(definition.start_line, definition.end_line)


def _without(whole: LineRange, inner: Iterable[LineRange]) -> Iterator[LineRange]:
    first = whole.first
    for lines in sorted(inner):
        if lines.first > first:
            yield LineRange(first, lines.first - 1)
        first = max(first, lines.last + 1)
    if first <= whole.last:
        yield LineRange(first, whole.last)


# --- Both sides --------------------------------------------------------------------------------

Line = tuple[int, str]
"""A line's number and its text without the blanks around it."""

# What tools obey is code, although it looks like a comment.
_DIRECTIVE = re.compile(r"//go:|//\s*\+build|#\s*type:|//\s*@ts-")
_PUNCTUATION = re.compile(r"[\s(){}\[\];,]*")
_IMPORTING = re.compile(r"(?:from|import)\b.*|\}\s*from\b.*")
_QUOTES = re.compile(r"^[rRuUbB]{0,2}[\"']{1,3}|[\"']{1,3}$")


class _Comparison:
    """The two sides of a file, and the changed lines that are not blank."""

    def __init__(
        self, diff: FileDiff, language: Language, before: _Side | None, after: _Side | None
    ) -> None:
        self.diff = diff
        self.language = language
        self.before = before
        self.after = after
        self.removed = _not_blank(line for hunk in diff.hunks for line in hunk.removed)
        self.added = _not_blank(line for hunk in diff.hunks for line in hunk.added)

    def symbols(self) -> Iterator[SymbolChange]:
        """Yield the symbols that changed: those that are there, then those that are new or gone."""
        if self.before is None:
            if self.after is not None and not self.diff.has_old_side:
                yield from self._added(self.after)
        elif self.after is not None:
            yield from self._modified(self.before, self.after)
            yield from self._added(self.after)
            yield from self._removed(self.before)
        elif self.diff.new_path is None:
            yield from self._removed(self.before)
        else:
            yield from self._touched(self.before)

    def containing(self, changes: Iterable[SymbolChange]) -> Iterator[str]:
        """Yield the symbols around the changed ones that did not change themselves."""
        changed = {one for change in changes for one in (change.old_id, change.new_id)}
        side = self.after or self.before
        if side is None:
            return
        owners: dict[str, None] = {}
        for symbol in side.symbols.values():
            owner = side.owner_of(symbol)
            if owner is not None and side.id_of(symbol) in changed:
                owners[side.id_of(owner)] = None
        yield from (owner for owner in owners if owner not in changed)

    def changes_module(self) -> bool:
        """Tell whether code outside all symbols changed, other than imports for the file's own use.

        What a package's face imports is there for others: it counts when it is gone.
        """
        if self.before and self.after and self._lost_names(self.before, self.after):
            return True
        sides = ((self.before, self.removed), (self.after, self.added))
        return any(side is not None and self._has_code(side, lines) for side, lines in sides)

    def _modified(self, before: _Side, after: _Side) -> Iterator[SymbolChange]:
        for key, new in after.symbols.items():
            old = before.symbols.get(key)
            if old is None or not self._differ(old, new):
                continue
            signature_changed = old.definition.signature != new.definition.signature
            visibility_changed = old.definition.visibility != new.definition.visibility
            yield SymbolChange(
                status=SymbolStatus.MODIFIED,
                old_id=before.id_of(old),
                new_id=after.id_of(new),
                old=old.definition,
                new=new.definition,
                signature_changed=signature_changed,
                visibility_changed=visibility_changed,
                defaults_changed=signature_changed
                and differ_in_defaults(old.definition, new.definition),
                is_trivial=not (signature_changed or visibility_changed)
                and self._is_trivial(old, new),
            )

    def _differ(self, old: _Symbol, new: _Symbol) -> bool:
        if _said(old.definition) != _said(new.definition):
            return True
        if old.definition.body_hash == new.definition.body_hash:
            return False
        # Where the methods of a class stand shows in its hash; that is no change of the class.
        return not new.is_owner or any(self._own_changes(old, new))

    def _own_changes(self, old: _Symbol, new: _Symbol) -> tuple[list[Line], list[Line]]:
        assert self.before is not None
        assert self.after is not None
        return (
            _within(self.removed, self.before.own_lines(old)),
            _within(self.added, self.after.own_lines(new)),
        )

    def _is_trivial(self, old: _Symbol, new: _Symbol) -> bool:
        old_doc, new_doc = old.definition.doc, new.definition.doc
        # A line of code may read like one of the documentation: then that did not change.
        docs = (_lines(old_doc), _lines(new_doc)) if old_doc != new_doc else (_NONE, _NONE)
        return all(
            self._is_comment(text) or _QUOTES.sub("", text).strip() in doc
            for lines, doc in zip(self._own_changes(old, new), docs, strict=True)
            for _, text in lines
        )

    def _added(self, after: _Side) -> Iterator[SymbolChange]:
        """Yield what is new; a new class stands for what is in it."""
        known = self.before.symbols if self.before else {}
        for key, symbol in after.symbols.items():
            owner = after.owner_of(symbol)
            if key not in known and (owner is None or owner.key in known):
                yield SymbolChange(
                    status=SymbolStatus.ADDED,
                    old_id=None,
                    new_id=after.id_of(symbol),
                    old=None,
                    new=symbol.definition,
                )

    def _removed(self, before: _Side) -> Iterator[SymbolChange]:
        """Yield all that is gone, members of classes too: each has dependents of its own."""
        kept = self.after.symbols if self.after else {}
        for key, symbol in before.symbols.items():
            if key not in kept:
                yield _gone(before, symbol)

    def _touched(self, before: _Side) -> Iterator[SymbolChange]:
        """Yield what the lines of the diff touch, with the new side unknown."""
        removed = {number for hunk in self.diff.hunks for number, _ in hunk.removed}
        for symbol in before.symbols.values():
            first, last = _span(symbol.definition)
            if not any(self.diff.touches_old(*lines) for lines in before.own_lines(symbol)):
                continue
            if last - first < len(removed) and removed.issuperset(range(first, last + 1)):
                yield _gone(before, symbol)
                continue
            yield SymbolChange(
                status=SymbolStatus.MODIFIED,
                old_id=before.id_of(symbol),
                new_id=None,
                old=symbol.definition,
                new=None,
                signature_changed=None,
                visibility_changed=None,
                defaults_changed=None,
            )

    def _lost_names(self, before: _Side, after: _Side) -> set[str]:
        defined = {symbol.definition.name for symbol in after.symbols.values()}
        return before.offered_names() - after.offered_names() - defined

    def _has_code(self, side: _Side, lines: Sequence[Line]) -> bool:
        imports = side.import_lines()
        return any(
            number not in imports and not self._is_quiet(text)
            for number, text in _within(lines, side.module_lines())
        )

    def _is_quiet(self, text: str) -> bool:
        patterns = (_PUNCTUATION, _IMPORTING)
        return self._is_comment(text) or any(pattern.fullmatch(text) for pattern in patterns)

    def _is_comment(self, text: str) -> bool:
        return text.startswith(self.language.line_comment) and not _DIRECTIVE.match(text)


def _not_blank(lines: Iterable[Line]) -> tuple[Line, ...]:
    return tuple((number, text.strip()) for number, text in lines if text.strip())


def _within(lines: Sequence[Line], ranges: Iterable[LineRange]) -> list[Line]:
    """Return the lines, ascending, that are in some of the ranges."""
    found: list[Line] = []
    for first, last in ranges:
        start = bisect_left(lines, first, key=_number)
        found += lines[start : bisect_right(lines, last, key=_number)]
    return found


def _number(line: Line) -> int:
    return line[0]


def _said(definition: Definition) -> tuple[str, Visibility, str, NodeKind | None]:
    return definition.signature, definition.visibility, definition.doc, definition.kind


def _lines(text: str) -> frozenset[str]:
    """Return the lines of a documentation, and the empty one that its quotes may stand on."""
    return frozenset(("", *(line.strip() for line in text.splitlines())))


_NONE: frozenset[str] = frozenset()


def _gone(before: _Side, symbol: _Symbol) -> SymbolChange:
    return SymbolChange(
        status=SymbolStatus.REMOVED,
        old_id=before.id_of(symbol),
        new_id=None,
        old=symbol.definition,
        new=None,
    )
