"""What a caller may do with memories, and the sentences for those who may not."""

from uuid import UUID

from codemem.accounts.values import PERMISSIONS, Action, Caller


class NamespaceUnknown(Exception):
    """There is no such namespace, or not for this caller: the two are never told apart."""


class RightMissing(Exception):
    """The caller sees the thing but may not do this to it; the message names what is missing."""


def require(*, caller: Caller, action: Action, namespace_id: UUID) -> None:
    """Raise NamespaceUnknown or RightMissing unless the caller may do this."""
    if caller.can(action, namespace_id):
        return
    if namespace_id not in caller.roles:
        raise NamespaceUnknown(f"There is no namespace {namespace_id} here, or not for you.")
    permission = PERMISSIONS[action]
    if permission.scope not in caller.scopes:
        raise RightMissing(f"This token may not {action}: it lacks the scope {permission.scope}.")
    raise RightMissing(f"You may not {action} here: that takes the role {permission.role.title}.")
