"""The palette and its page: pages, repositories, symbols and memories that a few letters mean."""

from django.http import HttpResponse

from codemem.console.access import Visit


def find(visit: Visit) -> HttpResponse:
    """Answer what was typed so far."""
    context = {"query": visit.parameter("q")}
    if visit.is_fragment:
        return visit.fragment("finding/results.html", context)
    return visit.render("finding/show.html", context, title="Find")
