"""What a new statement is to one that is there."""

import pytest

from memory.reconciling import compare, family
from memory.values import MemoryType, Relation

DEPLOY = "We deploy the billing service on Tuesdays."


def relation(new: str, old: str, cosine: float | None, kind: str = "decision") -> Relation | None:
    verdict = compare(new=new, old=old, cosine=cosine, memory_type=MemoryType(kind))
    return verdict.relation if verdict else None


@pytest.mark.parametrize(
    "new",
    [
        "We deploy the billing service on Tuesdays",
        "we deploy our billing service on tuesdays!",
        "We deploy the billing services on Tuesdays.",
    ],
)
def test_the_same_in_nearly_the_same_words_is_the_same(new: str):
    assert relation(new, DEPLOY, 0.98) is Relation.SAME


@pytest.mark.parametrize(
    "new",
    [
        "We deploy the billing service on Thursdays.",
        "We never deploy the billing service on Tuesdays.",
        "We deploy the billing service 2 on Tuesdays.",
        "We deploy the `billing_v2` service on Tuesdays.",
        "We deploy the billing service on Tuesdays unless it rains.",
        "On Tuesdays the billing service deploys us.",
    ],
)
def test_whatever_says_something_else_is_never_the_same(new: str):
    assert relation(new, DEPLOY, 0.99) is not Relation.SAME


def test_what_says_less_is_the_same_and_what_says_more_an_update():
    long = "We deploy the billing service on Tuesdays, with a note in the support channel."
    assert relation(DEPLOY, long, 0.96) is Relation.SAME
    assert relation(long, DEPLOY, 0.96) is Relation.UPDATE


@pytest.mark.parametrize(
    "old",
    [
        "Revert: we deploy the billing service on Tuesdays.",
        "We deploy the billing service on Tuesdays only if support is awake.",
        "Until May we deploy the billing service on Tuesdays.",
    ],
)
def test_what_lacks_a_condition_says_something_else(old: str):
    assert relation(DEPLOY, old, 0.97) is not Relation.SAME


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Never retry POST requests.", "Retry POST requests."),
        ("Requests aren't retried by the client.", "Requests are retried by the client."),
        ("Indent code with spaces.", "Indent code with tabs."),
        ("The worker timeout is 60 seconds.", "The worker timeout is 30 seconds."),
        ("Always enable the cache in tests.", "Always disable the cache in tests."),
    ],
)
def test_what_denies_turns_around_or_gives_another_value_contradicts(new: str, old: str):
    assert relation(new, old, 0.9) is Relation.CONFLICT
    assert relation(old, new, 0.9) is Relation.CONFLICT


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Module 3 is about 21.", "Module 5 is about 35."),
        ("Release 1.1.2.", "Release 1.1.1."),
        ("Bump celery to 5.4.", "Bump celery to 5.3."),
        ("Issue 17 broke the login.", "Issue 18 broke the login."),
    ],
)
def test_numbers_that_name_things_do_not_contradict(new: str, old: str):
    assert relation(new, old, 0.97) is Relation.UPDATE


def test_events_with_other_numbers_do_not_contradict():
    pair = ("The job failed after 30 seconds.", "The job failed after 45 seconds.")
    assert relation(*pair, 0.97, "failure") is Relation.UPDATE
    assert relation(*pair, 0.97, "rule") is Relation.CONFLICT


def test_who_says_that_it_changed_updates():
    new = "We no longer deploy the billing service on Tuesdays."
    assert relation(new, DEPLOY, 0.9) is Relation.UPDATE


def test_what_is_only_alike_is_reported_as_that():
    new = "The billing service has its deploys announced in the channel."
    assert relation(new, DEPLOY, 0.75) is Relation.SIMILAR
    assert relation(new, DEPLOY, 0.5) is None


def test_without_vectors_words_decide():
    assert relation("we deploy the billing service on tuesdays!", DEPLOY, None) is Relation.SAME
    assert relation("The parser is written in Rust.", DEPLOY, None) is None


def test_context_is_compared_with_everything_but_questions():
    assert MemoryType.RULE in family(MemoryType.CONTEXT)
    assert MemoryType.FAILURE in family(MemoryType.CONTEXT)
    assert MemoryType.FAILURE not in family(MemoryType.RULE)
    assert family(MemoryType.QUESTION) == {MemoryType.QUESTION}
