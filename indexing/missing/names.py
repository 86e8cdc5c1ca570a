"""How alike paths are, and which of them some words name: by names and folders. Pure."""

import math
import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from indexing.missing.documents import Documents

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# What says which part a file plays, not what it is about.
_ROLES: Final = frozenset({"test", "tests", "spec", "specs", "bench", "benchmark", "mock", "it"})


class Names:
    """The names of a tree's files by their words; rare words say more."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._words = [words_of(path) for path in paths]
        holders: defaultdict[str, list[int]] = defaultdict(list)
        for place, words in enumerate(self._words):
            for word in words:
                holders[word].append(place)
        self._holders = holders
        self._counts = Counter({word: len(places) for word, places in holders.items()})
        self._weights = [self._weight(words) for words in self._words]
        self._folders = _Folders([posixpath.dirname(path) for path in paths])
        self._size = len(paths)
        self._paths = Documents([_words_of_path(path) for path in paths], length_weight=0.5)

    def named(self, words: Mapping[str, float]) -> NDArray[np.float64]:
        """Return the BM25 of each path, folders included, for weighted words in lower case."""
        return self._paths.scores(words)

    def alike(self, path: str) -> NDArray[np.float64]:
        """Return, 0..1, how much of its name each file has in common with a path."""
        scores = np.zeros(self._size)
        words = words_of(path)
        own = self._weight(words)
        shared: defaultdict[int, float] = defaultdict(float)
        for word in words:
            for place in self._holders.get(word, ()):
                shared[place] += self._weight((word,))
        for place, common in shared.items():
            scores[place] = common / (own + self._weights[place] - common)
        return scores

    def near(self, path: str) -> NDArray[np.float64]:
        """Return, 0..1, how near each file's folder is to that of a path."""
        return self._folders.near(posixpath.dirname(path))

    def _weight(self, words: Sequence[str] | frozenset[str]) -> float:
        return sum(1 / (1 + math.log(1 + self._counts[word])) for word in words)


@lru_cache(maxsize=50_000)
def words_of(path: str) -> frozenset[str]:
    """Return the words of a file's name: not of its endings, nor those that name its role."""
    name = posixpath.basename(path)
    stem = name if name.startswith(".") else name.partition(".")[0]
    return frozenset(word.lower() for word in _WORD.findall(stem)) - _ROLES


def _words_of_path(path: str) -> Counter[str]:
    stems = (part.partition(".")[0] for part in path.split("/"))
    return Counter(word.lower() for stem in stems for word in _WORD.findall(stem))


class _Folders:
    """The folders of a tree's files, each once: how deep they are, and which lie in which."""

    def __init__(self, of_files: Sequence[str]) -> None:
        numbers: dict[str, int] = {}
        self._of_files = np.array(
            [numbers.setdefault(folder, len(numbers)) for folder in of_files], dtype=np.int64
        )
        inside: defaultdict[str, list[int]] = defaultdict(list)
        for folder, number in numbers.items():
            for above in _upwards(folder):
                inside[above].append(number)
        self._inside = {above: np.array(numbers) for above, numbers in inside.items()}
        self._depths = np.array([len(_upwards(folder)) for folder in numbers], dtype=np.int64)

    def near(self, folder: str) -> NDArray[np.float64]:
        """Return twice the steps from the root in common by the steps of both, for each file."""
        own = _upwards(folder)
        common = np.zeros(len(self._depths), dtype=np.int64)
        for above in own:
            common[self._inside.get(above, [])] += 1
        near: NDArray[np.float64] = (2 * common + 1) / (len(own) + self._depths + 1)
        return near[self._of_files]


def _upwards(folder: str) -> list[str]:
    """Return a folder and all that it lies in, but for the root."""
    parts = folder.split("/") if folder else []
    return ["/".join(parts[:length]) for length in range(len(parts), 0, -1)]
