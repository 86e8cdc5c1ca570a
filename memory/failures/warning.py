"""What an agent is warned of before it uses a tool: open failures that it is about to repeat.

Asked before every edit and every command while the agent waits: one statement, whose text is in
`memory/sql/open_failures.sql` with the conditions of who sees what.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from django.db import connection

from codemem.accounts.values import Action, Caller
from memory.events import Doing, ToolUse
from memory.failures.about import About, about_tool
from memory.models import Session

THRESHOLD: Final = 0.6
MAXIMUM_WARNINGS: Final = 2
QUIET: Final = timedelta(seconds=60)
HALF_LIFE: Final = timedelta(days=30)

# A failure that its own session has just seen is before the agent's eyes.
_JUST_SEEN: Final = timedelta(minutes=10)
_QUIETER: Final = 10
_SQL: Final = Path(__file__).parent.parent / "sql" / "open_failures.sql"
_IN_VAIN: Final = ("failed", "partial")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureWarning:
    """One known failure that a tool use is about to meet; `text` is what an agent is shown."""

    memory_id: UUID
    text: str
    score: float
    reason: str


def warnings_before(
    *, caller: Caller, session: Session, tool: ToolUse, now: datetime
) -> list[FailureWarning]:
    """Return at most two open failures that a tool use is about to repeat; for edits and runs.

    Of the session's repository only. Not within a minute of the last time in this session, ten
    times as long after each; nothing that this session has itself seen fail just now. What was
    shown is an Injection, which the caller writes. One statement.
    """
    if session.repository_id is None or tool.doing not in {Doing.EDIT, Doing.RUN}:
        return []
    about = about_tool(tool, directory=session.directory)
    if about is None or not caller.can(Action.READ_MEMORY, session.namespace_id):
        return []
    found = []
    for row in _open_failures(caller, session, about, now=now):
        base, reason = about.match(row)
        score = base * remaining(row.fading, now=now) * row.confidence
        if score >= THRESHOLD and not _is_known_here(row, session, now=now):
            found.append((score, row, reason))
    found.sort(key=lambda one: (-one[0], -one[1].last_seen_at.timestamp()))
    return [
        FailureWarning(
            memory_id=row.memory_id,
            text=_text(row, now=now),
            score=round(score, 3),
            reason=reason,
        )
        for score, row, reason in found[:MAXIMUM_WARNINGS]
    ]


def remaining(fading: datetime | None, *, now: datetime) -> float:
    """Return what is left of a failure: all of it while the code that it cites is as it was.

    The half-life of 30 days begins when that code changes, or when a check passed that nobody in
    particular can be thanked for.
    """
    if fading is None or fading >= now:
        return 1.0
    return float(2 ** -((now - fading) / HALF_LIFE))


@dataclass(frozen=True, slots=True)
class _Open:
    """One row of `open_failures.sql`, in its order."""

    memory_id: UUID
    signature: str
    command_prefix: str
    command: str
    message: str
    paths: Sequence[str]
    symbols: Sequence[str]
    occurrences: int
    last_seen_at: datetime
    last_session_id: UUID | None
    confidence: float
    fading: datetime | None
    told_times: int
    told_last: datetime | None
    attempts: Sequence[dict[str, Any]]


def _open_failures(caller: Caller, session: Session, about: About, *, now: datetime) -> list[_Open]:
    parameters = {
        "session": session.pk,
        "namespace": session.namespace_id,
        "repository": session.repository_id,
        "branch": session.branch,
        "user": caller.user_id,
        "now": now,
        "quiet": now - QUIET,
        "paths": sorted(about.paths),
        "names": sorted(about.names),
        "prefix": about.command.prefix if about.command else None,
    }
    with connection.cursor() as cursor:
        cursor.execute(_statement(), parameters)
        return [_Open(*(*row[:-1], json.loads(row[-1]))) for row in cursor.fetchall()]


def _is_known_here(row: _Open, session: Session, *, now: datetime) -> bool:
    """Tell whether this session has seen it fail, or was told of it, shortly before."""
    if row.last_session_id == session.pk and row.last_seen_at > now - _JUST_SEEN:
        return True
    if row.told_last is None:
        return False
    quiet = QUIET * float(_QUIETER ** min(row.told_times - 1, 6))
    return row.told_last > now - quiet


def _text(row: _Open, *, now: datetime) -> str:
    """Return one or two lines between marks that nothing in them can imitate."""
    times = f"seen {row.occurrences} times" if row.occurrences > 1 else "seen once"
    what = f"`{row.command}`: {row.message}" if row.command else row.message
    where = f" in {', '.join(row.paths[:2])}" if row.paths else ""
    lines = [f"Open failure, {times}, last {_ago(row.last_seen_at, now=now)}: {what}{where}"]
    tried = [one["summary"] for one in row.attempts if one["outcome"] in _IN_VAIN]
    fixed = [one["summary"] for one in row.attempts if one["outcome"] == "succeeded"]
    if fixed:
        lines.append(f"What fixed it: {fixed[0]}.")
    if tried:
        lines.append(f"Tried in vain: {'; '.join(dict.fromkeys(tried[:2]))}.")
    body = "\n".join(" ".join(re.sub(r"[<>]", "", line).split()) for line in lines[:3])
    return f'<known-failure id="{row.memory_id}">\n{body}\n</known-failure>'


def _ago(at: datetime, *, now: datetime) -> str:
    days = (now - at).days
    if days >= 1:
        return f"{days} day{'s' if days > 1 else ''} ago"
    return "today"


@cache
def _statement() -> str:
    return _SQL.read_text(encoding="utf-8")
