"""Environment readers: each returns a value of its type or a sentence that names the variable."""

from pathlib import Path

import pytest

from codemem import env
from codemem.env import DatabaseAddress, EnvironmentInvalid

NAME = "CODEMEM_TEST"
HINT = "Ask somebody."


@pytest.fixture(autouse=True)
def _unset(monkeypatch):
    monkeypatch.delenv(NAME, raising=False)


@pytest.fixture
def given(monkeypatch):
    return lambda value: monkeypatch.setenv(NAME, value)


@pytest.mark.parametrize("blank", [None, "", "  "])
def test_what_is_unset_or_blank_takes_the_default(given, blank):
    if blank is not None:
        given(blank)

    assert env.text(NAME, "x") == "x"
    assert env.integer(NAME, 3) == 3
    assert env.number(NAME, 0.5) == 0.5
    assert env.boolean(NAME, default=True) is True
    assert env.words(NAME, ("a",)) == ("a",)
    assert env.directory(NAME, Path("/srv")) == Path("/srv")


@pytest.mark.parametrize("blank", ["", "  "])
def test_what_must_be_set_is_asked_for_with_a_hint(given, blank):
    given(blank)

    with pytest.raises(EnvironmentInvalid, match=r"CODEMEM_TEST is not set\. Ask somebody\."):
        env.required_text(NAME, hint=HINT)


def test_text_loses_its_margins(given):
    given("  value \n")

    assert env.text(NAME) == "value"
    assert env.required_text(NAME, hint=HINT) == "value"


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ("many", "must be a whole number, not 'many'"),
        ("1.5", "must be a whole number"),
        ("0", "must be at least 1 and at most 9, not 0"),
        ("10", "must be at least 1 and at most 9, not 10"),
    ],
)
def test_an_integer_out_of_its_range_is_refused(given, raw, problem):
    given(raw)

    with pytest.raises(EnvironmentInvalid, match=f"{NAME} {problem}"):
        env.integer(NAME, 3, minimum=1, maximum=9)


def test_an_integer_without_a_maximum_says_only_its_minimum(given):
    given("0")

    with pytest.raises(EnvironmentInvalid, match=r"must be at least 1, not 0\."):
        env.integer(NAME, 3, minimum=1)


@pytest.mark.parametrize("raw", ["much", "nan", "-0.1", "1.1"])
def test_a_number_out_of_its_range_is_refused(given, raw):
    given(raw)

    with pytest.raises(EnvironmentInvalid, match=NAME):
        env.number(NAME, 0.5)


@pytest.mark.parametrize("raw", ["1", "true", "YES", "On"])
def test_truth_has_several_spellings(given, raw):
    given(raw)

    assert env.boolean(NAME, default=False) is True


@pytest.mark.parametrize("raw", ["0", "false", "NO", "Off"])
def test_falsehood_has_several_spellings(given, raw):
    given(raw)

    assert env.boolean(NAME, default=True) is False


def test_anything_between_truth_and_falsehood_is_refused(given):
    given("maybe")

    with pytest.raises(EnvironmentInvalid, match="must be true or false, not 'maybe'"):
        env.boolean(NAME, default=True)


def test_a_choice_may_be_written_in_any_case(given):
    given("Json")

    assert env.choice(NAME, "text", choices=("json", "text")) == "json"


def test_what_is_no_choice_is_told_the_choices(given):
    given("xml")

    with pytest.raises(EnvironmentInvalid, match=r"must be one of json, text, not 'xml'\."):
        env.choice(NAME, "text", choices=("json", "text"))


def test_words_are_separated_by_commas(given):
    given(" a, b,,c ,")

    assert env.words(NAME) == ("a", "b", "c")


def test_a_directory_is_absolute(given):
    given("somewhere")

    with pytest.raises(EnvironmentInvalid, match="must be an absolute path, not somewhere"):
        env.directory(NAME, Path("/srv"))


def test_a_directory_may_start_at_home(given, monkeypatch):
    monkeypatch.setenv("HOME", "/home/rita")
    given("~/data")

    assert env.directory(NAME, Path("/srv")) == Path("/home/rita/data")


def test_a_database_address_is_taken_apart(given):
    given("postgresql://rita:p%40ss%2Fword@db.example:6000/team%20db")

    assert env.database(NAME, hint=HINT) == DatabaseAddress(
        host="db.example", port=6000, name="team db", user="rita", password="p@ss/word"
    )


def test_a_database_address_may_leave_port_and_user_out(given):
    given("postgres://db.example/team")

    assert env.database(NAME, hint=HINT) == DatabaseAddress(
        host="db.example", port=5432, name="team", user="", password=""
    )


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ("mysql://db.example/team", "must look like postgresql://"),
        ("db.example/team", "must look like postgresql://"),
        ("postgresql:///team", "must look like postgresql://"),
        ("postgresql://db.example:port/team", "must look like postgresql://"),
        ("postgresql://db.example:70000/team", "must look like postgresql://"),
        ("postgresql://[::1/team", "must look like postgresql://"),
        ("postgresql://db.example/", "names no database"),
    ],
)
def test_what_is_no_database_address_is_refused_without_repeating_it(given, raw, problem):
    given(raw)

    with pytest.raises(EnvironmentInvalid, match=f"{NAME} {problem}") as refused:
        env.database(NAME, hint=HINT)
    # It may hold a password, and this sentence ends up in logs.
    assert raw not in str(refused.value)


@pytest.mark.parametrize("raw", ["redis://:x@host:6379/0", "rediss://host", "unix:///run/redis"])
def test_a_redis_address_is_passed_on(given, raw):
    given(raw)

    assert env.redis_url(NAME, hint=HINT) == raw


@pytest.mark.parametrize("raw", ["http://host", "host:6379", "redis://[::1"])
def test_what_is_no_redis_address_is_refused(given, raw):
    given(raw)

    with pytest.raises(EnvironmentInvalid, match=f"{NAME} must look like redis://"):
        env.redis_url(NAME, hint=HINT)
