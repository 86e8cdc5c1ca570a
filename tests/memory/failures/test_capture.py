"""From a client's hook to a warning, through the doors that clients use."""

import json

import pytest
from django.test import Client

from memory import failures
from memory.models import Failure, Injection, Session
from tests import factories
from tests.memory.failures.conftest import FAILED_RUN

pytestmark = pytest.mark.django_db


@pytest.fixture
def tell(client: Client, repository, writer):
    secret = factories.make_token(writer).secret

    def tell(event: str, session: str, **payload: object) -> dict[str, object]:
        response = client.post(
            "/hooks/claude-code",
            json.dumps(
                {"hook_event_name": event, "session_id": session, "cwd": "/srv/app"} | payload
            ),
            content_type="application/json",
            headers={
                "Authorization": f"Bearer {secret}",
                "Codemem-Remote": repository.url,
                "Codemem-Directory": "/srv/app",
            },
        )
        assert response.status_code == 200, response.content
        return json.loads(response.content or b"{}")

    return tell


def test_what_failed_in_one_session_is_told_to_the_next(tell):
    tell("SessionStart", "one", source="startup")
    edit = {"file_path": "/srv/app/src/money.py", "old_string": "a", "new_string": "def total(): b"}
    run = {"command": "cd /srv/app && pytest -q"}
    tell("PostToolUse", "one", tool_name="Edit", tool_input=edit, tool_response={}, tool_use_id="1")
    tell(
        "PostToolUseFailure",
        "one",
        tool_name="Bash",
        tool_input=run,
        error=FAILED_RUN,
        tool_use_id="2",
    )
    learned = failures.learn(
        session_id=Session.objects.get().pk, now=Session.objects.get().last_event_at
    )
    assert len(learned.new) == 1
    assert Failure.objects.get().paths == ["tests/test_money.py", "src/money.py"]

    tell("SessionStart", "two", source="startup")
    said = tell("PreToolUse", "two", tool_name="Edit", tool_input=edit, tool_use_id="3")
    context = said["hookSpecificOutput"]["additionalContext"]
    assert "unsupported operand for 'total'" in context
    shown = Injection.objects.get(kind="failure")
    assert (shown.event, shown.memory) == ("tool_start", Failure.objects.get().memory)
    assert shown.reason == "it failed at src/money.py"
    assert tell("PreToolUse", "two", tool_name="Edit", tool_input=edit, tool_use_id="4") == {}
