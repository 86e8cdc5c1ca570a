"""One worker at a time for one kind of work on one repository, over all hosts."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from uuid import UUID

from django.db import connection


class Work(IntEnum):
    """What may be done by one worker only. The numbers tell our locks from those of `graph`."""

    INDEX = 2
    EMBED = 3
    HISTORY = 4
    FINDINGS = 6
    SCIP = 7
    CROSSING = 5
    MEMORIES = 8
    REEMBED = 9
    ERASE = 10


@contextmanager
def only_worker(*, work: Work, repository_id: UUID, ref: str = "") -> Iterator[bool]:
    """Hold the repository, or one ref of it, for this work; yield False when it is taken.

    Nobody waits. A session lock: Postgres frees it when the worker's connection ends, however the
    worker dies; it needs a connection of its own, not one that a pooler hands around.
    """
    key = [f"{repository_id}/{ref}" if ref else f"{repository_id}", work.value]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, %s))", key)
        is_ours: bool = cursor.fetchone()[0]
    try:
        yield is_ours
    finally:
        if is_ours and connection.is_usable():
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(hashtextextended(%s, %s))", key)
