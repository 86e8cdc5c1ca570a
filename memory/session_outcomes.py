"""What came of a session: where it stood, what it taught, what failed in it, what it left.

Of sessions that the caller may read; memories and failures pass their own filters on top.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from codemem.accounts.values import Caller
from memory import queries
from memory.checkpoints import CheckpointValue, SessionUnknown, checkpoints_of
from memory.failures import KnownFailure, failures_seen_in
from memory.models import Session
from memory.sessions import visible_sessions
from memory.values import StoredMemory

_MOST_MEMORIES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOutcomes:
    """The checkpoints, newest first; memories in the order of time, proposed ones among them."""

    checkpoints: tuple[CheckpointValue, ...] = ()
    memories: tuple[StoredMemory, ...] = ()
    failures: tuple[KnownFailure, ...] = ()


def outcomes_of(*, caller: Caller, session_id: UUID, now: datetime) -> SessionOutcomes:
    """Return what came of a visible session; raise SessionUnknown. Five queries."""
    session = visible_sessions(caller=caller).filter(pk=session_id).first()
    if session is None:
        raise SessionUnknown(f"There is no session {session_id} here, or not for you.")
    return SessionOutcomes(
        checkpoints=tuple(checkpoints_of(session_id=session_id)),
        memories=_memories(session, caller=caller, now=now),
        failures=tuple(failures_seen_in(caller=caller, session_id=session_id)),
    )


def _memories(session: Session, *, caller: Caller, now: datetime) -> tuple[StoredMemory, ...]:
    """Return the memories that were stored in a session, or made of it.

    Clients' names of sessions are only their users' own: another's of the same name is another.
    """
    rows = queries.visible_memories(caller=caller, now=now, include_inactive=True).filter(
        Q(session_id=session.client_session_id) | Q(session_id=str(session.pk)),
        namespace_id=session.namespace_id,
        author_id=session.user_id,
    )
    told = queries.shown(rows).order_by("created_at", "pk")[:_MOST_MEMORIES]
    return tuple(queries.stored(row, now=now) for row in told)
