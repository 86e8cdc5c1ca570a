"""What happens when Postgres restarts, Redis goes, or a worker is killed: nothing is lost."""

import os
import re
import shutil
import signal
import subprocess
import threading
import time
import urllib.error
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from django.db import connections

from tests.flows.conftest import Agent, Answer, inside, running_worker
from tests.flows.repositories import commit, make_repository
from tests.servers import ROOT

CALLERS = 4
QUICK_SECONDS = 3
FILES = {
    "shop/__init__.py": "",
    "shop/billing.py": "def charge(cents):\n    return cents\n",
    "shop/web.py": "from shop.billing import charge\n\n\ndef checkout():\n    return charge(1)\n",
}
# Enough to be in the middle of something for a few seconds.
MANY = 300


@pytest.fixture(autouse=True)
def _fresh_connections() -> Iterator[None]:
    """Close pytest's own connections afterwards: what they were connected to has gone."""
    yield
    connections.close_all()


def test_requests_recover_when_postgres_restarts_under_load(
    agent: Agent, instance: Path, environment: dict[str, str]
) -> None:
    agent.told("store_memory", namespace=agent.namespace, content="Deploys happen on Tuesdays.")
    with hammering(agent) as load:
        load.wait_for_answers(20)
        services("restart-postgres", instance)
        restarted_at = time.monotonic()
        load.wait_for_success(seconds=30)
        recovered_seconds = time.monotonic() - restarted_at
        load.begin_anew()
        load.wait_for_answers(40)
    assert load.statuses == {HTTPStatus.OK: load.count}, load.statuses
    for answer in load.refusals:
        assert answer.status == HTTPStatus.SERVICE_UNAVAILABLE, answer
        assert answer.content["error"]["message"].endswith("."), answer
    assert recovered_seconds < 10


def test_reads_go_on_and_work_is_kept_while_redis_is_gone(
    agent: Agent, instance: Path, environment: dict[str, str], folder: Path
) -> None:
    agent.told("store_memory", namespace=agent.namespace, content="Releases are cut on Mondays.")
    path = make_repository(folder / "waiting", FILES)
    with without_redis(instance):
        recalled = timed(agent, "recall", query="When are releases cut?")
        assert "Mondays" in recalled["results"][0]["content"]
        timed(agent, "list_namespaces")
        status = timed(agent, "codemem_status")
        assert status["health"]["redis"] == "does not answer"
        assert status["health"]["database"] == "ok"
        assert "queues" not in status
        assert any("Redis" in note for note in status["notes"])

        repository_id = agent.register("waiting", path)
        asked = agent.ask("POST", f"/api/repositories/{repository_id}/index")
        assert asked.status == HTTPStatus.SERVICE_UNAVAILABLE
        assert asked.content["error"]["code"] == "queue_unavailable"
        assert agent.newest_run(repository_id)["state"] == "queued"

    run_id = agent.newest_run(repository_id)["id"]
    assert run_id in inside(environment, "recover", "120")
    with running_worker(environment):
        run = agent.wait_until_indexed(repository_id)
    assert run["id"] == run_id
    found = agent.told(
        "search_code",
        namespace=agent.namespace,
        repository="waiting",
        query="checkout",
        mode="text",
    )
    assert found["results"][0]["id"] == "sym:shop/web.py#checkout"


def test_a_run_after_a_killed_worker_shows_exactly_what_a_fresh_index_does(
    agent: Agent, environment: dict[str, str], folder: Path
) -> None:
    path = make_repository(folder / "killed", many_files("killed"))
    repository_id = agent.register("killed", path)
    kill_a_worker_in(environment, agent, repository_id)
    assert agent.newest_run(repository_id)["state"] == "running"

    (path / "shop/module_0.py").unlink()
    commit(path, {"shop/module_1.py": module(1, "changed"), **FILES}, message="Go on")
    asked = agent.ask("POST", f"/api/repositories/{repository_id}/index")
    assert asked.status == HTTPStatus.ACCEPTED
    with running_worker(environment):
        agent.wait_until_indexed(repository_id)
        copy = shutil.copytree(path, folder / "fresh")
        fresh_id = agent.register("fresh", copy)
        agent.wait_until_indexed(fresh_id)

    after_the_kill = inside(environment, "graph", repository_id)
    fresh = inside(environment, "graph", fresh_id)
    assert len(fresh["symbols"]) > MANY
    assert len(fresh["edges"]) > MANY
    assert after_the_kill == fresh


def test_a_killed_workers_run_is_taken_over_without_anyone_asking(
    agent: Agent, environment: dict[str, str], folder: Path
) -> None:
    path = make_repository(folder / "taken-over", many_files("taken"))
    repository_id = agent.register("taken-over", path)
    kill_a_worker_in(environment, agent, repository_id)
    lost = agent.newest_run(repository_id)["id"]
    assert lost in inside(environment, "recover", "120")
    with running_worker(environment):
        run = agent.wait_until_indexed(repository_id)
    assert run["id"] == lost
    assert run["counts"]["files"] == MANY


@dataclass(slots=True)
class Load:
    """Callers that ask without a pause, and what they were answered."""

    agent: Agent
    answers: list[Answer] = field(default_factory=list)
    refusals: list[Answer] = field(default_factory=list)
    is_over: threading.Event = field(default_factory=threading.Event)

    @property
    def count(self) -> int:
        return len(self.answers)

    @property
    def statuses(self) -> Counter[int]:
        return Counter(answer.status for answer in self.answers)

    def keep_asking(self) -> None:
        while not self.is_over.is_set():
            try:
                answer = self.agent.tool("recall", query="When do deploys happen?")
            except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
                answer = Answer(0, repr(error))
            self.answers.append(answer)
            if answer.status != HTTPStatus.OK:
                self.refusals.append(answer)

    def wait_for_answers(self, count: int, *, seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while self.count < count:
            assert time.monotonic() < deadline, self.statuses
            time.sleep(0.05)

    def wait_for_success(self, *, seconds: float) -> None:
        """Wait until every caller got an answer again, one after the other."""
        deadline = time.monotonic() + seconds
        self.begin_anew()
        while self.count < CALLERS or self.refused_lately():
            assert time.monotonic() < deadline, self.statuses
            time.sleep(0.05)

    def refused_lately(self) -> bool:
        return any(answer.status != HTTPStatus.OK for answer in self.answers[-CALLERS:])

    def begin_anew(self) -> None:
        """Forget the answers so far; refusals are kept."""
        self.answers = []


@contextmanager
def hammering(agent: Agent) -> Iterator[Load]:
    load = Load(agent)
    callers = [threading.Thread(target=load.keep_asking) for _ in range(CALLERS)]
    for caller in callers:
        caller.start()
    try:
        yield load
    finally:
        load.is_over.set()
        for caller in callers:
            caller.join()


@contextmanager
def without_redis(instance: Path) -> Iterator[None]:
    """Stop the instance's Redis; services.sh starts it again on the same port."""
    shown = services("status", instance)
    running = re.search(r"redis: running .*\(pid (\d+)\)", shown)
    assert running is not None, shown
    pid = int(running[1])
    os.kill(pid, signal.SIGTERM)
    while Path(f"/proc/{pid}").exists():
        time.sleep(0.05)
    try:
        yield
    finally:
        services("up", instance)


def services(command: str, instance: Path) -> str:
    """Run services.sh on the test instance; it must not take our settings for foreign servers."""
    own = {key: value for key, value in os.environ.items() if not key.endswith("_URL")}
    finished = subprocess.run(
        ("deploy/services.sh", command, str(instance)),
        cwd=ROOT,
        env={**own, "CODEMEM_PG_FSYNC": "off"},
        check=True,
        capture_output=True,
        text=True,
    )
    return finished.stdout


def timed(agent: Agent, name: str, **arguments: Any) -> Any:
    """Return a tool's result, which must come as quickly as ever."""
    started = time.monotonic()
    told = agent.told(name, **arguments)
    assert time.monotonic() - started < QUICK_SECONDS
    return told


def kill_a_worker_in(environment: dict[str, str], agent: Agent, repository_id: str) -> None:
    """Start a worker and kill all of it as soon as it is past fetching."""
    with running_worker(environment) as worker:
        deadline = time.monotonic() + 60
        while agent.newest_run(repository_id)["step"] in {"waiting", "fetching"}:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()


def many_files(word: str) -> dict[str, str]:
    """Return files that no other test has: facts are kept by content, and these must be parsed."""
    return {f"shop/module_{number}.py": module(number, word) for number in range(MANY)}


def module(number: int, word: str) -> str:
    earlier = max(number - 1, 0)
    return (
        f"from shop.module_{earlier} import step_{earlier}\n\n\n"
        f"class Part{number}:\n    def {word}(self):\n        return step_{earlier}()\n\n\n"
        f"def step_{number}():\n    return Part{number}().{word}()\n"
    )
