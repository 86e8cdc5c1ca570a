"""How candidates become scores: words against words, evidence against the floor, nine components.

Pure: knows nothing of rows, SQL or models. The measurements behind the numbers are named where
the numbers stand.
"""

import math
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from operator import attrgetter, mul
from typing import NamedTuple

from memory.values import ScoreParts

# Relative to each other; a score is divided by the sum of those that apply. Vector, text, tags and
# temporal are what a listwise fit on LoCoMo's conversations 1-5 gives, rounded; graph is what lets
# a memory that is tied to the very symbol that a question names stand first, however it is worded.
WEIGHTS = ScoreParts(
    vector=0.56,
    text=0.20,
    temporal=0.18,
    tags=0.05,
    graph=0.15,
    scope=0.05,
    importance=0.02,
    confidence=0.02,
    recency=0.02,
)
NOTHING = ScoreParts(
    vector=0, text=0, temporal=0, tags=0, graph=0, scope=0, importance=0, confidence=0, recency=0
)
_COMPONENTS = tuple(field.name for field in fields(ScoreParts))
_components = attrgetter(*_COMPONENTS)
_beside_likeness = attrgetter(*_COMPONENTS[1:])  # all but `vector`

# A word in more than this share of a scope says nothing there: without such words in the embedded
# question, any-evidence@10 rose from 46 to 67 on LoCoMo.
COMMON_SHARE = 0.15
SMALLEST_TELLING_SCOPE = 50

_BESIDE_THE_BEST = 0.5
# Likeness word by word is a cosine on one scale for every question (bundled model): what is this
# much less like the question than the best is nothing beside it. Stretching it over each pool
# instead costs .007 of evidence recall.
_WORDWISE_RANGE = 0.4
_ALONE, _TOGETHER = 0.25, 0.75
# What only asks answers nothing: it counts as that much less like the question.
_ASKING = 0.11
# What stands beside a better answer says much of the same, and several answers of one session tell
# one story: both give way by a little to what else there is.
_BESIDE_AN_ANSWER = 0.0114
_SESSION_ANSWERED = 0.0038
_AS_A_WHOLE = 0.4
_WORDWISE_SCALE = 1.14
_LINKED_SHARE = 1 / 3  # of what being tied to the named code itself counts
_ENDS_ASKING = re.compile(
    r"""[?\uff1f\u061f]["')\]*_\u201d\u2019]*\s*(?:[\[(][^\[\]()]*[\])]\s*)?$"""
)
_ENDING_CHARACTERS = 400
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


class Evidence(NamedTuple):
    """What is known about one candidate before it is compared with the others.

    `vector` is the cosine, None where either side has no embedding; `alone` and `together` compare
    word by word, without and with the memory's neighbors, None where the model cannot. `text` is
    BM25 as a share of the most there could be, `coverage` the weighted share of the question's
    words that the memory has, `asks` whether it ends in a question. The others are 0..1.
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
    temporal: float = 0.0
    asks: bool = False
    alone: float | None = None
    together: float | None = None
    linked: float = 0.0

    @property
    def graph(self) -> float:
        return max(self.exact, _LINKED_SHARE * self.linked)

    @property
    def wordwise(self) -> float | None:
        """Likeness word by word, None where there is none."""
        if self.alone is None:
            return None
        return _ALONE * self.alone + _TOGETHER * max(self.together or 0.0, self.alone)


def relevance(evidence: Evidence) -> float:
    """Return how much speaks for a candidate at all, 0..1: likeness, words or a named symbol.

    Nothing else may carry a memory over the floor: importance or freshness answer no question.
    Likeness word by word and as a whole say more together than either does; the sum is brought to
    the scale of the cosine. Where likeness is unknown the words stand alone and count three times
    as much.
    """
    if evidence.wordwise is not None:
        likeness = evidence.wordwise + _AS_A_WHOLE * max(evidence.vector or 0.0, 0.0)
        words = _WORDWISE_SCALE * (likeness + 0.25 * evidence.coverage)
    elif evidence.vector is not None:
        words = max(evidence.vector, 0.0) + 0.5 * evidence.coverage
    else:
        words = 1.5 * evidence.coverage
    return min(max(words, evidence.exact), 1.0)


def above_floor(relevances: Sequence[float], *, floors: Sequence[float]) -> list[bool]:
    """Tell which candidates may be answers; none when even the best of them is below its floor.

    `floors` are the candidates' namespaces' own. Beside a best one that passes, others need half of
    the floor. Judging the pool by its best separates much better than judging each alone. LoCoMo,
    conversations 1-5, floor .4: 16 % of the questions of another conversation, which are about the
    same everyday things, get no answer, at the price of .6 % of one's own (.45: 36 % and 1.6 %).
    """
    pairs = list(zip(relevances, floors, strict=True))
    if not any(value >= floor for value, floor in pairs):
        return [False] * len(pairs)
    return [value >= _BESIDE_THE_BEST * floor for value, floor in pairs]


def scores(
    pool: Sequence[Evidence], *, weights: Sequence[ScoreParts] | None = None
) -> list[tuple[float, tuple[float, ...]]]:
    """Return each candidate's score 0..1 and what `parts` takes, in the order of the pool.

    `weights` are those of each candidate's namespace. All components are 0..1: raw scales of one
    sum let random priors cut any-evidence@10 from 60 to 21. When no candidate has a vector the
    other weights share its part.
    """
    likenesses = _likenesses(pool)
    given = weights or [WEIGHTS] * len(pool)
    # Namespaces are few: what their weights come to is looked up, by identity.
    factors = {id(mine): _components(mine) for mine in given}
    totals = {key: sum(mine if likenesses else mine[1:]) for key, mine in factors.items()}
    results = []
    for one, likeness, mine in zip(
        pool, likenesses or [0.0] * len(pool), map(id, given), strict=True
    ):
        values = (likeness, *_beside_likeness(one))
        score = sum(map(mul, factors[mine], values))
        results.append((score / totals[mine] if totals[mine] else 0.0, values))
    return results


def parts(values: Sequence[float]) -> ScoreParts:
    """Return the components of one score by name."""
    return ScoreParts(**dict(zip(_COMPONENTS, values, strict=True)))


def _likenesses(pool: Sequence[Evidence]) -> list[float]:
    """Return how like the question each candidate is, 1 for the best; empty without vectors.

    What asks is taken for less than it is alike.
    """
    return [
        max(0.0, value - _ASKING) if one.asks else value
        for one, value in zip(pool, _compared(pool), strict=False)
    ]


def _compared(pool: Sequence[Evidence]) -> list[float]:
    """Return likenesses, 1 for the best; empty without vectors.

    Word by word where the candidates have that; one that lacks it stands among them where its
    cosine stands among all. Without any, cosines are stretched over the pool: models differ in
    how high theirs are.
    """
    if all(one.vector is None and one.wordwise is None for one in pool):
        return []
    cosines = _stretched([one.vector or 0.0 for one in pool])
    wordwise = [one.wordwise for one in pool if one.wordwise is not None]
    if not wordwise:
        return cosines
    best, worst = max(wordwise), min(wordwise)
    values = [
        worst + cosine * (best - worst) if one.wordwise is None else one.wordwise
        for one, cosine in zip(pool, cosines, strict=True)
    ]
    return [max(0.0, 1.0 - (best - value) / _WORDWISE_RANGE) for value in values]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A scored memory among others: its session, empty for none, and who stands beside it there."""

    id: Hashable
    score: float
    session: str
    beside: Collection[Hashable]


def spread_out(ranked: Sequence[Placed], *, most: int) -> list[tuple[int, float]]:
    """Return the best, one after the other, as (place in `ranked`, score after giving way).

    Each that is taken lowers those beside it and those of its session, by little: questions whose
    evidence lies apart find more of it (LoCoMo, conversations 1-5, multi-hop: .583 to .594), others
    lose nothing. `ranked` is best first, and stays so between equals.
    """
    left = dict(enumerate(one.score for one in ranked))
    taken: list[tuple[int, float]] = []
    while left and len(taken) < most:
        best = max(left, key=left.__getitem__)
        taken.append((best, left.pop(best)))
        chosen = ranked[best]
        if not chosen.session:
            continue
        for place in left:
            if ranked[place].session == chosen.session:
                left[place] -= _SESSION_ANSWERED
                if ranked[place].id in chosen.beside:
                    left[place] -= _BESIDE_AN_ANSWER
    return [(place, max(score, 0.0)) for place, score in taken]


def asks(text: str) -> bool:
    """Tell whether a text ends in a question, whatever is added in brackets behind it."""
    return bool(_ENDS_ASKING.search(text[-_ENDING_CHARACTERS:]))


def occurrences(terms: Sequence[str], tokens: str) -> dict[str, int]:
    """Count those of the words that a line of stored words (single spaces) has."""
    words = tokens.split(" ")
    present = set(words)
    return {term: words.count(term) for term in terms if term in present}


def length(tokens: str) -> int:
    """Return how many words a line of stored words has."""
    return tokens.count(" ") + 1


def bm25(
    found: Mapping[str, int], *, weights: Mapping[str, float], length: int, mean_length: float
) -> float:
    """Score a memory by the question's words in it (`occurrences`), rare words weighing more.

    `mean_length` is taken over the memories that are compared, `weights` are those of all the
    question's words: the result is a share of the most they could give. Robertson and Zaragoza, The
    Probabilistic Relevance Framework: BM25 and Beyond (2009), section 3.
    """
    pull = _K1 * (1 - _B + _B * length / max(mean_length, 1.0))
    most = sum(weights.values())
    got = sum(weights[term] * count / (count + pull) for term, count in found.items())
    return got / most if most else 0.0


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


def without_words(
    text: str, *, words_of: Callable[[str], Sequence[str]], left_out: Collection[str]
) -> str:
    """Return a question without the words that tell nothing; as it was if none are left."""
    kept, telling = [], False
    for piece in text.split():
        words = words_of(piece)
        if words and all(word in left_out for word in words):
            continue
        kept.append(piece)
        telling = telling or bool(words)
    return " ".join(kept) if telling else text


def _stretched(values: Sequence[float]) -> list[float]:
    """Stretch values to 0..1; when all are equal, all of them are 1, or 0 if they are nothing."""
    lowest, highest = min(values, default=0.0), max(values, default=0.0)
    if highest == lowest:
        return [1.0 if highest > 0 else 0.0] * len(values)
    return [(value - lowest) / (highest - lowest) for value in values]
