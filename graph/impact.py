"""How far a change reaches: which dependents to look at first, and what a risk consists of.

Numbers in, numbers out; knows nothing of diffs, rows or queries. The order of dependents is
judgment, not measurement. How likely a change is to need a fix is `indexing.risk`'s business.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_INTERFACE_FACTOR: Final = 2.0
_IN_CHANGE_FACTOR: Final = 0.5
_UNRANKED_PERCENTILE: Final = 0.5


class RiskLevel(StrEnum):
    """A score in a word. None means that nothing changed that anything could depend on."""

    NONE = "none"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What is known of one dependent; `confidence` is that of the surest way to it.

    The confidence of a way is the product of its edges'. `uses_interface` says that what it
    depends on changed its signature or is gone; `is_in_change` that the change itself touches the
    dependent's file.
    """

    depth: int
    confidence: float
    percentile: float | None
    uses_interface: bool = False
    is_in_change: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskPart:
    """One reason: `value` is 0..1 for nothing to much, `points` what it adds to the score."""

    name: str
    value: float
    weight: float
    reason: str
    points: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Risk:
    """How likely a change is followed by a fix: the score is the probability (0..1) in percent.

    The points of the parts, and what every change has, add up to the score; the first adds most.
    """

    score: float
    level: RiskLevel
    parts: tuple[RiskPart, ...]
    probability: float | None = None


def priority(reach: Reach) -> float:
    """Return how soon a dependent is worth a look; only the order of these numbers means anything.

    Each step away halves or thirds it (1 / depth): a caller of a caller breaks only if the caller
    passes the change on. Confidence counts as it is, because an edge that may not exist may not
    break. Rank at most doubles it: important code is looked at first, but a leaf that calls a
    changed signature is still broken. Using a changed interface doubles it, and what the change
    itself touches counts half, since its author has just looked there.
    """
    percentile = _UNRANKED_PERCENTILE if reach.percentile is None else reach.percentile
    value = reach.confidence / reach.depth * (0.5 + 0.5 * percentile)
    if reach.uses_interface:
        value *= _INTERFACE_FACTOR
    return value * _IN_CHANGE_FACTOR if reach.is_in_change else value
