"""Who may know of what people's agents did: sessions and all that hangs on them, work, handoffs."""

from collections.abc import Mapping

from django.db.models import Model, Q

from codemem.accounts.values import Action, Caller
from memory.models import Checkpoint, Handoff, Injection, Observation, Session, WorkItem


def visible_to(caller: Caller, *, prefix: str = "") -> Q:
    """Return the condition for rows whose session is reached by `prefix`, such as `session__`."""
    readable = {f"{prefix}namespace_id__in": caller.namespaces_for(Action.READ_MEMORY)}
    theirs = Q(**{f"{prefix}user_id": caller.user_id}) | Q(**{f"{prefix}is_shared": True})
    return Q(**readable) & theirs


def private_rows(caller: Caller) -> Mapping[type[Model], Q]:
    """Return, for each table of what people did, the condition of what the caller may know of."""
    through = visible_to(caller, prefix="session__")
    mine = caller.user_id
    return {
        Session: visible_to(caller),
        Observation: through,
        Checkpoint: through,
        Injection: through,
        WorkItem: Q(owner_id=mine) | Q(is_shared=True),
        Handoff: Q(author_id=mine) | Q(to_user_id=mine) | Q(is_shared=True),
    }
