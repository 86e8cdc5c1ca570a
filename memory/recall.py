"""From a question and a scope to ranked memories: the one path by which memories answer.

Candidates come from filtered generators (vector, words, links of what the question names and of
the best candidates), are scored together, and must pass an absolute floor: a question that
nothing here answers gets nothing.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import structlog
from django.conf import settings
from django.db.models import Q
from pgvector.django import CosineDistance

from codemem import embedding
from codemem.accounts.values import Action, Caller
from codemem.embedding import EmbeddingUnavailable, Provider
from codemem.words import code_tokens, query_terms
from memory import candidates, links, scoring
from memory.candidates import QuestionVector, answering
from memory.models import Memory
from memory.queries import shown, stored
from memory.scoring import Evidence, WordStatistics
from memory.values import (
    MAXIMUM_EXPANSION_DEPTH,
    MAXIMUM_HITS,
    RecallAnswer,
    RecallHit,
    RecallQuery,
    StoredMemory,
)
from memory.wording import printable, valid_tags

MAXIMUM_QUESTION_CHARACTERS = 8_000  # no model reads more; what stands behind is left out

logger = structlog.get_logger(__name__)


class QueryInvalid(Exception):
    """The question cannot be asked like this; the message is a sentence that says why."""


def recall(
    *, caller: Caller, query: RecallQuery, now: datetime, provider: Provider | None = None
) -> RecallAnswer:
    """Return what the caller's memories say to a question, best first; at most `query.k` hits.

    Without an embedding model words and links answer alone, and the answer says so. About ten
    queries; two more for each namespace that is large enough for indexes of its own. Raise
    QueryInvalid.
    """
    query = _checked(caller, query)
    question = _read(query, provider)
    pool = _pool(caller, query, question, now=now)
    hits = _ranked(pool, query, question, now=now)
    if query.expand:
        hits += _expansion(caller, query, hits, now=now)
    if query.include_impact:
        hits = links.with_impact(hits)
    return RecallAnswer(
        hits=tuple(hits),
        used_vectors=question.vector is not None,
        candidates=len(pool),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """A question as the generators and the scoring read it."""

    terms: tuple[str, ...]
    telling: tuple[str, ...]
    statistics: WordStatistics
    vector: QuestionVector | None
    named: frozenset[int]


def _checked(caller: Caller, query: RecallQuery) -> RecallQuery:
    """Return the question within the caller's namespaces; raise QueryInvalid."""
    if not 1 <= query.k <= MAXIMUM_HITS:
        raise QueryInvalid(f"k is {query.k}; it must be from 1 to {MAXIMUM_HITS}.")
    if not 1 <= query.expansion_depth <= MAXIMUM_EXPANSION_DEPTH:
        raise QueryInvalid(
            f"expansion_depth is {query.expansion_depth}; it must be from 1 to"
            f" {MAXIMUM_EXPANSION_DEPTH}."
        )
    mine = dict.fromkeys(key for key in query.namespace_ids if caller.can(Action.READ_MEMORY, key))
    return replace(
        query,
        text=printable(query.text)[:MAXIMUM_QUESTION_CHARACTERS],
        namespace_ids=tuple(mine),
        tags=frozenset(valid_tags(query.tags)),
        exclude_tags=frozenset(valid_tags(query.exclude_tags)),
    )


def _read(query: RecallQuery, provider: Provider | None) -> _Question:
    terms = tuple(query_terms(query.text))
    statistics = candidates.word_statistics(query=query, terms=terms)
    telling = tuple(term for term in terms if not statistics.is_common(term)) or terms
    return _Question(
        terms=terms,
        telling=telling,
        statistics=statistics,
        vector=_vector(query, statistics, provider),
        named=links.memories_of_named_code(query),
    )


def _vector(
    query: RecallQuery, statistics: WordStatistics, provider: Provider | None
) -> QuestionVector | None:
    text = scoring.without_common_words(
        query.text, words_of=code_tokens, statistics=statistics
    ).strip()
    if not text:
        return None
    try:
        model = provider or embedding.from_settings()
        return QuestionVector(
            values=model.embed([text], kind="query")[0], fingerprint=model.fingerprint
        )
    except EmbeddingUnavailable as error:
        logger.warning("recall_without_vectors", reason=str(error))
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    memory: StoredMemory
    tokens: str
    cosine: float | None


def _pool(
    caller: Caller, query: RecallQuery, question: _Question, *, now: datetime
) -> list[_Candidate]:
    near = candidates.nearest(
        caller=caller, query=query, terms=question.telling, vector=question.vector, now=now
    )
    wanted = Q(pk__in=near) | Q(number__in=question.named)
    return _loaded(caller, query, question, wanted, now=now)


def _loaded(
    caller: Caller, query: RecallQuery, question: _Question, wanted: Q, *, now: datetime
) -> list[_Candidate]:
    """Return candidates with what scoring compares; the filters hold here once more."""
    rows = (
        shown(
            answering(
                caller=caller, query=query, namespace_ids=query.namespace_ids, now=now
            ).filter(wanted)
        )
        .defer(None)
        .defer("lexemes", "embedding", "retired_links")
    )
    if question.vector is not None:
        rows = rows.annotate(distance=CosineDistance("embedding", question.vector.values))
    return [
        _Candidate(
            memory=stored(row, now=now), tokens=row.tokens, cosine=_cosine(row, question.vector)
        )
        for row in rows
    ]


def _cosine(row: Memory, vector: QuestionVector | None) -> float | None:
    if vector is None or row.embedding_fingerprint != vector.fingerprint:
        return None
    distance: float | None = getattr(row, "distance", None)
    return None if distance is None else 1.0 - distance


def _ranked(
    pool: Sequence[_Candidate], query: RecallQuery, question: _Question, *, now: datetime
) -> list[RecallHit]:
    """Return the candidates that pass the floor, best first."""
    memories = [candidate.memory for candidate in pool]
    evidence = _evidence(pool, query, question, now=now)
    relevances = [scoring.relevance(one) for one in evidence]
    passed = scoring.above_floor(relevances, floor=settings.RELEVANCE_FLOOR)
    if not any(passed):
        return []
    gains = links.linked_relevance(memories, relevances)
    linked = [replace(one, graph=gain) for one, gain in zip(evidence, gains, strict=True)]
    hits = [
        RecallHit(memory=memory, score=score, relevance=relevant, parts=parts)
        for memory, (score, parts), relevant, is_answer in zip(
            memories, scoring.scores(linked), relevances, passed, strict=True
        )
        if is_answer
    ]
    # Between equals the newer id decides, so that one question has one answer.
    hits.sort(key=lambda hit: (hit.score, hit.memory.id), reverse=True)
    return hits[: query.k]


def _evidence(
    pool: Sequence[_Candidate], query: RecallQuery, question: _Question, *, now: datetime
) -> list[Evidence]:
    lengths = [scoring.length(candidate.tokens) for candidate in pool]
    mean_length = sum(lengths) / max(len(lengths), 1)
    return [
        Evidence(
            vector=candidate.cosine,
            text=scoring.bm25(
                question.terms,
                candidate.tokens,
                statistics=question.statistics,
                mean_length=mean_length,
            ),
            coverage=scoring.coverage(
                question.telling, candidate.tokens, statistics=question.statistics
            ),
            exact=float(candidate.memory.number in question.named),
            tags=scoring.tag_match(question.terms, [code_tokens(t) for t in candidate.memory.tags]),
            scope=_affinity(candidate.memory, query),
            importance=candidate.memory.importance,
            confidence=candidate.memory.confidence,
            recency=scoring.recency(candidate.memory.created_at, now),
        )
        for candidate in pool
    ]


def _affinity(memory: StoredMemory, query: RecallQuery) -> float:
    """Return how close a memory's scope is to the question's: branch, repository, namespace."""
    if query.branch and memory.branch == query.branch:
        return 1.0
    if query.repository_id is not None and memory.repository_id == query.repository_id:
        return 0.5
    return 0.0


def _expansion(
    caller: Caller, query: RecallQuery, hits: Sequence[RecallHit], *, now: datetime
) -> list[RecallHit]:
    """Return neighbors of the hits that the question's filters allow, at most `k` more."""

    def allowed(numbers: Collection[int]) -> dict[int, StoredMemory]:
        rows = answering(
            caller=caller, query=query, namespace_ids=query.namespace_ids, now=now
        ).filter(number__in=numbers)
        return {row.number: stored(row, now=now) for row in shown(rows)}

    return links.neighbors(hits, depth=query.expansion_depth, allowed=allowed, limit=query.k)
