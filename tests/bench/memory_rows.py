"""Synthetic memories as `memory.services.store_memory` would have written them, but by COPY."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import numpy as np
from django.db.models import JSONField
from numpy.typing import NDArray
from pgvector import HalfVector
from psycopg import sql
from psycopg.types.json import Jsonb

from codemem.accounts.models import User, new_id
from codemem.embedding import Provider
from codemem.words import tokens_text
from graph import cypher
from graph.values import LINK_LABEL, VertexLabel, graph_id
from memory.models import Memory
from memory.services.linking import MENTIONED_WEIGHT
from memory.values import RelationshipKind, Visibility
from tests.bench.code_rows import LoadedCode
from tests.bench.copying import copy_lines, copy_rows, take_numbers
from tests.bench.memories import TOPICS, SyntheticMemory, memory, topic_text, vectors_around

_STORED_AT: Final = datetime(2026, 1, 1, tzinfo=UTC)
_COLUMNS: Final = (
    *("id", "number", "namespace_id", "repository_id", "branch", "memory_type", "content"),
    *("content_hash", "tags", "importance", "confidence", "state", "author_id", "author_name"),
    *("created_at", "updated_at", "retired_by", "retired_links", "tokens"),
    *("embedding", "embedding_fingerprint", "visibility"),
)
# What the other columns hold until somebody says otherwise.
_DEFAULTS: Final = {
    field.attname: Jsonb(field.get_default())
    if isinstance(field, JSONField)
    else field.get_default()
    for field in Memory._meta.concrete_fields
    if field.attname not in _COLUMNS and not field.generated and not field.null
}
_VECTORS_AT_ONCE: Final = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    id: UUID
    number: int
    said: SyntheticMemory


def copy_memories(
    cursor: Any,
    *,
    numbers: range,
    namespace_id: UUID,
    author: User,
    provider: Provider,
    code: LoadedCode | None = None,
) -> None:
    """Write memories, their vertices and, given code of the namespace, their ties to it."""
    graph = cypher.ensure_graph(namespace_id)
    taken = take_numbers(cursor, "memory_memory_number", len(numbers))
    # Ids are in the order of time, which is how "newest first" is read.
    rows = [
        _Row(id=new_id(), number=own, said=memory(number))
        for own, number in zip(taken, numbers, strict=True)
    ]
    repository_id = code.repository_ids[0] if code else None
    copy_rows(
        cursor,
        Memory._meta.db_table,
        (*_COLUMNS, *_DEFAULTS),
        _columns(rows, namespace_id, repository_id, author, provider, seed=numbers.start),
    )
    copy_lines(
        cursor,
        sql.Identifier(graph, VertexLabel.MEMORY.title),
        ("id", "properties"),
        (_vertex_line(row) for row in rows),
    )
    if code is not None:
        copy_lines(
            cursor,
            sql.Identifier(graph, LINK_LABEL),
            ("start_id", "end_id", "properties"),
            _tie_lines(rows, code, author),
        )


def _columns(
    rows: Sequence[_Row],
    namespace_id: UUID,
    repository_id: UUID | None,
    author: User,
    provider: Provider,
    *,
    seed: int,
) -> Iterator[tuple[object, ...]]:
    vectors = _vectors(provider, [row.said.topic for row in rows], seed=seed)
    for row, vector in zip(rows, vectors, strict=True):
        said = row.said
        at = _STORED_AT + timedelta(seconds=row.number)
        yield (
            *(row.id, row.number, namespace_id, None if said.about is None else repository_id, ""),
            *(said.memory_type, said.content, hashlib.sha256(said.content.encode()).digest()),
            *(list(said.tags), said.importance, 1.0, Memory.State.ACTIVE),
            *(author.pk, author.username, at, at, "", Jsonb([])),
            tokens_text("\n".join([said.content, *said.tags])),
            *(HalfVector(vector), provider.fingerprint),
            Visibility.NAMESPACE
            if said.about is None or repository_id is None
            else Visibility.REPOSITORY,
            *_DEFAULTS.values(),
        )


def _vectors(
    provider: Provider, topics: Sequence[int], *, seed: int
) -> Iterator[NDArray[np.float32]]:
    centers = provider.embed([topic_text(topic) for topic in range(TOPICS)], kind="query")
    for start in range(0, len(topics), _VECTORS_AT_ONCE):
        chosen = np.array(topics[start : start + _VECTORS_AT_ONCE])
        yield from vectors_around(centers, chosen, seed=seed + start)


def _vertex_line(row: _Row) -> str:
    properties = cypher.agtype_text({"uid": str(row.id), "kind": "memory"})
    return f"{graph_id(label=VertexLabel.MEMORY, key=row.number)}\t{properties}\n"


def _tie_lines(rows: Sequence[_Row], code: LoadedCode, author: User) -> Iterator[str]:
    for row in rows:
        if row.said.about is None:
            continue
        properties = cypher.agtype_text(
            {
                "kind": RelationshipKind.RELATES_TO,
                "w": MENTIONED_WEIGHT,
                "by": author.username,
                "at": int(_STORED_AT.timestamp()) + row.number,
            }
        )
        source = graph_id(label=VertexLabel.MEMORY, key=row.number)
        yield f"{source}\t{code.vertex_of_symbol(row.said.about)}\t{properties}\n"
