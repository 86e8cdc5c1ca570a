"""`manage.py check --database default` says in sentences what a foreign Postgres lacks."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
import pytest
from django.db import connections
from psycopg import sql

from graph.checks import check_database

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


@pytest.fixture
def check(django_db_blocker) -> Iterator[Callable[[str], str]]:
    """Yield a function that runs the check on another database and returns what it says."""

    def run(url: str) -> str:
        name = urlsplit(url).path.strip("/")
        connections.databases["probe"] = {**connections.databases["default"], "NAME": name}
        try:
            problems = check_database(databases=["probe"])
            return "\n".join(f"{problem.msg} {problem.hint} ({problem.id})" for problem in problems)
        finally:
            connections["probe"].close()
            del connections["probe"]
            del connections.databases["probe"]

    with django_db_blocker.unblock():
        yield run


def test_check_names_missing_extensions_and_how_to_get_them(bare, check):
    said = check(bare)

    assert "The Postgres extension age is missing in this database." in said
    assert "The Postgres extension vector is missing in this database." in said
    assert "deploy/postgres/provision.sql as a superuser" in said


def test_check_only_warns_when_text_search_is_the_stock_one(bare, check):
    with psycopg.connect(_as_admin(bare), autocommit=True) as admin:
        admin.execute("CREATE EXTENSION age")
        admin.execute("CREATE EXTENSION vector")

    said = check(bare)

    assert "pg_textsearch is missing" in said
    assert "(graph.W001)" in said


def test_check_names_what_provisioning_would_have_done(bare, check):
    with psycopg.connect(_as_admin(bare), autocommit=True) as admin:
        admin.execute("CREATE EXTENSION age")
        admin.execute("CREATE EXTENSION vector")

    assert "may not use AGE's catalog" in check(bare)

    with psycopg.connect(_as_admin(bare), autocommit=True) as admin:
        admin.execute("GRANT USAGE ON SCHEMA ag_catalog TO public")
    said = check(bare)

    assert "casts between bigint and graphid are missing" in said
    assert "operators > and >= are still swapped" in said


def test_check_is_content_with_a_provisioned_database(check):
    assert check(os.environ["DATABASE_URL"]) == ""


def test_commands_say_in_a_sentence_that_postgres_does_not_answer():
    done = subprocess.run(
        [sys.executable, "manage.py", "check", "--database", "default"],
        cwd=CHECKOUT,
        env={**os.environ, "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 1
    assert done.stderr.startswith("Postgres does not answer")
    assert "Traceback" not in done.stderr


def _with_database(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def _as_admin(url: str) -> str:
    admin = os.environ["DATABASE_ADMIN_URL"]
    name = urlsplit(url).path.strip("/")
    return psycopg.conninfo.make_conninfo(admin, dbname=name)
