"""Which namespace a command about a whole namespace means: the named one, or the only one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemem.client.failure import Failure

if TYPE_CHECKING:
    from codemem.client.scope import Scope
    from codemem.client.transport import Server


class NamespaceNeeded(Failure):
    """Several namespaces could be meant."""

    code = "scope_needed"


def namespace_of(*, server: Server, scope: Scope) -> str:
    """Return the namespace of flags and settings, else the only one that the token opens."""
    if scope.namespace:
        return scope.namespace
    found = server.ask("GET", "/api/v1/me").get("namespaces")
    names = [str(row.get("name")) for row in found if isinstance(row, dict)] if found else []
    if len(names) == 1:
        return names[0]
    raise NamespaceNeeded(
        "Name the namespace: --namespace NAME, or CODEMEM_NAMESPACE.",
        hint=f"You belong to: {', '.join(names)}." if names else "You belong to none yet.",
    )
