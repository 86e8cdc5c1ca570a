"""Strange questions, two who say different things at once, other time zones: told, nothing lost."""

import time
from datetime import UTC, datetime, timedelta, timezone
from threading import Barrier, Thread
from typing import Any

import pytest
from django.db import connections

from codemem.accounts.models import Namespace
from codemem.accounts.values import Caller
from memory.models import Memory, MemoryVersion
from memory.services import MemoryChanged, refine_memory
from tests.factories import NOW
from tests.memory.conftest import Ask, Store, WordModel

pytestmark = pytest.mark.django_db

RULE = "الفاتورة تُغلق مرة واحدة فقط"
KOLKATA = timezone(timedelta(hours=5, minutes=30))


@pytest.mark.parametrize(
    "question",
    [
        f"\u202e{RULE}\u202c",
        "in\u200bvoices \u2060rounded\ufeff",
        "invoices rounded \x00\x01\x02 %PDF-1.7 \ud800",
        "invoices rounded " + "x" * 1_000_000,
        "invoices rounded " + "\u0e01" * 300_000,
    ],
    ids=["right-to-left", "zero-width", "binary", "1 MB", "1 MB of Thai"],
)
def test_a_strange_question_is_answered_in_time(store: Store, ask: Ask, question: str) -> None:
    store("Invoices are rounded once.")
    store(RULE)
    started = time.monotonic()
    answer = ask(question)
    assert time.monotonic() - started < 5
    assert len(answer.hits) <= 2


def test_right_to_left_words_are_found_with_and_without_marks(store: Store, ask: Ask) -> None:
    store(RULE)
    for question in (RULE, f"\u200f{RULE}\u200f"):
        assert [hit.memory.content for hit in ask(question).hits] == [RULE]


@pytest.mark.parametrize("question", ["", "   ", "\u200b\ufeff", "?!…"])
def test_a_question_without_words_has_no_answer(store: Store, ask: Ask, question: str) -> None:
    store("Invoices are rounded once.")
    assert ask(question).hits == ()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("expects", [False, True])
def test_two_who_rewrite_the_same_sentence_at_once_lose_nothing(
    store: Store, writing: Caller, model: WordModel, expects: bool
) -> None:
    memory = store("Deploys happen on Mondays.").memory
    barrier, told = Barrier(2), []

    def rewrite(day: str) -> None:
        barrier.wait()
        try:
            refine_memory(
                caller=writing,
                memory_id=memory.id,
                now=NOW,
                provider=model,
                content=f"Deploys happen on {day}.",
                expected_version=memory.version if expects else None,
            )
        except MemoryChanged as error:
            told.append(str(error))
        finally:
            connections.close_all()

    threads = [Thread(target=rewrite, args=(day,)) for day in ("Tuesdays", "Fridays")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    now = Memory.objects.get().content
    before = [version.snapshot["content"] for version in MemoryVersion.objects.order_by("number")]
    if expects:
        assert before == ["Deploys happen on Mondays."]
        assert [now in sentence for sentence in told] == [True], "the loser reads what holds now"
    else:
        said = {f"Deploys happen on {day}." for day in ("Mondays", "Tuesdays", "Fridays")}
        assert ({*before, now}, len(before), told) == (said, 2, [])


def test_times_of_other_zones_are_the_same_moments(store: Store, ask: Ask) -> None:
    learned = datetime(2026, 1, 31, 23, 0, tzinfo=UTC)
    key = store("Deploys go through Jenkins.", created_at=learned.astimezone(KOLKATA)).memory.id
    assert Memory.objects.get(pk=key).created_at == learned
    just_before = (learned - timedelta(seconds=1)).astimezone(KOLKATA)
    assert len(ask("deploys jenkins", since=just_before).hits) == 1
    assert ask("deploys jenkins", until=learned.astimezone(KOLKATA)).hits == ()
    assert ask("deploys jenkins", as_of=just_before).hits == ()


def test_a_server_in_another_zone_says_the_same(
    store: Store, ask: Ask, namespace: Namespace, settings: Any
) -> None:
    store("Deploys go through Jenkins.")
    here = ask("deploys jenkins").hits[0]
    settings.TIME_ZONE = "Asia/Kolkata"
    there = ask("deploys jenkins").hits[0]
    assert (there.memory.created_at, there.score) == (here.memory.created_at, here.score)


def test_a_client_whose_clock_is_ahead_or_behind_is_kept_in_order(store: Store, ask: Ask) -> None:
    ahead = store("Deploys go through Jenkins.", created_at=NOW + timedelta(days=400))
    behind = store("Invoices are rounded once.", created_at=NOW - timedelta(days=4000))
    assert ahead.memory.created_at == NOW
    assert behind.memory.created_at == NOW - timedelta(days=4000)
    assert len(ask("deploys jenkins").hits) == 1
    assert len(ask("invoices rounded").hits) == 1
