"""`manage.py check --database default` says in sentences what a foreign Postgres lacks."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture
def bare() -> Iterator[str]:
    """Yield the URL of a database that was never provisioned, owned by our role."""
    name = f"bare_{uuid4().hex[:8]}"
    role = urlsplit(os.environ["DATABASE_URL"]).username or ""
    with psycopg.connect(os.environ["DATABASE_ADMIN_URL"], autocommit=True) as admin:
        admin.execute(
            sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE template0").format(
                sql.Identifier(name), sql.Identifier(role)
            )
        )
        yield _with_database(os.environ["DATABASE_URL"], name)
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def test_check_names_missing_extensions_and_how_to_get_them(bare):
    said = _check(bare)

    assert "The Postgres extension age is missing in this database." in said
    assert "The Postgres extension vector is missing in this database." in said
    assert "deploy/postgres/provision.sql as a superuser" in said


def test_check_only_warns_when_text_search_is_the_stock_one(bare):
    with psycopg.connect(_as_admin(bare), autocommit=True) as admin:
        admin.execute("CREATE EXTENSION age")
        admin.execute("CREATE EXTENSION vector")

    said = _check(bare)

    assert "pg_textsearch is missing" in said
    assert "(graph.W001)" in said


def test_check_names_what_provisioning_would_have_done(bare):
    with psycopg.connect(_as_admin(bare), autocommit=True) as admin:
        admin.execute("CREATE EXTENSION age")
        admin.execute("CREATE EXTENSION vector")

    assert "may not use AGE's catalog" in _check(bare)

    with psycopg.connect(_as_admin(bare), autocommit=True) as admin:
        admin.execute("GRANT USAGE ON SCHEMA ag_catalog TO public")
    said = _check(bare)

    assert "casts between bigint and graphid are missing" in said
    assert "operators > and >= are still swapped" in said


def test_check_says_that_postgres_does_not_answer():
    said = _check("postgresql://nobody@127.0.0.1:1/nothing")

    assert "Postgres does not answer" in said
    assert "Traceback" not in said


def test_check_is_content_with_a_provisioned_database():
    assert "no issues" in _check(os.environ["DATABASE_URL"])


def _check(url: str) -> str:
    done = subprocess.run(
        [sys.executable, "manage.py", "check", "--database", "default"],
        cwd=CHECKOUT,
        env={**os.environ, "DATABASE_URL": url},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout + done.stderr


def _with_database(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def _as_admin(url: str) -> str:
    admin = os.environ["DATABASE_ADMIN_URL"]
    name = urlsplit(url).path.strip("/")
    return psycopg.conninfo.make_conninfo(admin, dbname=name)
