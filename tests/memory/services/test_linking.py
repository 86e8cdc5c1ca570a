"""Associating memories and code: a closed vocabulary, inside one namespace."""

from typing import Any

import pytest

from codemem.accounts.models import User
from codemem.accounts.values import Caller
from graph import queries as graph
from graph.models import Repository
from graph.values import VertexLabel, graph_id
from memory.services import (
    LinkUnknown,
    MemoryUnknown,
    NodesApart,
    RightMissing,
    WeightInvalid,
    associate,
)
from memory.values import RelationshipKind, StoredMemory
from tests import factories
from tests.memory.conftest import Store, put_symbols

NOW = factories.NOW
EXPLAINS = RelationshipKind.EXPLAINS
pytestmark = pytest.mark.django_db


def links_of(memory: StoredMemory) -> list[tuple[str, float]]:
    vertex = graph_id(label=VertexLabel.MEMORY, key=memory.number)
    links = graph.links_of(namespace_id=memory.namespace_id, vertices=[vertex])
    return [(link.kind, link.confidence) for link in links]


def test_the_same_association_again_replaces_its_weight(store: Store, writing: Caller):
    first, second = store("One.").memory, store("Two.").memory
    for weight in (1.0, 0.25):
        associate(
            caller=writing,
            source_id=str(first.id),
            target_id=str(second.id),
            kind=EXPLAINS,
            weight=weight,
            now=NOW,
        )
    assert links_of(first) == [("EXPLAINS", 0.25)]


def test_two_memories_may_stand_in_several_relations(store: Store, writing: Caller):
    first, second = store("One.").memory, store("Two.").memory
    for kind in (EXPLAINS, RelationshipKind.CONTRADICTS):
        associate(
            caller=writing, source_id=str(first.id), target_id=str(second.id), kind=kind, now=NOW
        )
    assert {kind for kind, _ in links_of(first)} == {"EXPLAINS", "CONTRADICTS"}


def test_code_is_found_in_the_repository_of_the_memory(
    store: Store, writing: Caller, repository: Repository
):
    (save,) = put_symbols(repository, "User.save")
    memory = store("It is slow.", repository_id=repository.pk).memory
    associate(caller=writing, source_id=str(memory.id), target_id=save, kind=EXPLAINS, now=NOW)
    associate(caller=writing, source_id=save, target_id=str(memory.id), kind=EXPLAINS, now=NOW)
    assert links_of(memory) == [("EXPLAINS", 1.0)] * 2


def test_code_may_be_associated_with_code_of_a_named_repository(
    writing: Caller, repository: Repository
):
    save, load = put_symbols(repository, "User.save", "User.load")
    ends: dict[str, Any] = {"source_id": save, "target_id": load, "kind": EXPLAINS, "now": NOW}
    associate(caller=writing, repository_id=repository.pk, **ends)
    with pytest.raises(LinkUnknown, match="name the repository"):
        associate(caller=writing, **ends)


def test_what_does_not_exist_cannot_be_associated(
    store: Store, writing: Caller, repository: Repository
):
    memory = store("It is slow.", repository_id=repository.pk).memory
    with pytest.raises(LinkUnknown):
        associate(
            caller=writing,
            source_id=str(memory.id),
            target_id="file:none.py",
            kind=EXPLAINS,
            now=NOW,
        )


def test_a_node_cannot_be_associated_with_itself(store: Store, writing: Caller):
    key = str(store("One.").memory.id)
    with pytest.raises(NodesApart, match="itself"):
        associate(caller=writing, source_id=key, target_id=key, kind=EXPLAINS, now=NOW)


@pytest.mark.parametrize("weight", [-0.1, 1.5, float("nan"), True])
def test_a_weight_outside_its_range_is_refused(store: Store, writing: Caller, weight: float):
    first, second = store("One.").memory, store("Two.").memory
    with pytest.raises(WeightInvalid):
        associate(
            caller=writing,
            source_id=str(first.id),
            target_id=str(second.id),
            kind=EXPLAINS,
            weight=weight,
            now=NOW,
        )


def test_nothing_crosses_a_namespace(store: Store, writer: User):
    other = factories.make_namespace(owner=writer)
    caller = factories.caller_of(writer)
    here = store("One.").memory
    there = store("Two.", caller=caller, namespace_id=other.pk).memory
    with pytest.raises(NodesApart, match="different namespaces"):
        associate(
            caller=caller, source_id=str(here.id), target_id=str(there.id), kind=EXPLAINS, now=NOW
        )


def test_an_outsider_learns_nothing_and_a_reader_what_is_missing(
    store: Store, outsider: User, reader: User
):
    ends: dict[str, Any] = {
        "source_id": str(store("One.").memory.id),
        "target_id": str(store("Two.").memory.id),
        "kind": EXPLAINS,
        "now": NOW,
    }
    with pytest.raises(MemoryUnknown):
        associate(caller=factories.caller_of(outsider), **ends)
    with pytest.raises(RightMissing, match="role writer"):
        associate(caller=factories.caller_of(reader), **ends)
