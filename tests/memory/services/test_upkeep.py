"""What time does to memories: expiry, and vectors made up for later."""

from collections.abc import Sequence
from datetime import timedelta

import numpy as np
import pytest
from numpy.typing import NDArray

from codemem.accounts.values import Caller
from codemem.embedding import EmbeddingUnavailable
from graph import queries as graph
from graph.models import Repository
from graph.values import VertexLabel, graph_id
from memory.models import Memory, MemoryVersion
from memory.services import embed_missing, expire_due, pin
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


def test_what_expires_leaves_a_version_of_what_it_said(store: Store):
    memory = store("For now.", ttl_hours=1).memory
    later = NOW + timedelta(hours=2)
    expire_due(now=later)
    version = MemoryVersion.objects.get(memory_id=memory.id)
    assert (version.change, version.changed_by_name) == ("expired", "schedule")
    assert version.snapshot["state"] == "active"
    assert Memory.objects.get().ended_at == memory.expires_at


def test_a_pinned_memory_ends_only_when_somebody_said_so(store: Store):
    store("Of a session.", memory_type="context", session_id="s-1", is_pinned=True)
    store("For an hour.", ttl_hours=1, is_pinned=True)
    assert expire_due(now=NOW + timedelta(days=30)) == 1
    assert Memory.objects.get(state=Memory.State.ACTIVE).content == "Of a session."


def test_pinning_takes_off_the_day_on_which_it_would_have_ended(store: Store, writing: Caller):
    memory = store("For an hour.", ttl_hours=1).memory
    pinned = pin(caller=writing, memory_id=memory.id, is_pinned=True, now=NOW)
    assert pinned.expires_at is None
    pin(caller=writing, memory_id=memory.id, is_pinned=False, now=NOW)
    assert expire_due(now=NOW + timedelta(days=30)) == 0
    before = MemoryVersion.objects.get(change="pinned")
    assert before.snapshot["expires_at"] is not None


def test_a_text_that_changed_meanwhile_keeps_no_vector_of_the_former(
    store: Store, model: WordModel, absent_model: AbsentModel
):
    memory = store("We deploy on Tuesdays.", provider=absent_model).memory

    class Slow(WordModel):
        def embed(self, texts: Sequence[str], *, kind: str) -> NDArray[np.float32]:
            Memory.objects.filter(pk=memory.id).update(content="Other.", content_hash=b"other")
            return super().embed(texts, kind=kind)

    embed_missing(limit=10, provider=Slow())
    assert Memory.objects.get().embedding is None


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
