"""Figures of tools/call: what authentication, protocol and HTTP add to a tool's own function."""

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.test import Client
from django.utils import timezone

from codemem.gateway import tool
from tests.bench.dataset import NAMESPACE, Dataset
from tests.bench.graph_figures import all_seeds, positions
from tests.bench.measuring import Figure, timed, timed_beside
from tests.bench.memories import question

_CALLS: Final = 150
_NEW_QUESTIONS_FROM: Final = 1_000_000
_STARTUP_SECONDS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scenario:
    """A tool with the arguments to call it with, one after the other."""

    name: str
    tool: str
    repository: str
    arguments: Sequence[dict[str, Any]]


def tool_figures(data: Dataset, *, log: Path) -> Iterator[Figure]:
    scenarios = _scenarios(data)
    for scenario in scenarios:
        yield from _in_process(data, scenario)
    with _web_server(log) as port:
        for scenario in scenarios:
            yield _over_http(data, scenario, port)


def _scenarios(data: Dataset) -> list[_Scenario]:
    typical, *_ = all_seeds(data)
    # The connection is bound to one repository: symbols of the largest.
    here = [
        symbol
        for symbol in positions(data, typical.vertices)
        if data.code.repository_of(symbol) == 0
    ][:_CALLS]
    names = [data.code.symbol_fact(symbol).qualified_name for symbol in here]
    repository = data.repository_names[0]
    return [
        _Scenario(
            name="get_symbol_info",
            tool="get_symbol_info",
            repository=repository,
            arguments=[{"qualified_name": name} for name in names],
        ),
        _Scenario(
            name="get_symbol_graph, depth 2",
            tool="get_symbol_graph",
            repository=repository,
            arguments=[{"qualified_name": name, "depth": 2, "direction": "in"} for name in names],
        ),
        _Scenario(
            name="recall",
            tool="recall",
            repository=repository,
            arguments=[{"query": question(_NEW_QUESTIONS_FROM + n)} for n in range(_CALLS)],
        ),
    ]


def _in_process(data: Dataset, scenario: _Scenario) -> Iterator[Figure]:
    """Call through Django's whole stack beside the bare function; both with warm caches."""
    client = Client(SERVER_NAME="127.0.0.1", headers=_headers(data))

    def through_mcp(arguments: dict[str, Any]) -> int:
        answer = client.post(
            _path(scenario), data=_message(scenario, arguments), content_type="application/json"
        )
        return _checked(answer.status_code, answer.content)

    function = _function(data, scenario)
    for arguments in scenario.arguments:
        function(arguments)
    pair = timed_beside(through_mcp, function, scenario.arguments)
    yield Figure(group="tools/call", name=f"{scenario.name}: function", taken=pair.bare)
    yield Figure(
        group="tools/call",
        name=f"{scenario.name}: MCP in process",
        taken=pair.taken,
        bare=pair.bare,
        results=pair.results,
    )
    yield Figure(
        group="tools/call",
        name=f"{scenario.name}: what MCP adds",
        taken=pair.added,
    )


def _function(data: Dataset, scenario: _Scenario) -> Callable[[dict[str, Any]], int]:
    called = tool.find_tool(scenario.tool)
    address = tool.Address(namespace=NAMESPACE, repository=scenario.repository)

    def call(arguments: dict[str, Any]) -> int:
        context = tool.Call(caller=data.caller, address=address, now=timezone.now())
        called.function(context, called.arguments.model_validate(arguments))
        return 1

    return call


def _over_http(data: Dataset, scenario: _Scenario, port: int) -> Figure:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    headers = {**_headers(data), "Content-Type": "application/json"}

    def post(arguments: dict[str, Any]) -> int:
        connection.request("POST", _path(scenario), _message(scenario, arguments), headers)
        answer = connection.getresponse()
        return _checked(answer.status, answer.read())

    taken, size = timed(post, scenario.arguments)
    connection.close()
    return Figure(
        group="tools/call", name=f"{scenario.name}: MCP over HTTP", taken=taken, results=size
    )


def _path(scenario: _Scenario) -> str:
    return f"/mcp/r/{NAMESPACE}/{scenario.repository}"


def _headers(data: Dataset) -> dict[str, str]:
    return {
        "Authorization": f"Bearer {data.token}",
        "Accept": "application/json, text/event-stream",
    }


def _message(scenario: _Scenario, arguments: dict[str, Any]) -> str:
    params = {"name": scenario.tool, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})


def _checked(status: int, body: bytes) -> int:
    """Return the answer's size in bytes; an error would be fast and mean nothing."""
    answer = json.loads(body)
    if status != 200 or answer.get("result", {}).get("isError", True):
        raise RuntimeError(f"The server answered {status}: {body[:500]!r}")
    return len(body)


@contextmanager
def _web_server(log: Path) -> Iterator[int]:
    """Run gunicorn as deploy/server.sh does, on a free port."""
    port = _free_port()
    command = [
        *(sys.executable, "-m", "gunicorn", "codemem.wsgi", "-c", "deploy/gunicorn.conf.py"),
        *("--bind", f"127.0.0.1:{port}"),
    ]
    environment = {**os.environ, "CODEMEM_LOG_LEVEL": "INFO", "CODEMEM_LOG_FORMAT": "json"}
    with log.open("wb") as output:
        server = subprocess.Popen(
            command, cwd=settings.ROOT, env=environment, stdout=output, stderr=output
        )
        try:
            _wait_until_ready(server, port, log)
            yield port
        finally:
            server.terminate()
            server.wait(timeout=_STARTUP_SECONDS)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_ready(server: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    deadline = time.monotonic() + _STARTUP_SECONDS
    while not _is_ready(port):
        if server.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"The web server does not answer; see {log}.")
        time.sleep(0.2)


def _is_ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()
