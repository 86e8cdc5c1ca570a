"""What was said around short hits: how much, in which order, and what of it never shows."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from codemem import policies
from codemem.accounts.models import Namespace, User
from codemem.accounts.values import Caller
from memory import modes
from memory.context import make_contexts
from memory.models import Memory
from memory.services import delete_memory
from memory.values import Neighbor
from tests import factories
from tests.memory.conftest import Ask, Store, WordModel

pytestmark = pytest.mark.django_db

NOW = factories.NOW
QUESTION = "which queue carries invoice webhooks"
ANSWER = "Invoice webhooks: queue three carries them."
BESIDE = "Queue three of invoice webhooks is slow."

Said = Callable[..., list[UUID]]
Around = Callable[..., Sequence[Neighbor]]


@pytest.fixture
def said(store: Store, model: WordModel) -> Said:
    """Return a function that stores lines of one session, one after the other."""

    def said(*lines: str, **changes: object) -> list[UUID]:
        ids = []
        for place, line in enumerate(lines):
            key = store(line).memory.id
            at = NOW - timedelta(hours=1) + timedelta(seconds=place)
            Memory.objects.filter(pk=key).update(session_id="one", created_at=at, **changes)
            ids.append(key)
        make_contexts(limit=100, provider=model)
        return ids

    return said


@pytest.fixture
def around(ask: Ask) -> Around:
    """Return a function that asks and gives what was said around the first hit."""

    def around(text: str = QUESTION, **changes: object) -> Sequence[Neighbor]:
        return ask(text, neighbors=True, k=1, **changes).hits[0].neighbors

    return around


def told(neighbors: Sequence[Neighbor]) -> list[tuple[int, str]]:
    return [(one.steps, one.content) for one in neighbors]


def show(namespace: Namespace, owner: User, *, characters: int) -> None:
    policies.change(
        caller=factories.caller_of(owner),
        namespace_id=namespace.pk,
        changes={"recall.neighbor_characters": characters},
    )


def test_a_short_hit_brings_what_was_said_before_and_after_it_in_order(said: Said, around: Around):
    ids = said("We begin.", "Tell me.", ANSWER, "Yes, do that.", author_name="ann")
    neighbors = around()
    assert told(neighbors) == [(-2, "We begin."), (-1, "Tell me."), (1, "Yes, do that.")]
    assert [one.id for one in neighbors] == [ids[0], ids[1], ids[3]]
    assert {one.author for one in neighbors} == {"ann"}


def test_nothing_comes_unasked(said: Said, ask: Ask):
    said("Tell me.", ANSWER)
    assert ask(QUESTION).hits[0].neighbors == ()


def test_a_long_hit_and_one_without_a_session_stand_alone(said: Said, store: Store, around: Around):
    said("Tell me.", f"{ANSWER} {'It was long ago. ' * 30}", "Yes.")
    store("Kernels panic on Fridays.")
    assert around() == around("when do kernels panic") == ()


def test_nothing_is_told_twice_and_hits_are_only_named(said: Said, ask: Ask):
    first, between, second = said(ANSWER, "Hm, well.", BESIDE)
    hits = {hit.memory.id: hit.neighbors for hit in ask(QUESTION, neighbors=True, k=2).hits}
    assert set(hits) == {first, second}
    every = [one for neighbors in hits.values() for one in neighbors]
    assert sorted(one.content for one in every) == ["", "", "", "Hm, well."]
    assert {one.id for one in every} == {first, between, second}


def test_hits_that_stand_beside_each_other_name_each_other(said: Said, ask: Ask):
    first, second = said(ANSWER, BESIDE)
    hits = {hit.memory.id: hit.neighbors for hit in ask(QUESTION, neighbors=True, k=2).hits}
    assert hits == {
        first: (Neighbor(id=second, steps=1),),
        second: (Neighbor(id=first, steps=-1),),
    }


def test_neighbors_cost_one_query(said: Said, ask: Ask):
    said("We begin.", "Tell me.", ANSWER, BESIDE, "Yes, do that.")
    counts = []
    for wanted in (False, True):
        with CaptureQueriesContext(connection) as queries:
            ask(QUESTION, k=2, neighbors=wanted)
        counts.append(len(queries))
    assert counts[1] == counts[0] + 1


def test_the_nearest_come_first_and_the_last_is_cut(
    said: Said, around: Around, namespace: Namespace, owner: User
):
    said("Far away. " * 10, "Near by.", ANSWER, "Afterwards. " * 20)
    show(namespace, owner, characters=100)
    before, after = told(around())
    assert before == (-1, "Near by.")
    assert after == (1, f"{'Afterwards. ' * 7}Afterwa\u2026")
    assert len(before[1]) + len(after[1]) == 100


def test_a_namespace_may_show_none(said: Said, around: Around, namespace: Namespace, owner: User):
    said("Tell me.", ANSWER)
    show(namespace, owner, characters=0)
    assert around() == ()


def test_what_narrows_the_answers_does_not_narrow_what_explains_them(said: Said, around: Around):
    before, _ = said("Tell me.", ANSWER, memory_type="rule", importance=0.9)
    Memory.objects.filter(pk=before).update(memory_type="context", importance=0.1)
    assert told(around(min_importance=0.5, memory_types=frozenset({"rule"}))) == [(-1, "Tell me.")]


def test_what_is_not_wanted_explains_nothing(said: Said, around: Around):
    before, _ = said("Tell me.", ANSWER)
    Memory.objects.filter(pk=before).update(tags=["noise"])
    assert around(exclude_tags=frozenset({"noise"})) == ()


@pytest.mark.parametrize(
    "changes",
    [
        {"visibility": "private"},
        {"state": "retired"},
        {"state": "superseded"},
        {"state": "proposed"},
        {"expires_at": NOW - timedelta(minutes=1)},
    ],
)
def test_what_a_reader_may_not_see_any_more_is_not_shown_by_an_old_context(
    said: Said, around: Around, reader: User, changes: dict[str, object]
):
    before, _, _ = said("Tell me.", ANSWER, "Yes.")
    Memory.objects.filter(pk=before).update(**changes)  # its neighbors' contexts still name it
    assert told(around(caller=factories.caller_of(reader))) == [(1, "Yes.")]


def test_ended_states_that_are_asked_for_do_not_come_as_neighbors(said: Said, around: Around):
    before, _ = said("Tell me.", ANSWER)
    Memory.objects.filter(pk=before).update(state="retired")
    assert around(include=frozenset({"retired"})) == ()


def test_a_retired_neighbor_goes_with_its_words(said: Said, around: Around, writing, model):
    before, _ = said("Tell me.", ANSWER)
    delete_memory(caller=writing, memory_id=before, now=NOW)
    make_contexts(limit=100, provider=model)
    assert around() == ()


def test_private_neighbors_are_shown_to_their_author_alone(
    said: Said, ask: Ask, writing: Caller, reader: User
):
    said("My own plan.", ANSWER, visibility="private")
    (hit,) = ask(QUESTION, neighbors=True, k=1, caller=writing).hits
    assert told(hit.neighbors) == [(-1, "My own plan.")]
    assert ask(QUESTION, neighbors=True, caller=factories.caller_of(reader)).hits == ()


def test_what_was_said_then_is_not_known(said: Said, around: Around):
    said("Tell me.", ANSWER)
    Memory.objects.update(created_at=NOW - timedelta(days=2))
    assert around(as_of=NOW - timedelta(days=1)) == ()


def test_a_budget_holds_hits_before_what_was_said_around_them(said: Said, ask: Ask):
    said("Tell me. " * 10, ANSWER, "Yes, do that. " * 10)
    hits = ask(QUESTION, neighbors=True, k=1).hits
    whole = modes.fitted_around(hits, used=11, max_tokens=100)
    assert modes.tokens_around(whole.values()) == 58
    assert modes.fitted_around(hits, used=11, max_tokens=68) == {}
    assert len(modes.fitted_around(hits, used=11, max_tokens=None)) == 1
