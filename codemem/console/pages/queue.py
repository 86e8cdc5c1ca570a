"""What waits for somebody to decide: proposals with their evidence, approved or turned down."""

from uuid import UUID

from django.http import HttpResponse

from codemem.console.access import Visit
from codemem.console.paging import Listing
from codemem.console.refusals import InputRefused, register
from memory import services
from memory.review_queue import KINDS, STATES, Outcome, decide_several, queue_page

register(
    unknown=(services.ProposalUnknown,),
    refused=(services.ProposalDecided, services.ProposalInvalid, services.ProposalOvertaken),
)

_WORDS = {"approve": "Approved", "reject": "Turned down"}


def index(visit: Visit) -> HttpResponse:
    """Show the queue, or decide what was chosen in it."""
    if visit.request.method == "POST":
        return _decide(visit)
    kind, state = visit.parameter("kind"), visit.parameter("state", "open")
    if kind and kind not in KINDS:
        raise InputRefused(f"There is no kind {kind[:40]!r} of proposals.")
    if state not in STATES:
        raise InputRefused(f"There is no state {state[:40]!r}; there are: {', '.join(STATES)}.")
    page = queue_page(
        caller=visit.caller,
        namespace_id=visit.namespace_id,
        now=visit.now,
        state=state,
        kind=kind,
        repository_id=visit.repository_called(visit.parameter("repository")),
        page=visit.number("page", 1, minimum=1),
    )
    context = {
        "page": page,
        "listing": Listing(
            rows=page.proposals, number=page.number, has_next=page.number < page.last
        ),
        "kind": kind,
        "kinds": KINDS,
        "state": state,
        "states": STATES,
        "repository_name": visit.parameter("repository"),
        "can_decide_some": any(one.may_decide for one in page.proposals) and state == "open",
    }
    return visit.render("queue/index.html", context, title="To decide")


def _decide(visit: Visit) -> HttpResponse:
    verb, chosen = _wanted(visit)
    outcomes = decide_several(
        caller=visit.caller,
        namespace_id=visit.namespace_id,
        item_ids=chosen,
        approve=verb == "approve",
        note=visit.typed("note")[:1000],
        now=visit.now,
    )
    _tell(visit, verb, outcomes)
    return visit.go("queue", query=dict(visit.request.GET.items()))


def _wanted(visit: Visit) -> tuple[str, list[UUID]]:
    """Return what is decided how: one by its own button, or those that are ticked."""
    verb, _, one = visit.typed("decide").partition(":")
    if verb not in _WORDS:
        raise InputRefused("Say whether to approve or to turn down.")
    texts = [one] if one else visit.request.POST.getlist("id")
    try:
        chosen = [UUID(text) for text in texts]
    except ValueError:
        raise InputRefused("A proposal is named by its id.") from None
    if not chosen:
        raise InputRefused("Tick what you decide about first.")
    return verb, chosen


def _tell(visit: Visit, verb: str, outcomes: list[Outcome]) -> None:
    done = sum(not outcome.refused for outcome in outcomes)
    if done:
        visit.say(f"{_WORDS[verb]}: {done} proposal{'s' if done > 1 else ''}.")
    for refused in dict.fromkeys(outcome.refused for outcome in outcomes if outcome.refused):
        visit.warn(refused)
