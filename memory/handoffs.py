"""Handoffs: what one session leaves to the next, told by its existence, read by who claims it.

Offers carry no text that somebody wrote: who, when, where and the id. Claiming by that id is one
conditional UPDATE, so that of many who try one gets it. Filters are in SQL (`_claimable`).
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Case, Q, QuerySet, When

from codemem import policies
from codemem.accounts import queries as accounts_queries
from codemem.accounts import services as accounts
from codemem.accounts.values import PERMISSIONS, Action, Caller
from graph.models import Repository
from memory.baton import Baton, baton_of, cleaned_baton
from memory.checkpoints import happenings_of
from memory.models import Handoff, Session
from memory.safety import orders_in
from memory.services.drafting import RepositoryUnknown
from memory.services.rights import RightMissing, require
from memory.wording import MemoryInvalid
from memory.work_items import unknown as work_unknown
from memory.work_items import visible_items

State = Handoff.State

QUIET: Final = timedelta(minutes=10)
MOST_OFFERS: Final = 20
FEWEST_READS: Final = 3

_LONGEST_BRANCH: Final = 255
_LONGEST_AGENT: Final = 100
_SWEPT_AT_ONCE: Final = 500
_AUTOMATIC_ONCE: Final = "handoff_automatic_once_per_session"
_SCHEDULE: Final = "schedule"


class HandoffUnknown(Exception):
    """There is no such handoff, or not for this caller: the two are never told apart."""


class HandoffTaken(Exception):
    """It is not to be had any more: claimed, cancelled or expired; the message says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A handoff that waits, without a word of its text."""

    id: UUID
    author: str
    agent: str
    is_automatic: bool
    is_to_me: bool  # by name
    is_shared: bool
    namespace_id: UUID
    repository: str | None
    branch: str
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffValue:
    """A handoff with its text, for its author and for who claimed it."""

    id: UUID
    state: str
    author: str
    agent: str
    to: str | None
    is_automatic: bool
    is_shared: bool
    namespace_id: UUID
    namespace: str
    repository: str | None
    branch: str
    work_item: UUID | None
    baton: Baton
    flags: tuple[str, ...]  # ways in which its text gives orders to agents
    created_at: datetime
    expires_at: datetime
    redactions: int = 0  # secrets taken out while it was written
    claimed_by: str | None = None
    claimed_at: datetime | None = None


# --- Writing --------------------------------------------------------------------------------------
def write_handoff(
    *,
    caller: Caller,
    namespace_id: UUID,
    baton: Baton,
    now: datetime,
    repository_id: UUID | None = None,
    branch: str = "",
    to: str | None = None,
    is_shared: bool = False,
    session_id: UUID | None = None,
    work_item_id: UUID | None = None,
    agent: str = "",
) -> HandoffValue:
    """Offer what is left to one's next session, to a member by name, or to all (`is_shared`).

    The same texts for the same reader are one offer. Raise NamespaceUnknown, RightMissing,
    RepositoryUnknown, WorkUnknown, MemoryInvalid.
    """
    require(caller=caller, action=Action.WRITE_MEMORY, namespace_id=namespace_id)
    _require_repository(namespace_id, repository_id)
    if len(branch) > _LONGEST_BRANCH:
        raise MemoryInvalid(f"The branch name is longer than {_LONGEST_BRANCH} characters.")
    to_user_id = _addressee(namespace_id, to)
    if work_item_id is not None:
        _require_work(caller, namespace_id, work_item_id)
    clean = cleaned_baton(baton)
    fields: dict[str, Any] = {
        "namespace_id": namespace_id,
        "author_id": caller.user_id,
        "to_user_id": to_user_id,
        "is_shared": is_shared,
        "is_automatic": False,
        **_texts(clean.baton),
    }
    with transaction.atomic():
        row = Handoff.objects.filter(state=State.OFFERED, **fields).first()
        if row is None:
            row = Handoff.objects.create(
                repository_id=repository_id,
                branch=branch,
                session_id=_own_session(caller, namespace_id, session_id),
                work_item_id=work_item_id,
                agent=agent[:_LONGEST_AGENT],
                created_at=now,
                expires_at=_expiry(namespace_id, now=now),
                **fields,
            )
            _record(row, "handoff.write", caller, {"to": to or ("all" if is_shared else "")})
    return _value(_shown_one(row.pk), redactions=sum(clean.redactions.values()))


def offer_automatic(*, session_id: UUID, now: datetime) -> UUID | None:
    """Offer what a session left, read from what was captured of it; None where there is nothing.

    For its user's next session alone, unless the namespace shares those (`handoffs.share`). Not
    where the agent wrote one itself, and not for a session that did nothing: a prompt, and a change
    or three reads, is the least. A second time, as when a session went on and ended again, the
    offer is brought up to date. Offers of the same user, repository and branch that this session
    found when it began, and left, have had their chance: they expire.
    """
    session = Session.objects.select_related("namespace").filter(pk=session_id).first()
    if session is None or not is_worth_keeping(session):
        return None
    held = policies.values([session.namespace_id], "handoffs.")[session.namespace_id]
    if not held["handoffs.automatic"] or _has_written(session):
        return None
    clean = cleaned_baton(baton_of(happenings_of(session_id=session_id)), needs_summary=False)
    if not clean.baton.summary:
        return None
    with transaction.atomic():
        # One at a time for a session: the sweep and its last event may come together.
        Session.objects.select_for_update(no_key=True).get(pk=session_id)
        row = _automatic_of(session)
        if row is None:
            row = Handoff(
                session=session,
                author_id=session.user_id,
                is_automatic=True,
                is_shared=bool(held["handoffs.share"]),
                created_at=now,
            )
        row.namespace_id = session.namespace_id
        row.repository_id = session.repository_id
        row.branch = session.branch
        row.work_item_id = session.work_item_id
        row.agent = f"{session.agent} {session.agent_version}".strip()[:_LONGEST_AGENT]
        row.expires_at = now + timedelta(days=int(held["handoffs.expire_days"]))
        for name, value in _texts(clean.baton).items():
            setattr(row, name, value)
        row.save()
        _expire_passed_over(session, now=now)
    return row.pk


def is_worth_keeping(session: Session) -> bool:
    """Say whether a session did enough to be summed up: a prompt, and a change or three reads."""
    return session.prompts > 0 and (session.changes > 0 or session.reads >= FEWEST_READS)


# --- Offers and claims ----------------------------------------------------------------------------
def offers(
    *,
    caller: Caller,
    namespace_ids: Collection[UUID],
    repository_id: UUID | None,
    now: datetime,
    session_id: UUID | None = None,
) -> list[Offer]:
    """Return what waits for the caller, newest first, what names them before all; at most twenty.

    `session_id` leaves out what that session itself wrote. An automatic one of a session that is
    still alive waits for ten minutes of quiet: its own agent is the one to go on. One query.
    """
    rows = _offered(now=now).filter(_claimable(caller), namespace_id__in=list(namespace_ids))
    rows = rows.filter(namespace_id__in=caller.namespaces_for(Action.READ_MEMORY))
    if repository_id is not None:
        rows = rows.filter(Q(repository_id=repository_id) | Q(repository_id=None))
    if session_id is not None:
        rows = rows.exclude(session_id=session_id)
    rows = rows.filter(
        Q(is_automatic=False)
        | Q(session=None)
        | Q(session__ended_at__isnull=False)
        | Q(session__last_event_at__lte=now - QUIET)
    )
    is_to_me = Case(When(to_user_id=caller.user_id, then=0), default=1)
    newest = rows.select_related("author", "repository").order_by(is_to_me, "-created_at", "-id")
    return [_offer(row, caller) for row in newest[:MOST_OFFERS]]


def own_handoffs(
    *, caller: Caller, namespace_id: UUID, session_id: UUID | None = None, limit: int = 50
) -> list[HandoffValue]:
    """Return what the caller wrote or has claimed, with its text, newest first. One query.

    `session_id` narrows that to what one session left.
    """
    rows = Handoff.objects.filter(
        Q(author_id=caller.user_id) | Q(claimed_by_id=caller.user_id, state=State.CLAIMED),
        namespace_id=namespace_id,
    ).filter(namespace_id__in=caller.namespaces_for(Action.READ_MEMORY))
    if session_id is not None:
        rows = rows.filter(session_id=session_id)
    newest = rows.select_related("namespace", "repository", "author", "to_user", "claimed_by")
    return [_value(row) for row in newest.order_by("-created_at", "-id")[:limit]]


def claim(
    *,
    caller: Caller,
    handoff_id: UUID,
    now: datetime,
    namespace_ids: Iterable[UUID],
    session_id: UUID | None = None,
) -> HandoffValue:
    """Take a handoff, by its exact id, and return its text; nobody else gets it then.

    The session that has it may ask again, as when its first answer was lost. Raise HandoffUnknown,
    HandoffTaken, RightMissing.
    """
    seen = _seen(caller, handoff_id, namespace_ids)
    require(caller=caller, action=Action.WRITE_MEMORY, namespace_id=seen.namespace_id)
    mine = _own_session(caller, seen.namespace_id, session_id)
    with transaction.atomic():
        # The condition is in the statement: of many who claim at once, one finds it offered.
        taken = (
            _offered(now=now)
            .filter(_claimable(caller), pk=handoff_id)
            .update(
                state=State.CLAIMED,
                claimed_by_id=caller.user_id,
                claimed_in_id=mine,
                claimed_at=now,
            )
        )
        if taken:
            _record(seen, "handoff.claim", caller, {"author": seen.author.username})
    row = _shown_one(handoff_id)
    if not taken and not _is_held_by(row, caller, mine):
        raise _taken(row, caller, now=now)
    return _value(row)


def release(
    *, caller: Caller, handoff_id: UUID, now: datetime, namespace_ids: Iterable[UUID]
) -> HandoffValue:
    """Give a claimed handoff back, so that it is offered as before; by who claimed it.

    Raise HandoffUnknown, HandoffTaken.
    """
    seen = _seen(caller, handoff_id, namespace_ids)
    require(caller=caller, action=Action.WRITE_MEMORY, namespace_id=seen.namespace_id)
    ends = max(seen.expires_at, _expiry(seen.namespace_id, now=now))
    held = Handoff.objects.filter(pk=handoff_id, state=State.CLAIMED, claimed_by_id=caller.user_id)
    back = {"claimed_by": None, "claimed_in": None, "claimed_at": None, "expires_at": ends}
    try:
        with transaction.atomic():
            if not held.update(state=State.OFFERED, **back):
                raise _not_yours(_shown_one(handoff_id))
            _record(seen, "handoff.release", caller)
    except IntegrityError as error:
        if _AUTOMATIC_ONCE not in str(error):
            raise
        raise HandoffTaken(
            "Its session went on and has left a newer handoff; that one is offered."
        ) from error
    return _value(_shown_one(handoff_id))


def cancel(*, caller: Caller, handoff_id: UUID, namespace_ids: Iterable[UUID]) -> HandoffValue:
    """Withdraw an offer: its author, or decline it: who it names. Raise HandoffUnknown or Taken."""
    seen = _seen(caller, handoff_id, namespace_ids)
    require(caller=caller, action=Action.WRITE_MEMORY, namespace_id=seen.namespace_id)
    if caller.user_id not in {seen.author_id, seen.to_user_id}:
        raise RightMissing("Only who wrote a handoff, or who it is for, cancels it.")
    with transaction.atomic():
        offered = Handoff.objects.filter(pk=handoff_id, state=State.OFFERED)
        if offered.update(state=State.CANCELLED):
            _record(seen, "handoff.cancel", caller)
    row = _shown_one(handoff_id)
    if row.state != State.CANCELLED:
        raise _taken(row, caller, now=row.expires_at)
    return _value(row)


def expire_due(*, now: datetime) -> int:
    """Mark offers whose time is over; reads leave them out already. Safe to run twice."""
    expired = 0
    while True:
        due = Handoff.objects.filter(state=State.OFFERED, expires_at__lte=now)
        ids = list(due.values_list("pk", flat=True)[:_SWEPT_AT_ONCE])
        swept = _expire(Handoff.objects.filter(pk__in=ids)) if ids else 0
        expired += swept
        # What another process has in hand is swept by that one, or the next time.
        if not swept:
            return expired


# --- Conditions -----------------------------------------------------------------------------------
def _offered(*, now: datetime) -> QuerySet[Handoff]:
    return Handoff.objects.filter(state=State.OFFERED, expires_at__gt=now)


def _claimable(caller: Caller) -> Q:
    """Return the condition that a handoff is for the caller: by name, for all, or their own."""
    own = Q(author_id=caller.user_id, to_user=None)
    return Q(to_user_id=caller.user_id) | Q(is_shared=True) | own


def _seen(caller: Caller, handoff_id: UUID, namespace_ids: Iterable[UUID]) -> Handoff:
    """Return a handoff that the caller may know of; raise HandoffUnknown."""
    readable = set(caller.namespaces_for(Action.READ_MEMORY)) & set(namespace_ids)
    row = (
        Handoff.objects.select_related("namespace", "author")
        .filter(_claimable(caller) | Q(author_id=caller.user_id))
        .filter(pk=handoff_id, namespace_id__in=readable)
        .first()
    )
    if row is None:
        raise HandoffUnknown(f"There is no handoff {handoff_id} here, or not for you.")
    return row


def _is_held_by(row: Handoff, caller: Caller, session_id: UUID | None) -> bool:
    is_theirs = row.state == State.CLAIMED and row.claimed_by_id == caller.user_id
    return is_theirs and session_id is not None and row.claimed_in_id == session_id


def _taken(row: Handoff, caller: Caller, *, now: datetime) -> HandoffTaken:
    if row.state == State.CLAIMED:
        who = "you" if row.claimed_by_id == caller.user_id else _name(row)
        at = row.claimed_at.isoformat(timespec="seconds") if row.claimed_at else "another time"
        mend = " Release it to claim it again." if who == "you" else ""
        return HandoffTaken(f"It was claimed by {who} at {at}.{mend}")
    if row.state == State.OFFERED and row.expires_at > now:
        # To somebody else by name: its author may withdraw it, and not claim it.
        return HandoffTaken("It is for somebody else; you may cancel it.")
    is_past = row.state == State.OFFERED
    return HandoffTaken(f"It is {State.EXPIRED if is_past else row.state}.")


def _not_yours(row: Handoff) -> HandoffTaken:
    if row.state == State.CLAIMED:
        return HandoffTaken(f"It was claimed by {_name(row)}, who alone gives it back.")
    return HandoffTaken(f"It is {row.state}: nobody has it.")


def _name(row: Handoff) -> str:
    return row.claimed_by.username if row.claimed_by else "somebody who has left"


# --- Parts ----------------------------------------------------------------------------------------
def _addressee(namespace_id: UUID, username: str | None) -> int | None:
    """Return the member that is named; raise MemoryInvalid for who could not claim it."""
    if username is None:
        return None
    member = accounts_queries.find_member(namespace_id=namespace_id, username=username)
    if member is None:
        raise MemoryInvalid(f"The namespace has no member {username!r} to hand over to.")
    role = PERMISSIONS[Action.WRITE_MEMORY].role
    if member.role < role:
        raise MemoryInvalid(f"{username} may not claim it: that takes the role {role.title}.")
    return member.user_id


def _require_repository(namespace_id: UUID, repository_id: UUID | None) -> None:
    if repository_id is None:
        return
    if not Repository.objects.filter(pk=repository_id, namespace_id=namespace_id).exists():
        raise RepositoryUnknown(f"There is no repository {repository_id} in this namespace.")


def _require_work(caller: Caller, namespace_id: UUID, work_item_id: UUID) -> None:
    mine = visible_items(caller=caller).filter(pk=work_item_id, namespace_id=namespace_id)
    if not mine.exists():
        raise work_unknown(work_item_id)


def _own_session(caller: Caller, namespace_id: UUID, session_id: UUID | None) -> UUID | None:
    if session_id is None:
        return None
    rows = Session.objects.filter(pk=session_id, user_id=caller.user_id, namespace_id=namespace_id)
    return session_id if rows.exists() else None


def _has_written(session: Session) -> bool:
    """Say whether the session's agent wrote a handoff itself."""
    rows = Handoff.objects.filter(session=session, is_automatic=False)
    return rows.exclude(state=State.CANCELLED).exists()


def _automatic_of(session: Session) -> Handoff | None:
    return Handoff.objects.filter(session=session, is_automatic=True, state=State.OFFERED).first()


def _expire_passed_over(session: Session, *, now: datetime) -> None:
    older = Handoff.objects.filter(
        Q(repository_id=session.repository_id),
        namespace_id=session.namespace_id,
        branch=session.branch,
        author_id=session.user_id,
        is_automatic=True,
        state=State.OFFERED,
        session__ended_at__lt=session.started_at,
        expires_at__gt=now,
    )
    _expire(older.exclude(session=session))


@transaction.atomic
def _expire(rows: QuerySet[Handoff]) -> int:
    locked = list(
        rows.filter(state=State.OFFERED)
        .select_related("namespace")
        .select_for_update(of=("self",), skip_locked=True)
    )
    for row in locked:
        _record(row, "handoff.expire", None)
    return Handoff.objects.filter(pk__in=[row.pk for row in locked]).update(state=State.EXPIRED)


def _expiry(namespace_id: UUID, *, now: datetime) -> datetime:
    return now + timedelta(days=policies.count(namespace_id, "handoffs.expire_days"))


def _record(
    row: Handoff, action: str, caller: Caller | None, detail: dict[str, object] | None = None
) -> None:
    accounts.record(
        actor=caller.username if caller else _SCHEDULE,
        action=action,
        namespace=row.namespace,
        target=str(row.pk),
        token_id=caller.token_id if caller else None,
        detail={name: value for name, value in (detail or {}).items() if value},
    )


def _texts(baton: Baton) -> dict[str, object]:
    return {
        "summary": baton.summary,
        "done": list(baton.done),
        "open_questions": list(baton.open_questions),
        "next_steps": list(baton.next_steps),
        "files": list(baton.files),
    }


def _shown_one(handoff_id: UUID) -> Handoff:
    return Handoff.objects.select_related(
        "namespace", "repository", "author", "to_user", "claimed_by"
    ).get(pk=handoff_id)


def _offer(row: Handoff, caller: Caller) -> Offer:
    return Offer(
        id=row.pk,
        author=row.author.username,
        agent=row.agent,
        is_automatic=row.is_automatic,
        is_to_me=row.to_user_id == caller.user_id,
        is_shared=row.is_shared,
        namespace_id=row.namespace_id,
        repository=row.repository.name if row.repository else None,
        branch=row.branch,
        created_at=row.created_at,
        expires_at=row.expires_at,
    )


def _value(row: Handoff, *, redactions: int = 0) -> HandoffValue:
    baton = Baton(
        summary=row.summary,
        done=tuple(row.done),
        open_questions=tuple(row.open_questions),
        next_steps=tuple(row.next_steps),
        files=tuple(row.files),
    )
    texts = (baton.summary, *baton.done, *baton.open_questions, *baton.next_steps, *baton.files)
    return HandoffValue(
        id=row.pk,
        state=row.state,
        author=row.author.username,
        agent=row.agent,
        to=row.to_user.username if row.to_user else None,
        is_automatic=row.is_automatic,
        is_shared=row.is_shared,
        namespace_id=row.namespace_id,
        namespace=row.namespace.name,
        repository=row.repository.name if row.repository else None,
        branch=row.branch,
        work_item=row.work_item_id,
        baton=baton,
        flags=tuple(dict.fromkeys(name for text in texts for name in orders_in(text))),
        created_at=row.created_at,
        expires_at=row.expires_at,
        redactions=redactions,
        claimed_by=row.claimed_by.username if row.claimed_by else None,
        claimed_at=row.claimed_at,
    )
