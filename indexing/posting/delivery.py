"""Reviews that the server posts itself: fetch the commits, review, write the one comment.

A review is a row before it is a message. A worker claims the row by one UPDATE, so that a delivery
that comes twice, or a message that a dead worker held, is one comment; a push that comes meanwhile
takes the row back, and what was computed for the commit before it is not posted.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet

from codemem.accounts.values import Caller, Role, TokenScope
from graph import queries as graph
from graph.values import RefState, RepositoryValue
from indexing.comment import ticks_in
from indexing.diffs import DiffTooLarge
from indexing.git import GitError, Mirror
from indexing.mirrors import SourceRefused, mirror_path
from indexing.models import ForgeConnection, ReviewRecord
from indexing.posting import services
from indexing.posting.events import PullRequestEvent, Wish
from indexing.posting.forges import (
    Comment,
    Connection,
    ForgeBusy,
    ForgeRefused,
    PullRequest,
    TokenUnset,
    read_token,
)
from indexing.posting.text import text_of, with_left_out
from indexing.posting.values import Forge, Subject
from indexing.ranges import CommitUnknown, NoCommonCommit, Range, read_range
from indexing.remarks import Ticks
from indexing.review import review_diff
from indexing.sides import Limits
from indexing.values import Review

log = structlog.get_logger(__name__)

MAXIMUM_ATTEMPTS: Final = 8
_FIRST_WAIT: Final = timedelta(seconds=30)
_LONGEST_WAIT: Final = timedelta(hours=1)
_CLAIM_HOLDS: Final = timedelta(minutes=15)
_DEPTH: Final = 2
_BUDGET_TOKENS: Final = 4_000
_ROUNDS: Final = 3
_ACTOR: Final = "codemem"
_OVERTAKEN: Final = "A newer push is reviewed instead."

Posting = ReviewRecord.Posting
AnswerOf = Callable[[Review, RepositoryValue, str, RefState], Mapping[str, Any]]


class _Waits(Exception):
    """Not now; the message says what for."""


def _no_answer(
    _review: Review, _repository: RepositoryValue, _namespace: str, _state: RefState
) -> Mapping[str, Any]:
    return {}


_answers: dict[str, AnswerOf] = {"of": _no_answer}


def answer_with(answer_of: AnswerOf) -> None:
    """Have reviews kept in the form that the surface above answers them in."""
    _answers["of"] = answer_of


def accept(*, repository_id: UUID, event: PullRequestEvent, now: datetime) -> UUID | None:
    """Note what a host told; return the record to post, None when there is nothing to do.

    An event older than one that was seen changes nothing, so that a replay takes no pull request
    back; the head that was posted already is not posted again.
    """
    if not ForgeConnection.objects.filter(repository_id=repository_id, is_active=True).exists():
        return None
    subject = Subject(head_commit=event.head_commit, forge=event.forge, number=event.number)
    with transaction.atomic():
        kept = _record(repository_id, subject, event, now=now)
        if kept is None or (kept.event_at and event.at and event.at < kept.event_at):
            return None
        kept.event_at = event.at or kept.event_at
        kept.url, kept.title = event.url or kept.url, event.title or kept.title
        kept.is_closed = event.wish is Wish.CLOSE
        is_told = kept.posted_commit == event.head_commit and kept.posting not in {
            Posting.NONE,
            Posting.FAILED,
        }
        if event.wish is Wish.REVIEW and not is_told:
            kept.head_commit = event.head_commit
            kept.request = {**kept.request, "base": event.base_commit or event.base_branch}
            kept.posting, kept.due_at, kept.attempts = Posting.WAITING, now, 0
        kept.save()
        return kept.pk if kept.posting == Posting.WAITING else None


def due_records(*, now: datetime) -> list[UUID]:
    """Return the records whose time has come, those of workers that died among them."""
    waiting = Q(posting__in=[Posting.WAITING, Posting.WORKING], due_at__lte=now)
    rows = ReviewRecord.objects.filter(waiting).order_by("due_at")
    return list(rows.values_list("pk", flat=True)[:100])


def deliver(*, record_id: UUID, now: datetime) -> None:
    """Review the pull request of a record and write its comment; note when to try again."""
    claimed = ReviewRecord.objects.filter(
        pk=record_id, posting__in=[Posting.WAITING, Posting.WORKING], due_at__lte=now
    ).update(posting=Posting.WORKING, due_at=now + _CLAIM_HOLDS, attempts=F("attempts") + 1)
    if not claimed:
        return
    record = ReviewRecord.objects.select_related("repository__namespace").get(pk=record_id)
    try:
        written = _Delivery.of(record, now=now).write()
    except (_Waits, ForgeBusy) as error:
        _try_again(record, error, until=getattr(error, "until", None), now=now)
    except (ForgeRefused, TokenUnset, SourceRefused, NoCommonCommit, DiffTooLarge) as error:
        _end(record, Posting.FAILED, now=now, error=str(error))
    except (CommitUnknown, GitError) as error:
        _try_again(record, error, until=None, now=now)
    else:
        _end(record, written.posting, now=now, comment=written.comment)


@dataclass(frozen=True, slots=True)
class _Written:
    posting: str
    comment: Comment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Delivery:
    """One attempt for one head of one pull request."""

    record: ReviewRecord
    repository: RepositoryValue
    namespace: str
    state: RefState
    host: PullRequest
    change: Range
    now: datetime

    @classmethod
    def of(cls, record: ReviewRecord, *, now: datetime) -> "_Delivery":
        """Gather what a review takes; raise _Waits, TokenUnset, or as `_change_of` does."""
        row = ForgeConnection.objects.filter(repository=record.repository, is_active=True).first()
        if row is None or record.number is None:
            raise ForgeRefused("This repository is not connected to its git host any more.")
        token = read_token(row.token_source)
        state = graph.get_ref_state(repository_id=record.repository_id, ref=None)
        if not state.is_indexed:
            raise _Waits("The repository is not indexed yet.")
        repository = graph.get_repository(repository_id=record.repository_id)
        return cls(
            record=record,
            repository=repository,
            namespace=record.repository.namespace.name,
            state=state,
            host=PullRequest(
                Connection(
                    forge=Forge(row.forge),
                    api_url=row.api_url,
                    project=row.project,
                    token_source=row.token_source,
                ),
                number=record.number,
                token=token,
                now=now,
            ),
            change=_change_of(record, repository),
            now=now,
        )

    def write(self) -> _Written:
        found, was_deleted = self._find()
        if was_deleted:
            return _Written(Posting.DELETED)
        review = self._review()
        # Somebody may tick a box meanwhile; what is written last knows of it.
        for _ in range(_ROUNDS):
            ticks = ticks_in(found.body) if found else Ticks()
            body, is_quiet = self._text(review, ticks)
            if found is None:
                break
            found = self.host.get(found.id)
            if found is None:
                return _Written(Posting.DELETED)
            if ticks_in(found.body) == ticks:
                break
        if not self._is_newest():
            raise _Waits(_OVERTAKEN)
        if found is None:
            if is_quiet:
                return _Written(Posting.SILENT)
            return _Written(Posting.POSTED, self.host.create(body))
        if found.body.replace("\r\n", "\n").strip() == body.strip():
            return _Written(Posting.POSTED, found)
        changed = self.host.update(found.id, body)
        return _Written(Posting.POSTED, changed) if changed else _Written(Posting.DELETED)

    def _find(self) -> tuple[Comment | None, bool]:
        """Return our comment, and whether a person deleted it.

        What a job noted may be anybody's comment: only one of our own is read or written.
        """
        if self.record.comment_id:
            noted = self.host.get(self.record.comment_id)
            if noted is None:
                return None, True
            if noted.is_ours:
                return noted, False
        return self.host.find(), False

    def _is_newest(self) -> bool:
        """Tell whether the row is still ours: a push takes it back."""
        return _ours(self.record).exists()

    def _review(self) -> Review:
        found = review_diff(
            repository=self.repository,
            ref_state=self.state,
            caller=_everybody(self.repository.namespace_id, self.namespace),
            diff=self.change.diff.text,
            base=self.change.base,
            title=self.record.title,
            depth=_DEPTH,
            budget_tokens=_BUDGET_TOKENS,
            now=self.now,
            limits=Limits(
                diff_bytes=2 * settings.MAXIMUM_DIFF_BYTES,
                file_bytes=settings.MAXIMUM_FILE_BYTES,
                processes=settings.EXTRACTION_PROCESSES,
            ),
        )
        return with_left_out(found, self.change.diff)

    def _text(self, review: Review, ticks: Ticks) -> tuple[str, bool]:
        """Return the comment to write, and whether it says nothing; keep the review.

        The row is held meanwhile: a push that takes it back waits, and is not overwritten.
        """
        with transaction.atomic():
            if not _ours(self.record).select_for_update().exists():
                raise _Waits(_OVERTAKEN)
            return self._kept_text(review, ticks)

    def _kept_text(self, review: Review, ticks: Ticks) -> tuple[str, bool]:
        subject = Subject(
            head_commit=self.record.head_commit,
            forge=Forge(self.record.forge),
            number=self.record.number,
            url=self.record.url,
            title=self.record.title,
        )
        opened = services.open_review(
            repository_id=self.repository.id,
            subject=subject,
            ticks=ticks,
            requested_by=_ACTOR,
            now=self.now,
        )
        text = text_of(
            review,
            repository=f"{self.namespace}/{self.repository.name}",
            ref=self.state.ref,
            head_commit=self.record.head_commit,
            dismissals=opened.dismissals,
        )
        services.keep_review(
            record_id=opened.id,
            head_commit=self.record.head_commit,
            reviewed=services.Reviewed(
                request={
                    "base": self.change.base,
                    "ref": self.state.ref,
                    "depth": _DEPTH,
                    "budget_tokens": _BUDGET_TOKENS,
                    "diff_bytes": len(self.change.diff.text),
                    "omitted_files": self.change.diff.files_left_out,
                },
                answer=_answers["of"](review, self.repository, self.namespace, self.state),
                remarks=text.remarks,
                comment=text.kept_comment,
                base_commit=review.base_commit,
                indexed_commit=review.indexed_commit,
                risk_level=review.risk.level,
                risk_score=review.risk.score,
            ),
            now=self.now,
        )
        return text.comment, text.is_quiet


# --- Parts ---------------------------------------------------------------------------------------


def _record(
    repository_id: UUID, subject: Subject, event: PullRequestEvent, *, now: datetime
) -> ReviewRecord | None:
    """Return the locked record; a pull request that is closed or not ready does not begin one."""
    rows = ReviewRecord.objects.select_for_update()
    kept = rows.filter(repository_id=repository_id, subject=subject.key).first()
    if kept is not None or event.wish is not Wish.REVIEW:
        return kept
    ReviewRecord.objects.get_or_create(
        repository_id=repository_id,
        subject=subject.key,
        defaults={
            "created_at": now,
            "requested_by": _ACTOR,
            "forge": event.forge,
            "number": event.number,
        },
    )
    return rows.get(repository_id=repository_id, subject=subject.key)


def _change_of(record: ReviewRecord, repository: RepositoryValue) -> Range:
    """Return what the pull request changes; commits that no branch led to are fetched.

    Raises as `read_range` does.
    """
    # A worker of another host may have indexed it.
    Mirror.create(mirror_path(repository.id))
    return read_range(
        repository=repository,
        base=str(record.request.get("base") or "") or repository.default_branch,
        head=record.head_commit,
        diff_bytes=settings.MAXIMUM_DIFF_BYTES,
        fetch_seconds=settings.FETCH_TIMEOUT_SECONDS,
    )


def _everybody(namespace_id: UUID, name: str) -> Caller:
    """Return who reads what everybody in the namespace may read: nobody's private memories."""
    return Caller(
        user_id=0,
        username=_ACTOR,
        token_id=None,
        scopes=frozenset({TokenScope.GRAPH_READ, TokenScope.MEMORY_READ, TokenScope.REVIEW_RUN}),
        roles={namespace_id: Role.READER},
        names={namespace_id: name},
    )


def _ours(record: ReviewRecord) -> QuerySet[ReviewRecord]:
    return ReviewRecord.objects.filter(
        pk=record.pk, posting=Posting.WORKING, head_commit=record.head_commit
    )


def _end(
    record: ReviewRecord,
    posting: str,
    *,
    now: datetime,
    comment: Comment | None = None,
    error: str = "",
) -> None:
    """Note how it ended; a comment that was written is known even if a push came meanwhile."""
    if comment is not None:
        ReviewRecord.objects.filter(pk=record.pk).update(
            comment_id=comment.id[:40], comment_url=comment.url[:500]
        )
    _ours(record).update(
        posting=posting,
        posted_commit=record.head_commit,
        posted_at=now,
        posting_error=error[:500],
        due_at=None,
    )


def _try_again(
    record: ReviewRecord, error: Exception, *, until: datetime | None, now: datetime
) -> None:
    if record.attempts >= MAXIMUM_ATTEMPTS:
        _end(record, Posting.FAILED, now=now, error=f"Tried {record.attempts} times: {error}")
        return
    wait = min(_FIRST_WAIT * 2 ** (record.attempts - 1), _LONGEST_WAIT)
    _ours(record).update(
        posting=Posting.WAITING, due_at=until or now + wait, posting_error=str(error)[:500]
    )
    log.info("review_waits", record=str(record.pk), attempts=record.attempts, reason=str(error))
