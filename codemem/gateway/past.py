"""How commits and moments of the past look in a tool's answer, and what asking may raise."""

from datetime import datetime
from typing import Final

from codemem.gateway.errors import Ambiguous, NotFound, register
from codemem.gateway.tool import Result
from graph.events import CommitView
from graph.values import Node
from indexing.history.graphs import CommitGraph
from indexing.history.past import Moment, MomentUnknown, PastUnavailable

register(
    {
        MomentUnknown: ("invalid_arguments", 422),
        PastUnavailable: ("past_unavailable", 409),
    }
)

_CANDIDATES: Final = 10
TIME: Final = "Commit, date (2025-03-31) or time (2025-03-31T12:00:00Z)."


class RequestView(Result):
    number: int
    title: str | None = None


class CommitInfo(Result):
    commit: str
    author: str
    date: datetime
    subject: str
    pull_request: RequestView | None = None
    merge: bool | None = None
    bot: bool | None = None


class MomentView(Result):
    commit: str
    date: datetime


def commit_info(commit: CommitView | None) -> CommitInfo | None:
    return CommitInfo.model_validate(commit_fields(commit)) if commit is not None else None


def commit_fields(commit: CommitView) -> dict[str, object]:
    request = commit.request_number
    return {
        "commit": commit.sha,
        "author": commit.author_name,
        "date": commit.committed_at,
        "subject": commit.subject,
        "pull_request": RequestView(number=request, title=commit.request_title or None)
        if request is not None
        else None,
        "merge": True if commit.is_merge else None,
        "bot": True if commit.is_bot else None,
    }


def moment_view(when: Moment) -> MomentView:
    return MomentView(commit=when.commit, date=when.committed_at)


def past_node(then: CommitGraph, when: Moment, name: str) -> Node:
    """Return the one node that a name meant then; raise NotFound, or Ambiguous."""
    found = then.find_nodes(name, limit=_CANDIDATES + 1)
    if not found:
        raise NotFound(
            f"There was no symbol or file {name!r} at {when.commit[:12]}"
            f" ({when.committed_at:%Y-%m-%d %H:%M} UTC)."
        )
    if len(found) > 1:
        shown = ", ".join(node.id for node in found[:_CANDIDATES])
        raise Ambiguous(f"{name!r} meant more than one node.", hint=f"Pass an id: {shown}.")
    return found[0]
