"""Which memories may answer a question: filtered generators, each with its own reason.

Every filter stands inside the query that ranks, before its LIMIT. Knows nothing of weights.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
from django.contrib.postgres.search import SearchVectorField
from django.core.exceptions import EmptyResultSet
from django.db import connection, transaction
from django.db.models import (
    BooleanField,
    Case,
    F,
    Field,
    FloatField,
    Func,
    Lookup,
    Q,
    QuerySet,
    Value,
    When,
)
from django.db.models.functions import Cast
from numpy.typing import NDArray
from pgvector.django import CosineDistance, HalfVectorField

from codemem.accounts.values import Action, Caller
from codemem.plans import kept_rows
from codemem.postgres.binary import binary_rows
from codemem.postgres.indexes import standing
from codemem.words import to_or_tsquery
from memory import indexes
from memory.models import Memory
from memory.queries import holding, in_repository, on_branch, visible_to
from memory.scoring import WordStatistics
from memory.times import Span
from memory.values import RecallQuery

PER_GENERATOR = 50

Ranked = tuple[float, UUID]
_Found = tuple[str, float, bytes]

_Compilation = tuple[str, tuple[Any, ...]]

_SAMPLE_ROWS = 500
_TOLD_WITHIN = timedelta(days=14)
_WORD_STATISTICS = Path(__file__).parent / "sql" / "word_statistics.sql"


@SearchVectorField.register_lookup
class MatchesAny(Lookup[Any]):
    """Match rows that have at least one of the words, each taken exactly as it stands."""

    lookup_name = "matches_any"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[str | int, ...]]:
        column, parameters = self.process_lhs(compiler, connection)
        return f"{column} @@ %s::tsquery", (*parameters, to_or_tsquery(self.rhs))


@Field.register_lookup
class AnyOf(Lookup[Any]):
    """Match one of some values, passed as one array.

    A parameter for each takes longer to write down and to read again than the rows take to find.
    """

    lookup_name = "any_of"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        column, parameters = self.process_lhs(compiler, connection)
        return f"{column} = ANY(%s)", (*parameters, list(self.rhs))


@dataclass(frozen=True, kw_only=True)  # without slots, so that its text is made once
class QuestionVector:
    """A question's embedding; only vectors with the same fingerprint compare with it."""

    values: NDArray[np.float32]
    fingerprint: str

    @property
    def distance(self) -> str:
        """The cosine distance of a row as SQL; null where another model made its vector.

        The condition stands around the distance, because lengths that differ are an error.
        """
        return (
            "CASE WHEN embedding_fingerprint = %(fingerprint)s"
            f" THEN embedding::halfvec({len(self.values)}) <=> %(vector)s::halfvec END"
        )

    @cached_property
    def parameters(self) -> Mapping[str, str]:
        """What `distance` takes."""
        halves = self.values.astype(np.float16).tolist()
        return {"fingerprint": self.fingerprint, "vector": f"[{','.join(map(str, halves))}]"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The place that a question is asked in.

    What a sample of its newest memories says, what its namespaces have set for themselves (see
    `policies.held_in`), and which of their search indexes stand.
    """

    statistics: WordStatistics
    authors: tuple[str, ...]
    settings: Mapping[UUID, Mapping[str, object]]
    indexes: frozenset[str]


def answering(
    *, caller: Caller, query: RecallQuery, namespace_ids: Sequence[UUID], now: datetime
) -> QuerySet[Memory]:
    """Return the memories that a question allows at all, in those namespaces that are theirs."""
    return Memory.objects.filter(
        _Compiled(*_compiled(caller, query, namespace_ids=namespace_ids, now=now))
    )


@dataclass(frozen=True, slots=True)
class Condition:
    """The filters of a question over `memory_memory`, as SQL for statements that are text."""

    text: str
    parameters: Mapping[str, Any]


def condition_of(
    *, caller: Caller, query: RecallQuery, namespace_ids: Sequence[UUID], now: datetime
) -> Condition:
    """Return what `answering` filters by."""
    text, parameters = _compiled(caller, query, namespace_ids=namespace_ids, now=now)
    names = [f"allowed_{place}" for place in range(len(parameters))]
    first, *others = text.split("%s")
    named = first + "".join(f"%({name})s{part}" for name, part in zip(names, others, strict=True))
    return Condition(named, dict(zip(names, parameters, strict=True)))


def _allowed(
    caller: Caller, query: RecallQuery, namespace_ids: Sequence[UUID], *, now: datetime
) -> QuerySet[Memory]:
    mine = [key for key in namespace_ids if caller.can(Action.READ_MEMORY, key)]
    rows = Memory.objects.filter(
        _in(mine), visible_to(caller), _standing(query, now=now), on_branch(query.branch)
    )
    if query.repository_id is not None:
        rows = rows.filter(in_repository(query.repository_id))
    if query.memory_types:
        rows = rows.filter(memory_type__in=query.memory_types)
    if query.tags:
        rows = rows.filter(tags__contains=sorted(query.tags))
    if query.exclude_tags:
        rows = rows.exclude(tags__overlap=sorted(query.exclude_tags))
    if query.min_importance > 0:
        rows = rows.filter(importance__gte=query.min_importance)
    if query.min_confidence > 0:
        rows = rows.filter(confidence__gte=query.min_confidence)
    if query.since is not None:
        rows = rows.filter(created_at__gte=query.since)
    if query.until is not None:
        rows = rows.filter(created_at__lt=query.until)
    if query.author:
        rows = rows.filter(author_name__iexact=query.author)
    return rows


def _compiled(
    caller: Caller, query: RecallQuery, *, namespace_ids: Sequence[UUID], now: datetime
) -> _Compilation:
    """Return the filters of a question as SQL.

    Half of what a question cost was Django making the same condition of the same objects again.
    """
    mine = tuple(key for key in namespace_ids if caller.can(Action.READ_MEMORY, key))
    filters = replace(
        query,
        text="",
        k=1,
        expand=False,
        expansion_depth=1,
        include_impact=False,
        neighbors=False,
    )
    text, parameters = _remembered(_Filters(caller, caller.user_id, filters, mine))
    return text, tuple(now if value is _NOW else value for value in parameters)


_NOW = datetime(1, 1, 1, tzinfo=UTC)  # stands in what is remembered for the time of the question


@dataclass(frozen=True, slots=True)
class _Filters:
    """All that the condition depends on: of the caller, whose own memories answer, the user only.

    What the caller may read at all was looked up for this question, and is in `namespace_ids`.
    """

    caller: Caller = field(compare=False)
    user_id: int
    query: RecallQuery
    namespace_ids: tuple[UUID, ...]


@lru_cache(maxsize=512)
def _remembered(filters: _Filters) -> _Compilation:
    rows = _allowed(filters.caller, filters.query, filters.namespace_ids, now=_NOW)
    try:
        compiler = rows.query.get_compiler(connection=connection)
        text, parameters = compiler.compile(rows.query.where)
    except EmptyResultSet:
        text, parameters = "false", ()
    return text, tuple(parameters)


class _Compiled(Func):
    """Filters that are SQL already."""

    conditional = True

    def __init__(self, text: str, parameters: Sequence[Any]) -> None:
        super().__init__(output_field=BooleanField())
        self._sql = text, tuple(parameters)

    def as_sql(self, *_: Any, **__: Any) -> tuple[str, tuple[Any, ...]]:
        return self._sql


def _standing(query: RecallQuery, *, now: datetime) -> Q:
    """Return the condition that a memory holds, or held at `as_of`, or is in a state asked for.

    What held then may be ended by now; that it did say something else is for the versions to tell.
    """
    if query.as_of is None:
        wanted = Q(state__in=query.include - {Memory.State.EXPIRED}) if query.include else Q()
        if Memory.State.EXPIRED in query.include:
            # Past its time, swept or not.
            wanted |= Q(state=Memory.State.EXPIRED) | Q(
                state=Memory.State.ACTIVE, expires_at__lte=now
            )
        return holding(now=now) | wanted if query.include else holding(now=now)
    then = query.as_of
    was_there = Q(created_at__lte=then) & ~Q(state=Memory.State.PROPOSED)
    not_ended = Q(ended_at=None) | Q(ended_at__gt=then)
    not_past = Q(expires_at=None) | Q(expires_at__gt=then)
    return was_there & not_ended & not_past


def scope_of(
    *, caller: Caller, query: RecallQuery, terms: Sequence[str], fingerprint: str = ""
) -> Scope:
    """Count the question's words in a sample of the scope, and say what else holds there.

    `fingerprint` is the model's whose indexes may stand. One query.
    """
    parameters = {
        "namespace_ids": list(query.namespace_ids),
        "repository_id": query.repository_id,
        "user_id": caller.user_id,
        "rows_each": max(1, _SAMPLE_ROWS // max(len(query.namespace_ids), 1)),
        "words": [to_or_tsquery([term]) for term in terms],
        "indexes": [
            name
            for key in query.namespace_ids
            for name in (
                indexes.vectors_index(key, fingerprint=fingerprint),
                indexes.bm25_index(key),
            )
        ],
    }
    ((documents, frequencies, authors, namespaces, settings, built),) = kept_rows(
        _statement(), parameters
    )
    return Scope(
        statistics=WordStatistics(
            documents=documents, frequencies=dict(zip(terms, frequencies, strict=True))
        ),
        authors=tuple(authors),
        settings={key: json.loads(kept) for key, kept in zip(namespaces, settings, strict=True)},
        indexes=frozenset(built),
    )


def nearest(
    *,
    caller: Caller,
    query: RecallQuery,
    terms: Sequence[str],
    vector: QuestionVector | None,
    now: datetime,
    spans: Sequence[Span] = (),
    built: frozenset[str] | None = None,
) -> dict[bytes, set[str]]:
    """Return what each generator found: keys, each with the names of those that found it.

    The 50 nearest by vector, by words and by words with the neighbors of short memories, the same
    once more of the times that the question names, and by the words of then of what has changed
    since. `built` are the indexes that stand, where that is known. Two queries; one more for each
    namespace that is large enough for indexes of its own.
    """
    vectors, words = _indexed(query, vector, built)
    found: list[_Found] = []
    for keys in _apart(query.namespace_ids, vectors | words):
        if keys[0] not in vectors | words and vector is not None:
            found += _scanned(
                scan_of(
                    condition_of(caller=caller, query=query, namespace_ids=keys, now=now),
                    query=query,
                    terms=terms,
                    vector=vector,
                    spans=spans,
                    namespace_ids=keys,
                )
            )
            continue
        rows = answering(caller=caller, query=query, namespace_ids=keys, now=now)
        generators = _generators(rows, terms, vector, spans, keys, has_bm25=keys[0] in words)
        if terms and query.as_of is not None:
            generators["version"] = nearest_of_then(rows, terms, at=query.as_of)
        if not generators:
            continue
        if vector is not None and keys[0] in vectors:
            found += _found_by_index(generators)
        else:
            found += _united(generators)
    names: dict[bytes, set[str]] = {}
    for generator in GENERATORS:
        ranked = sorted((score, key) for name, score, key in found if name == generator)
        for _, key in ranked[:PER_GENERATOR]:
            names.setdefault(key, set()).add(generator)
    return names


@dataclass(frozen=True, slots=True)
class Scan:
    """Queries that find candidates of rows which are read once, to stand behind a WITH.

    `scope` are all rows that the question allows, as (id, number, created_at, distance, rank), and
    `found` is what the generators find among them: (generator, score, id), the first of which is a
    place in GENERATORS.
    """

    text: str
    parameters: Mapping[str, Any]


def scanned_alone(
    query: RecallQuery, vector: QuestionVector | None, *, built: frozenset[str]
) -> bool:
    """Tell whether one scan finds all candidates: no namespace has an index that is used."""
    vectors, words = _indexed(query, vector, built)
    return vector is not None and bool(query.namespace_ids) and not vectors | words


def scan_of(
    condition: Condition,
    *,
    query: RecallQuery,
    terms: Sequence[str],
    vector: QuestionVector,
    spans: Sequence[Span],
    namespace_ids: Sequence[UUID],
    named: str = "",
) -> Scan:
    """Return the queries that find what all generators find.

    A third sooner than each reading the rows for itself: most of it is Postgres getting at them.
    `named` is a condition on the scope for what the question names, if it names anything.
    """
    parameters: dict[str, Any] = {
        **condition.parameters,
        **vector.parameters,
        "words": to_or_tsquery(terms),
        "namespaces": list(namespace_ids),
        "as_of": query.as_of,
        "limit": PER_GENERATOR,
    }
    told = []
    for place, span in enumerate(spans):
        parameters[f"start_{place}"] = span.start
        parameters[f"end_{place}"] = span.end + _TOLD_WITHIN
        told.append(f"(created_at >= %(start_{place})s AND created_at < %(end_{place})s)")
    parts = _parts(_NAMES, "true", has_terms=bool(terms))
    if spans:
        parts += _parts(_NAMES_IN_TIME, " OR ".join(told), has_terms=bool(terms))
    if terms and query.as_of is not None:
        parts.append(_PART_OF_THEN.format(place=GENERATORS.index("version")))
    if named:
        parts.append(_PART_BY_NAME.format(place=GENERATORS.index("name"), named=named))
    text = _SCAN.format(
        distance=vector.distance, condition=condition.text, parts=" UNION ALL ".join(parts)
    )
    return Scan(text, parameters)


def _scanned(scan: Scan) -> list[_Found]:
    statement = f"WITH {scan.text} SELECT generator, score, id FROM found"  # noqa: S608  ours
    return [
        (GENERATORS[place], score, key)
        for place, score, key in binary_rows(statement, scan.parameters, keys_as_bytes=True)
    ]


def _parts(names: Sequence[str], told: str, *, has_terms: bool) -> list[str]:
    """Return the generators that rank the rows of a scan, as far as told in some times."""
    return [
        part.format(place=GENERATORS.index(name), told=told)
        for part, name in zip(
            (_PART_BY_VECTOR, _PART_BY_WORDS, _PART_IN_SESSION), names, strict=True
        )
        if has_terms or part is _PART_BY_VECTOR
    ]


_SCAN = """
    scope AS MATERIALIZED (
        SELECT id, number, created_at, {distance} AS distance,
            CASE WHEN lexemes @@ %(words)s::tsquery
                THEN -ts_rank(lexemes, %(words)s::tsquery)::float8
            END AS rank
        FROM memory_memory
        WHERE {condition}
    ),
    found AS MATERIALIZED ({parts})"""
_NAMES = ("vector", "words", "session")
_NAMES_IN_TIME = ("time_vector", "time", "time_session")
_PART_BY_VECTOR = """
    (SELECT {place} AS generator, distance AS score, id FROM scope
    WHERE distance IS NOT NULL AND ({told})
    ORDER BY distance LIMIT %(limit)s)"""
_PART_BY_WORDS = """
    (SELECT {place} AS generator, rank AS score, id FROM scope
    WHERE rank IS NOT NULL AND ({told})
    ORDER BY rank, id DESC LIMIT %(limit)s)"""
_PART_IN_SESSION = """
    (SELECT {place} AS generator, -ts_rank(beside.lexemes, %(words)s::tsquery)::float8 AS score, id
    FROM scope JOIN memory_memorycontext beside ON beside.memory_id = id
    WHERE beside.namespace_id = ANY (%(namespaces)s) AND beside.tokens > ''
        AND beside.lexemes @@ %(words)s::tsquery
        AND ({told})
    ORDER BY score, id DESC LIMIT %(limit)s)"""
_PART_OF_THEN = """
    (SELECT {place} AS generator, -ts_rank(past.lexemes, %(words)s::tsquery)::float8 AS score,
        scope.id
    FROM scope JOIN memory_memoryversion past ON past.memory_id = scope.id
    WHERE past.valid_from <= %(as_of)s AND past.valid_to > %(as_of)s
        AND past.lexemes @@ %(words)s::tsquery
    ORDER BY score, scope.id DESC LIMIT %(limit)s)"""
_PART_BY_NAME = """
    (SELECT {place} AS generator, 0::float8 AS score, id FROM scope WHERE {named})"""


GENERATORS = (
    *("vector", "words", "session", "time", "time_vector", "time_session", "version"),
    *("name", "neighbor"),
)
"""What finds candidates; the last two find them beside the others and rank nothing."""


def _generators(
    rows: QuerySet[Memory],
    terms: Sequence[str],
    vector: QuestionVector | None,
    spans: Sequence[Span],
    namespace_ids: Sequence[UUID],
    *,
    has_bm25: bool,
) -> dict[str, QuerySet[Memory, Ranked]]:
    """Return each generator's ranked rows, by name, as far as the question has what it takes."""
    ranked: dict[str, QuerySet[Memory, Ranked]] = {}
    of_then = rows.filter(_told_in(spans)) if spans else None
    if vector is not None:
        ranked["vector"] = nearest_by_vector(rows, vector)
        if of_then is not None:
            ranked["time_vector"] = nearest_by_vector(of_then, vector)
    if not terms:
        return ranked
    ranked["words"] = (
        nearest_by_bm25(rows, terms, namespace_id=namespace_ids[0])
        if has_bm25
        else nearest_by_rank(rows, terms)
    )
    ranked["session"] = nearest_in_session(rows, terms, namespace_ids=namespace_ids)
    if of_then is not None:
        ranked["time"] = nearest_by_rank(of_then, terms)
        ranked["time_session"] = nearest_in_session(of_then, terms, namespace_ids=namespace_ids)
    return ranked


def _united(generators: Mapping[str, QuerySet[Memory, Ranked]]) -> list[_Found]:
    """Return what the generators find, asked in one statement."""
    named = [
        rows.annotate(generator=Value(name)).values_list("generator", "distance", "pk")
        for name, rows in generators.items()
    ]
    return [
        (name, distance, key.bytes)
        for name, distance, key in named[0].union(*named[1:], all=True)
        if name != "words" or distance < 0  # zero means that BM25 knows no word of it
    ]


@transaction.atomic
def _found_by_index(generators: Mapping[str, QuerySet[Memory, Ranked]]) -> list[_Found]:
    """Return what the generators find where vectors are found by an approximate index.

    All vectors that there are, also where its scan gives up.
    """
    _widen_index_scans()
    found = _united(generators)
    if sum(name == "vector" for name, _, _ in found) == PER_GENERATOR:
        return found
    # An approximate scan stops after hnsw.max_scan_tuples rows; a rare filter may have left more of
    # them unseen. Bitmap scans find the few rows, and all of them.
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_indexscan = off")
        exact = [("vector", distance, key.bytes) for distance, key in generators["vector"].all()]
        cursor.execute("SET LOCAL enable_indexscan = on")
    return [row for row in found if row[0] != "vector"] + exact


def nearest_by_vector(rows: QuerySet[Memory], vector: QuestionVector) -> QuerySet[Memory, Ranked]:
    """Return (cosine distance, id), nearest first; exact, or by the namespace's HNSW index."""
    same_model = rows.filter(embedding_fingerprint=vector.fingerprint)
    ranked = same_model.annotate(distance=_distance(vector))
    return ranked.order_by("distance").values_list("distance", "pk")[:PER_GENERATOR]


def distance_to(vector: QuestionVector) -> Case:
    """Return the cosine distance of rows of the question's model; None for those of others.

    The condition stands around the distance, because lengths that differ are an error.
    """
    return Case(
        When(embedding_fingerprint=vector.fingerprint, then=_distance(vector)),
        output_field=FloatField(),
    )


def nearest_by_bm25(
    rows: QuerySet[Memory], terms: Sequence[str], *, namespace_id: UUID
) -> QuerySet[Memory, Ranked]:
    """Return (negative BM25 score, id), best first; 0 means no word in common."""
    question = Func(
        Value(" ".join(terms)),
        Value(indexes.bm25_index(namespace_id)),
        function="to_bm25query",
        output_field=FloatField(),
    )
    distance = Func(
        F("tokens"),
        question,
        arg_joiner=" <@> ",
        template="(%(expressions)s)",
        output_field=FloatField(),
    )
    ranked = rows.annotate(distance=distance).order_by("distance")
    return ranked.values_list("distance", "pk")[:PER_GENERATOR]


def nearest_by_rank(rows: QuerySet[Memory], terms: Sequence[str]) -> QuerySet[Memory, Ranked]:
    """Return (negative rank, id) of the rows with any of the words, most words first."""
    rank = Func(
        F("lexemes"),
        Value(to_or_tsquery(terms)),
        template="-ts_rank(%(expressions)s::tsquery)",
        output_field=FloatField(),
    )
    ranked = rows.filter(lexemes__matches_any=terms).annotate(distance=rank)
    return ranked.order_by("distance", "-pk").values_list("distance", "pk")[:PER_GENERATOR]


def nearest_in_session(
    rows: QuerySet[Memory], terms: Sequence[str], *, namespace_ids: Sequence[UUID]
) -> QuerySet[Memory, Ranked]:
    """Return (negative rank, id) by the words of memories and of their neighbors in a session."""
    rank = Func(
        F("context__lexemes"),
        Value(to_or_tsquery(terms)),
        template="-ts_rank(%(expressions)s::tsquery)",
        output_field=FloatField(),
    )
    ranked = rows.filter(
        context__namespace_id__in=namespace_ids,
        context__tokens__gt="",
        context__lexemes__matches_any=terms,
    ).annotate(distance=rank)
    return ranked.order_by("distance", "-pk").values_list("distance", "pk")[:PER_GENERATOR]


def nearest_of_then(
    rows: QuerySet[Memory], terms: Sequence[str], *, at: datetime
) -> QuerySet[Memory, Ranked]:
    """Return (negative rank, id) by the words of the versions that held at a time.

    Only of what has changed since: what has not is found by its present words.
    """
    rank = Func(
        F("versions__lexemes"),
        Value(to_or_tsquery(terms)),
        template="-ts_rank(%(expressions)s::tsquery)",
        output_field=FloatField(),
    )
    ranked = rows.filter(
        versions__valid_from__lte=at,
        versions__valid_to__gt=at,
        versions__lexemes__matches_any=terms,
    ).annotate(distance=rank)
    return ranked.order_by("distance", "-pk").values_list("distance", "pk")[:PER_GENERATOR]


def _told_in(spans: Sequence[Span]) -> Q:
    """Return the condition that a memory was made in, or soon after, one of these times."""
    times = Q()
    for span in spans:
        times |= Q(created_at__gte=span.start, created_at__lt=span.end + _TOLD_WITHIN)
    return times


def _distance(vector: QuestionVector) -> CosineDistance:
    # The cast makes it the expression of the model's indexes, of which each has one length.
    embedding = Cast("embedding", HalfVectorField(dimensions=len(vector.values)))
    return CosineDistance(embedding, vector.values)


def _in(namespace_ids: Sequence[UUID]) -> Q:
    # A namespace's own indexes apply only where it is compared with one value. (Django prepares no
    # statements here, so Postgres plans with the value itself and a parameter is as good as a
    # literal.)
    if len(namespace_ids) == 1:
        return Q(namespace_id=namespace_ids[0])
    return Q(namespace_id__in=namespace_ids)


def _apart(namespace_ids: Sequence[UUID], indexed: frozenset[UUID]) -> list[list[UUID]]:
    """Return each namespace that has an index alone, and all the others together."""
    small = [key for key in namespace_ids if key not in indexed]
    return [[key] for key in namespace_ids if key in indexed] + ([small] if small else [])


def _indexed(
    query: RecallQuery, vector: QuestionVector | None, built: frozenset[str] | None
) -> tuple[frozenset[UUID], frozenset[UUID]]:
    """Return the namespaces with an index of the question's model, and those with a BM25 index.

    The indexes hold what is active: a question about the past, or about what ended, is scanned.
    """
    namespace_ids = query.namespace_ids
    if query.include or query.as_of is not None:
        return frozenset(), frozenset()
    model = vector.fingerprint if vector else ""
    vectors = {indexes.vectors_index(key, fingerprint=model): key for key in namespace_ids}
    words = {indexes.bm25_index(key): key for key in namespace_ids}
    if built is None:
        built = standing([*vectors, *words])
    return (
        frozenset(key for name, key in vectors.items() if name in built),
        frozenset(key for name, key in words.items() if name in built),
    )


def _widen_index_scans() -> None:
    # For this transaction: go on until enough rows pass the filters, and look at 100 nodes at once
    # (.98 recall instead of .95 for a third of a millisecond).
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true),"
            " set_config('hnsw.ef_search', '100', true)"
        )


@cache
def _statement() -> str:
    return _WORD_STATISTICS.read_text()
