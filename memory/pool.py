"""What recall reads of its candidates: their rows, those beside them, and the hits as shown.

The statements are text with the question's own filters in it (`candidates.Condition`), and their
rows come in binary form: Django's queries took three times as long to make as to answer. Keys are
the 16 bytes of a UUID.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from codemem.postgres.binary import binary_rows
from memory import wordwise
from memory.candidates import Condition, QuestionVector
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
_ROWS: Final = """
    SELECT {columns}, {distance},
        beside.around, beside.before, beside.tokens, beside.words, beside.fingerprint
    FROM memory_memory LEFT JOIN memory_memorycontext beside ON beside.memory_id = memory_memory.id
    WHERE {condition} AND {wanted}
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
_WORDS: Final = """
    SELECT memory_id, words FROM memory_memorycontext
    WHERE memory_id = ANY (%(keys)s::uuid[]) AND fingerprint = %(fingerprint)s
"""


def read(
    condition: Condition,
    *,
    keys: Iterable[Key],
    numbers: Collection[int] = (),
    vector: QuestionVector | None,
) -> tuple[list[Row], dict[Key, Context]]:
    """Return the rows of these keys and numbers that the condition allows, and their contexts.

    One query.
    """
    statement = _ROWS.format(
        columns=_COLUMNS,
        distance=vector.distance if vector else "NULL::float8",
        condition=condition.text,
        wanted=_wanted(numbers),
    )
    parameters = {
        **condition.parameters,
        **(vector.parameters if vector else {}),
        **_places(keys, numbers),
    }
    width = len(Row._fields)
    rows: list[Row] = []
    contexts: dict[Key, Context] = {}
    for values in binary_rows(statement, parameters, keys_as_bytes=True):
        row = Row._make(values[:width])
        rows.append(row)
        if values[width] is not None:
            contexts[row.key] = Context._make(values[width:])
    return rows, contexts


def packed_words(keys: Iterable[Key], *, fingerprint: str) -> dict[Key, bytes]:
    """Return the packed words of memories, of those that have them of that model. One query."""
    parameters = {"keys": array_of_keys(keys), "fingerprint": fingerprint}
    return dict(binary_rows(_WORDS, parameters, keys_as_bytes=True))


def stored_memories(
    condition: Condition, *, keys: Iterable[Key] = (), numbers: Collection[int] = (), now: datetime
) -> dict[UUID, StoredMemory]:
    """Return the memories of these keys or numbers that the condition allows. One query."""
    statement = _STORED.format(
        fields=", ".join(_FIELDS.values()), condition=condition.text, wanted=_wanted(numbers)
    )
    parameters = {**condition.parameters, **_places(keys, numbers)}
    found = (_stored(values, now=now) for values in binary_rows(statement, parameters))
    return {memory.id: memory for memory in found}


def array_of_keys(keys: Iterable[Key]) -> str:
    """Return keys as the text of an SQL array: written down at once, not one after the other."""
    return f"{{{','.join(key.hex() for key in keys)}}}"


def _wanted(numbers: Collection[int]) -> str:
    by_key = "memory_memory.id = ANY (%(keys)s::uuid[])"
    return f"({by_key} OR number = ANY (%(numbers)s))" if numbers else by_key


def _places(keys: Iterable[Key], numbers: Collection[int]) -> dict[str, Any]:
    return {"keys": array_of_keys(keys), "numbers": list(numbers)}


def _stored(values: Sequence[Any], *, now: datetime) -> StoredMemory:
    fields = dict(zip(_FIELDS, values, strict=True))
    fields |= {name: tuple(fields[name]) for name in _LISTS}
    fields["state"] = state_shown(fields["state"], expires_at=fields["expires_at"], now=now)
    fields["visibility"] = Visibility(fields["visibility"])
    fields["memory_type"] = MemoryType(fields["memory_type"])
    return StoredMemory(**fields)
