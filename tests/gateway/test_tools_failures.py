import json
from typing import Any

import pytest

from codemem.accounts.models import Namespace, User
from graph.models import Repository
from memory.models import Failure, FixAttempt, Memory
from tests import factories
from tests.gateway import surfaces
from tests.gateway.team import remember

pytestmark = pytest.mark.django_db


@pytest.fixture
def failure(namespace: Namespace, repository: Repository, writer: User) -> Failure:
    key = remember(writer, repository, "`pytest` fails: TypeError in app/money.py")
    row = Failure.objects.create(
        memory=Memory.objects.get(pk=key),
        namespace=namespace,
        signature="type: typeerror: v",
        command="pytest -q",
        command_prefix="pytest",
        message="TypeError: 'total'",
        paths=["app/money.py"],
        first_seen_at=factories.NOW,
        last_seen_at=factories.NOW,
        occurrences=2,
    )
    FixAttempt.objects.create(
        failure=row,
        namespace=namespace,
        summary="changing app/money.py",
        validation="pytest -q",
        outcome="failed",
        started_at=factories.NOW,
    )
    return row


def ask(user: User, **arguments: object) -> dict[str, Any]:
    answer = surfaces.over_mcp(
        token=factories.make_token(user).secret,
        tool="check_prior_failures",
        arguments={"namespace": "team", "repository": "app", **arguments},
    )
    return dict(json.loads(answer.text))


def test_an_agent_learns_what_failed_and_what_was_tried(failure: Failure, reader: User) -> None:
    answer = ask(reader, file_path="app/money.py")
    assert (answer["found"], answer["verdict"]) == (True, "stop")
    (known,) = answer["failures"]
    assert known["id"] == str(failure.pk)
    assert (known["state"], known["occurrences"], known["score"]) == ("open", 2, 1.0)
    assert known["attempts"] == [
        {"what": "changing app/money.py", "outcome": "failed", "validation": "pytest -q"}
    ]
    assert ask(reader, symbol="nothing_of_it")["verdict"] == "clear"


def test_it_is_about_one_thing(failure: Failure, reader: User) -> None:
    for arguments in ({}, {"file_path": "a.py", "symbol": "a"}, {"error": " "}):
        assert "Give one of" in str(ask(reader, **arguments)["error"])
