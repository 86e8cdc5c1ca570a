"""What is known to have failed at a file, a command, a symbol or an error: warnings and answers.

Both go through `_known`: permission, repository, branch and state are conditions of the statement,
so that what a caller may not see is never even a candidate.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db.models import (
    Aggregate,
    Count,
    DateTimeField,
    Max,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
)
from django.db.models.functions import Coalesce

from codemem.accounts.values import Action, Caller
from codemem.words import code_tokens, identifiers
from memory.entities import error_signatures, signature
from memory.events import Doing, ToolUse
from memory.failures import diagnostics
from memory.failures.commands import Command, CommandKind, read_command, score_prefixes
from memory.models import Anchor, Failure, FixAttempt, Injection, Memory, Session
from memory.observed import relative_path

THRESHOLD: Final = 0.6
MAXIMUM_WARNINGS: Final = 2
MAXIMUM_ANSWERS: Final = 5
QUIET: Final = timedelta(seconds=60)
HALF_LIFE: Final = timedelta(days=30)
EXACT: Final = 1.0
NEAR: Final = 0.7  # a symbol, two command words
FAR: Final = 0.3  # one command word

# A failure that its own session has just seen is before the agent's eyes.
_JUST_SEEN: Final = timedelta(minutes=10)
_QUIETER: Final = 10
_CANDIDATES: Final = 30
_SEARCHED: Final = 300
_ALIKE: Final = 0.5
_MOST_NAMES: Final = 60
_SHORTEST_NAME: Final = 5
_LONGEST_READ: Final = 4_000
_COLUMNS = (
    *("namespace_id", "signature", "command_prefix", "command", "message", "paths", "symbols"),
    *("occurrences", "last_seen_at", "last_session_id", "fades_from"),
    *("memory__state", "memory__confidence"),
)
_DRIFTED = (Anchor.State.DRIFTED, Anchor.State.MISSING)
_TRIED = (FixAttempt.Outcome.FAILED, FixAttempt.Outcome.PARTIAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureWarning:
    """One known failure that a tool use is about to meet; `text` is what an agent is shown."""

    memory_id: UUID
    text: str
    score: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What was tried, and what became of it."""

    summary: str
    outcome: str
    validation: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFailure:
    """A failure as it is answered, with why it was found."""

    memory_id: UUID
    namespace_id: UUID
    what: str
    command: str
    paths: tuple[str, ...]
    symbols: tuple[str, ...]
    state: str
    occurrences: int
    last_seen_at: datetime
    score: float
    reason: str
    attempts: tuple[Attempt, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorFailures:
    """The answer: `clear`, `caution` (it failed once, or may be over), `stop` (it fails still)."""

    verdict: str
    failures: tuple[KnownFailure, ...]


# --- Warnings -------------------------------------------------------------------------------------
def warnings_before(
    *, caller: Caller, session: Session, tool: ToolUse, now: datetime
) -> list[FailureWarning]:
    """Return at most two open failures that a tool use is about to repeat; for edits and runs.

    Of the session's repository only. Not within a minute of the last time in this session, ten
    times as long after each; nothing that this session has itself seen fail just now. What was
    shown is an Injection, which the caller writes. Two statements, one where nothing is known.
    """
    if session.repository_id is None or tool.doing not in {Doing.EDIT, Doing.RUN}:
        return []
    about = _about_tool(tool, session)
    if about is None:
        return []
    rows = (
        _known(caller, namespace_ids=[session.namespace_id], repository_id=session.repository_id)
        .filter(about.condition, memory__state=Memory.State.ACTIVE)
        .filter(_on_branch(session.branch))
        .annotate(shown_times=_shown(session, Count("pk")))
        .annotate(shown_last=_shown(session, Max("shown_at")))
        .order_by("-last_seen_at")[:_CANDIDATES]
    )
    found = []
    for row in rows:
        base, reason = about.match(row)
        score = base * _remaining(row, now=now) * row.memory.confidence
        if score >= THRESHOLD and not _is_known_here(row, session, now=now):
            found.append((score, row, reason))
    found.sort(key=lambda one: (-one[0], -one[1].last_seen_at.timestamp()))
    best = found[:MAXIMUM_WARNINGS]
    attempts = _attempts([row.pk for _, row, _ in best])
    return [
        FailureWarning(
            memory_id=row.memory_id,
            text=_warning(row, attempts.get(row.pk, ()), now=now),
            score=round(score, 3),
            reason=reason,
        )
        for score, row, reason in best
    ]


def _is_known_here(row: Failure, session: Session, *, now: datetime) -> bool:
    """Tell whether this session has seen it fail, or was told of it, shortly before."""
    if row.last_session_id == session.pk and row.last_seen_at > now - _JUST_SEEN:
        return True
    times: int = getattr(row, "shown_times", 0) or 0
    last: datetime | None = getattr(row, "shown_last", None)
    return last is not None and last > now - QUIET * _QUIETER ** (times - 1)


def _shown(session: Session, figure: Aggregate) -> Subquery:
    shown = Injection.objects.filter(session=session, memory=OuterRef("memory_id")).order_by()
    return Subquery(shown.values("memory").annotate(figure=figure).values("figure"))


def _warning(row: Failure, attempts: Sequence[Attempt], *, now: datetime) -> str:
    """Return one or two lines between marks that nothing in them can imitate."""
    times = f"seen {row.occurrences} times" if row.occurrences > 1 else "seen once"
    what = f"`{row.command}`: {row.message}" if row.command else row.message
    where = f" in {', '.join(row.paths[:2])}" if row.paths else ""
    lines = [f"Open failure, {times}, last {_ago(row.last_seen_at, now=now)}: {what}{where}"]
    tried = [one.summary for one in attempts if one.outcome in _TRIED]
    fixed = [one.summary for one in attempts if one.outcome == FixAttempt.Outcome.SUCCEEDED]
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


# --- Answers --------------------------------------------------------------------------------------
def prior_failures(
    *,
    caller: Caller,
    namespace_ids: Collection[UUID],
    repository_id: UUID | None,
    now: datetime,
    branch: str = "",
    path: str = "",
    command: str = "",
    symbol: str = "",
    error: str = "",
    limit: int = 3,
) -> PriorFailures:
    """Return what failed before at this file, command, symbol or error, the likeliest first.

    Open ones before those that were fixed, which say what fixed them. Two statements.
    """
    about = _about(path=path, command=command, symbol=symbol, error=error)
    rows = _known(caller, namespace_ids=namespace_ids, repository_id=repository_id).filter(
        _on_branch(branch),
        memory__state__in=[Memory.State.ACTIVE, Memory.State.RESOLVED],
    )
    exact = list(rows.filter(about.condition).order_by("-last_seen_at")[:_SEARCHED])
    others = list(rows.order_by("-last_seen_at")[:_SEARCHED]) if about.is_fuzzy else []
    found = []
    for row in {one.pk: one for one in (*exact, *others)}.values():
        base, reason = about.match(row)
        if base >= FAR:
            found.append((base * _remaining(row, now=now), row, reason))
    is_open = {
        pk: row.memory.state == Memory.State.ACTIVE for _, row, _ in found for pk in [row.pk]
    }
    found.sort(
        key=lambda one: (-one[0] - 0.05 * is_open[one[1].pk], -one[1].last_seen_at.timestamp())
    )
    best = found[: min(limit, MAXIMUM_ANSWERS)]
    attempts = _attempts([row.pk for _, row, _ in best])
    answers = tuple(
        _answer(row, score, reason, attempts.get(row.pk, ())) for score, row, reason in best
    )
    return PriorFailures(verdict=_verdict(answers), failures=answers)


def _answer(row: Failure, score: float, reason: str, attempts: Sequence[Attempt]) -> KnownFailure:
    return KnownFailure(
        memory_id=row.memory_id,
        namespace_id=row.namespace_id,
        what=row.message,
        command=row.command,
        paths=tuple(row.paths),
        symbols=tuple(row.symbols),
        state="open" if row.memory.state == Memory.State.ACTIVE else "fixed",
        occurrences=row.occurrences,
        last_seen_at=row.last_seen_at,
        score=round(score, 3),
        reason=reason,
        attempts=tuple(attempts),
    )


def _verdict(answers: Sequence[KnownFailure]) -> str:
    open_ones = [one for one in answers if one.state == "open" and one.score >= THRESHOLD]
    is_stubborn = any(
        one.occurrences > 1 or any(tried.outcome in _TRIED for tried in one.attempts)
        for one in open_ones
    )
    if is_stubborn:
        return "stop"
    return "caution" if answers else "clear"


def _attempts(keys: Collection[UUID]) -> dict[UUID, tuple[Attempt, ...]]:
    """Return the attempts of some failures, the newest first: five at most for each."""
    found: dict[UUID, list[Attempt]] = {}
    rows = FixAttempt.objects.filter(failure__in=keys) if keys else FixAttempt.objects.none()
    for row in rows.order_by("-started_at")[: 10 * len(keys)]:
        mine = found.setdefault(row.failure_id, [])
        if len(mine) < MAXIMUM_ANSWERS:
            mine.append(
                Attempt(
                    summary=row.summary,
                    outcome=row.outcome,
                    validation=row.validation,
                    at=row.validated_at or row.started_at,
                )
            )
    return {key: tuple(values) for key, values in found.items()}


# --- What is asked about --------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class _About:
    """What a question or a tool use touches: which rows may match, and how well one does."""

    condition: Q
    paths: frozenset[str] = frozenset()
    command: Command | None = None
    names: frozenset[str] = frozenset()
    signatures: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    file_name: str = ""
    is_fuzzy: bool = False

    def match(self, row: Failure) -> tuple[float, str]:
        """Return how well a failure matches, and why in a few words."""
        found: list[tuple[float, str]] = [(0.0, "")]
        if shared := self.paths & set(row.paths):
            found.append((EXACT, f"it failed at {min(shared)}"))
        if self.signatures & {row.signature}:
            found.append((EXACT, "it is the same error"))
        elif self.words and (alike := _likeness(self.words, row)) >= _ALIKE:
            found.append((NEAR * min(1.0, alike + 0.3), "the error reads like it"))
        if named := self.names & set(row.symbols):
            found.append((NEAR, f"it names {min(named)}"))
        if self.file_name and any(
            f"{path}".endswith(f"/{one}") for path in self.paths for one in row.paths
        ):
            found.append((EXACT, f"it failed at {row.paths[0]}"))
        elif self.file_name and any(path.endswith(f"/{self.file_name}") for path in row.paths):
            found.append((NEAR, f"it failed at a file named {self.file_name}"))
        if self.command is not None:
            score = score_prefixes(self.command.prefix, row.command_prefix)
            found.append((score, f"`{row.command_prefix}` failed"))
        return max(found, key=lambda one: one[0])


def _about_tool(tool: ToolUse, session: Session) -> _About | None:
    """Return what a tool use touches; None for a look, which repeats nothing."""
    if tool.doing is Doing.RUN:
        command = read_command(tool.command) if tool.command else None
        if command is None or command.kind is CommandKind.LOOK:
            return None
        targets = [target.partition("::")[0] for target in command.targets]
        return _conditioned(paths=_inside(targets, session.directory), command=command)
    paths = _inside(tool.paths, session.directory)
    text = "\n".join(_texts(tool.arguments))[:_LONGEST_READ]
    return _conditioned(paths=paths, names=_names(identifiers(text)))


def _inside(paths: Iterable[str], directory: str) -> list[str]:
    found = (relative_path(path, root=directory, working=directory) for path in paths)
    return [path for path in found if path]


def _about(*, path: str, command: str, symbol: str, error: str) -> _About:
    read = read_command(command) if command else None
    plain = path.replace("\\", "/").removeprefix("./")
    signatures = [*error_signatures(error), signature(error)] if error else []
    names = [symbol, re.split(r"[.#:/]", symbol)[-1]] if symbol else []
    targets = [target.partition("::")[0] for target in read.targets] if read else []
    return _conditioned(
        paths=[*([plain] if plain else []), *_inside(targets, "")],
        command=read,
        names=names,
        signatures=[key for key in signatures if key],
        words=_words(error),
        file_name=plain.rpartition("/")[2],
    )


def _conditioned(
    *,
    paths: Iterable[str] = (),
    command: Command | None = None,
    names: Iterable[str] = (),
    signatures: Iterable[str] = (),
    words: Iterable[str] = (),
    file_name: str = "",
) -> _About:
    condition = Q(pk__in=[])
    if given := [path for path in paths if path]:
        condition |= Q(paths__overlap=given)
    if known := sorted(set(names))[:_MOST_NAMES]:
        condition |= Q(symbols__overlap=known)
    if keys := list(signatures):
        condition |= Q(signature__in=keys)
    if command is not None and command.prefix:
        condition |= Q(command_prefix=command.prefix)
    return _About(
        condition=condition,
        paths=frozenset(given),
        command=command,
        names=frozenset(known),
        signatures=frozenset(keys),
        words=frozenset(words),
        file_name=file_name,
        is_fuzzy=bool(words or file_name or command),
    )


def _names(found: Iterable[str]) -> list[str]:
    """Return the names of an edit that are particular enough to tell of a failure."""
    return [
        name for name in found if len(name) >= _SHORTEST_NAME and not diagnostics.is_common(name)
    ]


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)


def _words(text: str) -> frozenset[str]:
    return frozenset(code_tokens(text[:2_000]))


def _likeness(words: frozenset[str], row: Failure) -> float:
    """Return the share of a failure's words that an error has, or the other way round."""
    mine = _words(row.message)
    return len(words & mine) / max(min(len(words), len(mine)), 4)


# --- Rows -----------------------------------------------------------------------------------------
def _known(
    caller: Caller, *, namespace_ids: Collection[UUID], repository_id: UUID | None
) -> QuerySet[Failure]:
    """Return the failures that the caller may see, with since when their code is another."""
    allowed = [
        key for key in caller.namespaces_for(Action.READ_MEMORY) if key in set(namespace_ids)
    ]
    drifted = (
        Anchor.objects.filter(memory=OuterRef("memory_id"), state__in=_DRIFTED)
        .order_by()
        .values("memory")
        .annotate(since=Min("checked_at"))
    )
    rows = Failure.objects.filter(
        ~Q(memory__visibility=Memory.Visibility.PRIVATE) | Q(memory__author_id=caller.user_id),
        namespace_id__in=allowed,
    )
    if repository_id is not None:
        rows = rows.filter(memory__repository_id=repository_id)
    return (
        rows.select_related("memory")
        .only(*_COLUMNS)
        .annotate(drifted_at=Subquery(drifted.values("since")))
        .annotate(fading=Coalesce("fades_from", "drifted_at", output_field=DateTimeField()))
    )


def _on_branch(branch: str) -> Q:
    """Return the condition that a failure holds on a branch: it names this branch or none."""
    return Q(memory__branch__in={"", branch})


def _remaining(row: Failure, *, now: datetime) -> float:
    """Return what is left of a failure: all of it while the code that it cites is as it was.

    The half-life of 30 days begins when that code changes, or when a check passed that nobody in
    particular can be thanked for.
    """
    fading: datetime | None = getattr(row, "fading", None)
    if fading is None or fading >= now:
        return 1.0
    return float(2 ** -((now - fading) / HALF_LIFE))
