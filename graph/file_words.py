"""The words of files and of each of their symbols, counted once for each content.

Nothing of this is stored: a question reads the texts of the files that it has chosen, and what was
read is kept for the next one.
"""

import struct
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

from django.db import connection
from psycopg import sql

from codemem.words import code_tokens
from graph.queries.seen import is_seen, view_parameters
from graph.statements import statements
from graph.values import NodeKind, View

_KEPT_FILES: Final = 2_000
_LONGEST_FILE_TOKENS: Final = 200_000
_PATH_MENTIONS: Final = 3
# Two bytes each hold a symbol's place in its file, and how often a word is in it.
_PLACES: Final = 0xFFFE
_OF_THE_PATH: Final = 0xFFFF
_PAIR: Final = struct.Struct("HH")


class WrittenSymbol(NamedTuple):
    """A symbol of a file: its key, and what can be told of it without reading it."""

    key: int
    kind: NodeKind
    is_test: bool
    lines: int


class FileWords:
    """How often each word is in a file: in its symbols, and in its path, which counts three times.

    `lengths` are how many words each symbol has, in the order of `symbols`. Empty until `read` was
    called, which another thread may do at the same time to the same effect.
    """

    __slots__ = ("_found", "is_read", "length", "lengths", "symbols")

    def __init__(self) -> None:
        self.is_read = False
        self.symbols: Sequence[WrittenSymbol] = ()
        self.lengths: Sequence[int] = ()
        self.length = 0
        # Term -> pairs of place and count, packed: a list of tuples takes four times the memory.
        self._found: Mapping[str, bytes] = {}

    def read(self, path: str, texts: Sequence[tuple[WrittenSymbol, str]]) -> None:
        """Count the words of a path and of the texts of its symbols."""
        found: dict[str, bytearray] = defaultdict(bytearray)
        lengths: list[int] = []
        left = _LONGEST_FILE_TOKENS
        for place, (_, text) in enumerate(texts[:_PLACES]):
            tokens = code_tokens(text, limit=left)
            left -= len(tokens)
            lengths.append(len(tokens))
            _note(found, place, tokens)
        of_path = code_tokens(path) * _PATH_MENTIONS
        _note(found, _OF_THE_PATH, of_path)
        self._found = {term: bytes(pairs) for term, pairs in found.items()}
        self.lengths = lengths
        self.length = sum(lengths) + len(of_path)
        self.symbols = [symbol for symbol, _ in texts[:_PLACES]]
        # Last: another thread sees all or nothing.
        self.is_read = True

    def count(self, term: str) -> int:
        """Return how often the file has a word."""
        found = self._found.get(term)
        # Most files have few of a question's words.
        return sum(count for _, count in _PAIR.iter_unpack(found)) if found else 0

    def places(self, term: str) -> Iterator[tuple[int, int]]:
        """Yield the places of the symbols that have a word, each with how often."""
        for place, count in _PAIR.iter_unpack(self._found.get(term, b"")):
            if place != _OF_THE_PATH:
                yield place, count


def _note(found: Mapping[str, bytearray], place: int, tokens: Sequence[str]) -> None:
    for term, count in Counter(tokens).items():
        found[term].extend(_PAIR.pack(place, min(count, 0xFFFF)))


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A file that a view shows: its key, what it holds, and which of its symbols were found."""

    key: int
    blob: str
    symbols: tuple[int, ...]


def words_of(
    files: Mapping[str, SeenFile], filters: Mapping[str, Any], view: View
) -> dict[str, FileWords]:
    """Return the words of each file; equal contents of a file are read the first time only.

    One query at most.
    """
    words = {path: _words_of(file.key, file.blob) for path, file in files.items()}
    new = {path: files[path] for path, known in words.items() if not known.is_read}
    if new:
        texts = _texts(new, filters, view)
        for path, file in new.items():
            words[path].read(path, texts.get(file.key, ()))
    return words


@lru_cache(maxsize=_KEPT_FILES)
def _words_of(_key: int, _blob: str) -> FileWords:
    return FileWords()


def _texts(
    files: Mapping[str, SeenFile], filters: Mapping[str, Any], view: View
) -> dict[int, list[tuple[WrittenSymbol, str]]]:
    statement = sql.SQL(statements("search")["texts_of"]).format(
        seen=is_seen(view=view, table="version")
    )
    keys = [file.key for file in files.values()]
    texts: dict[int, list[tuple[WrittenSymbol, str]]] = {}
    with connection.cursor() as cursor:
        cursor.execute(statement, {**filters, "files": keys, **view_parameters(view)})
        for file, key, kind, is_test, lines, text in cursor.fetchall():
            symbol = WrittenSymbol(key, NodeKind(kind), is_test, lines)
            texts.setdefault(file, []).append((symbol, text))
    return texts
