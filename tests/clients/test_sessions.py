"""A developer's day with each real client: two sessions, and what the first leaves the second."""

import time
from pathlib import Path

import pytest

from tests.clients.conftest import CLIENTS
from tests.clients.model import Ask, Run, Say, Write
from tests.flows.conftest import Agent
from tests.flows.repositories import make_repository

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(900)]

RULE = "Uploads are retried by the queue, never inside of a request."
FACT = "The upload queue drops a job after seven attempts, because the provider bills each of them."
CHECK = "python3 check_uploads.py"
FILES = {
    "check_uploads.py": (
        "def main():\n"
        "    raise AssertionError('upload 17 was retried 9 times, at most 7 are allowed')\n"
        "\n"
        "main()\n"
    ),
    "uploads.py": "ATTEMPTS = 9\n",
}


@pytest.mark.parametrize("desk", CLIENTS, indirect=True)
def test_a_session_learns_and_the_next_one_knows(desk, model, agent: Agent, folder: Path, worker):
    name = f"uploads-{time.monotonic_ns()}"
    # Without a remote, as here, the server knows the checkout by its first commit.
    work = make_repository(folder / name, {**FILES, "NAME": name})
    agent.wait_until_indexed(agent.register(name, work))
    place = {"namespace": agent.namespace, "repository": name}
    agent.told("store_memory", **place, content=RULE, memory_type="rule")
    agent.told("store_memory", **place, content=FACT, memory_type="decision")
    developer = desk(agent.token, work)

    # The first session asks what the team knows, runs into a failure, edits, and leaves.
    model.plays(
        Ask("recall", {"query": "How often is an upload retried?"}),
        Run(CHECK),
        Write(str(work / "notes.md"), "Seven attempts are allowed, nine are made.\n"),
        Say("The check fails: nine attempts are made. Next: lower ATTEMPTS in uploads.py."),
    )
    developer.asks("Find out why check_uploads fails")
    shown = model.was_shown
    assert "team-memory" in shown, "no context at the start"
    assert RULE in shown, "the rule is not in the context"
    assert FACT in shown, "recall did not answer the model"

    session = _session(agent, ended=True, number=1)
    kinds = _observed(agent, session)
    assert any("check_uploads" in one["content"] for one in kinds if one["kind"] == "prompt")
    assert any(CHECK in one["command"] and one["is_failure"] for one in kinds)
    assert session["prompts"] == 1
    assert session["changes"] >= 1 or session["failures"] >= 1

    # The second one is offered the first one's handoff, and warned before it does the same again.
    _wait_for_handoff(agent, name)
    _wait_for_failure(agent, place)
    model.plays(Run(CHECK), Say("It fails as before."))
    developer.asks("Run check_uploads again")
    shown = model.was_shown
    assert "Handoffs that wait" in shown, "no handoff was offered"
    assert "known-failure" in shown, "no warning of the failure"


def _session(agent: Agent, *, ended: bool, number: int):
    deadline = time.monotonic() + 120
    while True:
        sessions = agent.ask("GET", f"/api/v1/sessions?namespace={agent.namespace}").content
        found = [one for one in sessions["sessions"] if one["ended_at"] or not ended]
        if len(found) >= number:
            return found[0]
        assert time.monotonic() < deadline, sessions
        time.sleep(0.3)


def _observed(agent: Agent, session):
    address = f"/api/v1/sessions/{session['id']}/observations"
    return agent.ask("GET", address).content["observations"]


def _wait_for_handoff(agent: Agent, repository: str) -> None:
    deadline = time.monotonic() + 120
    while True:
        place = {"namespace": agent.namespace, "repository": repository}
        answer = agent.told("handoff", **place, operation="offers")
        if answer.get("offers"):
            return
        assert time.monotonic() < deadline, answer
        time.sleep(0.5)


def _wait_for_failure(agent: Agent, place) -> None:
    deadline = time.monotonic() + 120
    error = "AssertionError: upload 17 was retried 9 times, at most 7 are allowed"
    while True:
        answer = agent.told("check_prior_failures", **place, error=error)
        if answer.get("failures"):
            return
        assert time.monotonic() < deadline, answer
        time.sleep(0.5)
