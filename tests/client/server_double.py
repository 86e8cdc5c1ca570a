"""A small codemem server in the test process: real HTTP, state instead of a database."""

from __future__ import annotations

import json
from base64 import b64decode
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, Self

TOKEN = "cm_good"


@dataclass
class Received:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


@dataclass
class Canned:
    """An answer that wins over what the server would say."""

    status: int = 200
    body: bytes = b"{}"
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)


def identity() -> dict[str, Any]:
    return {
        "user": "ada",
        "token": {
            "name": "laptop",
            "kind": "person",
            "scopes": ["read", "write"],
            "expires_at": None,
        },
        "namespaces": [{"name": "platform", "role": "writer", "repositories": ["api", "web"]}],
    }


class ServerDouble:
    def __init__(self) -> None:
        self.identities = {TOKEN: identity()}
        self.memories: list[dict[str, Any]] = []
        self.symbols: list[dict[str, Any]] = []
        self.status: dict[str, Any] = {
            "scope": {
                "namespace": "platform",
                "repository": "api",
                "branch": "main",
                "source": "connection",
            },
            "server": {"version": "0.1.0"},
            "counts": {"memories": 12, "symbols": 12345},
        }
        self.review: dict[str, Any] = {"risk": {"level": "medium", "score": 0.4}}
        self.markdown: str | None = "# Review\n\nRisk: medium\n"
        self.runs: list[dict[str, Any]] = [{"id": "7", "ref": "main", "state": "done"}]
        self.findings: dict[str, Any] = {"findings": [], "total": 0, "by_rule": {}}
        self.commits: list[str] = []
        self.contents: dict[str, bytes] = {}
        self.work_trees: dict[str, dict[str, bytes | None]] = {}
        self.mcp_tools = [{"name": "recall"}, {"name": "search_code"}]
        self.mcp_versions = ["2026-07-28", "2025-11-25"]
        self.canned: dict[str, Canned] = {}
        self.received: list[Received] = []
        self.hangs = False
        self.released = Event()
        self.arrived = Event()

    def __enter__(self) -> Self:
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), _handler_for(self))
        self.http.daemon_threads = True
        Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self.http.shutdown()
        self.http.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}"

    def last(self, path: str) -> Received:
        return next(one for one in reversed(self.received) if one.path == path)

    def answer(self, request: Received) -> Canned:
        for prefix, canned in self.canned.items():
            if request.path.startswith(prefix):
                return canned
        if request.path in {"/healthz", "/readyz"}:
            return _json(200, {"status": "ok", "database": "ok", "redis": "ok"})
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if token not in self.identities:
            return _error(401, "token_invalid", "This token is not known.", "Make a new one.")
        return self._answer_authorized(request, self.identities[token])

    def _work_tree(self, request: Received) -> Canned:
        """Keep work trees like the server: by name, asking for contents that were never sent."""
        name = request.path.rpartition("/")[2]
        if request.method == "GET":
            return _json(200, {"commits": self.commits})
        if request.method == "DELETE":
            self.work_trees.pop(name, None)
            return _json(200, {"ref": f"worktree:{name}", "needs": []})
        given = request.json
        if given["base"] not in self.commits:
            return _error(409, "base_unknown", "The server does not know this commit.", None)
        self.contents |= {blob: b64decode(text) for blob, text in given["contents"].items()}
        needs = [blob for blob in given["files"].values() if blob and blob not in self.contents]
        if not needs:
            self.work_trees[name] = {
                path: self.contents[blob] if blob else None for path, blob in given["files"].items()
            }
        return _json(200, {"ref": f"worktree:{name}", "needs": needs})

    def _answer_authorized(self, request: Received, me: dict[str, Any]) -> Canned:
        if request.path.startswith("/api/v1/worktrees"):
            return self._work_tree(request)
        match request.method, request.path:
            case "GET", "/api/v1/me":
                answer = me
            case "POST", "/api/v1/tools/codemem_status":
                answer = self.status
            case "POST", "/api/v1/tools/recall":
                answer = self._found(self.memories, request, key="content")
            case "POST", "/api/v1/tools/search_code":
                answer = self._found(self.symbols, request, key="qualified_name")
            case "POST", "/api/v1/tools/list_findings":
                answer = self.findings
            case ("POST", "/api/v1/runs") | ("GET", "/api/v1/runs/7"):
                answer = self.runs.pop(0) if len(self.runs) > 1 else self.runs[0]
            case "POST", "/api/v1/reviews":
                markdown = {} if self.markdown is None else {"markdown": self.markdown}
                answer = {"review": self.review, **markdown}
            case "POST", "/mcp":
                answer = self._mcp(request)
            case _:
                return _error(404, "not_found", "There is no such thing.", None)
        return _json(200, answer)

    def _found(self, rows: list[dict[str, Any]], request: Received, *, key: str) -> dict[str, Any]:
        words = request.json["query"].split()
        hits = [row for row in rows if any(word in row[key] for word in words)]
        return {"scope": self.status["scope"], "results": hits[: request.json["k"]]}

    def _mcp(self, request: Received) -> dict[str, Any]:
        call = request.json
        results = {
            "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}},
            "tools/list": {"tools": self.mcp_tools},
            "server/discover": {"resultType": "complete", "supportedVersions": self.mcp_versions},
        }
        if call["method"] == "server/discover":
            assert request.headers["mcp-protocol-version"] == "2026-07-28"
            assert request.headers["mcp-method"] == "server/discover"
            meta = call["params"]["_meta"]
            assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
            assert meta["io.modelcontextprotocol/clientCapabilities"] == {}
        return {"jsonrpc": "2.0", "id": call["id"], "result": results[call["method"]]}


def _json(status: int, value: object) -> Canned:
    return Canned(status=status, body=json.dumps(value).encode())


def _error(status: int, code: str, message: str, hint: str | None) -> Canned:
    error = {"code": code, "message": message, "hint": hint}
    return _json(status, {"error": {key: value for key, value in error.items() if value}})


def _handler_for(double: ServerDouble) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Received(self.command, self.path, headers, self.rfile.read(length))
            double.received.append(request)
            double.arrived.set()
            if double.hangs:
                double.released.wait(30)
            answer = double.answer(request)
            with suppress(BrokenPipeError, ConnectionResetError):
                self._send(answer)

        # The names are http.server's.
        do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815

        def _send(self, answer: Canned) -> None:
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Content-Length", str(len(answer.body)))
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
