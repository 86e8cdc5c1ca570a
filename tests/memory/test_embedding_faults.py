"""A model behind HTTP that is slow, gone, busy or another one: storing and recalling go on.

The real provider against a server on this machine that speaks the API, through store_memory,
recall and the sweep, with the settings as an administrator sets them.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from codemem import embedding
from codemem.accounts.models import Namespace
from codemem.accounts.values import Caller
from codemem.embedding import EmbeddingUnavailable, remote, serving
from memory.models import Memory
from memory.recall import recall
from memory.services import embed_missing, store_memories, store_memory
from memory.values import NewMemory, RecallAnswer, RecallQuery, StoreOutcome
from tests.codemem.model_server import Fault, ModelServer, model_server
from tests.factories import NOW

pytestmark = pytest.mark.django_db

DEADLINE = 0.5
MARGIN = 2.5  # for everything that is not the model, on a busy machine
CONTENT = "Deploys go out on Tuesdays."
OTHER = "Invoices are rounded once."

Break = Callable[[ModelServer, Any], None]


@pytest.fixture
def server(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.setattr(remote, "INTERACTIVE_SECONDS", DEADLINE)
    monkeypatch.setattr(remote, "_BACKOFF_SECONDS", 0.01)
    with model_server() as served:
        settings.EMBEDDING_PROVIDER, settings.EMBEDDING_MODEL = "ollama", "some-model"
        settings.EMBEDDING_DIMENSIONS, settings.EMBEDDING_BASE_URL = served.dimensions, served.url
        settings.EMBEDDING_RETRIES, settings.EMBEDDING_TIMEOUT_SECONDS = 1, 5.0
        fresh()
        yield served
    fresh()


def fresh() -> None:
    """Forget providers that are open, and that their server was away a moment ago."""
    serving.forget()
    embedding._open_providers.forget()


def slow(server: ModelServer, settings: Any) -> None:
    server.faults = [Fault(seconds=DEADLINE * 3)] * 3


def busy(server: ModelServer, settings: Any) -> None:
    server.faults = [Fault(status=429, headers={"Retry-After": "3600"})] * 3


def broken(server: ModelServer, settings: Any) -> None:
    server.faults = [Fault(status=500)] * 9


def of_another_length(server: ModelServer, settings: Any) -> None:
    server.dimensions += 4


def gone(server: ModelServer, settings: Any) -> None:
    settings.EMBEDDING_BASE_URL = "http://127.0.0.1:9"
    fresh()


FAULTS = pytest.mark.parametrize(
    "fail", [slow, busy, broken, of_another_length, gone], ids=lambda fault: fault.__name__
)


@pytest.fixture
def put(writing: Caller, namespace: Namespace) -> Callable[[str], StoreOutcome]:
    def put(content: str) -> StoreOutcome:
        return store_memory(
            caller=writing,
            namespace_id=namespace.pk,
            content=content,
            memory_type="decision",
            now=NOW,
        )

    return put


@pytest.fixture
def question(writing: Caller, namespace: Namespace) -> Callable[[str], RecallAnswer]:
    def question(text: str) -> RecallAnswer:
        query = RecallQuery(text=text, namespace_ids=(namespace.pk,))
        return recall(caller=writing, query=query, now=NOW)

    return question


@FAULTS
def test_what_is_stored_meanwhile_is_kept_in_time_and_gets_its_vector_later(
    server: ModelServer, settings: Any, put: Callable[[str], StoreOutcome], fail: Break
) -> None:
    dimensions, url = server.dimensions, server.url
    fail(server, settings)
    started = time.monotonic()
    outcome = put(CONTENT)
    assert time.monotonic() - started < DEADLINE + MARGIN
    assert outcome.action == "created"
    assert any("by its words alone" in note for note in outcome.notes)
    assert Memory.objects.get().embedding is None

    server.faults, server.dimensions, settings.EMBEDDING_BASE_URL = [], dimensions, url
    fresh()
    assert embed_missing(limit=10) == 1
    assert len(Memory.objects.get().embedding) == dimensions


@FAULTS
def test_a_question_meanwhile_is_answered_by_words_in_time(
    server: ModelServer,
    settings: Any,
    put: Callable[[str], StoreOutcome],
    question: Callable[[str], RecallAnswer],
    fail: Break,
) -> None:
    put(CONTENT)
    put(OTHER)
    assert question("deploys on tuesdays").used_vectors
    fail(server, settings)
    started = time.monotonic()
    answer = question("when do deploys go out")
    assert time.monotonic() - started < DEADLINE + MARGIN
    assert not answer.used_vectors
    assert "some-model" in answer.trouble
    assert [hit.memory.content for hit in answer.hits] == [CONTENT]
    assert answer.hits[0].parts.vector == 0


def test_a_batch_asks_a_server_that_is_away_once(
    server: ModelServer, settings: Any, writing: Caller, namespace: Namespace
) -> None:
    slow(server, settings)
    started = time.monotonic()
    items = [NewMemory(content=f"Step {nr} of 90.", memory_type="fix") for nr in range(90)]
    outcomes = store_memories(caller=writing, namespace_id=namespace.pk, items=items, now=NOW)
    assert all(one.outcome and one.outcome.action == "created" for one in outcomes)
    assert len(server.asked) == 1
    assert time.monotonic() - started < DEADLINE + 90 * MARGIN / 5


@FAULTS
def test_the_sweep_says_why_it_could_not_and_loses_nothing(
    server: ModelServer, settings: Any, put: Callable[[str], StoreOutcome], fail: Break
) -> None:
    gone(server, settings)
    put(CONTENT)
    settings.EMBEDDING_BASE_URL = server.url
    settings.EMBEDDING_TIMEOUT_SECONDS = DEADLINE
    fresh()
    fail(server, settings)
    with pytest.raises(EmbeddingUnavailable, match=r"some-model"):
        embed_missing(limit=10)
    assert Memory.objects.get().embedding is None
