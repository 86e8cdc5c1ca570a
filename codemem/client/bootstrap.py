"""`codemem bootstrap`: what the repository says of itself, as memories; shown, then stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from codemem.client.failure import ExitStatus
from codemem.client.progress import Progress
from codemem.client.terminal import line, note, print_json, styled
from codemem.client.transport import Refused, Unreachable

if TYPE_CHECKING:
    import argparse

    from codemem.client.transport import Server

_ADDRESS: Final = "/api/v1/bootstrap"
_AT_ONCE: Final = 20
_WIDTH: Final = 100
_MADE: Final = frozenset({"created", "superseded", "conflict"})
_SOURCES: Final = {
    "instructions": "Instruction files",
    "decision": "Decision records",
    "guide": "Guides for contributors",
    "readme": "README",
    "history": "History",
}


def run(*, server: Server, options: argparse.Namespace) -> ExitStatus:
    """Show what would be stored; store it with --yes. 1 when something could not be stored."""
    wanted = {"limit": options.limit} | ({"with_model": True} if options.with_model else {})
    shown = server.ask("POST", _ADDRESS, payload=wanted)
    rows = [row for row in shown.get("seeds", []) if isinstance(row, dict)]
    fresh = [row for row in rows if row.get("standing") != "known"]
    stored: list[dict[str, Any]] = []
    if options.yes:
        stored = _store(server, shown, fresh, limit=options.limit)
    if options.json:
        print_json({**shown, "stored": stored})
    else:
        _tell(shown, rows, fresh, stored, is_done=options.yes)
        if reader := shown.get("is_read_by"):
            print(
                f"{line(reader)} reads the documents now; what it finds and can quote is proposed:"
                " ask your agent for list_proposals, or look into the admin."
            )
    refused = any(row.get("action") == "rejected" for row in stored)
    return ExitStatus.PROBLEMS_FOUND if refused else ExitStatus.OK


def _store(
    server: Server, shown: dict[str, Any], fresh: list[dict[str, Any]], *, limit: int
) -> list[dict[str, Any]]:
    """Store some at a time, all at the commit that was shown."""
    stored: list[dict[str, Any]] = []
    progress = Progress("storing")
    try:
        for start in range(0, len(fresh), _AT_ONCE):
            keys = [row["key"] for row in fresh[start : start + _AT_ONCE]]
            payload = {"commit": shown["commit"], "keys": keys, "limit": limit}
            stored += server.ask("POST", _ADDRESS, payload=payload)["stored"]
            progress.show(len(stored), len(fresh), unit="memories")
    except (Refused, Unreachable):
        progress.end()
        if stored:
            note(f"{len(stored):,} memories are stored; the same command goes on from there.")
        raise
    finally:
        progress.end()
    return stored


def _tell(
    shown: dict[str, Any],
    rows: list[dict[str, Any]],
    fresh: list[dict[str, Any]],
    stored: list[dict[str, Any]],
    *,
    is_done: bool,
) -> None:
    print(
        f"Read at {line(shown.get('commit'))[:12]}: {shown.get('documents', 0):,} documents,"
        f" {shown.get('commits', 0):,} commits."
    )
    if not is_done:
        for source, title in _SOURCES.items():
            of_it = [row for row in fresh if row.get("source") == source]
            if of_it:
                print(f"\n{styled(title, 'bold')}")
            for row in of_it:
                print(f"  {_line(row)}")
        print()
    known = len(rows) - len(fresh)
    parts = [f"{known:,} known already"] if known else []
    parts += [f"{shown['left_out']:,} less telling ones left out"] if shown.get("left_out") else []
    tail = f" ({', '.join(parts)})" if parts else ""
    if is_done:
        _tell_stored(stored, tail)
    elif fresh:
        print(f"{len(fresh):,} memories would be stored{tail}. Store them: codemem bootstrap --yes")
    else:
        print(f"Nothing new to store{tail}.")


def _tell_stored(stored: list[dict[str, Any]], tail: str) -> None:
    refused = [row for row in stored if row.get("action") == "rejected"]
    made = sum(row.get("action") in _MADE for row in stored)
    queued = sum(row.get("action") == "queued" for row in stored)
    waiting = f", {queued:,} wait for approval" if queued else ""
    print(f"{made:,} memories stored{waiting}{tail}.")
    for row in refused:
        print(f"  {line(row.get('key'))}: {line(row.get('reason'))}")


def _line(row: dict[str, Any]) -> str:
    text = " ".join(str(row.get("content", "")).split())
    text = text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."
    where = row.get("path") or str(row.get("commit") or "")[:12]
    lines = f":{row['first_line']}" if row.get("first_line") else ""
    marks = " (changed)" if row.get("standing") == "changed" else ""
    marks += " (would wait for approval)" if row.get("waits") else ""
    kind = f"{line(row.get('memory_type')):<12}"
    return f"{kind} {line(text)}{marks}  {styled(f'{line(where)}{lines}', 'dim')}"
