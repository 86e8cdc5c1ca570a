"""Is the process up, and can it serve: for probes and for `codemem doctor`."""

from collections.abc import Callable
from functools import cache

from django.db import Error, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, JsonResponse

from workers import queue

_OK = "ok"


class MigrationsMissing(Exception):
    """The database's schema is older than the code."""


def alive(_request: HttpRequest) -> JsonResponse:
    """Answer /healthz: the process answers.

    Nothing else is asked, or a database that is away would have every process restarted.
    """
    return JsonResponse({"status": _OK})


def ready(_request: HttpRequest) -> JsonResponse:
    """Answer /readyz: 200 when the database serves and its schema is ours.

    Redis being away is reported but leaves us ready: reads work without it.
    """
    report = parts()
    is_ready = report["database"] == report["migrations"] == _OK
    status = _OK if is_ready else "not ready"
    return JsonResponse({"status": status, **report}, status=200 if is_ready else 503)


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
    missing = len(_our_migrations() - set(MigrationRecorder(connection).applied_migrations()))
    if missing:
        raise MigrationsMissing(f"{missing} missing: run manage.py migrate")


def check_redis() -> None:
    """Raise QueueUnavailable unless Redis answers."""
    queue.depths()


@cache
def _our_migrations() -> frozenset[tuple[str, str]]:
    return frozenset(MigrationLoader(None).disk_migrations or ())


def _state(check: Callable[[], None]) -> str:
    try:
        check()
    except (Error, queue.QueueUnavailable):
        return "does not answer"
    except MigrationsMissing as error:
        return str(error)
    return _OK
