"""A transaction that fails while somebody changes the schema leaves nothing behind in Postgres."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.db import IntegrityError, InternalError, connection, connections

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def once() -> Iterator[None]:
    """Make a table that holds each number once."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE once (number int PRIMARY KEY)")
        yield
        cursor.execute("DROP TABLE once")


@contextmanager
def session() -> Iterator[Any]:
    other = connections.create_connection("default")
    other.set_autocommit(False)
    try:
        yield other
    finally:
        other.close()


def insert(into: Any) -> None:
    with into.cursor() as cursor:
        cursor.execute("INSERT INTO once VALUES (1)")


def insert_too_late(late: Any) -> None:
    """Let a session wait for another's row, lose it, and have AGE's caches emptied meanwhile."""
    pid = late.connection.info.backend_pid
    with session() as first:
        insert(first)

        def empty_caches() -> None:
            with psycopg.connect(
                os.environ["DATABASE_ADMIN_URL"],
                dbname=connection.settings_dict["NAME"],
                autocommit=True,
                options="-c lock_timeout=10s",
            ) as admin:
                while not admin.execute(
                    "SELECT FROM pg_locks WHERE pid = %s AND NOT granted", [pid]
                ).fetchall():
                    time.sleep(0.01)
                try:
                    admin.execute("VACUUM FULL pg_extension")
                finally:
                    first.connection.commit()

        other = threading.Thread(target=empty_caches)
        other.start()
        with pytest.raises(IntegrityError):
            insert(late)
        other.join()


def locks_of(other: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relation::regclass FROM pg_locks WHERE pid = %s AND locktype = 'relation'",
            [other.connection.info.backend_pid],
        )
        return cursor.fetchall()


def test_a_failed_transaction_is_rolled_back_and_holds_no_lock(once):
    with session() as late:
        with late.cursor() as cursor:
            cursor.execute("SELECT 1")
        insert_too_late(late)
        late.rollback()
        assert locks_of(late) == []
        with late.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM once")
            assert cursor.fetchone() == (1,)


def test_the_whole_transaction_goes_when_its_savepoint_cannot_be_rolled_back(once):
    with session() as late:
        savepoint = late.savepoint()
        insert_too_late(late)
        # Savepoints' names are not known before: theirs is analyzed, and refused.
        with pytest.raises(InternalError):
            late.savepoint_rollback(savepoint)
        late.rollback()
        assert locks_of(late) == []


def test_a_session_that_lost_its_prepared_statements_rolls_back_all_the_same(once):
    with session() as late:
        with late.cursor() as cursor:
            cursor.execute("DEALLOCATE ALL")
            insert(late)
            with pytest.raises(IntegrityError):
                insert(late)
        late.rollback()
        with late.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM once")
            assert cursor.fetchone() == (0,)
