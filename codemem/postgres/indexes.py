"""Search indexes that are built beside the migrations: concurrently, one process at a time."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

import structlog
from django.db import connection, transaction
from psycopg import sql

from codemem.plans import kept_rows

logger = structlog.get_logger(__name__)

_STANDING: Final = (
    "SELECT relname FROM pg_class JOIN pg_index ON indexrelid = pg_class.oid"
    " WHERE relname = ANY ((SELECT %s::name[])::name[]) AND indisvalid"
)


def standing(names: Iterable[str]) -> frozenset[str]:
    """Return those of the named indexes that are built and valid. One query."""
    return frozenset(name for (name,) in kept_rows(_STANDING, [list(names)]))


def serves_bm25() -> bool:
    """Tell whether this server can make BM25 indexes."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM pg_am WHERE amname = 'bm25')")
        return bool(cursor.fetchone()[0])


@contextmanager
def building(lock: str) -> Iterator[bool]:
    """Hold a server-wide lock and lift the statement timeout; False when another process holds it.

    A build takes as long as it takes (35 s for 100,000 vectors); reads and writes go on meanwhile.
    """
    if transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError(
            "Indexes are built concurrently, which Postgres does outside a transaction only."
        )
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", [lock])
        is_alone = bool(cursor.fetchone()[0])
        cursor.execute("SELECT set_config('statement_timeout', '0', false)")
        try:
            yield is_alone
        finally:
            cursor.execute("RESET statement_timeout")
            if is_alone:
                cursor.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", [lock])


def build(name: str, *, table: str, using: sql.Composable) -> str:
    """Build an index outside a transaction and return its name."""
    logger.info("search_index_build", index=name)
    _execute(
        sql.SQL("CREATE INDEX CONCURRENTLY {} ON {} {}").format(
            sql.Identifier(name), sql.Identifier(table), using
        )
    )
    return name


def drop(names: Iterable[str]) -> None:
    for name in names:
        _execute(sql.SQL("DROP INDEX CONCURRENTLY {}").format(sql.Identifier(name)))


def _execute(statement: sql.Composed) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement.as_string(connection.connection))
