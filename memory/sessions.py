"""Reads of sessions, and their end: who may see them, which went silent, what is forgotten.

The one entry for reads is `visible_sessions`: a session, and all that hangs on it, is its user's
alone, or the namespace's members' where it is shared.
"""

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.contrib.postgres.search import SearchQuery
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.expressions import RawSQL

from codemem import policies
from codemem.accounts import services as accounts
from codemem.accounts.models import Namespace
from codemem.accounts.values import Caller
from codemem.words import query_terms, to_or_tsquery
from memory.capture import SILENCE, strictest
from memory.checkpoints import SessionUnknown
from memory.models import CaptureRule, Checkpoint, Injection, Observation, Session
from memory.privacy import visible_to

_SILENT_AFTER = timedelta(minutes=30)
_UNFINISHED_AFTER = timedelta(minutes=2)
_FINISHED_WITHIN = timedelta(days=7)
_AT_ONCE = 500
_ROWS_A_STATEMENT = 10_000
_EXCERPT_CHARACTERS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionValue:
    """A session as readers see it."""

    id: UUID
    namespace: str
    repository: str | None
    user: str
    agent: str
    agent_version: str
    model: str
    client_session_id: str
    branch: str
    head_commit: str
    title: str
    capture: str
    is_shared: bool
    continues: UUID | None
    started_at: datetime
    last_event_at: datetime
    ended_at: datetime | None
    end_reason: str
    prompts: int
    reads: int
    changes: int
    failures: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationValue:
    """One captured event as readers see it."""

    id: int
    session_id: UUID
    kind: str
    tier: str
    tool: str
    subagent_type: str
    subagent_id: str
    paths: tuple[str, ...]
    command: str
    content: str
    is_failure: bool
    exit_code: int | None
    original_bytes: int
    redactions: int
    happened_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectionValue:
    """One thing that was put before the agent, and why."""

    id: int
    event: str
    kind: str
    memory_id: UUID | None
    reason: str
    score: float | None
    size_tokens: int
    shown_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleValue:
    """What a repository lets be captured: the mode that holds, its own globs, who said so."""

    mode: str
    ignored_paths: tuple[str, ...]
    changed_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One place in what was captured that has the words of a question."""

    session: SessionValue
    observation_id: int
    kind: str
    tool: str
    paths: tuple[str, ...]
    excerpt: str
    happened_at: datetime
    score: float


def visible_sessions(*, caller: Caller) -> QuerySet[Session]:
    """Return the sessions that the caller may read: their own, and shared ones."""
    return Session.objects.filter(visible_to(caller))


def list_sessions(
    *,
    caller: Caller,
    limit: int,
    namespace_id: UUID | None = None,
    repository_id: UUID | None = None,
    is_open: bool | None = None,
    before: datetime | None = None,
) -> list[SessionValue]:
    """Return visible sessions, the newest first. One query."""
    rows = visible_sessions(caller=caller)
    if namespace_id is not None:
        rows = rows.filter(namespace_id=namespace_id)
    if repository_id is not None:
        rows = rows.filter(repository_id=repository_id)
    if is_open is not None:
        rows = rows.filter(ended_at__isnull=is_open)
    if before is not None:
        rows = rows.filter(last_event_at__lt=before)
    return [_value(row) for row in _shown(rows).order_by("-last_event_at", "-id")[:limit]]


def get_session(*, caller: Caller, session_id: UUID) -> SessionValue:
    """Return one visible session; raise SessionUnknown."""
    return _value(_get(caller, Q(pk=session_id), session_id))


def find_session(*, caller: Caller, handle: str) -> Session | None:
    """Return the caller's own session by our id or its client's; of several the newest."""
    named = Q(client_session_id=handle)
    with contextlib.suppress(ValueError):
        named |= Q(pk=UUID(handle))
    rows = visible_sessions(caller=caller).filter(named, user_id=caller.user_id)
    return rows.select_related("namespace", "repository").order_by("-last_event_at").first()


def observations_of(
    *, caller: Caller, session_id: UUID, limit: int, after: int = 0
) -> list[ObservationValue]:
    """Return what was captured of a session, in its order, behind the one of id `after`."""
    session = _get(caller, Q(pk=session_id), session_id)
    rows = Observation.objects.filter(session_id=session.pk, pk__gt=after)
    return [
        ObservationValue(
            id=row.pk,
            session_id=session.pk,
            kind=row.kind,
            tier=row.tier,
            tool=row.tool,
            subagent_type=row.subagent_type,
            subagent_id=row.subagent_id,
            paths=tuple(row.paths),
            command=row.command,
            content=row.content,
            is_failure=row.is_failure,
            exit_code=row.exit_code,
            original_bytes=row.original_bytes,
            redactions=row.redactions,
            happened_at=row.happened_at,
        )
        for row in rows.defer("tokens", "lexemes").order_by("pk")[:limit]
    ]


def injections_of(*, caller: Caller, session_id: UUID, limit: int) -> list[InjectionValue]:
    """Return what was put before the agent of a session unasked, the newest first."""
    session = _get(caller, Q(pk=session_id), session_id)
    rows = Injection.objects.filter(session_id=session.pk).order_by("-pk")[:limit]
    return [
        InjectionValue(
            id=row.pk,
            event=row.event,
            kind=row.kind,
            memory_id=row.memory_id,
            reason=row.reason,
            score=row.score,
            size_tokens=row.size_tokens,
            shown_at=row.shown_at,
        )
        for row in rows
    ]


def search(
    *,
    caller: Caller,
    text: str,
    limit: int,
    namespace_ids: Iterable[UUID],
    repository_id: UUID | None = None,
    since: datetime | None = None,
) -> list[Found]:
    """Return the captured events with most of a question's words, best first. One query."""
    terms = query_terms(text)
    if not terms:
        return []
    rows = Observation.objects.filter(
        visible_to(caller, prefix="session__"),
        namespace_id__in=list(namespace_ids),
        lexemes=SearchQuery(to_or_tsquery(terms), config="simple", search_type="raw"),
    )
    if repository_id is not None:
        rows = rows.filter(session__repository_id=repository_id)
    if since is not None:
        rows = rows.filter(happened_at__gte=since)
    # How many of the words are there: repeated words of one log line say nothing more.
    matched = RawSQL(
        "(SELECT count(*) FROM unnest(%s::text[]) term WHERE term ="
        " ANY(tsvector_to_array(memory_observation.lexemes)))",
        (terms,),
    )
    best = (
        rows.annotate(matched=matched)
        .select_related("session", "session__namespace", "session__repository", "session__user")
        .defer("tokens", "lexemes")
        .order_by("-matched", "-happened_at", "-pk")[:limit]
    )
    return [
        Found(
            session=_value(row.session),
            observation_id=row.pk,
            kind=row.kind,
            tool=row.tool,
            paths=tuple(row.paths),
            excerpt=_excerpt(f"{row.command}\n{row.content}".strip(), terms),
            happened_at=row.happened_at,
            score=round(row.matched / len(terms), 3),
        )
        for row in best
    ]


@transaction.atomic
def end_session(*, caller: Caller, session_id: UUID, now: datetime) -> SessionValue:
    """End one of the caller's own sessions by hand; one that has ended stays as it was."""
    session = _get(caller, Q(pk=session_id, user_id=caller.user_id), session_id)
    Session.objects.filter(pk=session.pk, ended_at=None).update(ended_at=now, end_reason="by hand")
    return _value(_get(caller, Q(pk=session_id), session_id))


def capture_rule(*, repository_id: UUID) -> RuleValue:
    """Return what a repository lets be captured, with what its namespace decides. Two queries."""
    rule = CaptureRule.objects.filter(repository_id=repository_id).first()
    settings = Namespace.objects.values_list("settings", flat=True).get(repositories=repository_id)
    mode = str(policies.held_in(settings, "capture.mode")["capture.mode"])
    return RuleValue(
        mode=strictest(mode, rule.mode if rule else ""),
        ignored_paths=tuple(rule.ignored_paths) if rule else (),
        changed_by=rule.changed_by if rule else "",
    )


@transaction.atomic
def change_capture_rule(
    *,
    caller: Caller,
    namespace_id: UUID,
    repository_id: UUID,
    mode: str | None,
    ignored_paths: Sequence[str] | None,
    now: datetime,
) -> RuleValue:
    """Set what is given; sessions that run keep their mode and follow the new globs at once.

    Whether the caller may is asked by whoever names the place. Leaves an audit event.
    """
    changes: dict[str, object] = {"mode": mode} if mode else {}
    if ignored_paths is not None:
        changes["ignored_paths"] = [glob.replace("\0", "") for glob in ignored_paths]
    told: dict[str, object] = {"changed_by": caller.username, "changed_at": now}
    CaptureRule.objects.update_or_create(
        repository_id=repository_id, defaults={**changes, **told, "namespace_id": namespace_id}
    )
    accounts.record(
        actor=caller.username,
        action="capture.change",
        target=str(repository_id),
        namespace=Namespace.objects.get(pk=namespace_id),
        detail=changes,
    )
    return capture_rule(repository_id=repository_id)


def close_silent(*, now: datetime) -> list[UUID]:
    """End sessions of which nothing was heard for half an hour; return them.

    Claimed by an UPDATE: an event that comes at the same time reopens what this closed.
    """
    due = Session.objects.filter(ended_at=None, last_event_at__lt=now - _SILENT_AFTER)
    keys = list(due.order_by("last_event_at").values_list("pk", flat=True)[:_AT_ONCE])
    silent = due.filter(pk__in=keys)
    return [
        key
        for key in keys
        if silent.filter(pk=key).update(ended_at=F("last_event_at"), end_reason=SILENCE)
    ]


def unfinished(*, now: datetime) -> list[UUID]:
    """Return sessions that ended a while ago and whose end nobody has dealt with yet."""
    rows = Session.objects.filter(
        ended_at__lt=now - _UNFINISHED_AFTER,
        ended_at__gt=now - _FINISHED_WITHIN,
        distilled_at=None,
    )
    return list(rows.order_by("ended_at").values_list("pk", flat=True)[:_AT_ONCE])


def note_finished(*, session_id: UUID, now: datetime) -> bool:
    """Note that the end of a session was dealt with; say whether it still is at its end."""
    ended = Session.objects.filter(pk=session_id, ended_at__isnull=False)
    return bool(ended.filter(distilled_at=None).update(distilled_at=now))


def forget_captured(*, now: datetime) -> int:
    """Erase observations, checkpoints and injections past their namespace's retention.

    Sessions stay as rows without contents until they are as old, too. In pieces, each of its own
    transaction; returns how many rows went.
    """
    keys = list(Namespace.objects.values_list("pk", flat=True))
    return sum(
        _forget(namespace_id, now - timedelta(days=int(held["capture.retention_days"])))
        for namespace_id, held in policies.values(keys, "capture.retention_days").items()
    )


def _forget(namespace_id: UUID, before: datetime) -> int:
    observations = Observation.objects.filter(namespace_id=namespace_id, received_at__lt=before)
    checkpoints = Checkpoint.objects.filter(namespace_id=namespace_id, created_at__lt=before)
    injections = Injection.objects.filter(namespace_id=namespace_id, shown_at__lt=before)
    sessions = Session.objects.filter(namespace_id=namespace_id, last_event_at__lt=before)
    gone = 0
    while count := _erase_some(observations):
        gone += count
    return gone + sum(rows.delete()[0] for rows in (checkpoints, injections, sessions))


def _erase_some(observations: QuerySet[Observation]) -> int:
    some = observations.order_by("received_at").values("pk")[:_ROWS_A_STATEMENT]
    return Observation.objects.filter(pk__in=some).delete()[0]


def _get(caller: Caller, condition: Q, named: object) -> Session:
    session = _shown(visible_sessions(caller=caller)).filter(condition).first()
    if session is None:
        raise SessionUnknown(f"There is no session {named} here, or not for you.")
    return session


def _shown(rows: QuerySet[Session]) -> QuerySet[Session]:
    return rows.select_related("namespace", "repository", "user")


def _value(session: Session) -> SessionValue:
    return SessionValue(
        id=session.pk,
        namespace=session.namespace.name,
        repository=session.repository.name if session.repository else None,
        user=session.user.username,
        agent=session.agent,
        agent_version=session.agent_version,
        model=session.model,
        client_session_id=session.client_session_id,
        branch=session.branch,
        head_commit=session.head_commit,
        title=session.title,
        capture=session.capture,
        is_shared=session.is_shared,
        continues=session.continues_id,
        started_at=session.started_at,
        last_event_at=session.last_event_at,
        ended_at=session.ended_at,
        end_reason=session.end_reason,
        prompts=session.prompts,
        reads=session.reads,
        changes=session.changes,
        failures=session.failures,
    )


def _excerpt(text: str, terms: list[str]) -> str:
    """Return the part of a text around the first word of the question, on one line."""
    lower = text.lower()
    places = [at for term in terms if (at := lower.find(term)) >= 0]
    start = max(min(places, default=0) - _EXCERPT_CHARACTERS // 3, 0)
    part = " ".join(text[start : start + _EXCERPT_CHARACTERS].split())
    return f"...{part}" if start else part
