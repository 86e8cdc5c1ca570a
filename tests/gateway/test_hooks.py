"""A session over HTTP, from its first event to its end, and everything that may go wrong."""

import pytest
from django.test import Client

from codemem.accounts.models import User
from graph.models import Repository
from memory.models import Observation, Session
from tests import factories
from tests.gateway import hook_payloads as hooks
from tests.gateway.hook_payloads import send

REMOTE = "git@git.example:team/app.git"
pytestmark = pytest.mark.django_db


@pytest.fixture
def token(repository: Repository, writer: User) -> str:
    return factories.make_token(writer).secret


def test_a_session_is_captured_from_its_start_to_its_end(client: Client, token: str) -> None:
    started = send(client, token, hooks.start(), remote=REMOTE)
    send(client, token, hooks.prompt("Fix the rounding of invoice totals"))
    send(client, token, hooks.used("Read", {"file_path": f"{hooks.DIRECTORY}/app/billing.py"}))
    send(
        client,
        token,
        hooks.used(
            "Edit",
            {
                "file_path": f"{hooks.DIRECTORY}/app/billing.py",
                "old_string": "round(x)",
                "new_string": "round(x, 2)",
            },
        ),
    )
    send(client, token, hooks.failed("Bash", {"command": "pytest -q"}, "Exit code 1\nE  boom"))
    ended = send(client, token, hooks.payload("SessionEnd", reason="logout"))

    session = Session.objects.get()
    context = started.json()["hookSpecificOutput"]["additionalContext"]
    assert f"this session is {session.pk}" in context
    assert ended.content == b""
    assert (session.prompts, session.reads, session.changes, session.failures) == (1, 1, 2, 1)
    assert session.title == "Fix the rounding of invoice totals"
    assert session.ended_at is not None
    assert session.end_reason == "logout"
    kinds = list(Observation.objects.values_list("kind", "tier", "paths"))
    assert kinds == [
        ("session_start", "L", []),
        ("prompt", "S", []),
        ("tool_use", "L", ["app/billing.py"]),
        ("tool_use", "M", ["app/billing.py"]),
        ("tool_failure", "S", []),
        ("session_end", "L", []),
    ]
