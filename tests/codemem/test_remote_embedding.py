"""Models behind HTTP, against a server that speaks their APIs: what works, and how it fails."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import numpy as np
import pytest

from codemem.embedding import EmbeddingUnavailable, Specification, SpecificationInvalid, remote
from codemem.embedding.remote import RemoteProvider
from tests.codemem.model_server import Fault, ModelServer, model_server

PATHS = {
    "ollama": ("", "/api/embed"),
    "openai": ("/v1", "/v1/embeddings"),
    "gemini": ("/v1beta", "/v1beta/models/some-model:batchEmbedContents"),
}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as served:
        yield served


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(remote, "_BACKOFF_SECONDS", 0.01)


def opened(
    server: ModelServer, provider: str = "ollama", *, is_patient: bool = True, **changes
) -> RemoteProvider:
    base, _ = PATHS[provider]
    known: dict[str, Any] = {
        "provider": provider,
        "model": "some-model",
        "dimensions": server.dimensions,
        "base_url": f"{server.url}{base}",
        "timeout_seconds": 5.0,
    }
    return RemoteProvider(Specification(**(known | changes)), is_patient=is_patient)


@pytest.mark.parametrize("provider", PATHS)
def test_each_api_is_spoken_and_its_vectors_come_in_order_at_unit_length(
    server: ModelServer, provider: str
):
    texts = [f"text {number}" for number in range(7)]
    vectors = opened(server, provider, batch_size=3).embed(texts, kind="document")
    assert vectors.dtype == np.float32
    assert vectors.shape == (7, server.dimensions)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    expected = np.array([server.vector(text) for text in texts])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert np.allclose(vectors, expected, atol=1e-6)
    assert server.paths == [PATHS[provider][1]] * 3
    assert server.texts == texts


@pytest.mark.parametrize("provider", PATHS)
def test_the_key_is_sent_as_each_api_wants_it_and_never_shown(server: ModelServer, provider: str):
    server.key = "secret-key"
    assert opened(server, provider, api_key="secret-key").embed(["x"], kind="query").any()
    wrong = opened(server, provider, api_key="wrong-key")
    with pytest.raises(EmbeddingUnavailable, match="refuses the key") as caught:
        wrong.embed(["x"], kind="query")
    assert "wrong-key" not in str(caught.value)
    assert "CODEMEM_EMBEDDING_API_KEY" in caught.value.hint
    assert "secret-key" not in repr(Specification(api_key="secret-key"))


def test_gemini_is_told_the_side_of_the_search_and_the_length(server: ModelServer):
    provider = opened(server, "gemini")
    provider.embed(["a"], kind="query")
    provider.embed(["b"], kind="document")
    asked = [request for body in server.asked for request in body["requests"]]
    assert [one["taskType"] for one in asked] == ["RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT"]
    assert {one["outputDimensionality"] for one in asked} == {server.dimensions}


def test_only_models_that_can_be_shortened_are_asked_to_be(server: ModelServer):
    opened(server, "openai").embed(["a"], kind="document")
    opened(server, "openai", model="text-embedding-3-small").embed(["a"], kind="document")
    assert ["dimensions" in body for body in server.asked] == [False, True]


def test_prefixes_dress_the_two_sides_and_are_part_of_the_fingerprint(server: ModelServer):
    dressed = opened(server, query_prefix="search_query:", document_prefix="search_document:")
    dressed.embed(["a"], kind="query")
    dressed.embed(["a"], kind="document")
    assert server.texts == ["search_query: a", "search_document: a"]
    prints = {
        opened(server, **changes).fingerprint
        for changes in (
            {},
            {"query_prefix": "search_query:"},
            {"model": "other"},
            {"dimensions": 9},
            {"provider": "openai"},
            {"model": "x" * 300},
            {"model": "x" * 301},
        )
    }
    assert len(prints) == 7
    assert max(len(one) for one in prints) <= 100
    assert opened(server, base_url=f"{server.url}/").fingerprint in prints


def test_a_question_is_asked_for_once(server: ModelServer):
    provider = opened(server)
    first = provider.embed(["why"], kind="query")
    assert np.array_equal(provider.embed(["why"], kind="query"), first)
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_asked_again(server: ModelServer, status: int):
    server.faults = [Fault(status=status)] * 3
    assert opened(server).embed(["x"], kind="document").shape == (1, server.dimensions)
    assert len(server.asked) == 4


@pytest.mark.parametrize("is_date", [False, True])
def test_a_server_that_says_when_is_not_asked_sooner(server: ModelServer, is_date: bool):
    until = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
    server.faults = [Fault(status=429, headers={"Retry-After": until if is_date else "1"})]
    started = time.monotonic()
    opened(server).embed(["x"], kind="document")
    assert time.monotonic() - started > 0.9


def test_a_wait_of_an_hour_is_not_waited_for(server: ModelServer):
    server.faults = [Fault(status=429, headers={"Retry-After": "3600"})]
    with pytest.raises(EmbeddingUnavailable, match="answered 429"):
        opened(server).embed(["x"], kind="document")
    assert len(server.asked) == 1


def test_a_server_that_stays_broken_is_given_up(server: ModelServer):
    server.faults = [Fault(status=500)] * 10
    with pytest.raises(EmbeddingUnavailable, match=r"some-model at 127.* answered 500"):
        opened(server, retries=2).embed(["x"], kind="document")
    assert len(server.asked) == 3


def test_whoever_waits_is_told_soon_that_a_server_is_slow_and_the_next_one_at_once(
    server: ModelServer, monkeypatch
):
    monkeypatch.setattr(remote, "INTERACTIVE_SECONDS", 0.3)
    server.faults = [Fault(seconds=5)]
    waiting = opened(server, is_patient=False)
    started = time.monotonic()
    with pytest.raises(EmbeddingUnavailable, match="did not answer in time"):
        waiting.embed(["x"], kind="query")
    assert time.monotonic() - started < 1
    started = time.monotonic()
    with pytest.raises(EmbeddingUnavailable, match="a moment ago"):
        waiting.embed(["y"], kind="query")
    assert time.monotonic() - started < 0.05
    monkeypatch.setattr(waiting, "_away_until", 0.0)
    assert waiting.embed(["y"], kind="query").any()


def test_a_server_that_is_gone_is_said_to_be(server: ModelServer):
    gone = opened(server, base_url="http://127.0.0.1:9", retries=1)
    with pytest.raises(EmbeddingUnavailable, match="cannot be reached") as caught:
        gone.embed(["x"], kind="document")
    assert "Words are compared" in caught.value.hint


def test_a_model_that_is_not_there_is_named_with_what_to_do(server: ModelServer):
    with pytest.raises(EmbeddingUnavailable, match="try pulling it first") as caught:
        opened(server, model="nothing").embed(["x"], kind="document")
    assert "ollama pull nothing" in caught.value.hint


@pytest.mark.parametrize(
    "body",
    [b"<html>Bad Gateway</html>", b"[]", b'{"embeddings": 3}', b'{"data": [{"index": 0}]}', b""],
)
@pytest.mark.parametrize("provider", PATHS)
def test_an_answer_of_something_else_is_refused(server: ModelServer, provider: str, body: bytes):
    server.faults = [Fault(body=body or b"null")]
    with pytest.raises(EmbeddingUnavailable, match="no answer of this provider"):
        opened(server, provider).embed(["x"], kind="document")


def test_another_length_than_was_configured_is_refused_with_both(server: ModelServer):
    with pytest.raises(EmbeddingUnavailable, match="vectors of 8 numbers, not of 12") as caught:
        opened(server, dimensions=12).embed(["x"], kind="document")
    assert "CODEMEM_EMBEDDING_DIMENSIONS" in caught.value.hint


@pytest.mark.parametrize(
    "row", [[float("nan")] * 8, [float("inf")] + [0.0] * 7, [0.0] * 8, ["a"] * 8, [None] * 8]
)
def test_numbers_that_are_none_are_refused(server: ModelServer, row: list[Any]):
    server.faults = [Fault(body=json.dumps({"embeddings": [row]}).encode())]
    with pytest.raises(EmbeddingUnavailable, match="numbers"):
        opened(server).embed(["x"], kind="document")


@pytest.mark.parametrize("limit", ["most_texts", "answered_texts"])
def test_a_batch_that_is_too_large_is_halved(server: ModelServer, limit: str):
    setattr(server, limit, 3)
    texts = [f"text {number}" for number in range(10)]
    vectors = opened(server).embed(texts, kind="document")
    alone = [opened(server).embed([text], kind="document")[0] for text in texts]
    assert np.allclose(vectors, alone)


def test_a_server_that_answers_nothing_for_one_text_is_refused(server: ModelServer):
    server.answered_texts = 0
    with pytest.raises(EmbeddingUnavailable, match="0 vectors for one text"):
        opened(server).embed(["a", "b"], kind="document")


def test_strange_texts_are_sent_so_that_servers_take_them(server: ModelServer):
    opened(server).embed(["", "  ", "\ud800", "x" * 100_000], kind="document")
    assert [len(text) for text in server.texts] == [1, 1, 1, 16_384]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"model": ""}, "needs CODEMEM_EMBEDDING_MODEL"),
        ({"dimensions": 0}, "needs CODEMEM_EMBEDDING_DIMENSIONS"),
        ({"dimensions": 4_001}, "from 1 to 4000, not 4001"),
        ({"base_url": "localhost:11434"}, "must begin with http"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(server: ModelServer, changes, sentence):
    with pytest.raises(SpecificationInvalid, match=sentence):
        opened(server, **changes)
