"""Rows in Postgres' binary form."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from codemem.postgres.binary import binary_rows

KEY = UUID("0197a6f0-0000-7000-8000-0000000000ff")
pytestmark = pytest.mark.django_db


def test_rows_are_pythons_values():
    statement = "SELECT %(key)s::uuid, ARRAY[%(key)s::uuid], 1.5::float8, '[1]'::jsonb, %(at)s"
    at = datetime(2030, 1, 31, 12, tzinfo=UTC)
    assert binary_rows(statement, {"key": KEY, "at": at}) == [(KEY, [KEY], 1.5, [1], at)]


def test_keys_may_be_bytes_in_that_statement_alone():
    statement = "SELECT %(key)s::uuid, ARRAY[%(key)s::uuid]"
    parameters = {"key": KEY}
    assert binary_rows(statement, parameters, keys_as_bytes=True) == [(KEY.bytes, [KEY.bytes])]
    assert binary_rows(statement, parameters) == [(KEY, [KEY])]
