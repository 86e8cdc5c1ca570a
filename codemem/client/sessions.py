"""`codemem sessions`: what was captured of agents' sessions, and what they were shown and why."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

from codemem.client.failure import ExitStatus, Failure
from codemem.client.terminal import block, line, print_json, styled

if TYPE_CHECKING:
    import argparse

    from codemem.client.scope import Scope
    from codemem.client.transport import Server

_SESSIONS: Final = "/api/v1/sessions"
_SHOWN: Final = 200


class NoSession(Failure):
    """Which session is meant was not said, or nothing is captured here."""

    code = "no_session"


def run(*, server: Server, scope: Scope, options: argparse.Namespace) -> ExitStatus:
    """List, show, begin or end sessions."""
    match options.action:
        case "list":
            return _list(server, options)
        case "start":
            return _start(server, scope, options)
        case "end":
            ended = server.ask("POST", f"{_address(options)}/end")
            return _print(ended, [_told(ended)], options)
        case _:
            return _show(server, options)


def _list(server: Server, options: argparse.Namespace) -> ExitStatus:
    query = {"limit": min(options.n, _SHOWN)} | ({"is_open": "true"} if options.open else {})
    answer = server.ask("GET", f"{_SESSIONS}?{urlencode(query)}")
    rows = _rows(answer, "sessions")
    return _print(answer, [_told(one) for one in rows] or ["There are no sessions."], options)


def _show(server: Server, options: argparse.Namespace) -> ExitStatus:
    session = server.ask("GET", _address(options))
    limit = urlencode({"limit": _SHOWN})
    captured = server.ask("GET", f"{_address(options)}/observations?{limit}")
    shown = server.ask("GET", f"{_address(options)}/injections?{limit}")
    lines = [_told(session), "", styled("captured", "bold")]
    lines += [_observation(one) for one in _rows(captured, "observations")] or ["  nothing"]
    lines += ["", styled("shown to the agent, unasked", "bold")]
    lines += [_injection(one) for one in _rows(shown, "injections")] or ["  nothing"]
    return _print({"session": session, **captured, **shown}, lines, options)


def _start(server: Server, scope: Scope, options: argparse.Namespace) -> ExitStatus:
    wanted = {
        "client_session_id": options.session or f"cli-{uuid.uuid4()}",
        "directory": str(scope.directory),
        "capture": options.capture,
    }
    answer = server.ask("POST", _SESSIONS, payload=wanted)
    session = answer.get("session")
    if not isinstance(session, dict):
        raise NoSession(line(answer.get("note")) or "Nothing is captured here.")
    return _print(answer, [block(answer.get("context"))], options)


def _address(options: argparse.Namespace) -> str:
    if not options.session:
        raise NoSession(
            f"Say which session to {options.action}.", hint="`codemem sessions list` names them."
        )
    return f"{_SESSIONS}/{quote(options.session, safe='')}"


def _told(session: dict[str, Any]) -> str:
    """Return a session in one line."""
    place = "/".join(
        filter(None, (line(session.get("namespace")), line(session.get("repository"))))
    )
    when = line(session.get("started_at"))[:16].replace("T", " ")
    state = line(session.get("end_reason")) or "ended" if session.get("ended_at") else "open"
    counts = ", ".join(
        f"{session.get(name, 0)} {name}" for name in ("prompts", "changes", "failures")
    )
    title = line(session.get("title")) or styled("(no title)", "dim")
    head = f"{line(session.get('id'))}  {when}  {styled(line(session.get('agent')), 'cyan')}"
    return f"{head}  {place}  {title}  ({counts}; {state})"


def _observation(row: dict[str, Any]) -> str:
    at = line(row.get("happened_at"))[11:19]
    what = line(row.get("tool")) or line(row.get("kind"))
    about = line(row.get("command")) or ", ".join(line(path) for path in row.get("paths") or [])
    content = line(str(row.get("content") or "").partition("\n")[0])[:100]
    failed = styled(" failed", "red") if row.get("is_failure") else ""
    subagent = f" [{line(row.get('subagent_type'))}]" if row.get("subagent_type") else ""
    return "  ".join(filter(None, (f"  {at}", f"{what}{subagent}{failed}", about[:100], content)))


def _injection(row: dict[str, Any]) -> str:
    at = line(row.get("shown_at"))[11:19]
    memory = f" {line(row.get('memory_id'))}" if row.get("memory_id") else ""
    return f"  {at}  {line(row.get('kind'))}{memory}: {line(row.get('reason'))}"


def _rows(answer: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [row for row in answer.get(name) or [] if isinstance(row, dict)]


def _print(answer: object, lines: list[str], options: argparse.Namespace) -> ExitStatus:
    if options.json:
        print_json(answer)
    else:
        print("\n".join(lines))
    return ExitStatus.OK
