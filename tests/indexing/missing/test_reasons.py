from dataclasses import fields
from typing import Any

from indexing.missing.ranking import Evidence
from indexing.missing.reasons import Grounds, sentence
from indexing.missing.together import Company

KINDS = [one.name for one in fields(Evidence)]


def told(points: dict[str, float], **changes: Any) -> str:
    usual: dict[str, Any] = {
        "partner": None,
        "words": (),
        "redefined": (),
        "dependents": 0,
        "namesake": None,
        "named": (),
        "told": (),
        "is_test": False,
    }
    return sentence(Grounds(**usual | changes), dict.fromkeys(KINDS, 0.0) | points)


def test_past_company_is_told_with_its_numbers():
    reason = told({"together": 3.0}, partner=("src/api.py", Company(12, 15)))
    assert reason == "Changed in 12 of 15 commits of src/api.py."


def test_what_weighs_most_comes_first_and_what_weighs_little_is_left_out():
    reason = told(
        {"together": 2.0, "rare_words": 3.0, "names": 0.1},
        partner=("api.py", Company(1, 1)),
        words=["rate", "tax", "net", "gross", "sum"],
        namesake="api.py",
    )
    assert reason == (
        "Holds rate, tax, net and 2 more of the changed lines; changed in 1 of 1 commit of api.py."
    )


def test_users_of_a_changed_definition_are_told():
    reason = told({"redefined_words": 1.0}, redefined=["net"], dependents=2)
    assert reason == "Uses net, whose definition changes."
    reason = told({"dependents": 1.0}, dependents=2)
    assert reason == "2 symbols in it depend directly on what changes."


def test_a_namesake_and_a_test_are_told():
    reason = told({"names": 1.0, "is_test": 0.5}, namesake="src/price.py", is_test=True)
    assert reason == "Is named like src/price.py; is a test, and the diff has none."


def test_company_without_a_common_commit_is_no_reason():
    reason = told({"folders": 1.0}, partner=("api.py", Company(0, 9)))
    assert reason == "Is near what changes."


def test_a_file_that_the_title_names_is_told_so():
    reason = told({"told_paths": 1.0}, told=["order"])
    assert reason == "Is named for order, in the title."


def test_a_file_that_the_changed_lines_name_is_told_so():
    reason = told({"named": 1.0}, named=["order", "tax"])
    assert reason == "Is named for order, tax, in the changed lines."
