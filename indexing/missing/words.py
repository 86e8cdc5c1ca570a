"""Where the identifiers of a repository stand: an inverted index over contents, kept in memory.

Beside whole identifiers stand their parts: `read` and `rows` of `readRows`. Contents are numbered
as they come and never change, so commits share what they have in common; a `Tree` says which of
them one commit shows. Pure; `knowledge` reads the contents.
"""

import io
import math
import re
import zipfile
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import IO, Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from indexing.missing.documents import Mentions, Scores, bm25, holders, length_norms, mentions

_IDENTIFIER: Final = re.compile(r"[A-Za-z_$][\w$]{2,}")
_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SHORTEST_PART: Final = 3
# How much the length of a content counts; compared on pallets/flask and gin-gonic/gin only.
_LENGTH_WEIGHT: Final = 0.5
_NO_CONTENT: Final = -1
# Of what `keep` writes: another one when identifiers are told apart in another way.
_VERSION: Final = 2

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


def held_in(text: str, words: frozenset[str]) -> set[str]:
    """Return which of some identifiers a text holds."""
    return set(words.intersection(_IDENTIFIER.findall(text)))


def parts(counts: Mapping[str, int]) -> Counter[str]:
    """Count the parts of identifiers: `get_user` and `UserName` have `user` in common."""
    found: Counter[str] = Counter()
    for word, count in counts.items():
        for part in _parts_of(word):
            found[part] += count
    return found


@lru_cache(maxsize=200_000)
def _parts_of(word: str) -> tuple[str, ...]:
    found = (part.lower() for part in _PART.findall(word))
    return tuple(one for one in found if len(one) >= _SHORTEST_PART and one not in _KEYWORDS)


@dataclass(frozen=True, slots=True)
class Tree:
    """The files of a commit: paths, of each the number of its content (-1: none), and its place."""

    paths: Sequence[str]
    contents: NDArray[np.int64]
    places: Mapping[str, int]


class Unreadable(Exception):
    """What was kept is no index of words, or one of another version of this module."""


class WordIndex:
    """Which contents hold an identifier, and how often. Not for several threads at once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._words = _Postings()
        self._parts = _Postings()

    def __len__(self) -> int:
        return len(self._numbers)

    def unknown(self, blobs: Iterable[str]) -> list[str]:
        """Return those of the contents that were not added yet, each once."""
        return [blob for blob in dict.fromkeys(blobs) if blob not in self._numbers]

    def add(self, blob: str, text: str) -> None:
        """Remember the identifiers of a content that is not known yet."""
        number = self._numbers[blob] = len(self._numbers)
        counts = identifiers(text)
        self._words.add(number, counts)
        self._parts.add(number, parts(counts))

    def keep(self, file: IO[bytes]) -> None:
        """Write the index to a file from which `kept` reads it far faster than from contents."""
        np.savez(
            file,
            version=np.array(_VERSION),
            blobs=_packed(self._numbers),
            **self._words.arrays("words"),
            **self._parts.arrays("parts"),
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
                index._words = _Postings.of_arrays(read, "words")
                index._parts = _Postings.of_arrays(read, "parts")
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            raise Unreadable from error
        return index

    def tree(self, files: Sequence[tuple[str, str]]) -> Tree:
        """Return the tree of some paths with their blobs."""
        numbers = [self._numbers.get(blob, _NO_CONTENT) for _, blob in files]
        return Tree(
            paths=[path for path, _ in files],
            contents=np.array(numbers, dtype=np.int64),
            places={path: place for place, (path, _) in enumerate(files)},
        )

    def scores(self, words: Mapping[str, float], tree: Tree) -> Scores:
        """Return the BM25 of each file of a tree for weighted identifiers."""
        return self._words.scores([words], tree)[0]

    def scores_of_parts(self, asked: Sequence[Mapping[str, float]], tree: Tree) -> list[Scores]:
        """Return the BM25 of each file of a tree for weighted parts, once for each question."""
        return self._parts.scores(asked, tree)

    def holders(self, words: Iterable[str], tree: Tree) -> dict[str, int]:
        """Return how many contents of a tree hold each of some identifiers."""
        asked = list(words)
        found = holders(self._words.mentions(asked, self._words.shown(tree)), len(asked))
        return dict(zip(asked, found.tolist(), strict=True))

    def words_of(self, place: int, words: Iterable[str], tree: Tree) -> list[tuple[str, int]]:
        """Return which of some words a file holds, and how many files do; the rarest first."""
        asked = list(words)
        found = self._words.mentions(asked, self._words.shown(tree))
        numbers = holders(found, len(asked))
        here = np.unique(found.words[found.texts == tree.contents[place]])
        held = [(asked[word], int(numbers[word])) for word in here]
        return sorted(held, key=lambda one: (one[1], -len(one[0]), one[0]))


class _Postings:
    """Which contents hold a word, and how often: what a file had kept, and what came since."""

    def __init__(self) -> None:
        self._lengths = array("I")
        # Word -> pairs of a content's number and a count: a list of tuples takes ten times as much.
        self._found: defaultdict[str, array[int]] = defaultdict(_no_pairs)
        self._kept = _KeptWords({}, np.zeros(1, dtype=np.int64), np.zeros((0, 2), dtype=np.uint32))

    def add(self, number: int, counts: Counter[str]) -> None:
        self._lengths.append(counts.total())
        for word, count in counts.items():
            self._found[word].extend((number, count))

    def arrays(self, name: str) -> dict[str, Any]:
        words = sorted({*self._kept.places, *self._found})
        pairs = [self._pairs_of(word) for word in words]
        return {
            f"{name}_lengths": np.array(self._lengths, dtype=np.uint32),
            f"{name}_names": _packed(words),
            f"{name}_ends": np.cumsum([0, *(len(found) for found in pairs)], dtype=np.int64),
            f"{name}_pairs": np.concatenate([np.zeros((0, 2), dtype=np.uint32), *pairs]),
        }

    @classmethod
    def of_arrays(cls, read: Mapping[str, NDArray[np.generic]], name: str) -> Self:
        postings = cls()
        postings._lengths = array("I", read[f"{name}_lengths"].astype(np.uint32).tobytes())
        places = {word: place for place, word in enumerate(_names(read[f"{name}_names"]))}
        ends = read[f"{name}_ends"].astype(np.int64)
        postings._kept = _KeptWords(places, ends, read[f"{name}_pairs"].astype(np.uint32))
        return postings

    def scores(self, asked: Sequence[Mapping[str, float]], tree: Tree) -> list[Scores]:
        shown = self.shown(tree)
        lengths = np.append(np.array(self._lengths, dtype=np.float64), 0.0)
        norms = length_norms(lengths, shown, _LENGTH_WEIGHT)
        return [
            bm25(self.mentions(words, shown), list(words.values()), norms, size=len(tree.paths))[
                tree.contents
            ]
            for words in asked
        ]

    def shown(self, tree: Tree) -> NDArray[np.bool_]:
        """Return which contents a tree shows; the last, of what has no content, never."""
        shown = np.zeros(len(self._lengths) + 1, dtype=bool)
        shown[tree.contents] = True
        shown[_NO_CONTENT] = False
        return shown

    def mentions(self, words: Iterable[str], shown: NDArray[np.bool_]) -> Mentions:
        return mentions([self._pairs_of(word) for word in words], shown)

    def _pairs_of(self, word: str) -> NDArray[np.uint32]:
        kept = self._kept.pairs_of(word)
        if word not in self._found:
            return kept
        added = np.array(self._found[word], dtype=np.uint32).reshape(-1, 2)
        return np.concatenate([kept, added])


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


def _names(packed: NDArray[np.generic]) -> list[str]:
    return packed.tobytes().decode().split("\n") if len(packed) else []


def _no_pairs() -> "array[int]":
    return array("I")
