"""What a change does to memories about the code: contradicts, breaks what they cite, applies.

Judged without a language model, by what a memory cites and names. A sentence says why; whether it
is so is for who reads it.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from indexing.changes import FileChange, SymbolChange, SymbolStatus
from indexing.values import BrokenAnchor, ReviewedMemory, Role
from memory.anchors import AnchorInvalid, AnchorKind, AnchorState, find_lines, lines_of
from memory.anchors_seen import PatternTooSlow, matches
from memory.bearing import Bearing, Cited
from memory.values import MemoryType, StoredMemory

_MOST_PATTERNS: Final = 20
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,}")


_ROLES: Final[Mapping[MemoryType, Role]] = {
    MemoryType.DECISION: Role.DECISION,
    MemoryType.FAILURE: Role.FAILURE,
    MemoryType.RULE: Role.RULE,
    MemoryType.REQUIREMENT: Role.RULE,
    MemoryType.STYLE: Role.RULE,
    MemoryType.PREFERENCE: Role.RULE,
    MemoryType.HABIT: Role.RULE,
    MemoryType.PATTERN: Role.RULE,
    MemoryType.PROCEDURE: Role.RULE,
}


def noted(bearings: Iterable[Bearing], changes: Sequence[FileChange]) -> list[ReviewedMemory]:
    """Return the memories with what the change does to them, what it goes against first.

    One statement for each pattern that is cited, twenty at most.
    """
    change = _Change(changes)
    found = [change.noted(one) for one in bearings]
    return sorted(found, key=_urgency)


def _urgency(memory: ReviewedMemory) -> tuple[bool, bool, bool, bool]:
    is_open_failure = memory.role is Role.FAILURE and memory.state == "active"
    is_broken = any(one.state is not AnchorState.OK for one in memory.broken)
    return not memory.contradiction, not is_open_failure, not is_broken, memory.role is Role.NOTE


class _Change:
    """The change as memories see it: by old path, by old id of a symbol, by new names."""

    def __init__(self, changes: Sequence[FileChange]) -> None:
        self._files = {one.diff.old_path: one for one in changes if one.old_id is not None}
        self._symbols = {
            symbol.old_id: symbol for one in changes for symbol in one.symbols if symbol.old_id
        }
        self._new_names = _new_names(changes)
        self._patterns = _MOST_PATTERNS

    def noted(self, one: Bearing) -> ReviewedMemory:
        memory = one.memory
        broken = tuple(self._broken(one.cited))
        role = _ROLES.get(memory.memory_type, Role.NOTE)
        return ReviewedMemory(
            id=memory.id,
            memory_type=memory.memory_type,
            content=memory.content,
            importance=memory.importance,
            author=memory.author,
            state=memory.state,
            role=role,
            contradiction=self._contradiction(memory, broken) if role is Role.DECISION else "",
            broken=broken,
        )

    def _contradiction(self, memory: StoredMemory, broken: Sequence[BrokenAnchor]) -> str:
        own = {word.casefold() for word in _WORD.findall(f"{memory.content} {memory.rationale}")}
        for alternative in memory.alternatives:
            words = {word.casefold() for word in _WORD.findall(alternative.get("option", ""))}
            if rejected := sorted((words & self._new_names.keys()) - own):
                name = self._new_names[rejected[0]]
                return f"The diff brings in {name}, which this decision names as an alternative."
        lost = next((one for one in broken if one.state is not AnchorState.OK), None)
        return f"The diff changes what this decision cites: {lost.detail}" if lost else ""

    def _broken(self, cited: Iterable[Cited]) -> Iterable[BrokenAnchor]:
        for one in cited:
            if one.state in {AnchorState.OK, AnchorState.UNVERIFIED}:
                found = self._judged(one)
                if found is not None:
                    yield found

    def _judged(self, cited: Cited) -> BrokenAnchor | None:
        change = self._files.get(cited.path)
        if cited.kind is AnchorKind.SYMBOL:
            symbol = self._symbols.get(cited.symbol)
            if symbol is not None:
                return _judged_symbol(cited, symbol)
            # Of a file that was not compared, only that it is gone is known.
            change = change if change is not None and change.is_gone else None
        if change is None:
            return None
        if change.is_gone:
            return BrokenAnchor(
                path=cited.path,
                cites=_cites(cited),
                state=AnchorState.MISSING,
                detail=f"{cited.path} is deleted.",
            )
        if change.is_moved and cited.kind is AnchorKind.FILE:
            detail = f"{cited.path} moves to {change.diff.path}."
            return BrokenAnchor(
                path=cited.path, cites=_cites(cited), state=AnchorState.OK, detail=detail
            )
        old, new = change.contents
        if old is None or new is None or self._still_says(cited, old, new):
            return None
        return BrokenAnchor(
            path=cited.path,
            cites=_cites(cited),
            state=AnchorState.DRIFTED,
            detail=f"{_cites(cited)} no longer says what was cited.",
        )

    def _still_says(self, cited: Cited, old: bytes, new: bytes) -> bool:
        """Tell whether a content says what another said; what that did not say is no loss."""
        if cited.kind is AnchorKind.LINES:
            return not _has_lines(cited, old) or _has_lines(cited, new)
        if cited.kind is not AnchorKind.PATTERN or not self._patterns:
            return True
        self._patterns -= 1
        try:
            return not matches(cited.pattern, old) or matches(cited.pattern, new)
        except (AnchorInvalid, PatternTooSlow):
            return True


def _judged_symbol(cited: Cited, symbol: SymbolChange) -> BrokenAnchor | None:
    name = cited.symbol.removeprefix("sym:")
    if symbol.status is SymbolStatus.REMOVED:
        state, detail = AnchorState.MISSING, f"{name} is gone."
    elif symbol.status in {SymbolStatus.MOVED, SymbolStatus.RENAMED}:
        place = (symbol.new_id or "").removeprefix("sym:")
        state, detail = AnchorState.OK, f"{name} is now {place}."
    elif not _is_other_text(cited, symbol):
        return None
    else:
        state, detail = AnchorState.DRIFTED, f"{name} says something else."
    return BrokenAnchor(path=cited.path, cites=_cites(cited), state=state, detail=detail)


def _is_other_text(cited: Cited, symbol: SymbolChange) -> bool:
    """Tell whether a symbol said what was cited before the change, and does not after it."""
    old, new = symbol.old, symbol.new
    if old is None or new is None or symbol.is_trivial or old.body_hash == new.body_hash:
        return False
    digest = hashlib.sha256(old.body_hash.encode()).digest()
    return cited.content_hash is None or cited.content_hash == digest


def _has_lines(cited: Cited, content: bytes) -> bool:
    if cited.start_line is None or cited.end_line is None or cited.content_hash is None:
        return False
    place = find_lines(
        lines_of(content),
        cited.content_hash,
        start_line=cited.start_line,
        end_line=cited.end_line,
    )
    return place is not None


def _cites(cited: Cited) -> str:
    if cited.kind is AnchorKind.LINES:
        return f"{cited.path}:{cited.start_line}-{cited.end_line}"
    return cited.symbol.removeprefix("sym:") or cited.path


def _new_names(changes: Iterable[FileChange]) -> dict[str, str]:
    """Return the names that the change brings to its files, as written, by their lower case."""
    added: dict[str, str] = {}
    known: set[str] = set()
    for change in changes:
        for hunk in change.diff.hunks:
            for _, text in hunk.added:
                for word in _WORD.findall(text):
                    added.setdefault(word.casefold(), word)
            for _, text in (*hunk.removed, *hunk.context):
                known.update(word.casefold() for word in _WORD.findall(text))
        if change.contents[0] is not None:
            text = change.contents[0].decode("utf-8", "replace")
            known.update(word.casefold() for word in _WORD.findall(text))
    return {key: word for key, word in added.items() if key not in known}
