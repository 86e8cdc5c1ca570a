"""Is the process up, and can it serve: for probes and for `codemem doctor`."""

from collections.abc import Callable

import redis
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse

from workers import queue


def alive(_request: HttpRequest) -> JsonResponse:
    """Answer /healthz: the process answers; nothing else is asked, so that it is not restarted
    because a database is away."""
    return JsonResponse({"status": "ok"})


def ready(_request: HttpRequest) -> JsonResponse:
    """Answer /readyz: 200 when the database serves and its schema is ours.

    Redis being away is reported but leaves us ready: reads work without it.
    """
    report = parts()
    is_ready = report["database"] == "ok"
    return JsonResponse(
        {"status": "ok" if is_ready else "not ready", **report}, status=200 if is_ready else 503
    )


def parts() -> dict[str, str]:
    """Return how each part of the server is: "ok", or what is wrong."""
    return {"database": _state(check_database), "redis": _state(check_redis)}


def check_database() -> None:
    """Raise DatabaseError, or RuntimeError when migrations are missing."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise RuntimeError("migrations are missing: run manage.py migrate")


def check_redis() -> None:
    queue.depths()


def _state(check: Callable[[], None]) -> str:
    try:
        check()
    except (DatabaseError, redis.RedisError, queue.QueueUnavailable):
        return "does not answer"
    except RuntimeError as error:
        return str(error)
    return "ok"


