"""Rows in Postgres' binary form: of many of them, writing and reading text is half of the work."""

from collections.abc import Mapping
from typing import Any, Final

from django.db import connection
from psycopg.pq import Format
from psycopg.types.string import ByteaBinaryLoader

from codemem.plans import with_kept_plans

_UUID: Final = "uuid"


def binary_rows(
    statement: str, parameters: Mapping[str, Any], *, keys_as_bytes: bool = False
) -> list[tuple[Any, ...]]:
    """Return a statement's rows; JSON comes as Python's values, unlike from Django's cursors.

    The plan is kept (see `codemem.plans`). With `keys_as_bytes` a UUID is its 16 bytes: they hash
    and compare ten times sooner, and in the same order.
    """
    return with_kept_plans(lambda: _rows(statement, parameters, keys_as_bytes=keys_as_bytes))


def _rows(
    statement: str, parameters: Mapping[str, Any], *, keys_as_bytes: bool
) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        behind: Any = cursor.cursor  # psycopg's own, behind Django's
        behind.format = Format.BINARY
        if keys_as_bytes:
            behind.adapters.register_loader(_UUID, ByteaBinaryLoader)
        cursor.execute(statement, parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows
