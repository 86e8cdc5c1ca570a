"""What failed before: how often, what was tried, and whether it fails still."""

from django.http import HttpResponse

from codemem.console.access import Visit
from memory.failures import list_failures

_MOST = 100


def index(visit: Visit) -> HttpResponse:
    """List the failures that are known in a namespace, seen last first."""
    state = visit.parameter("state", "open")
    context = {
        "failures": list_failures(
            caller=visit.caller,
            namespace_id=visit.namespace_id,
            is_open={"open": True, "fixed": False}.get(state),
            limit=_MOST,
        ),
        "state": state,
        "most": _MOST,
    }
    return visit.render("failures/index.html", context, title="Known failures")
