"""What past commits said, by their words, and what each of them changed."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final
from uuid import UUID

from codemem.words import code_tokens
from graph.queries.history import LandedChange, landed_changes, newest_landed

_LIKE_COMMITS: Final = 40
_HALF_LIFE_DAYS: Final = 730.0
_K1: Final = 1.2
_B: Final = 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class Votes:
    """What commits that said something like a question speak for: keys -> votes.

    `voters` are the commits that speak for a file, those most like the question first.
    """

    files: Mapping[int, float]
    symbols: Mapping[int, float]
    voters: Mapping[int, Sequence[str]]


class PastChanges:
    """The messages of a repository's commits by their words, and what each changed."""

    def __init__(self, changes: Sequence[LandedChange]) -> None:
        self._changes = changes
        self._newest = max((change.at for change in changes), default=None)
        self._holding: dict[str, list[tuple[int, int]]] = {}
        self._lengths: list[int] = []
        for number, change in enumerate(changes):
            counts = Counter(code_tokens(change.message))
            self._lengths.append(sum(counts.values()))
            for term, count in counts.items():
                self._holding.setdefault(term, []).append((number, count))
        self._mean = sum(self._lengths) / max(len(self._lengths), 1) or 1.0
        self._file_churn: Counter[int] = Counter()
        self._symbol_churn: Counter[int] = Counter()
        for change in changes:
            freshness = self._freshness(change.at)
            for file in change.files:
                self._file_churn[file] += freshness  # type: ignore[assignment]
            for symbol in change.symbols:
                self._symbol_churn[symbol] += freshness  # type: ignore[assignment]

    def votes(self, terms: Sequence[str]) -> Votes:
        """Return what the commits that say something like the question speak for.

        A commit that changed much says little of each.
        """
        likeness = self._likeness(terms)
        best = sorted(likeness, key=lambda number: -likeness[number])[:_LIKE_COMMITS]
        highest = likeness[best[0]] if best else 1.0
        files: dict[int, float] = {}
        symbols: dict[int, float] = {}
        voters: dict[int, list[str]] = {}
        for number in best:
            change = self._changes[number]
            weight = (likeness[number] / highest) ** 2 * self._freshness(change.at)
            for votes, changed in ((files, change.files), (symbols, change.symbols)):
                share = weight / math.sqrt(max(len(changed), 1))
                for key in changed:
                    votes[key] = votes.get(key, 0.0) + share
            for file in change.files:
                voters.setdefault(file, []).append(change.sha)
        return Votes(files=files, symbols=symbols, voters=voters)

    def file_churn(self, file: int) -> float:
        """Return how often a file changed, recent changes counting more."""
        return float(self._file_churn[file])

    def symbol_churn(self, symbol: int) -> float:
        return float(self._symbol_churn[symbol])

    def most_changed_files(self, count: int) -> list[int]:
        return [file for file, _ in self._file_churn.most_common(count)]

    def _likeness(self, terms: Sequence[str]) -> dict[int, float]:
        """Return BM25 of the messages that share a word with the question, by their numbers."""
        scores: dict[int, float] = {}
        for term in terms:
            holding = self._holding.get(term, ())
            rest = len(self._changes) - len(holding)
            weight = math.log1p((rest + 0.5) / (len(holding) + 0.5))
            for number, count in holding:
                pull = _K1 * (1 - _B + _B * self._lengths[number] / self._mean)
                gain = weight * count * (_K1 + 1) / (count + pull)
                scores[number] = scores.get(number, 0.0) + gain
        return scores

    def _freshness(self, at: datetime) -> float:
        age = (self._newest - at).total_seconds() / 86_400 if self._newest else 0.0
        return float(0.5 ** (max(age, 0.0) / _HALF_LIFE_DAYS))


def past_changes(*, repository_id: UUID) -> PastChanges:
    """Return what the newest 5,000 commits said and changed; read again once there are others."""
    return _past(repository_id, newest_landed(repository_id=repository_id))


@lru_cache(maxsize=16)
def _past(repository_id: UUID, _newest: tuple[int, int]) -> PastChanges:
    return PastChanges(landed_changes(repository_id=repository_id))
