"""MCP prompts and resources in both eras: what clients list, get, read, and what they may not."""

import json
from typing import Any
from urllib.parse import quote

import pytest

from codemem.accounts.values import TokenScope
from codemem.gateway import tool
from tests.gateway import surfaces
from tests.gateway.examples import CHARGE, NOBODYS_ID
from tests.gateway.team import DECISION, FOREIGN_NOTE, FOREIGN_WORD, LEFT, Team

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]

PROMPTS = ["catch_me_up", "review_my_diff", "hand_over"]
BOUND = "/mcp/r/team/app"


def ask(
    token: str, method: str, params: dict[str, Any] | None = None, **changes: Any
) -> dict[str, Any]:
    answer: dict[str, Any] = surfaces.send(method, params, token=token, **changes).json()
    return answer


def read(token: str, uri: str, **changes: Any) -> Any:
    """Return what a resource says, or its error."""
    answer = ask(token, "resources/read", {"uri": uri}, **changes)
    if "error" in answer:
        return answer["error"]
    (content,) = answer["result"]["contents"]
    assert content["uri"] == uri
    assert content["mimeType"] == "application/json"
    return json.loads(content["text"])


@pytest.fixture
def token(team: Team) -> str:
    return team.token(team.owner)


# --- Prompts --------------------------------------------------------------------------------------
@pytest.mark.parametrize("is_modern", [True, False])
def test_prompts_are_listed_for_a_menu(is_modern: bool, token: str) -> None:
    result = ask(token, "prompts/list", is_modern=is_modern)["result"]
    assert [prompt["name"] for prompt in result["prompts"]] == PROMPTS
    assert all(prompt["title"] and prompt["description"] for prompt in result["prompts"])
    assert ("ttlMs" in result) is is_modern


@pytest.mark.parametrize("is_modern", [True, False])
@pytest.mark.parametrize("name", PROMPTS)
def test_a_prompt_is_one_message_that_names_tools_which_there_are(
    name: str,
    is_modern: bool,
    token: str,
) -> None:
    (message,) = ask(token, "prompts/get", {"name": name}, is_modern=is_modern)["result"][
        "messages"
    ]
    assert (message["role"], message["content"]["type"]) == ("user", "text")
    text = message["content"]["text"]
    assert any(f"`{tool_name}`" in text for tool_name in tool.registry())
    # Nothing that was stored speaks with the person's voice.
    assert DECISION not in text


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("hand_over", {"to": "walter"}, "walter"),
        ("review_my_diff", {"base": "release/2"}, "release/2"),
        ("catch_me_up", {"about": "refunds", "since": "2026-01-01"}, "refunds"),
        ("catch_me_up", {"since": " "}, "mode `digest`."),
    ],
)
def test_arguments_stand_in_the_prompt(
    name: str, arguments: dict[str, str], says: str, token: str
) -> None:
    got = ask(token, "prompts/get", {"name": name, "arguments": arguments})["result"]
    assert says in got["messages"][0]["content"]["text"]


@pytest.mark.parametrize(
    "arguments", [{"whom": "x"}, {"to": 3}, {"to": "x" * 501}, ["to"], "to", {"to": None}]
)
def test_arguments_that_a_prompt_does_not_take_are_refused(arguments: object, token: str) -> None:
    error = ask(token, "prompts/get", {"name": "hand_over", "arguments": arguments})["error"]
    assert error["code"] == -32602
    assert error["data"] == {"name": "hand_over"}


# --- Resources ------------------------------------------------------------------------------------
@pytest.mark.parametrize("is_modern", [True, False])
def test_resources_and_templates_are_listed(is_modern: bool, token: str) -> None:
    listed = ask(token, "resources/list", is_modern=is_modern)["result"]
    assert [one["uri"] for one in listed["resources"]] == ["codemem://context"]
    templates = ask(token, "resources/templates/list", is_modern=is_modern)["result"]
    assert [one["uriTemplate"] for one in templates["resourceTemplates"]] == [
        "codemem://memory/{id}",
        "codemem://symbol/{repository}/{name}",
    ]


@pytest.mark.parametrize("is_modern", [True, False])
def test_a_memory_is_read_by_its_id(is_modern: bool, team: Team, token: str) -> None:
    got = read(token, f"codemem://memory/{team.decision}", is_modern=is_modern)
    assert (got["content"], got["author"]) == (DECISION, "walter")


@pytest.mark.parametrize("name", [CHARGE, quote(CHARGE, safe=""), "Invoice.total"])
def test_a_symbol_is_read_by_any_of_its_names(name: str, token: str) -> None:
    got = read(token, f"codemem://symbol/app/{name}", path="/mcp/r/team/app")
    assert got["symbol"]["id"].startswith("sym:app/billing.py#")


def test_the_opening_context_is_what_the_tool_tells(team: Team, token: str) -> None:
    got = read(token, "codemem://context", path=BOUND)
    told = surfaces.over_mcp(token=token, tool="session_context", arguments={}, path=BOUND)
    assert got == told.content
    assert LEFT not in str(got)


def test_what_is_others_is_like_what_is_not(team: Team) -> None:
    token = team.token(team.outsider)
    for theirs, nobodys in (
        (f"memory/{team.decision}", f"memory/{NOBODYS_ID}"),
        (f"symbol/app/{CHARGE}", f"symbol/nothing/{CHARGE}"),
    ):
        for is_modern in (True, False):
            errors = [
                read(token, f"codemem://{rest}", is_modern=is_modern) for rest in (theirs, nobodys)
            ]
            assert [error["message"] for error in errors] == ["Resource not found"] * 2
            assert {error["code"] for error in errors} == {-32602 if is_modern else -32002}
    assert FOREIGN_NOTE in str(read(token, f"codemem://memory/{team.foreign_note}"))
    assert FOREIGN_WORD not in str(
        read(team.token(team.owner), f"codemem://memory/{team.foreign_note}")
    )


def test_a_token_without_the_scope_is_told_which_one(team: Team) -> None:
    token = team.token(team.owner, scopes=set(TokenScope) - {TokenScope.MEMORY_READ})
    for uri in ("codemem://context", f"codemem://memory/{team.decision}"):
        error = read(token, uri)
        assert TokenScope.MEMORY_READ in error["message"]
        assert error["data"]["error"]["code"] == "right_missing"


@pytest.mark.parametrize(
    "uri",
    [
        "codemem://memory/",
        "codemem://memory/nothing",
        "codemem://memory/%00",
        "codemem://symbol/app",
        "codemem://symbol/app/",
        "codemem://context/more",
        "codemem:memory",
        "file:///etc/passwd",
        "",
        "codemem://" + "x" * 3_000,
    ],
)
def test_an_address_of_nothing_is_an_error_in_both_eras(uri: str, token: str) -> None:
    for is_modern in (True, False):
        error = read(token, uri, is_modern=is_modern, path=BOUND)
        assert error["code"] in {-32602, -32002}
        assert len(error["data"]["uri"]) <= 500


@pytest.mark.parametrize("uri", [None, 3, ["codemem://context"]])
def test_an_address_that_is_no_text_is_refused(uri: object, token: str) -> None:
    answer = ask(token, "resources/read", {"uri": uri}, is_modern=False)
    assert answer["error"]["code"] == -32602


@pytest.mark.parametrize("is_modern", [True, False])
def test_both_are_announced(is_modern: bool, token: str) -> None:
    if is_modern:
        result = ask(token, "server/discover")["result"]
    else:
        opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {}}
        result = ask(token, "initialize", opening, is_modern=False)["result"]
    assert result["capabilities"]["prompts"] == {"listChanged": False}
    assert result["capabilities"]["resources"] == {"subscribe": False, "listChanged": False}
