"""Work that goes on: handoffs that wait, what one holds or left, and items that span sessions."""

from uuid import UUID

from django.http import Http404, HttpResponse

from codemem.accounts import queries as accounts
from codemem.accounts.values import PERMISSIONS, Action
from codemem.console.access import Visit
from codemem.console.refusals import InputRefused, register
from graph import queries as graph
from memory import handoffs, services, work_items
from memory.baton import Baton
from memory.work_items import WorkTexts

register(
    unknown=(handoffs.HandoffUnknown, work_items.WorkUnknown),
    refused=(handoffs.HandoffTaken, work_items.WorkEnded),
)

_STATES = {
    "pause": work_items.State.PAUSED,
    "resume": work_items.State.OPEN,
    "complete": work_items.State.DONE,
    "cancel": work_items.State.CANCELLED,
}
# What a form for a handoff may be refused for: shown beside what was typed.
_MENDABLE = (
    InputRefused,
    services.MemoryInvalid,
    services.RepositoryUnknown,
    work_items.WorkUnknown,
)
_ANYBODY = "*"  # no user has such a name
_DONE_SO = {"pause": "paused", "resume": "open again", "complete": "done", "cancel": "cancelled"}


def index(visit: Visit) -> HttpResponse:
    """List what waits for the person, what they hold, and what they left."""
    own = handoffs.own_handoffs(caller=visit.caller, namespace_id=visit.namespace_id)
    context = {
        "offers": handoffs.offers(
            caller=visit.caller,
            namespace_ids=(visit.namespace_id,),
            repository_id=None,
            now=visit.now,
        ),
        "held": [one for one in own if one.claimed_by == visit.caller.username],
        "left": [
            one
            for one in own
            if one.author == visit.caller.username and one.claimed_by != visit.caller.username
        ],
        "may_claim": visit.can(Action.WRITE_MEMORY),
    }
    return visit.render("handoffs/index.html", context, title="Handoffs")


def new(visit: Visit) -> HttpResponse:
    """Show the form for a handoff, or offer what it says to oneself, to a colleague or to all."""
    visit.require(Action.WRITE_MEMORY)
    if visit.request.method != "POST":
        return _form(visit)
    try:
        left = _written(visit)
    except _MENDABLE as error:
        return _form(visit, refusal=str(error))
    for_whom = left.to or ("whoever claims it first" if left.is_shared else "your next session")
    taken = f" Secrets taken out: {left.redactions}." if left.redactions else ""
    visit.say(f"It is offered to {for_whom}.{taken}")
    return visit.go("handoffs")


def _written(visit: Visit) -> handoffs.HandoffValue:
    to = visit.typed("to")
    return handoffs.write_handoff(
        caller=visit.caller,
        namespace_id=visit.namespace_id,
        repository_id=visit.repository_called(visit.typed("repository")),
        branch=visit.typed("branch"),
        baton=Baton(
            summary=visit.typed("summary"),
            done=_lines(visit, "done"),
            open_questions=_lines(visit, "open_questions"),
            next_steps=_lines(visit, "next_steps"),
            files=_lines(visit, "files"),
        ),
        to=to if to not in {"", _ANYBODY} else None,
        is_shared=to == _ANYBODY,
        work_item_id=_work_chosen(visit),
        agent="console",
        now=visit.now,
    )


def _form(visit: Visit, *, refusal: str = "") -> HttpResponse:
    context = {
        "typed": visit.request.POST,
        "refusal": refusal,
        "anybody": _ANYBODY,
        "colleagues": _colleagues(visit),
        "repository_names": sorted(
            one.name for one in graph.list_repositories(namespace_ids=(visit.namespace_id,))
        ),
        "items": work_items.list_items(
            caller=visit.caller,
            namespace_ids=[visit.namespace_id],
            states=list(work_items.UNDER_WAY),
            limit=work_items.MAXIMUM_LISTED,
        ),
    }
    crumbs = (("Handoffs", visit.url("handoffs")),)
    status = 422 if refusal else 200
    return visit.render(
        "handoffs/new.html", context, title="New handoff", crumbs=crumbs, status=status
    )


def _colleagues(visit: Visit) -> list[str]:
    """Return the members who could claim it."""
    rows = accounts.members_of(caller=visit.caller, action=Action.READ_MEMORY)
    able = rows.filter(
        namespace_id=visit.namespace_id,
        role__gte=PERMISSIONS[Action.WRITE_MEMORY].role,
        user__is_active=True,
    )
    others = able.exclude(user_id=visit.caller.user_id)
    return list(others.order_by("user__username").values_list("user__username", flat=True))


def _work_chosen(visit: Visit) -> UUID | None:
    text = visit.typed("work")
    try:
        return UUID(text) if text else None
    except ValueError:
        raise InputRefused("Choose a work item of the list, or none.") from None


def _lines(visit: Visit, name: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in visit.typed(name).splitlines() if line.strip())


def change(visit: Visit, handoff_id: UUID) -> HttpResponse:
    """Claim, release or cancel one."""
    ids = [visit.namespace_id]
    match visit.typed("operation"):
        case "claim":
            handoffs.claim(
                caller=visit.caller, handoff_id=handoff_id, now=visit.now, namespace_ids=ids
            )
            visit.say("It is yours now: its text is below. Release it if you do not go on.")
        case "release":
            handoffs.release(
                caller=visit.caller, handoff_id=handoff_id, now=visit.now, namespace_ids=ids
            )
            visit.say("It is offered again.")
        case "cancel":
            handoffs.cancel(caller=visit.caller, handoff_id=handoff_id, namespace_ids=ids)
            visit.say("It is withdrawn.")
        case _:
            raise InputRefused("Claim it, release it or cancel it.")
    return visit.go("handoffs")


def work(visit: Visit) -> HttpResponse:
    """List work items, or open one."""
    if visit.request.method == "POST":
        return _open(visit)
    with_ended = visit.parameter("ended") == "yes"
    context = {
        "items": work_items.list_items(
            caller=visit.caller,
            namespace_ids=[visit.namespace_id],
            states=list(work_items.State) if with_ended else list(work_items.UNDER_WAY),
            limit=work_items.MAXIMUM_LISTED,
        ),
        "with_ended": with_ended,
        "may_write": visit.can(Action.WRITE_MEMORY),
    }
    return visit.render("handoffs/work.html", context, title="Work")


def change_work(visit: Visit, item_id: UUID) -> HttpResponse:
    """Pause, resume, complete or cancel an item."""
    state = _STATES.get(visit.typed("operation"))
    if state is None:
        raise InputRefused("Pause it, resume it, complete it or cancel it.")
    visit.require(Action.WRITE_MEMORY)
    named = work_items.get_item(caller=visit.caller, item_id=item_id)
    if named.namespace_id != visit.namespace_id:
        raise Http404
    work_items.change_state(caller=visit.caller, item_id=item_id, state=state, now=visit.now)
    visit.say(f"It is {_DONE_SO[visit.typed('operation')]}.")
    return visit.go("work")


def _open(visit: Visit) -> HttpResponse:
    visit.require(Action.WRITE_MEMORY)
    work_items.open_item(
        caller=visit.caller,
        namespace_id=visit.namespace_id,
        texts=WorkTexts(
            title=visit.typed("title"),
            goal=visit.typed("goal") or None,
            remaining=list(_lines(visit, "remaining")) or None,
            is_shared=visit.typed("shared") == "yes",
        ),
        now=visit.now,
    )
    visit.say("It is opened: sessions that work on it are told of it when they begin.")
    return visit.go("work")
