"""Short memories among their neighbors: windows, who sees through them, and keeping them right."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import numpy as np
import pytest

from codemem.embedding.words import WordVectors
from memory import context, summaries, wordwise
from memory.context import forget_contexts, make_contexts
from memory.models import Memory, MemoryContext
from tests import factories
from tests.memory.conftest import Ask, Store

pytestmark = pytest.mark.django_db


@pytest.fixture
def said(store: Store):
    """Return a function that stores lines of one session, one after the other."""

    def said(*lines: str, session: str = "s1", **changes) -> list[UUID]:
        ids = []
        for place, line in enumerate(lines):
            stored = store(line).memory
            at = factories.NOW - timedelta(hours=1) + timedelta(seconds=place)
            Memory.objects.filter(pk=stored.id).update(session_id=session, created_at=at, **changes)
            ids.append(stored.id)
        return ids

    return said


def around(memory_id: UUID) -> list[UUID]:
    return MemoryContext.objects.get(memory_id=memory_id).around


def steps(memory_id: UUID) -> list[int]:
    row = MemoryContext.objects.get(memory_id=memory_id)
    return list(wordwise.steps(row.around, before=row.before).values())


def test_a_short_memory_is_read_with_two_before_and_one_after(said, model):
    ids = said("zero", "one", "two", "three", "four", "five")
    make_contexts(limit=100, provider=model)
    assert MemoryContext.objects.get(memory_id=ids[3]).tokens == "one two three three four"


def test_three_on_either_side_are_around_it_the_nearest_one_step_away(said, model):
    ids = said("zero", "one", "two", "three", "four", "five")
    make_contexts(limit=100, provider=model)
    assert around(ids[4]) == [ids[1], ids[2], ids[3], ids[5]]
    assert steps(ids[4]) == [3, 2, 1, 1]
    assert around(ids[0]) == ids[1:4]
    assert steps(ids[0]) == [1, 2, 3]


def test_names_stand_in_front_of_what_several_authors_say(said, model, monkeypatch):
    read: list[str] = []
    monkeypatch.setattr(context, "word_model", lambda _: Reader(read))
    first, _ = said("one", "two", author_name="ann")
    make_contexts(limit=100, provider=model)
    assert read == ["one\ntwo", "one\ntwo"]
    read.clear()
    Memory.objects.filter(pk=first).update(author_name="bob")
    forget_contexts([first])
    make_contexts(limit=100, provider=model)
    assert read == ["bob: one\nann: two", "bob: one\nann: two"]


class Reader:
    """A word model that notes what it is given to read."""

    def __init__(self, read: list[str]) -> None:
        self.read = read

    def embed_words(self, texts: Sequence[str]) -> list[WordVectors]:
        self.read += texts
        return [WordVectors(values=np.ones((1, 8), np.float32), spans=((0, 3),)) for _ in texts]


def test_a_long_memory_and_one_without_a_session_stand_alone(said, store: Store, model):
    (long,) = said("word " * 200)
    alone = store("Short, and of no session.").memory.id
    make_contexts(limit=100, provider=model)
    for key in (long, alone):
        assert MemoryContext.objects.get(memory_id=key).tokens == ""


def test_an_answer_is_found_by_the_question_before_it(said, ask: Ask, model):
    for place in range(60):
        said(f"filler number{place}", session=f"other{place}")
    ids = said("Which queue carries invoice webhooks?", "The third one.")
    make_contexts(limit=200, provider=model)
    hits = ask("invoice webhooks queue").hits
    assert {hit.memory.id for hit in hits} >= set(ids)
    (second,) = [hit for hit in hits if hit.memory.id == ids[1]]
    assert "session" in second.found_by or "neighbor" in second.found_by
    assert around(ids[1]) == [ids[0]]


def test_a_private_neighbor_shows_through_nobody(said, model):
    shared = said("shared one", "shared two")
    (private,) = said("private between", visibility="private")
    Memory.objects.filter(pk=private).update(
        created_at=factories.NOW - timedelta(minutes=59, seconds=59.5)
    )
    make_contexts(limit=100, provider=model)
    assert private not in around(shared[0]) + around(shared[1])
    assert around(private) == []


def test_a_memory_that_ended_leaves_the_windows_of_the_others(said, model):
    first, second, third = said("one", "two", "three")
    make_contexts(limit=100, provider=model)
    Memory.objects.filter(pk=second).update(state="retired")
    forget_contexts([second])
    make_contexts(limit=100, provider=model)
    assert around(first) == [third]
    assert around(third) == [first]


def test_a_memory_that_comes_in_between_enters_the_windows_of_the_others(said, model):
    first, third = said("one", "three")
    make_contexts(limit=100, provider=model)
    (second,) = said("two")
    Memory.objects.filter(pk=second).update(
        created_at=factories.NOW - timedelta(hours=1) + timedelta(milliseconds=500)
    )
    forget_contexts([second])
    make_contexts(limit=100, provider=model)
    assert around(first) == [second, third]
    assert around(third) == [first, second]


def test_making_twice_makes_nothing_new(said, model):
    said("one", "two")
    assert make_contexts(limit=100, provider=model) == 2
    assert make_contexts(limit=100, provider=model) == 0


@pytest.mark.parametrize(
    "changes", [{"content": "something else"}, {"state": "retired"}, {"visibility": "private"}]
)
def test_what_changed_while_its_context_was_made_is_not_kept_as_it_was(
    said, model, monkeypatch, changes
):
    first, second = said("one", "two")

    def embedded_late(windows, provider):
        Memory.objects.filter(pk=second).update(**changes)
        return [b""] * len(windows)

    monkeypatch.setattr(context, "_packed_words", embedded_late)
    make_contexts(limit=100, provider=model)
    monkeypatch.undo()
    assert not MemoryContext.objects.filter(memory_id=first).exists()
    make_contexts(limit=100, provider=model)
    assert "two" not in MemoryContext.objects.get(memory_id=first).tokens


def test_what_was_purged_while_its_context_was_made_is_in_nobodys(said, model, monkeypatch):
    first, second = said("one", "two")

    def embedded_late(windows, provider):
        Memory.objects.filter(pk=second).delete()
        return [b""] * len(windows)

    monkeypatch.setattr(context, "_packed_words", embedded_late)
    make_contexts(limit=100, provider=model)
    assert not MemoryContext.objects.exists()
    assert make_contexts(limit=100, provider=model) == 1
    assert around(first) == []


def test_the_words_of_an_erased_summary_are_in_nobodys(said, model):
    first, second = said("one", "two")
    Memory.objects.filter(pk=second).update(memory_type="summary", source=summaries.SOURCE)
    make_contexts(limit=100, provider=model)
    assert around(first) == [second]
    summaries.erase(Memory.objects.get(pk=second))
    assert not MemoryContext.objects.exists()
