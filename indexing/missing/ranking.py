"""From evidence to an order of files and a probability each. Pure: numbers in, numbers out.

A conditional logit: the score of a file is a weighted sum of its evidence, and files compete for
being the one that is missing. No weight is negative, so more evidence never lowers a file. Fitted
on what 1,560 commits of pallets/flask and gin-gonic/gin changed (thirteen cuts), each file hidden
in turn, everything frozen before the first of them, with a title and without. The probability was
calibrated on each of the two with the weights of the other, over commits with one file hidden and,
as often, commits with nothing hidden: as of pull requests, some lack a file and some do not.
"""

import math
from dataclasses import dataclass, fields
from typing import Final

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]

# Co-change speaks from one in a hundred on; the logarithm of nothing is nothing.
_FAINT: Final = 0.01
_SLOPE: Final = 0.690
_INTERCEPT: Final = -1.167


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What speaks for each file, each an array over the same files, 0 for nothing.

    By the identifiers of the diff, in BM25: `shared_words` several of its files change,
    `rare_words` few files hold, `gone_words` are in removed lines only, `context_words` around the
    changed ones, `redefined_words` have definitions that are new, gone or of another signature. By
    the parts of identifiers: `word_parts`, the mean over the shown files of what their lines have
    in common with a content; `named`, the same with a path, by ranks. By history: `together`, past
    commits of the same files; `messages`, those whose message also speaks of what changes. By the
    title: `told_words`, the parts of its words in a content; `told_paths`, in a path, by ranks.
    `dependents`: symbols in it that use what changes. `names` and `folders` are likeness of paths,
    0..1. `is_test` is 1 where a test is and the diff has none.
    """

    shared_words: Scores
    rare_words: Scores
    gone_words: Scores
    context_words: Scores
    redefined_words: Scores
    word_parts: Scores
    named: Scores
    together: Scores
    messages: Scores
    told_words: Scores
    told_paths: Scores
    dependents: Scores
    names: Scores
    folders: Scores
    is_test: Scores


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """How much each kind of evidence counts."""

    shared_words: float
    rare_words: float
    gone_words: float
    context_words: float
    redefined_words: float
    word_parts: float
    named: float
    together: float
    messages: float
    told_words: float
    told_paths: float
    dependents: float
    names: float
    folders: float
    is_test: float


WEIGHTS: Final = Weights(
    shared_words=1.093,
    rare_words=0.499,
    gone_words=0.724,
    context_words=0.452,
    redefined_words=0.682,
    word_parts=1.693,
    named=5.876,
    together=0.529,
    messages=3.579,
    told_words=1.032,
    told_paths=4.226,
    dependents=0.712,
    names=1.181,
    folders=1.088,
    is_test=0.627,
)


def parts(evidence: Evidence, weights: Weights = WEIGHTS) -> dict[str, Scores]:
    """Return what each kind of evidence adds to each file's score."""
    shaped = {
        "shared_words": _relative(evidence.shared_words),
        "rare_words": _relative(evidence.rare_words),
        "gone_words": _relative(evidence.gone_words),
        "context_words": _relative(evidence.context_words),
        "redefined_words": _relative(evidence.redefined_words),
        "word_parts": _relative(evidence.word_parts),
        "named": evidence.named,
        "together": np.log(evidence.together + _FAINT) - math.log(_FAINT),
        "messages": np.log1p(evidence.messages),
        "told_words": _relative(evidence.told_words),
        "told_paths": evidence.told_paths,
        "dependents": _relative(np.log1p(evidence.dependents)),
        "names": evidence.names,
        "folders": evidence.folders,
        "is_test": evidence.is_test,
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
