"""The same tool call over REST, modern MCP and legacy MCP, each as its clients send it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from django.test import Client

from codemem.gateway.tool import dumps

if TYPE_CHECKING:
    from django.test.client import _MonkeyPatchedWSGIResponse as Response

MODERN = "2026-07-28"
# One for all: each new client would load all middleware anew.
_client = Client()


class Surface(StrEnum):
    REST = "REST"
    MODERN_MCP = "modern MCP"
    LEGACY_MCP = "legacy MCP"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool answered: the structured result or error as the surface wrote it."""

    text: str
    is_error: bool

    @property
    def content(self) -> Any:
        return json.loads(self.text)

    @property
    def code(self) -> str:
        """The error's code, or "ok"."""
        code: str = self.content["error"]["code"] if self.is_error else "ok"
        return code


def call(
    surface: Surface, *, token: str, tool: str, arguments: object, path: str = "/mcp"
) -> Answer:
    if surface is Surface.REST:
        return over_rest(token=token, tool=tool, arguments=arguments)
    return over_mcp(
        token=token,
        tool=tool,
        arguments=arguments,
        is_modern=surface is Surface.MODERN_MCP,
        path=path,
    )


def over_rest(
    *, token: str, tool: str, arguments: object, headers: Mapping[str, str] | None = None
) -> Answer:
    response = post(f"/api/v1/tools/{tool}", arguments, headers=bearer(token) | dict(headers or {}))
    return Answer(response.content.decode(), is_error=response.status_code != HTTPStatus.OK)


def over_mcp(
    *, token: str, tool: str, arguments: object, is_modern: bool = True, path: str = "/mcp"
) -> Answer:
    response = send(
        "tools/call",
        {"name": tool, "arguments": arguments},
        token=token,
        is_modern=is_modern,
        path=path,
    )
    assert response.status_code == HTTPStatus.OK, response.content
    result = response.json()["result"]
    (content,) = result["content"]
    # Some clients show their model the text, others the structure: it must be the same.
    assert content["text"] == dumps(result["structuredContent"])
    return Answer(content["text"], is_error=result["isError"])


def send(
    method: str,
    params: dict[str, Any] | None = None,
    *,
    token: str,
    is_modern: bool = True,
    path: str = "/mcp",
    headers: Mapping[str, str] | None = None,
) -> "Response":
    """Send one JSON-RPC request as a client of that era does."""
    params = dict(params or {})
    extra = bearer(token)
    if is_modern:
        params["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        extra |= {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        if isinstance(params.get("name"), str):
            extra["Mcp-Name"] = params["name"]
        if isinstance(params.get("uri"), str):
            extra["Mcp-Name"] = params["uri"]
    message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    return post(path, message, headers=extra | dict(headers or {}))


def post(path: str, body: object, *, headers: Mapping[str, str]) -> "Response":
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return _client.post(path, data=content, content_type="application/json", headers=dict(headers))


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}
