"""Retiring and restoring: reversible, audited, and only by those who may."""

from uuid import uuid4

import pytest

from codemem.accounts.models import AuditEvent, User
from codemem.accounts.values import Caller
from graph import queries as graph
from graph.models import Repository
from graph.values import VertexLabel, graph_id
from memory import queries
from memory.services import (
    MemoryTaken,
    MemoryUnknown,
    RightMissing,
    associate,
    delete_memory,
    restore_memory,
)
from memory.values import RelationshipKind, StoredMemory
from tests import factories
from tests.memory.conftest import Store, put_symbols

NOW = factories.NOW
pytestmark = pytest.mark.django_db


def links_of(memory: StoredMemory) -> set[tuple[int, int, str, float]]:
    vertex = graph_id(label=VertexLabel.MEMORY, key=memory.number)
    links = graph.links_of(namespace_id=memory.namespace_id, vertices=[vertex])
    return {(link.source, link.target, link.kind, link.confidence) for link in links}


def test_a_retired_memory_is_gone_for_readers_and_says_who_did_it(store: Store, writing: Caller):
    memory = store("We deploy on Tuesdays.").memory
    delete_memory(caller=writing, memory_id=memory.id, now=NOW, reason="wrong day")
    with pytest.raises(MemoryUnknown):
        queries.get_memory(caller=writing, memory_id=memory.id, now=NOW)
    kept = queries.get_memory(caller=writing, memory_id=memory.id, now=NOW, include_inactive=True)
    assert (kept.state, kept.retired_at, kept.retired_by) == ("retired", NOW, writing.username)
    event = AuditEvent.objects.get(action="memory.delete")
    assert (event.actor, event.target) == (writing.username, str(memory.id))
    assert event.detail == {"reason": "wrong day"}
    assert event.token_id == writing.token_id


def test_retiring_twice_is_once(store: Store, writing: Caller):
    memory = store("We deploy on Tuesdays.").memory
    for _ in range(2):
        delete_memory(caller=writing, memory_id=memory.id, now=NOW)
    assert AuditEvent.objects.filter(action="memory.delete").count() == 1


def test_restoring_brings_the_links_back(store: Store, writing: Caller, repository: Repository):
    (save,) = put_symbols(repository, "User.save")
    memory = store("Saving is slow.", repository_id=repository.pk, links=[save]).memory
    before = links_of(memory)
    assert len(before) == 1
    delete_memory(caller=writing, memory_id=memory.id, now=NOW)
    assert links_of(memory) == set()
    restored = restore_memory(caller=writing, memory_id=memory.id, now=NOW)
    assert restored.state == "active"
    assert links_of(memory) == before
    assert AuditEvent.objects.filter(action="memory.restore").count() == 1


def test_a_link_between_two_retired_memories_returns_with_the_second(store: Store, writing: Caller):
    first, second = store("Old rule.").memory, store("New rule.").memory
    associate(
        caller=writing,
        source_id=str(second.id),
        target_id=str(first.id),
        kind=RelationshipKind.SUPERSEDES,
        now=NOW,
    )
    before = links_of(first)
    for memory in (first, second):
        delete_memory(caller=writing, memory_id=memory.id, now=NOW)
    restore_memory(caller=writing, memory_id=first.id, now=NOW)
    assert links_of(first) == set()
    restore_memory(caller=writing, memory_id=second.id, now=NOW)
    assert links_of(first) == before


def test_a_memory_whose_words_were_stored_again_cannot_be_restored(store: Store, writing: Caller):
    memory = store("We deploy on Tuesdays.").memory
    delete_memory(caller=writing, memory_id=memory.id, now=NOW)
    store("We deploy on Tuesdays.")
    with pytest.raises(MemoryTaken):
        restore_memory(caller=writing, memory_id=memory.id, now=NOW)
    kept = queries.get_memory(caller=writing, memory_id=memory.id, now=NOW, include_inactive=True)
    assert kept.state == "retired"


def test_another_writer_may_not_retire_it_but_a_maintainer_may(
    store: Store, namespace, maintainer: User, reader: User
):
    memory = store("We deploy on Tuesdays.").memory
    with pytest.raises(RightMissing, match="role maintainer"):
        delete_memory(caller=factories.caller_of(reader), memory_id=memory.id, now=NOW)
    delete_memory(caller=factories.caller_of(maintainer), memory_id=memory.id, now=NOW)


def test_not_there_and_not_yours_read_the_same(store: Store, outsider: User):
    memory = store("We deploy on Tuesdays.").memory
    caller = factories.caller_of(outsider)
    missing = uuid4()
    messages = []
    for memory_id in (memory.id, missing):
        with pytest.raises(MemoryUnknown) as refusal:
            delete_memory(caller=caller, memory_id=memory_id, now=NOW)
        messages.append(str(refusal.value).replace(str(memory_id), "it"))
    assert messages[0] == messages[1]
