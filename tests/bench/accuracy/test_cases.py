"""What the rules find in the hand-made cases, call by call."""

import pytest

from tests.bench.accuracy.cases import LANGUAGES, Case, calls_found, read_cases

CASES = [case for language in LANGUAGES for case in read_cases(language)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.language}-{case.name}")
def test_the_calls_of_a_case_are_found_and_no_others(case: Case) -> None:
    assert sorted(calls_found(case)) == sorted(case.calls - case.missed)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_ten_cases_and_finds_most_of_their_calls(language: str) -> None:
    cases = list(read_cases(language))
    assert len(cases) >= 10
    assert all(case.about for case in cases)
    calls = sum(len(case.calls) for case in cases)
    missed = sum(len(case.missed) for case in cases)
    assert missed / calls < 0.1
