from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from indexing.missing.ranking import WEIGHTS, Evidence, Weights, parts, probabilities


def evidence(**found: list[float]) -> Evidence:
    usual: dict[str, Any] = {one.name: np.zeros(3) for one in fields(Evidence)}
    return Evidence(**usual | {name: np.array(values) for name, values in found.items()})


def scores(found: Evidence) -> Any:
    return np.sum(list(parts(found).values()), axis=0)


@pytest.mark.parametrize("name", [one.name for one in fields(Evidence)])
def test_more_of_any_evidence_never_lowers_a_file(name):
    found = scores(evidence(**{name: [0.0, 0.5, 1.0]}))
    assert found[0] < found[1] < found[2]
    assert getattr(WEIGHTS, name) > 0


def test_evidence_and_weights_are_of_the_same_kinds():
    assert {one.name for one in fields(Evidence)} == {one.name for one in fields(Weights)}


def test_no_evidence_adds_nothing():
    assert scores(evidence()) == pytest.approx([0, 0, 0])


def test_probabilities_follow_the_scores_and_stay_between_none_and_one():
    likely = probabilities(np.array([0.0, 3.0, 50.0]))
    assert list(np.argsort(likely)) == [0, 1, 2]
    assert 0 < likely[0] < likely[2] < 1


def test_one_among_many_alike_is_unlikely():
    assert probabilities(np.zeros(1_000))[0] < 0.01
    assert probabilities(np.zeros(0)).size == 0
