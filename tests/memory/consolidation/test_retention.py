"""Retention: a power law of time, from what is known, the same whenever it is asked."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from memory.consolidation.retention import Kept, retention
from tests.factories import NOW

KEPT = Kept(importance=0.5, confidence=1.0, created_at=NOW)


def after(days: int, kept: Kept = KEPT) -> float:
    return retention(kept, now=NOW + timedelta(days=days))


def test_it_begins_with_the_importance():
    assert after(0) == 0.5


def test_it_falls_by_a_power_law_and_not_exponentially():
    values = [after(days) for days in (0, 30, 60, 120, 240, 480)]
    assert values == sorted(values, reverse=True)
    # Halving gets slower and slower: from the first month to the second less than to the first.
    assert after(30) / after(0) < after(60) / after(30) < after(480) / after(450)


def test_an_ordinary_memory_that_nobody_uses_fades_in_half_a_year():
    assert after(90) > 0.2 > after(180)


def test_an_important_one_lasts_two_years():
    assert after(365, replace(KEPT, importance=1.0)) > 0.2


def test_use_renews_it():
    used = replace(KEPT, recalled=3, recalled_at=NOW + timedelta(days=170))
    assert after(180, used) > 2 * after(180)


@pytest.mark.parametrize(
    ("verdict", "is_more"),
    [("helpful", True), ("not_helpful", False), ("stale", False), ("wrong", False)],
)
def test_verdicts_count(verdict, is_more):
    said: Any = {verdict: 1}
    assert (after(100, replace(KEPT, **said)) > after(100)) is is_more


def test_doubt_counts():
    assert after(10, replace(KEPT, confidence=0.2)) < after(10)


def test_a_clock_that_runs_ahead_makes_nothing_more_than_new():
    assert after(-10) == after(0)


def test_it_stays_within_0_and_1():
    much = replace(KEPT, importance=1.0, helpful=10_000, recalled=10_000)
    assert after(0, much) == 1.0
    assert 0 <= after(100_000, replace(KEPT, wrong=10_000, importance=0.0)) <= 0.01
