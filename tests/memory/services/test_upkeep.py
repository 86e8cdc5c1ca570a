"""What time does to memories: expiry, and vectors made up for later."""

from datetime import timedelta

import pytest

from codemem.embedding import EmbeddingUnavailable
from graph import queries as graph
from graph.models import Repository
from graph.values import VertexLabel, graph_id
from memory.models import Memory
from memory.services import embed_missing, expire_due
from tests import factories
from tests.memory.conftest import AbsentModel, Ask, Store, WordModel, put_symbols

NOW = factories.NOW
pytestmark = pytest.mark.django_db


def test_the_sweep_expires_what_is_due_and_nothing_else(store: Store, monkeypatch):
    monkeypatch.setattr("memory.services.upkeep._BATCH", 2)
    for number in range(5):
        store(f"For an hour {number}.", ttl_hours=1)
    store("For a day.", ttl_hours=24)
    store("For good.")
    assert expire_due(now=NOW) == 0
    assert expire_due(now=NOW + timedelta(hours=1)) == 5
    assert expire_due(now=NOW + timedelta(hours=1)) == 0
    assert Memory.objects.filter(state=Memory.State.ACTIVE).count() == 2


def test_an_expired_memory_leaves_the_graph(store: Store, repository: Repository):
    (save,) = put_symbols(repository, "User.save")
    memory = store("For now.", repository_id=repository.pk, links=[save], ttl_hours=1).memory
    expire_due(now=NOW + timedelta(hours=2))
    vertex = graph_id(label=VertexLabel.MEMORY, key=memory.number)
    assert graph.links_of(namespace_id=memory.namespace_id, vertices=[vertex]) == ()


def test_missing_vectors_are_made_up_for(
    store: Store, ask: Ask, model: WordModel, absent_model: AbsentModel
):
    for number in range(3):
        store(f"Deploy step {number}.", provider=absent_model)
    assert embed_missing(limit=2, provider=model) == 2
    assert embed_missing(limit=2, provider=model) == 1
    assert embed_missing(limit=2, provider=model) == 0
    assert ask("deploy step").hits[0].parts.vector > 0


def test_vectors_of_a_former_model_are_replaced(store: Store, model: WordModel):
    store("We deploy on Tuesdays.")
    model.fingerprint = "words-2"
    assert embed_missing(limit=10, provider=model) == 1
    assert Memory.objects.get().embedding_fingerprint == "words-2"


def test_an_absent_model_is_said_to_be_absent(store: Store, absent_model: AbsentModel):
    store("We deploy on Tuesdays.", provider=absent_model)
    with pytest.raises(EmbeddingUnavailable):
        embed_missing(limit=10, provider=absent_model)
