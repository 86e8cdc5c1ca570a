"""Reviews of pull requests and commits: what was said in each, to be looked through."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.http import HttpResponse

from codemem.accounts.values import Action
from codemem.console import pictures
from codemem.console.access import Visit
from codemem.console.paging import listing
from codemem.console.refusals import InputRefused, register
from indexing.posting import queries as reviews
from indexing.posting import services
from indexing.remarks import Dismissal
from memory import queries as memory
from memory.values import StoredMemory


class ReviewUnknown(Exception):
    """There is no such review, or not for this caller: the two are never told apart."""


register(unknown=(ReviewUnknown, services.RemarkUnknown))

LEVELS: Final = ("none", "low", "medium", "high", "critical")
_LONGEST_REASON: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RemarkLine:
    """One thing that a review remarks, and whether somebody said that it does not matter."""

    key: str
    kind: str
    level: str
    path: str
    line: int | None
    message: str
    probability: float | None
    dismissal: Dismissal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotedMemory:
    """A memory as it is now, and what the review said that it is to the change."""

    memory: StoredMemory
    role: str
    contradiction: str
    broken: Sequence[str]


def index(visit: Visit) -> HttpResponse:
    """List the reviews of a namespace, or of one repository, the newest first."""
    rows = reviews.visible_reviews(caller=visit.caller).filter(
        repository__namespace_id=visit.namespace_id
    )
    if visit.repository is not None:
        rows = rows.filter(repository_id=visit.repository_id)
    elif repository_id := visit.repository_called(visit.parameter("repository")):
        rows = rows.filter(repository_id=repository_id)
    level = visit.parameter("risk")
    if level:
        if level not in LEVELS:
            raise InputRefused(f"There is no risk {level[:40]!r}; there are: {', '.join(LEVELS)}.")
        rows = rows.filter(risk_level=level)
    context = {
        "listing": listing(visit, rows, size=30),
        "level": level,
        "levels": LEVELS,
        "repository_name": visit.parameter("repository"),
    }
    return visit.render("reviews/index.html", context, title="Reviews")


def show(visit: Visit, review_id: UUID) -> HttpResponse:
    """Show one review: the risk and its parts, the blast radius, tests, what may be forgotten."""
    review = _review(visit, review_id)
    answer: Mapping[str, Any] = review.answer
    remarks = _remarks(review.remarks, reviews.dismissals_in(review.dismissals))
    noted = _memories(visit, answer.get("memories") or ())
    missing = {str(one.get("path")): one for one in answer.get("missing") or ()}
    context = {
        "review": review,
        "answer": answer,
        "missing": missing,
        "open_remarks": [one for one in remarks if one.dismissal is None],
        "dismissed": [one for one in remarks if one.dismissal is not None],
        "memories": noted,
        "hidden_memories": len(answer.get("memories") or ()) - len(noted),
        "blast": pictures.blast_of(answer),
        "tests": _by_path(answer.get("tests") or ()),
        "may_dismiss": visit.can(Action.DISMISS_FINDING),
        "pushes": list(reversed(review.pushes)),
        "is_web_url": review.url.startswith(("https://", "http://")),
        "is_comment_url": review.comment_url.startswith(("https://", "http://")),
    }
    return visit.render(
        "reviews/show.html",
        context,
        title=review.title or review.subject,
        crumbs=(("Reviews", visit.url("reviews")),),
    )


def dismiss(visit: Visit, review_id: UUID) -> HttpResponse:
    """Say that a remark does not matter, or take that back; it holds over every later push."""
    visit.require(Action.DISMISS_FINDING)
    review = _review(visit, review_id)
    key, is_restored = visit.typed("key"), visit.typed("operation") == "restore"
    if is_restored:
        services.restore(review=review, key=key, actor=visit.caller.username)
        visit.say("It is remarked again.")
    else:
        services.dismiss(
            review=review,
            key=key,
            actor=visit.caller.username,
            reason=visit.typed("reason")[:_LONGEST_REASON],
            now=visit.now,
            via="console",
        )
        visit.say("Dismissed: later pushes do not remark it again.")
    return visit.go("review", review_id=review_id)


def _review(visit: Visit, review_id: UUID) -> Any:
    rows = reviews.visible_reviews(caller=visit.caller)
    review = rows.filter(pk=review_id, repository__namespace_id=visit.namespace_id).first()
    if review is None:
        raise ReviewUnknown(f"There is no review {review_id} here, or not for you.")
    return review


def _remarks(
    kept: Sequence[Mapping[str, Any]], dismissals: Mapping[str, Dismissal]
) -> list[RemarkLine]:
    return [
        RemarkLine(
            key=str(one["key"]),
            kind=str(one.get("kind", "")),
            level=str(one.get("level", "")),
            path=str(one.get("path", "")),
            line=one.get("line"),
            message=str(one.get("message", "")),
            probability=one.get("probability"),
            dismissal=dismissals.get(str(one["key"])),
        )
        for one in kept
    ]


def _memories(visit: Visit, noted: Sequence[Mapping[str, Any]]) -> list[NotedMemory]:
    """Return the memories of a review in its order, as far as the person may read them now."""
    said = {UUID(str(one["id"])): one for one in noted if "id" in one}
    found = memory.memories_by_id(caller=visit.caller, memory_ids=list(said), now=visit.now)
    return [
        NotedMemory(
            memory=found[key],
            role=_role(one),
            contradiction=str(one.get("contradiction") or ""),
            broken=[str(anchor.get("detail", "")) for anchor in one.get("broken_anchors") or ()],
        )
        for key, one in said.items()
        if key in found
    ]


def _role(noted: Mapping[str, Any]) -> str:
    """Say what a memory is to the change, where that is more than its kind says."""
    role = noted.get("role")
    if role == "failure":
        return "solved here before" if noted.get("state") == "resolved" else "known failure here"
    if role == "rule":
        return "applies"
    return "may be contradicted" if noted.get("contradiction") else ""


def _by_path(tests: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[str]]]:
    """Return tests to run by file, the nearest first."""
    by_path: dict[str, list[str]] = {}
    for one in tests:
        path = str(one.get("path") or one.get("id", ""))
        names = by_path.setdefault(path, [])
        name = str(one.get("id", "")).partition("#")[2]
        if name:
            names.append(name)
    return list(by_path.items())
