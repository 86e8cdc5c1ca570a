"""What sessions teach about failures: what failed, what was tried, and what made it pass.

One captured step after the other, each in one transaction with the cursor that says how far a
session was read: a worker that dies in the middle is followed by another that goes on there. The
memory itself is stored before that transaction, under a lock of its signature; stored without its
failure row, it is found by its words the next time.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import structlog
from django.db import connection, transaction
from django.db.models import Q

from codemem import policies
from codemem.accounts import services as accounts
from codemem.accounts.values import Action, Caller
from codemem.embedding import Provider
from memory import queries
from memory.anchors import AnchorInvalid, Citation, citation
from memory.commands import read_command
from memory.failures import attempts, diagnostics
from memory.failures.steps import Sighting, Step, sightings_of, steps_of
from memory.models import Failure, FixAttempt, Memory, ReviewItem, Session
from memory.services.anchoring import drafted as drafted_anchors
from memory.services.retirement import MemoryTaken
from memory.services.rights import RightMissing
from memory.services.standing import StateUnfit, reopen
from memory.services.storing import store_memory
from memory.values import MemoryType, Visibility

SOURCE: Final = "hook"
IMPORTANCE: Final = 0.6

_LOCK_NUMBER: Final = 31
_MOST_PATHS: Final = 12
_MOST_SYMBOLS: Final = 20
_ANCHORED_PATHS: Final = 3
# A failure that somebody retired or replaced stays so, however often it comes again.
_KNOWN_STATES = (Memory.State.ACTIVE, Memory.State.RESOLVED)
_SETTLED_STATES = (Memory.State.RETIRED, Memory.State.SUPERSEDED, Memory.State.EXPIRED)


log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What reading on in a session brought."""

    steps: int = 0
    new: tuple[UUID, ...] = ()
    again: tuple[UUID, ...] = ()
    resolved: tuple[UUID, ...] = ()
    proposed: int = 0


def is_lesson(*, is_failure: bool, command: str) -> bool:
    """Tell whether a tool's use is worth reading a session on for: it failed, or checked work."""
    read = read_command(command) if command else None
    return is_failure or (read is not None and read.is_validation)


def learn(*, session_id: UUID, now: datetime, provider: Provider | None = None) -> Learned:
    """Read on in a session: remember what failed, note attempts, resolve what a check proves.

    Of a session whose contents are not captured nothing is learned. What becomes the team's
    knowledge is the command, the error without values and the files: never a prompt, never an
    answer (`failures.shared` off: it stays the user's own). Safe to run twice and at once.
    """
    session = Session.objects.select_related("user", "repository").filter(pk=session_id).first()
    if session is None or session.repository_id is None or session.capture != Session.Capture.FULL:
        return Learned()
    caller = accounts.caller_of_user(user=session.user)
    if not session.user.is_active or not caller.can(Action.WRITE_MEMORY, session.namespace_id):
        return Learned()
    reading = _Reading(session=session, caller=caller, now=now, provider=provider)
    while (steps := steps_of(session))[0]:
        new, before = steps
        for step in new:
            reading.read(step, before)
            before.append(step)
        session.learned_up_to = new[-1].id
    return reading.learned


@dataclass(kw_only=True)  # no slots: mutable state of one call
class _Reading:
    """One call of learn: who, when, and what it has found so far."""

    session: Session
    caller: Caller
    now: datetime
    provider: Provider | None
    learned: Learned = Learned()

    def read(self, step: Step, before: Sequence[Step]) -> None:
        sightings = sightings_of(step, before) if step.teaches else []
        with ExitStack() as locks:
            for key in sorted({sighting.signature for sighting in sightings}):
                locks.enter_context(_alone(self.session, key))
            memories = [self._memory_of(sighting) for sighting in sightings]
            with transaction.atomic():
                so_far = self.learned
                self._learn(step, before, sightings, memories)
                # Last, so that hooks that write to the session do not wait for all of it.
                if not self._take(step):
                    self.learned = so_far
                    transaction.set_rollback(True)

    def _take(self, step: Step) -> bool:
        """Move the cursor to a step; False when another worker was there before."""
        rows = Session.objects.filter(pk=self.session.pk, learned_up_to__lt=step.id)
        return bool(rows.update(learned_up_to=step.id))

    def _learn(
        self,
        step: Step,
        before: Sequence[Step],
        sightings: Sequence[Sighting],
        memories: Sequence["UUID | None"],
    ) -> None:
        seen = {key for key in memories if key is not None}
        if step.is_validation:
            judged = attempts.judge(
                session=self.session,
                caller=self.caller,
                step=step,
                before=before,
                seen=seen,
                now=self.now,
            )
            self._add(resolved=judged.resolved, proposed=judged.proposed)
        for sighting, memory_id in zip(sightings, memories, strict=True):
            if memory_id is not None:
                self._saw(sighting, memory_id, step)
        self._add(steps=1)

    def _memory_of(self, sighting: Sighting) -> UUID | None:
        """Return the memory of a failure, stored now if it is new; None where none shall be."""
        known = find_failure(session=self.session, caller=self.caller, sighting=sighting)
        if known is not None:
            is_settled = known.memory.state in _SETTLED_STATES
            return None if is_settled else known.memory_id
        outcome = store_memory(
            caller=self.caller,
            namespace_id=self.session.namespace_id,
            repository_id=self.session.repository_id,
            content=_content(sighting),
            memory_type=MemoryType.FAILURE,
            visibility=self._visibility(),
            citations=_citations(sighting, self.session),
            tags=["failure", *([sighting.error_class] if sighting.error_class != "other" else [])],
            importance=IMPORTANCE,
            auto_link=True,
            # Failures are told apart by their signatures: two that read alike are two.
            is_distinct=True,
            agent=self.session.agent,
            model=self.session.model,
            session_id=self.session.client_session_id,
            source=SOURCE,
            provider=self.provider,
            now=self.now,
        )
        if outcome.memory.state not in _KNOWN_STATES:
            return None  # its text gives orders: a person decides first
        return outcome.memory.id

    def _visibility(self) -> Visibility:
        is_shared = policies.value(self.session.namespace_id, "failures.shared")
        return Visibility.REPOSITORY if is_shared else Visibility.PRIVATE

    def _saw(self, sighting: Sighting, memory_id: UUID, step: Step) -> None:
        failure, is_new = Failure.objects.select_for_update().get_or_create(
            memory_id=memory_id, defaults=_fields(sighting, self.session, step)
        )
        if is_new:
            self._add(new=(memory_id,))
            return
        failure.occurrences += 1
        failure.last_seen_at = max(step.happened_at, failure.last_seen_at)
        failure.paths = _united(failure.paths, sighting.paths, most=_MOST_PATHS)
        failure.symbols = _united(failure.symbols, sighting.symbols, most=_MOST_SYMBOLS)
        failure.last_session, failure.last_run = self.session, step.id
        failure.fades_from = None
        if self._reopened(failure):
            failure.reopened += 1
        failure.save()
        close_proposals(failure.memory_id, now=self.now)
        self._add(again=(memory_id,))

    def _reopened(self, failure: Failure) -> bool:
        """Open a resolved failure again; what had resolved it was a part of the fix at most."""
        if failure.memory.state != Memory.State.RESOLVED:
            return False
        try:
            reopen(
                caller=self.caller,
                memory_id=failure.memory_id,
                now=self.now,
                reason="It failed again in the same way.",
            )
        except (MemoryTaken, RightMissing, StateUnfit) as error:
            log.info("failure_not_reopened", memory=str(failure.memory_id), reason=str(error))
            return False
        failure.attempts.filter(outcome=FixAttempt.Outcome.SUCCEEDED).update(
            outcome=FixAttempt.Outcome.PARTIAL
        )
        return True

    def _add(
        self,
        *,
        steps: int = 0,
        new: tuple[UUID, ...] = (),
        again: tuple[UUID, ...] = (),
        resolved: tuple[UUID, ...] = (),
        proposed: int = 0,
    ) -> None:
        so_far = self.learned
        self.learned = Learned(
            steps=so_far.steps + steps,
            new=so_far.new + new,
            again=so_far.again + again,
            resolved=so_far.resolved + resolved,
            proposed=so_far.proposed + proposed,
        )


def find_failure(*, session: Session, caller: Caller, sighting: Sighting) -> Failure | None:
    """Return the failure that this is another sighting of: the same error in the same place.

    Of one repository, and none that somebody else keeps to themselves. Open ones go first.
    """
    rows = (
        Failure.objects.filter(
            namespace_id=session.namespace_id,
            signature=sighting.signature,
            memory__repository=session.repository,
        )
        .select_related("memory")
        .defer(*(f"memory__{name}" for name in queries.SEARCH_COLUMNS))
        .order_by("-last_seen_at")
    )
    same = [row for row in rows.filter(_visible_to(caller)) if _is_same(row, sighting)]
    order = {Memory.State.ACTIVE: 0, Memory.State.RESOLVED: 1}
    return min(same, key=lambda row: order.get(Memory.State(row.memory.state), 2), default=None)


def close_proposals(memory_id: UUID, *, now: datetime) -> None:
    """Close what proposes that a failure is resolved: it has just been seen again."""
    ReviewItem.objects.filter(
        kind=ReviewItem.Kind.RESOLVE,
        state=ReviewItem.State.OPEN,
        memory_ids__contains=[str(memory_id)],
    ).update(state=ReviewItem.State.OVERTAKEN, decided_at=now)


# --- Parts ----------------------------------------------------------------------------------------
def _visible_to(caller: Caller) -> Q:
    is_private = Q(memory__visibility=Memory.Visibility.PRIVATE)
    return ~is_private | Q(memory__author_id=caller.user_id)


def _is_same(failure: Failure, sighting: Sighting) -> bool:
    """Tell failures of one signature apart by their place, and by the names that they quote."""
    if sighting.place and failure.paths:
        if sighting.place not in failure.paths:
            return False
    elif sighting.command_prefix != failure.command_prefix:
        return False
    quoted = set(diagnostics.names_in(sighting.message))
    return quoted == set(diagnostics.names_in(failure.message))


def _fields(sighting: Sighting, session: Session, step: Step) -> dict[str, object]:
    return {
        "namespace_id": session.namespace_id,
        "signature": sighting.signature,
        "error_class": sighting.error_class,
        "tool": sighting.tool,
        "command_prefix": sighting.command_prefix,
        "command": sighting.command,
        "message": sighting.message,
        "paths": list(sighting.paths),
        "symbols": list(sighting.symbols),
        "first_seen_at": step.happened_at,
        "last_seen_at": step.happened_at,
        "last_session": session,
        "last_run": step.id,
    }


def _content(sighting: Sighting) -> str:
    """Say what failed: the error, the command, the files. No prompt, no answer, no values."""
    where = ", ".join(sighting.paths[:3])
    command = f"`{sighting.command}` fails" if sighting.command else "A check fails"
    symbol = f" ({sighting.symbols[0]})" if sighting.symbols else ""
    return f"{command}: {sighting.message}" + (f"\nSeen in {where}{symbol}." if where else "")


def _citations(sighting: Sighting, session: Session) -> list[Citation]:
    """Return the code that it stands on: the line of the error where one is known, and the files.

    What cannot be cited is left out: a file that is not in the repository yet, or is gone.
    """
    wanted: list[Citation] = []
    for path in sighting.paths[:_ANCHORED_PATHS]:
        line = sighting.line if path == sighting.place else None
        wanted += [one for one in (_citation(path, line), _citation(path, None)) if one]
    kept: dict[str, Citation] = {}
    for one in wanted:
        if one.path not in kept and _is_citable(one, session):
            kept[one.path] = one
    return list(kept.values())


def _citation(path: str, line: int | None) -> Citation | None:
    try:
        return citation(path=path, start_line=line, end_line=line)
    except AnchorInvalid:
        return None


def _is_citable(one: Citation, session: Session) -> bool:
    try:
        drafted_anchors([one], repository_id=session.repository_id)
    except AnchorInvalid:
        return False
    return True


def _united(first: Sequence[str], second: Sequence[str], *, most: int) -> list[str]:
    return list(dict.fromkeys((*first, *second)))[:most]


@contextmanager
def _alone(session: Session, key: str) -> Iterator[None]:
    """Hold a signature of a repository: of two workers who learn it, the second finds the first's.

    Freed by Postgres when a worker dies; held for as long as a memory is stored.
    """
    name: list[str | int] = [f"{session.repository_id}:{key}", _LOCK_NUMBER]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(hashtextextended(%s, %s))", name)
    try:
        yield
    finally:
        if connection.is_usable():
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(hashtextextended(%s, %s))", name)
