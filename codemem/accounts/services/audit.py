"""The audit trail: one event for everything that changes who may do what."""

from uuid import UUID

import structlog

from codemem.accounts.models import AuditEvent, Namespace


def record(
    *,
    actor: str,
    action: str,
    target: str = "",
    namespace: Namespace | None = None,
    token_id: UUID | None = None,
    result: str = "done",
    detail: dict[str, object] | None = None,
) -> None:
    """Add one event to the trail, in the transaction of the change itself.

    The request and the token come from the log's context when nobody names them: the gateway
    binds both, and tasks inherit them from the request that queued them.
    """
    context = structlog.contextvars.get_contextvars()
    AuditEvent.objects.create(
        actor=actor,
        action=action,
        target=target[:200],
        namespace_id=namespace.pk if namespace else None,
        namespace_name=namespace.name if namespace else "",
        token_id=token_id or context.get("token_id"),
        result=result,
        detail=detail or {},
        request_id=str(context.get("request_id", ""))[:64],
    )
