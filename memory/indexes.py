"""The search indexes of large namespaces: what they are called, which stand, how they are built.

Small namespaces are scanned exactly and need none. A large one has two indexes of its own, by
vector and by words, so that its searches see its rows only: filtering after a shared index would
leave a small namespace beside a huge one without answers, and mix their word statistics.
"""

from uuid import UUID

from django.db import connection
from django.db.models import Count
from psycopg import sql

from codemem.postgres import indexes
from memory.models import Memory

# Exact scans of 9,000 rows take 13 ms by vector and 17 ms by words; indexed ones of 100,000 rows
# take 3 ms each.
INDEXED_FROM_ROWS = 5_000

_LOCK = "memory.search_indexes"
_PREFIXES = ("memory_vectors_", "memory_bm25_", "memory_lexemes_")


def vectors_index(namespace_id: UUID) -> str:
    return f"memory_vectors_{namespace_id.hex}"


def bm25_index(namespace_id: UUID) -> str:
    return f"memory_bm25_{namespace_id.hex}"


def ensure_vector_indexes(*, from_rows: int = INDEXED_FROM_ROWS) -> list[str]:
    """Build what large namespaces lack, one after the other, and return the new indexes' names.

    Runs outside a transaction. Safe to run twice and to kill: what a killed build left is dropped.
    """
    with indexes.building(_LOCK) as is_alone:
        if not is_alone:
            return []
        indexes.drop(_broken())
        wanted = [item for namespace_id in _large(from_rows) for item in _indexes_of(namespace_id)]
        present = indexes.standing(name for name, _ in wanted)
        return [
            indexes.build(name, table="memory_memory", using=using)
            for name, using in wanted
            if name not in present
        ]


def _large(from_rows: int) -> list[UUID]:
    rows = (
        Memory.objects.filter(state=Memory.State.ACTIVE)
        .order_by("namespace_id")
        .values("namespace_id")
        .annotate(held=Count("pk"))
        .filter(held__gt=from_rows)
    )
    return [row["namespace_id"] for row in rows]


def _indexes_of(namespace_id: UUID) -> list[tuple[str, sql.Composed]]:
    """Return name and definition; the namespace is a literal, as a partial index demands."""
    rows = sql.SQL("WHERE namespace_id = {} AND state = 'active'").format(
        sql.Literal(str(namespace_id))
    )
    vectors = sql.SQL(
        "USING hnsw (embedding halfvec_cosine_ops) WITH (m = 16, ef_construction = 64) {}"
    )
    if indexes.serves_bm25():
        words = (bm25_index(namespace_id), "USING bm25 (tokens) WITH (text_config = 'simple') {}")
    else:
        words = (f"memory_lexemes_{namespace_id.hex}", "USING gin (lexemes) {}")
    return [
        (vectors_index(namespace_id), vectors.format(rows)),
        (words[0], sql.SQL(words[1]).format(rows)),
    ]


def _broken() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class JOIN pg_index ON indexrelid = pg_class.oid"
            " WHERE indrelid = 'memory_memory'::regclass AND NOT indisvalid"
        )
        return [name for (name,) in cursor.fetchall() if name.startswith(_PREFIXES)]
