"""A repository's history, brought up to its head: commits, spans, then what each commit did.

    main line -> commits, pull requests -> spans -> events, newest first

Commits and spans cost microseconds each and come whole, so that any past tree is known within
seconds; events need both sides of every change parsed. Each step is a transaction that says how far
it came: a worker that is killed anywhere leaves what it finished, and the next goes on from there.
"""

import itertools
import resource
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from graph import services as graph
from graph.events import HistoricCommit, MergedRequest
from graph.models import Commit, Ref, Repository
from indexing.git import CommitInfo, GitError, Mirror
from indexing.history import log as git_log
from indexing.history.authors import is_bot
from indexing.history.line import Parents, landings, members
from indexing.history.mapping import Mapper
from indexing.history.pull_requests import merged_by
from indexing.history.spans import (
    POSITIONS_AT_ONCE,
    add_spans,
    forget_spans,
    lasting_blobs,
)
from indexing.locks import Work, only_worker
from indexing.mirrors import SourceRefused, mirror_path, refuse_foreign_path
from indexing.models import History

log = structlog.get_logger(__name__)

_COMMITS_AT_ONCE: Final = 1_000
_LINE_WINDOW: Final = 1_000
_SILENT_AFTER: Final = timedelta(minutes=5)
_TRIED_AGAIN_AFTER: Final = timedelta(hours=1)
_ANTICIPATED = (GitError, SourceRefused)


def advance(*, repository_id: UUID, seconds: float) -> bool:
    """Bring a repository's history further for about so long; return whether more is to do.

    Returns False as well when another worker is at it, and after a failure that trying again at
    once cannot mend, which stands on the record then.
    """
    with only_worker(work=Work.HISTORY, repository_id=repository_id) as is_ours:
        repository = Repository.objects.filter(pk=repository_id).first() if is_ours else None
        if repository is None or not repository.default_branch:
            return False
        history, _ = History.objects.get_or_create(repository=repository)
        try:
            return _advance(repository, history, deadline=time.monotonic() + seconds)
        except _ANTICIPATED as error:
            log.warning("history_failed", reason=str(error))
            _note(history, state=History.State.FAILED, error=str(error).replace("\0", ""))
            return False


def histories_to_advance(*, now: datetime) -> list[UUID]:
    """Return the repositories whose history is behind their head and of which nothing is heard.

    A failure is tried again after a while: the remote may be back.
    """
    shown = Ref.objects.filter(
        repository=OuterRef("repository"),
        name=OuterRef("repository__default_branch"),
        indexed_at__isnull=False,
    )
    behind = History.objects.annotate(shown=Subquery(shown.values("head_commit"))).filter(
        Q(state__in=(History.State.WAITING, History.State.RUNNING), heartbeat_at=None)
        | Q(heartbeat_at__lt=now - _SILENT_AFTER, state=History.State.WAITING)
        | Q(heartbeat_at__lt=now - _SILENT_AFTER, state=History.State.RUNNING)
        | Q(heartbeat_at__lt=now - _TRIED_AGAIN_AFTER, state=History.State.FAILED)
        | Q(heartbeat_at__lt=now - _SILENT_AFTER, state=History.State.DONE)
        & ~Q(head=F("shown"))
        & Q(shown__isnull=False)
    )
    new = Repository.objects.filter(
        history=None, refs__name=F("default_branch"), refs__indexed_at__isnull=False
    )
    return [*behind.values_list("pk", flat=True), *new.values_list("pk", flat=True)]


def _advance(repository: Repository, history: History, *, deadline: float) -> bool:
    started = _cpu_seconds()
    mirror = _mirror(repository)
    head = mirror.resolve(f"refs/heads/{repository.default_branch}")
    _note(
        history,
        state=History.State.RUNNING,
        error="",
        started_at=history.started_at or timezone.now(),
    )
    if history.head != head:
        _take_in_commits(repository, history, mirror, head)
    _take_in_spans(history, mirror)
    has_more = _take_in_events(history, mirror, deadline=deadline)
    done = {} if has_more else {"state": History.State.DONE, "finished_at": timezone.now()}
    _note(history, seconds=history.seconds + _cpu_seconds() - started, **done)
    return has_more


def _mirror(repository: Repository) -> Mirror:
    """Return this host's mirror, made anew where an index run on another host made the first."""
    refuse_foreign_path(repository.url)
    path = mirror_path(repository.pk)
    if (path / "HEAD").exists():
        return Mirror(path)
    mirror = Mirror.create(path)
    mirror.fetch(repository.url, timeout_seconds=settings.FETCH_TIMEOUT_SECONDS)
    return mirror


def _take_in_commits(repository: Repository, history: History, mirror: Mirror, head: str) -> None:
    """Note every commit that came to the default branch, and what a force-push took from it."""
    fork, base, line = _new_line(repository.pk, mirror, head)
    parents = git_log.parents_since(mirror, head, base=base)
    landed = landings(line, parents, first=fork + 1)
    position_of = {sha: position for position, sha in enumerate(line, start=fork + 1)}
    commits = [
        _historic(one, position=position_of.get(one.sha), landed=landed[one.sha])
        for one in git_log.commits_since(mirror, head, base=base)
    ]
    # Together, or a kill between them would leave trees of a line that is no more.
    with transaction.atomic():
        graph.set_history(
            repository_id=repository.pk,
            after=fork,
            commits=commits,
            requests=_requests(commits, parents, landed),
        )
        if fork + 1 < history.spans_until:
            forget_spans(repository_id=repository.pk, after=fork)
        wanted = _wanted(repository.pk)
        _note(
            history,
            head=head,
            length=fork + 1 + len(line),
            spans_until=min(fork + 1, history.spans_until),
            shallow=len(mirror.shallow_commits()),
            commits_total=wanted.count(),
            commits_done=wanted.exclude(mapped_at=None).count(),
        )


def _new_line(repository_id: UUID, mirror: Mirror, head: str) -> tuple[int, str | None, list[str]]:
    """Return where the main line goes on from what is known of it, and its new part, oldest first.

    The position is -1, without a commit, where nothing is known or nothing of it is left.
    """
    line: list[str] = []
    shas = git_log.main_line(mirror, head)
    while window := list(itertools.islice(shas, _LINE_WINDOW)):
        rows = Commit.objects.filter(repository_id=repository_id, sha__in=window)
        known = {
            sha: position
            for sha, position in rows.values_list("sha", "position")
            if position is not None
        }
        for sha in window:
            if sha in known:
                shas.close()
                return known[sha], sha, line[::-1]
            line.append(sha)
    return -1, None, line[::-1]


def _historic(one: CommitInfo, *, position: int | None, landed: int) -> HistoricCommit:
    return HistoricCommit(
        sha=one.sha,
        parents=one.parents,
        author_name=one.author_name,
        author_email=one.author_email,
        authored_at=one.authored_at,
        committed_at=one.committed_at,
        subject=one.subject,
        body=one.body,
        is_bot=is_bot(name=one.author_name, email=one.author_email),
        position=position,
        landed=landed,
    )


def _requests(
    commits: Sequence[HistoricCommit], parents: Parents, landed: Mapping[str, int]
) -> list[MergedRequest]:
    """Return the pull requests that some commits (newest first) merged, with their commits."""
    merged = {
        one.sha: (one, request)
        for one in reversed(commits)
        if (request := merged_by(subject=one.subject, body=one.body)) is not None
    }
    # Children before their parents in time do occur, so that times say nothing about the order.
    merges = [sha for sha in reversed(list(parents)) if sha in merged]
    return [
        MergedRequest(
            number=request.number,
            title=request.title,
            branch=request.branch,
            merged_commit=sha,
            merged_at=commit.committed_at,
            commits=found,
        )
        for sha, found in members(merges, parents, landed)
        for commit, request in [merged[sha]]
    ]


def _take_in_spans(history: History, mirror: Mirror) -> None:
    while history.spans_until < history.length:
        positions = range(
            max(0, history.spans_until - 1),
            min(history.length, history.spans_until + POSITIONS_AT_ONCE),
        )
        line: list[str | None] = list(
            Commit.objects.filter(repository_id=history.repository_id, position__in=positions)
            .order_by("position")
            .values_list("sha", flat=True)
        )
        if history.spans_until == 0:
            line.insert(0, None)
        steps = [(sha, before) for before, sha in itertools.pairwise(line) if sha is not None]
        add_spans(mirror=mirror, history=history, line=steps)
        _note(history)


def _take_in_events(history: History, mirror: Mirror, *, deadline: float) -> bool:
    """Map commits, newest first, until the deadline; return whether some are left."""
    mapper = Mapper(mirror, lasting=lambda blobs: lasting_blobs(history=history, blobs=blobs))
    while batch := _next_batch(history.repository_id):
        if time.monotonic() >= deadline:
            return True
        graph.record_events(
            repository_id=history.repository_id,
            events=mapper.events_of(batch),
            now=timezone.now(),
        )
        _note(history, commits_done=history.commits_done + len(batch))
    return False


def _next_batch(repository_id: UUID) -> list[str]:
    unmapped = _wanted(repository_id).filter(mapped_at=None)
    return list(
        unmapped.order_by("-landed", "-committed_at", "-pk").values_list("sha", flat=True)[
            :_COMMITS_AT_ONCE
        ]
    )


def _wanted(repository_id: UUID) -> QuerySet[Commit]:
    """Return the commits whose events are wanted: as far back as CODEMEM_HISTORY_DEPTH says."""
    landed = Commit.objects.filter(repository_id=repository_id, landed__isnull=False)
    if not settings.HISTORY_DEPTH:
        return landed
    newest = landed.order_by("-committed_at").values("committed_at")
    oldest = newest[settings.HISTORY_DEPTH - 1 : settings.HISTORY_DEPTH]
    return landed.filter(
        committed_at__gte=Coalesce(Subquery(oldest), datetime.min.replace(tzinfo=UTC))
    )


def _note(history: History, **changes: object) -> None:
    """Write where the work is: its heartbeat."""
    for name, value in changes.items():
        setattr(history, name, value)
    history.heartbeat_at = timezone.now()
    history.save(update_fields=[*changes, "heartbeat_at"])


def _cpu_seconds() -> float:
    """Return the CPU time of this process and of the children that it has seen end."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
