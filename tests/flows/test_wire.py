"""Bodies as they come over a real connection: announced, in chunks, too large, broken off."""

import http.client
import json
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.flows.conftest import Agent

MEGABYTE = b" " * (1 << 20)
TOO_MANY = 5
DOORS = ("/mcp", "/api/v1/tools/list_namespaces")
PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()


@pytest.mark.parametrize("door", DOORS)
def test_a_large_body_is_refused_before_it_comes_when_it_is_announced(
    door: str, agent: Agent
) -> None:
    connection = _connection(agent)
    connection.putrequest("POST", door)
    for name, value in _headers(agent).items():
        connection.putheader(name, value)
    connection.putheader("Content-Length", str(len(MEGABYTE) * TOO_MANY))
    connection.endheaders()
    response = connection.getresponse()
    assert response.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    assert json.load(response)["error"]["code"] == "body_too_large"
    connection.close()


@pytest.mark.parametrize("door", DOORS)
def test_a_large_body_is_refused_when_it_comes_in_chunks(door: str, agent: Agent) -> None:
    status, content = _posted(agent, door, _chunks())
    assert status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    assert content["error"]["code"] == "body_too_large"


def test_a_small_body_may_come_in_chunks(agent: Agent) -> None:
    assert _posted(agent, "/mcp", iter([PING[:9], PING[9:]])) == (
        HTTPStatus.OK,
        {"jsonrpc": "2.0", "id": 1, "result": {}},
    )


def test_the_connection_goes_on_after_a_broken_body(agent: Agent) -> None:
    connection = _connection(agent)
    for body, status in ((b"{", HTTPStatus.BAD_REQUEST), (PING, HTTPStatus.OK)):
        connection.request("POST", "/mcp", body, _headers(agent))
        response = connection.getresponse()
        response.read()
        assert response.status == status
    connection.close()


def _chunks() -> Iterator[bytes]:
    for _ in range(TOO_MANY):
        yield MEGABYTE


def _posted(agent: Agent, path: str, body: bytes | Iterable[bytes]) -> tuple[int, Any]:
    connection = _connection(agent)
    try:
        # Without a length http.client sends an iterable in chunks.
        connection.request("POST", path, body, _headers(agent))
        response = connection.getresponse()
        return response.status, json.load(response)
    finally:
        connection.close()


def _connection(agent: Agent) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(urlsplit(agent.url).netloc, timeout=30)


def _headers(agent: Agent) -> dict[str, str]:
    return {"Authorization": f"Bearer {agent.token}", "Content-Type": "application/json"}
