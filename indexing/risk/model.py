"""From what is known of a change to a probability, with what each part adds. Pure.

A logistic regression whose weights are never negative, so that more of anything never makes a
change safer. Fitted on steps of pallets/flask and gin-gonic/gin only (tests/bench/risk_fit.py); how
well it does elsewhere is what `make bench-risk` measures: it orders changes clearly better than
chance and states probabilities of about the right size, but most risky changes are still followed
by nothing. It is a reason to look twice, not a finding.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from graph.impact import Risk, RiskLevel, RiskPart
from indexing.risk.evidence import Evidence

MEDIUM_FROM: Final = 0.08
HIGH_FROM: Final = 0.16

NOTE: Final = "Calibrated on past commits; a rough signal: most changes rated high are fine."

_MUCH_LINES: Final = 1_000
_MUCH_FILES: Final = 30
_MUCH_CHURN: Final = 30
_MUCH_FIXES: Final = 10
_MUCH_AUTHORS: Final = 20

# Fitted on 1,385 steps, 95 of them fixed. What has no weight is shown with its sentence and adds
# nothing: who changed files, how central and how often mended they are, said no more than the rest.
INTERCEPT: Final = -4.169
WEIGHTS: Final[Mapping[str, float]] = {
    "size": 2.375,
    "breadth": 0.538,
    "centrality": 0.0,
    "spread": 0.369,
    "interface": 0.207,
    "untested": 0.354,
    "churn": 0.260,
    "past failures": 0.0,
    "ownership": 0.0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """From which probability on a change is called medium, and high."""

    medium: float = MEDIUM_FROM
    high: float = HIGH_FROM

    def level_of(self, probability: float) -> RiskLevel:
        if probability >= self.high:
            return RiskLevel.HIGH
        return RiskLevel.MEDIUM if probability >= self.medium else RiskLevel.LOW


NO_RISK: Final = Risk(score=0.0, level=RiskLevel.NONE, parts=(), probability=0.0)


def assess(evidence: Evidence | None, thresholds: Thresholds = Thresholds()) -> Risk:
    """Return how likely a change is followed by a fix, none where no program changes.

    The score is the probability in percent. The points of the parts, with those that every change
    has, add up to it.
    """
    if evidence is None:
        return NO_RISK
    values = shaped(evidence)
    added = {name: WEIGHTS[name] * value for name, value in values.items()}
    probability = _logistic(INTERCEPT + sum(added.values()))
    whole = sum(added.values())
    usual = _logistic(INTERCEPT)
    parts = [
        RiskPart(
            name=name,
            value=values[name],
            weight=WEIGHTS[name],
            points=100 * (probability - usual) * part / whole if whole else 0.0,
            reason=_reason(name, evidence),
        )
        for name, part in added.items()
    ]
    parts.sort(key=lambda part: -part.points)
    return Risk(
        score=round(100 * probability, 1),
        level=thresholds.level_of(probability),
        parts=tuple(parts),
        probability=probability,
    )


def shaped(evidence: Evidence) -> dict[str, float]:
    """Return each part as 0 for nothing to 1 for much, in the order in which they are told."""
    past = evidence.past
    return {
        "size": _logarithmic(evidence.lines_added + evidence.lines_removed, much=_MUCH_LINES),
        "breadth": _logarithmic(evidence.files - 1, much=_MUCH_FILES),
        "centrality": max(0.0, 2 * (evidence.percentile or 0.0) - 1),
        "spread": _logarithmic(
            evidence.dependents, much=max(evidence.repository_nodes, evidence.dependents, 1)
        ),
        "interface": evidence.interfaces / (evidence.interfaces + 1),
        "untested": evidence.untested / evidence.testable if evidence.testable else 0.0,
        "churn": _logarithmic(past.churn, much=_MUCH_CHURN),
        "past failures": _logarithmic(past.fixes, much=_MUCH_FIXES),
        "ownership": _logarithmic(past.authors, much=_MUCH_AUTHORS),
    }


def _logarithmic(count: float, *, much: float) -> float:
    """Return a count as 0..1: the first ten say more than the next hundred."""
    return min(1.0, math.log1p(max(0.0, count)) / math.log1p(much))


def _logistic(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))


# --- Reasons -------------------------------------------------------------------------------------


def _reason(name: str, evidence: Evidence) -> str:
    return _REASONS[name](evidence)


def _size(evidence: Evidence) -> str:
    added = _count(evidence.lines_added, "line")
    return f"{added} of programs added, {evidence.lines_removed:,} removed"


def _centrality(evidence: Evidence) -> str:
    if evidence.percentile is None:
        return "no changed node is ranked"
    top = max(1, math.ceil(100 * (1 - evidence.percentile)))
    return f"the most central changed node is in the top {top}%"


def _spread(evidence: Evidence) -> str:
    nodes = _count(evidence.repository_nodes, "node")
    return f"{_count(evidence.dependents, 'dependent')} among {nodes}"


def _untested(evidence: Evidence) -> str:
    nodes = _count(evidence.testable, "changed node")
    return f"no test reaches {evidence.untested} of {nodes}"


def _failures(evidence: Evidence) -> str:
    commits = _count(evidence.past.commits, "earlier commit")
    return f"{evidence.past.mended:,} of {commits} to these files mended something"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


_REASONS: Final[Mapping[str, Callable[[Evidence], str]]] = {
    "size": _size,
    "breadth": lambda one: f"{_count(one.files, 'program file')} touched",
    "centrality": _centrality,
    "spread": _spread,
    "interface": lambda one: f"{_count(one.interfaces, 'public interface')} changed or gone",
    "untested": _untested,
    "churn": lambda one: f"{_count(one.past.commits, 'earlier commit')} changed these files",
    "past failures": _failures,
    "ownership": lambda one: f"{_count(one.past.authors, 'author')} in two years",
}
