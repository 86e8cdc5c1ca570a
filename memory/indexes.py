"""The search indexes of large namespaces: what they are called, which stand, how they are built.

Small namespaces are scanned exactly and need none. A large one has indexes of its own, by vector,
by words, and by the words of short memories with their neighbors', so that its searches see its
rows only: filtering after a shared index would leave a small namespace beside a huge one without
answers, and mix their word statistics. An index by vector holds the vectors of one model, which
alone have one length and compare with each other.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from django.db import connection
from django.db.models import Count
from psycopg import sql

from codemem.postgres import indexes
from memory.models import Memory, MemoryContext

# Exact scans of 9,000 rows take 13 ms by vector and 17 ms by words; indexed ones of 100,000 rows
# take 3 ms each.
INDEXED_FROM_ROWS = 5_000

_LOCK = "memory.search_indexes"
_VECTORS = "memory_vectors_"
_SESSIONS = "memory_session_"
_PREFIXES = (_VECTORS, _SESSIONS, "memory_bm25_", "memory_lexemes_")


def vectors_index(namespace_id: UUID, *, fingerprint: str) -> str:
    """Return the name of a namespace's index of one model's vectors."""
    model = hashlib.sha256(fingerprint.encode()).hexdigest()[:8]
    return f"{_VECTORS}{namespace_id.hex}_{model}"


def bm25_index(namespace_id: UUID) -> str:
    return f"memory_bm25_{namespace_id.hex}"


def session_index(namespace_id: UUID) -> str:
    return f"{_SESSIONS}{namespace_id.hex}"


def ensure_vector_indexes(*, from_rows: int = INDEXED_FROM_ROWS) -> list[str]:
    """Build what large namespaces lack, one after the other, and return the new indexes' names.

    Those of a model of which a namespace has no vectors any more go. Runs outside a transaction.
    Safe to run twice and to kill: what a killed build left is dropped.
    """
    with indexes.building(_LOCK) as is_alone:
        if not is_alone:
            return []
        indexes.drop(_broken())
        indexes.drop(_left_behind())
        return [
            indexes.build(one.name, table=one.table, using=one.using)
            for one in lacking(from_rows=from_rows)
        ]


@dataclass(frozen=True, slots=True)
class Definition:
    """An index: its name, its table, and what CREATE INDEX says behind these."""

    name: str
    table: str
    using: sql.Composed


def lacking(*, from_rows: int = INDEXED_FROM_ROWS) -> list[Definition]:
    """Return the indexes that large namespaces should have and have not."""
    wanted = [
        *_vector_indexes(from_rows),
        *_words_indexes(from_rows),
        *_session_indexes(from_rows),
    ]
    present = indexes.standing(name for name, _ in wanted)
    return [Definition(name, _table(name), using) for name, using in wanted if name not in present]


def _vector_indexes(from_rows: int) -> Iterator[tuple[str, sql.Composed]]:
    """Yield name and definition; namespace and model are literals, as partial indexes demand."""
    held = (
        Memory.objects.filter(state=Memory.State.ACTIVE, embedding_fingerprint__gt="")
        .order_by("namespace_id", "embedding_fingerprint")
        .values_list("namespace_id", "embedding_fingerprint")
        .annotate(held=Count("pk"))
        .filter(held__gt=from_rows)
    )
    for namespace_id, fingerprint, _ in held:
        definition = sql.SQL(
            "USING hnsw ((embedding::halfvec({})) halfvec_cosine_ops)"
            " WITH (m = 16, ef_construction = 64)"
            " WHERE namespace_id = {} AND state = 'active' AND embedding_fingerprint = {}"
        ).format(
            sql.Literal(_dimensions(fingerprint)),
            sql.Literal(str(namespace_id)),
            sql.Literal(fingerprint),
        )
        yield vectors_index(namespace_id, fingerprint=fingerprint), definition


def _words_indexes(from_rows: int) -> Iterator[tuple[str, sql.Composed]]:
    held = (
        Memory.objects.filter(state=Memory.State.ACTIVE)
        .order_by("namespace_id")
        .values("namespace_id")
        .annotate(held=Count("pk"))
        .filter(held__gt=from_rows)
    )
    has_bm25 = indexes.serves_bm25()
    for row in held:
        namespace_id = row["namespace_id"]
        rows = sql.SQL("WHERE namespace_id = {} AND state = 'active'").format(
            sql.Literal(str(namespace_id))
        )
        if has_bm25:
            words = sql.SQL("USING bm25 (tokens) WITH (text_config = 'simple') {}").format(rows)
            yield bm25_index(namespace_id), words
        else:
            yield (
                f"memory_lexemes_{namespace_id.hex}",
                sql.SQL("USING gin (lexemes) {}").format(rows),
            )


def _session_indexes(from_rows: int) -> Iterator[tuple[str, sql.Composed]]:
    """Yield name and definition. By words, not by BM25: what is found must not depend on size."""
    held = (
        MemoryContext.objects.filter(tokens__gt="")
        .order_by("namespace_id")
        .values_list("namespace_id")
        .annotate(held=Count("pk"))
        .filter(held__gt=from_rows)
    )
    for namespace_id, _ in held:
        yield (
            session_index(namespace_id),
            sql.SQL("USING gin (lexemes) WHERE namespace_id = {} AND tokens > ''").format(
                sql.Literal(str(namespace_id))
            ),
        )


def _table(name: str) -> str:
    return "memory_memorycontext" if name.startswith(_SESSIONS) else "memory_memory"


def _dimensions(fingerprint: str) -> int:
    """Return the length of a model's vectors, as any of its rows has it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT vector_dims(embedding) FROM memory_memory"
            " WHERE embedding_fingerprint = %s AND embedding IS NOT NULL LIMIT 1",
            [fingerprint],
        )
        return int(cursor.fetchone()[0])


def _left_behind() -> list[str]:
    """Return the standing indexes of models of which no active memory there has a vector."""
    held = (
        Memory.objects.filter(state=Memory.State.ACTIVE, embedding_fingerprint__gt="")
        .order_by()
        .values_list("namespace_id", "embedding_fingerprint")
        .distinct()
    )
    used = {
        vectors_index(namespace_id, fingerprint=fingerprint) for namespace_id, fingerprint in held
    }
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class JOIN pg_index ON indexrelid = pg_class.oid"
            " WHERE indrelid = 'memory_memory'::regclass AND starts_with(relname, %s)",
            [_VECTORS],
        )
        return [name for (name,) in cursor.fetchall() if name not in used]


def _broken() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class JOIN pg_index ON indexrelid = pg_class.oid"
            " WHERE indrelid IN ('memory_memory'::regclass, 'memory_memorycontext'::regclass)"
            " AND NOT indisvalid"
        )
        return [name for (name,) in cursor.fetchall() if name.startswith(_PREFIXES)]
