"""The search indexes of large namespaces: what they are called, which stand, how they are built.

Small namespaces are scanned exactly and need none. A large one has two indexes of its own, by
vector and by words, so that its searches see its rows only: filtering after a shared index would
leave a small namespace beside a huge one without answers, and mix their word statistics.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from uuid import UUID

import structlog
from django.db import connection, transaction
from django.db.models import Count
from psycopg import sql

from memory.models import Memory

# Exact scans of 9,000 rows take 13 ms by vector and 17 ms by words; indexed ones of 100,000 rows
# take 3 ms each.
INDEXED_FROM_ROWS = 5_000

_LOCK = "memory.search_indexes"
_PREFIXES = ("memory_vectors_", "memory_bm25_", "memory_lexemes_")
logger = structlog.get_logger(__name__)


def vectors_index(namespace_id: UUID) -> str:
    return f"memory_vectors_{namespace_id.hex}"


def bm25_index(namespace_id: UUID) -> str:
    return f"memory_bm25_{namespace_id.hex}"


def standing(names: Iterable[str]) -> frozenset[str]:
    """Return those of the named indexes that are built and valid. One query."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class JOIN pg_index ON indexrelid = pg_class.oid"
            " WHERE relname = ANY(%s) AND indisvalid",
            [list(names)],
        )
        return frozenset(name for (name,) in cursor.fetchall())


def ensure_vector_indexes(*, from_rows: int = INDEXED_FROM_ROWS) -> list[str]:
    """Build what large namespaces lack, one after the other, and return the new indexes' names.

    Runs outside a transaction and for as long as it takes (35 s for 100,000 vectors); reads and
    writes go on meanwhile. Safe to run twice and to kill: what a killed build left is dropped.
    """
    with _alone() as is_alone, _unhurried():
        if not is_alone:
            return []
        _drop_invalid()
        wanted = [item for namespace_id in _large(from_rows) for item in _indexes_of(namespace_id)]
        present = standing(name for name, _ in wanted)
        return [_build(name, using) for name, using in wanted if name not in present]


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
    if _has_bm25():
        words = (bm25_index(namespace_id), "USING bm25 (tokens) WITH (text_config = 'simple') {}")
    else:
        words = (f"memory_lexemes_{namespace_id.hex}", "USING gin (lexemes) {}")
    return [
        (vectors_index(namespace_id), vectors.format(rows)),
        (words[0], sql.SQL(words[1]).format(rows)),
    ]


def _build(name: str, using: sql.Composed) -> str:
    logger.info("search_index_build", index=name)
    _execute(
        sql.SQL("CREATE INDEX CONCURRENTLY {} ON memory_memory {}").format(
            sql.Identifier(name), using
        )
    )
    return name


def _drop_invalid() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class JOIN pg_index ON indexrelid = pg_class.oid"
            " WHERE indrelid = 'memory_memory'::regclass AND NOT indisvalid"
        )
        names = [name for (name,) in cursor.fetchall()]
    for name in names:
        if name.startswith(_PREFIXES):
            _execute(sql.SQL("DROP INDEX CONCURRENTLY {}").format(sql.Identifier(name)))


def _has_bm25() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM pg_am WHERE amname = 'bm25')")
        return bool(cursor.fetchone()[0])


def _execute(statement: sql.Composed) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement.as_string(connection.connection))


@contextmanager
def _alone() -> Iterator[bool]:
    """Hold the server-wide lock for building; False when another process holds it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", [_LOCK])
        is_alone = bool(cursor.fetchone()[0])
        try:
            yield is_alone
        finally:
            if is_alone:
                cursor.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", [_LOCK])


@contextmanager
def _unhurried() -> Iterator[None]:
    """Lift the statement timeout of this connection: a build is as long as the namespace is."""
    if transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError(
            "Indexes are built concurrently, which Postgres does outside a transaction only."
        )
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('statement_timeout', '0', false)")
        try:
            yield
        finally:
            cursor.execute("RESET statement_timeout")
