"""`codemem consolidate`: ask for cycles and watch them, list and show runs, undo one."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

from codemem.client.failure import ExitStatus
from codemem.client.place import namespace_of
from codemem.client.terminal import line, print_json, styled
from codemem.client.transport import Unreachable

if TYPE_CHECKING:
    import argparse

    from codemem.client.scope import Scope
    from codemem.client.transport import Server

_RUNS: Final = "/api/consolidation-runs"
_UNDER_WAY: Final = frozenset({"queued", "running"})
_SHOWN_RUNS: Final = 20
_SHOWN_CHANGES: Final = 100
_FIRST_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 3.0
_PATIENCE_WITHOUT_SERVER: Final = 60.0


def run(*, server: Server, scope: Scope, options: argparse.Namespace) -> ExitStatus:
    """Do what is asked; 1 when a cycle failed or something could not be put back."""
    if options.show:
        return _show(server, options.show, as_json=options.json)
    if options.undo:
        return _undo(server, options.undo, as_json=options.json)
    if options.cancel:
        stopped = server.ask("POST", f"{_address(options.cancel)}/cancel")
        _print(stopped, [_told(stopped)], as_json=options.json)
        return ExitStatus.OK
    namespace = namespace_of(server=server, scope=scope)
    if options.runs:
        return _list(server, namespace, as_json=options.json)
    return _consolidate(server, namespace, options)


def _consolidate(server: Server, namespace: str, options: argparse.Namespace) -> ExitStatus:
    wanted: dict[str, object] = {"namespace": namespace, "dry_run": options.dry_run}
    wanted |= {"cycles": options.cycles} if options.cycles else {}
    runs = _rows(server.ask("POST", _RUNS, payload=wanted), "runs")
    if not options.no_wait:
        runs = [_awaited(server, one, shows=not options.json) for one in runs]
    _print({"runs": runs}, [_told(one) for one in runs], as_json=options.json)
    failed = any(one.get("state") in {"failed", "cancelled"} for one in runs)
    return ExitStatus.PROBLEMS_FOUND if failed else ExitStatus.OK


def _awaited(server: Server, run: dict[str, Any], *, shows: bool) -> dict[str, Any]:
    """Return a run when it is over; a server that restarts meanwhile is waited for."""
    pause, away_since, said = _FIRST_PAUSE, None, ""
    while run.get("state") in _UNDER_WAY:
        text = f"{line(run.get('cycle'))}: {line(run.get('state'))} ..."
        if shows and text != said:
            print(text, file=sys.stderr, flush=True)
            said = text
        time.sleep(pause)
        pause = min(_LONGEST_PAUSE, pause * 1.3)
        try:
            run = server.ask("GET", _address(str(run.get("id"))))
            away_since = None
        except Unreachable:
            away_since = away_since or time.monotonic()
            if time.monotonic() - away_since > _PATIENCE_WITHOUT_SERVER:
                raise
    return run


def _list(server: Server, namespace: str, *, as_json: bool) -> ExitStatus:
    query = urlencode({"namespace": namespace, "page_size": _SHOWN_RUNS})
    runs = _rows(server.ask("GET", f"{_RUNS}?{query}"), "results")
    lines = [f"{line(one.get('id'))}  {_told(one)}" for one in runs] or ["There are no runs yet."]
    _print({"runs": runs}, lines, as_json=as_json)
    return ExitStatus.OK


def _show(server: Server, run_id: str, *, as_json: bool) -> ExitStatus:
    shown = server.ask("GET", _address(run_id))
    changes = server.ask("GET", f"{_address(run_id)}/changes?limit={_SHOWN_CHANGES}")
    rows = _rows(changes, "changes")
    lines = [_told(shown), *map(_change, rows)]
    if changes.get("next_after") is not None:
        lines.append(f"... and more than these {len(rows):,} changes")
    _print({"run": shown, **changes}, lines, as_json=as_json)
    return ExitStatus.OK


def _undo(server: Server, run_id: str, *, as_json: bool) -> ExitStatus:
    undone = server.ask("POST", f"{_address(run_id)}/undo")
    report = (undone.get("report") or {}).get("undo") or {}
    kept = report.get("kept") or []
    lines = [f"Undone: {report.get('restored', 0):,} changes put back."]
    lines += [line(report.get("note"))] if kept else []
    _print(undone, lines, as_json=as_json)
    return ExitStatus.PROBLEMS_FOUND if kept else ExitStatus.OK


def _told(run: dict[str, Any]) -> str:
    """Say in one line what a run did, or that it waits."""
    state, cycle = line(run.get("state")), styled(line(run.get("cycle")), "bold")
    rehearsed = " (dry run)" if run.get("dry_run") else ""
    at = line(run.get("started_at"))[:16].replace("T", " ")
    told = f"{cycle}{rehearsed} {state}, {at}"
    parts = [
        f"{part.get('changed', 0):,} changed, {part.get('proposed', 0):,} proposed"
        + (" of your own" if name == "private" else "")
        for name, part in (run.get("report") or {}).items()
        if name in {"shared", "private"} and isinstance(part, dict)
    ]
    told += f": {'; '.join(parts)}" if parts else ""
    return f"{told}. {line(run.get('error'))}" if run.get("error") else told


def _change(change: dict[str, Any]) -> str:
    before, after = change.get("before") or {}, change.get("after") or {}
    fields = [
        f"{line(name)} {_text(before.get(name))} -> {_text(after.get(name))}"
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    ]
    about = ", ".join(line(key) for key in change.get("memory_ids") or [])
    what = f"  {line(change.get('kind'))} {line(change.get('what'))} of {about}"
    return f"{what}: {', '.join(fields)}" if fields else what


def _text(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.3g}" if isinstance(value, float) else line(value)


def _address(run_id: str) -> str:
    return f"{_RUNS}/{quote(run_id, safe='')}"


def _rows(answer: dict[str, Any], name: str) -> list[dict[str, Any]]:
    rows = answer.get(name)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _print(value: dict[str, Any], lines: list[str], *, as_json: bool) -> None:
    if as_json:
        print_json(value)
    else:
        print("\n".join(lines))
