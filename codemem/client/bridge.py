"""`codemem serve`: the server's MCP over standard streams, for clients that start a command.

Every line that comes in is one message and goes to the server as it is, with the token of the
login and the facts of the checkout. What comes back is one line. Nothing else is ever written to
standard output. Messages are answered side by side: a long question holds up no other.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from codemem.client.failure import ExitStatus, Failure
from codemem.client.scope import find_scope
from codemem.client.transport import Server

if TYPE_CHECKING:
    from codemem.client.configuration import Configuration
    from codemem.client.scope import Scope

_SIDE_BY_SIDE: Final = 8
_SCOPE_SECONDS: Final = 5.0  # a switch of branches is noticed after at most so long
_INTERNAL_ERROR: Final = -32603
_PARSE_ERROR: Final = -32700


class Bridge:
    """Passes messages on to one server."""

    def __init__(self, *, url: str, token: str, configuration: Configuration, scope: Scope) -> None:
        self._url, self._token = url, token
        self._configuration = configuration
        self._scope = scope
        self._looked_at = time.monotonic()
        self._version: str | None = None
        self._lock = Lock()
        self._output = Lock()

    def run(self) -> None:
        """Pass on what comes until the client closes its end."""
        with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
            for line in sys.stdin.buffer:
                if line.strip():
                    pool.submit(self._pass_on, line)

    def _pass_on(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._say(_error(None, _PARSE_ERROR, "This is not JSON."))
            return
        number = message.get("id") if isinstance(message, dict) else None
        try:
            answer = self._ask(message)
        except Failure as failure:
            hint = f" {failure.hint}" if failure.hint else ""
            answer = _error(number, _INTERNAL_ERROR, f"{failure.message}{hint}")
        if answer is not None and number is not None:
            self._say(answer)

    def _ask(self, message: Any) -> dict[str, Any] | None:
        server = Server(url=self._url, token=self._token, scope_headers=self._headers())
        answer = server.exchange("POST", "/mcp", payload=message, headers=self._protocol(message))
        reply = answer.json_object()
        if reply is not None and "jsonrpc" in reply:
            result = reply.get("result")
            if isinstance(result, dict) and isinstance(result.get("protocolVersion"), str):
                self._version = result["protocolVersion"]
            return reply
        if not answer.body:
            return None
        said = (reply or {}).get("error")
        text = said.get("message") if isinstance(said, dict) else (reply or {}).get("message")
        return _error(
            message.get("id") if isinstance(message, dict) else None,
            _INTERNAL_ERROR,
            str(text or f"The server answered HTTP {answer.http_status}."),
        )

    def _protocol(self, message: Any) -> dict[str, str]:
        headers = {"Accept": "application/json, text/event-stream"}
        parameters = message.get("params") if isinstance(message, dict) else None
        parameters = parameters if isinstance(parameters, dict) else {}
        meta = parameters.get("_meta")
        modern = meta.get("io.modelcontextprotocol/protocolVersion") if isinstance(
            meta, dict
        ) else None  # fmt: skip
        if isinstance(modern, str):
            headers |= {"MCP-Protocol-Version": modern, "Mcp-Method": str(message.get("method"))}
            name = parameters.get("name") or parameters.get("uri")
            if isinstance(name, str):
                headers["Mcp-Name"] = name
        elif self._version:
            headers["MCP-Protocol-Version"] = self._version
        return headers

    def _headers(self) -> dict[str, str]:
        with self._lock:
            if time.monotonic() - self._looked_at > _SCOPE_SECONDS:
                self._scope = find_scope(configuration=self._configuration)
                self._looked_at = time.monotonic()
            return self._scope.headers()

    def _say(self, message: dict[str, Any]) -> None:
        with self._output:
            sys.stdout.write(f"{json.dumps(message)}\n")
            sys.stdout.flush()


def run(*, url: str, token: str, configuration: Configuration, scope: Scope) -> ExitStatus:
    """Serve one client until it leaves."""
    Bridge(url=url, token=token, configuration=configuration, scope=scope).run()
    return ExitStatus.OK


def _error(number: object, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}
