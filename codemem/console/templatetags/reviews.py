"""How the pages of reviews lead from what a review names to its page, where that has one."""

from typing import Any

from django import template
from django.urls import NoReverseMatch

register = template.Library()


@register.simple_tag(takes_context=True)
def node_at(context: dict[str, Any], uid: str) -> str:
    """Return the address of a symbol or file of the reviewed repository; "" of what has none.

    On the branch that the review was made against. Names of a diff can hold what no address can.
    """
    visit, review = context["visit"], context["review"]
    kind, _, path = str(uid).partition(":")
    page: tuple[str, dict[str, str]] = ("symbol", {"node_id": str(uid)})
    if kind == "file":
        page = ("file", {"path": path})
    elif kind != "sym":
        return ""
    query = {"ref": review.request.get("ref") or ""}
    try:
        address: str = visit.url(page[0], repository=review.repository.name, query=query, **page[1])
    except NoReverseMatch:
        return ""
    return address


@register.filter
def of(mapping: Any, key: str) -> Any:
    """Return what a mapping has under a key, or nothing."""
    return mapping.get(key) if isinstance(mapping, dict) else None


@register.filter
def short_id(uid: str) -> str:
    """Return an endpoint, topic or symbol of elsewhere as people say it."""
    kind, _, rest = str(uid).partition(":")
    return (rest.partition("#")[2] or rest) if kind in _PREFIXES else str(uid)


_PREFIXES = frozenset({"sym", "file", "endpoint", "topic"})
