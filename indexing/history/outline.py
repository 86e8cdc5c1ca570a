"""What two versions of a file are compared by: its symbols, their hashes and their own lines.

Each version is seen by its own parse; no line number of one is ever used in another.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from graph.values import NodeKind
from indexing.facts import BlobFacts, Definition, FactsMalformed

_OWNERS = frozenset({NodeKind.CLASS, NodeKind.INTERFACE, NodeKind.ENUM, NodeKind.TYPE})
_MEMBERS = _OWNERS | {NodeKind.FUNCTION, NodeKind.METHOD}
_KINDS = {kind.value: kind for kind in NodeKind}


class Name(NamedTuple):
    """What a symbol is called inside its file."""

    local_name: str
    kind: NodeKind
    ordinal: int

    @property
    def last(self) -> str:
        return self.local_name.rpartition(".")[2]


class Entry(NamedTuple):
    """One symbol. `members` are lines of definitions inside that are compared by themselves."""

    body_hash: str
    start_line: int
    end_line: int
    members: tuple[tuple[int, int], ...]


Outline = Mapping[Name, Entry]


def outline_of(packed: bytes) -> Outline:
    """Return the outline of a blob from its packed facts; raise FactsMalformed."""
    return outline(BlobFacts.definitions_from_bytes(packed))


class Row(NamedTuple):
    """What an outline takes of a definition, and no more; the names are those of Definition."""

    kind: NodeKind | None
    local_name: str
    parent: int
    start_line: int
    end_line: int
    body_hash: str


def packed(rows: Iterable[Row]) -> bytes:
    return json.dumps(list(rows), ensure_ascii=False, separators=(",", ":")).encode()


def unpacked(text: bytes) -> Outline:
    """Return the outline that is made of packed rows; raise FactsMalformed."""
    try:
        rows = [
            Row(_KINDS[kind] if kind is not None else None, *rest)
            for kind, *rest in json.loads(text)
        ]
        return outline(rows)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise FactsMalformed(f"Not an outline: {error}") from error


def outline(definitions: Iterable[Definition | Row]) -> Outline:
    rows = list(definitions)
    members: dict[int, list[tuple[int, int]]] = {}
    for row in rows:
        if row.kind in _MEMBERS and row.parent >= 0 and rows[row.parent].kind in _OWNERS:
            members.setdefault(row.parent, []).append((row.start_line, row.end_line))
    seen: Counter[str] = Counter()
    found: dict[Name, Entry] = {}
    for index, row in enumerate(rows):
        if row.kind is None:
            continue
        name = Name(row.local_name, row.kind, seen[row.local_name])
        seen[row.local_name] += 1
        inside = tuple(members.get(index, ()))
        found[name] = Entry(row.body_hash, row.start_line, row.end_line, inside)
    return found


@dataclass(slots=True)
class Text:
    """The lines of one version, for questions that hashes do not answer."""

    lines: list[bytes]

    @classmethod
    def of(cls, source: bytes) -> "Text":
        return cls(source.splitlines())

    def own_lines(self, entry: Entry) -> list[bytes]:
        """Return a symbol's lines, without those of members that are compared by themselves."""
        return list(self._own_lines(entry)) if entry.members else self._between(entry[1:3])

    def letters(self, entry: Entry) -> bytes:
        """Return a symbol's text without its white space."""
        return _without_white_space(b"".join(self.own_lines(entry)))

    def nameless(self, name: Name, entry: Entry) -> bytes:
        """Return a digest of a symbol's text in which its own name does not count."""
        letters = without_name(name, b"\n".join(self.own_lines(entry)))
        return hashlib.blake2b(_without_white_space(letters), digest_size=16).digest()

    def _own_lines(self, entry: Entry) -> Iterator[bytes]:
        position = entry.start_line
        for start, end in sorted(entry.members):
            yield from self._between((position, start - 1))
            position = max(position, end + 1)
        yield from self._between((position, entry.end_line))

    def _between(self, lines: tuple[int, int]) -> list[bytes]:
        return self.lines[lines[0] - 1 : lines[1]]


def _without_white_space(text: bytes) -> bytes:
    return b"".join(text.split())


def without_name(name: Name, text: bytes) -> bytes:
    return re.sub(rb"\b" + re.escape(name.last.encode()) + rb"\b", b"", text)
