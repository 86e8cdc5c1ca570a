"""Sessions over REST: what was captured, what was shown to the agent and why, starting and ending.

GET  /sessions                      newest first; the scope's, or all that the caller may read
POST /sessions                      begins one by hand, with the opening context
GET  /sessions/<id>                 one
GET  /sessions/<id>/observations    what was captured, in order
GET  /sessions/<id>/injections      what was put before the agent, newest first
POST /sessions/<id>/end             ends one of the caller's own
GET  /capture, PUT /capture         what a repository lets be captured
"""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from ninja import Query, Router
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from codemem.accounts.values import Action
from codemem.gateway import body
from codemem.gateway import scope as scopes
from codemem.gateway.errors import ArgumentsInvalid
from codemem.gateway.rest import ErrorView, bearer, call_of
from codemem.gateway.tool import Arguments, Call, Result
from memory import capture, sessions
from memory.capture import Capture, Named
from memory.events import Checkout, EventKind, HookEvent, Start
from workers import queue

_MOST = 200
_Limit = Annotated[int, Query(ge=1, le=_MOST)]


class Wanted(BaseModel):
    """A session that a person or a script begins, without hooks."""

    model_config = ConfigDict(extra="forbid", strict=True)

    client_session_id: str = Field(min_length=1, max_length=200)
    agent: str = Field("cli", min_length=1, max_length=40, pattern=r"^[a-z0-9][a-z0-9._-]*$")
    model: str = Field("", max_length=100)
    directory: str = Field("", max_length=1000)
    capture: Literal["full", "metadata", "off"] = "full"


class WantedRule(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    mode: Literal["full", "metadata", "off"] | None = None
    ignored_paths: list[Annotated[str, Field(min_length=1, max_length=200)]] | None = Field(
        None, max_length=50
    )


class SessionView(Result):
    id: UUID
    namespace: str
    repository: str | None = None
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
    continues: UUID | None = None
    started_at: datetime
    last_event_at: datetime
    ended_at: datetime | None = None
    end_reason: str
    prompts: int
    reads: int
    changes: int
    failures: int


class SessionsView(Result):
    sessions: list[SessionView]
    next_before: datetime | None = Field(None, description="Pass it as `before` for older ones.")


class StartedView(Result):
    session: SessionView | None = None
    context: str = Field(description="What an agent is shown at the start of this session.")
    note: str = Field("", description="Why nothing is captured, where that is so.")


class ObservationView(Result):
    id: int
    kind: str
    tier: str
    tool: str
    subagent_type: str
    subagent_id: str
    paths: list[str]
    command: str
    content: str
    is_failure: bool
    exit_code: int | None = None
    original_bytes: int
    redactions: int
    happened_at: datetime


class ObservationsView(Result):
    observations: list[ObservationView]
    next_after: int | None = None


class InjectionView(Result):
    id: int
    event: str
    kind: str
    memory_id: UUID | None = None
    reason: str
    score: float | None = None
    size_tokens: int
    shown_at: datetime


class InjectionsView(Result):
    injections: list[InjectionView]


class RuleView(Result):
    namespace: str
    repository: str
    mode: str = Field(description="What holds: the strictest of the repository and its namespace.")
    ignored_paths: list[str] = Field(description="Of the repository, beside its namespace's.")
    changed_by: str


def sessions_router() -> Router:
    router = Router(tags=["sessions"], auth=bearer)
    unknown: dict[int, Any] = {404: ErrorView}
    router.get("", response={200: SessionsView, **unknown}, summary="List sessions")(list_sessions)
    router.post(
        "", response={200: StartedView, 403: ErrorView, 422: ErrorView}, summary="Begin a session"
    )(start_session)
    router.get("/{session_id}", response={200: SessionView, **unknown}, summary="See a session")(
        get_session
    )
    router.get(
        "/{session_id}/observations",
        response={200: ObservationsView, **unknown},
        summary="What was captured of a session",
    )(list_observations)
    router.get(
        "/{session_id}/injections",
        response={200: InjectionsView, **unknown},
        summary="What was put before its agent, and why",
    )(list_injections)
    router.post(
        "/{session_id}/end", response={200: SessionView, **unknown}, summary="End a session"
    )(end_session)
    return router


def capture_router() -> Router:
    router = Router(tags=["sessions"], auth=bearer)
    router.get("", response={200: RuleView, 404: ErrorView}, summary="What may be captured")(
        get_rule
    )
    router.put(
        "",
        response={200: RuleView, 403: ErrorView, 404: ErrorView, 422: ErrorView},
        summary="Change what may be captured",
    )(change_rule)
    return router


def list_sessions(
    request: HttpRequest,
    *,
    limit: _Limit = 50,
    is_open: bool | None = None,
    before: datetime | None = None,
) -> SessionsView:
    """Return sessions of the scope, or of every namespace when the request names none."""
    call = call_of(request)
    namespaces, source = scopes.namespaces_to_read(call, Arguments(), Action.READ_MEMORY)
    repository = scopes.find_repository(call, Arguments(), namespaces=namespaces)
    is_named = source is not scopes.Source.INFERRED
    rows = sessions.list_sessions(
        caller=call.caller,
        namespace_id=namespaces[0].id if is_named else None,
        repository_id=repository.repository.id if repository else None,
        is_open=is_open,
        before=before,
        limit=limit + 1,
    )
    shown = rows[:limit]
    return SessionsView(
        sessions=[SessionView(**asdict(row)) for row in shown],
        next_before=shown[-1].last_event_at if len(rows) > limit else None,
    )


def start_session(request: HttpRequest) -> StartedView:
    """Begin a session by hand, where the scope names a place the caller may write to."""
    call = call_of(request)
    wanted = _valid(Wanted, request)
    address = call.address
    receipt = capture.receive(
        caller=call.caller,
        events=[
            HookEvent(
                agent=wanted.agent,
                kind=EventKind.SESSION_START,
                session_id=wanted.client_session_id,
                source_event="codemem sessions start",
                checkout=Checkout(
                    directory=wanted.directory,
                    remote=address.remote or "",
                    root_commit=address.root_commit or "",
                    branch=address.ref or "",
                    head=address.head or "",
                ),
                model=wanted.model,
                start=Start.STARTUP,
            )
        ],
        now=call.now,
        named=Named(namespace=address.namespace or "", repository=address.repository or ""),
        wanted=Capture(wanted.capture),
    )
    found = receipt.answer.session_id
    return StartedView(
        session=_one(call, found) if found else None,
        context=receipt.answer.context,
        note=receipt.answer.reason,
    )


def get_session(request: HttpRequest, session_id: UUID) -> SessionView:
    """Return one session."""
    return _one(call_of(request), session_id)


def list_observations(
    request: HttpRequest, session_id: UUID, *, limit: _Limit = 100, after: int = 0
) -> ObservationsView:
    """Return what was captured, in the order in which it came."""
    rows = sessions.observations_of(
        caller=call_of(request).caller, session_id=session_id, limit=limit + 1, after=after
    )
    shown = rows[:limit]
    return ObservationsView(
        observations=[_observation(row) for row in shown],
        next_after=shown[-1].id if len(rows) > limit else None,
    )


def list_injections(
    request: HttpRequest, session_id: UUID, *, limit: _Limit = 100
) -> InjectionsView:
    """Return what the agent was shown without asking, with the reason for each."""
    rows = sessions.injections_of(
        caller=call_of(request).caller, session_id=session_id, limit=limit
    )
    return InjectionsView(injections=[InjectionView(**asdict(row)) for row in rows])


def end_session(request: HttpRequest, session_id: UUID) -> SessionView:
    """End one of the caller's own sessions; what it taught is learned, what is left is offered."""
    call = call_of(request)
    ended = sessions.end_session(caller=call.caller, session_id=session_id, now=call.now)
    queue.end_session(session_id=session_id, now=call.now)
    return SessionView(**asdict(ended))


def get_rule(request: HttpRequest) -> RuleView:
    """Return what the repository of this scope lets be captured."""
    call = call_of(request)
    place = scopes.repository_to_read(call, Arguments(), Action.READ_MEMORY)
    return _rule(place, sessions.capture_rule(repository_id=place.repository.id))


def change_rule(request: HttpRequest) -> RuleView:
    """Have a repository keep less than its namespace does; what is left out stays as it was."""
    call = call_of(request)
    place = scopes.repository_to_read(call, Arguments(), Action.READ_MEMORY)
    scopes.require(call, Action.CHANGE_SETTINGS, place.namespace)
    wanted = _valid(WantedRule, request)
    changed = sessions.change_capture_rule(
        caller=call.caller,
        namespace_id=place.namespace.id,
        repository_id=place.repository.id,
        mode=wanted.mode,
        ignored_paths=wanted.ignored_paths,
        now=call.now,
    )
    return _rule(place, changed)


def _one(call: Call, session_id: UUID) -> SessionView:
    found = sessions.get_session(caller=call.caller, session_id=session_id)
    return SessionView(**asdict(found))


def _observation(row: sessions.ObservationValue) -> ObservationView:
    told = asdict(row)
    del told["session_id"]
    return ObservationView(**{**told, "paths": list(row.paths)})


def _rule(place: scopes.RepositoryScope, rule: sessions.RuleValue) -> RuleView:
    return RuleView(
        namespace=place.namespace.name,
        repository=place.repository.name,
        mode=rule.mode,
        ignored_paths=list(rule.ignored_paths),
        changed_by=rule.changed_by,
    )


_Model = TypeVar("_Model", bound=BaseModel)


def _valid(model: type[_Model], request: HttpRequest) -> _Model:
    decoded = body.read_json(request, maximum_bytes=settings.MAXIMUM_BODY_BYTES)
    try:
        return model.model_validate(decoded)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])[:100]
        raise ArgumentsInvalid(f"{where or 'The body'}: {first['msg']}.") from error
