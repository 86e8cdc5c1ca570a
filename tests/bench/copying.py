"""COPY into tables and label tables, with ids taken from their sequences beforehand."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

from psycopg import sql

_LINES_AT_ONCE = 10_000


def take_ids(cursor: Any, table: str, count: int) -> range:
    """Return ids that the table's own sequence will never give to anybody else."""
    return take_numbers(cursor, f"{table}_id_seq", count)


def take_numbers(cursor: Any, sequence: str, count: int) -> range:
    # Under a lock: several processes may load at once.
    cursor.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", [sequence])
    try:
        cursor.execute("SELECT nextval(%s::regclass)", [sequence])
        first = int(cursor.fetchone()[0])
        cursor.execute("SELECT setval(%s::regclass, %s)", [sequence, first + count])
    finally:
        cursor.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", [sequence])
    return range(first, first + count)


def copy_rows(
    cursor: Any, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]
) -> None:
    """Copy values in Postgres' binary format, which takes a vector as it is."""
    cursor.execute(
        "SELECT array_agg(atttypid::int ORDER BY place) FROM pg_attribute"
        " JOIN unnest(%s::text[]) WITH ORDINALITY AS wanted (name, place) ON attname = name"
        " WHERE attrelid = %s::regclass",
        [list(columns), table],
    )
    (types,) = cursor.fetchone()
    binary = _statement(sql.Identifier(table), columns) + sql.SQL(" (FORMAT binary)")
    with cursor.copy(binary) as copy:
        copy.set_types(types)
        for row in rows:
            copy.write_row(row)


def copy_lines(
    cursor: Any, table: sql.Composable, columns: Sequence[str], lines: Iterable[str]
) -> None:
    """Copy lines that are COPY's text format already: nothing in them needs an escape."""
    with cursor.copy(_statement(table, columns)) as copy:
        rest = iter(lines)
        while some := list(islice(rest, _LINES_AT_ONCE)):
            copy.write("".join(some))


def _statement(table: sql.Composable, columns: Sequence[str]) -> sql.Composed:
    return sql.SQL("COPY {} ({}) FROM STDIN").format(
        table, sql.SQL(", ").join(map(sql.Identifier, columns))
    )


@contextmanager
def without_indexes(cursor: Any, *, schema: str, table: str) -> Iterator[None]:
    """Take a table's indexes away and build them anew afterwards: a third of the time."""
    cursor.execute(
        "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index"
        " WHERE indrelid = format('%%I.%%I', %s::text, %s::text)::regclass AND NOT indisprimary",
        [schema, table],
    )
    indexes = cursor.fetchall()
    for name, _ in indexes:
        cursor.execute(f"DROP INDEX {name}")
    yield
    for _, definition in indexes:
        cursor.execute(definition.replace("%", "%%"))
