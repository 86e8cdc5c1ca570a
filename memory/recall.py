"""From a question and a scope to ranked memories: the one path by which memories answer.

Candidates come from filtered generators (vector, words, words of a session, times, names, links),
are scored together, and must pass an absolute floor: a question that nothing here answers gets
nothing.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from itertools import islice
from typing import NamedTuple
from uuid import UUID

import numpy as np
import structlog
from numpy.typing import NDArray

from codemem import embedding, policies
from codemem.accounts.values import Action, Caller
from codemem.embedding import EmbeddingUnavailable, Provider
from codemem.embedding.words import word_model
from codemem.plans import array_of
from codemem.words import code_tokens, query_terms
from graph.values import RefState, VertexLabel, graph_id
from memory import candidates, links, pool, scoring, wordwise
from memory.candidates import Condition, QuestionVector
from memory.context import context_fingerprint
from memory.models import Memory
from memory.neighbors import neighbors_of, places
from memory.pool import Context, Key, Row
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
_BY_NAME = frozenset({"name"})
_BY_NEIGHBOR = frozenset({"neighbor"})
_BY_LINK = frozenset({"link"})
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
    what the hits cite is compared with the code there. About ten queries; one more for each
    namespace that is large enough for indexes of its own. Raise QueryInvalid.
    """
    query = _checked(caller, query)
    question = _read(caller, query, provider, now=now)
    condition = candidates.condition_of(
        caller=caller, query=query, namespace_ids=query.namespace_ids, now=now
    )
    found, words = _pool(caller, query, question, condition, now=now)
    hits = _hits(found, caller, query, question, condition, words=words, now=now, ref=ref)
    if query.expand:
        hits += _expansion(caller, query, condition, hits, now=now)
    if query.include_impact:
        hits = links.with_impact(hits)
    return RecallAnswer(
        hits=tuple(hits),
        used_vectors=question.vector is not None,
        trouble=question.trouble,
        candidates=len(found),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """A question as the generators and the scoring read it.

    `telling` are its words that are neither in half of the scope nor a name of an author there.
    """

    terms: tuple[str, ...]
    telling: tuple[str, ...]
    scope: candidates.Scope
    weights: Mapping[str, float]
    vector: QuestionVector | None
    words: NDArray[np.float32] | None
    words_fingerprint: str
    trouble: str
    time: AskedTime
    named: frozenset[int]
    named_keys: frozenset[Key]


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
    model, trouble = _model(provider)
    scope = candidates.scope_of(
        caller=caller,
        query=query,
        terms=terms,
        fingerprint=model.fingerprint if model else "",
    )
    authors = frozenset(word for author in scope.authors for word in code_tokens(author))
    untelling = frozenset(
        term for term in terms if term in authors or scope.statistics.is_common(term)
    )
    telling = tuple(term for term in terms if term not in untelling) or terms
    text = scoring.without_words(query.text, words_of=code_tokens, left_out=untelling).strip()
    vector, words, fingerprint = None, None, ""
    if model is not None:
        vector, words, fingerprint, trouble = _embedded(text, model)
    return _Question(
        terms=terms,
        telling=telling,
        scope=scope,
        weights={term: scope.statistics.weight(term) for term in telling},
        vector=vector,
        words=words,
        words_fingerprint=fingerprint,
        trouble=trouble,
        time=asked_time(query.text, now=query.as_of or now),
        named=links.memories_of_named_code(query),
        named_keys=frozenset(key.bytes for key in links.memories_that_name(query)),
    )


def _model(provider: Provider | None) -> tuple[Provider | None, str]:
    """Return the model that answers; or none, and why."""
    try:
        return provider or embedding.from_settings(), ""
    except EmbeddingUnavailable as error:
        logger.warning("recall_without_vectors", reason=str(error))
        return None, str(error)


def _embedded(
    text: str, model: Provider
) -> tuple[QuestionVector | None, NDArray[np.float32] | None, str, str]:
    """Return the question's vector, its words' vectors, which contexts fit to these; or why not."""
    if not text:
        return None, None, "", "It has no words that tell anything."
    try:
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
class _Candidate(NamedTuple):
    """A memory that may answer: its row, its context, and who found it."""

    row: Row
    context: Context | None
    found_by: frozenset[str]

    @property
    def vertex(self) -> int:
        return graph_id(label=VertexLabel.MEMORY, key=self.row.number)

    @property
    def id(self) -> UUID:
        return UUID(bytes=self.row.key)

    @property
    def tokens(self) -> str:
        """Its words; a short memory's with those of its neighbors."""
        return (self.context and self.context.tokens) or self.row.tokens

    @property
    def next_to(self) -> frozenset[Key]:
        """The memory right before it in its session, and the one right after it."""
        steps = self.context.steps if self.context else {}
        return frozenset(key for key, far in steps.items() if far == 1)

    @property
    def is_in_session(self) -> bool:
        return bool(self.context and self.context.tokens)


def _pool(
    caller: Caller,
    query: RecallQuery,
    question: _Question,
    condition: Condition,
    *,
    now: datetime,
) -> tuple[list[_Candidate], dict[Key, bytes]]:
    """Return the union of what the generators found, and the words of those around them.

    The filters hold here once more.
    """
    if candidates.scanned_alone(query, question.vector, built=question.scope.indexes):
        found, seeds = _scanned(query, question, condition)
    else:
        found, seeds = _searched(caller, query, question, condition, now=now)
    linked = links.linked_memories(_by_namespace(seeds)) - {row.number for row in found.rows}
    every = _candidates(found)
    words = found.words
    if linked:
        others = _read_rows(condition, question, numbers=linked)
        every += [one._replace(found_by=_BY_LINK) for one in _candidates(others)]
        words = found.words | others.words
    return (every if query.as_of is None else _of_then(every, caller, query.as_of)), words


def _scanned(
    query: RecallQuery, question: _Question, condition: Condition
) -> tuple[pool.Pool, list[Row]]:
    """Return the pool of one statement, and its rows nearest to the question."""
    assert question.vector is not None
    named = []
    if question.named_keys:
        named.append("id = ANY (%(named_keys)s::uuid[])")
    if question.named:
        named.append("number = ANY (%(named)s::bigint[])")
    scan = candidates.scan_of(
        condition,
        query=query,
        terms=question.telling,
        vector=question.vector,
        spans=question.time.spans,
        namespace_ids=query.namespace_ids,
        named=" OR ".join(named),
    )
    names = {
        "named_keys": pool.array_of_keys(question.named_keys),
        "named": array_of(question.named),
    }
    found = pool.read_scanned(
        replace(scan, parameters={**scan.parameters, **names}),
        seeds=_SEEDS,
        steps=_STEPS_TO_CANDIDATES,
        words_of=question.words_fingerprint,
        compared=_COMPARED_WORDWISE,
    )
    ranked = (row for row in found.rows if found.found_by[row.key] != _BY_NEIGHBOR)
    return found, sorted(ranked, key=_distance)[:_SEEDS]


def _searched(
    caller: Caller,
    query: RecallQuery,
    question: _Question,
    condition: Condition,
    *,
    now: datetime,
) -> tuple[pool.Pool, list[Row]]:
    """Return the pool where some namespaces are searched by their indexes, or by words alone."""
    by = candidates.nearest(
        caller=caller,
        query=query,
        terms=question.telling,
        vector=question.vector,
        now=now,
        spans=question.time.spans,
        built=question.scope.indexes,
    )
    found = _read_rows(
        condition, question, keys={*by, *question.named_keys}, numbers=question.named
    )
    for row in found.rows:
        is_named = row.number in question.named or row.key in question.named_keys
        found.found_by[row.key] = frozenset(by.get(row.key, ())) | (
            _BY_NAME if is_named else frozenset()
        )
    seeds = sorted(found.rows, key=_distance)[:_SEEDS]
    around = {
        key
        for row in seeds
        if row.key in found.contexts
        for key, steps in found.contexts[row.key].steps.items()
        if steps <= _STEPS_TO_CANDIDATES
    } - set(found.found_by)
    if around:
        others = _read_rows(condition, question, keys=around)
        found.rows.extend(others.rows)
        found.contexts.update(others.contexts)
        found.words.update(others.words)
        found.found_by.update(dict.fromkeys(others.found_by, _BY_NEIGHBOR))
    return found, seeds


def _read_rows(
    condition: Condition,
    question: _Question,
    *,
    keys: Collection[Key] = (),
    numbers: Collection[int] = (),
) -> pool.Pool:
    return pool.read(
        condition,
        keys=keys,
        numbers=numbers,
        vector=question.vector,
        words_of=question.words_fingerprint,
        compared=_COMPARED_WORDWISE,
    )


def _candidates(found: pool.Pool) -> list[_Candidate]:
    return [
        _Candidate(row, found.contexts.get(row.key), found.found_by[row.key]) for row in found.rows
    ]


def _distance(row: Row) -> float:
    """Return a row's distance from the question, more than any where it is unknown."""
    return row.distance if row.distance is not None else 2.0


def _by_namespace(rows: Iterable[Row]) -> dict[UUID, list[int]]:
    found: dict[Key, list[int]] = {}
    for row in rows:
        vertex = graph_id(label=VertexLabel.MEMORY, key=row.number)
        found.setdefault(row.namespace, []).append(vertex)
    return {UUID(bytes=key): vertices for key, vertices in found.items()}


def _of_then(found: Sequence[_Candidate], caller: Caller, at: datetime) -> list[_Candidate]:
    """Return the candidates that held at a time, with the words of then.

    Their vectors are the present's: of what was changed since, the words alone are compared.
    """
    rows = Memory.objects.filter(pk__in=[one.id for one in found])
    then = as_of(rows, caller=caller, at=at)
    held = []
    for one in found:
        snapshot = then.get(one.id)
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
        held.append(one._replace(row=row, context=None))
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
    found: Sequence[_Candidate],
    caller: Caller,
    query: RecallQuery,
    question: _Question,
    condition: Condition,
    *,
    words: Mapping[Key, bytes],
    now: datetime,
    ref: RefState | None,
) -> list[RecallHit]:
    """Return the candidates that pass the floor, best first, as far as they are still there."""
    settings = {
        key.bytes: policies.held_in(kept, "recall.")
        for key, kept in question.scope.settings.items()
    }
    evidence = _evidence(found, words, query, question, now=query.as_of or now)
    relevances = [scoring.relevance(one) for one in evidence]
    floors = {key: float(mine[_FLOOR_KEY]) for key, mine in settings.items()}
    passed = scoring.above_floor(relevances, floors=[floors[one.row.namespace] for one in found])
    if not any(passed):
        return []
    gains = links.linked_relevance(
        _by_namespace(one.row for one in found), [one.vertex for one in found], relevances
    )
    linked = [
        one._replace(linked=gain) if gain else one
        for one, gain in zip(evidence, gains, strict=True)
    ]
    weights = {key: _weights(mine) for key, mine in settings.items()}
    scored = scoring.scores(linked, weights=[weights[one.row.namespace] for one in found])
    answers = [
        _Answer(score=score, candidate=candidate, relevance=relevant, parts=values)
        for candidate, (score, values), relevant, is_answer in zip(
            found, scored, relevances, passed, strict=True
        )
        if is_answer
    ]
    best = _spread_out(_once(sorted(answers, key=_place, reverse=True)), most=2 * query.k)
    anchors = anchors_of(
        [one.candidate.id for one in best if one.candidate.row.is_anchored],
        ref=ref,
        repository_id=query.repository_id,
    )
    demoted = [
        one._replace(score=one.score * demotion(anchors.get(one.candidate.id, ()))) for one in best
    ]
    last = sorted(demoted, key=_place, reverse=True)[: query.k]
    memories = _memories(
        caller, query, condition, keys=[one.candidate.row.key for one in last], now=now
    )
    beside = _neighbors(caller, query, last, settings, now=now) if query.neighbors else {}
    return [
        RecallHit(
            memory=memories[one.candidate.id],
            score=one.score,
            relevance=one.relevance,
            parts=scoring.parts(one.parts),
            found_by=tuple(sorted(one.candidate.found_by)),
            anchors=state_of(anchors.get(one.candidate.id, ())),
            neighbors=beside.get(one.candidate.id, ()),
        )
        for one in last
        if one.candidate.id in memories
    ]


def _neighbors(
    caller: Caller,
    query: RecallQuery,
    answers: Sequence["_Answer"],
    settings: Mapping[Key, Mapping[str, policies.Value]],
    *,
    now: datetime,
) -> dict[UUID, tuple[Neighbor, ...]]:
    rows = {one.candidate.id: one.candidate for one in answers}
    return neighbors_of(
        caller=caller,
        query=query,
        around={
            key: places(
                [UUID(bytes=near) for near in one.context.around], before=one.context.before
            )
            if one.context
            else {}
            for key, one in rows.items()
        },
        characters={
            key: int(settings[one.row.namespace][_NEIGHBORS_KEY]) for key, one in rows.items()
        },
        now=now,
    )


class _Answer(NamedTuple):
    score: float
    candidate: _Candidate
    relevance: float
    parts: tuple[float, ...]


def _place(answer: _Answer) -> tuple[float, Key]:
    # Between equals the newer id decides, so that one question has one answer.
    return answer.score, answer.candidate.row.key


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
            id=one.candidate.row.key,
            score=one.score,
            session=one.candidate.row.session_id,
            beside=one.candidate.next_to,
        )
        for one in considered
    ]
    return [
        considered[place]._replace(score=score)
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
    found: Sequence[_Candidate],
    words: Mapping[Key, bytes],
    query: RecallQuery,
    question: _Question,
    *,
    now: datetime,
) -> list[Evidence]:
    likeness = _likeness(found, words, question)
    tokens = [one.tokens for one in found]
    lengths = [scoring.length(line) for line in tokens]
    mean_length = {
        kind: _mean(
            length for one, length in zip(found, lengths, strict=True) if one.is_in_session is kind
        )
        for kind in (True, False)
    }
    tag_match = _tag_match(question.terms)
    evidence = []
    for candidate, line, length in zip(found, tokens, lengths, strict=True):
        row = candidate.row
        occurring = scoring.occurrences(question.telling, line)
        alone, together = likeness.get(row.key, (None, None))
        one = Evidence(
            vector=_cosine(row, question.vector),
            alone=alone,
            together=together,
            text=scoring.bm25(
                occurring,
                weights=question.weights,
                length=length,
                mean_length=mean_length[candidate.is_in_session],
            ),
            coverage=scoring.coverage(question.telling, occurring, weights=question.weights),
            exact=float("name" in candidate.found_by),
            temporal=question.time.alignment(row.created_at, row.content),
            asks=scoring.asks(row.content),
            tags=tag_match(tuple(row.tags), row.author_name),
            scope=_affinity(row, query),
            importance=_importance(row),
            confidence=row.confidence,
            recency=scoring.recency(row.created_at, now),
        )
        evidence.append(one)
    return evidence


def _tag_match(terms: Sequence[str]) -> Callable[[tuple[str, ...], str], float]:
    """Return how well the question names tags or an author, each of them looked at once."""

    @cache
    def match(tags: tuple[str, ...], author: str) -> float:
        return scoring.tag_match(terms, [*(words(tag) for tag in tags), words(author)])

    words = cache(code_tokens)
    return match


def _likeness(
    found: Sequence[_Candidate], words: Mapping[Key, bytes], question: _Question
) -> dict[Key, tuple[float, float]]:
    """Compare the question with the likeliest candidates word by word, alone and with neighbors.

    `words` are those of neighbors that are no candidates.
    """
    if question.words is None:
        return {}
    fit = {
        one.row.key: one.context
        for one in sorted(found, key=lambda one: _distance(one.row))
        if one.context is not None and one.context.fingerprint == question.words_fingerprint
    }
    chosen = dict(islice(fit.items(), _COMPARED_WORDWISE))
    wanted = {key for context in chosen.values() for key in context.around} | set(chosen)
    packed = {
        key: fit[key].words if key in fit else words[key]
        for key in wanted
        if key in fit or key in words
    }
    return wordwise.likeness(
        question.words,
        packed,
        around={key: context.steps for key, context in chosen.items()},
    )


def _mean(values: Iterable[float]) -> float:
    some = list(values)
    return sum(some) / max(len(some), 1)


def _importance(row: Row) -> float:
    """Return a memory's importance; a failure that nobody resolved matters as much as anything."""
    if row.memory_type == MemoryType.FAILURE and row.state == Memory.State.ACTIVE:
        return _UNRESOLVED_FAILURE
    return row.importance


def _cosine(row: Row, vector: QuestionVector | None) -> float | None:
    if vector is None or row.fingerprint != vector.fingerprint:
        return None
    return None if row.distance is None else 1.0 - row.distance


def _affinity(row: Row, query: RecallQuery) -> float:
    """Return how close a memory's scope is to the question's: branch, repository, namespace."""
    if query.branch and row.branch == query.branch:
        return 1.0
    if query.repository_id is not None and row.repository == query.repository_id.bytes:
        return 0.5
    return 0.0


# --- Around the hits ------------------------------------------------------------------------------
def _expansion(
    caller: Caller,
    query: RecallQuery,
    condition: Condition,
    hits: Sequence[RecallHit],
    *,
    now: datetime,
) -> list[RecallHit]:
    """Return neighbors of the hits that the question's filters allow, at most `k` more."""

    def allowed(numbers: Collection[int]) -> dict[int, StoredMemory]:
        found = _memories(caller, query, condition, numbers=numbers, now=now)
        return {memory.number: memory for memory in found.values()}

    return links.neighbors(hits, depth=query.expansion_depth, allowed=allowed, limit=query.k)


def _memories(
    caller: Caller,
    query: RecallQuery,
    condition: Condition,
    *,
    keys: Collection[Key] = (),
    numbers: Collection[int] = (),
    now: datetime,
) -> dict[UUID, StoredMemory]:
    """Return memories that the filters allow, as they read now, or read at `as_of`."""
    if not keys and not numbers:
        return {}
    memories = pool.stored_memories(condition, keys=keys, numbers=numbers, now=now)
    if query.as_of is None:
        return memories
    then = as_of(Memory.objects.filter(pk__in=memories), caller=caller, at=query.as_of)
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
