"""Which of many short texts speak of some words: BM25 over counted words, held in memory. Pure.

Paths and commit messages are such texts; `words` does the same for the contents of a repository,
of which commits share most.
"""

import math
from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]

# The usual saturation. Compared, like everything here, on pallets/flask and gin-gonic/gin only.
K1: Final = 1.2


class Documents:
    """Texts by their words, numbered as they were given."""

    def __init__(self, texts: Sequence[Mapping[str, int]], *, length_weight: float) -> None:
        self._lengths = np.array([sum(text.values()) for text in texts], dtype=np.float64)
        self._length_weight = length_weight
        found: defaultdict[str, array[int]] = defaultdict(_no_pairs)
        for number, text in enumerate(texts):
            for word, count in text.items():
                found[word].extend((number, count))
        self._found = {
            word: np.array(pairs, dtype=np.int64).reshape(-1, 2) for word, pairs in found.items()
        }

    def scores(
        self, words: Mapping[str, float], *, among: NDArray[np.bool_] | None = None
    ) -> Scores:
        """Return the BM25 of each text for weighted words; `among` says which texts there are."""
        known = np.ones(len(self._lengths), dtype=bool) if among is None else among
        scores = np.zeros(len(self._lengths))
        lengths = length_norms(self._lengths, known, self._length_weight)
        size = int(known.sum())
        for word, weight in words.items():
            pairs = self._found.get(word)
            if pairs is None:
                continue
            pairs = pairs[known[pairs[:, 0]]]
            numbers, counts = pairs[:, 0], pairs[:, 1].astype(np.float64)
            scores[numbers] += weight * gains(counts, lengths[numbers], size=size)
        return scores


def gains(counts: Scores, lengths: Scores, *, size: int) -> Scores:
    """Return what one word gives to each text that holds it, `size` texts being there in all."""
    holders = len(counts)
    rarity = math.log1p((max(size - holders, 0) + 0.5) / (holders + 0.5))
    return rarity * counts * (K1 + 1) / (counts + lengths)


def length_norms(lengths: Scores, shown: NDArray[np.bool_], weight: float) -> Scores:
    """Return what BM25 makes of the length of each text, against the mean of those shown."""
    of_shown = lengths[shown]
    of_shown = of_shown[of_shown > 0]
    mean = float(of_shown.mean()) if len(of_shown) else 1.0
    return K1 * (1 - weight + weight * lengths / mean)


def _no_pairs() -> "array[int]":
    return array("I")
