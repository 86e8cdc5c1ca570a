"""Which of many short texts speak of some words: BM25 over counted words, held in memory. Pure.

Paths and commit messages are such texts; `words` does the same for the contents of a repository,
of which commits share most.
"""

from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

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
        asked = {word: weight for word, weight in words.items() if word in self._found}
        return bm25(
            mentions([self._found[word] for word in asked], known),
            list(asked.values()),
            length_norms(self._lengths, known, self._length_weight),
            size=int(known.sum()),
        )


class Mentions(NamedTuple):
    """Row by row: a text, the place of a word among those asked for, and how often it is there."""

    texts: NDArray[np.int64]
    words: NDArray[np.int64]
    counts: Scores


def mentions(pairs: Sequence[NDArray[np.integer]], shown: NDArray[np.bool_]) -> Mentions:
    """Return where words are in the texts shown, from each word's pairs of a text and a count."""
    whole = np.concatenate([np.zeros((0, 2), dtype=np.int64), *pairs])
    words = np.repeat(np.arange(len(pairs)), [len(found) for found in pairs])
    is_shown = shown[whole[:, 0]]
    return Mentions(
        texts=whole[is_shown, 0].astype(np.int64),
        words=words[is_shown],
        counts=whole[is_shown, 1].astype(np.float64),
    )


def holders(found: Mentions, words: int) -> NDArray[np.int64]:
    """Return how many texts hold each of so many words."""
    return np.bincount(found.words, minlength=words)


def bm25(found: Mentions, weights: Sequence[float], norms: Scores, *, size: int) -> Scores:
    """Return the BM25 of each text, `size` texts being shown in all; `norms` as `length_norms`."""
    held = holders(found, len(weights))
    rarity = np.log1p((np.maximum(size - held, 0) + 0.5) / (held + 0.5)) * np.array(weights)
    gained = rarity[found.words] * found.counts * (K1 + 1) / (found.counts + norms[found.texts])
    return np.bincount(found.texts, weights=gained, minlength=len(norms)).astype(np.float64)


def length_norms(lengths: Scores, shown: NDArray[np.bool_], weight: float) -> Scores:
    """Return what BM25 makes of the length of each text, against the mean of those shown."""
    of_shown = lengths[shown]
    of_shown = of_shown[of_shown > 0]
    mean = float(of_shown.mean()) if len(of_shown) else 1.0
    return K1 * (1 - weight + weight * lengths / mean)


def _no_pairs() -> "array[int]":
    return array("I")
