"""The MCP endpoint as each client speaks to it, and what it says to a broken message."""

import json
import sys
from http import HTTPStatus
from typing import Any

import pytest
from django.test import Client

from codemem.gateway import tool
from codemem.gateway.listing import DEFAULT
from codemem.gateway.mcp import LEGACY_VERSIONS
from codemem.gateway.tool import Toolset, dumps
from tests.gateway import surfaces
from tests.gateway.surfaces import MODERN
from tests.gateway.team import Team

# What is listed costs every session of an agent its context.
MOST_BYTES = {"": 24_000, "core": 8_000, "all": 49_000}
OLD_VERSION = "2025-06-18"


@pytest.fixture
def token(team: Team) -> str:
    return team.token(team.writer)


def listed(token: str, toolsets: str = "") -> list[Any]:
    path = f"/mcp?toolsets={toolsets}" if toolsets else "/mcp"
    tools: list[Any] = surfaces.send("tools/list", token=token, path=path).json()["result"]["tools"]
    return tools


def test_claude_code_discovers_and_lists_in_two_requests(token: str) -> None:
    discovered = surfaces.send("server/discover", token=token).json()["result"]
    assert MODERN in discovered["supportedVersions"]
    assert discovered["resultType"] == "complete"
    assert discovered["cacheScope"] == "private"
    listed = surfaces.send("tools/list", token=token).json()["result"]
    usual = [item.name for item in tool.registry().values() if item.toolset in DEFAULT]
    assert [item["name"] for item in listed["tools"]] == usual
    assert listed["ttlMs"] > 0
    assert listed["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "codemem"


def test_the_order_of_the_tools_is_fixed(token: str) -> None:
    names = [
        [
            item["name"]
            for item in surfaces.send("tools/list", token=token).json()["result"]["tools"]
        ]
        for _ in range(2)
    ]
    assert names[0] == names[1] == sorted(names[0])


@pytest.mark.parametrize("toolsets", MOST_BYTES)
def test_what_is_listed_costs_an_agent_little_context(toolsets: str, token: str) -> None:
    tools = listed(token, toolsets)
    sizes = {item["name"]: len(dumps(item).encode()) for item in tools}
    sys.stdout.write(f"{toolsets}: {len(dumps(tools).encode()):,} bytes, {sizes}\n")
    assert len(dumps(tools).encode()) < MOST_BYTES[toolsets]


def test_every_tool_is_in_one_set_and_all_of_them_in_all(token: str) -> None:
    sets = [listed(token, toolset) for toolset in Toolset]
    names = sorted(item["name"] for tools in sets for item in tools)
    assert names == [item["name"] for item in listed(token, "all")] == list(tool.registry())
    both = {item["name"] for item in listed(token, " Review,history ")}
    assert {"review_diff", "what_changed"} < both
    assert "recall" not in both


def test_the_core_tools_ask_to_be_loaded_at_once_wherever_they_are_listed(token: str) -> None:
    core = {item["name"] for item in listed(token, "core")}
    assert core == {
        "check_prior_failures",
        "get_symbol_graph",
        "get_symbol_info",
        "handoff",
        "recall",
        "review_diff",
        "search_code",
        "session_checkpoint",
        "session_context",
        "store_memory",
    }
    usual = listed(token)
    asking = {item["name"] for item in usual if item.get("_meta", {}).get("anthropic/alwaysLoad")}
    assert asking == core


def test_a_core_tool_takes_what_the_core_set_does_not_list(token: str) -> None:
    (store,) = (item for item in listed(token, "core") if item["name"] == "store_memory")
    assert "idempotency_key" not in store["inputSchema"]["properties"]
    stored = surfaces.over_mcp(
        token=token,
        tool="store_memory",
        arguments={
            "namespace": "team",
            "content": "Deploys wait for green.",
            "idempotency_key": "k-1",
        },
        path="/mcp?toolsets=core",
    )
    assert not stored.is_error


def test_what_is_not_listed_can_be_called(token: str) -> None:
    answer = surfaces.over_mcp(
        token=token, tool="list_namespaces", arguments={}, path="/mcp?toolsets=core"
    )
    assert not answer.is_error


def test_a_toolset_that_does_not_exist_is_named_with_those_that_do(token: str) -> None:
    answer = surfaces.send("tools/list", token=token, path="/mcp?toolsets=memory,magic")
    assert answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert "'magic'; there are: memory, code" in answer.json()["error"]["message"]


def test_every_schema_names_all_arguments_and_says_nothing_twice(token: str) -> None:
    for item in listed(token, "all"):
        assert item["inputSchema"]["type"] == "object"
        # By their wire names, such as `from`. A misspelt one is refused by the server.
        takes = tool.find_tool(item["name"]).input_schema["properties"]
        assert item["inputSchema"]["properties"].keys() == takes.keys()
        for word in ('"null"', "$ref", "$defs", "maxLength", '"default":""'):
            assert word not in dumps(item)
        assert item["description"]


@pytest.mark.parametrize("version", LEGACY_VERSIONS)
def test_codex_and_opencode_open_with_initialize(version: str, token: str) -> None:
    opening = {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "codex", "version": "0.169.0"},
    }
    answer = surfaces.send("initialize", opening, token=token, is_modern=False)
    assert answer.json()["result"]["protocolVersion"] == version
    assert "Mcp-Session-Id" not in answer.headers
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    headers = surfaces.bearer(token) | {"MCP-Protocol-Version": version}
    assert surfaces.post("/mcp", ready, headers=headers).status_code == HTTPStatus.ACCEPTED
    listed = surfaces.send(
        "tools/list", token=token, is_modern=False, headers={"MCP-Protocol-Version": version}
    )
    assert "ttlMs" not in listed.json()["result"]


def test_a_version_nobody_knows_is_answered_with_the_newest_of_that_era(token: str) -> None:
    asked = {"protocolVersion": "1999-01-01", "capabilities": {}, "clientInfo": {}}
    answer = surfaces.send("initialize", asked, token=token, is_modern=False)
    assert answer.json()["result"]["protocolVersion"] == LEGACY_VERSIONS[0]


def test_gemini_which_sends_no_version_header_is_served_as_legacy(token: str) -> None:
    result = surfaces.send("tools/list", token=token, is_modern=False).json()["result"]
    assert "resultType" not in result
    assert len(result["tools"]) == len(listed(token))


def test_ping_and_log_levels_belong_to_the_old_era(token: str) -> None:
    for method in ("ping", "logging/setLevel"):
        old = surfaces.send(method, token=token, is_modern=False)
        assert old.json()["result"] == {}
        new = surfaces.send(method, token=token)
        assert new.status_code == HTTPStatus.NOT_FOUND
        assert new.json()["error"]["code"] == -32601


def test_a_resource_or_prompt_that_does_not_exist_is_named_in_the_error(token: str) -> None:
    error = surfaces.send("resources/read", {"uri": "codemem://x"}, token=token).json()["error"]
    assert (error["code"], error["data"]) == (-32602, {"uri": "codemem://x"})
    error = surfaces.send("prompts/get", {"name": "x"}, token=token).json()["error"]
    assert (error["code"], error["data"]) == (-32602, {"name": "x"})


@pytest.mark.parametrize("method", ["get", "delete", "put", "head"])
def test_there_is_no_stream_and_no_session(method: str, token: str) -> None:
    answer = getattr(Client(), method)("/mcp", headers=surfaces.bearer(token))
    assert answer.status_code == HTTPStatus.METHOD_NOT_ALLOWED
    assert answer["Allow"] == "POST"


@pytest.mark.parametrize(
    "path",
    [
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-authorization-server",
        "/.well-known/openid-configuration",
        "/register",
    ],
)
def test_a_search_for_oauth_ends_in_short_json(path: str) -> None:
    for answer in (Client().get(path), Client().post(path, b"{}", "application/json")):
        assert answer.status_code == HTTPStatus.NOT_FOUND
        assert "bearer" in answer.json()["message"]
        assert len(answer.content) < 300


def test_without_a_token_the_answer_is_a_sentence_to_act_on(db: None) -> None:
    answer = surfaces.post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "ping"}, headers={})
    assert answer.status_code == HTTPStatus.UNAUTHORIZED
    assert answer["WWW-Authenticate"].startswith('Bearer realm="codemem"')
    assert "Authorization: Bearer cm_" in answer.json()["error"]["message"]


def test_a_browser_page_from_elsewhere_is_refused(token: str, settings: Any) -> None:
    headers = {"Origin": "https://evil.example"}
    answer = surfaces.send("tools/list", token=token, headers=headers)
    assert answer.status_code == HTTPStatus.FORBIDDEN
    own = {"Origin": next(iter(settings.ALLOWED_ORIGINS))}
    assert surfaces.send("tools/list", token=token, headers=own).status_code == HTTPStatus.OK


def test_headers_that_contradict_the_body_are_refused(token: str) -> None:
    answer = surfaces.send("tools/list", token=token, headers={"Mcp-Method": "tools/call"})
    assert answer.status_code == HTTPStatus.BAD_REQUEST
    assert answer.json()["error"]["code"] == -32020


def test_a_version_of_the_future_is_told_which_ones_are_served(token: str) -> None:
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/list",
        "params": {
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2031-01-01",
                "io.modelcontextprotocol/clientCapabilities": {},
            }
        },
    }
    headers = surfaces.bearer(token) | {
        "MCP-Protocol-Version": "2031-01-01",
        "Mcp-Method": "tools/list",
    }
    answer = surfaces.post("/mcp", message, headers=headers)
    assert answer.status_code == HTTPStatus.BAD_REQUEST
    assert answer.json()["error"]["code"] == -32022
    assert MODERN in answer.json()["error"]["data"]["supported"]


def test_a_notification_is_only_accepted(token: str) -> None:
    message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    answer = surfaces.post("/mcp", message, headers=surfaces.bearer(token))
    assert (answer.status_code, answer.content) == (HTTPStatus.ACCEPTED, b"")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"", -32700),
        (b"\xff\xfe{}", -32700),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": NaN}', -32700),
        (b"[" * 100_000, -32700),
        (b"9" * 5_000, -32700),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', -32600),
        (b"[]", -32600),
        (b"null", -32600),
        (b'"ping"', -32600),
        (b'{"id": 1, "method": "ping"}', -32600),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": ["ping"]}', -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": {"a": 1}, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": null}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/dance"}', -32601),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "\\u0000\\ud800"}', -32601),
    ],
)
def test_a_broken_message_gets_the_protocols_error(body: bytes, code: int, token: str) -> None:
    answer = surfaces.post("/mcp", body, headers=surfaces.bearer(token))
    assert answer.json()["error"]["code"] == code
    assert answer.status_code in {HTTPStatus.OK, HTTPStatus.BAD_REQUEST}


@pytest.mark.parametrize("name", ["dance", "", None, 7, ["recall"], "\0", "\ud800", "x" * 100_000])
def test_an_unknown_tool_is_an_error_of_the_protocol(name: object, token: str) -> None:
    answer = surfaces.send("tools/call", {"name": name}, token=token, is_modern=False)
    assert answer.json()["error"]["code"] == -32602
    assert len(answer.content) < 2_000


def test_an_id_comes_back_as_it_was_sent(token: str) -> None:
    for message_id in (0, "seven", 2**70, "ü"):
        message = {"jsonrpc": "2.0", "id": message_id, "method": "ping"}
        answer = surfaces.post("/mcp", message, headers=surfaces.bearer(token))
        assert answer.json()["id"] == message_id
    half = b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}'
    answer = surfaces.post("/mcp", half, headers=surfaces.bearer(token))
    assert answer.json() == {"jsonrpc": "2.0", "id": "?", "result": {}}


@pytest.mark.parametrize("path", ["/mcp/r/te%00am/app", "/mcp/r/team/%00", "/mcp/r/%ff/app"])
def test_a_path_that_cannot_be_a_name_leads_nowhere(path: str, token: str) -> None:
    arguments = {"query": "rounding"}
    answer = surfaces.over_mcp(token=token, tool="recall", arguments=arguments, path=path)
    assert answer.code == "not_found"


def test_a_body_over_the_limit_is_refused_announced_or_not(token: str, settings: Any) -> None:
    settings.MAXIMUM_BODY_BYTES = 2_000
    large = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "x" * 3_000}).encode()
    answer = surfaces.post("/mcp", large, headers=surfaces.bearer(token))
    assert answer.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    assert answer.json()["error"]["code"] == "body_too_large"
