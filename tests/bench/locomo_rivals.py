"""What recall is compared with, on the same rows in the same run.

Vector-only, full-text-only and their reciprocal rank fusion ask the product's own generators, so
that database, filters and words are the same. The reference's formula is stated again from its
description: eight components on raw scales, candidates from the vector search alone.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Final
from uuid import UUID

import numpy as np
from django.db.models import QuerySet
from numpy.typing import NDArray

from codemem.accounts.values import Caller
from codemem.embedding import Provider
from codemem.words import query_terms
from memory.candidates import QuestionVector, answering, nearest_by_rank, nearest_by_vector
from memory.models import Memory
from memory.values import RecallQuery
from tests.bench.locomo_rows import Loaded

Rival = Callable[[str, int], list[UUID]]

_RRF_K: Final = 60
_WEIGHTS: Final = {
    "vector": 0.25,
    "graph": 0.20,
    "tokens": 0.15,
    "temporal": 0.10,
    "tags": 0.05,
    "importance": 0.10,
    "confidence": 0.10,
    "recency": 0.05,
}
_K1, _B = 1.2, 0.75
_THEME: Final = 0.5
_NEIGHBORS: Final = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Rivals:
    """Every other way to rank one conversation's memories."""

    data: Loaded
    caller: Caller
    provider: Provider
    now: datetime

    def all(self, *, only_empty: bool = False) -> dict[str, Rival]:
        """Return them by name; only those that read nothing of the question when asked for."""
        empty: dict[str, Rival] = {"nothing": lambda _text, _k: [], "random": self._random}
        if only_empty:
            return empty
        return {
            **empty,
            "vectors only": lambda text, k: self._by_vector(text)[:k],
            "full text only": lambda text, k: self._by_words(text)[:k],
            "RRF of the two": self._fused,
            "reference's formula": Reference.of(self.data, self.provider, self.now).ranked,
        }

    def _random(self, text: str, k: int) -> list[UUID]:
        return Random(text).sample(self.data.memory_ids, min(k, len(self.data.memory_ids)))

    def _by_vector(self, text: str) -> list[UUID]:
        vector = QuestionVector(
            values=self.provider.embed([text], kind="query")[0],
            fingerprint=self.provider.fingerprint,
        )
        return [key for _, key in nearest_by_vector(self._rows(text), vector)]

    def _by_words(self, text: str) -> list[UUID]:
        return [key for _, key in nearest_by_rank(self._rows(text), query_terms(text))]

    def _fused(self, text: str, k: int) -> list[UUID]:
        scores: defaultdict[UUID, float] = defaultdict(float)
        for ranked in (self._by_vector(text), self._by_words(text)):
            for place, key in enumerate(ranked, start=1):
                scores[key] += 1 / (_RRF_K + place)
        return sorted(scores, key=scores.__getitem__, reverse=True)[:k]

    def _rows(self, text: str) -> QuerySet[Memory]:
        query = RecallQuery(
            text=text,
            namespace_ids=(self.data.namespace_id,),
            repository_id=self.data.repository_id,
        )
        return answering(
            caller=self.caller, query=query, namespace_ids=query.namespace_ids, now=self.now
        )


class Reference:
    """The eight components of the reference system as its source computes them.

    Words are cut as it cuts them: at everything that is no letter or digit, no stems, no stop
    words. Links among memories are what its creative cycle would have made.
    """

    def __init__(self, data: Loaded, provider: Provider, now: datetime) -> None:
        self._data, self._provider = data, provider
        self._tokens = [_plain_words(unit.text) for unit in data.units]
        self._counts = [Counter(tokens) for tokens in self._tokens]
        self._mean = sum(map(len, self._tokens)) / len(self._tokens)
        self._documents = Counter(word for counts in self._counts for word in counts)
        ages = [(now - unit.at).total_seconds() / 3600 for unit in data.units]
        self._temporal = [math.exp(-age / 720) for age in ages]
        self._recency = [math.exp(-age / 168) for age in ages]
        self._graph = _link_strength(data.vectors)
        self._tags = [" ".join(unit.authors).lower() for unit in data.units]

    @classmethod
    def of(cls, data: Loaded, provider: Provider, now: datetime) -> "Reference":
        return cls(data, provider, now)

    def ranked(self, text: str, k: int) -> list[UUID]:
        cosines = self._data.vectors @ self._provider.embed([text], kind="query")[0]
        candidates = np.argsort(-cosines)[: 2 * k]
        words = _plain_words(text)
        scored = sorted(
            (
                (self._score(int(place), words, float(cosines[place])), int(place))
                for place in candidates
            ),
            reverse=True,
        )
        return [self._data.memory_ids[place] for _, place in scored[:k]]

    def _score(self, place: int, words: Sequence[str], cosine: float) -> float:
        matched = sum(word in self._tags[place] for word in words) / max(len(words), 1)
        parts = {
            "vector": cosine,
            "graph": self._graph[place],
            "tokens": self._bm25(place, words),
            "temporal": self._temporal[place],
            "tags": matched,
            "importance": self._data.importances[place],
            "confidence": self._data.confidences[place],
            "recency": self._recency[place],
        }
        return sum(_WEIGHTS[name] * value for name, value in parts.items())

    def _bm25(self, place: int, words: Sequence[str]) -> float:
        """Return BM25 as a share of what ten of every word in an average text would score."""
        counts, length = self._counts[place], len(self._tokens[place])
        got = best = 0.0
        for word in set(words):
            seen = self._documents[word]
            weight = math.log1p((len(self._tokens) - seen + 0.5) / (seen + 0.5))
            often = counts[word]
            got += weight * often * (_K1 + 1) / (often + _K1 * (1 - _B + _B * length / self._mean))
            best += weight * 10 * (_K1 + 1) / (10 + _K1)
        return min(got / best, 1.0) if best else 0.0


def _plain_words(text: str) -> list[str]:
    words = "".join(letter if letter.isalnum() else " " for letter in text.lower()).split()
    return [word for word in words if len(word) > 1]


def _link_strength(vectors: NDArray[np.float32]) -> list[float]:
    """Return .6 of how many of ten links, .4 of how strong: its rule for links of memories."""
    alike = vectors @ vectors.T
    np.fill_diagonal(alike, 0)
    strengths = []
    for row in alike:
        near = [value for value in np.sort(row)[::-1][: _NEIGHBORS - 1] if value >= _THEME]
        strengths.append(
            0.6 * min(len(near) / 10, 1) + 0.4 * min(float(np.mean(near)), 1) if near else 0.0
        )
    return strengths
