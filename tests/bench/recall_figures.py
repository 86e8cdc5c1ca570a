"""Figures of recall: from question to ranked memories, end to end and by its parts.

Every question is new, so that embedding it is part of the figure, as it is for an agent's first.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial, wraps
from time import perf_counter
from typing import Any, Final, LiteralString
from unittest.mock import patch
from uuid import UUID

import numpy as np
import psycopg
from django.utils import timezone
from numpy.typing import NDArray
from pgvector import HalfVector
from pgvector.psycopg import register_vector
from psycopg import sql

from codemem import embedding
from codemem.embedding import Kind, Provider
from codemem.words import query_terms
from memory import candidates, indexes, links, scoring
from memory.candidates import PER_GENERATOR, QuestionVector
from memory.recall import recall
from memory.values import RecallQuery
from tests.bench.dataset import Dataset
from tests.bench.measuring import Figure, Timings, bare_connection, timed, timed_beside
from tests.bench.memories import question

K: Final = 10
TARGET_MS: Final = 50.0
_QUESTIONS: Final = 200
_PARTS: Final = (
    (candidates, "word_statistics", "count the question's words"),
    (links, "memories_of_named_code", "find memories of named code"),
    (candidates, "nearest", "candidates, both generators"),
    (links, "linked_relevance", "links among the candidates"),
    (scoring, "scores", "nine components"),
)
_EMBEDDING: Final = "embed the question"
_REST: Final = "the rest: load rows, evidence, sort"

# Namespace and model are literals, as a partial index demands of a prepared statement.
_BARE_VECTORS: Final[LiteralString] = """
    select id, embedding::halfvec({dimensions}) <=> %s as distance from memory_memory
    where namespace_id = {namespace} and state = 'active' and embedding_fingerprint = {model}
    order by distance limit %s
"""
_BARE_WORDS: Final[LiteralString] = """
    select id, tokens <@> to_bm25query(%s, {index}) as score from memory_memory
    where namespace_id = {namespace} and state = 'active' order by score limit %s
"""


def recall_figures(data: Dataset) -> Iterator[Figure]:
    provider = embedding.from_settings()
    questions = _Questions()
    provider.embed(["load the model"], kind="query")
    with bare_connection() as bare:
        register_vector(bare)
        bare.execute("set hnsw.ef_search = 100")
        yield _end_to_end(data, provider, questions, bare)
    yield from _parts(data, provider, questions)
    yield from _generators(data, provider, questions)
    yield _scoped(data, questions, "all five namespaces", namespace_ids=data.namespace_ids)
    yield _scoped(
        *(data, questions, "one repository"),
        namespace_ids=(data.namespace_id,),
        repository_id=data.loaded.repository_ids[0],
    )


@dataclass(slots=True)
class _Questions:
    """Hands out questions that nobody asked before."""

    asked: int = 0

    def new(self, count: int = _QUESTIONS) -> list[str]:
        self.asked += count
        return [question(number) for number in range(self.asked - count, self.asked)]


def _end_to_end(
    data: Dataset,
    provider: Provider,
    questions: _Questions,
    bare: "psycopg.Connection[tuple[object, ...]]",
) -> Figure:
    """Ask beside the two bare statements that any answer needs, with a vector made beforehand."""
    texts = questions.new()
    # Under other words, or the vector that is to be timed would be remembered.
    vectors = provider.embed([f"{text} " for text in texts], kind="document")
    names = {
        "namespace": sql.Literal(str(data.namespace_id)),
        "model": sql.Literal(provider.fingerprint),
        "dimensions": sql.Literal(provider.dimensions),
        "index": sql.Literal(indexes.bm25_index(data.namespace_id)),
    }
    statements = [sql.SQL(text).format(**names) for text in (_BARE_VECTORS, _BARE_WORDS)]

    def both_statements(asked: tuple[str, NDArray[np.float32]]) -> int:
        text, vector = asked
        near = bare.execute(statements[0], [HalfVector(vector), PER_GENERATOR])
        found = len(near.fetchall())
        worded = bare.execute(statements[1], [" ".join(query_terms(text)), PER_GENERATOR])
        return found + len(worded.fetchall())

    pair = timed_beside(
        lambda asked: _ask(data, asked[0], namespace_ids=(data.namespace_id,)),
        both_statements,
        list(zip(texts, vectors, strict=True)),
    )
    return Figure(
        group="recall",
        name=f"recall, k={K}, end to end",
        taken=pair.taken,
        bare=pair.bare,
        results=pair.results,
        target_ms=TARGET_MS,
    )


def _scoped(
    data: Dataset,
    questions: _Questions,
    name: str,
    *,
    namespace_ids: tuple[UUID, ...],
    repository_id: UUID | None = None,
) -> Figure:
    taken, hits = timed(
        lambda text: _ask(data, text, namespace_ids=namespace_ids, repository_id=repository_id),
        questions.new(_QUESTIONS // 2),
    )
    return Figure(
        group="recall",
        name=f"recall, k={K}, {name}",
        taken=taken,
        results=hits,
        target_ms=TARGET_MS,
    )


def _parts(data: Dataset, provider: Provider, questions: _Questions) -> Iterator[Figure]:
    """Time the parts inside the same calls; the rest is what no part accounts for."""
    stopwatch = _Stopwatch()
    watched = _WatchedProvider(provider, stopwatch)
    rests: list[float] = []
    with ExitStack() as patches:
        for module, name, part in _PARTS:
            original = getattr(module, name)
            patches.enter_context(patch.object(module, name, stopwatch.watching(part, original)))
        for text in questions.new():
            before = stopwatch.total
            started = perf_counter()
            _ask(data, text, namespace_ids=(data.namespace_id,), provider=watched)
            rests.append((perf_counter() - started) * 1000 - (stopwatch.total - before))
    for name, milliseconds in (*stopwatch.laps.items(), (_REST, rests)):
        yield Figure(group="recall", name=f"  {name}", taken=Timings.of(milliseconds))


def _generators(data: Dataset, provider: Provider, questions: _Questions) -> Iterator[Figure]:
    """Ask each of the two generators alone, with the namespace's statistics left out."""
    asked = [
        (text, QuestionVector(values=vector, fingerprint=provider.fingerprint))
        for texts in [questions.new()]
        for text, vector in zip(texts, provider.embed(texts, kind="document"), strict=True)
    ]
    nearest = partial(candidates.nearest, caller=data.caller, now=timezone.now())

    def by_vector(one: tuple[str, QuestionVector]) -> int:
        query = RecallQuery(text=one[0], namespace_ids=(data.namespace_id,))
        return len(nearest(query=query, terms=(), vector=one[1]))

    def by_words(one: tuple[str, QuestionVector]) -> int:
        query = RecallQuery(text=one[0], namespace_ids=(data.namespace_id,))
        return len(nearest(query=query, terms=query_terms(one[0]), vector=None))

    for name, call in (("vector", by_vector), ("words", by_words)):
        taken, found = timed(call, asked)
        yield Figure(
            group="recall", name=f"  candidates by {name} alone", taken=taken, results=found
        )


def _ask(
    data: Dataset,
    text: str,
    *,
    namespace_ids: tuple[UUID, ...],
    repository_id: UUID | None = None,
    provider: Provider | None = None,
) -> int:
    query = RecallQuery(text=text, namespace_ids=namespace_ids, repository_id=repository_id, k=K)
    answer = recall(caller=data.caller, query=query, now=timezone.now(), provider=provider)
    assert answer.used_vectors
    return len(answer.hits)


@dataclass(slots=True)
class _Stopwatch:
    """Milliseconds by part, one for each time that the part ran."""

    laps: dict[str, list[float]] = field(default_factory=dict)

    @property
    def total(self) -> float:
        return sum(map(sum, self.laps.values()))

    def watching(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def watched(*arguments: Any, **named: Any) -> Any:
            started = perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                self.laps.setdefault(part, []).append((perf_counter() - started) * 1000)

        return watched


class _WatchedProvider:
    """The real provider, timed."""

    def __init__(self, provider: Provider, stopwatch: _Stopwatch) -> None:
        self.dimensions = provider.dimensions
        self.fingerprint = provider.fingerprint
        self.max_tokens = provider.max_tokens
        self._embed = stopwatch.watching(_EMBEDDING, provider.embed)

    def embed(self, texts: Sequence[str], *, kind: Kind) -> NDArray[np.float32]:
        vectors: NDArray[np.float32] = self._embed(texts, kind=kind)
        return vectors
