"""What agents did: sessions, their course, what was put before them, and what came of it."""

from datetime import datetime
from uuid import UUID

from django.http import Http404, HttpResponse

from codemem.console.access import Visit
from codemem.console.refusals import InputRefused, register
from memory import handoffs, queries, sessions
from memory.checkpoints import SessionUnknown
from memory.session_outcomes import outcomes_of
from workers import queue

register(unknown=(SessionUnknown,))

_SESSIONS = 30
_OBSERVATIONS = 100
_INJECTIONS = 200
_FOUND = 30


def index(visit: Visit) -> HttpResponse:
    """List the sessions that the person may read, or what was found in them."""
    repository_id = visit.repository_called(visit.parameter("repository"))
    question = visit.parameter("q")
    context: dict[str, object] = {
        "question": question,
        "repository_name": visit.parameter("repository"),
        "state": visit.parameter("state"),
    }
    if question:
        context["found"] = sessions.search(
            caller=visit.caller,
            text=question,
            limit=_FOUND,
            namespace_ids=[visit.namespace_id],
            repository_id=repository_id,
        )
        return visit.render("sessions/found.html", context, title="Sessions")
    rows = sessions.list_sessions(
        caller=visit.caller,
        limit=_SESSIONS + 1,
        namespace_id=visit.namespace_id,
        repository_id=repository_id,
        is_open={"live": True, "ended": False}.get(visit.parameter("state")),
        before=_moment(visit, "before"),
    )
    shown = rows[:_SESSIONS]
    context |= {
        "sessions": shown,
        "next_before": shown[-1].last_event_at.isoformat() if len(rows) > _SESSIONS else "",
        "is_first": not visit.parameter("before"),
    }
    return visit.render("sessions/index.html", context, title="Sessions")


def show(visit: Visit, session_id: UUID) -> HttpResponse:
    """Show one session: its course, what it was shown and why, what it left."""
    session = _session(visit, session_id)
    after = visit.number("after", 0, maximum=10**15)
    rows = sessions.observations_of(
        caller=visit.caller, session_id=session_id, limit=_OBSERVATIONS + 1, after=after
    )
    observations = rows[:_OBSERVATIONS]
    context: dict[str, object] = {
        "session": session,
        "observations": observations,
        "next_after": observations[-1].id if len(rows) > _OBSERVATIONS else None,
        "is_first": not after,
    }
    if visit.is_fragment:
        return visit.fragment("sessions/observations.html", context)
    injections = sessions.injections_of(
        caller=visit.caller, session_id=session_id, limit=_INJECTIONS
    )
    context |= {
        "outcomes": outcomes_of(caller=visit.caller, session_id=session_id, now=visit.now),
        "injections": injections,
        "memories": queries.memories_by_id(
            caller=visit.caller,
            memory_ids={one.memory_id for one in injections if one.memory_id},
            now=visit.now,
        ),
        "handoffs": handoffs.own_handoffs(
            caller=visit.caller, namespace_id=visit.namespace_id, session_id=session_id
        ),
        "is_own": session.user == visit.caller.username,
    }
    return visit.render(
        "sessions/show.html",
        context,
        title=session.title or f"Session of {session.user}",
        crumbs=(("Sessions", visit.url("sessions")),),
    )


def end(visit: Visit, session_id: UUID) -> HttpResponse:
    """End one of one's own sessions; what it taught is learned, what is left is offered."""
    _session(visit, session_id)
    sessions.end_session(caller=visit.caller, session_id=session_id, now=visit.now)
    queue.end_session(session_id=session_id, now=visit.now)
    visit.say("It is ended. What it taught is being learned; what is left is offered.")
    return visit.go("session", session_id=session_id)


def _session(visit: Visit, session_id: UUID) -> sessions.SessionValue:
    session = sessions.get_session(caller=visit.caller, session_id=session_id)
    assert visit.namespace is not None
    if session.namespace != visit.namespace.name:
        raise Http404
    return session


def _moment(visit: Visit, name: str) -> datetime | None:
    text = visit.parameter(name)
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputRefused(f"{text[:40]!r} is no time.") from None
    if moment.tzinfo is None:
        raise InputRefused(f"{text[:40]!r} has no time zone.")
    return moment
