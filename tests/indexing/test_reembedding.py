"""A change of models: built beside, switched when complete, killed and gone on with."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import IntegrityError
from django.utils import timezone

from codemem.accounts.models import Namespace, User
from codemem.accounts.values import Caller
from codemem.embedding import EmbeddingUnavailable, from_settings, reembedding, serving
from codemem.embedding.models import CachedVector, EmbeddingModel, Reembedding
from codemem.embedding.reembedding import ReembeddingNeedless, ReembeddingUnderWay
from graph import services as graph
from graph.models import Repository, SymbolVersion
from indexing import embedding
from indexing import reembedding as change
from memory import services as memory_services
from memory.models import Memory
from memory.recall import recall
from memory.services import store_memory
from memory.values import RecallAnswer, RecallQuery
from tests.codemem.model_server import Fault, ModelServer, model_server
from tests.factories import NOW, caller_of, snapshot
from tests.factories import symbol_fact as symbol

pytestmark = pytest.mark.django_db(transaction=True)

TEXTS = [f"Memory number {number} about the payment queue." for number in range(6)]


@pytest.fixture
def server(settings) -> Iterator[ModelServer]:
    """Yield the server of the model that will be configured."""
    with model_server() as served:
        yield served
    serving.forget()


@pytest.fixture
def writing(writer: User, namespace: Namespace) -> Caller:
    return caller_of(writer)


@pytest.fixture
def stocked(
    writing: Caller, namespace: Namespace, repository: Repository, server: ModelServer
) -> None:
    """Store memories and symbols, with vectors of the bundled model."""
    serving.forget()
    for text in TEXTS:
        store_memory(
            caller=writing, namespace_id=namespace.pk, content=text, memory_type="insight", now=NOW
        )
    put(repository, "one", "two")
    embedding.embed_symbols(repository_id=repository.pk)


@pytest.fixture
def configure(settings, server: ModelServer) -> Any:
    def configure(model: str = "other") -> None:
        settings.EMBEDDING_PROVIDER, settings.EMBEDDING_MODEL = "ollama", model
        settings.EMBEDDING_DIMENSIONS, settings.EMBEDDING_BASE_URL = server.dimensions, server.url
        settings.EMBEDDING_BATCH_SIZE = 2
        serving.forget()

    return configure


def put(repository: Repository, *names: str) -> None:
    facts = [symbol(f"{name}.py", name) for name in names]
    graph.put(repository_id=repository.pk, ref_name="main", snapshot=snapshot(*facts))


def start() -> reembedding.Progress:
    return reembedding.start(requested_by="tests", now=timezone.now())


def fingerprints() -> set[str]:
    symbols = SymbolVersion.objects.filter(valid_to=None)
    return {
        *Memory.objects.values_list("embedding_fingerprint", flat=True),
        *symbols.values_list("embedding_fingerprint", flat=True),
    }


def ask(caller: Caller, namespace: Namespace) -> RecallAnswer:
    query = RecallQuery(text=TEXTS[3], namespace_ids=(namespace.pk,))
    return recall(caller=caller, query=query, now=NOW)


def is_by_vector(answer: RecallAnswer) -> bool:
    return answer.used_vectors and answer.hits[0].parts.vector == 1.0


def test_the_model_before_answers_until_everything_has_a_vector_of_the_new_one(
    stocked, configure, server: ModelServer, writing: Caller, namespace: Namespace
):
    before = from_settings().fingerprint
    configure()
    start()
    assert change.advance(now=timezone.now) is False
    progress = reembedding.latest()
    assert progress
    assert (progress.state, progress.done, progress.total) == ("done", 8, 8)
    assert progress.per_second
    assert progress.per_second > 0
    assert fingerprints() == {"ollama:other:8:half:plain"} != {before}
    assert is_by_vector(ask(writing, namespace))
    assert len(server.texts) == 8 + 2  # one to try the model, one the question


def test_half_way_nothing_that_answers_has_changed(
    stocked, configure, writing: Caller, namespace: Namespace, monkeypatch
):
    before = from_settings().fingerprint
    configure()
    monkeypatch.setattr(change, "_BATCH", 2)
    start()
    turns = iter([False, True])
    monkeypatch.setattr(change._Slice, "is_over", lambda _: next(turns, True))
    assert change.advance(now=timezone.now) is True
    assert CachedVector.objects.filter(model__fingerprint="ollama:other:8:half:plain").count() == 2
    assert fingerprints() == {before}
    assert is_by_vector(ask(writing, namespace))
    monkeypatch.undo()
    configure()
    assert change.advance(now=timezone.now) is False
    progress = reembedding.latest()
    assert progress
    assert (progress.state, progress.done) == ("done", 8)


def test_killed_anywhere_it_goes_on_and_embeds_nothing_twice(
    stocked, configure, server: ModelServer, monkeypatch
):
    configure()
    start()
    monkeypatch.setattr(change, "_BATCH", 2)
    for step in ("texts_to_embed", "take_cached_vectors"):
        calls = iter(range(100))
        real = getattr(memory_services, step)

        def dies(real=real, calls=calls, **given: Any) -> Any:
            if next(calls) == 1:
                raise KeyboardInterrupt  # as a worker that is shot
            return real(**given)

        monkeypatch.setattr(memory_services, step, dies)
        with pytest.raises(KeyboardInterrupt):
            change.advance(now=timezone.now)
        monkeypatch.setattr(memory_services, step, real)
    assert change.advance(now=timezone.now) is False
    assert fingerprints() == {"ollama:other:8:half:plain"}
    assert len(server.texts) == len(set(server.texts)) == 9


def test_a_server_that_fails_is_noted_and_tried_again(stocked, configure, server: ModelServer):
    configure()
    start()
    server.faults = [Fault(status=400, body=b'{"error": "out of memory"}')]
    assert change.advance(now=timezone.now) is False
    progress = reembedding.latest()
    assert progress
    assert progress.state == "running"
    assert "out of memory" in progress.trouble
    change.advance(now=timezone.now)
    progress = reembedding.latest()
    assert progress
    assert (progress.state, progress.trouble) == ("done", "")


def test_what_is_stored_meanwhile_is_there_afterwards(
    stocked, configure, writing: Caller, namespace: Namespace, monkeypatch
):
    configure()
    start()
    real = reembedding.switch

    def switch(**given: Any) -> bool:
        store_memory(
            caller=writing, namespace_id=namespace.pk, content="Late.", memory_type="rule", now=NOW
        )
        return real(**given)

    monkeypatch.setattr(reembedding, "switch", switch)
    change.advance(now=timezone.now)
    late = Memory.objects.get(content="Late.")
    assert late.embedding_fingerprint != "ollama:other:8:half:plain"
    from memory.services import embed_missing

    assert embed_missing(limit=10) == 1
    assert fingerprints() == {"ollama:other:8:half:plain"}


def test_a_change_needs_a_reason_and_happens_once(stocked, configure, settings):
    with pytest.raises(ReembeddingNeedless):
        start()
    configure()
    assert start().id == start().id
    configure("third")
    with pytest.raises(ReembeddingUnderWay):
        start()
    with pytest.raises(IntegrityError):
        Reembedding.objects.create(model=EmbeddingModel.objects.all()[0], requested_by="x")


def test_a_wrong_length_is_refused_before_anything_is_changed(stocked, configure, settings):
    configure()
    settings.EMBEDDING_DIMENSIONS = 12
    with pytest.raises(EmbeddingUnavailable, match="of 8 numbers, not of 12"):
        start()
    assert reembedding.latest() is None


def test_a_canceled_change_leaves_the_model_before(stocked, configure):
    before = from_settings().fingerprint
    configure()
    start()
    progress = reembedding.cancel(now=timezone.now())
    assert progress
    assert progress.state == "canceled"
    assert change.advance(now=timezone.now) is False
    assert fingerprints() == {before}
    assert from_settings().fingerprint == before


def test_equal_texts_of_memories_and_of_repositories_are_embedded_once(
    stocked, configure, server: ModelServer, namespace: Namespace
):
    from tests.factories import make_repository

    other = make_repository(namespace)
    put(other, "one", "two")
    configure()
    start()
    change.advance(now=timezone.now)
    assert len(server.texts) == len(set(server.texts)) == 9
    assert fingerprints() == {"ollama:other:8:half:plain"}
