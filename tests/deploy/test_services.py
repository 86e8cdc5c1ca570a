"""services.sh runs real servers: these tests start their own, aside from the ones in use."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import psycopg
import pytest
import redis

CHECKOUT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    not (CHECKOUT / ".local/services/.complete").exists(),
    reason="no unpacked servers: the tests use servers given by DATABASE_URL and REDIS_URL",
)


@pytest.fixture(scope="module")
def running(tmp_path_factory) -> Iterator[Path]:
    """Make an instance that every test finds running; a test that stops it starts it again."""
    folder = tmp_path_factory.mktemp("instance")
    for parent in (folder, *folder.parents[:2]):
        parent.chmod(0o755)  # root lends the servers another account, which must enter
    services("up", folder)
    yield folder
    services("down", folder)


def test_the_role_of_the_application_is_no_superuser_and_may_make_graphs(running):
    with psycopg.connect(settings(running)["DATABASE_URL"], autocommit=True) as connection:
        (is_superuser,) = connection.execute(
            "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"
        ).fetchone() or (None,)
        connection.execute("SELECT create_graph('ns_1')")
        connection.execute("SELECT drop_graph('ns_1', true)")

    assert is_superuser is False


def test_a_database_made_by_the_application_has_the_extensions(running):
    url = settings(running)["DATABASE_URL"]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE test_codemem")
    with psycopg.connect(url.removesuffix("codemem") + "test_codemem") as connection:
        extensions = connection.execute("SELECT extname FROM pg_extension").fetchall()

    assert {"age", "vector", "pg_trgm", "pg_textsearch"} <= {name for (name,) in extensions}


def test_greater_or_equal_through_a_property_index_keeps_its_boundary(running):
    """AGE's operator class has > and >= swapped; provision.sql swaps them back."""
    with psycopg.connect(settings(running)["DATABASE_URL"]) as connection:
        connection.execute("CREATE TABLE number (value agtype)")
        connection.execute("INSERT INTO number SELECT i::text::agtype FROM generate_series(1, 9) i")
        connection.execute("CREATE INDEX ON number (value)")
        connection.execute("SET LOCAL enable_seqscan = off")
        found = connection.execute("SELECT count(*) FROM number WHERE value >= '5'").fetchone()
        connection.rollback()

    assert found == (5,)


def test_the_superuser_is_refused_over_the_network(running):
    url = settings(running)["DATABASE_URL"]
    as_superuser = "postgresql://postgres:guess@" + url.partition("@")[2]

    with pytest.raises(psycopg.OperationalError, match="rejects connection"):
        psycopg.connect(as_superuser)


def test_redis_asks_for_its_password_and_never_forgets_a_task(running):
    url = settings(running)["REDIS_URL"]
    client = redis.Redis.from_url(url)

    assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
    assert client.config_get("appendonly") == {"appendonly": "yes"}
    with pytest.raises(redis.AuthenticationError):
        redis.Redis.from_url("redis://" + url.partition("@")[2]).ping()


def test_the_settings_are_readable_by_their_owner_only(running):
    assert (running / "env").stat().st_mode & 0o777 == 0o600


def test_up_again_changes_nothing(running):
    before = settings(running), postgres_pid(running)

    services("up", running)

    assert (settings(running), postgres_pid(running)) == before


def test_up_keeps_what_others_wrote_into_the_settings(running):
    with (running / "env").open("a") as file:
        file.write("CODEMEM_SECRET_KEY=kept\n")

    services("up", running)

    assert settings(running)["CODEMEM_SECRET_KEY"] == "kept"


def test_up_recovers_servers_that_were_killed(running):
    with psycopg.connect(settings(running)["DATABASE_URL"], autocommit=True) as connection:
        connection.execute("CREATE TABLE survivor AS SELECT 1 AS value")
    redis.Redis.from_url(settings(running)["REDIS_URL"]).set("survivor", "1")
    os.kill(postgres_pid(running), signal.SIGKILL)
    os.kill(redis_pid(running), signal.SIGKILL)

    services("up", running)

    with psycopg.connect(settings(running)["DATABASE_URL"], autocommit=True) as connection:
        assert connection.execute("SELECT value FROM survivor").fetchone() == (1,)
    assert redis.Redis.from_url(settings(running)["REDIS_URL"]).exists("survivor")


def test_up_moves_to_another_port_when_its_own_was_taken(running):
    port = psycopg.conninfo.conninfo_to_dict(settings(running)["DATABASE_URL"])["port"]
    services("down", running)

    with socket.create_server(("127.0.0.1", int(str(port)))):
        services("up", running)

    assert f":{port}/" not in settings(running)["DATABASE_URL"]
    psycopg.connect(settings(running)["DATABASE_URL"]).close()


def test_down_leaves_a_process_alone_that_inherited_its_number(running):
    services("down", running)
    (running / "pg/postmaster.pid").write_text(f"{os.getpid()}\n")

    services("down", running)
    services("up", running)

    psycopg.connect(settings(running)["DATABASE_URL"]).close()


def test_down_twice_is_fine_and_status_says_so(running):
    services("down", running)
    services("down", running)

    status = services("status", running, check=False)

    assert status.returncode == 3
    assert status.stdout == "postgres: not running\nredis: not running\n"
    services("up", running)


def test_up_starts_nothing_in_place_of_servers_that_were_given(tmp_path):
    given = {"DATABASE_URL": "postgresql://me:secret@db/team", "REDIS_URL": "redis://cache/1"}

    services("up", tmp_path, environment=given)

    assert settings(tmp_path) == given
    assert not (tmp_path / "pg").exists()
    assert not (tmp_path / "redis").exists()


def services(
    command: str,
    folder: Path,
    *,
    environment: Mapping[str, str] = MappingProxyType({}),
    check: bool = True,
) -> subprocess.CompletedProcess[str]:
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in {"DATABASE_URL", "DATABASE_ADMIN_URL", "REDIS_URL"}
    }
    done = subprocess.run(
        [CHECKOUT / "deploy/services.sh", command, folder],
        check=False,
        capture_output=True,
        text=True,
        env=inherited | dict(environment),
    )
    assert not check or done.returncode == 0, done.stderr
    return done


def settings(folder: Path) -> dict[str, str]:
    lines = (folder / "env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def postgres_pid(folder: Path) -> int:
    return int((folder / "pg/postmaster.pid").read_text().split()[0])


def redis_pid(folder: Path) -> int:
    return int((folder / "redis/redis.pid").read_text())
