from dataclasses import replace

import pytest

from graph.impact import RiskLevel
from indexing.risk.evidence import Evidence
from indexing.risk.model import WEIGHTS, Thresholds, assess, shaped
from indexing.risk.past import PastOfFiles

NOTHING = Evidence(
    lines_added=1,
    lines_removed=0,
    files=1,
    new_files=0,
    symbols=1,
    new_symbols=0,
    interfaces=0,
    percentile=0.5,
    dependents=0,
    repository_nodes=1_000,
    testable=1,
    untested=0,
    changes_tests=False,
    past=PastOfFiles(
        churn=0.0,
        fixes=0.0,
        commits=0,
        mended=0,
        authors=0,
        first_author_share=0.0,
        usual_rate=0.1,
    ),
)
MUCH = replace(
    NOTHING,
    lines_added=5_000,
    files=200,
    interfaces=20,
    percentile=1.0,
    dependents=1_000,
    untested=1,
    past=replace(NOTHING.past, churn=100.0, fixes=50.0, commits=300, mended=90, authors=40),
)


def test_no_program_changes_no_risk():
    risk = assess(None)

    assert (risk.score, risk.level, risk.parts, risk.probability) == (0, RiskLevel.NONE, (), 0)


def test_more_of_anything_is_never_safer():
    usual = assess(NOTHING).score
    for name in ("lines_added", "files", "interfaces", "percentile", "dependents", "untested"):
        assert assess(replace(NOTHING, **{name: getattr(MUCH, name)})).score >= usual
    for name in ("churn", "fixes", "authors"):
        past = replace(NOTHING.past, **{name: getattr(MUCH.past, name)})
        assert assess(replace(NOTHING, past=past)).score >= usual


def test_the_score_is_the_probability_and_the_parts_say_what_adds_to_it():
    risk, usual = assess(MUCH), assess(replace(NOTHING, lines_added=0))

    assert risk.probability is not None
    assert risk.score == pytest.approx(100 * risk.probability, abs=0.05)
    assert sum(part.points for part in risk.parts) == pytest.approx(
        risk.score - usual.score, abs=0.2
    )
    assert [part.points for part in risk.parts] == sorted(
        (part.points for part in risk.parts), reverse=True
    )
    assert {part.name for part in risk.parts} == set(WEIGHTS)
    assert all(part.reason for part in risk.parts)


def test_values_stay_between_nothing_and_much():
    assert all(0 <= value <= 1 for value in shaped(MUCH).values())
    assert shaped(replace(MUCH, percentile=None, testable=0, untested=0))["untested"] == 0


def test_levels_are_a_namespaces_to_set():
    probability = assess(NOTHING).probability or 0.0

    assert assess(NOTHING, Thresholds(medium=probability, high=1)).level is RiskLevel.MEDIUM
    assert assess(NOTHING, Thresholds(medium=0, high=probability)).level is RiskLevel.HIGH
    assert assess(NOTHING, Thresholds(medium=1, high=1)).level is RiskLevel.LOW
