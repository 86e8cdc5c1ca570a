"""How each part of the server is: database, its schema, Redis."""

from collections.abc import Callable
from functools import cache

from django.db import Error, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from workers import queue

OK = "ok"


class MigrationsMissing(Exception):
    """The database's schema is older than the code."""


def parts() -> dict[str, str]:
    """Return how each part of the server is: "ok", or what is wrong."""
    return {
        "database": _state(check_database),
        "migrations": _state(check_migrations),
        "redis": _state(check_redis),
    }


def check_database() -> None:
    """Raise Django's database error unless Postgres answers."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def check_migrations() -> None:
    """Raise MigrationsMissing unless the schema is ours or newer. One query."""
    missing = len(our_migrations() - set(MigrationRecorder(connection).applied_migrations()))
    if missing:
        raise MigrationsMissing(f"{missing} missing: run manage.py migrate")


def check_redis() -> None:
    """Raise QueueUnavailable unless Redis answers."""
    queue.depths()


@cache
def our_migrations() -> frozenset[tuple[str, str]]:
    """Return every migration that the code has, as (app, name)."""
    return frozenset(MigrationLoader(None).disk_migrations or ())


def _state(check: Callable[[], None]) -> str:
    try:
        check()
    except (Error, queue.QueueUnavailable):
        return "does not answer"
    except MigrationsMissing as error:
        return str(error)
    return OK
