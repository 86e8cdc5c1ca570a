"""Plans that a connection keeps: for hot statements that take longer to plan than to run."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from django.db import ProgrammingError, connection
from psycopg.errors import InvalidSqlStatementName

Answer = TypeVar("Answer")


def kept_rows(
    statement: str, parameters: Sequence[Any] | Mapping[str, Any]
) -> list[tuple[Any, ...]]:
    """Return the rows of a statement whose plan Postgres keeps, where that is worth it.

    Only for statements of a fixed text whose best plan does not depend on their parameters, such
    as look-ups by key. psycopg keeps the hundred that a connection used last; Postgres plans anew
    what a change of the schema, of the statistics or of the search path has made stale.
    """
    return with_kept_plans(lambda: _rows(statement, parameters))


def with_kept_plans(ask: Callable[[], Answer]) -> Answer:
    """Return what `ask` returns, whose statements have plans that are kept; see `kept_rows`.

    It may be called twice, and changes nothing.
    """
    try:
        return _keeping(ask)
    except ProgrammingError as error:
        is_forgotten = isinstance(error.__cause__, InvalidSqlStatementName)
        # A transaction is lost by this; whoever asks after it gets the new connection.
        if not is_forgotten or connection.in_atomic_block:
            raise
    # Somebody, a pooler for instance, said DISCARD ALL behind psycopg's back.
    connection.close()
    return _keeping(ask)


def array_of(numbers: Iterable[int]) -> str:
    """Return numbers as the text of an SQL array, for `%(...)s::bigint[]`.

    A list would be of a type that depends on its largest number, and each type has plans of its
    own. Say `any ((select %(...)s::bigint[])::bigint[])` in a statement with kept plans: Postgres
    then guesses the array's length, and one plan is as good as another.
    """
    return f"{{{','.join(map(str, numbers))}}}"


def _keeping(ask: Callable[[], Answer]) -> Answer:
    connection.ensure_connection()
    link = connection.connection
    # Django has psycopg keep none, because of poolers that hand out one session to many.
    before, link.prepare_threshold = link.prepare_threshold, 0
    try:
        return ask()
    finally:
        link.prepare_threshold = before


def _rows(statement: str, parameters: Sequence[Any] | Mapping[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows
