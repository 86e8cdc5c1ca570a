"""What hooks tell becomes a session and its observations: where it belongs, what is kept of it.

Knows no client's words (`codemem/gateway/adapters` do) and starts no work: what should follow is
in the Receipt. An event that comes twice is kept once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import F

from codemem import policies
from codemem.accounts.models import Namespace
from codemem.accounts.values import PERMISSIONS, Action, Caller
from graph import queries as graph
from graph.values import RepositoryValue
from memory import asides, checkpoints, failures, opening
from memory.baton import Baton
from memory.events import Checkout, Doing, EventKind, HookAnswer, HookEvent, Start, ToolUse
from memory.models import CaptureRule, Checkpoint, Observation, Session
from memory.observed import Observed, Rules, observe, paths_of, storable, title_of
from memory.services.rights import RightMissing

Capture = Session.Capture

_STRICTNESS = (Capture.FULL, Capture.METADATA, Capture.OFF)
# The same words again within this time are the same event told twice; where one of the two waited
# in a spool, two clocks are compared, and whether the first attempt arrived is not known.
_TWICE_WITHIN = timedelta(seconds=10)
_TWICE_WITHIN_WHEN_SPOOLED = timedelta(minutes=2)
_OLDEST_SPOOLED = timedelta(days=8)
_SLOWEST_CLOCK = timedelta(hours=1)
_REMEMBERS_DIRECTORY = timedelta(days=30)
_TOUCHED_EVERY = timedelta(seconds=60)
_SUMMARY_CHARACTERS = 16_000
_COMPACTIONS = (EventKind.COMPACTION_START, EventKind.COMPACTION_END)
SILENCE = "silence"


class EventUnusable(Exception):
    """What was told is of no session: it lacks the client's id of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """The place that a person configured by name; blank where they left it to the checkout."""

    namespace: str = ""
    repository: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What to answer, and what should follow in the background."""

    answer: HookAnswer
    has_failures: bool = False  # or a command ran, which may show that one is over
    has_ended: bool = False


def receive(
    *,
    caller: Caller,
    events: Sequence[HookEvent],
    now: datetime,
    named: Named | None = None,
    wanted: Capture = Capture.FULL,
) -> Receipt:
    """Keep the events of one delivery, all of one session; return what the client is answered.

    The session is opened when nobody told of it before. Where nobody named a place that the caller
    may write to, nothing is kept and the answer says why. Raise RightMissing when the token or the
    role does not allow it. A tool's use takes eight queries at most, its start three.
    """
    _require_scope(caller)
    if not events:
        return Receipt(answer=HookAnswer(reason="The event is of no use here."))
    session = _found(caller, events[0])
    if session is None:
        placed = _placed(caller, events[0].checkout, named or Named(), now=now)
        if isinstance(placed, str):
            return Receipt(answer=HookAnswer(reason=placed))
        session = _opened(caller, events[0], placed, wanted=wanted, now=now)
    if not caller.can(Action.CAPTURE_SESSION, session.namespace_id):
        raise RightMissing("You may not have sessions captured in this namespace any more.")
    _narrow(session, wanted)
    kept = _keep(session, events, now=now)
    return Receipt(
        answer=_answer(caller, session, events, now=now),
        has_failures=any(one.is_failure or one.command for one in kept),
        has_ended=session.ended_at is not None
        and any(event.kind is EventKind.SESSION_END for event in events),
    )


def rules_of(session: Session) -> Rules:
    """Return what holds for a session's events; reads no row that came with the session."""
    key = "capture.ignored_paths"
    policy = policies.held_in(session.namespace.settings, key)[key]
    globs = [glob.strip() for glob in str(policy).split(",")]
    return Rules(
        root=session.directory,
        ignored=tuple(glob for glob in (*globs, *_rule_of(session)) if glob),
        is_metadata=session.capture != Capture.FULL,
        started_at=session.started_at,
    )


def strictest(*modes: str) -> Capture:
    """Return the mode that keeps least; a blank one does not count."""
    ranks = [_STRICTNESS.index(Capture(mode)) for mode in modes if mode]
    return _STRICTNESS[max(ranks, default=0)]


def _require_scope(caller: Caller) -> None:
    permission = PERMISSIONS[Action.CAPTURE_SESSION]
    if permission.scope not in caller.scopes:
        raise RightMissing(
            f"This token may not have sessions captured: it lacks the scope {permission.scope}."
        )


# --- Which session it is ---------------------------------------------------------------------


def _found(caller: Caller, event: HookEvent) -> Session | None:
    if not event.session_id:
        raise EventUnusable("The event names no session.")
    return (
        Session.objects.select_related("namespace", "repository", "repository__capture_rule")
        .filter(user_id=caller.user_id, agent=event.agent, client_session_id=event.session_id[:200])
        .first()
    )


@dataclass(frozen=True, slots=True)
class _Place:
    namespace_id: UUID
    repository_id: UUID | None


def _placed(caller: Caller, checkout: Checkout, named: Named, *, now: datetime) -> _Place | str:
    """Return where a session belongs, or the sentence that says why nowhere."""
    writable = caller.namespaces_for(Action.CAPTURE_SESSION)
    if named.namespace:
        key = caller.find_namespace(named.namespace)
        if key is None or key not in writable:
            return "The configured namespace is not one that you may write to."
        writable = (key,)
    if not writable:
        return "You may write to no namespace: ask an owner for the role writer."
    found = _repositories(writable, checkout, named)
    if len(found) == 1:
        return _Place(found[0].namespace_id, found[0].id)
    if len(found) > 1:
        return (
            "Several repositories have this first commit, as forks do: name one with `codemem"
            " config`, or register the checkout's remote."
        )
    if named.namespace and not named.repository:
        return _Place(writable[0], None)
    return _as_before(caller, checkout, writable, now=now) or (
        "No repository that you may write to is known by this checkout's remote or first commit."
    )


def _repositories(
    writable: Sequence[UUID], checkout: Checkout, named: Named
) -> list[RepositoryValue]:
    if named.repository:
        return graph.find_repositories(namespace_ids=writable, name=named.repository)
    if not (checkout.remote or checkout.root_commit):
        return []
    return graph.find_repositories_by_alias(
        namespace_ids=writable,
        remote=checkout.remote or None,
        root_commit=checkout.root_commit or None,
    )


def _as_before(
    caller: Caller, checkout: Checkout, writable: Sequence[UUID], *, now: datetime
) -> _Place | None:
    """Return where the caller's last session in this folder was: this one's start was lost."""
    if not checkout.directory or checkout.remote or checkout.root_commit:
        return None
    folder = checkout.directory.rstrip("/\\")
    last = (
        Session.objects.filter(
            user_id=caller.user_id,
            namespace_id__in=writable,
            directory__in=_upwards(folder),
            last_event_at__gte=now - _REMEMBERS_DIRECTORY,
        )
        .order_by("-last_event_at")
        .values_list("namespace_id", "repository_id")
        .first()
    )
    return _Place(*last) if last else None


def _upwards(folder: str) -> list[str]:
    """Return a folder and those that it lies in, without the topmost."""
    parts = folder.replace("\\", "/").split("/")
    return ["/".join(parts[:length]) for length in range(len(parts), 1, -1)][:40]


def _opened(
    caller: Caller, event: HookEvent, place: _Place, *, wanted: Capture, now: datetime
) -> Session:
    """Make the session; of two events that open it at once one does, and both go on with it."""
    settings = Namespace.objects.values_list("settings", flat=True).get(pk=place.namespace_id)
    held = policies.held_in(settings, "capture.")
    rule = CaptureRule.objects.filter(repository=place.repository_id).first()
    at = _time_of(event, now=now)
    new = Session(
        namespace_id=place.namespace_id,
        repository_id=place.repository_id,
        user_id=caller.user_id,
        token_id=caller.token_id,
        agent=event.agent[:40],
        client_session_id=event.session_id[:200],
        capture=strictest(str(held["capture.mode"]), rule.mode if rule else "", wanted),
        is_shared=bool(held["capture.is_shared"]),
        continues=_continued(caller, event, place),
        started_at=at,
        last_event_at=at,
        **_told(event),
    )
    Session.objects.bulk_create([new], ignore_conflicts=True)
    found = _found(caller, event)
    assert found is not None  # made just now, by us or by who was faster
    return found


def _continued(caller: Caller, event: HookEvent, place: _Place) -> Session | None:
    if event.start in (None, Start.STARTUP):
        return None
    return (
        Session.objects.filter(
            user_id=caller.user_id,
            agent=event.agent,
            repository=place.repository_id,
            directory=event.checkout.directory[:1000],
        )
        .order_by("-last_event_at")
        .first()
    )


def _told(event: HookEvent) -> dict[str, str]:
    """Return what an event says of its agent and checkout, without what it leaves out."""
    checkout = event.checkout
    told = {
        "agent_version": event.agent_version[:40],
        "model": event.model[:100],
        "branch": checkout.branch[:255],
        "head_commit": checkout.head[:64],
        "directory": checkout.directory[:1000],
    }
    return {name: storable(value) for name, value in told.items() if value}


def _rule_of(session: Session) -> Sequence[str]:
    rule = getattr(session.repository, "capture_rule", None) if session.repository else None
    return rule.ignored_paths if rule else ()


def _narrow(session: Session, wanted: Capture) -> None:
    """Have a session that became private in the middle stay so; nothing ever widens it."""
    narrowed = strictest(session.capture, wanted)
    if narrowed != session.capture:
        session.capture = narrowed
        Session.objects.filter(pk=session.pk).update(capture=narrowed)


# --- What is kept of it ------------------------------------------------------------------------


def _keep(session: Session, events: Sequence[HookEvent], *, now: datetime) -> list[Observed]:
    """Write the observations that are new and bring the session up to them; return those."""
    _settle_directory(session, events)
    rules = rules_of(session)
    times = [_time_of(event, now=now) for event in events]
    pairs = list(zip(events, times, strict=True))
    is_off = session.capture == Capture.OFF
    seen = [] if is_off else [observe(event, rules=rules, at=at) for event, at in pairs]
    wanted = [one for one in seen if one is not None]
    if not wanted and not _changes_session(session, pairs, now=now):
        return []
    with transaction.atomic():
        # The lock makes one row of one event that fifty tell at once, and the counts right.
        Session.objects.select_for_update(no_key=True).only("pk").get(pk=session.pk)
        kept = _new_ones(session, wanted)
        _write(session, kept, now=now)
        if any(one.kind in _COMPACTIONS for _, one in kept):
            _checkpoint(session, events, now=now)
        _update(session, pairs, [one for _, one in kept], now=now)
    return [one for _, one in kept]


def _settle_directory(session: Session, events: Sequence[HookEvent]) -> None:
    for event in events:
        is_start = event.kind is EventKind.SESSION_START
        if event.checkout.directory and (is_start or not session.directory):
            session.directory = storable(event.checkout.directory[:1000])


def _new_ones(session: Session, wanted: Sequence[Observed]) -> list[tuple[str, Observed]]:
    """Return what is not there yet, with the key that it gets. One query."""
    keys = [key for one in wanted for key in one.keys]
    if not keys:
        return []
    rows = Observation.objects.filter(session_id=session.pk, key__in=keys)
    taken = {
        key: (happened_at, received_at > happened_at)
        for key, happened_at, received_at in rows.values_list("key", "happened_at", "received_at")
    }
    new: list[tuple[str, Observed]] = []
    for one in wanted:
        if (key := _free_key(one, taken)) is not None:
            taken[key] = (one.happened_at, one.is_spooled)
            new.append((key, one))
    return new


def _free_key(one: Observed, taken: Mapping[str, tuple[datetime, bool]]) -> str | None:
    for key in one.keys:
        if key not in taken:
            return key
        happened_at, was_spooled = taken[key]
        is_by_two_clocks = was_spooled != one.is_spooled
        within = _TWICE_WITHIN_WHEN_SPOOLED if is_by_two_clocks else _TWICE_WITHIN
        if abs(one.happened_at - happened_at) <= within:
            return None
    return None


def _write(session: Session, kept: Sequence[tuple[str, Observed]], *, now: datetime) -> None:
    if not kept:
        return
    Observation.objects.bulk_create(
        Observation(
            session_id=session.pk,
            namespace_id=session.namespace_id,
            key=key,
            kind=one.kind.value,
            tier=one.tier.value,
            tool=storable(one.tool),
            tool_use_id=storable(one.tool_use_id),
            subagent_id=storable(one.subagent_id),
            subagent_type=storable(one.subagent_type),
            paths=list(one.paths),
            command=one.command,
            content=one.content,
            is_failure=one.is_failure,
            exit_code=one.exit_code,
            original_bytes=one.original_bytes,
            redactions=one.redactions,
            happened_at=one.happened_at,
            received_at=now,
            tokens=one.tokens,
        )
        for key, one in kept
    )


def _checkpoint(session: Session, events: Sequence[HookEvent], *, now: datetime) -> None:
    """Keep where a session stands before it is compacted, and its client's own summary after."""
    if session.capture != Capture.FULL:
        return
    for event in events:
        if event.kind is EventKind.COMPACTION_START:
            checkpoints.checkpoint(
                session_id=session.pk, origin=Checkpoint.Origin.BEFORE_COMPACTION, now=now
            )
        if event.kind is EventKind.COMPACTION_END and event.text:
            checkpoints.checkpoint(
                session_id=session.pk,
                origin=Checkpoint.Origin.COMPACTION,
                now=now,
                baton=Baton(summary=storable(event.text[:_SUMMARY_CHARACTERS])),
            )


def _changes_session(
    session: Session, pairs: Sequence[tuple[HookEvent, datetime]], *, now: datetime
) -> bool:
    """Tell whether events of which nothing is kept change the session all the same."""
    lasting = (EventKind.SESSION_START, EventKind.SESSION_END, EventKind.COMPACTION_END)
    times = [_heard_at(at, now=now) for _, at in pairs]
    is_due = max(times) - session.last_event_at >= _TOUCHED_EVERY
    return is_due or any(event.kind in lasting or _reopens(session, event) for event, _ in pairs)


def _update(
    session: Session,
    pairs: Sequence[tuple[HookEvent, datetime]],
    kept: Sequence[Observed],
    *,
    now: datetime,
) -> None:
    """Count what was kept, and note the end or the going on of the session. One query."""
    changes: dict[str, object] = {}
    for event, at in pairs:
        changes |= _passed(session, event, at)
    if kept_title := _title(session, pairs):
        changes["title"] = kept_title
    last = max(session.last_event_at, *(_heard_at(at, now=now) for _, at in pairs))
    counts = _counts(kept)
    for name, value in changes.items():
        setattr(session, name, value)
    session.last_event_at = last
    Session.objects.filter(pk=session.pk).update(
        last_event_at=last,
        **changes,
        **{name: F(name) + count for name, count in counts.items() if count},
    )


def _passed(session: Session, event: HookEvent, at: datetime) -> dict[str, object]:
    if event.kind is EventKind.SESSION_END:
        return {
            "ended_at": max(at, session.started_at),
            "end_reason": storable(event.reason or "ended")[:40],
        }
    changes: dict[str, object] = {}
    if event.kind is EventKind.SESSION_START:
        changes |= _told(event)
    if _reopens(session, event):
        changes |= {"ended_at": None, "end_reason": "", "distilled_at": None}
    return changes


def _reopens(session: Session, event: HookEvent) -> bool:
    """Tell whether a session that had ended goes on; what was only late does not reopen it."""
    going_on = (EventKind.SESSION_START, EventKind.PROMPT, EventKind.TOOL_START)
    if session.ended_at is None or event.kind is EventKind.SESSION_END:
        return False
    is_late = event.happened_at is not None and event.happened_at <= session.ended_at
    return (event.kind in going_on and not is_late) or session.end_reason == SILENCE


def _title(session: Session, pairs: Sequence[tuple[HookEvent, datetime]]) -> str:
    if session.title or session.capture != Capture.FULL:
        return ""
    prompts = (event.prompt for event, _ in pairs if event.kind is EventKind.PROMPT)
    return title_of(next(prompts, ""))


def _counts(kept: Sequence[Observed]) -> dict[str, int]:
    return {
        "prompts": sum(one.kind is EventKind.PROMPT for one in kept),
        "reads": sum(one.doing is Doing.READ for one in kept),
        "changes": sum(one.doing in (Doing.EDIT, Doing.RUN) for one in kept),
        "failures": sum(one.is_failure for one in kept),
    }


def _time_of(event: HookEvent, *, now: datetime) -> datetime:
    """Return when it happened: now, or what the client's clock says where that can be true."""
    said = event.happened_at
    if said is None or said > now or said < now - _OLDEST_SPOOLED:
        return now
    return said


def _heard_at(at: datetime, *, now: datetime) -> datetime:
    """Return when the session was last heard of: a client's clock that is slow must not end it."""
    return now if now - at < _SLOWEST_CLOCK else at


# --- What is answered --------------------------------------------------------------------------


def _answer(
    caller: Caller, session: Session, events: Sequence[HookEvent], *, now: datetime
) -> HookAnswer:
    answer = HookAnswer(session_id=session.pk)
    # Of a private session it is not noted what was told, so nothing could be told only once.
    is_private = session.capture == Capture.OFF
    for event in events:
        # What waited in a spool has nobody who reads an answer.
        if event.happened_at is not None:
            continue
        match event.kind:
            case EventKind.SESSION_START:
                context = opening.opening_context(
                    caller=caller, session=session, start=event.start or Start.STARTUP, now=now
                )
                answer = replace(answer, context=context)
            case EventKind.PROMPT if not is_private:
                context = asides.beside_prompt(
                    caller=caller, session=session, prompt=event.prompt, now=now
                )
                answer = replace(answer, context=context)
            case EventKind.TOOL_START if not is_private and event.tool is not None:
                tool = tool_inside(session, event)
                told = asides.before_edit(caller=caller, session=session, tool=tool, now=now)
                warning = _warning(caller, session, tool, event, now=now)
                answer = replace(
                    answer,
                    context=_joined(answer.context, told),
                    warning=_joined(answer.warning, warning),
                )
    return answer


def _joined(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


def _warning(
    caller: Caller, session: Session, tool: ToolUse, event: HookEvent, *, now: datetime
) -> str:
    """Return what failed before with what a tool is about to do, and keep that it was told."""
    warnings = failures.warnings_before(caller=caller, session=session, tool=tool, now=now)
    if warnings:
        shown = [
            opening.Shown(
                kind="failure", lines=(one.text,), reason=one.reason, memory_id=one.memory_id
            )
            for one in warnings
        ]
        opening.keep_reasons(session=session, event=event.kind, shown=shown, now=now)
    return _joined(*(one.text for one in warnings))


def tool_inside(session: Session, event: HookEvent) -> ToolUse:
    """Return an event's tool with its paths relative to the work tree."""
    assert event.tool is not None
    return replace(event.tool, paths=paths_of(event.tool, event, rules_of(session)))
