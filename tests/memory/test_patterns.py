"""Patterns: what recurs among the memories that the caller may read, and how sure that is."""

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from graph import services as graph
from graph.values import VertexLabel, graph_id
from memory import patterns
from memory.models import Memory, MemoryEntity
from memory.patterns import PatternKind, certainty
from tests import factories
from tests.factories import NOW

pytestmark = pytest.mark.django_db


@pytest.fixture
def note(store, namespace):
    """Return a function that stores a memory of some author and day, naming what it is told to."""

    def note(content, *, days=0, author=None, entities=(), **columns) -> Memory:
        arguments: dict[str, Any] = {"memory_type": "context"}
        if author is not None:
            arguments["caller"] = factories.caller_of(author)
        stored = store(content, **arguments)
        created = NOW - timedelta(days=days)
        Memory.objects.filter(pk=stored.memory.id).update(created_at=created, **columns)
        MemoryEntity.objects.filter(memory_id=stored.memory.id).delete()
        for kind, key in entities:
            MemoryEntity.objects.create(
                memory_id=stored.memory.id, namespace=namespace, kind=kind, key=key
            )
        return Memory.objects.get(pk=stored.memory.id)

    return note


@pytest.fixture
def detect(namespace, writer):
    def detect(*, user=writer, **changes):
        caller = factories.caller_of(user)
        return patterns.detect(caller=caller, namespace_id=namespace.pk, now=NOW, **changes)

    return detect


def of(found, kind):
    return [one for one in found if one.kind is kind]


def test_a_symbol_whose_failures_come_back_is_told_once(note, detect):
    for number, animal in enumerate(("wolf", "bear", "lynx")):
        note(
            f"The {animal} sum was off",
            days=number,
            memory_type="failure",
            entities=[("symbol", "invoice.total"), ("symbol", "total")],
        )
    (found,) = of(detect(), PatternKind.REPEATED_FAILURE)
    assert (found.subject, found.frequency) == ("invoice.total", 3)


def test_a_file_whose_failures_come_back(note, detect):
    for number, animal in enumerate(("wolf", "bear", "lynx")):
        note(
            f"The {animal} build broke",
            days=number,
            memory_type="failure",
            entities=[("path", "src/pay.py")],
        )
    (failure,) = of(detect(), PatternKind.REPEATED_FAILURE)
    assert (failure.subject, failure.frequency) == ("src/pay.py", 3)
    assert failure.confidence == round(certainty(3, 3), 3)
    assert not of(detect(minimum=4), PatternKind.REPEATED_FAILURE)


def test_few_cases_are_never_sure():
    assert certainty(3, 3) < 0.5 < certainty(30, 30) < 1
    assert certainty(0, 0) == 0
    assert certainty(5, 100) < certainty(50, 100)


def test_decisions_that_followed_from_one_another(note, detect, namespace):
    made = [
        note(text, days=9 - number, memory_type="decision")
        for number, text in enumerate(("Use cents.", "Round at the end.", "Drop the float column."))
    ]
    ends = [graph_id(label=VertexLabel.MEMORY, key=memory.number) for memory in made]
    for one, other in pairwise(ends):
        graph.link(
            namespace_id=namespace.pk,
            source=one,
            target=other,
            kind="LEADS_TO",
            actor="walter",
            now=NOW,
        )
    (chain,) = of(detect(), PatternKind.DECISION_CHAIN)
    assert chain.memory_ids == tuple(memory.pk for memory in made)


def test_a_tag_of_one_burst_is_no_pattern(note, detect):
    for animal in ("wolf", "bear", "lynx"):
        note(f"The {animal} sleeps", tags=["burst"])
    for number, animal in enumerate(("hare", "deer", "boar")):
        note(f"The {animal} runs", days=number, tags=["again"])
    assert [one.subject for one in of(detect(), PatternKind.RECURRING_TAG)] == ["again"]


def test_preferences_of_several_people_are_candidates_for_a_rule(note, detect, owner, writer):
    text = "Prefer early returns over nested branches in handlers"
    for place, author in (("views", writer), ("tasks", owner), ("hooks", writer)):
        note(f"{text} of {place}", author=author)
    Memory.objects.update(memory_type="preference")
    (shared,) = of(detect(), PatternKind.SHARED_PREFERENCE)
    assert (shared.people, shared.frequency) == (2, 3)
    assert "candidate for a rule" in patterns.as_markdown([shared])


def test_what_others_keep_to_themselves_counts_for_nobody_else(
    note, detect, owner, writer, outsider
):
    for number, animal in enumerate(("wolf", "bear", "lynx")):
        note(f"The {animal} build broke", days=number, entities=[("path", "src/pay.py")])
    Memory.objects.update(visibility="private", memory_type="failure")
    assert of(detect(user=writer), PatternKind.FILE_HOTSPOT)
    assert detect(user=owner) == []
    assert detect(user=outsider) == []


def test_nothing_recurs_in_nothing(detect):
    assert patterns.as_markdown(detect()) == "No pattern recurs often enough."
