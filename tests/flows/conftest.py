"""Journeys run against real processes: gunicorn, Celery, Postgres and Redis of the test instance.

They use the instance's own database, not pytest's, and see nothing of it but what HTTP shows.
"""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from tests.servers import ROOT, free_port, running, running_server

_DONE = {"done", "failed"}


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    content: Any


@dataclass(frozen=True, slots=True)
class Agent:
    """A member with a token who asks the server over HTTP."""

    url: str
    token: str
    namespace: str

    def tool(self, name: str, **arguments: Any) -> Answer:
        return self.ask("POST", f"/api/v1/tools/{name}", arguments)

    def told(self, name: str, **arguments: Any) -> Any:
        """Return a tool's result; it must not be an error."""
        answer = self.tool(name, **arguments)
        assert answer.status == HTTPStatus.OK, answer
        return answer.content

    def ask(self, method: str, path: str, body: object = None, *, seconds: float = 60) -> Answer:
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=seconds) as response:
                return Answer(response.status, json.load(response))
        except urllib.error.HTTPError as error:
            return Answer(error.code, json.load(error))

    def register(self, name: str, path: Path) -> str:
        """Register a repository, which also asks for its first indexing; return its id."""
        body = {"namespace": self.namespace, "name": name, "url": str(path)}
        answer = self.ask("POST", "/api/repositories", body)
        assert answer.status == HTTPStatus.CREATED, answer
        repository_id: str = answer.content["id"]
        return repository_id

    def newest_run(self, repository_id: str) -> Any:
        return self.ask("GET", f"/api/repositories/{repository_id}/runs").content[0]

    def wait_until_indexed(self, repository_id: str, *, seconds: float = 120) -> Any:
        """Return the newest run when it is over; it must have succeeded."""
        deadline = time.monotonic() + seconds
        run = self.newest_run(repository_id)
        while run["state"] not in _DONE:
            assert time.monotonic() < deadline, run
            time.sleep(0.2)
            run = self.newest_run(repository_id)
        assert run["state"] == "done", run
        return run


@pytest.fixture(scope="session")
def instance() -> Path:
    """Return the folder of the services that these tests may stop and restart."""
    folder = os.environ.get("CODEMEM_TEST_INSTANCE")
    if not folder:
        pytest.fail(
            "These tests stop and restart their Postgres and Redis: run them with `make test`, or"
            " set CODEMEM_TEST_INSTANCE to a folder of deploy/services.sh."
        )
    return Path(folder)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where the repositories of these tests are; the server may read no other folder."""
    return tmp_path_factory.mktemp("repositories")


@pytest.fixture(scope="session")
def environment(instance: Path, folder: Path) -> dict[str, str]:
    """Return the settings of every process of these tests; the database is migrated."""
    server, _, _ = os.environ["REDIS_URL"].rpartition("/")
    values = {
        "DJANGO_SETTINGS_MODULE": "codemem.settings",
        # Queues of their own: pytest's process uses database 0.
        "REDIS_URL": f"{server}/1",
        "CODEMEM_DATA_DIRECTORY": str(instance / "flows"),
        "CODEMEM_LOCAL_REPOSITORY_ROOTS": str(folder),
        "CODEMEM_LOG_LEVEL": "WARNING",
    }
    command = (sys.executable, "manage.py", "migrate", "--verbosity", "0")
    subprocess.run(command, cwd=ROOT, env={**os.environ, **values}, check=True)
    return values


@pytest.fixture(scope="session")
def server(environment: dict[str, str]) -> Iterator[str]:
    with running_server(port=free_port(), environment=environment) as url:
        yield url


@pytest.fixture(scope="module")
def worker(environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    with running_worker(environment) as process:
        yield process


def running_worker(
    environment: dict[str, str],
) -> AbstractContextManager[subprocess.Popen[bytes]]:
    """Run a Celery worker for all queues for as long as the block lasts."""
    return running(
        "celery",
        *("-A", "workers.app", "worker"),
        *("--queues", "index,embed,maintenance,analysis,history,scip"),
        *("--concurrency", "1", "--loglevel", "WARNING"),
        *("--without-gossip", "--without-mingle"),
        environment=environment,
    )


@pytest.fixture(scope="session")
def agent(server: str, environment: dict[str, str]) -> Agent:
    name = f"flow-{uuid.uuid4().hex[:8]}"
    return Agent(url=server, token=inside(environment, "found", name), namespace=name)


def inside(environment: dict[str, str], command: str, argument: str) -> Any:
    """Run one of tests/flows/inside.py's commands and return what it printed."""
    finished = subprocess.run(
        (sys.executable, "-m", "tests.flows.inside", command, argument),
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr[-3_000:]
    return json.loads(finished.stdout)
