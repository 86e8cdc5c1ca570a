"""Vectors from the real local model, which the tests prepare when it is not there yet."""

import multiprocessing
import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from codemem import embedding
from codemem.embedding import (
    EmbeddingUnavailable,
    Kind,
    Provider,
    ProviderUnknown,
    Specification,
    bundled,
)
from codemem.embedding.local import LocalProvider
from codemem.embedding.prepare import prepare_model
from codemem.embedding.words import word_model

CHECKOUT = Path(__file__).parents[2]
MODELS = CHECKOUT / ".local" / "models"

SENTENCES = [
    "The cache is invalidated after every push.",
    "Tokens are hashed before they are stored.",
    "Use exponential backoff when the git host answers 429.",
    "x",
    "",
    "The queue drops a job that has failed five times. " * 30,
]


@pytest.fixture(scope="module")
def provider() -> Provider:
    prepare_model(MODELS, report=print)
    return embedding.get_provider(Specification(), models_directory=MODELS)


@pytest.mark.parametrize("kind", ["query", "document"])
def test_vectors_are_float32_rows_of_unit_length(provider: Provider, kind: Kind):
    vectors = provider.embed(SENTENCES, kind=kind)
    assert vectors.shape == (len(SENTENCES), provider.dimensions)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("kind", ["query", "document"])
def test_no_texts_give_no_rows(provider: Provider, kind: Kind):
    assert provider.embed([], kind=kind).shape == (0, provider.dimensions)


def test_a_question_is_nearest_to_the_text_about_it(provider: Provider):
    documents = provider.embed(SENTENCES[:3], kind="document")
    questions = ["when do cached values expire?", "are passwords kept safely?", "rate limited"]
    nearest = np.argmax(provider.embed(questions, kind="query") @ documents.T, axis=1)
    assert nearest.tolist() == [0, 1, 2]


def test_vectors_come_in_the_order_of_the_texts_whatever_shares_their_batch(provider: Provider):
    texts = [f"{'word ' * (n * 7 % 50)} about topic {n}" for n in range(40)]
    together = provider.embed(texts, kind="document")
    alone = np.concatenate([provider.embed([text], kind="document") for text in texts])
    assert np.argmax(together @ alone.T, axis=1).tolist() == list(range(40))
    # 8-bit activations are scaled for a batch, so its members move each other a little.
    assert (together * alone).sum(axis=1).min() > 0.98


def test_a_text_is_cut_at_256_tokens_and_not_before(provider: Provider):
    base = "alpha " * 200
    within, beyond = base + "database " * 50, base + "alpha " * 100
    vectors = provider.embed([base, within, beyond, beyond + "database " * 50], kind="document")
    assert vectors[0] @ vectors[1] < 0.999
    assert np.allclose(vectors[2], vectors[3])


def test_a_short_text_is_not_padded_to_a_fixed_length(provider: Provider):
    tokenizer = pytest.importorskip("tokenizers").Tokenizer
    prepared = tokenizer.from_file(str(bundled.directory(MODELS) / "tokenizer.json"))
    assert len(prepared.encode("hello").ids) == len(["[CLS]", "hello", "[SEP]"])
    assert prepared.truncation["max_length"] == provider.max_tokens


def test_strange_texts_are_embedded_too(provider: Provider):
    strange = ["\0", "\ud800 lone surrogate", "\U0001f600" * 9, " " * 100_000, "a" * 100_000]
    vectors = provider.embed(strange, kind="document")
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_a_caller_cannot_change_a_remembered_query(provider: Provider):
    first = provider.embed(["retry policy"], kind="query")
    untouched = first.copy()
    first[:] = 0
    assert np.array_equal(provider.embed(["retry policy"], kind="query"), untouched)


def test_a_question_is_read_once_for_its_vector_and_its_words(provider: Provider):
    words = word_model(provider)
    assert words is not None
    provider.embed(["where is the retry policy read once?"], kind="query")

    before = _reads(provider)
    (read,) = words.embed_words(["where is the retry policy read once?"])

    assert _reads(provider) == before
    assert read.values.shape == (9, provider.dimensions)  # eight words and a mark
    with pytest.raises(ValueError, match="read-only"):
        read.values[:] = 0


def test_a_question_and_a_document_of_the_same_words_have_one_vector(provider: Provider):
    asked = provider.embed([SENTENCES[0]], kind="query")
    assert np.allclose(asked, provider.embed([SENTENCES[0]], kind="document"), atol=1e-6)


def _reads(provider: Provider) -> int:
    assert isinstance(provider, LocalProvider)
    return provider._read_question.cache_info().misses


def test_threads_share_one_model(provider: Provider):
    expected = provider.embed(SENTENCES, kind="document")
    fresh = embedding.get_provider(Specification(), models_directory=MODELS.resolve())
    with ThreadPoolExecutor(max_workers=4) as pool:
        results = pool.map(lambda _: fresh.embed(SENTENCES, kind="document"), range(8))
    assert all(np.array_equal(result, expected) for result in results)


def test_the_provider_is_the_same_for_the_life_of_a_process(provider: Provider):
    assert embedding.get_provider(Specification(), models_directory=MODELS) is provider


def test_a_forked_child_loads_its_own_model(provider: Provider):
    expected = provider.embed(SENTENCES[:2], kind="document")
    parents_identity = id(provider)

    def embed_in_child(results):
        child = embedding.get_provider(Specification(), models_directory=MODELS)
        vectors = child.embed(SENTENCES[:2], kind="document")
        results.put((id(child) != parents_identity, np.array_equal(vectors, expected)))

    fork = multiprocessing.get_context("fork")
    results = fork.Queue()
    child = fork.Process(target=embed_in_child, args=(results,))
    child.start()
    assert results.get(timeout=60) == (True, True)
    child.join()


def test_embedding_opens_no_socket(monkeypatch, provider: Provider):
    def refuse(*arguments, **options):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    from codemem.embedding.local import LocalProvider

    fresh = LocalProvider(models_directory=MODELS)
    assert fresh.embed(["offline"], kind="query").shape == (1, provider.dimensions)


def test_the_fingerprint_names_everything_that_moves_a_vector(provider: Provider):
    assert provider.fingerprint == (
        "all-MiniLM-L6-v2:53aa51172d14:int8-channel:recipe-1:mean:256:template-1"
    )


def test_asking_for_a_provider_loads_no_model_and_no_django():
    script = (
        "import sys; from pathlib import Path; from codemem import embedding\n"
        "embedding.get_provider(embedding.Specification(), models_directory=Path('/nowhere'))\n"
        "print([name for name in ('fastembed', 'onnxruntime', 'django') if name in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    child = subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert child.stdout.strip() == "[]"


def test_a_missing_model_is_reported_with_the_command_that_makes_it(tmp_path):
    missing = embedding.get_provider(Specification(), models_directory=tmp_path)
    with pytest.raises(EmbeddingUnavailable, match="is not in") as caught:
        missing.embed(["text"], kind="query")
    assert f"codemem.embedding.prepare --directory {tmp_path}" in caught.value.hint


def test_a_damaged_model_is_reported_with_the_command_that_replaces_it(tmp_path):
    prepared = bundled.directory(tmp_path)
    prepared.mkdir()
    (prepared / bundled.ONNX_FILE).write_bytes(b"damaged")
    bundled.write_manifest(prepared)
    damaged = embedding.get_provider(Specification(), models_directory=tmp_path)
    with pytest.raises(EmbeddingUnavailable, match="cannot be loaded") as caught:
        damaged.embed(["text"], kind="document")
    assert "replaces damaged files" in caught.value.hint


def test_an_unknown_provider_is_refused_with_the_known_ones(tmp_path):
    with pytest.raises(ProviderUnknown, match="no embedding provider 'oracle'; there is: gemini"):
        embedding.get_provider(Specification(provider="oracle"), models_directory=tmp_path)


@pytest.mark.django_db
def test_the_settings_choose_the_provider(settings, provider: Provider):
    settings.EMBEDDING_PROVIDER = "local"
    settings.MODELS_DIRECTORY = MODELS
    assert embedding.from_settings().fingerprint == provider.fingerprint
    assert embedding.in_background().fingerprint == provider.fingerprint
