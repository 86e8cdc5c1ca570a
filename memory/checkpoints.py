"""Where a session stands, kept so that it comes back: after a compaction, or when it is resumed.

A session is its user's alone to write to. What the texts say is data for whoever reads them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db.models import Q, QuerySet

from codemem.accounts.values import Action, Caller
from memory.baton import Baton, Happening, baton_of, cleaned_baton, cut
from memory.events import EventKind
from memory.models import Checkpoint, Observation, Session
from memory.services.rights import require
from memory.wording import MemoryInvalid, normal

Origin = Checkpoint.Origin

_LONGEST_SUMMARY: Final = 8_000
_MOST_OBSERVATIONS: Final = 5_000
_LONGEST_AGENT: Final = 40
_LONGEST_SESSION_ID: Final = 200


class SessionUnknown(Exception):
    """There is no such session of the caller's; others' sessions are never told of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnSession:
    """A session of the caller's, as tools name it."""

    id: UUID
    client_session_id: str
    agent: str
    title: str
    namespace_id: UUID
    repository_id: UUID | None
    branch: str
    started_at: datetime
    ended_at: datetime | None
    prompts: int
    reads: int
    changes: int
    failures: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointValue:
    """One checkpoint, to be read back."""

    id: UUID
    session_id: UUID
    origin: str
    baton: Baton
    created_at: datetime
    redactions: Mapping[str, int]
    flags: tuple[str, ...]


def checkpoint(
    *,
    session_id: UUID,
    origin: Checkpoint.Origin | str,
    now: datetime,
    baton: Baton | None = None,
) -> CheckpointValue | None:
    """Keep where a session stands; None when there is nothing to say of it.

    Without texts (before a compaction) they are read from what was captured. A client's own summary
    is cut where it is too long; an agent's is refused with MemoryInvalid, so that it can mend it.
    """
    session = Session.objects.get(pk=session_id)
    chosen = Origin(origin)
    if baton is None:
        baton = baton_of(happenings_of(session_id=session_id))
    if chosen is not Origin.AGENT:
        baton = _fitted(baton)
    clean = cleaned_baton(baton, needs_summary=chosen is Origin.AGENT)
    if clean.baton == Baton():
        return None
    row = Checkpoint.objects.create(
        session=session,
        namespace_id=session.namespace_id,
        origin=chosen,
        summary=clean.baton.summary,
        done=list(clean.baton.done),
        open_questions=list(clean.baton.open_questions),
        next_steps=list(clean.baton.next_steps),
        files=list(clean.baton.files),
        created_at=now,
    )
    return _value(row, redactions=clean.redactions, flags=clean.flags)


def newest_checkpoint(*, session_id: UUID) -> CheckpointValue | None:
    """Return where a session stood when that was last kept. One query; no permission check."""
    row = Checkpoint.objects.filter(session_id=session_id).order_by("-created_at", "-id").first()
    return None if row is None else _value(row)


def checkpoints_of(*, session_id: UUID, limit: int = 50) -> list[CheckpointValue]:
    """Return what was kept of a session, the newest first. One query; no permission check."""
    rows = Checkpoint.objects.filter(session_id=session_id).order_by("-created_at", "-id")
    return [_value(row) for row in rows[:limit]]


def newest_of_sessions(*, session_ids: Iterable[UUID]) -> dict[UUID, CheckpointValue]:
    """Return the newest checkpoint of each session that has one. One query."""
    rows = (
        Checkpoint.objects.filter(session_id__in=list(session_ids))
        .order_by("session_id", "-created_at", "-id")
        .distinct("session_id")
    )
    return {row.session_id: _value(row) for row in rows}


def find_own_session(
    *, caller: Caller, name: str, namespace_ids: Iterable[UUID]
) -> OwnSession | None:
    """Return the caller's session by its id, or by what its client calls it; the newest of those.

    None also for somebody else's: what others did is not looked up here.
    """
    rows = _own_sessions(caller, namespace_ids).filter(_named(name))
    found = rows.order_by("-last_event_at").first()
    return None if found is None else own(found)


def live_sessions(
    *, caller: Caller, namespace_ids: Iterable[UUID], repository_id: UUID | None = None
) -> list[OwnSession]:
    """Return the caller's sessions that have not ended, newest first; at most twenty."""
    rows = _own_sessions(caller, namespace_ids).filter(ended_at=None)
    if repository_id is not None:
        rows = rows.filter(repository_id=repository_id)
    return [own(row) for row in rows.order_by("-last_event_at")[:20]]


def last_session(
    *,
    caller: Caller,
    namespace_ids: Iterable[UUID],
    repository_id: UUID | None = None,
    but: UUID | None = None,
) -> OwnSession | None:
    """Return the caller's last session that ended, other than the one that asks."""
    rows = _own_sessions(caller, namespace_ids).filter(ended_at__isnull=False)
    if repository_id is not None:
        rows = rows.filter(repository_id=repository_id)
    found = rows.exclude(Q(pk=but)).order_by("-last_event_at").first()
    return None if found is None else own(found)


def open_session(
    *,
    caller: Caller,
    namespace_id: UUID,
    repository_id: UUID | None,
    client_session_id: str,
    agent: str,
    now: datetime,
    branch: str = "",
) -> OwnSession:
    """Return the caller's session of this id, made if no hook has told of it.

    Agents without hooks keep checkpoints, too. Raise NamespaceUnknown, RightMissing, MemoryInvalid.
    """
    require(caller=caller, action=Action.WRITE_MEMORY, namespace_id=namespace_id)
    name = " ".join(normal(client_session_id).split())
    if not name or len(name) > _LONGEST_SESSION_ID:
        raise MemoryInvalid(f"session_id must have 1 to {_LONGEST_SESSION_ID} characters.")
    known = find_own_session(caller=caller, name=name, namespace_ids=[namespace_id])
    if known is not None:
        return known
    row, _ = Session.objects.get_or_create(
        user_id=caller.user_id,
        agent=_agent_name(agent),
        client_session_id=name,
        defaults={
            "namespace_id": namespace_id,
            "repository_id": repository_id,
            "branch": branch[:255],
            "token_id": caller.token_id,
            "started_at": now,
            "last_event_at": now,
        },
    )
    if row.namespace_id != namespace_id:
        raise SessionUnknown(f"There is no session {name!r} of yours in this namespace.")
    return own(row)


def happenings_of(*, session_id: UUID) -> list[Happening]:
    """Return what was captured of a session, in order; the last 5,000 of it. One query."""
    rows = Observation.objects.filter(session_id=session_id).exclude(
        kind__in=[EventKind.OTHER, EventKind.NOTIFICATION, EventKind.TOOL_START]
    )
    columns = ("kind", "tier", "tool", "paths", "command", "content", "is_failure", "subagent_id")
    newest = rows.order_by("-id").values_list(*columns)[:_MOST_OBSERVATIONS]
    return [
        Happening(
            kind=kind,
            tier=tier,
            tool=tool,
            paths=tuple(paths),
            command=command,
            content=content,
            is_failure=is_failure,
            is_of_subagent=bool(subagent),
        )
        for kind, tier, tool, paths, command, content, is_failure, subagent in reversed(newest)
    ]


def own(session: Session) -> OwnSession:
    return OwnSession(
        id=session.pk,
        client_session_id=session.client_session_id,
        agent=session.agent,
        title=session.title,
        namespace_id=session.namespace_id,
        repository_id=session.repository_id,
        branch=session.branch,
        started_at=session.started_at,
        ended_at=session.ended_at,
        prompts=session.prompts,
        reads=session.reads,
        changes=session.changes,
        failures=session.failures,
    )


def _own_sessions(caller: Caller, namespace_ids: Iterable[UUID]) -> QuerySet[Session]:
    readable = set(caller.namespaces_for(Action.READ_MEMORY)) & set(namespace_ids)
    return Session.objects.filter(user_id=caller.user_id, namespace_id__in=readable)


def _named(name: str) -> Q:
    named = Q(client_session_id=name)
    try:
        return named | Q(pk=UUID(name))
    except ValueError:
        return named


def _agent_name(agent: str) -> str:
    """Return a client's name without its version; what has none is known as its protocol."""
    return (agent.split() or ["mcp"])[0].lower()[:_LONGEST_AGENT]


def _fitted(baton: Baton) -> Baton:
    return Baton(
        summary=cut(normal(baton.summary), _LONGEST_SUMMARY),
        done=baton.done,
        open_questions=baton.open_questions,
        next_steps=baton.next_steps,
        files=baton.files,
    )


def _value(
    row: Checkpoint,
    *,
    redactions: Mapping[str, int] | None = None,
    flags: tuple[str, ...] = (),
) -> CheckpointValue:
    return CheckpointValue(
        id=row.pk,
        session_id=row.session_id,
        origin=row.origin,
        baton=Baton(
            summary=row.summary,
            done=tuple(row.done),
            open_questions=tuple(row.open_questions),
            next_steps=tuple(row.next_steps),
            files=tuple(row.files),
        ),
        created_at=row.created_at,
        redactions=dict(redactions or {}),
        flags=flags,
    )
