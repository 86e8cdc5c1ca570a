"""What git hosts tell of pull requests, read into one value. Pure: signatures are checked before.

A delivery is data that somebody outside may have had a hand in: every field is checked here.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from indexing.posting.values import Forge

_SHA: Final = re.compile(r"[0-9a-f]{40,64}\Z")
_ADDRESS: Final = re.compile(r"https?://[^\s<>\"]{1,480}\Z")
_REVIEWED: Final = frozenset(
    {"opened", "reopened", "synchronize", "synchronized", "ready_for_review", "edited"}
)
_GITLAB_REVIEWED: Final = frozenset({"open", "reopen", "update"})
_CLOSED: Final = frozenset({"closed", "close", "merge"})


class Wish(StrEnum):
    """What an event asks for."""

    REVIEW = "review"
    CLOSE = "close"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestEvent:
    """A pull request as it was when its host told of it, `at` by the host's own clock."""

    wish: Wish
    forge: Forge
    number: int
    head_commit: str
    base_commit: str
    base_branch: str
    url: str
    title: str
    at: datetime | None


def read_event(forge: Forge, delivery: Any) -> PullRequestEvent | None:
    """Return the event, None for a delivery that is about no pull request or says too little."""
    if not isinstance(delivery, Mapping):
        return None
    if forge is Forge.GITLAB:
        return _of_gitlab(delivery)
    request = delivery.get("pull_request")
    if not isinstance(request, Mapping):
        return None
    base, head = _mapping(request.get("base")), _mapping(request.get("head"))
    action = str(delivery.get("action", ""))
    wish = _wish(action, reviewed=_REVIEWED, is_draft=request.get("draft") is True)
    return _event(
        forge,
        wish,
        number=request.get("number") or delivery.get("number"),
        head=head.get("sha"),
        base=base.get("sha"),
        branch=base.get("ref"),
        url=request.get("html_url"),
        title=request.get("title"),
        at=request.get("updated_at"),
    )


def _of_gitlab(delivery: Mapping[str, Any]) -> PullRequestEvent | None:
    fields = _mapping(delivery.get("object_attributes"))
    if delivery.get("object_kind") != "merge_request" or not fields:
        return None
    action = str(fields.get("action", ""))
    is_draft = fields.get("draft") is True or fields.get("work_in_progress") is True
    return _event(
        Forge.GITLAB,
        _wish(action, reviewed=_GITLAB_REVIEWED, is_draft=is_draft),
        number=fields.get("iid"),
        head=_mapping(fields.get("last_commit")).get("id"),
        base="",
        branch=fields.get("target_branch"),
        url=fields.get("url"),
        title=fields.get("title"),
        at=fields.get("updated_at"),
    )


def _event(
    forge: Forge,
    wish: Wish,
    *,
    number: Any,
    head: Any,
    base: Any,
    branch: Any,
    url: Any,
    title: Any,
    at: Any,
) -> PullRequestEvent | None:
    is_number = isinstance(number, int) and not isinstance(number, bool) and 0 < number < 2**31
    if not is_number or not isinstance(head, str) or not _SHA.match(head):
        return None
    return PullRequestEvent(
        wish=wish,
        forge=forge,
        number=number,
        head_commit=head,
        base_commit=base if isinstance(base, str) and _SHA.match(base) else "",
        base_branch=branch[:255] if isinstance(branch, str) and "\0" not in branch else "",
        url=url if isinstance(url, str) and _ADDRESS.match(url) else "",
        title=" ".join(title.replace("\0", " ").split())[:300] if isinstance(title, str) else "",
        at=_moment(at),
    )


def _wish(action: str, *, reviewed: frozenset[str], is_draft: bool) -> Wish:
    if action in _CLOSED:
        return Wish.CLOSE
    # What is still being written is not reviewed: "ready for review" comes as an event, too.
    return Wish.REVIEW if action in reviewed and not is_draft else Wish.NOTHING


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _moment(text: Any) -> datetime | None:
    """Return a time as hosts write it: ISO 8601, or GitLab's `2026-11-22 18:00:00 UTC`."""
    if not isinstance(text, str):
        return None
    try:
        at = datetime.fromisoformat(text.strip().replace(" UTC", "+00:00"))
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
