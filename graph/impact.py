"""How far a change reaches: which dependents to look at first, and how risky the change is.

Numbers in, numbers out; knows nothing of diffs, rows or queries. The weights below are judgment,
not measurement: nothing here is calibrated on a history of changes yet, so a score orders changes
and explains itself by its parts, but is no probability of a defect.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

SPREAD_WEIGHT: Final = 0.30
CENTRALITY_WEIGHT: Final = 0.20
INTERFACE_WEIGHT: Final = 0.25
UNTESTED_WEIGHT: Final = 0.15
BREADTH_WEIGHT: Final = 0.10

MEDIUM_FROM: Final = 30.0
HIGH_FROM: Final = 60.0

MANY_FILES: Final = 50
"""A change of so many files is as broad as it gets: nobody reads more in one review."""

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
class ChangedNode:
    """What is known of one node that changed for those who depend on it.

    `is_interface_change`: it is public, and its signature or visibility changed or it is gone.
    `is_tested`: a test is among its dependents. `needs_test` is False for what is gone or is a
    test itself.
    """

    percentile: float | None
    is_interface_change: bool
    needs_test: bool
    is_tested: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How much there is: of dependents (tests left out), of the repository, of the change."""

    dependents: int
    repository_nodes: int
    files: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskPart:
    """One reason: `value` is 0..1, `points` what it adds to the score."""

    name: str
    value: float
    weight: float
    reason: str

    @property
    def points(self) -> float:
        return 100 * self.weight * self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Risk:
    """A score of 0..100 with the parts that it is the sum of."""

    score: float
    level: RiskLevel
    parts: tuple[RiskPart, ...]


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


def assess_risk(*, changed: Sequence[ChangedNode], extent: Extent) -> Risk:
    """Return the risk of a change, 0 with no parts where no node changed.

    `changed` holds what dependents may notice: not what was only added, moved or commented.
    """
    if not changed:
        return Risk(score=0.0, level=RiskLevel.NONE, parts=())
    parts = (
        _spread(extent),
        _centrality(changed),
        _interface(changed),
        _untested(changed),
        _breadth(extent),
    )
    score = round(sum(part.points for part in parts), 1)
    return Risk(score=score, level=level_of(score), parts=parts)


def level_of(score: float) -> RiskLevel:
    if score >= HIGH_FROM:
        return RiskLevel.HIGH
    return RiskLevel.MEDIUM if score >= MEDIUM_FROM else RiskLevel.LOW


def _spread(extent: Extent) -> RiskPart:
    """How much of the repository depends on the change, on a logarithmic scale.

    The first ten dependents say more than the next hundred, and a hundred are much in a small
    repository and little in a large one.
    """
    size = max(extent.repository_nodes, extent.dependents, 1)
    return RiskPart(
        name="spread",
        value=_logarithmic(extent.dependents, of=size),
        weight=SPREAD_WEIGHT,
        reason=f"{_count(extent.dependents, 'dependent')} among {_count(size, 'node')}",
    )


def _centrality(changed: Iterable[ChangedNode]) -> RiskPart:
    """The rank of the most central changed node, as far as it is above the median.

    The maximum, because one central node is a risk whatever else changed beside it; above the
    median, because half of all nodes are below it and being ordinary is no risk.
    """
    percentiles = [node.percentile for node in changed if node.percentile is not None]
    percentile = max(percentiles, default=0.0)
    top = max(1, math.ceil(100 * (1 - percentile)))
    return RiskPart(
        name="centrality",
        value=max(0.0, 2 * percentile - 1),
        weight=CENTRALITY_WEIGHT,
        reason=f"the most central changed node is in the top {top}%"
        if percentiles
        else "no changed node is ranked",
    )


def _interface(changed: Iterable[ChangedNode]) -> RiskPart:
    """Public signatures that changed and public nodes that are gone: n / (n + 1).

    One is enough to break others, so it counts half at once; more of them add less and less.
    """
    count = sum(node.is_interface_change for node in changed)
    return RiskPart(
        name="interface",
        value=count / (count + 1),
        weight=INTERFACE_WEIGHT,
        reason=f"{_count(count, 'public interface')} changed or gone",
    )


def _untested(changed: Iterable[ChangedNode]) -> RiskPart:
    """The share of changed nodes that no test was found to reach."""
    testable = [node for node in changed if node.needs_test]
    missing = sum(not node.is_tested for node in testable)
    return RiskPart(
        name="untested",
        value=missing / len(testable) if testable else 0.0,
        weight=UNTESTED_WEIGHT,
        reason=f"no test reaches {missing} of {_count(len(testable), 'changed node')}",
    )


def _breadth(extent: Extent) -> RiskPart:
    """How many files the change touches, on a logarithmic scale up to MANY_FILES; one is none."""
    return RiskPart(
        name="breadth",
        value=_logarithmic(extent.files - 1, of=MANY_FILES - 1),
        weight=BREADTH_WEIGHT,
        reason=f"{_count(extent.files, 'file')} touched",
    )


def _logarithmic(count: int, *, of: int) -> float:
    return min(1.0, math.log1p(max(0, count)) / math.log1p(of))


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
