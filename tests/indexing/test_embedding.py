import os
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from codemem.embedding import EmbeddingUnavailable
from graph import services as graph
from graph.models import Repository, SymbolVersion
from graph.values import SymbolFact
from indexing import embedding
from indexing.embedding import embed_symbols, repositories_to_embed
from indexing.locks import Work
from tests.factories import make_namespace, make_repository, snapshot
from tests.factories import symbol_fact as symbol
from tests.indexing.test_locks import from_elsewhere

pytestmark = pytest.mark.django_db

TWO = (symbol("a.py", "one"), symbol("b.py", "two"))


class Model:
    """A provider that notes what it embeds; unavailable after so many calls."""

    dimensions = 384
    max_tokens = 256

    def __init__(self, fingerprint: str = "m1", *, calls: int = 1000) -> None:
        self.fingerprint = fingerprint
        self.calls = calls
        self.embedded: list[str] = []
        self.nicenesses: set[int] = set()

    def embed(self, texts: Sequence[str], *, kind: str) -> Any:
        assert kind == "document"
        if not self.calls:
            raise EmbeddingUnavailable("The model is away.", hint="Wait.")
        self.calls -= 1
        self.embedded += texts
        self.nicenesses.add(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        vectors[:, 0] = 1
        return vectors


@pytest.fixture
def use(monkeypatch):
    """Return a way to put a model in place of the configured one."""

    def use(model: Model) -> Model:
        monkeypatch.setattr(embedding, "in_background", lambda: model)
        return model

    return use


def put(repository: Repository, *symbols: SymbolFact, commit: str = "1") -> None:
    graph.put(
        repository_id=repository.pk, ref_name="main", snapshot=snapshot(*symbols, commit=commit)
    )


def fingerprints(repository: Repository) -> set[str]:
    live = SymbolVersion.objects.filter(repository=repository, valid_to=None)
    assert not live.filter(embedding=None).exclude(embedding_fingerprint="").exists()
    return set(live.values_list("embedding_fingerprint", flat=True))


def test_every_live_symbol_gets_a_vector_of_the_configured_model(repository):
    put(repository, *TWO)

    assert embed_symbols(repository_id=repository.pk) is False

    (version, _) = SymbolVersion.objects.filter(repository=repository).order_by("pk")
    assert np.linalg.norm(version.embedding) == pytest.approx(1, abs=0.01)
    assert repositories_to_embed() == []


def test_equal_texts_are_embedded_once(repository, use, monkeypatch):
    monkeypatch.setattr(embedding, "_BATCH", 1)
    model = use(Model())
    put(repository, *TWO)
    other = make_repository(make_namespace())
    put(other, *TWO)

    embed_symbols(repository_id=repository.pk)

    assert len(model.embedded) == 2
    assert fingerprints(repository) == fingerprints(other) == {"m1"}
    put(repository, *TWO, commit="2")
    assert embed_symbols(repository_id=repository.pk) is False
    assert len(model.embedded) == 2


def test_embedding_goes_on_where_it_was_stopped(repository, use, monkeypatch):
    monkeypatch.setattr(embedding, "_BATCH", 1)
    put(repository, *TWO)
    stopped = use(Model(calls=1))

    assert embed_symbols(repository_id=repository.pk) is False
    assert fingerprints(repository) == {"m1", ""}
    assert repositories_to_embed() == [repository.pk]

    again = use(Model())
    embed_symbols(repository_id=repository.pk)
    assert fingerprints(repository) == {"m1"}
    assert len(stopped.embedded) == len(again.embedded) == 1
    assert set(stopped.embedded).isdisjoint(again.embedded)


def test_another_model_embeds_everything_again(repository, use):
    put(repository, *TWO)
    use(Model("m1"))
    embed_symbols(repository_id=repository.pk)

    model = use(Model("m2"))
    assert repositories_to_embed() == [repository.pk]
    embed_symbols(repository_id=repository.pk)

    assert len(model.embedded) == 2
    assert fingerprints(repository) == {"m2"}


def test_a_slice_of_time_leaves_the_rest_for_later(repository, use, monkeypatch):
    monkeypatch.setattr(embedding, "SLICE_SECONDS", 0.0)
    model = use(Model())
    put(repository, *TWO)

    assert embed_symbols(repository_id=repository.pk) is True

    assert model.embedded == []


def test_only_one_worker_embeds_a_repository(repository, use, monkeypatch):
    model = use(Model())
    put(repository, *TWO)
    embed, answers = model.embed, []

    def watched(texts: Sequence[str], *, kind: str) -> Any:
        answers.append(from_elsewhere(repository, Work.EMBED))
        return embed(texts, kind=kind)

    model.embed = watched
    embed_symbols(repository_id=repository.pk)

    assert answers == [False]


def test_embedding_yields_the_processor_and_leaves_its_process_as_it_was(repository, use):
    model = use(Model())
    put(repository, *TWO)
    before = os.getpriority(os.PRIO_PROCESS, 0)

    embed_symbols(repository_id=repository.pk)

    assert model.nicenesses == {10}
    assert os.getpriority(os.PRIO_PROCESS, 0) == before
