"""What failed before at a file, a command, a symbol or an error, for whoever asks.

Permission, repository, branch and state are conditions of the statement: what a caller may not see
is never even a candidate.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import DateTimeField, Min, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from codemem.accounts.values import Action, Caller
from memory.failures.about import FAR, About, about_question
from memory.failures.warning import THRESHOLD, remaining
from memory.models import Anchor, Failure, FixAttempt, Memory

MAXIMUM_ANSWERS: Final = 5

_SEARCHED: Final = 300
_OPEN_FIRST: Final = 0.05
_COLUMNS = (
    *("namespace_id", "signature", "command_prefix", "command", "message", "paths", "symbols"),
    *("occurrences", "last_seen_at", "fades_from", "memory__state"),
)
_DRIFTED = (Anchor.State.DRIFTED, Anchor.State.MISSING)
_OPEN_OR_FIXED = (Memory.State.ACTIVE, Memory.State.RESOLVED)
_TRIED = (FixAttempt.Outcome.FAILED, FixAttempt.Outcome.PARTIAL)


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
    about = about_question(path=path, command=command, symbol=symbol, error=error)
    rows = _known(caller, namespace_ids=namespace_ids, repository_id=repository_id).filter(
        _on_branch(branch),
        memory__state__in=[Memory.State.ACTIVE, Memory.State.RESOLVED],
    )
    exact = list(rows.filter(_touched_by(about)).order_by("-last_seen_at")[:_SEARCHED])
    others = list(rows.order_by("-last_seen_at")[:_SEARCHED]) if about.is_fuzzy else []
    found = []
    for row in {one.pk: one for one in (*exact, *others)}.values():
        base, reason = about.match(row)
        if base >= FAR:
            found.append((base * remaining(_fading(row), now=now), row, reason))
    found.sort(key=_order)
    best = found[: min(limit, MAXIMUM_ANSWERS)]
    attempts = _attempts([row.pk for _, row, _ in best])
    answers = tuple(
        _answer(row, score, reason, attempts.get(row.pk, ())) for score, row, reason in best
    )
    return PriorFailures(verdict=_verdict(answers), failures=answers)


def list_failures(
    *,
    caller: Caller,
    namespace_id: UUID,
    repository_id: UUID | None = None,
    is_open: bool | None = None,
    limit: int = 50,
) -> list[KnownFailure]:
    """Return the failures that the caller may see, seen last first, with what was tried.

    `is_open` None: fixed ones, too. Two statements.
    """
    rows = _known(caller, namespace_ids=[namespace_id], repository_id=repository_id)
    wanted = {None: _OPEN_OR_FIXED, True: _OPEN_OR_FIXED[:1], False: _OPEN_OR_FIXED[1:]}[is_open]
    return _listed(rows.filter(memory__state__in=wanted), limit=limit)


def failures_seen_in(*, caller: Caller, session_id: UUID, limit: int = 50) -> list[KnownFailure]:
    """Return the failures that were seen last, or worked on, in a session. Two statements."""
    tried = FixAttempt.objects.filter(session_id=session_id).values("failure_id")
    rows = _known(
        caller,
        namespace_ids=caller.namespaces_for(Action.READ_MEMORY),
        repository_id=None,
    ).filter(Q(last_session_id=session_id) | Q(pk__in=tried), memory__state__in=_OPEN_OR_FIXED)
    return _listed(rows, limit=limit)


def _listed(rows: QuerySet[Failure], *, limit: int) -> list[KnownFailure]:
    shown = list(rows.order_by("-last_seen_at", "-pk")[:limit])
    attempts = _attempts([row.pk for row in shown])
    return [_answer(row, 1.0, "", attempts.get(row.pk, ())) for row in shown]


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


def _touched_by(about: About) -> Q:
    condition = Q(paths__overlap=sorted(about.paths)) | Q(symbols__overlap=sorted(about.names))
    condition |= Q(signature__in=sorted(about.signatures))
    if about.command is not None and about.command.prefix:
        condition |= Q(command_prefix=about.command.prefix)
    return condition


def _order(found: tuple[float, Failure, str]) -> tuple[float, float]:
    score, row, _ = found
    is_open = row.memory.state == Memory.State.ACTIVE
    return (-score - _OPEN_FIRST * is_open, -row.last_seen_at.timestamp())


def _fading(row: Failure) -> datetime | None:
    fading: datetime | None = getattr(row, "fading", None)
    return fading
