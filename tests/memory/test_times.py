"""What a question says of time."""

from datetime import UTC, datetime, timedelta

import pytest

from memory.times import asked_time, tells_time, told_times

NOW = datetime(2024, 3, 15, 12, tzinfo=UTC)


def at(year: int, month: int, day: int) -> datetime:
    return datetime(year, month, day, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "inside", "outside"),
    [
        ("What broke on 8 May 2023?", at(2023, 5, 8), at(2023, 3, 8)),
        ("What broke on May 8th, 2023?", at(2023, 5, 9), at(2023, 7, 8)),
        ("What did we decide in June 2023?", at(2023, 6, 30), at(2023, 9, 30)),
        ("What did we decide in June?", at(2023, 6, 1), at(2023, 12, 1)),
        ("releases of 2022", at(2022, 11, 1), at(2023, 11, 1)),
        ("incident 2024-01-05", at(2024, 1, 5), at(2023, 1, 5)),
        ("what happened yesterday", NOW - timedelta(days=1), NOW - timedelta(days=40)),
        ("what failed two weeks ago", NOW - timedelta(days=14), NOW - timedelta(days=90)),
        ("changes of the last month", NOW - timedelta(days=20), NOW - timedelta(days=300)),
    ],
)
def test_a_named_time_aligns_with_memories_of_then(question, inside, outside):
    time = asked_time(question, now=NOW)
    assert time.alignment(inside, "") == 1.0
    assert time.alignment(outside, "") == 0.0


def test_what_was_told_soon_after_counts_in_part():
    time = asked_time("What broke on 8 May 2023?", now=NOW)
    assert 0 < time.alignment(at(2023, 5, 18), "") < 1


def test_a_question_for_a_time_prefers_memories_that_tell_one():
    time = asked_time("When did the outage happen?", now=NOW)
    assert time.alignment(NOW, "The outage was last Tuesday.") > 0.5
    assert time.alignment(NOW, "The outage was bad.") == 0.0
    assert asked_time("What time is the release?", now=NOW).is_asked_for


@pytest.mark.parametrize("question", ["", "may I deploy?", "version 2.30.1", "31 February 2023"])
def test_what_is_no_time_names_none(question: str):
    assert asked_time(question, now=NOW).spans == ()


def test_texts_that_tell_a_time_are_told_from_others():
    assert tells_time("Fixed two days ago.")
    assert not tells_time("We retry webhooks with backoff.")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Since Yesterday it fails.", {"yesterday": "2024-03-14"}),
        ("It broke last night, fix it tomorrow.", {"last night": "2024-03-14"}),
        ("We moved last month.", {"last month": "2024-02"}),
        ("We move next year.", {"next year": "2025"}),
        ("Chosen three years ago.", {"three years ago": "2021"}),
        ("Chosen 15 months ago.", {"15 months ago": "2022-12"}),
        ("Chosen a week ago.", {"a week ago": "2024-03-08"}),
        ("It failed last Friday and last Monday.", {"last friday": "2024-03-08"}),
        ("In use for five years now.", {"for five years now": "since 2019"}),
        ("In use for the past 5 years.", {"for the past 5 years": "since 2019"}),
        ("Certificates hold for two years, from this year or recently on Friday.", {}),
    ],
)
def test_times_that_only_the_moment_explains_are_told_as_dates(text: str, meant: dict[str, str]):
    told = {time.words: time.meant for time in told_times(text, at=NOW)}
    assert meant.items() <= told.items()
    assert bool(told) == bool(meant)


def test_last_friday_said_on_a_friday_is_a_week_ago():
    assert NOW.strftime("%A") == "Friday"
    assert told_times("last Friday", at=NOW)[0].meant == "2024-03-08"
    assert told_times("last Saturday", at=NOW)[0].meant == "2024-03-09"


def test_few_times_are_told_and_none_of_impossible_moments():
    text = ", ".join(f"{days} days ago" for days in range(1, 99))
    assert len(told_times(text, at=NOW)) == 5
    assert told_times("999 years ago", at=datetime(1, 1, 1, tzinfo=UTC)) == ()
    assert told_times("tomorrow", at=datetime(9999, 12, 31, tzinfo=UTC)) == ()
