"""Reads of kept reviews. The one entry for a caller's eyes is `visible_reviews`."""

from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from codemem.accounts.values import Action, Caller
from graph import queries as graph
from indexing.models import ReviewRecord
from indexing.remarks import Dismissal


def visible_reviews(*, caller: Caller) -> QuerySet[ReviewRecord]:
    """Return the reviews of repositories whose code and memories the caller may read, newest first.

    A review tells of both. What it quotes of memories is not in the record: ask for them by id.
    """
    readable = frozenset(caller.namespaces_for(Action.READ_MEMORY))
    repositories = graph.visible_repositories(caller=caller, action=Action.READ_GRAPH)
    return (
        ReviewRecord.objects.filter(
            repository__in=repositories, repository__namespace_id__in=readable
        )
        .select_related("repository__namespace")
        .order_by("-created_at", "-id")
    )


def dismissals_of(*, repository_id: UUID, subject: str) -> dict[str, Dismissal]:
    """Return what was dismissed of a pull request or commit so far. One query."""
    kept = ReviewRecord.objects.filter(repository_id=repository_id, subject=subject)
    return dismissals_in(kept.values_list("dismissals", flat=True).first() or {})


def dismissals_in(kept: dict[str, dict[str, str]]) -> dict[str, Dismissal]:
    """Return the dismissals that a record keeps as JSON."""
    return {
        key: Dismissal(
            by=one["by"],
            via=one["via"],
            at=datetime.fromisoformat(one["at"]),
            reason=one.get("reason", ""),
        )
        for key, one in kept.items()
    }
