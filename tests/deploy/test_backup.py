"""A backup brings a team's graphs back alive: what pg_dump and pg_restore alone do not."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

CHECKOUT = Path(__file__).parents[2]
BUNDLED_PROGRAMS = CHECKOUT / ".local/services/bin"


@pytest.fixture
def saved() -> Iterator[str]:
    yield from scratch_database()


@pytest.fixture
def restored() -> Iterator[str]:
    yield from scratch_database()


def test_restore_brings_back_a_graph_that_can_be_read_and_extended(saved, restored, tmp_path):
    make_graph(saved)

    backup(saved, tmp_path / "team.dump")
    restore(tmp_path / "team.dump", restored)

    assert callees(restored, 1) == ["2", "3"]
    cypher(restored, "MERGE (:Symbol {uid: 4})")
    cypher(restored, "MATCH (a:Symbol {uid: 3}), (b:Symbol {uid: 4}) CREATE (a)-[:CALLS]->(b)")
    assert callees(restored, 1) == ["2", "3", "4"]


def test_restore_gives_everything_to_the_owner_of_the_database(saved, restored, tmp_path):
    make_graph(saved)

    backup(saved, tmp_path / "team.dump")
    restore(tmp_path / "team.dump", restored)

    with connect(restored) as connection:
        connection.execute("SELECT create_elabel('ns_1', 'IMPORTS')")
        connection.execute("SELECT drop_graph('ns_1', true)")
        connection.execute("DROP TABLE public.memory")


def test_restore_brings_back_rows_with_their_search_indexes(saved, restored, tmp_path):
    make_graph(saved)

    backup(saved, tmp_path / "team.dump")
    restore(tmp_path / "team.dump", restored)

    with connect(restored) as connection:
        rows = connection.execute(
            "SELECT statement FROM memory "
            "ORDER BY statement <@> to_bm25query('cache', 'memory_bm25')"
        ).fetchall()
    assert rows == [("the cache forgets",), ("tokens expire",)]


def test_pg_restore_alone_leaves_graphs_that_cannot_be_read(saved, restored, tmp_path):
    """The reason for after_restore.sql: when AGE mends this, it can go."""
    make_graph(saved)
    backup(saved, tmp_path / "team.dump")

    run(
        program("pg_restore"),
        "--no-comments",
        f"--dbname={admin_url(restored)}",
        str(tmp_path / "team.dump"),
        check=False,  # the extensions' own objects are there already, and it complains of each
    )

    with pytest.raises(psycopg.Error, match=r"graph with oid \d+ does not exist"):
        cypher(restored, "MATCH (a:Symbol) RETURN count(a)")
    run(
        program("psql"),
        f"--dbname={admin_url(restored)}",
        "--set=ON_ERROR_STOP=1",
        f"--file={CHECKOUT / 'deploy/postgres/after_restore.sql'}",
    )
    assert cypher(restored, "MATCH (a:Symbol) RETURN count(a)") == ["3"]


def test_restore_refuses_a_database_that_is_not_empty(saved, tmp_path):
    make_graph(saved)
    backup(saved, tmp_path / "team.dump")

    refused = script("restore.sh", str(tmp_path / "team.dump"), saved)

    assert refused.returncode == 1
    assert "is not empty" in refused.stderr
    assert callees(saved, 1) == ["2", "3"]


def test_restore_of_a_broken_file_leaves_the_database_empty(saved, restored, tmp_path):
    make_graph(saved)
    backup(saved, tmp_path / "team.dump")
    whole = (tmp_path / "team.dump").read_bytes()
    (tmp_path / "half.dump").write_bytes(whole[: len(whole) // 2])

    refused = script("restore.sh", str(tmp_path / "half.dump"), restored)

    assert refused.returncode == 1
    with connect(restored) as connection:
        tables = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
        assert tables.fetchone() == (0,)


def test_restore_names_the_database_that_is_missing(saved, tmp_path):
    backup(saved, tmp_path / "team.dump")

    refused = script("restore.sh", str(tmp_path / "team.dump"), "no_such_database")

    assert refused.returncode == 1
    assert "there is no database no_such_database" in refused.stderr


def test_backup_does_not_overwrite_an_earlier_one(saved, tmp_path):
    (tmp_path / "team.dump").write_text("yesterday's")

    refused = script("backup.sh", str(tmp_path / "team.dump"), DATABASE_URL=plain_url(saved))

    assert refused.returncode == 1
    assert "exists already" in refused.stderr
    assert (tmp_path / "team.dump").read_text() == "yesterday's"


def test_backup_is_readable_by_its_owner_only(saved, tmp_path):
    backup(saved, tmp_path / "team.dump")

    assert (tmp_path / "team.dump").stat().st_mode & 0o777 == 0o600


def test_a_restored_server_answers_as_before_and_goes_on(saved, restored, tmp_path):
    server(saved, "manage.py", "migrate", "--verbosity", "0")
    inside(saved, "fill")
    before = inside(saved, "tell")
    assert before["walter"]["answers"]["how long do sessions live"][0][1].endswith("an hour.")
    assert before["walter"]["answers"]["which editor do I like"]
    assert [before[name]["private"] for name in ("olga", "walter")] == [False, True]
    assert (before["walter"]["vectors"], before["walter"]["versions"]) == (4, [1])

    backup(saved, tmp_path / "team.dump")
    restore(tmp_path / "team.dump", restored)

    assert inside(restored, "tell") == before
    inside(restored, "extend")
    after = inside(restored, "tell")
    assert after["walter"]["vectors"] == 5
    assert after["olga"]["export"] != before["olga"]["export"]


def inside(database: str, command: str) -> Any:
    """Run one of tests/deploy/inside.py's commands as a server of that database would."""
    return json.loads(server(database, "-m", "tests.deploy.inside", command))


def server(database: str, *arguments: str) -> str:
    address = {"DATABASE_URL": plain_url(database), "CODEMEM_LOG_LEVEL": "ERROR"}
    done = subprocess.run(
        (sys.executable, *arguments),
        cwd=CHECKOUT,
        env=os.environ | address,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    return done.stdout


def make_graph(database: str) -> None:
    with connect(database) as connection:
        connection.execute("SELECT create_graph('ns_1')")
        connection.execute("CREATE TABLE public.memory (statement text NOT NULL)")
        connection.execute(
            "INSERT INTO memory VALUES ('the cache forgets'), ('tokens expire')",
        )
        connection.execute(
            "CREATE INDEX memory_bm25 ON memory USING bm25 (statement) "
            "WITH (text_config = 'english')"
        )
    cypher(
        database,
        "CREATE (:Symbol {uid: 1})-[:CALLS]->(:Symbol {uid: 2})-[:CALLS]->(:Symbol {uid: 3})",
    )


def callees(database: str, uid: int) -> list[str]:
    return cypher(
        database,
        f"MATCH (a:Symbol)-[:CALLS]->(b) WHERE a.uid >= {uid} RETURN b.uid ORDER BY b.uid",
    )


def cypher(database: str, query: str) -> list[str]:
    """Run one Cypher query as the application's own role, on a new connection."""
    statement = sql.SQL("SELECT * FROM cypher('ns_1', {}) AS (answer agtype)").format(
        sql.SQL("$cypher$" + query + "$cypher$")
    )
    with connect(database) as connection:
        return [answer for (answer,) in connection.execute(statement).fetchall()]


def backup(database: str, file: Path) -> None:
    done = script("backup.sh", str(file), DATABASE_URL=plain_url(database))
    assert done.returncode == 0, done.stderr


def restore(file: Path, database: str) -> None:
    done = script("restore.sh", str(file), database)
    assert done.returncode == 0, done.stderr


def script(name: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return run(str(CHECKOUT / "deploy" / name), *arguments, check=False, **environment)


def run(*command: str, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        check=check,
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )


def program(name: str) -> str:
    bundled = BUNDLED_PROGRAMS / name
    return str(bundled) if bundled.exists() else name


def scratch_database() -> Iterator[str]:
    name = f"codemem_backup_{uuid4().hex[:12]}"
    identifier = sql.Identifier(name)
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(identifier))
        yield name
        drop = sql.SQL("DROP DATABASE {}").format(identifier)
        try:
            connection.execute(drop + sql.SQL(" WITH (FORCE)"))
        except psycopg.errors.InsufficientPrivilege:
            # Postgres' own vacuum is at work there: it leaves when it is asked without force.
            connection.execute(drop)


def connect(database: str) -> psycopg.Connection:
    return psycopg.connect(plain_url(database), autocommit=True)


def plain_url(database: str) -> str:
    return in_database(os.environ["DATABASE_URL"], database)


def admin_url(database: str) -> str:
    return in_database(os.environ["DATABASE_ADMIN_URL"], database)


def in_database(url: str, database: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{database}"))
