"""Vectors by the text they are of: shared, bounded, purged; and which model answers."""

from collections.abc import Sequence
from datetime import timedelta

import numpy as np
import pytest
from django.db import DatabaseError
from django.utils import timezone
from numpy.typing import NDArray

from codemem import embedding
from codemem.embedding import EmbeddingUnavailable, Specification, cache, serving
from codemem.embedding.cache import CachedProvider
from codemem.embedding.models import CachedVector, EmbeddingModel, Reembedding

pytestmark = pytest.mark.django_db


class Counting:
    """A model that notes what it was asked to embed."""

    max_tokens = 256

    def __init__(self, fingerprint: str = "m1", dimensions: int = 3) -> None:
        self.fingerprint = fingerprint
        self.dimensions = dimensions
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str], *, kind: str) -> NDArray[np.float32]:
        self.embedded += texts
        rows = np.array([[len(text) + 1, n + 1, 1] for n, text in enumerate(texts)], np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture(autouse=True)
def asked_anew():
    serving.forget()
    yield
    serving.forget()


def cached(model: Counting) -> CachedProvider:
    return CachedProvider(model, Specification(model=model.fingerprint, api_key="secret"))


def test_a_text_is_embedded_once_and_its_vector_stays_what_it_was():
    model = Counting()
    first = cached(model).embed(["one", "three", "one"], kind="document")
    again = cached(model).embed(["three", "one"], kind="document")
    assert model.embedded == ["one", "three"]
    assert np.allclose(first[0], first[2])
    assert np.allclose(again, first[[1, 0]], atol=1e-3)
    assert np.allclose(np.linalg.norm(again, axis=1), 1, atol=1e-5)


def test_models_share_no_vector():
    one, other = Counting("m1"), Counting("m2")
    cached(one).embed(["text"], kind="document")
    cached(other).embed(["text"], kind="document")
    assert one.embedded == other.embedded == ["text"]


def test_questions_are_not_kept():
    cached(Counting()).embed(["why"], kind="query")
    assert not CachedVector.objects.exists()


def test_no_key_is_written_down():
    cached(Counting()).embed(["text"], kind="document")
    (row,) = EmbeddingModel.objects.all()
    assert row.is_serving
    assert "secret" not in str(row.specification)
    assert Specification.read(row.specification, api_key="k").model == "m1"


def test_a_purged_text_leaves_no_vector_of_any_model():
    for fingerprint in ("m1", "m2"):
        cached(Counting(fingerprint)).embed(["secret", "other"], kind="document")
    assert cache.purge(digests=[cache.digest_of("secret")]) == 2
    assert {bytes(row.digest) for row in CachedVector.objects.all()} == {cache.digest_of("other")}


def test_what_was_not_used_for_longest_goes_first_and_a_new_model_stays_whole():
    model = Counting()
    cached(model).embed([f"text {n}" for n in range(6)], kind="document")
    old = timezone.now() - timedelta(days=3)
    digests = [cache.digest_of(f"text {n}") for n in range(4)]
    CachedVector.objects.filter(digest__in=digests).update(used_at=old)
    cached(model).embed(["text 0"], kind="document")  # used again, so kept
    cached(Counting("m2")).embed([f"text {n}" for n in range(6)], kind="document")
    Reembedding.objects.create(
        model=EmbeddingModel.objects.get(fingerprint="m2"), requested_by="tests"
    )
    assert cache.trim(keep=3) == 3
    kept = CachedVector.objects.filter(model__fingerprint="m1").values_list("digest", flat=True)
    assert {bytes(digest) for digest in kept} == {cache.digest_of(f"text {n}") for n in (0, 4, 5)}
    assert CachedVector.objects.filter(model__fingerprint="m2").count() == 6


def test_a_server_may_do_without_a_cache(settings):
    settings.EMBEDDING_CACHE_VECTORS = 0
    model = Counting()
    cached(model).embed(["text"], kind="document")
    cached(model).embed(["text"], kind="document")
    assert model.embedded == ["text", "text"]
    assert not CachedVector.objects.exists()


def test_the_model_before_answers_until_another_one_serves(settings):
    embedding.from_settings().embed(["text"], kind="document")
    before = embedding.from_settings().fingerprint
    settings.EMBEDDING_PROVIDER = "ollama"
    settings.EMBEDDING_MODEL, settings.EMBEDDING_DIMENSIONS = "nomic-embed-text", 768
    serving.forget()
    assert embedding.from_settings().fingerprint == before
    EmbeddingModel.objects.update(is_serving=False)
    serving.forget()
    assert embedding.from_settings().fingerprint == "ollama:nomic-embed-text:768:half:plain"


def test_without_a_database_the_last_word_holds(monkeypatch):
    known = embedding.from_settings().fingerprint

    def gone(*_: object, **__: object) -> None:
        raise DatabaseError("gone")

    monkeypatch.setattr(EmbeddingModel.objects, "filter", gone)
    serving.forget()
    assert embedding.from_settings().fingerprint == known


def test_a_configured_folder_that_is_not_there_leaves_the_model_before(settings):
    embedding.from_settings().embed(["text"], kind="document")
    before = embedding.from_settings().fingerprint
    settings.EMBEDDING_PROVIDER, settings.EMBEDDING_MODEL = "huggingface", "/nowhere"
    serving.forget()
    assert embedding.from_settings().fingerprint == before
    EmbeddingModel.objects.all().delete()
    serving.forget()
    with pytest.raises(EmbeddingUnavailable, match="in /nowhere cannot be used"):
        embedding.from_settings()


def test_the_key_of_the_model_before_is_its_own(settings):
    settings.EMBEDDING_PROVIDER, settings.EMBEDDING_MODEL = "openai", "new"
    settings.EMBEDDING_DIMENSIONS, settings.EMBEDDING_API_KEY = 8, "new-key"
    before = Specification(provider="gemini", model="old", dimensions=8).described()
    assert serving.recorded(fingerprint="x", specification=before).api_key == ""
    settings.EMBEDDING_PREVIOUS_API_KEY = "old-key"
    assert serving.recorded(fingerprint="x", specification=before).api_key == "old-key"
