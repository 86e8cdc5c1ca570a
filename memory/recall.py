"""From a question and a scope to ranked memories: the one path by which memories answer.

Candidates come from filtered generators (vector, words, links of what the question names and of
the best candidates), are scored together, and must pass an absolute floor: a question that
nothing here answers gets nothing.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from operator import itemgetter
from typing import NamedTuple
from uuid import UUID

import structlog
from django.conf import settings
from django.db.models import FloatField, Q, Value

from codemem import embedding
from codemem.accounts.values import Action, Caller
from codemem.embedding import EmbeddingUnavailable, Provider
from codemem.words import code_tokens, query_terms
from graph.values import VertexLabel, graph_id
from memory import candidates, links, scoring
from memory.candidates import QuestionVector, answering
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
    hits = _hits(pool, caller, query, question, now=now)
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
    weights: Mapping[str, float]
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
        weights={term: statistics.weight(term) for term in terms},
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


class _Candidate(NamedTuple):
    """What scoring reads of a memory; the rest is loaded for the hits only."""

    id: UUID
    number: int
    namespace_id: UUID
    repository_id: UUID | None
    branch: str
    tokens: str
    tags: Sequence[str]
    importance: float
    confidence: float
    created_at: datetime
    fingerprint: str
    distance: float | None

    @property
    def vertex(self) -> int:
        return graph_id(label=VertexLabel.MEMORY, key=self.number)


def _pool(
    caller: Caller, query: RecallQuery, question: _Question, *, now: datetime
) -> list[_Candidate]:
    """Return the union of what the generators found; the filters hold here once more."""
    near = candidates.nearest(
        caller=caller, query=query, terms=question.telling, vector=question.vector, now=now
    )
    rows = answering(caller=caller, query=query, namespace_ids=query.namespace_ids, now=now).filter(
        Q(pk__in=near) | Q(number__in=question.named)
    )
    distance = (
        Value(None, output_field=FloatField())
        if question.vector is None
        else candidates.distance_to(question.vector)
    )
    return [
        _Candidate(*row)
        for row in rows.annotate(distance=distance).values_list(
            "pk",
            "number",
            "namespace_id",
            "repository_id",
            "branch",
            "tokens",
            "tags",
            "importance",
            "confidence",
            "created_at",
            "embedding_fingerprint",
            "distance",
        )
    ]


def _hits(
    pool: Sequence[_Candidate],
    caller: Caller,
    query: RecallQuery,
    question: _Question,
    *,
    now: datetime,
) -> list[RecallHit]:
    """Return the candidates that pass the floor, best first, as far as they are still there."""
    evidence = _evidence(pool, query, question, now=now)
    relevances = [scoring.relevance(one) for one in evidence]
    passed = scoring.above_floor(relevances, floor=settings.RELEVANCE_FLOOR)
    if not any(passed):
        return []
    gains = links.linked_relevance(
        [(candidate.namespace_id, candidate.vertex) for candidate in pool], relevances
    )
    linked = [replace(one, graph=gain) for one, gain in zip(evidence, gains, strict=True)]
    answers = [
        (score, candidate.id, relevant, parts)
        for candidate, (score, parts), relevant, is_answer in zip(
            pool, scoring.scores(linked), relevances, passed, strict=True
        )
        if is_answer
    ]
    # Between equals the newer id decides, so that one question has one answer.
    best = sorted(answers, key=itemgetter(0, 1), reverse=True)[: query.k]
    memories = _memories(caller, query, Q(pk__in=[key for _, key, _, _ in best]), now=now)
    return [
        RecallHit(memory=memories[key], score=score, relevance=relevant, parts=parts)
        for score, key, relevant, parts in best
        if key in memories
    ]


def _evidence(
    pool: Sequence[_Candidate], query: RecallQuery, question: _Question, *, now: datetime
) -> list[Evidence]:
    lengths = [scoring.length(candidate.tokens) for candidate in pool]
    mean_length = sum(lengths) / max(len(lengths), 1)
    words = {tag: code_tokens(tag) for candidate in pool for tag in candidate.tags}
    evidence = []
    for candidate, length in zip(pool, lengths, strict=True):
        found = scoring.occurrences(question.terms, candidate.tokens)
        weights = question.weights
        one = Evidence(
            vector=_cosine(candidate, question.vector),
            text=scoring.bm25(found, weights=weights, length=length, mean_length=mean_length),
            coverage=scoring.coverage(question.telling, found, weights=weights),
            exact=float(candidate.number in question.named),
            tags=scoring.tag_match(question.terms, [words[tag] for tag in candidate.tags]),
            scope=_affinity(candidate, query),
            importance=candidate.importance,
            confidence=candidate.confidence,
            recency=scoring.recency(candidate.created_at, now),
        )
        evidence.append(one)
    return evidence


def _cosine(candidate: _Candidate, vector: QuestionVector | None) -> float | None:
    if vector is None or candidate.fingerprint != vector.fingerprint:
        return None
    return None if candidate.distance is None else 1.0 - candidate.distance


def _affinity(candidate: _Candidate, query: RecallQuery) -> float:
    """Return how close a memory's scope is to the question's: branch, repository, namespace."""
    if query.branch and candidate.branch == query.branch:
        return 1.0
    if query.repository_id is not None and candidate.repository_id == query.repository_id:
        return 0.5
    return 0.0


def _expansion(
    caller: Caller, query: RecallQuery, hits: Sequence[RecallHit], *, now: datetime
) -> list[RecallHit]:
    """Return neighbors of the hits that the question's filters allow, at most `k` more."""

    def allowed(numbers: Collection[int]) -> dict[int, StoredMemory]:
        found = _memories(caller, query, Q(number__in=numbers), now=now)
        return {memory.number: memory for memory in found.values()}

    return links.neighbors(hits, depth=query.expansion_depth, allowed=allowed, limit=query.k)


def _memories(
    caller: Caller, query: RecallQuery, wanted: Q, *, now: datetime
) -> dict[UUID, StoredMemory]:
    rows = answering(caller=caller, query=query, namespace_ids=query.namespace_ids, now=now)
    return {row.pk: stored(row, now=now) for row in shown(rows.filter(wanted))}
