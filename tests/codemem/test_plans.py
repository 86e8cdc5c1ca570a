"""Kept plans answer as unkept ones would, whatever happens to the session or the schema."""

from collections.abc import Iterator

import pytest
from django.db import DataError, ProgrammingError, connection, transaction

from codemem.plans import array_of, kept_rows

SELECT = "SELECT label FROM kept_thing WHERE id = ANY ((SELECT %s::bigint[])::bigint[]) ORDER BY id"


@pytest.fixture
def things(transactional_db: None) -> Iterator[None]:
    run("CREATE TABLE kept_thing (id bigint, label text)")
    run("CREATE INDEX kept_thing_id ON kept_thing (id)")
    run("INSERT INTO kept_thing SELECT n, 'thing ' || n FROM generate_series(1, 2000) n")
    run("ANALYZE kept_thing")
    yield
    run("SET search_path TO public, ag_catalog")
    run("DROP SCHEMA IF EXISTS kept_elsewhere CASCADE")
    run("DROP TABLE kept_thing")


def test_a_plan_is_kept_and_is_one_for_all_parameters(things):
    for key in range(1, 9):
        assert ask(key) == [f"thing {key}"]
    assert ask(1, 2_000, 2**40) == ["thing 1", "thing 2000"]

    assert kept() == [(1, 4, 5)]


def test_only_what_is_asked_inside_is_kept(things):
    run(SELECT, array_of([1]))

    assert kept() == []
    assert connection.connection.prepare_threshold is None


def test_a_session_that_was_discarded_keeps_anew(things):
    keep()
    run("DISCARD ALL")

    assert ask(7) == ["thing 7"]
    assert len(kept()) == 1


def test_inside_a_transaction_a_discarded_session_heals_with_its_end(things):
    keep()
    with transaction.atomic():
        run("DEALLOCATE ALL")
        with pytest.raises(ProgrammingError, match="does not exist"):
            ask(7)
        transaction.set_rollback(True)

    assert ask(7) == ["thing 7"]


def test_deallocated_plans_are_kept_anew(things):
    keep()
    run("DEALLOCATE ALL")

    assert ask(7) == ["thing 7"]


def test_a_new_connection_keeps_plans_of_its_own(things):
    keep()
    connection.close()

    assert kept() == []
    assert ask(7) == ["thing 7"]


@pytest.mark.parametrize(
    "change",
    [
        "DROP INDEX kept_thing_id",
        "ALTER INDEX kept_thing_id RENAME TO kept_thing_other",
        "ALTER TABLE kept_thing ADD COLUMN more text",
        "TRUNCATE kept_thing; INSERT INTO kept_thing VALUES (7, 'thing 7')",
    ],
)
def test_a_changed_schema_is_planned_for_anew(things, change):
    keep()
    # By somebody else: psycopg itself forgets its plans when it sees a DROP or ALTER.
    with connection.copy().cursor() as other:
        other.execute(change)
        other.close()
        other.db.close()

    assert ask(7) == ["thing 7"]


def test_a_table_made_again_is_read(things):
    keep()
    run("DROP TABLE kept_thing")
    run("CREATE TABLE kept_thing (id bigint, label text)")
    run("INSERT INTO kept_thing VALUES (7, 'new')")

    assert ask(7) == ["new"]


def test_another_search_path_finds_another_table(things):
    keep()
    run("CREATE SCHEMA kept_elsewhere")
    run("CREATE TABLE kept_elsewhere.kept_thing AS SELECT 7::bigint AS id, 'elsewhere' AS label")

    run("SET search_path TO kept_elsewhere, public, ag_catalog")
    assert ask(7) == ["elsewhere"]
    run("SET search_path TO public, ag_catalog")
    assert ask(7) == ["thing 7"]


def test_a_rollback_or_an_error_loses_no_answer(things):
    with transaction.atomic():
        keep()
        transaction.set_rollback(True)
    assert ask(7) == ["thing 7"]
    assert len(kept()) == 1

    with pytest.raises(DataError):
        kept_rows(SELECT, ["{no number}"])
    assert ask(7) == ["thing 7"]


def test_a_rollback_leaves_the_prepared_rollback_where_it_is(things):
    with transaction.atomic():
        keep()
        transaction.set_rollback(True)

    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_prepared_statements WHERE name = 'codemem_rollback'")
        assert len(cursor.fetchall()) == 1


def test_no_numbers_are_an_empty_array(things):
    assert array_of([]) == "{}"
    assert ask() == []


def keep() -> None:
    for _ in range(8):
        ask(7)
    assert len(kept()) == 1


def ask(*keys: int) -> list[str]:
    return [label for (label,) in kept_rows(SELECT, [array_of(keys)])]


def kept() -> list[tuple[int, int, int]]:
    """Return how often each kept statement had a plan for all parameters, and plans of its own."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1, generic_plans, custom_plans FROM pg_prepared_statements"
            " WHERE statement LIKE '%%FROM kept_thing%%'"
        )
        return cursor.fetchall()


def run(statement: str, *parameters: str) -> None:
    with connection.cursor() as cursor:
        # Without parameters: several statements at once.
        cursor.execute(statement, list(parameters) or None)
