"""`codemem serve`: MCP over standard streams."""

import json

import pytest

from tests.client.server_double import Canned


def lines(*messages):
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def call(number, method, **parameters):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}


@pytest.fixture
def served(codemem):
    def run(*messages, **environment):
        result = codemem("serve", stdin=lines(*messages), **environment)
        assert result.status == 0
        answers = [json.loads(line) for line in result.out.splitlines()]
        return {answer["id"]: answer for answer in answers}

    return run


def test_messages_pass_through_with_token_and_checkout(codemem, server, served, repository):
    repository.commit()
    repository.git("remote", "add", "origin", "https://git.example.com/team/api")
    codemem.directory = repository.directory
    answers = served(call(1, "initialize"), call(2, "tools/list"))
    assert answers[1]["result"]["protocolVersion"] == "2025-11-25"
    assert [tool["name"] for tool in answers[2]["result"]["tools"]] == ["recall", "search_code"]
    headers = server.received[-1].headers
    assert headers["authorization"] == "Bearer cm_good"
    assert headers["codemem-remote"] == "https://git.example.com/team/api"
    assert headers["codemem-ref"] == "main"


def test_clients_of_the_modern_protocol_are_served_too(served):
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    answers = served(call(1, "server/discover", _meta=meta))
    assert answers[1]["result"]["resultType"] == "complete"


def test_a_notification_is_not_answered(server, served):
    server.canned["/mcp"] = Canned(status=202, body=b"")
    assert served({"jsonrpc": "2.0", "method": "notifications/initialized"}) == {}
    assert server.last("/mcp").json["method"] == "notifications/initialized"


def test_what_the_server_refuses_is_told_in_its_words(server, served):
    body = b'{"error": {"code": "token_expired", "message": "Your token has expired."}}'
    server.canned["/mcp"] = Canned(status=401, body=body)
    assert served(call(7, "tools/list"))[7]["error"]["message"] == "Your token has expired."


def test_a_server_that_is_away_is_told(served):
    answers = served(call(7, "tools/list"), CODEMEM_URL="http://127.0.0.1:1")
    assert "Nothing listens" in answers[7]["error"]["message"]


def test_what_is_no_json_is_told(codemem):
    result = codemem("serve", stdin=b"nonsense\n\n")
    assert json.loads(result.out)["error"]["code"] == -32700


def test_without_a_login_it_does_not_start(stranger):
    assert stranger("serve").status == 4
