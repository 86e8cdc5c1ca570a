"""Where the identifiers of a repository stand: an inverted index over contents, kept in memory.

Contents are numbered as they come and never change, so commits share what they have in common; a
`Tree` says which of them one commit shows. Pure; `knowledge` reads the contents.
"""

import io
import math
import re
import zipfile
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Final, Self

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]

_IDENTIFIER: Final = re.compile(r"[A-Za-z_$][\w$]{2,}")
# BM25 with the usual saturation; b was compared on pallets/flask and gin-gonic/gin only.
_K1: Final = 1.2
_B: Final = 0.5
_NO_CONTENT: Final = -1
# Of what `keep` writes: another one when identifiers are told apart in another way.
_VERSION: Final = 1

_KEYWORDS: Final = frozenset(
    """
    and async await bool break case catch class const continue def default define elif else endif
    err except export extends false final finally for from fun func function if impl import include
    int interface let mut new nil none not null override package private pub public raise return
    self static std str string struct switch template that the this throw true try type typedef
    typename use val var void while with
    """.split()
)


def identifiers(text: str) -> Counter[str]:
    """Count the identifiers of a text, three characters and longer, that are no keywords."""
    counts = Counter(_IDENTIFIER.findall(text))
    for word in [word for word in counts if word.lower() in _KEYWORDS]:
        del counts[word]
    return counts


@dataclass(frozen=True, slots=True)
class Tree:
    """The files of a commit: their paths, and of each the number of its content, -1 for none."""

    paths: Sequence[str]
    contents: NDArray[np.int64]


class Unreadable(Exception):
    """What was kept is no index of words, or one of another version of this module."""


class WordIndex:
    """Which contents hold an identifier, and how often. Not for several threads at once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._lengths = array("I")
        # Word -> pairs of a content's number and a count: a list of tuples takes ten times as much.
        self._found: defaultdict[str, array[int]] = defaultdict(_no_pairs)
        self._kept = _KeptWords({}, np.zeros(1, dtype=np.int64), np.zeros((0, 2), dtype=np.uint32))

    def __len__(self) -> int:
        return len(self._numbers)

    def unknown(self, blobs: Iterable[str]) -> list[str]:
        """Return those of the contents that were not added yet, each once."""
        return [blob for blob in dict.fromkeys(blobs) if blob not in self._numbers]

    def add(self, blob: str, text: str) -> None:
        """Remember the identifiers of a content that is not known yet."""
        number = self._numbers[blob] = len(self._numbers)
        counts = identifiers(text)
        self._lengths.append(counts.total())
        for word, count in counts.items():
            self._found[word].extend((number, count))

    def keep(self, file: IO[bytes]) -> None:
        """Write the index to a file from which `kept` reads it far faster than from contents."""
        words = sorted({*self._kept.places, *self._found})
        pairs = [np.concatenate([self._kept.pairs_of(word), self._added(word)]) for word in words]
        np.savez(
            file,
            version=np.array(_VERSION),
            blobs=_packed(self._numbers),
            lengths=np.array(self._lengths, dtype=np.uint32),
            words=_packed(words),
            ends=np.cumsum([0, *(len(found) for found in pairs)], dtype=np.int64),
            pairs=np.concatenate([np.zeros((0, 2), dtype=np.uint32), *pairs]),
        )

    @classmethod
    def kept(cls, file: IO[bytes]) -> Self:
        """Return the index that `keep` wrote. Raises Unreadable."""
        try:
            with np.load(io.BytesIO(file.read()), allow_pickle=False) as read:
                if int(read["version"]) != _VERSION:
                    raise Unreadable
                index = cls()
                index._numbers = {blob: number for number, blob in enumerate(_names(read["blobs"]))}
                index._lengths = array("I", read["lengths"].astype(np.uint32).tobytes())
                words = _names(read["words"])
                index._kept = _KeptWords(
                    {word: place for place, word in enumerate(words)}, read["ends"], read["pairs"]
                )
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            raise Unreadable from error
        return index

    def tree(self, files: Sequence[tuple[str, str]]) -> Tree:
        """Return the tree of some paths with their blobs."""
        numbers = [self._numbers.get(blob, _NO_CONTENT) for _, blob in files]
        return Tree([path for path, _ in files], np.array(numbers, dtype=np.int64))

    def scores(self, words: Mapping[str, float], tree: Tree) -> Scores:
        """Return the BM25 of each file of a tree for weighted words."""
        scores = np.zeros(len(self._numbers) + 1)  # the last is of what has no content
        shown, lengths = self._shown(tree)
        for word, weight in words.items():
            numbers, counts = self._holding(word, shown)
            if len(numbers):
                rest = len(tree.paths) - len(numbers)
                rarity = math.log1p((max(rest, 0) + 0.5) / (len(numbers) + 0.5))
                gain = counts * (_K1 + 1) / (counts + lengths[numbers])
                scores[numbers] += weight * rarity * gain
        return scores[tree.contents]

    def words_of(self, place: int, words: Iterable[str], tree: Tree) -> list[tuple[str, int]]:
        """Return which of some words a file holds, and how many files do; the rarest first."""
        shown, _ = self._shown(tree)
        number = tree.contents[place]
        held = []
        for word in words:
            numbers, _ = self._holding(word, shown)
            if number in numbers:
                held.append((word, len(numbers)))
        return sorted(held, key=lambda one: (one[1], -len(one[0]), one[0]))

    def _shown(self, tree: Tree) -> tuple[NDArray[np.bool_], Scores]:
        """Return which contents a tree shows, and what BM25 makes of the length of each."""
        shown = np.zeros(len(self._numbers) + 1, dtype=bool)
        shown[tree.contents] = True
        shown[_NO_CONTENT] = False
        lengths = np.array(self._lengths, dtype=np.float64)
        of_tree = lengths[shown[:-1]]
        of_tree = of_tree[of_tree > 0]
        mean = float(of_tree.mean()) if len(of_tree) else 1.0
        return shown, _K1 * (1 - _B + _B * lengths / mean)

    def _holding(
        self, word: str, shown: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        pairs = self._kept.pairs_of(word)
        if word in self._found:
            pairs = np.concatenate([pairs, self._added(word)])
        pairs = pairs[shown[pairs[:, 0]]]
        return pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.float64)

    def _added(self, word: str) -> NDArray[np.uint32]:
        return np.array(self._found.get(word, ()), dtype=np.uint32).reshape(-1, 2)


@dataclass(frozen=True, slots=True)
class _KeptWords:
    """The words that were read from a file: each word's row, and where its pairs begin and end."""

    places: Mapping[str, int]
    ends: NDArray[np.int64]
    pairs: NDArray[np.uint32]

    def pairs_of(self, word: str) -> NDArray[np.uint32]:
        place = self.places.get(word)
        if place is None:
            return self.pairs[:0]
        return self.pairs[self.ends[place] : self.ends[place + 1]]


def weighted(counts: Mapping[str, int], words: Iterable[str]) -> dict[str, float]:
    """Return the weights of words that are asked for: the tenth mention says little."""
    return {word: 1 + math.log(counts[word]) for word in words}


def _packed(names: Iterable[str]) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(names).encode(), dtype=np.uint8)


def _names(packed: NDArray[np.uint8]) -> list[str]:
    return packed.tobytes().decode().split("\n") if len(packed) else []


def _no_pairs() -> "array[int]":
    return array("I")
