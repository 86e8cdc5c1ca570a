"""`codemem sessions` against a server double: listed, shown, begun, ended."""

import json

import pytest

from tests.client.server_double import Canned

SESSION = {
    "id": "01890000-0000-7000-8000-000000000009",
    "namespace": "platform",
    "repository": "api",
    "agent": "codex",
    "title": "Mend the ledger\x1b[31m",
    "started_at": "2026-07-01T12:00:00Z",
    "ended_at": None,
    "end_reason": "",
    "prompts": 2,
    "changes": 1,
    "failures": 0,
}
ADDRESS = "/api/v1/sessions"
ONE = f"{ADDRESS}/{SESSION['id']}"


def said(value: object, status: int = 200) -> Canned:
    return Canned(status=status, body=json.dumps(value).encode())


@pytest.fixture
def answering(server):
    server.canned[f"{ONE}/observations"] = said(
        {
            "observations": [
                {
                    "id": 1,
                    "kind": "tool_failure",
                    "tool": "Bash",
                    "command": "make",
                    "content": "boom\nmore",
                    "is_failure": True,
                    "happened_at": "2026-07-01T12:00:01Z",
                }
            ]
        }
    )
    server.canned[f"{ONE}/injections"] = said(
        {"injections": [{"kind": "rule", "reason": "approved", "shown_at": "2026-07-01T12:00:00Z"}]}
    )
    server.canned[f"{ONE}/end"] = said({**SESSION, "ended_at": "x", "end_reason": "by hand"})
    server.canned[ONE] = said(SESSION)
    server.canned[f"{ADDRESS}?"] = said({"sessions": [SESSION]})
    server.canned[ADDRESS] = said({"session": SESSION, "context": "Scope: platform/api"})
    return server


def test_sessions_are_listed_in_a_line_each(codemem, answering):
    result = codemem("sessions", "list", "--open", "-n", "5")
    assert result.status == 0, result.err
    assert "Mend the ledger" in result.out
    assert "\x1b" not in result.out
    assert "2 prompts, 1 changes, 0 failures; open" in result.out
    assert answering.last(f"{ADDRESS}?limit=5&is_open=true").method == "GET"


def test_one_is_shown_with_what_was_captured_and_why_something_was_told(codemem, answering):
    result = codemem("sessions", "show", SESSION["id"])
    assert result.status == 0, result.err
    assert "Bash failed" in result.out
    assert "rule: approved" in result.out
    assert "more" not in result.out


def test_one_is_begun_with_its_opening_context(codemem, answering):
    result = codemem("sessions", "start", "mine", "--capture", "metadata")
    assert result.out.strip() == "Scope: platform/api"
    wanted = answering.last(ADDRESS).json
    assert (wanted["client_session_id"], wanted["capture"]) == ("mine", "metadata")


def test_where_nothing_is_captured_it_says_why(codemem, answering):
    answering.canned[ADDRESS] = said({"session": None, "context": "", "note": "Unknown checkout."})
    result = codemem("sessions", "start")
    assert result.status != 0
    assert "Unknown checkout." in result.err


def test_one_is_ended(codemem, answering):
    assert "by hand" in codemem("sessions", "end", SESSION["id"]).out


@pytest.mark.parametrize("action", ["show", "end"])
def test_which_one_must_be_said(codemem, answering, action):
    result = codemem("sessions", action)
    assert result.status != 0
    assert "codemem sessions list" in result.err


def test_programs_get_json(codemem, answering):
    shown = json.loads(codemem("sessions", "show", SESSION["id"], "--json").out)
    assert set(shown) == {"session", "observations", "injections"}
