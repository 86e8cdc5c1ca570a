"""How well a memory is kept in mind: a power law of the time since it was of use. Pure.

Forgetting follows a power function of time (Wixted and Ebbesen, "On the form of forgetting", 1991;
Anderson and Schooler, "Reflections of the environment in memory", 1991, for uses and recency). It
is computed from what is known each time, never from the last result: twice gives the same.
"""

from dataclasses import dataclass
from datetime import datetime
from math import log, log2
from typing import Final

# Unused, an importance of .5 falls under .20 after half a year, .3 after six weeks, 1.0 after two.
_EXPONENT: Final = 0.5
_STABILITY_DAYS: Final = 30.0
_HELPED: Final = 0.25
_HELPED_NOT: Final = -0.25
_STALE: Final = -0.5
_WRONG: Final = -0.75
_LEAST_WEIGHT: Final = 0.1
_MOST_WEIGHT: Final = 2.0
_CONFIDENCE_SHARE: Final = 0.3
_SECONDS_OF_A_DAY: Final = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What retention is a function of."""

    importance: float
    confidence: float
    created_at: datetime
    recalled: int = 0
    recalled_at: datetime | None = None
    helpful: int = 0
    not_helpful: int = 0
    stale: int = 0
    wrong: int = 0


def retention(kept: Kept, *, now: datetime) -> float:
    """Return 0..1, to three decimals. A time in the future (another clock) counts as now."""
    since = max(kept.created_at, kept.recalled_at or kept.created_at)
    days = max((now - since).total_seconds(), 0.0) / _SECONDS_OF_A_DAY
    weight = _weight(kept)
    stability = _STABILITY_DAYS * (1.0 + log(1.0 + kept.recalled)) * weight
    certain = 1.0 - _CONFIDENCE_SHARE * (1.0 - kept.confidence)
    left = float((1.0 + days / stability) ** -_EXPONENT)
    return round(min(kept.importance * certain * weight * left, 1.0), 3)


def _weight(kept: Kept) -> float:
    """Return what people's verdicts make of it, .1 to 2; each further one of a kind says less."""
    said = (
        _HELPED * log2(1.0 + kept.helpful)
        + _HELPED_NOT * log2(1.0 + kept.not_helpful)
        + _STALE * log2(1.0 + kept.stale)
        + _WRONG * log2(1.0 + kept.wrong)
    )
    return min(max(1.0 + said, _LEAST_WEIGHT), _MOST_WEIGHT)
