"""Namespaces: yours, a new one, its members, settings, audit trail, and its deletion."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.http import HttpResponse

from codemem import policies
from codemem.accounts import queries as accounts
from codemem.accounts import services as account_services
from codemem.accounts.values import NAME_PATTERN, NAME_RULE, Action, Role
from codemem.console import refusals
from codemem.console.access import Visit
from codemem.console.paging import listing
from codemem.console.refusals import InputRefused
from graph import queries as graph
from indexing import erasure
from memory.statistics import statistics
from workers import queue

refusals.register(unknown=(erasure.ErasureUnknown,), refused=(erasure.ConfirmationWrong,))

_GRACE = timedelta(hours=24)
_LONGEST_DESCRIPTION = 500


@dataclass(frozen=True, slots=True)
class Group:
    """Settings whose keys begin alike."""

    title: str
    settings: Sequence[policies.Setting]
    changed: int


# --- Namespaces -----------------------------------------------------------------------------------
def index(visit: Visit) -> HttpResponse:
    """List the caller's namespaces; POST makes one, which the caller then owns."""
    if visit.request.method == "POST":
        return _created(visit)
    context = {
        "found": accounts.member_namespaces(caller=visit.caller),
        "roles": {key: role.title for key, role in visit.caller.roles.items()},
    }
    return visit.render("namespaces/index.html", context, title="Namespaces")


def _created(visit: Visit) -> HttpResponse:
    name = visit.typed("name")
    if not re.match(NAME_PATTERN, name):
        raise InputRefused(NAME_RULE)
    account_services.create_namespace(
        name=name,
        owner=accounts.get_user(user_id=visit.caller.user_id),
        actor=visit.caller.username,
        description=visit.typed("description")[:_LONGEST_DESCRIPTION],
    )
    visit.say(f"{name} is made, and yours. Next: add a repository.")
    return visit.go("repositories", namespace=name)


# --- Members --------------------------------------------------------------------------------------
def members(visit: Visit) -> HttpResponse:
    """List who belongs here; POST adds somebody or changes a role."""
    if visit.request.method == "POST":
        return _role_set(visit)
    rows = accounts.members_of(caller=visit.caller, action=Action.READ_GRAPH)
    context = {
        "members": rows.filter(namespace_id=visit.namespace_id).order_by("-role", "user__username"),
        "roles": [(role.value, role.title) for role in Role],
        "may_manage": visit.can(Action.MANAGE_MEMBERS),
    }
    return visit.render("namespaces/members.html", context, title="Members")


def _role_set(visit: Visit) -> HttpResponse:
    visit.require(Action.MANAGE_MEMBERS)
    user = accounts.find_user(username=visit.typed("username"))
    if user is None:
        raise InputRefused("There is no person of that name; whoever runs the server adds people.")
    account_services.set_role(
        namespace=_namespace(visit), user=user, role=_role(visit), actor=visit.caller.username
    )
    visit.say(f"{user.username} is {_role(visit).title} now.")
    return visit.go("members")


def remove_member(visit: Visit) -> HttpResponse:
    """Take somebody out of the namespace."""
    visit.require(Action.MANAGE_MEMBERS)
    membership = accounts.find_member(
        namespace_id=visit.namespace_id, username=visit.typed("username")
    )
    if membership is None:
        raise InputRefused("Nobody of that name is a member.")
    account_services.remove_member(
        namespace=_namespace(visit), user=membership.user, actor=visit.caller.username
    )
    visit.say(f"{membership.user.username} is no member any more.")
    return visit.go("members")


def _role(visit: Visit) -> Role:
    try:
        return Role(int(visit.typed("role")))
    except ValueError as error:
        raise InputRefused("Choose a role.") from error


# --- Settings -------------------------------------------------------------------------------------
def settings(visit: Visit) -> HttpResponse:
    """Show every setting with its default; POST sets one, or takes it back to its default."""
    if visit.request.method == "POST":
        return _setting_changed(visit)
    groups = _groups(policies.list_settings(visit.namespace_id))
    context = {
        "groups": groups,
        "changed": sum(group.changed for group in groups),
        "may_change": visit.can(Action.CHANGE_SETTINGS),
        "may_change_owners": visit.can(Action.CHANGE_OWNERS_SETTINGS),
        "may_delete": visit.can(Action.DELETE_NAMESPACE),
        "description": _namespace(visit).description,
    }
    return visit.render("namespaces/settings.html", context, title="Settings")


def describe(visit: Visit) -> HttpResponse:
    """Change what the namespace says of itself."""
    visit.require(Action.MANAGE_MEMBERS)
    account_services.change_namespace(
        namespace=_namespace(visit),
        actor=visit.caller.username,
        description=visit.typed("description")[:_LONGEST_DESCRIPTION],
    )
    visit.say("The description is changed.")
    return visit.go("settings")


def _setting_changed(visit: Visit) -> HttpResponse:
    policy = policies.get_policy(visit.typed("key"))
    typed = visit.typed("value")
    given = None if "reset" in visit.request.POST or typed == "" else policy.parsed(typed)
    policies.change(
        caller=visit.caller, namespace_id=visit.namespace_id, changes={policy.key: given}
    )
    held = policies.value(visit.namespace_id, policy.key)
    visit.say(f"{policy.key} is {_shown(held)} now.")
    return visit.go("settings")


def _shown(value: policies.Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _groups(found: Sequence[policies.Setting]) -> list[Group]:
    by_title: dict[str, list[policies.Setting]] = {}
    for setting in found:
        by_title.setdefault(setting.policy.key.partition(".")[0], []).append(setting)
    return [
        Group(title, held, sum(not setting.is_default for setting in held))
        for title, held in by_title.items()
    ]


# --- Audit ----------------------------------------------------------------------------------------
def audit(visit: Visit) -> HttpResponse:
    """Show who did what here, newest first, narrowed by what was done and by whom."""
    rows = accounts.audit_of(caller=visit.caller).filter(namespace_id=visit.namespace_id)
    if action := visit.parameter("action"):
        rows = rows.filter(action__startswith=action)
    if actor := visit.parameter("actor"):
        rows = rows.filter(actor=actor)
    context = {"listing": listing(visit, rows), "action": action, "actor": actor}
    return visit.render("namespaces/audit.html", context, title="Audit")


# --- Deletion -------------------------------------------------------------------------------------
def delete(visit: Visit) -> HttpResponse:
    """Show what would be erased; POST with the name closes the namespace and begins."""
    visit.require(Action.DELETE_NAMESPACE)
    if visit.request.method == "POST":
        return _deleted(visit)
    rows = erasure.count_rows(caller=visit.caller, namespace_id=visit.namespace_id, now=visit.now)
    context = {
        "rows": sorted(rows.items(), key=lambda row: -row[1]),
        "total": sum(rows.values()),
        "grace": int(_GRACE.total_seconds() // 3600),
    }
    crumbs = (("Settings", visit.url("settings")),)
    title = f"Delete {visit.place[0]}"
    return visit.render("namespaces/delete.html", context, title=title, crumbs=crumbs)


def _deleted(visit: Visit) -> HttpResponse:
    receipt = erasure.request_erasure(
        caller=visit.caller,
        namespace_id=visit.namespace_id,
        confirm=visit.typed("confirm"),
        grace=_GRACE,
        now=visit.now,
    )
    try:
        queue.erase_namespace(erasure_id=receipt.id)
    except queue.QueueUnavailable as error:
        visit.warn(str(error))
    # The namespace is closed: its own pages are gone already.
    return visit.go("erasure", erasure_id=receipt.id)


def receipt(visit: Visit, erasure_id: UUID) -> HttpResponse:
    """Show how far a deletion is, to whoever asked for it."""
    found = erasure.get_receipt(caller=visit.caller, erasure_id=erasure_id)
    context: Mapping[str, Any] = {
        "receipt": found,
        "counts": sorted(found.counts.items(), key=lambda row: -row[1]),
        "total": sum(found.counts.values()),
    }
    title = f"Deletion of {found.namespace}"
    return visit.render("namespaces/receipt.html", context, title=title)


# --- Figures --------------------------------------------------------------------------------------
def figures(visit: Visit) -> HttpResponse:
    """Show what the namespace holds for the caller, in numbers."""
    context = {
        "memories": statistics(caller=visit.caller, namespace_id=visit.namespace_id, now=visit.now),
        "code": graph.counts(namespace_ids=(visit.namespace_id,)),
    }
    return visit.render("namespaces/figures.html", context, title="In numbers")


def _namespace(visit: Visit) -> Any:
    found = accounts.find_namespace(caller=visit.caller, name=str(visit.namespace_id))
    assert found is not None
    return found
