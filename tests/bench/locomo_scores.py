"""What an answer is worth: evidence recall, and whether the gold answer's words are in it. Pure.

Evidence recall asks whether the cited turns came back. The rule of the reference asks whether the
gold answer's words stand in what came back, evidence or not: random memories pass it half the
time, which is why rows of random and of no memories stand beside every figure.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean
from typing import Final

from tests.bench.locomo_data import Category, Question

_WORDS_NEEDED: Final = 0.5
_WORDS_NEEDED_OF_OPEN: Final = 0.35
_ENDINGS: Final = ("ing", "ed", "es", "ly", "s")
_SHORTEST_STEM: Final = 3
_UNTELLING: Final = frozenset(
    "a an the is are was were be been to of in on at for and or with by from as it its".split()
)
_MONTHS: Final = (
    "january february march april may june july august september october november december".split()
)
_DAY_FIRST: Final = re.compile(rf"(\d{{1,2}})(?:st|nd|rd|th)?\s+({'|'.join(_MONTHS)})")
_MONTH_FIRST: Final = re.compile(rf"({'|'.join(_MONTHS)})\s+(\d{{1,2}})(?!\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceRecall:
    """How much of a question's evidence is in the first k: the share, all of it, any of it."""

    fraction: float
    all: float
    any: float

    @classmethod
    def mean(cls, several: Sequence["EvidenceRecall"]) -> "EvidenceRecall":
        return cls(
            fraction=fmean(one.fraction for one in several),
            all=fmean(one.all for one in several),
            any=fmean(one.any for one in several),
        )


def evidence_recall(evidence: frozenset[str], ranked: Iterable[Sequence[str]]) -> EvidenceRecall:
    """Compare the cited turns with those of the memories that came back."""
    found = evidence & {turn for turns in ranked for turn in turns}
    return EvidenceRecall(
        fraction=len(found) / len(evidence),
        all=float(found == evidence),
        any=float(bool(found)),
    )


def shown(text: str, *, session: int, at: datetime, author: str = "") -> str:
    """Return a memory as a reader of the answer sees it: session, date, author, words."""
    line = f"{author}: {text}" if author else text
    return f"[Session {session}] [{at:%I:%M %p} on {at.day} {at:%B}, {at.year}] {line}"


def answers(question: Question, memories: Sequence[str]) -> bool:
    """Tell whether the reference's rule finds the gold answer in the recalled texts."""
    gold = question.answer.lower().strip()
    together = "\n".join(memories).lower()
    if not memories or not gold:
        return False
    if gold in together:
        return True
    words = _words(gold)
    needed = _WORDS_NEEDED_OF_OPEN if question.category is Category.OPEN_DOMAIN else _WORDS_NEEDED
    if words and any(_share(words, _words(memory)) >= needed for memory in memories):
        return True
    if question.category is Category.OPEN_DOMAIN and words:
        return _share(words, _words(together)) >= needed
    if question.category is Category.TEMPORAL:
        dates = _dates(gold)
        return bool(dates) and any(dates & _dates(memory.lower()) for memory in memories)
    return False


def _share(words: frozenset[str], of: frozenset[str]) -> float:
    return len(words & of) / len(words)


def _words(text: str) -> frozenset[str]:
    found = re.findall(r"[a-z0-9]+", text.lower())
    return frozenset(_stem(word) for word in found if word not in _UNTELLING)


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word[: -len(ending)]
    return word


def _dates(text: str) -> frozenset[tuple[str, int]]:
    """Return the (month, day) that a text names."""
    day_first = {(month, int(day)) for day, month in _DAY_FIRST.findall(text)}
    return frozenset(day_first | {(month, int(day)) for month, day in _MONTH_FIRST.findall(text)})
