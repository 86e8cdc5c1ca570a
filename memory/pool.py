"""What recall reads of its candidates: their rows, those beside them, and the hits as shown.

The statements are text with the question's own filters in it (`candidates.Condition`), and their
rows come in binary form: Django's queries took three times as long to make as to answer. Keys are
the 16 bytes of a UUID.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Final, NamedTuple
from uuid import UUID

from codemem.plans import array_of
from codemem.postgres.binary import binary_rows
from memory import wordwise
from memory.candidates import GENERATORS, Condition, QuestionVector, Scan
from memory.queries import state_shown
from memory.values import MemoryType, StoredMemory, Visibility

Key = bytes


class Row(NamedTuple):
    """The columns that scoring reads of a memory; the rest is loaded for the hits only."""

    key: Key
    number: int
    namespace: Key
    repository: Key | None
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
    is_anchored: bool
    distance: float | None


class Context(NamedTuple):
    """What a memory is among its neighbors; see MemoryContext."""

    around: Sequence[Key]
    before: int
    tokens: str
    words: bytes
    fingerprint: str

    @property
    def steps(self) -> dict[Key, int]:
        return wordwise.steps(self.around, before=self.before)


_COLUMNS: Final = """
    memory_memory.id, number, memory_memory.namespace_id, repository_id, branch, memory_type, state,
    content, memory_memory.tokens, tags, author_name, importance, confidence, created_at,
    session_id, embedding_fingerprint,
    EXISTS (SELECT FROM memory_anchor WHERE memory_anchor.memory_id = memory_memory.id)
"""
# What is read of candidates, given `candidate` as (id, distance, generators): their rows, their
# contexts, and the words of those around the nearest, which are no candidates. OFFSET 0 has each
# looked up by its key: there are few, and a plan that reads a whole table never pays.
_READ: Final = """
    read AS MATERIALIZED (
        SELECT candidate.*, beside.around, beside.before, beside.tokens AS context, beside.words,
            beside.fingerprint
        FROM candidate LEFT JOIN LATERAL (
            SELECT * FROM memory_memorycontext beside WHERE beside.memory_id = candidate.id OFFSET 0
        ) beside ON true
    )
    SELECT {columns}, read.distance, read.generators,
        read.around, read.before, read.context, read.words, read.fingerprint
    FROM read CROSS JOIN LATERAL (
        SELECT * FROM memory_memory WHERE memory_memory.id = read.id OFFSET 0
    ) memory_memory
    UNION ALL
    SELECT beside.memory_id, {nothing}, beside.words, NULL
    FROM (
        SELECT DISTINCT unnest(nearest.around) AS id
        FROM (
            SELECT around FROM read WHERE fingerprint = %(words_of)s
            ORDER BY distance LIMIT %(compared)s
        ) nearest
        EXCEPT SELECT id FROM read
    ) other CROSS JOIN LATERAL (
        SELECT memory_id, words FROM memory_memorycontext
        WHERE memory_id = other.id AND fingerprint = %(words_of)s OFFSET 0
    ) beside
"""
# The fields of StoredMemory, by name; those of lists and choices are made of what is read.
_FIELDS: Final = {
    "id": "memory_memory.id",
    "number": "number",
    "namespace_id": "memory_memory.namespace_id",
    "namespace": "accounts_namespace.name",
    "repository_id": "memory_memory.repository_id",
    "repository": "graph_repository.name",
    "branch": "branch",
    "visibility": "visibility",
    "memory_type": "memory_type",
    "content": "content",
    "rationale": "rationale",
    "alternatives": "alternatives",
    "acceptance_criteria": "acceptance_criteria",
    "evidence": "evidence",
    "tags": "tags",
    "importance": "importance",
    "confidence": "confidence",
    "is_pinned": "is_pinned",
    "state": "state",
    "superseded_by": "superseded_by_id",
    "author_id": "author_id",
    "author": "author_name",
    "agent": "agent",
    "model": "model",
    "session_id": "session_id",
    "source": "source",
    "created_at": "memory_memory.created_at",
    "updated_at": "memory_memory.updated_at",
    "expires_at": "expires_at",
    "ended_at": "ended_at",
    "retired_at": "retired_at",
    "retired_by": "retired_by",
    "is_embedded": "embedding IS NOT NULL",
    "version": "version",
}
_LISTS: Final = ("alternatives", "acceptance_criteria", "evidence", "tags")
_STORED: Final = """
    SELECT {fields}
    FROM memory_memory
    JOIN accounts_namespace ON accounts_namespace.id = memory_memory.namespace_id
    LEFT JOIN graph_repository ON graph_repository.id = memory_memory.repository_id
    WHERE {condition} AND {wanted}
"""
_GIVEN: Final = """
    WITH candidate AS MATERIALIZED (
        SELECT memory_memory.id, {distance} AS distance, 0 AS generators FROM memory_memory
        WHERE {condition} AND {wanted}
    ),
    {read}
"""
# What stands at most two steps from the nearest twenty is a candidate, too.
_SCANNED: Final = """
    WITH {scan},
    pooled AS MATERIALIZED (
        SELECT scope.id, scope.distance, bit_or(1 << found.generator) AS generators
        FROM found JOIN scope USING (id)
        GROUP BY scope.id, scope.distance
    ),
    near AS (
        SELECT DISTINCT place.id
        FROM (SELECT id FROM pooled ORDER BY distance LIMIT %(seeds)s) seed
        CROSS JOIN LATERAL (
            SELECT around, before FROM memory_memorycontext WHERE memory_id = seed.id OFFSET 0
        ) beside
        CROSS JOIN LATERAL unnest(beside.around) WITH ORDINALITY AS place (id, number)
        WHERE CASE WHEN place.number <= beside.before THEN beside.before - place.number + 1
            ELSE place.number - beside.before END <= %(steps)s
    ),
    candidate AS MATERIALIZED (
        SELECT id, distance, generators FROM pooled
        UNION ALL
        SELECT scope.id, scope.distance, %(neighbor)s FROM near JOIN scope USING (id)
        WHERE scope.id NOT IN (SELECT id FROM pooled)
    ),
    {read}
"""


_READ_COLUMNS: Final = _READ.format(
    columns=_COLUMNS, nothing=", ".join(["NULL"] * (len(Row._fields) + 3))
)


class Pool(NamedTuple):
    """What was read: the rows that may answer, what is beside them, and who found them.

    `words` are the packed words of those around the nearest rows that are no rows themselves.
    """

    rows: list[Row]
    contexts: dict[Key, Context]
    words: dict[Key, bytes]
    found_by: dict[Key, frozenset[str]]


def read_scanned(scan: Scan, *, seeds: int, steps: int, words_of: str, compared: int) -> Pool:
    """Return what a scan finds, and what stands at most `steps` from the nearest `seeds` of it.

    `words_of` is the fingerprint of the contexts that compare word by word, of which the nearest
    `compared` are. One query.
    """
    statement = _SCANNED.format(scan=scan.text, read=_READ_COLUMNS)
    parameters = {
        **scan.parameters,
        "seeds": seeds,
        "steps": steps,
        "neighbor": 1 << GENERATORS.index("neighbor"),
        "words_of": words_of,
        "compared": compared,
    }
    return _pool(statement, parameters)


def read(
    condition: Condition,
    *,
    keys: Collection[Key] = (),
    numbers: Collection[int] = (),
    vector: QuestionVector | None,
    words_of: str,
    compared: int,
) -> Pool:
    """Return what the condition allows of these keys and numbers. One query; see `read_scanned`."""
    statement = _GIVEN.format(
        distance=vector.distance if vector else "NULL::float8",
        condition=condition.text,
        wanted=_wanted(keys, numbers),
        read=_READ_COLUMNS,
    )
    parameters = {
        **condition.parameters,
        **(vector.parameters if vector else {}),
        **_places(keys, numbers),
        "words_of": words_of,
        "compared": compared,
    }
    return _pool(statement, parameters)


def _pool(statement: str, parameters: Mapping[str, Any]) -> Pool:
    width = len(Row._fields)
    pool = Pool([], {}, {}, {})
    for values in binary_rows(statement, parameters, keys_as_bytes=True):
        if values[1] is None:
            pool.words[values[0]] = values[-2]
            continue
        row = Row._make(values[:width])
        pool.rows.append(row)
        pool.found_by[row.key] = _named(values[width])
        if values[width + 1] is not None:
            pool.contexts[row.key] = Context._make(values[width + 1 :])
    return pool


@cache
def _named(generators: int) -> frozenset[str]:
    """Return the generators whose bits are set."""
    return frozenset(name for place, name in enumerate(GENERATORS) if generators >> place & 1)


def stored_memories(
    condition: Condition,
    *,
    keys: Collection[Key] = (),
    numbers: Collection[int] = (),
    now: datetime,
) -> dict[UUID, StoredMemory]:
    """Return the memories of these keys or numbers that the condition allows. One query."""
    statement = _STORED.format(
        fields=", ".join(_FIELDS.values()),
        condition=condition.text,
        wanted=_wanted(keys, numbers),
    )
    parameters = {**condition.parameters, **_places(keys, numbers)}
    found = (_stored(values, now=now) for values in binary_rows(statement, parameters))
    return {memory.id: memory for memory in found}


def array_of_keys(keys: Iterable[Key]) -> str:
    """Return keys as the text of an SQL array: written down at once, not one after the other."""
    return f"{{{','.join(key.hex() for key in keys)}}}"


def _wanted(keys: Collection[Key], numbers: Collection[int]) -> str:
    ways = []
    if keys or not numbers:
        ways.append("memory_memory.id = ANY (%(keys)s::uuid[])")
    if numbers:
        ways.append("number = ANY (%(numbers)s::bigint[])")
    return f"({' OR '.join(ways)})"


def _places(keys: Iterable[Key], numbers: Collection[int]) -> dict[str, Any]:
    return {"keys": array_of_keys(keys), "numbers": array_of(numbers)}


def _stored(values: Sequence[Any], *, now: datetime) -> StoredMemory:
    fields = dict(zip(_FIELDS, values, strict=True))
    fields |= {name: tuple(fields[name]) for name in _LISTS}
    fields["state"] = state_shown(fields["state"], expires_at=fields["expires_at"], now=now)
    fields["visibility"] = Visibility(fields["visibility"])
    fields["memory_type"] = MemoryType(fields["memory_type"])
    return StoredMemory(**fields)
