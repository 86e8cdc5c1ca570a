"""`codemem index` and `codemem analyze`: have the server fetch a branch, and watch it do so."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final

from codemem.client.failure import ExitStatus, Failure
from codemem.client.terminal import line, print_json, styled
from codemem.client.transport import Unreachable

if TYPE_CHECKING:
    from codemem.client.scope import Scope
    from codemem.client.transport import Server

_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 2.0
_PATIENCE_WITHOUT_SERVER: Final = 60.0
_SHOWN_RULES: Final = 8


class IndexFailed(Failure):
    """The run ended without a new graph; the message is the server's."""

    status = ExitStatus.USAGE
    code = "index_failed"


def run(*, server: Server, scope: Scope, ref: str | None, waits: bool, as_json: bool) -> ExitStatus:
    """Have a branch indexed; return when it can be asked about, or at once with --no-wait."""
    started = time.monotonic()
    wanted = ref or scope.ref
    run = server.ask("POST", "/api/v1/runs", payload={"ref": wanted} if wanted else {})
    if waits:
        run = _awaited(server, run, shows=not as_json)
    if as_json:
        print_json(run)
    else:
        print(_told(run, seconds=time.monotonic() - started))
    return ExitStatus.OK


def analyze(*, server: Server, scope: Scope, ref: str | None, as_json: bool) -> ExitStatus:
    """Index, and say what is known and what is still being worked out."""
    wanted = ref or scope.ref
    started = time.monotonic()
    run = server.ask("POST", "/api/v1/runs", payload={"ref": wanted} if wanted else {})
    run = _awaited(server, run, shows=not as_json)
    findings = server.call_tool("list_findings", {"limit": 5})
    if as_json:
        print_json({"run": run, "findings": findings})
        return ExitStatus.OK
    print(_told(run, seconds=time.monotonic() - started))
    _show_findings(findings)
    return ExitStatus.OK


def _awaited(server: Server, run: dict[str, Any], *, shows: bool) -> dict[str, Any]:
    """Return the run when it is over; a server that restarts meanwhile is waited for."""
    progress = _Progress(shows=shows)
    pause, away_since = _FIRST_PAUSE, None
    while run.get("state") in {"queued", "running"}:
        progress.show(run)
        time.sleep(pause)
        pause = min(_LONGEST_PAUSE, pause * 1.3)
        try:
            run = server.ask("GET", f"/api/v1/runs/{run['id']}")
            away_since = None
        except Unreachable:
            away_since = away_since or time.monotonic()
            if time.monotonic() - away_since > _PATIENCE_WITHOUT_SERVER:
                raise
    progress.end()
    if run.get("state") == "failed":
        raise IndexFailed(str(run.get("error") or "The run failed."))
    return run


class _Progress:
    """One line that is written over, on a terminal; elsewhere a line for each step."""

    def __init__(self, *, shows: bool) -> None:
        self._shows = shows
        self._is_terminal = sys.stderr.isatty()
        self._last = ""

    def show(self, run: dict[str, Any]) -> None:
        step = line(run.get("step") or run.get("state") or "")
        done, total = run.get("files_done") or 0, run.get("files_total") or 0
        counted = f" {done:,} of {total:,} files" if total and step == "parsing" else ""
        text = f"{step}{counted}" if self._is_terminal else step
        if not self._shows or text == self._last:
            return
        self._last = text
        if self._is_terminal:
            print(f"\r\x1b[K{text} ...", end="", file=sys.stderr, flush=True)
        else:
            print(f"{text} ...", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._shows and self._is_terminal and self._last:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _told(run: dict[str, Any], *, seconds: float) -> str:
    ref = line(run.get("ref") or "the default branch")
    if run.get("state") != "done":
        return f"Queued: {ref} will be indexed (run {line(run.get('id'))})."
    counts = run.get("counts") or {}
    commit = styled(line(str(run.get("commit"))[:10]), "bold")
    parts = [f"{counts[name]:,} {name}" for name in ("files", "symbols", "edges") if name in counts]
    skipped = run.get("skipped") or {}
    left_out = sum(int(reason.get("count", 0)) for reason in skipped.values())
    told = f"{ref} is indexed at {commit} after {seconds:.1f} s: {', '.join(parts)}"
    return f"{told}, {left_out:,} skipped." if left_out else f"{told}."


def _show_findings(answer: dict[str, Any]) -> None:
    analysis = answer.get("analysis")
    if not isinstance(analysis, dict):
        print("Findings: the first analysis is under way.")
        return
    by_rule = answer.get("by_rule") or {}
    print(
        f"Findings: {answer.get('total', 0):,} open at {line(analysis.get('commit', ''))[:10]}",
        end="",
    )
    print(" (a newer commit is being analyzed)." if analysis.get("behind") else ".")
    for rule, count in sorted(by_rule.items(), key=lambda item: -item[1])[:_SHOWN_RULES]:
        print(f"  {count:>6,}  {line(rule)}")
    if left := analysis.get("files_to_blame"):
        print(f"Owners: {left:,} files are still to be looked at.")
