"""What real clients sent when they were run (tests/clients), where it is not what one expects."""

import pytest

from codemem.gateway.adapters import codex, gemini
from codemem.gateway.adapters.delivery import Delivery
from memory.events import EventKind

TRACEBACK = """\
Traceback (most recent call last):
  File "check.py", line 2, in <module>
    main()
AssertionError: upload 17 was retried
"""


def ran(command: str, response: str) -> Delivery:
    payload = {
        "session_id": "01a203f4",
        "turn_id": "01a203f5",
        "cwd": "/home/ada/api",
        "hook_event_name": "PostToolUse",
        "model": "gpt-5.1-codex",
        "tool_name": "Bash",
        "tool_input": {"command": command},
        "tool_response": response,
        "tool_use_id": "call_2",
    }
    return Delivery(agent="codex", payload=payload)


@pytest.mark.parametrize(
    ("command", "response", "kind"),
    [
        ("python3 check.py", TRACEBACK, EventKind.TOOL_FAILURE),
        ("pytest -q", "FAILED tests/test_a.py::test_b - assert 1 == 2\n1 failed in 0.1s\n",
         EventKind.TOOL_FAILURE),
        ("pytest -q", "....\n4 passed in 0.11s\n", EventKind.TOOL_USE),
        ("cat build.log", "AssertionError: upload 17 was retried\n", EventKind.TOOL_USE),
        ("printf x > fix.txt", "", EventKind.TOOL_USE),
    ],
)  # fmt: skip
def test_codex_does_not_say_how_a_command_ended(command, response, kind):
    (event,) = codex.events_of(ran(command, response))
    assert event.kind is kind
    assert event.tool is not None
    assert event.tool.is_failure == (kind is EventKind.TOOL_FAILURE)


def test_gemini_repeats_our_context_in_the_prompt():
    prompt = (
        "<hook_context>&lt;team-memory&gt;\nrules\n&lt;/team-memory&gt;</hook_context>\n\n"
        "Find out why <check> fails"
    )
    payload = {"session_id": "0d0a", "hook_event_name": "BeforeAgent", "prompt": prompt}
    (event,) = gemini.events_of(Delivery(agent="gemini", payload=payload))
    assert event.prompt == "Find out why <check> fails"
