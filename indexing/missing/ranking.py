"""From evidence to an order of files and a probability each. Pure: numbers in, numbers out.

A conditional logit: the score of a file is a weighted sum of its evidence, and files compete for
being the one that is missing. No weight is negative, so more evidence never lowers a file. Fitted
on what 600 commits of pallets/flask and gin-gonic/gin changed, each file hidden in turn and
everything frozen before the first of them; the probability was calibrated on each of the two with
the weights of the other.
"""

import math
from dataclasses import dataclass, fields
from typing import Final

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]

# Co-change speaks from one in a hundred on; the logarithm of nothing is nothing.
_FAINT: Final = 0.01
_SLOPE: Final = 0.917
_INTERCEPT: Final = -0.139


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What speaks for each file, each an array over the same files, 0 for nothing.

    `words`, `gone_words`, `context_words` and `redefined_words` are BM25 for identifiers of changed
    lines, of removed ones only, of lines around them, and of definitions that are new, gone or
    have another signature. `together`: how much past commits like this one speak for it.
    `dependents`: symbols in it that use what changes. `names` and `folders` are likeness of paths,
    0..1. `is_test` and `is_tested` are 1 where a test is and none is shown, and the other way
    round.
    """

    words: Scores
    gone_words: Scores
    context_words: Scores
    redefined_words: Scores
    together: Scores
    dependents: Scores
    names: Scores
    folders: Scores
    is_test: Scores
    is_tested: Scores


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """How much each kind of evidence counts."""

    words: float
    gone_words: float
    context_words: float
    redefined_words: float
    together: float
    dependents: float
    names: float
    folders: float
    is_test: float
    is_tested: float


WEIGHTS: Final = Weights(
    words=0.857,
    gone_words=1.637,
    context_words=0.732,
    redefined_words=1.230,
    together=0.804,
    dependents=0.175,
    names=1.326,
    folders=0.697,
    is_test=0.267,
    is_tested=0.712,
)


def parts(evidence: Evidence, weights: Weights = WEIGHTS) -> dict[str, Scores]:
    """Return what each kind of evidence adds to each file's score."""
    shaped = {
        "words": np.log1p(evidence.words),
        "gone_words": _relative(evidence.gone_words),
        "context_words": _relative(evidence.context_words),
        "redefined_words": _relative(evidence.redefined_words),
        "together": np.log(evidence.together + _FAINT) - math.log(_FAINT),
        "dependents": _relative(np.log1p(evidence.dependents)),
        "names": evidence.names,
        "folders": evidence.folders,
        "is_test": evidence.is_test,
        "is_tested": evidence.is_tested,
    }
    return {one.name: getattr(weights, one.name) * shaped[one.name] for one in fields(Weights)}


def probabilities(scores: Scores) -> Scores:
    """Return how likely each file is to be missing, calibrated; in the order of the scores."""
    if not len(scores):
        return scores
    powers = np.exp(scores - scores.max())
    shares = np.clip(powers / powers.sum(), 1e-12, 1 - 1e-9)
    odds = np.log(shares / (1 - shares))
    calibrated: Scores = 1 / (1 + np.exp(-(_SLOPE * odds + _INTERCEPT)))
    return calibrated


def _relative(scores: Scores) -> Scores:
    highest = scores.max(initial=0.0)
    return scores / highest if highest > 0 else scores
