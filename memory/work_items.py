"""Work that spans sessions: what it is for, what is done, what remains, and when it is over.

An item is its owner's alone unless they share it; then every member of the namespace sees it, and
whoever may write there may move it on. The filters are in SQL, in `visible_items`.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Q, QuerySet

from codemem.accounts import services as accounts
from codemem.accounts.models import Namespace
from codemem.accounts.values import Action, Caller
from graph.models import Repository
from memory.baton import LONGEST_SUMMARY, MOST_FILES, cleaned_parts
from memory.models import Session, WorkItem
from memory.safety import Screen
from memory.services.drafting import RepositoryUnknown
from memory.services.rights import RightMissing, require
from memory.wording import MemoryInvalid, valid_text

State = WorkItem.State

MAXIMUM_LISTED: Final = 50
LONGEST_TITLE: Final = 200
LONGEST_BRANCH: Final = 255
UNDER_WAY: Final = (State.OPEN, State.PAUSED)

_ENDED: Final = (State.DONE, State.CANCELLED)


class WorkUnknown(Exception):
    """There is no such work item, or not for this caller: the two are never told apart."""


class WorkEnded(Exception):
    """The item is done or cancelled; it is opened again before anything is added to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkTexts:
    """What is said of an item; None leaves what is there as it is."""

    title: str | None = None
    goal: str | None = None
    done: Collection[str] | None = None
    remaining: Collection[str] | None = None
    open_questions: Collection[str] | None = None
    files: Collection[str] | None = None
    is_shared: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkValue:
    """One item as tools show it."""

    id: UUID
    namespace_id: UUID
    namespace: str
    repository: str | None
    branch: str
    title: str
    goal: str
    done: tuple[str, ...]
    remaining: tuple[str, ...]
    open_questions: tuple[str, ...]
    files: tuple[str, ...]
    state: str
    is_shared: bool
    owner: str
    sessions: int  # how many of them were at work on it
    created_at: datetime
    updated_at: datetime
    ended_at: datetime | None


def open_item(
    *,
    caller: Caller,
    namespace_id: UUID,
    texts: WorkTexts,
    now: datetime,
    repository_id: UUID | None = None,
    branch: str = "",
    session_id: UUID | None = None,
) -> WorkValue:
    """Open an item, and tie the session to it that is at work on it; the same title is one item.

    Raise NamespaceUnknown, RightMissing, RepositoryUnknown, MemoryInvalid.
    """
    require(caller=caller, action=Action.WRITE_MEMORY, namespace_id=namespace_id)
    _require_repository(namespace_id, repository_id)
    if len(branch) > LONGEST_BRANCH:
        raise MemoryInvalid(f"The branch name is longer than {LONGEST_BRANCH} characters.")
    fields = _cleaned(replace(texts, title=texts.title or ""))
    with transaction.atomic():
        # Two agents that open the same at once: the second waits here, and finds the first's.
        namespace = Namespace.objects.select_for_update(no_key=True).get(pk=namespace_id)
        item = _mine_of_that_title(caller, namespace_id, repository_id, str(fields["title"]))
        if item is None:
            item = WorkItem.objects.create(
                namespace=namespace,
                repository_id=repository_id,
                branch=branch,
                owner_id=caller.user_id,
                created_at=now,
                updated_at=now,
                **fields,
            )
            _record(caller, item, "work.open")
        else:
            _write(item, fields, now=now)
        _tie_session(caller, item, session_id)
    return get_item(caller=caller, item_id=item.pk)


def update_item(
    *,
    caller: Caller,
    item_id: UUID,
    texts: WorkTexts,
    now: datetime,
    session_id: UUID | None = None,
) -> WorkValue:
    """Say what is so now; fields that are None stay. Raise WorkUnknown, WorkEnded, MemoryInvalid.

    Only the owner says who else may see it: RightMissing for others.
    """
    fields = _cleaned(texts)
    with transaction.atomic():
        item = _locked(caller, item_id)
        if item.state in _ENDED:
            raise WorkEnded(f"The work is {item.state}; resume it first.")
        if "is_shared" in fields and item.owner_id != caller.user_id:
            raise _owners_only()
        _write(item, fields, now=now)
        _tie_session(caller, item, session_id)
    return get_item(caller=caller, item_id=item_id)


def change_state(
    *, caller: Caller, item_id: UUID, state: WorkItem.State | str, now: datetime
) -> WorkValue:
    """Pause, resume, complete or cancel; the same state again is no change.

    Cancelling is the owner's. Raise WorkUnknown, RightMissing.
    """
    wanted = State(state)
    with transaction.atomic():
        item = _locked(caller, item_id)
        if wanted is State.CANCELLED and item.owner_id != caller.user_id:
            raise _owners_only()
        if item.state != wanted:
            _record(caller, item, f"work.{wanted}", {"from": item.state})
            item.state = wanted
            item.updated_at = now
            item.ended_at = now if wanted in _ENDED else None
            item.save(update_fields=["state", "updated_at", "ended_at"])
    return get_item(caller=caller, item_id=item_id)


def get_item(*, caller: Caller, item_id: UUID) -> WorkValue:
    """Return one item; raise WorkUnknown. One query."""
    row = _shown(visible_items(caller=caller)).filter(pk=item_id).first()
    if row is None:
        raise unknown(item_id)
    return _value(row)


def list_items(
    *,
    caller: Caller,
    namespace_ids: Iterable[UUID],
    repository_id: UUID | None = None,
    states: Collection[str] = UNDER_WAY,
    limit: int = 20,
) -> list[WorkValue]:
    """Return the items of a scope that the caller sees, moved on last first. One query."""
    rows = visible_items(caller=caller).filter(
        namespace_id__in=list(namespace_ids), state__in=list(states)
    )
    if repository_id is not None:
        rows = rows.filter(Q(repository_id=repository_id) | Q(repository_id=None))
    newest = _shown(rows).order_by("-updated_at", "-id")[: min(limit, MAXIMUM_LISTED)]
    return [_value(row) for row in newest]


def visible_items(*, caller: Caller, action: Action = Action.READ_MEMORY) -> QuerySet[WorkItem]:
    """Return the items that the caller may do `action` with: their own, and shared ones."""
    return WorkItem.objects.filter(
        Q(owner_id=caller.user_id) | Q(is_shared=True),
        namespace_id__in=caller.namespaces_for(action),
    )


def unknown(item_id: object) -> WorkUnknown:
    return WorkUnknown(f"There is no work item {item_id} here, or not for you.")


def _cleaned(texts: WorkTexts) -> dict[str, object]:
    """Return the fields that are to be written; raise MemoryInvalid."""
    screen = Screen()
    fields: dict[str, object] = {}
    if texts.title is not None:
        title = valid_text("title", texts.title, maximum_characters=LONGEST_TITLE)
        fields["title"] = " ".join(screen.text(title).split())[:LONGEST_TITLE]
        if not fields["title"]:
            raise MemoryInvalid("Work needs a title.")
    if texts.goal is not None:
        goal = valid_text("goal", texts.goal, maximum_characters=LONGEST_SUMMARY)
        fields["goal"] = screen.text(goal).strip()
    for name in ("done", "remaining", "open_questions"):
        given = getattr(texts, name)
        if given is not None:
            fields[name] = list(cleaned_parts(name, given, screen))
    if texts.files is not None:
        fields["files"] = list(cleaned_parts("files", texts.files, screen, most=MOST_FILES))
    if texts.is_shared is not None:
        fields["is_shared"] = texts.is_shared
    return fields


def _write(item: WorkItem, fields: dict[str, object], *, now: datetime) -> None:
    for name, value in fields.items():
        setattr(item, name, value)
    item.updated_at = now
    item.save(update_fields=[*fields, "updated_at"])


def _locked(caller: Caller, item_id: UUID) -> WorkItem:
    """Return the item for the rest of the transaction; raise WorkUnknown or RightMissing."""
    row = visible_items(caller=caller).select_for_update(of=("self",)).filter(pk=item_id).first()
    if row is None:
        raise unknown(item_id)
    require(caller=caller, action=Action.WRITE_MEMORY, namespace_id=row.namespace_id)
    return row


def _mine_of_that_title(
    caller: Caller, namespace_id: UUID, repository_id: UUID | None, title: str
) -> WorkItem | None:
    rows = WorkItem.objects.filter(
        Q(repository_id=repository_id),
        owner_id=caller.user_id,
        namespace_id=namespace_id,
        title__iexact=title,
        state__in=UNDER_WAY,
    )
    return rows.order_by("-updated_at").first()


def _tie_session(caller: Caller, item: WorkItem, session_id: UUID | None) -> None:
    if session_id is not None:
        Session.objects.filter(
            pk=session_id, user_id=caller.user_id, namespace_id=item.namespace_id
        ).update(work_item=item)


def _require_repository(namespace_id: UUID, repository_id: UUID | None) -> None:
    if repository_id is None:
        return
    if not Repository.objects.filter(pk=repository_id, namespace_id=namespace_id).exists():
        raise RepositoryUnknown(f"There is no repository {repository_id} in this namespace.")


def _record(
    caller: Caller, item: WorkItem, action: str, detail: dict[str, object] | None = None
) -> None:
    accounts.record(
        actor=caller.username,
        action=action,
        namespace=item.namespace,
        target=str(item.pk),
        token_id=caller.token_id,
        detail=detail,
    )


def _owners_only() -> RightMissing:
    return RightMissing("Only the owner of the work shares, unshares or cancels it.")


def _shown(rows: QuerySet[WorkItem]) -> QuerySet[WorkItem]:
    return rows.select_related("namespace", "repository", "owner").annotate(
        worked_on=Count("sessions")
    )


def _value(row: WorkItem) -> WorkValue:
    return WorkValue(
        id=row.pk,
        namespace_id=row.namespace_id,
        namespace=row.namespace.name,
        repository=row.repository.name if row.repository else None,
        branch=row.branch,
        title=row.title,
        goal=row.goal,
        done=tuple(row.done),
        remaining=tuple(row.remaining),
        open_questions=tuple(row.open_questions),
        files=tuple(row.files),
        state=row.state,
        is_shared=row.is_shared,
        owner=row.owner.username,
        sessions=row.worked_on,  # type: ignore[attr-defined]  # annotated by _shown
        created_at=row.created_at,
        updated_at=row.updated_at,
        ended_at=row.ended_at,
    )
