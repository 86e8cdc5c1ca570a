"""`codemem status`: what the server knows about this place, and whether it is up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from codemem.client import gitscope
from codemem.client.answers import code_of, commits, lag, scope_phrase
from codemem.client.failure import ExitStatus
from codemem.client.terminal import line, print_json, styled

if TYPE_CHECKING:
    from codemem.client.scope import Scope
    from codemem.client.transport import Server

_SHOWN_TOOLS: Final = 5
_WELL = ("ok", "up", "healthy", "true", "ready")


def run(*, server: Server, scope: Scope, as_json: bool) -> ExitStatus:
    """Print the answer of codemem_status, with freshness as seen from this checkout."""
    result = server.call_tool("codemem_status", {})
    if as_json:
        print_json(result)
        return ExitStatus.OK
    print(f"{_label('Server')}{_server(result, url=server.url)}")
    print(f"{_label('Scope')}{line(scope_phrase(result))}")
    for label, text in (
        ("Code", _code(result, scope=scope)),
        ("Counts", _pairs(result.get("counts"))),
        ("Queues", _pairs(result.get("queues"))),
        ("Health", _health(result.get("health"))),
    ):
        if text:
            print(f"{_label(label)}{text}")
    _show_tools(result.get("tools"))
    return ExitStatus.OK


def freshness(result: dict[str, Any], *, scope: Scope) -> tuple[str, bool]:
    """Return a phrase on how far the index is, and whether it is up to date with this checkout."""
    code = code_of(result) or {}
    indexed = code.get("indexed_commit")
    if not isinstance(indexed, str) or not indexed:
        return "not indexed yet", False
    phrase, is_fresh = _compared_with_head(indexed, scope=scope)
    if behind := lag(result):
        return f"{phrase}; {behind}", False
    return phrase, is_fresh


def _compared_with_head(indexed: str, *, scope: Scope) -> tuple[str, bool]:
    head = scope.checkout.head if scope.checkout else None
    if head is None:
        return f"indexed {indexed[:10]}", True
    if head == indexed:
        return f"indexed up to your HEAD {head[:10]}", True
    ahead = gitscope.count_commits(older=indexed, newer=head, directory=scope.directory)
    if ahead is None:
        return f"indexed {indexed[:10]}, which this checkout does not have", False
    if ahead == 0:
        return f"indexed {indexed[:10]}, newer than your HEAD {head[:10]}", True
    return f"indexed {indexed[:10]}, {commits(ahead)} behind your HEAD {head[:10]}", False


def _server(result: dict[str, Any], *, url: str) -> str:
    server = result.get("server")
    version = server.get("version") if isinstance(server, dict) else None
    return f"{styled(url, 'bold')}{f'  codemem {line(version)}' if version else ''}"


def _code(result: dict[str, Any], *, scope: Scope) -> str:
    if code_of(result) is None:
        return ""
    phrase, is_fresh = freshness(result, scope=scope)
    note = (code_of(result) or {}).get("note")
    if note:
        phrase, is_fresh = f"{phrase}; {note}", False
    return styled(line(phrase), "green" if is_fresh else "yellow")


def _pairs(values: object) -> str:
    if not isinstance(values, dict):
        return ""
    return styled(" · ", "dim").join(
        f"{line(name).replace('_', ' ')} {_figure(value)}" for name, value in values.items()
    )


def _health(values: object) -> str:
    if isinstance(values, str | bool):
        values = {"server": values}
    if not isinstance(values, dict):
        return ""
    return styled(" · ", "dim").join(
        f"{line(name).replace('_', ' ')} {_verdict(value)}" for name, value in values.items()
    )


def _verdict(value: object) -> str:
    if isinstance(value, dict):
        value = value.get("status", value.get("ok", value))
    text = "ok" if value is True else line(_figure(value))
    return styled(text, "green" if text.lower() in _WELL else "red")


def _figure(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{line(name)} {_figure(inner)}" for name, inner in value.items())
    if isinstance(value, bool) or not isinstance(value, int):
        return line(value)
    return f"{value:,}"


def _show_tools(tools: object) -> None:
    if not isinstance(tools, dict) or not tools:
        return
    called = [(name, figures) for name, figures in tools.items() if isinstance(figures, dict)]
    called.sort(key=lambda tool: -_number(tool[1].get("calls")))
    for number, (name, figures) in enumerate(called[:_SHOWN_TOOLS]):
        times = "/".join(f"{_number(figures.get(p)):,.1f}" for p in ("p50_ms", "p95_ms", "p99_ms"))
        print(
            f"{_label('' if number else 'Tools')}{line(name):<22} "
            f"{_number(figures.get('calls')):>8,.0f} calls   p50/p95/p99 {times} ms"
        )


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _label(text: str) -> str:
    return styled(f"{text:<9}", "dim")
