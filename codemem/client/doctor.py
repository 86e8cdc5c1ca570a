"""`codemem doctor`: check every link from this directory to the server, in the order of travel.

A broken link ends the examination where the ones after it could only fail for the same reason.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from codemem.client import identity
from codemem.client.answers import is_inferred, repository_of, scope_phrase
from codemem.client.checks import Check, Outcome
from codemem.client.configuration import Configuration, is_plain_text, read_configuration
from codemem.client.failure import ExitStatus, Failure
from codemem.client.install import diagnosis as agents
from codemem.client.scope import Scope, find_scope
from codemem.client.status import freshness
from codemem.client.terminal import line, print_json, styled
from codemem.client.transport import Answer, Server, Stage, Unreachable, proxy_for
from codemem.client.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

LEGACY_PROTOCOL: Final = "2025-11-25"
MODERN_PROTOCOL: Final = "2026-07-28"

_SOON_DAYS: Final = 14


def run(
    *, namespace: str | None, repository: str | None, ref: str | None, as_json: bool
) -> ExitStatus:
    """Print one line per check; PROBLEMS_FOUND if any failed."""
    found = []
    for check in _examine(namespace=namespace, repository=repository, ref=ref):
        found.append(check)
        if not as_json:
            _show(check)
    is_well = all(check.outcome is not Outcome.FAIL for check in found)
    if as_json:
        print_json({"ok": is_well, "checks": [_as_json(check) for check in found]})
    return ExitStatus.OK if is_well else ExitStatus.PROBLEMS_FOUND


def _examine(*, namespace: str | None, repository: str | None, ref: str | None) -> Iterator[Check]:
    try:
        configuration = read_configuration()
        scope = find_scope(
            configuration=configuration, namespace=namespace, repository=repository, ref=ref
        )
    except Failure as failure:
        yield _failed("configuration", failure)
        return
    yield from _check_configuration(configuration)
    yield _check_checkout(scope)
    yield from agents.check_clients(scope=scope)
    yield from agents.check_spool()
    if configuration.url is None:
        return
    server = Server(url=configuration.url, token=configuration.token, scope_headers=scope.headers())
    try:
        yield from _check_server(server)
        if server.token:
            yield from _check_access(server, scope=scope)
    except Unreachable as failure:
        yield from _how_far(failure, url=server.url)


def _check_configuration(configuration: Configuration) -> Iterator[Check]:
    login = "Run `codemem login`, or set CODEMEM_URL and CODEMEM_TOKEN."
    if configuration.url is None:
        yield Check("configuration", Outcome.FAIL, "no server is configured", login)
    elif configuration.token is None and not configuration.warnings:
        yield Check("configuration", Outcome.FAIL, f"no token for {configuration.url}", login)
    else:
        yield Check("configuration", Outcome.OK, f"{configuration.url}, {_origin(configuration)}")
    for warning in configuration.warnings:
        yield Check("token file", Outcome.FAIL, warning)
    if configuration.path.exists() and not configuration.warnings:
        yield Check("token file", Outcome.OK, f"{configuration.path}, for your eyes only")
    if configuration.url and is_plain_text(configuration.url):
        yield Check(
            "encryption",
            Outcome.WARN,
            "http: your token can be read on the way",
            "Ask the operator for an https address.",
        )


def _origin(configuration: Configuration) -> str:
    from_environment = [name for name in ("CODEMEM_URL", "CODEMEM_TOKEN") if os.environ.get(name)]
    if not from_environment:
        return f"from {configuration.path}"
    return f"{' and '.join(from_environment)} from the environment"


def _check_checkout(scope: Scope) -> Check:
    if scope.git_problem:
        return Check("checkout", Outcome.WARN, scope.git_problem)
    checkout = scope.checkout
    if checkout is None:
        named = scope.repository
        if named:
            return Check("checkout", Outcome.OK, f"not looked at: the repository is {named}")
        return Check(
            "checkout",
            Outcome.WARN,
            "this directory is in no Git repository",
            "Name one with --repository, or go to a checkout.",
        )
    kind = "linked worktree" if checkout.is_linked_worktree else "checkout"
    place = checkout.branch or (f"detached at {checkout.head[:10]}" if checkout.head else "empty")
    remote = checkout.remote or "no remote"
    return Check("checkout", Outcome.OK, f"{kind} of {remote}, on {place}")


def _check_server(server: Server) -> Iterator[Check]:
    health = server.exchange("GET", "/healthz")
    yield from _reached(Stage.ANSWER, url=server.url)
    yield _answers_well("healthz", health, unwell="the web process is not well")
    ready = server.exchange("GET", "/readyz")
    yield _answers_well("readyz", ready, unwell="the server lacks something it needs")


def _reached(stage: Stage, *, url: str) -> Iterator[Check]:
    """Yield a good check for each stage before the given one."""
    parts = urlsplit(url)
    proxy = proxy_for(url)
    via = f" through the proxy {urlsplit(proxy).hostname or proxy}" if proxy else ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if stage > Stage.NAME:
        yield Check("name", Outcome.OK, f"{parts.hostname} is known{via}")
    if stage > Stage.CONNECTION:
        yield Check("connection", Outcome.OK, f"port {port} accepts connections{via}")
    if stage > Stage.ENCRYPTION and parts.scheme == "https":
        yield Check("encryption", Outcome.OK, "the certificate is trusted")


def _how_far(failure: Unreachable, *, url: str) -> Iterator[Check]:
    if failure.stage is not Stage.ANSWER:
        yield from _reached(failure.stage, url=url)
    names = {Stage.NAME: "name", Stage.CONNECTION: "connection", Stage.ENCRYPTION: "encryption"}
    yield _failed(names.get(failure.stage, "answer"), failure)


def _answers_well(name: str, answer: Answer, *, unwell: str) -> Check:
    report = answer.json_object()
    ailing = _ailing(report or {})
    hint = "See the log of the server."
    if answer.http_status // 100 != 2:  # noqa: PLR2004
        message = f"{unwell} (HTTP {answer.http_status}){': ' if ailing else ''}{ailing}"
        elsewhere = "Is this the URL of a codemem server?"
        return Check(name, Outcome.FAIL, message, elsewhere if report is None else hint)
    if ailing:
        return Check(name, Outcome.WARN, f"serves, but {ailing}", hint)
    return Check(name, Outcome.OK, f"HTTP {answer.http_status}")


def _ailing(report: dict[str, Any]) -> str:
    parts = ((name, state) for name, state in report.items() if name != "status")
    return ", ".join(f"{name} {state}" for name, state in parts if state != "ok")


def _check_access(server: Server, *, scope: Scope) -> Iterator[Check]:
    try:
        me = server.ask("GET", "/api/v1/me")
    except Unreachable:
        raise
    except Failure as failure:
        yield _failed("token", failure)
        return
    yield _check_token(me)
    memberships = identity.namespaces_with_roles(me)
    outcome = Outcome.OK if me.get("namespaces") else Outcome.WARN
    yield Check("namespaces", outcome, "; ".join(memberships))
    yield from _check_mcp_legacy(server)
    yield _check_mcp_modern(server)
    yield _check_repository(server, scope=scope)
    yield from agents.check_hooks(me, scope=scope)


def _check_token(me: dict[str, Any]) -> Check:
    days = identity.days_left(me, now=datetime.now(UTC))
    owner = f"valid, of {identity.user_name(me)}"
    if days is None:
        return Check("token", Outcome.OK, f"{owner}, does not expire")
    outcome = Outcome.WARN if days < _SOON_DAYS else Outcome.OK
    hint = "Get a new one in time, then: codemem login" if days < _SOON_DAYS else None
    return Check("token", outcome, f"{owner}, expires in {max(0, int(days))} days", hint)


def _check_mcp_legacy(server: Server) -> Iterator[Check]:
    """Speak as Codex, opencode and Gemini CLI do: initialize, then tools/list."""
    name = f"mcp {LEGACY_PROTOCOL}"
    opening = {
        "protocolVersion": LEGACY_PROTOCOL,
        "capabilities": {},
        "clientInfo": {"name": "codemem-doctor", "version": VERSION},
    }
    try:
        hello = _rpc(server, "initialize", opening, headers={})
        agreed = str(hello.get("protocolVersion") or LEGACY_PROTOCOL)
        listed = _rpc(server, "tools/list", {}, headers={"MCP-Protocol-Version": agreed})
    except _RpcFailed as failure:
        yield _failed(name, failure)
        return
    tools = listed.get("tools")
    count = len(tools) if isinstance(tools, list) else 0
    if count:
        yield Check(name, Outcome.OK, f"{count} tools")
    else:
        yield Check(name, Outcome.FAIL, "offers no tools", "Does the token have any scope?")


def _check_mcp_modern(server: Server) -> Check:
    """Speak as Claude Code does: server/discover, stateless."""
    name = f"mcp {MODERN_PROTOCOL}"
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN_PROTOCOL,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "codemem-doctor", "version": VERSION},
    }
    headers = {"MCP-Protocol-Version": MODERN_PROTOCOL, "Mcp-Method": "server/discover"}
    try:
        discovered = _rpc(server, "server/discover", {"_meta": meta}, headers=headers)
    except _RpcFailed as failure:
        return _failed(name, failure)
    versions = discovered.get("supportedVersions")
    if isinstance(versions, list) and MODERN_PROTOCOL in versions:
        return Check(name, Outcome.OK, f"speaks {', '.join(map(str, versions))}")
    return Check(name, Outcome.WARN, f"does not list {MODERN_PROTOCOL} among its versions")


class _RpcFailed(Failure):
    code = "mcp_failed"


def _rpc(
    server: Server, method: str, parameters: dict[str, Any], *, headers: dict[str, str]
) -> dict[str, Any]:
    """Return the result of one MCP request. Raises _RpcFailed, or Unreachable."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
    answer = server.exchange(
        "POST",
        "/mcp",
        payload=message,
        headers={"Accept": "application/json, text/event-stream", **headers},
    )
    reply = answer.json_object() or {}
    result = reply.get("result")
    if answer.http_status == 200 and isinstance(result, dict):  # noqa: PLR2004
        return result
    error = reply.get("error")
    said = error.get("message") if isinstance(error, dict) else None
    raise _RpcFailed(
        f"{method} answered {said or 'without a result'} (HTTP {answer.http_status})",
        hint="Is /mcp of this URL passed on to codemem?" if not reply else None,
    )


def _check_repository(server: Server, *, scope: Scope) -> Check:
    name = "repository"
    try:
        result = server.call_tool("codemem_status", {})
    except Unreachable:
        raise
    except Failure as failure:
        return Check(name, Outcome.WARN, failure.message, failure.hint or _register(scope))
    if repository_of(result) is None:
        return Check(name, Outcome.WARN, "the server does not know this place", _register(scope))
    place = scope_phrase(result)
    if is_inferred(result) and scope.checkout:
        unknown = f"the server does not know this checkout and answers for {place}"
        return Check(name, Outcome.WARN, unknown, _register(scope))
    phrase, is_fresh = freshness(result, scope=scope)
    hint = None if is_fresh else "Push your commits; the server indexes what it can fetch."
    return Check(name, Outcome.OK if is_fresh else Outcome.WARN, f"{place}, {phrase}", hint)


def _register(scope: Scope) -> str:
    remote = scope.checkout.remote if scope.checkout else None
    what = f"the repository {remote}" if remote else "the repository"
    return f"Ask a maintainer to register {what}, or name one with --repository."


def _failed(name: str, failure: Failure) -> Check:
    return Check(name, Outcome.FAIL, failure.message, failure.hint)


def _show(check: Check) -> None:
    color = {Outcome.OK: "green", Outcome.WARN: "yellow", Outcome.FAIL: "red"}[check.outcome]
    hint = f"  -> {line(check.hint)}" if check.hint else ""
    print(f"{styled(f'{check.outcome:<4}', color)}  {check.name:<15} {line(check.message)}{hint}")


def _as_json(check: Check) -> dict[str, str]:
    said = {"name": check.name, "outcome": str(check.outcome), "message": check.message}
    return said | ({"hint": check.hint} if check.hint else {})
