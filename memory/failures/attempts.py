"""What was tried against a failure, and what the check after it says about it.

A check that passes speaks only for failures of commands that it covers. It resolves a failure when
there is one clear candidate; otherwise a person is asked. Failures of one run stand and fall
together. Nothing is resolved by silence.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Final
from uuid import UUID

import structlog
from django.db.models import Q

from codemem.accounts.values import Caller
from memory.commands import Command, read_command
from memory.failures.steps import Step
from memory.models import Failure, FixAttempt, Memory, ReviewItem, Session
from memory.services.review import propose
from memory.services.rights import RightMissing
from memory.services.standing import StateUnfit, resolve

RESOLVING_SCORE: Final = 3.5
RESOLVING_LEAD: Final = 1.25
# What a file in common counts for, the very command that failed, one that covers it, the session
# that saw it fail, and a change between that failing and this passing in it.
FILE: Final = 2.3
SAME_COMMAND: Final = 1.9
WIDER_COMMAND: Final = 1.2
SAME_SESSION: Final = 0.5
CHANGED_SINCE: Final = 1.2

_PLAUSIBLE: Final = 2.0
_MOST_FAILURES: Final = 50
_MOST_PATHS: Final = 12
_LONGEST_COMMAND: Final = 2_000
_PROPOSED_BY: Final = "failures"

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What a check did to the failures that were open."""

    resolved: tuple[UUID, ...] = ()
    proposed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Try:
    """The changes since a failure was seen, and how well the check speaks for it."""

    failure: Failure
    changes: tuple[Step, ...]
    score: float

    @property
    def paths(self) -> list[str]:
        return list(dict.fromkeys(path for step in self.changes for path in step.paths))


def judge(
    *,
    session: Session,
    caller: Caller,
    step: Step,
    before: Sequence[Step],
    seen: Collection[UUID],
    now: datetime,
) -> Judged:
    """Note what a check says of the open failures, in the caller's transaction.

    `seen` are the memories of the failures that it shows itself. Failed, each change since a
    failure is an attempt that failed, or in part when something else fails now. Passed, the clear
    winner is resolved (score of 3.5 or more, 1.25 ahead), the others are asked about.
    """
    assert step.command is not None
    tries = _tries(session, caller, step, before)
    if step.has_failed:
        for one in tries:
            if one.changes and one.failure.last_session_id == session.pk:
                is_same = one.failure.memory_id in seen
                outcome = FixAttempt.Outcome.FAILED if is_same else FixAttempt.Outcome.PARTIAL
                _note(one, session, step, outcome, now=now)
        return Judged()
    return _passed(session, caller, step, tries, now=now)


def _passed(
    session: Session, caller: Caller, step: Step, tries: Sequence[_Try], *, now: datetime
) -> Judged:
    plausible = sorted(
        (one for one in tries if one.score >= _PLAUSIBLE), key=_by_score_and_run, reverse=True
    )
    # Without a change nobody fixed it: it may come and go by itself.
    changed = [one for one in plausible if one.changes]
    for one in plausible:
        if not one.changes:
            _fade(one.failure, now=now)
    runs = [list(group) for _, group in groupby(changed, key=lambda one: one.failure.last_run)]
    winners = _winners(runs)
    resolved: list[UUID] = []
    proposed = 0
    for one in changed:
        if one in winners and _resolve(one, caller, step, now=now):
            _note(one, session, step, FixAttempt.Outcome.SUCCEEDED, now=now)
            resolved.append(one.failure.memory_id)
            continue
        attempt = _note(one, session, step, FixAttempt.Outcome.UNKNOWN, now=now)
        _fade(one.failure, now=now)
        proposed += _propose(one, attempt, step, now=now)
    return Judged(resolved=tuple(resolved), proposed=proposed)


def _tries(session: Session, caller: Caller, step: Step, before: Sequence[Step]) -> list[_Try]:
    """Return the open failures that a check can speak of, with the changes since each."""
    changed = {path for one in before if one.is_mutation for path in one.paths}
    rows = (
        Failure.objects.filter(
            Q(last_session=session) | Q(paths__overlap=sorted(changed)),
            namespace_id=session.namespace_id,
            memory__repository=session.repository,
            memory__state=Memory.State.ACTIVE,
        )
        .filter(~Q(memory__visibility="private") | Q(memory__author_id=caller.user_id))
        .order_by("-last_seen_at")
        .select_for_update(of=("self",))[:_MOST_FAILURES]
    )
    found = []
    for failure in rows:
        failed = read_command(failure.command) if failure.command else None
        if failed is None or step.command is None or not step.command.covers(failed):
            continue
        changes = _changes_since(failure, session, before)
        found.append(
            _Try(
                failure=failure,
                changes=changes,
                score=_score(failure, failed, changes, session=session, passing=step.command),
            )
        )
    return found


def _changes_since(failure: Failure, session: Session, before: Sequence[Step]) -> tuple[Step, ...]:
    since = failure.last_run or 0
    is_here = failure.last_session_id == session.pk
    # Seen by another session: whatever this one changed since its last check that says the same.
    return tuple(one for one in before if one.is_mutation and (not is_here or one.id > since))


def _score(
    failure: Failure,
    failed: Command,
    changes: Sequence[Step],
    *,
    session: Session,
    passing: Command,
) -> float:
    is_same = passing.text == failed.text or passing.targets == failed.targets
    score = SAME_COMMAND if is_same else WIDER_COMMAND
    touched = {path for one in changes for path in one.paths}
    if touched & set(failure.paths):
        score += FILE
    if failure.last_session_id == session.pk:
        score += SAME_SESSION
        if changes and is_same:
            score += CHANGED_SINCE
    return score


def _winners(runs: Sequence[Sequence[_Try]]) -> list[_Try]:
    """Return the failures of the one run that clearly was fixed; none when two compete."""
    scored = sorted(
        ((max(one.score for one in run), run) for run in runs), key=_first, reverse=True
    )
    if not scored or scored[0][0] < RESOLVING_SCORE:
        return []
    if len(scored) > 1 and scored[0][0] - scored[1][0] < RESOLVING_LEAD:
        return []
    return list(scored[0][1])


def _resolve(one: _Try, caller: Caller, step: Step, *, now: datetime) -> bool:
    confidence = min(0.95, 0.82 + one.score / 20)
    try:
        resolve(
            caller=caller,
            memory_id=one.failure.memory_id,
            now=now,
            reason=f"`{_text(step)}` passed after {_summary(one.changes)} (sure to"
            f" {confidence:.2f}).",
        )
    except (RightMissing, StateUnfit) as error:
        log.info("failure_not_resolved", memory=str(one.failure.memory_id), reason=str(error))
        return False
    return True


def _note(
    one: _Try, session: Session, step: Step, outcome: FixAttempt.Outcome, *, now: datetime
) -> FixAttempt:
    return FixAttempt.objects.create(
        failure=one.failure,
        namespace_id=session.namespace_id,
        session=session,
        summary=_summary(one.changes),
        paths=one.paths[:_MOST_PATHS],
        validation=_text(step)[:_LONGEST_COMMAND],
        outcome=outcome,
        score=one.score,
        started_at=one.changes[0].happened_at,
        validated_at=now,
    )


def _propose(one: _Try, attempt: FixAttempt, step: Step, *, now: datetime) -> int:
    item = propose(
        namespace_id=one.failure.namespace_id,
        kind=ReviewItem.Kind.RESOLVE,
        memory_ids=[one.failure.memory_id],
        proposal={"operation": "resolve", "arguments": {"attempt": str(attempt.pk)}},
        reason=f"`{_text(step)}` passed after {_summary(one.changes)}; whether that fixed it is"
        " not clear.",
        confidence=min(0.8, one.score / 5),
        proposed_by=_PROPOSED_BY,
        now=now,
    )
    return int(item is not None)


def _fade(failure: Failure, *, now: datetime) -> None:
    if failure.fades_from is None:
        Failure.objects.filter(pk=failure.pk, fades_from=None).update(fades_from=now)


def _summary(changes: Sequence[Step]) -> str:
    """Say what was changed, by files, names and commands; never by what stood in them."""
    edited: dict[str, list[str]] = {}
    for step in changes:
        for path in step.paths if step.is_edit else ():
            names = edited.setdefault(path, [])
            names += [name for name in _DEFINED.findall(step.content) if name not in names]
    parts = [
        f"changing {path}" + (f" ({', '.join(names[:3])})" if names else "")
        for path, names in list(edited.items())[:4]
    ]
    commands = [step.command.text for step in changes if step.command and not step.is_edit]
    parts += [f"running `{text}`" for text in list(dict.fromkeys(commands))[-2:]]
    return " and ".join(parts) or "a change"


def _text(step: Step) -> str:
    return step.command.text if step.command else step.tool


def _by_score_and_run(one: _Try) -> tuple[int, float]:
    return (one.failure.last_run or 0, one.score)


def _first(pair: tuple[float, Sequence[_Try]]) -> float:
    return pair[0]


_DEFINED = re.compile(
    r"\b(?:def|class|function|func|fn|interface|struct|enum|trait|const|let)\s+(?:\([^)]*\)\s*)?"
    r"([A-Za-z_]\w{2,60})"
)
