"""Keeps reviews: one row for a pull request, edited by every rerun; dismissals outlive pushes.

Who may dismiss is decided before: by the git host, which lets only those tick a box in our comment
who may edit it, or by the right DISMISS_FINDING.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import F

from codemem import policies
from codemem.accounts.services import record as audit
from graph.models import Repository
from indexing.models import ForgeConnection, ReviewRecord
from indexing.posting.forges import TOKEN_FILE, TOKEN_VARIABLE
from indexing.posting.queries import dismissals_in
from indexing.posting.values import Forge, Subject
from indexing.remarks import KEY_PATTERN, Dismissal, Remark, Ticks

_MOST_DISMISSALS: Final = 500
_PUSHES_KEPT: Final = 100
_LONGEST_ERROR: Final = 500
_KEY: Final = re.compile(rf"{KEY_PATTERN}\Z")


class ConnectionInvalid(Exception):
    """How a git host is to be reached is not said in a way that can be."""


class RemarkUnknown(Exception):
    """The review remarks nothing of that key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """What a review said, as it is kept: without a word of any memory."""

    request: Mapping[str, Any]
    answer: Mapping[str, Any]
    remarks: tuple[Remark, ...]
    comment: str
    base_commit: str | None
    indexed_commit: str
    risk_level: str
    risk_score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The record of what is being reviewed: what was dismissed, what became of the comment."""

    id: UUID
    dismissals: Mapping[str, Dismissal]
    posting: str
    comment_id: str


def open_review(
    *, repository_id: UUID, subject: Subject, ticks: Ticks, requested_by: str, now: datetime
) -> Opened:
    """Return the record of a subject, made if there is none, with the ticks of its comment.

    Only what was remarked before can have a box, so other keys are passed over.
    """
    with transaction.atomic():
        kept, _ = ReviewRecord.objects.get_or_create(
            repository_id=repository_id,
            subject=subject.key,
            defaults={"created_at": now, "requested_by": requested_by},
        )
        kept = ReviewRecord.objects.select_for_update().get(pk=kept.pk)
        _tick(kept, ticks, now=now)
        kept.forge = subject.forge or ""
        kept.number = subject.number
        kept.url = subject.url[:500]
        kept.title = subject.title[:300]
        kept.save()
    return Opened(
        id=kept.pk,
        dismissals=dismissals_in(kept.dismissals),
        posting=kept.posting,
        comment_id=kept.comment_id,
    )


def keep_review(*, record_id: UUID, head_commit: str, reviewed: Reviewed, now: datetime) -> None:
    """Put what a review said into its record; the last one to say something of a push is kept."""
    with transaction.atomic():
        kept = ReviewRecord.objects.select_for_update().get(pk=record_id)
        kept.head_commit = head_commit
        kept.base_commit = reviewed.base_commit or ""
        kept.indexed_commit = reviewed.indexed_commit
        kept.request = dict(reviewed.request)
        kept.answer = without_words(reviewed.answer)
        kept.remarks = [_kept_remark(remark) for remark in reviewed.remarks]
        kept.comment = _storable(reviewed.comment)
        kept.risk_level, kept.risk_score = reviewed.risk_level, reviewed.risk_score
        kept.reviewed_at = now
        kept.runs = F("runs") + 1
        push = {
            "commit": head_commit,
            "at": now.isoformat(),
            "level": reviewed.risk_level,
            "score": reviewed.risk_score,
        }
        earlier = [one for one in kept.pushes if one["commit"] != head_commit]
        kept.pushes = [*earlier, push][-_PUSHES_KEPT:]
        kept.save()


def dismiss(
    *,
    review: ReviewRecord,
    key: str,
    actor: str,
    reason: str,
    now: datetime,
    via: str = "api",
) -> None:
    """Close a remark because a member says so, by which way; raise RemarkUnknown."""
    _require_remark(review, key)
    with transaction.atomic():
        kept = _locked(review.pk)
        kept.dismissals[key] = _kept_dismissal(by=actor, via=via, reason=reason, now=now)
        kept.save(update_fields=["dismissals"])
        _audit(kept, "review.dismiss", actor=actor, key=key, detail={"reason": reason})


def restore(*, review: ReviewRecord, key: str, actor: str) -> None:
    """Take a dismissal back; raise RemarkUnknown."""
    _require_remark(review, key)
    with transaction.atomic():
        kept = _locked(review.pk)
        if kept.dismissals.pop(key, None) is not None:
            kept.save(update_fields=["dismissals"])
            _audit(kept, "review.restore", actor=actor, key=key, detail={})


def note_posting(
    *,
    record_id: UUID,
    posting: str,
    head_commit: str,
    now: datetime,
    comment_id: str = "",
    comment_url: str = "",
    error: str = "",
) -> None:
    """Keep what became of the comment; where it is stays known when only its text changed."""
    changes: dict[str, Any] = {
        "posting": ReviewRecord.Posting(posting),
        "posted_commit": head_commit[:64],
        "posted_at": now,
        "posting_error": error[:_LONGEST_ERROR],
    }
    if comment_id:
        changes |= {"comment_id": comment_id[:40], "comment_url": comment_url[:500]}
    ReviewRecord.objects.filter(pk=record_id).update(**changes)


def connect(
    *,
    repository_id: UUID,
    forge: Forge,
    api_url: str,
    project: str,
    token_source: str,
    actor: str,
) -> None:
    """Have the server post to this repository's pull requests by itself from now on.

    For who runs the server only: who names a token's place and an address has the one sent to the
    other. Raise ConnectionInvalid.
    """
    kind, _, name = token_source.partition(":")
    known = {"env": TOKEN_VARIABLE, "file": TOKEN_FILE}.get(kind)
    if known is None or not known.match(name):
        raise ConnectionInvalid(
            "A token stands at env:CODEMEM_FORGE_TOKEN_<NAME> or at file:<name>, a file of"
            " CODEMEM_FORGE_TOKENS_DIRECTORY."
        )
    if not re.match(r"https?://[^\s/@]+(/[^\s@]*)?\Z", api_url):
        raise ConnectionInvalid("The address of the API begins with https:// or http://.")
    if not project.strip("/") or re.search(r"\s|\.\.", project):
        raise ConnectionInvalid("The project is owner/name, as the git host spells it.")
    repository = Repository.objects.select_related("namespace").get(pk=repository_id)
    with transaction.atomic():
        ForgeConnection.objects.update_or_create(
            repository=repository,
            defaults={
                "forge": forge,
                "api_url": api_url.rstrip("/"),
                "project": project.strip("/"),
                "token_source": token_source,
                "is_active": True,
            },
        )
        audit(
            actor=actor,
            action="repository.post_reviews",
            namespace=repository.namespace,
            target=repository.name,
            detail={"forge": str(forge), "api": api_url, "project": project},
        )


def disconnect(*, repository_id: UUID, actor: str) -> bool:
    """Have the server post no more; tell whether it did."""
    repository = Repository.objects.select_related("namespace").get(pk=repository_id)
    with transaction.atomic():
        stopped = ForgeConnection.objects.filter(repository=repository).update(is_active=False)
        if stopped:
            audit(
                actor=actor,
                action="repository.post_no_reviews",
                namespace=repository.namespace,
                target=repository.name,
            )
    return bool(stopped)


def forget_reviews(*, now: datetime) -> int:
    """Delete the records that are older than their namespace keeps them; return how many."""
    namespaces = set(
        Repository.objects.filter(reviews__isnull=False)
        .order_by()
        .values_list("namespace_id", flat=True)
        .distinct()
    )
    forgotten = 0
    for namespace_id, held in policies.values(namespaces, "reviews.").items():
        before = now - timedelta(days=int(held["reviews.retention_days"]))
        old = ReviewRecord.objects.filter(repository__namespace_id=namespace_id)
        # One that was never run is as old as its row.
        forgotten += old.filter(reviewed_at__lt=before).delete()[0]
        forgotten += old.filter(reviewed_at=None, created_at__lt=before).delete()[0]
    return forgotten


def without_words(answer: Any) -> Any:
    """Return an answer without what memories say: a record outlives them, and their purge.

    What is to the change stays: places in the code that one cites, and that it may go against one.
    """
    if isinstance(answer, Mapping):
        is_memory = "memory_type" in answer
        kept = {
            key: without_words(value)
            for key, value in answer.items()
            if not (is_memory and key not in _SHOWN_OF_A_MEMORY)
        }
        if is_memory and answer.get("contradiction"):
            kept["contradiction"] = _CONTRADICTED
        return kept
    if isinstance(answer, list | tuple):
        return [without_words(value) for value in answer]
    # Postgres keeps neither NUL nor half a character.
    return _storable(answer) if isinstance(answer, str) else answer


def _storable(text: str) -> str:
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


_SHOWN_OF_A_MEMORY: Final = frozenset(
    {"id", "memory_type", "state", "importance", "role", "broken_anchors"}
)
# Why is a sentence that may quote what was decided.
_CONTRADICTED: Final = "The change may go against this decision."


def _tick(kept: ReviewRecord, ticks: Ticks, *, now: datetime) -> None:
    known = {remark["key"] for remark in kept.remarks}
    for key in _keys(ticks.restored):
        # What a member dismissed here is taken back here, or by a box that was ticked before.
        if key in known:
            kept.dismissals.pop(key, None)
    for key in _keys(ticks.dismissed):
        if key in known and key not in kept.dismissals and len(kept.dismissals) < _MOST_DISMISSALS:
            kept.dismissals[key] = _kept_dismissal(
                by="somebody who may edit the comment", via="comment", reason="", now=now
            )


def _keys(given: Iterable[str]) -> list[str]:
    return [key for key in given if _KEY.match(key)]


def _kept_dismissal(*, by: str, via: str, reason: str, now: datetime) -> dict[str, str]:
    return {"by": by, "via": via, "reason": reason, "at": now.isoformat()}


def _kept_remark(remark: Remark) -> dict[str, Any]:
    return {
        "key": remark.key,
        "kind": str(remark.kind),
        "level": str(remark.level),
        "path": _storable(remark.path),
        "line": remark.line,
        "message": _storable(remark.message),
        "probability": remark.probability,
    }


def _require_remark(review: ReviewRecord, key: str) -> None:
    if key not in {remark["key"] for remark in review.remarks}:
        raise RemarkUnknown(f"This review remarks nothing of the key {key[:20]!r}.")


def _locked(record_id: UUID) -> ReviewRecord:
    rows = ReviewRecord.objects.select_for_update(of=("self",))
    return rows.select_related("repository__namespace").get(pk=record_id)


def _audit(
    kept: ReviewRecord, action: str, *, actor: str, key: str, detail: Mapping[str, str]
) -> None:
    audit(
        actor=actor,
        action=action,
        namespace=kept.repository.namespace,
        target=f"{kept.repository.name} {kept.subject} {key}"[:200],
        detail=dict(detail),
    )
