"""What a caller may do with memories, and the sentences for those who may not."""

from collections.abc import Iterator
from uuid import UUID

from codemem import policies
from codemem.accounts.values import PERMISSIONS, Action, Caller
from memory.models import Memory
from memory.safety import orders_in


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


def require_harmless(*, caller: Caller, memory: Memory) -> None:
    """Raise RightMissing before the caller has others read orders that nobody else looked at.

    To be asked wherever a memory comes to answer, or to be seen by more: its author's agent may be
    who was ordered. Maintainers may, and everybody in a namespace that only flags such texts.
    """
    if caller.can(Action.DELETE_ANY_MEMORY, memory.namespace_id):
        return
    if policies.value(memory.namespace_id, "memory.injection") == "flag":
        return
    orders = dict.fromkeys(name for text in _texts(memory) for name in orders_in(text))
    if orders:
        raise RightMissing(
            f"Its text gives orders to agents ({', '.join(orders)}). That others read it takes the"
            f" role {PERMISSIONS[Action.DELETE_ANY_MEMORY].role.title}."
        )


def _texts(memory: Memory) -> Iterator[str]:
    yield from (memory.content, memory.rationale)
    yield from memory.tags
    yield from memory.acceptance_criteria
    for part in (*memory.alternatives, *memory.evidence):
        yield from part.values()
