"""Servers and workers killed in the middle (kill -9): nothing is lost, doubled or half applied."""

import json
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.flows.conftest import Agent, inside, running_worker
from tests.servers import ROOT, end_group, free_port, running_gunicorn

MANY = 800  # two parts of an import; two steps of a cycle
_ID = "01890000-0000-7000-8000-{:06x}{:06x}"
_PADDING = "because the queue drains before the cache is warm, " * 50


@pytest.fixture
def agent(server: str, environment: dict[str, str]) -> Agent:
    """Return the owner of a namespace that no other journey counts on."""
    name = f"killed-{uuid.uuid4().hex[:8]}"
    return Agent(url=server, token=inside(environment, "found", name), namespace=name)


def archive(batch: int, count: int = MANY) -> bytes:
    """Return lines of memories of half a year ago, whose ids and words are the batch's own."""
    records = (
        {
            "record": "memory",
            "id": _ID.format(batch, number),
            "type": "context",
            "content": f"Case {number} of batch {batch} is kept {_PADDING}",
            "created_at": "2026-01-31T12:00:00Z",
        }
        for number in range(count)
    )
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


@contextmanager
def codemem(agent: Agent, url: str, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    environment = {"CODEMEM_URL": url, "CODEMEM_TOKEN": agent.token}
    environment |= {"CODEMEM_NAMESPACE": agent.namespace, "NO_PROXY": "*"}
    with subprocess.Popen(
        (sys.executable, "-m", "codemem.client", *arguments),
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        yield process


def told(agent: Agent, *arguments: str) -> Any:
    with codemem(agent, agent.url, *arguments, "--json") as process:
        out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    return json.loads(out)


def kept(agent: Agent) -> int:
    count: int = agent.told("namespace_stats", namespace=agent.namespace)["memories"]
    return count


def wait_until(condition: Callable[[], bool], *, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.05)


@contextmanager
def held(statement: str) -> Iterator[None]:
    """Hold a lock in the database, so that whoever writes next stands still."""
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        connection.execute(statement)
        yield
        connection.rollback()


@contextmanager
def taken(memory_id: str, *, like: str) -> Iterator[None]:
    """Be about to write a memory of this id, so that whoever writes it waits for us."""
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        rows = connection.execute(
            "SELECT column_name FROM information_schema.columns"
            " WHERE table_name = 'memory_memory' AND is_generated = 'NEVER'"
        )
        columns = [name for (name,) in rows]
        own = {"id": "%(id)s::uuid", "number": "nextval('memory_memory_number')"}
        own |= {"content_hash": "sha256('taken')"}
        given = ", ".join(own.get(name, name) for name in columns)
        connection.execute(
            f"INSERT INTO memory_memory ({', '.join(columns)})"
            f" SELECT {given} FROM memory_memory WHERE id = %(like)s",
            {"id": memory_id, "like": like},
        )
        yield
        connection.rollback()


def test_an_import_whose_server_is_killed_is_completed_by_importing_again(
    agent: Agent, environment: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "many.jsonl"
    # Ids of their own each time: these journeys leave their database as it is.
    first, batch = random.sample(range(1 << 24), 2)
    path.write_bytes(archive(first, count=1))
    told(agent, "import", str(path))
    before = kept(agent)
    path.write_bytes(archive(batch))
    port = free_port()
    with (
        running_gunicorn(port=port, environment=environment) as server,
        # In the second part: the first one has been reported.
        taken(_ID.format(batch, MANY - 100), like=_ID.format(first, 0)),
        codemem(agent, f"http://127.0.0.1:{port}", "import", str(path)) as client,
    ):
        wait_until(lambda: kept(agent) >= before + MANY * 5 // 8)
        end_group(server, signal.SIGKILL)
        _, err = client.communicate(timeout=60)
    assert client.returncode == 3, err
    reported = int(err.split(" memories are in")[0].split()[-1].replace(",", ""))
    there = kept(agent) - before
    assert 0 < reported <= there < MANY

    again = told(agent, "import", str(path))

    assert (again["created"], again["unchanged"]) == (MANY - there, there)
    assert again["problem_count"] == 0
    assert kept(agent) == before + MANY


def test_a_cycle_whose_worker_is_killed_is_gone_on_with_and_undone_as_a_whole(
    agent: Agent, environment: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "many.jsonl"
    batch = random.randrange(1 << 24)
    path.write_bytes(archive(batch))
    told(agent, "import", str(path))
    before = exported(agent, tmp_path / "before.jsonl")
    last = _ID.format(batch, MANY - 1)
    with (
        running_worker(environment) as worker,
        held(f"SELECT FROM memory_memory WHERE id = '{last}' FOR UPDATE"),
    ):
        (run,) = told(agent, "consolidate", "decay", "--no-wait")["runs"]
        wait_until(lambda: changes(agent, run["id"]) >= 500)
        end_group(worker, signal.SIGKILL)
    assert shown(agent, run["id"])["state"] == "running"

    wait_until(lambda: bool(inside(environment, "recover_consolidation", "now")))
    with running_worker(environment):
        wait_until(lambda: shown(agent, run["id"])["state"] == "done")

    assert exported(agent, tmp_path / "after.jsonl") != before
    told(agent, "consolidate", "--undo", run["id"])
    assert exported(agent, tmp_path / "undone.jsonl") == before


def shown(agent: Agent, run_id: str) -> Any:
    return agent.ask("GET", f"/api/consolidation-runs/{run_id}").content


def changes(agent: Agent, run_id: str) -> int:
    """Count what a run has changed until now."""
    count, after = 0, 0
    while after is not None:
        address = f"/api/consolidation-runs/{run_id}/changes?limit=500&after={after}"
        page = agent.ask("GET", address).content
        count, after = count + len(page["changes"]), page["next_after"]
    return count


def exported(agent: Agent, path: Path) -> bytes:
    told(agent, "export", "-o", str(path))
    return path.read_bytes()
