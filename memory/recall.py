"""From a question and a scope to ranked memories: the one path by which memories answer.

Candidates come from filtered generators (vector, words, words of a session, times, names, links),
are scored together, and must pass an absolute floor: a question that nothing here answers gets
nothing.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import numpy as np
import structlog
from django.db.models import FloatField, Q, QuerySet, Value
from numpy.typing import NDArray

from codemem import embedding, policies
from codemem.accounts.values import Action, Caller
from codemem.embedding import EmbeddingUnavailable, Provider
from codemem.embedding.words import word_model
from codemem.words import code_tokens, query_terms
from graph.values import RefState, VertexLabel, graph_id
from memory import candidates, links, scoring, wordwise
from memory.candidates import QuestionVector, answering
from memory.context import context_fingerprint
from memory.models import Memory, MemoryContext
from memory.neighbors import neighbors_of, places
from memory.queries import shown, stored
from memory.scoring import Evidence
from memory.services.anchoring import anchors_of, demotion, state_of
from memory.services.versioning import Snapshot, as_of
from memory.times import AskedTime, asked_time
from memory.values import (
    MAXIMUM_EXPANSION_DEPTH,
    MAXIMUM_HITS,
    MemoryType,
    Neighbor,
    RecallAnswer,
    RecallHit,
    RecallQuery,
    ScoreParts,
    StoredMemory,
)
from memory.wording import printable, valid_tags, words_of

MAXIMUM_QUESTION_CHARACTERS = 8_000  # no model reads more; what stands behind is left out

_SEEDS = 20
_STEPS_TO_CANDIDATES = 2
_COMPARED_WORDWISE = 150
_UNRESOLVED_FAILURE = 1.0
_WEIGHT_KEYS = "recall.weights."
_FLOOR_KEY = "recall.floor"
_NEIGHBORS_KEY = "recall.neighbor_characters"

logger = structlog.get_logger(__name__)


class QueryInvalid(Exception):
    """The question cannot be asked like this; the message is a sentence that says why."""


def recall(
    *,
    caller: Caller,
    query: RecallQuery,
    now: datetime,
    provider: Provider | None = None,
    ref: RefState | None = None,
) -> RecallAnswer:
    """Return what the caller's memories say to a question, best first; at most `query.k` hits.

    Without an embedding model words and links answer alone, and the answer says so. With a `ref`
    what the hits cite is compared with the code there. About twelve queries; one more for each
    namespace that is large enough for indexes of its own. Raise QueryInvalid.
    """
    query = _checked(caller, query)
    question = _read(caller, query, provider, now=now)
    pool = _pool(caller, query, question, now=now)
    hits = _hits(pool, caller, query, question, now=now, ref=ref)
    if query.expand:
        hits += _expansion(caller, query, hits, now=now)
    if query.include_impact:
        hits = links.with_impact(hits)
    return RecallAnswer(
        hits=tuple(hits),
        used_vectors=question.vector is not None,
        trouble=question.trouble,
        candidates=len(pool),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """A question as the generators and the scoring read it.

    `telling` are its words that are neither in half of the scope nor a name of an author there.
    """

    terms: tuple[str, ...]
    telling: tuple[str, ...]
    weights: Mapping[str, float]
    vector: QuestionVector | None
    words: NDArray[np.float32] | None
    words_fingerprint: str
    trouble: str
    time: AskedTime
    named: frozenset[int]
    named_ids: frozenset[UUID]


def _checked(caller: Caller, query: RecallQuery) -> RecallQuery:
    """Return the question within the caller's namespaces; raise QueryInvalid."""
    if not 1 <= query.k <= MAXIMUM_HITS:
        raise QueryInvalid(f"k is {query.k}; it must be from 1 to {MAXIMUM_HITS}.")
    if not 1 <= query.expansion_depth <= MAXIMUM_EXPANSION_DEPTH:
        raise QueryInvalid(
            f"expansion_depth is {query.expansion_depth}; it must be from 1 to"
            f" {MAXIMUM_EXPANSION_DEPTH}."
        )
    if any(at is not None and at.tzinfo is None for at in (query.since, query.until, query.as_of)):
        raise QueryInvalid("A time needs a time zone, for example 2030-01-31T12:00:00Z.")
    unknown = sorted(query.include - set(Memory.State.values))
    if unknown:
        known = ", ".join(Memory.State.values)
        raise QueryInvalid(f"There is no state {unknown[0]!r} to include; there are: {known}.")
    mine = dict.fromkeys(key for key in query.namespace_ids if caller.can(Action.READ_MEMORY, key))
    return replace(
        query,
        text=printable(query.text)[:MAXIMUM_QUESTION_CHARACTERS],
        namespace_ids=tuple(mine),
        tags=frozenset(valid_tags(query.tags)),
        exclude_tags=frozenset(valid_tags(query.exclude_tags)),
    )


def _read(
    caller: Caller, query: RecallQuery, provider: Provider | None, *, now: datetime
) -> _Question:
    terms = tuple(query_terms(query.text))
    scope = candidates.scope_of(caller=caller, query=query, terms=terms)
    authors = frozenset(word for author in scope.authors for word in code_tokens(author))
    untelling = frozenset(
        term for term in terms if term in authors or scope.statistics.is_common(term)
    )
    telling = tuple(term for term in terms if term not in untelling) or terms
    text = scoring.without_words(query.text, words_of=code_tokens, left_out=untelling).strip()
    vector, words, fingerprint, trouble = _embedded(text, provider)
    return _Question(
        terms=terms,
        telling=telling,
        weights={term: scope.statistics.weight(term) for term in telling},
        vector=vector,
        words=words,
        words_fingerprint=fingerprint,
        trouble=trouble,
        time=asked_time(query.text, now=query.as_of or now),
        named=links.memories_of_named_code(query),
        named_ids=links.memories_that_name(query),
    )


def _embedded(
    text: str, provider: Provider | None
) -> tuple[QuestionVector | None, NDArray[np.float32] | None, str, str]:
    """Return the question's vector, its words' vectors, which contexts fit to these; or why not."""
    if not text:
        return None, None, "", "It has no words that tell anything."
    try:
        model = provider or embedding.from_settings()
        vector = QuestionVector(
            values=model.embed([text], kind="query")[0], fingerprint=model.fingerprint
        )
        by_words = word_model(model)
        words = by_words.embed_words([text])[0].values if by_words else None
        return vector, words, context_fingerprint(model), ""
    except EmbeddingUnavailable as error:
        logger.warning("recall_without_vectors", reason=str(error))
        return None, None, "", str(error)


# --- Candidates -----------------------------------------------------------------------------------
class _Row(NamedTuple):
    """The columns that scoring reads of a memory; the rest is loaded for the hits only."""

    id: UUID
    number: int
    namespace_id: UUID
    repository_id: UUID | None
    branch: str
    memory_type: str
    state: str
    content: str
    tokens: str
    tags: Sequence[str]
    author_name: str
    importance: float
    confidence: float
    created_at: datetime
    session_id: str
    fingerprint: str
    distance: float | None


class _Context(NamedTuple):
    """What a memory is among its neighbors; see MemoryContext."""

    around: Sequence[UUID]
    before: int
    tokens: str
    words: bytes
    fingerprint: str

    @property
    def steps(self) -> dict[UUID, int]:
        return wordwise.steps(self.around, before=self.before)


_COLUMNS = (
    *("pk", "number", "namespace_id", "repository_id", "branch", "memory_type", "state"),
    *("content", "tokens", "tags", "author_name", "importance", "confidence", "created_at"),
    *("session_id", "embedding_fingerprint", "distance"),
)
_CONTEXT_COLUMNS = ("around", "before", "tokens", "words", "fingerprint")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """A memory that may answer: its row, its context, and who found it."""

    row: _Row
    context: _Context | None
    found_by: frozenset[str]

    @property
    def vertex(self) -> int:
        return graph_id(label=VertexLabel.MEMORY, key=self.row.number)

    @property
    def tokens(self) -> str:
        """Its words; a short memory's with those of its neighbors."""
        return (self.context and self.context.tokens) or self.row.tokens

    @property
    def next_to(self) -> frozenset[UUID]:
        """The memory right before it in its session, and the one right after it."""
        steps = self.context.steps if self.context else {}
        return frozenset(key for key, far in steps.items() if far == 1)

    @property
    def is_in_session(self) -> bool:
        return bool(self.context and self.context.tokens)


def _pool(
    caller: Caller, query: RecallQuery, question: _Question, *, now: datetime
) -> list[_Candidate]:
    """Return the union of what the generators found; the filters hold here once more."""
    found = candidates.nearest(
        caller=caller,
        query=query,
        terms=question.telling,
        vector=question.vector,
        now=now,
        spans=question.time.spans,
    )
    names = Q(pk__any_of=question.named_ids) | Q(number__any_of=question.named)
    allowed = answering(caller=caller, query=query, namespace_ids=query.namespace_ids, now=now)
    rows, contexts = _rows(allowed, question, Q(pk__any_of=found) | names)
    known = {row.id for row in rows}
    seeds = sorted(rows, key=lambda row: row.distance if row.distance is not None else 2.0)[:_SEEDS]
    around = {
        key
        for row in seeds
        if row.id in contexts
        for key, steps in contexts[row.id].steps.items()
        if steps <= _STEPS_TO_CANDIDATES
    } - known
    linked = links.linked_memories(_by_namespace(seeds))
    if around or linked:
        more = Q(pk__any_of=around) | (Q(number__any_of=linked) & ~Q(pk__any_of=known))
        other_rows, other_contexts = _rows(allowed, question, more)
        rows += other_rows
        contexts |= other_contexts
    pool = []
    for row in rows:
        by = set(found.get(row.id, ()))
        if row.number in question.named or row.id in question.named_ids:
            by.add("name")
        if row.id in around:
            by.add("neighbor")
        elif row.id not in known:
            by.add("link")
        pool.append(_Candidate(row=row, context=contexts.get(row.id), found_by=frozenset(by)))
    return pool if query.as_of is None else _of_then(pool, caller, query.as_of)


def _rows(
    allowed: QuerySet[Memory], question: _Question, wanted: Q
) -> tuple[list[_Row], dict[UUID, _Context]]:
    """Return the wanted rows, and the contexts of those that have one. One query."""
    distance = (
        Value(None, output_field=FloatField())
        if question.vector is None
        else candidates.distance_to(question.vector)
    )
    found = (
        allowed.filter(wanted)
        .annotate(distance=distance)
        .order_by()
        .values_list(*_COLUMNS, *(f"context__{name}" for name in _CONTEXT_COLUMNS))
    )
    rows: list[_Row] = []
    contexts: dict[UUID, _Context] = {}
    for values in found:
        row = _Row._make(values[: len(_COLUMNS)])
        context = _Context._make(values[len(_COLUMNS) :])
        rows.append(row)
        if context.around is not None:
            contexts[row.id] = context
    return rows, contexts


def _contexts(ids: Iterable[UUID]) -> dict[UUID, _Context]:
    rows = MemoryContext.objects.filter(memory__pk__any_of=list(ids))
    return {
        key: _Context._make(values)
        for key, *values in rows.values_list("memory_id", *_CONTEXT_COLUMNS)
    }


def _by_namespace(rows: Iterable[_Row]) -> dict[UUID, list[int]]:
    found: dict[UUID, list[int]] = {}
    for row in rows:
        vertex = graph_id(label=VertexLabel.MEMORY, key=row.number)
        found.setdefault(row.namespace_id, []).append(vertex)
    return found


def _of_then(pool: Sequence[_Candidate], caller: Caller, at: datetime) -> list[_Candidate]:
    """Return the candidates that held at a time, with the words of then.

    Their vectors are the present's: of what was changed since, the words alone are compared.
    """
    rows = Memory.objects.filter(pk__in=[one.row.id for one in pool])
    then = as_of(rows, caller=caller, at=at)
    held = []
    for one in pool:
        snapshot = then.get(one.row.id)
        if snapshot is None or not _held(snapshot, at):
            continue
        if snapshot["content"] == one.row.content:
            held.append(one)
            continue
        tokens = words_of(
            snapshot["content"],
            tags=snapshot["tags"],
            rationale=snapshot["rationale"],
            alternatives=snapshot["alternatives"],
            acceptance_criteria=snapshot["acceptance_criteria"],
        )
        row = one.row._replace(content=snapshot["content"], tokens=tokens, distance=None)
        held.append(replace(one, row=row, context=None))
    return held


def _held(snapshot: Snapshot, at: datetime) -> bool:
    """Tell whether what a snapshot says answered then: not proposed, not ended, not past its time.

    It may have ended since, or have been ended then and come back since.
    """
    if snapshot["state"] == Memory.State.PROPOSED:
        return False
    ends = (snapshot[name] for name in ("ended_at", "expires_at"))
    return all(end is None or datetime.fromisoformat(end) > at for end in ends)


# --- Scoring --------------------------------------------------------------------------------------
def _hits(
    pool: Sequence[_Candidate],
    caller: Caller,
    query: RecallQuery,
    question: _Question,
    *,
    now: datetime,
    ref: RefState | None,
) -> list[RecallHit]:
    """Return the candidates that pass the floor, best first, as far as they are still there."""
    settings = policies.values(query.namespace_ids, "recall.")
    evidence = _evidence(pool, query, question, now=query.as_of or now)
    relevances = [scoring.relevance(one) for one in evidence]
    floors = [float(settings[one.row.namespace_id][_FLOOR_KEY]) for one in pool]
    passed = scoring.above_floor(relevances, floors=floors)
    if not any(passed):
        return []
    gains = links.linked_relevance([(one.row.namespace_id, one.vertex) for one in pool], relevances)
    linked = [
        replace(one, linked=gain) if gain else one
        for one, gain in zip(evidence, gains, strict=True)
    ]
    weights = {key: _weights(mine) for key, mine in settings.items()}
    scored = scoring.scores(linked, weights=[weights[one.row.namespace_id] for one in pool])
    answers = [
        _Answer(score=score, candidate=candidate, relevance=relevant, parts=parts)
        for candidate, (score, parts), relevant, is_answer in zip(
            pool, scored, relevances, passed, strict=True
        )
        if is_answer
    ]
    best = _spread_out(_once(sorted(answers, key=_place, reverse=True)), most=2 * query.k)
    anchors = anchors_of(
        [one.candidate.row.id for one in best], ref=ref, repository_id=query.repository_id
    )
    demoted = [
        replace(one, score=one.score * demotion(anchors.get(one.candidate.row.id, ())))
        for one in best
    ]
    last = sorted(demoted, key=_place, reverse=True)[: query.k]
    wanted = Q(pk__any_of=[one.candidate.row.id for one in last])
    memories = _memories(caller, query, wanted, now=now)
    beside = _neighbors(caller, query, last, settings, now=now) if query.neighbors else {}
    return [
        RecallHit(
            memory=memories[one.candidate.row.id],
            score=one.score,
            relevance=one.relevance,
            parts=one.parts,
            found_by=tuple(sorted(one.candidate.found_by)),
            anchors=state_of(anchors.get(one.candidate.row.id, ())),
            neighbors=beside.get(one.candidate.row.id, ()),
        )
        for one in last
        if one.candidate.row.id in memories
    ]


def _neighbors(
    caller: Caller,
    query: RecallQuery,
    answers: Sequence["_Answer"],
    settings: Mapping[UUID, Mapping[str, policies.Value]],
    *,
    now: datetime,
) -> dict[UUID, tuple[Neighbor, ...]]:
    rows = {one.candidate.row.id: one.candidate for one in answers}
    return neighbors_of(
        caller=caller,
        query=query,
        around={
            key: places(one.context.around, before=one.context.before) if one.context else {}
            for key, one in rows.items()
        },
        characters={
            key: int(settings[one.row.namespace_id][_NEIGHBORS_KEY]) for key, one in rows.items()
        },
        now=now,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    score: float
    candidate: _Candidate
    relevance: float
    parts: ScoreParts


def _place(answer: _Answer) -> tuple[float, UUID]:
    # Between equals the newer id decides, so that one question has one answer.
    return answer.score, answer.candidate.row.id


def _once(answers: Iterable[_Answer]) -> list[_Answer]:
    """Return answers without those that say the same words as a better one."""
    seen: set[str] = set()
    kept = []
    for answer in answers:
        said = " ".join(answer.candidate.row.content.casefold().split())
        if said not in seen:
            seen.add(said)
            kept.append(answer)
    return kept


def _spread_out(answers: Sequence[_Answer], *, most: int) -> list[_Answer]:
    """Return the best answers, those of one place in one session giving way to others."""
    considered = answers[: 2 * most]
    placed = [
        scoring.Placed(
            id=one.candidate.row.id,
            score=one.score,
            session=one.candidate.row.session_id,
            beside=one.candidate.next_to,
        )
        for one in considered
    ]
    return [
        replace(considered[place], score=score)
        for place, score in scoring.spread_out(placed, most=most)
    ]


def _weights(settings: Mapping[str, policies.Value]) -> ScoreParts:
    return ScoreParts(
        **{
            key.removeprefix(_WEIGHT_KEYS): float(value)
            for key, value in settings.items()
            if key.startswith(_WEIGHT_KEYS)
        }
    )


def _evidence(
    pool: Sequence[_Candidate], query: RecallQuery, question: _Question, *, now: datetime
) -> list[Evidence]:
    likeness = _likeness(pool, question)
    lengths = [scoring.length(candidate.tokens) for candidate in pool]
    mean_length = {
        kind: _mean(
            length
            for candidate, length in zip(pool, lengths, strict=True)
            if candidate.is_in_session is kind
        )
        for kind in (True, False)
    }
    words = {tag: code_tokens(tag) for candidate in pool for tag in candidate.row.tags}
    names = {one.row.author_name: code_tokens(one.row.author_name) for one in pool}
    evidence = []
    for candidate, length in zip(pool, lengths, strict=True):
        row = candidate.row
        found = scoring.occurrences(question.telling, candidate.tokens)
        alone, together = likeness.get(row.id, (None, None))
        tags = [words[tag] for tag in row.tags]
        one = Evidence(
            vector=_cosine(row, question.vector),
            alone=alone,
            together=together,
            text=scoring.bm25(
                found,
                weights=question.weights,
                length=length,
                mean_length=mean_length[candidate.is_in_session],
            ),
            coverage=scoring.coverage(question.telling, found, weights=question.weights),
            exact=float("name" in candidate.found_by),
            temporal=question.time.alignment(row.created_at, row.content),
            asks=scoring.asks(row.content),
            tags=scoring.tag_match(question.terms, [*tags, names[row.author_name]]),
            scope=_affinity(row, query),
            importance=_importance(row),
            confidence=row.confidence,
            recency=scoring.recency(row.created_at, now),
        )
        evidence.append(one)
    return evidence


def _likeness(pool: Sequence[_Candidate], question: _Question) -> dict[UUID, tuple[float, float]]:
    """Compare the question with the likeliest candidates word by word, alone and with neighbors."""
    if question.words is None:
        return {}
    fit = {
        one.row.id: one.context
        for one in sorted(
            pool, key=lambda one: one.row.distance if one.row.distance is not None else 2.0
        )
        if one.context is not None and one.context.fingerprint == question.words_fingerprint
    }
    chosen = dict(list(fit.items())[:_COMPARED_WORDWISE])
    missing = {key for context in chosen.values() for key in context.around} - set(fit)
    beside = _contexts(missing) if missing else {}
    packed = {key: bytes(context.words) for key, context in (*fit.items(), *beside.items())}
    wanted = {*chosen, *(key for context in chosen.values() for key in context.around)}
    return wordwise.likeness(
        question.words,
        {key: packed[key] for key in wanted if key in packed},
        around={key: context.steps for key, context in chosen.items()},
    )


def _mean(values: Iterable[float]) -> float:
    some = list(values)
    return sum(some) / max(len(some), 1)


def _importance(row: _Row) -> float:
    """Return a memory's importance; a failure that nobody resolved matters as much as anything."""
    if row.memory_type == MemoryType.FAILURE and row.state == Memory.State.ACTIVE:
        return _UNRESOLVED_FAILURE
    return row.importance


def _cosine(row: _Row, vector: QuestionVector | None) -> float | None:
    if vector is None or row.fingerprint != vector.fingerprint:
        return None
    return None if row.distance is None else 1.0 - row.distance


def _affinity(row: _Row, query: RecallQuery) -> float:
    """Return how close a memory's scope is to the question's: branch, repository, namespace."""
    if query.branch and row.branch == query.branch:
        return 1.0
    if query.repository_id is not None and row.repository_id == query.repository_id:
        return 0.5
    return 0.0


# --- Around the hits ------------------------------------------------------------------------------
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
    """Return memories that the filters allow, as they read now, or read at `as_of`."""
    rows = answering(caller=caller, query=query, namespace_ids=query.namespace_ids, now=now)
    memories = {row.pk: stored(row, now=now) for row in shown(rows.filter(wanted))}
    if query.as_of is None:
        return memories
    then = as_of(rows.filter(pk__in=memories), caller=caller, at=query.as_of)
    return {
        key: _as_it_read(memory, then[key])
        for key, memory in memories.items()
        if key in then and _held(then[key], query.as_of)
    }


def _as_it_read(memory: StoredMemory, snapshot: Snapshot) -> StoredMemory:
    return replace(
        memory,
        content=snapshot["content"],
        memory_type=MemoryType(snapshot["memory_type"]),
        rationale=snapshot["rationale"],
        tags=tuple(snapshot["tags"]),
        importance=snapshot["importance"],
        confidence=snapshot["confidence"],
        state=Memory.State.ACTIVE.value,
    )
