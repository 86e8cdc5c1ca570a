"""Reads: who sees what, what past its time means, what is known about code."""

from datetime import timedelta
from typing import Any

import pytest

from codemem.accounts.models import Namespace, User
from codemem.accounts.values import Caller
from graph import queries as graph
from graph.models import Repository
from memory import queries
from memory.models import Memory
from memory.portability.reading import memory_record
from memory.queries import MemoryUnknown
from memory.services import delete_memory
from memory.values import MemoryType
from tests import factories
from tests.memory.conftest import AbsentModel, Store, WordModel, put_symbols

NOW = factories.NOW
pytestmark = pytest.mark.django_db


def test_owner_and_member_see_it_an_outsider_does_not(
    store: Store, owner: User, reader: User, outsider: User
):
    memory = store("We deploy on Tuesdays.").memory
    for user in (owner, reader):
        caller = factories.caller_of(user)
        assert queries.get_memory(caller=caller, memory_id=memory.id, now=NOW) == memory
        assert queries.list_memories(caller=caller, now=NOW).count() == 1
    caller = factories.caller_of(outsider)
    assert queries.list_memories(caller=caller, now=NOW).count() == 0
    with pytest.raises(MemoryUnknown):
        queries.get_memory(caller=caller, memory_id=memory.id, now=NOW)


def test_past_its_time_means_expired_also_before_the_sweep(store: Store, writing: Caller):
    memory = store("For an hour.", ttl_hours=1).memory
    later = NOW + timedelta(hours=1)
    assert not queries.visible_memories(caller=writing, now=later).exists()
    assert queries.counts(caller=writing, now=later) == []
    seen = queries.get_memory(caller=writing, memory_id=memory.id, now=later, include_inactive=True)
    assert seen.state == "expired"


def test_a_listing_is_newest_first_and_reads_no_vectors(
    store: Store, writing: Caller, django_assert_num_queries
):
    for number in range(3):
        store(f"Step {number}.")
    with django_assert_num_queries(1):
        rows = list(queries.list_memories(caller=writing, now=NOW))
        assert [row.content for row in rows] == ["Step 2.", "Step 1.", "Step 0."]
        assert {row.namespace.name for row in rows} == {"team"}
    assert "embedding" in rows[0].get_deferred_fields()


def test_what_is_known_about_code_is_the_most_important_first(
    store: Store, writing: Caller, namespace: Namespace, repository: Repository
):
    save, load = put_symbols(repository, "User.save", "User.load")
    scope = {"repository_id": repository.pk}
    store("Minor.", links=[save], importance=0.1, **scope)
    store("Major.", links=[save], importance=0.9, **scope)
    store("On a branch.", links=[save], branch="next", **scope)
    store("Of another.", links=[load], **scope)
    gone = store("Retired.", links=[save], **scope).memory
    delete_memory(caller=writing, memory_id=gone.id, now=NOW)
    vertex = graph.get_node(repository_id=repository.pk, id=save).vertex

    def about(caller: Caller = writing, **changes: Any) -> list[str]:
        found = queries.memories_about(
            caller=caller, namespace_id=namespace.pk, vertices=[vertex], now=NOW, **changes
        )
        return [memory.content for memory in found]

    assert about() == ["Major.", "Minor."]
    assert about(limit=1) == ["Major."]
    assert set(about(branch="next")) == {"Major.", "Minor.", "On a branch."}


def test_an_outsider_is_told_nothing_about_code(
    store: Store, outsider: User, namespace: Namespace, repository: Repository
):
    (save,) = put_symbols(repository, "User.save")
    store("Slow.", links=[save], repository_id=repository.pk)
    vertex = graph.get_node(repository_id=repository.pk, id=save).vertex
    found = queries.memories_about(
        caller=factories.caller_of(outsider),
        namespace_id=namespace.pk,
        vertices=[vertex],
        now=NOW,
    )
    assert found == []


def test_counts_are_by_namespace_and_type(store: Store, writing: Caller, absent_model: AbsentModel):
    store("One.", memory_type="rule")
    store("Two.", memory_type="rule", provider=absent_model)
    store("Three.", memory_type="fix")
    [counts] = queries.counts(caller=writing, now=NOW)
    assert counts.namespace == "team"
    assert counts.by_type == {MemoryType.RULE: 2, MemoryType.FIX: 1}
    assert (counts.total, counts.not_embedded) == (3, 1)


def test_a_record_of_an_archive_has_the_vector_and_the_model_it_is_of(
    store: Store, model: WordModel
):
    row = Memory.objects.get(pk=store("We deploy on Tuesdays.").memory.id)
    record = memory_record(row, {}, vectors=True)
    assert len(record["vector"]) == model.dimensions
    assert record["vector_of"] == model.fingerprint
