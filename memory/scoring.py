"""How candidates become scores: words against words, evidence against the floor, nine components.

Pure: knows nothing of rows, SQL or models. The measurements behind the numbers are named where
the numbers stand.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta

from memory.values import ScoreParts

# Relative to each other; a score is divided by the sum of those that apply. A memory that is tied
# to the very symbol that a question names may be worded quite unlike the question.
WEIGHTS = ScoreParts(
    vector=0.40,
    text=0.25,
    exact=0.15,
    tags=0.10,
    graph=0.05,
    scope=0.05,
    importance=0.04,
    confidence=0.04,
    recency=0.02,
)
NOTHING = ScoreParts(
    vector=0, text=0, exact=0, tags=0, graph=0, scope=0, importance=0, confidence=0, recency=0
)
_COMPONENTS = tuple(field.name for field in fields(ScoreParts))

# A word in more than this share of a scope says nothing there: without such words in the embedded
# question, any-evidence@10 rose from 46 to 67 on LoCoMo.
COMMON_SHARE = 0.15
SMALLEST_TELLING_SCOPE = 50

_BESIDE_THE_BEST = 0.7
_RECENCY_HALF_LIFE = timedelta(days=90)
_K1, _B = 1.2, 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class WordStatistics:
    """How often each word of the question occurs in a sample of the scope.

    A word that the sample lacks counts as occurring nowhere, which makes it a rare one.
    """

    documents: int
    frequencies: Mapping[str, int]

    def weight(self, term: str) -> float:
        """Return the inverse document frequency, as BM25 has it: always positive."""
        frequency = self.frequencies.get(term, 0)
        return math.log1p((self.documents - frequency + 0.5) / (frequency + 0.5))

    def is_common(self, term: str) -> bool:
        """Tell whether a word is in too many memories of the scope to tell them apart."""
        if self.documents < SMALLEST_TELLING_SCOPE:
            return False
        return self.frequencies.get(term, 0) > COMMON_SHARE * self.documents


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known about one candidate before it is compared with the others.

    `vector` is the cosine, None where either side has no embedding. `text` is BM25, `coverage` the
    weighted share of the question's words that the memory has. The others are 0..1.
    """

    vector: float | None
    text: float
    coverage: float
    exact: float
    tags: float
    scope: float
    importance: float
    confidence: float
    recency: float
    graph: float = 0.0


def relevance(evidence: Evidence) -> float:
    """Return how much speaks for a candidate at all, 0..1: likeness, words or a named symbol.

    Nothing else may carry a memory over the floor: importance or freshness answer no question.
    Where likeness is unknown the words stand alone and count three times as much.
    """
    if evidence.vector is None:
        words = 1.5 * evidence.coverage
    else:
        words = max(evidence.vector, 0.0) + 0.5 * evidence.coverage
    return min(max(words, evidence.exact), 1.0)


def above_floor(relevances: Sequence[float], *, floor: float) -> list[bool]:
    """Tell which candidates may be answers; none when even the best of them is below the floor.

    Beside a best one that passes, others need 70 % of the floor. Judging the pool by its best
    separates much better than judging each alone. LoCoMo, conversations 1-5, floor .45: the
    questions of another conversation get no answer in 64 % of cases, at the price of .4 points
    of any-evidence@10; a cosine floor that empties as many costs 6.6.
    """
    if max(relevances, default=0.0) < floor:
        return [False] * len(relevances)
    return [value >= _BESIDE_THE_BEST * floor for value in relevances]


def scores(
    pool: Sequence[Evidence], *, weights: ScoreParts = WEIGHTS
) -> list[tuple[float, ScoreParts]]:
    """Return each candidate's score 0..1 and its parts, in the order of the pool.

    Every component is stretched over the pool (min-max): raw scales of one sum let random
    priors cut any-evidence@10 from 60 to 21, stretched ones cost about one point. When no
    candidate has a vector the other weights share its part.
    """
    present = [name for name in _COMPONENTS if _is_present(pool, name)]
    total = sum(getattr(weights, name) for name in present)
    columns = {name: _stretched([getattr(one, name) or 0.0 for one in pool]) for name in present}
    results = []
    for index in range(len(pool)):
        parts = {name: columns[name][index] if name in columns else 0.0 for name in _COMPONENTS}
        score = sum(getattr(weights, name) * parts[name] for name in present)
        results.append((score / total if total else 0.0, ScoreParts(**parts)))
    return results


def occurrences(terms: Sequence[str], tokens: str) -> dict[str, int]:
    """Count those of the words that a line of stored words (single spaces) has."""
    # Doubled spaces let neighbors that are equal be counted one by one, at the speed of C.
    line = f" {tokens.replace(' ', '  ')} "
    counts = ((term, line.count(f" {term} ")) for term in terms)
    return {term: count for term, count in counts if count}


def length(tokens: str) -> int:
    """Return how many words a line of stored words has."""
    return tokens.count(" ") + 1


def bm25(
    found: Mapping[str, int], *, weights: Mapping[str, float], length: int, mean_length: float
) -> float:
    """Score a memory by the question's words in it (`occurrences`), rare words weighing more.

    `mean_length` is taken over the memories that are compared. Robertson and Zaragoza, The
    Probabilistic Relevance Framework: BM25 and Beyond (2009), section 3.
    """
    pull = _K1 * (1 - _B + _B * length / max(mean_length, 1.0))
    return sum(weights[term] * count * (_K1 + 1) / (count + pull) for term, count in found.items())


def coverage(
    terms: Sequence[str], found: Mapping[str, int], *, weights: Mapping[str, float]
) -> float:
    """Return which share of the words a memory has, rare ones weighing more."""
    total = sum(weights[term] for term in terms)
    matched = sum(weights[term] for term in terms if term in found)
    return matched / total if total else 0.0


def linked_relevance(
    links: Iterable[tuple[int, int, float]], relevances: Mapping[int, float]
) -> dict[int, float]:
    """Return what each candidate gains from the relevance of those it is linked to.

    `links` are (end, end, weight); candidates are linked directly or by a node that both are tied
    to. A gain is the best neighbor's relevance times the weights on the way, never its own.
    """
    ties: dict[int, list[tuple[int, float]]] = {}
    for one, other, weight in links:
        ties.setdefault(one, []).append((other, weight))
        ties.setdefault(other, []).append((one, weight))
    gains: dict[int, float] = {}
    for between, ends in ties.items():
        warm = [(relevances[end] * weight, end) for end, weight in ends if end in relevances]
        best = sorted(warm, reverse=True)[:2]
        if between in relevances and best:
            gains[between] = max(gains.get(between, 0.0), best[0][0])
            continue
        for end, weight in ends:
            others = [heat for heat, source in best if source != end]
            if end in relevances and others:
                gains[end] = max(gains.get(end, 0.0), others[0] * weight)
    return gains


def tag_match(terms: Sequence[str], tags: Sequence[Sequence[str]]) -> float:
    """Return how completely the best-matching tag (as its words) is named by the question."""
    named = frozenset(terms)
    return max((len(named.intersection(tag)) / len(set(tag)) for tag in tags if tag), default=0.0)


def recency(created_at: datetime, now: datetime) -> float:
    """Return 1 for now, 1/2 for ninety days ago, and so on."""
    age = max(now - created_at, timedelta())
    return float(0.5 ** (age / _RECENCY_HALF_LIFE))


def without_common_words(
    text: str, *, words_of: Callable[[str], Sequence[str]], statistics: WordStatistics
) -> str:
    """Return a question without the words that half the scope has; as it was if none are left."""
    kept, telling = [], False
    for piece in text.split():
        words = words_of(piece)
        if words and all(statistics.is_common(word) for word in words):
            continue
        kept.append(piece)
        telling = telling or bool(words)
    return " ".join(kept) if telling else text


def _is_present(pool: Sequence[Evidence], name: str) -> bool:
    return any(getattr(one, name) is not None for one in pool)


def _stretched(values: Sequence[float]) -> list[float]:
    """Stretch values to 0..1; when all are equal, all of them are 1, or 0 if they are nothing."""
    lowest, highest = min(values, default=0.0), max(values, default=0.0)
    if highest == lowest:
        return [1.0 if highest > 0 else 0.0] * len(values)
    return [(value - lowest) / (highest - lowest) for value in values]
