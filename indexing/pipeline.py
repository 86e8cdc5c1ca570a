"""One ref, start to finish: the only file that knows the order of the steps.

    fetch -> tree -> facts (cached by blob, parsed when new) -> resolve -> put

Nothing is written to the graph before the last step, which is one transaction: a worker that is
killed anywhere leaves the last good snapshot answering, and the next run does what is missing.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection
from django.utils import timezone

from graph import services as graph
from graph.models import Repository
from graph.values import FileFact, Snapshot
from indexing import services
from indexing.contents import Content, Unread, facts_of
from indexing.facts import BlobFacts
from indexing.git import CommitInfo, EntryKind, GitError, Mirror, TreeEntry
from indexing.languages import language_of
from indexing.mirrors import SourceRefused, mirror_path, refuse_foreign_path
from indexing.models import IndexRun
from indexing.resolution import is_manifest, resolve
from indexing.services import SkippedFile

log = structlog.get_logger(__name__)

_PROGRESS_EVERY_SECONDS = 0.5


class RepositoryTooLarge(Exception):
    """The tree has more files than CODEMEM_MAXIMUM_FILES."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """What a finished run leads to: the caller queues ranking and embedding of this repository."""

    repository_id: UUID
    has_changed: bool


def run_index(*, run_id: UUID, now: datetime) -> Indexed | None:
    """Carry out a queued run; None when there is nothing to do or another run is in the way.

    A failure that trying again cannot mend (unreachable, unknown ref, too large) ends the run with
    its sentence; anything else also ends it, and is raised.
    """
    with _only_run_of(services.repository_of(run_id=run_id)) as is_ours:
        record = services.claim(run_id=run_id, now=now) if is_ours else None
        if record is None:
            return None
        try:
            return _index(_Run(record))
        except (GitError, RepositoryTooLarge, SourceRefused) as error:
            log.warning("index_failed", reason=str(error))
            services.fail(run_id=run_id, now=timezone.now(), error=str(error))
            return None
        except Exception as error:
            services.fail(
                run_id=run_id, now=timezone.now(), error=f"{type(error).__name__}: {error}"
            )
            raise


@dataclass(slots=True)
class _Run:
    """One run under way: its record, its clock, what it skipped."""

    record: IndexRun
    seconds: dict[str, float] = field(default_factory=dict)
    skipped: list[SkippedFile] = field(default_factory=list)
    noted_at: float = 0.0

    @contextmanager
    def step(self, step: IndexRun.Step) -> Iterator[None]:
        self.note(step)
        started = time.perf_counter()
        yield
        self.seconds[step.value] = round(time.perf_counter() - started, 3)

    def note(self, step: IndexRun.Step, **progress: str | int) -> None:
        self.noted_at = time.monotonic()
        services.note_progress(
            run_id=self.record.pk, now=timezone.now(), changes={"step": step, **progress}
        )

    def note_sometimes(self, step: IndexRun.Step, **progress: str | int) -> None:
        if time.monotonic() - self.noted_at >= _PROGRESS_EVERY_SECONDS:
            self.note(step, **progress)


def _index(run: _Run) -> Indexed:
    repository = run.record.repository
    with run.step(IndexRun.Step.FETCHING):
        mirror, ref = _fetch(run, repository)
        commit = mirror.commit(mirror.resolve(f"refs/heads/{ref}"))
        _note_head(repository, mirror, ref, commit)
    with run.step(IndexRun.Step.PARSING):
        run.note(IndexRun.Step.PARSING, commit=commit.sha)
        tree = _tree(run, mirror, commit)
        read = _facts(run, mirror, tree)
        facts = {path: found for path, found in read.items() if isinstance(found, BlobFacts)}
        manifests = _manifests(mirror, tree)
    with run.step(IndexRun.Step.RESOLVING):
        resolution = resolve(facts, manifests)
    with run.step(IndexRun.Step.WRITING):
        snapshot = Snapshot(
            commit=commit.sha,
            committed_at=int(commit.committed_at.timestamp()),
            files=tuple(_file_fact(entry, read.get(entry.path)) for entry in tree),
            symbols=tuple(resolution.symbols),
            edges=tuple(resolution.edges),
        )
        report = graph.put(repository_id=repository.pk, ref_name=ref, snapshot=snapshot)
    services.finish(
        run_id=run.record.pk,
        now=timezone.now(),
        counts={
            "files": len(snapshot.files),
            "parsed": len(facts),
            "symbols": len(snapshot.symbols),
            "edges": len(snapshot.edges),
            "files_written": report.files.total,
            "symbols_written": report.symbols.total,
            "edges_written": report.edges.total,
        },
        seconds=run.seconds,
        skipped=run.skipped,
    )
    return Indexed(repository_id=repository.pk, has_changed=not report.is_unchanged)


def _fetch(run: _Run, repository: Repository) -> tuple[Mirror, str]:
    refuse_foreign_path(repository.url)
    mirror = Mirror.create(mirror_path(repository.pk))
    mirror.fetch(
        repository.url,
        timeout_seconds=settings.FETCH_TIMEOUT_SECONDS,
        on_progress=lambda _line: run.note_sometimes(IndexRun.Step.FETCHING),
    )
    branch = repository.default_branch or mirror.default_branch(repository.url)
    if not repository.default_branch:
        graph.set_default_branch(repository_id=repository.pk, branch=branch)
    return mirror, run.record.ref or branch


def _note_head(repository: Repository, mirror: Mirror, ref: str, commit: CommitInfo) -> None:
    graph.note_head(
        repository_id=repository.pk,
        ref=ref,
        commit=graph.CommitRow(
            sha=commit.sha,
            parents=commit.parents,
            author_name=commit.author_name,
            author_email=commit.author_email,
            authored_at=commit.authored_at,
            committed_at=commit.committed_at,
            subject=commit.subject,
        ),
        root_commit=mirror.root_commit(commit.sha),
        count_behind=lambda indexed: mirror.count_commits(indexed, commit.sha),
        now=timezone.now(),
    )


def _tree(run: _Run, mirror: Mirror, commit: CommitInfo) -> list[TreeEntry]:
    """Return the files of the commit; links and submodules are noted and left out."""
    entries: list[TreeEntry] = []
    for entry in mirror.tree(commit.sha):
        if entry.kind is not EntryKind.FILE:
            run.skipped.append(SkippedFile(entry.path, entry.kind.value))
            continue
        entries.append(entry)
        if len(entries) > settings.MAXIMUM_FILES:
            raise RepositoryTooLarge(
                f"The tree has more than {settings.MAXIMUM_FILES:,} files."
                " Raise CODEMEM_MAXIMUM_FILES to index it."
            )
    return entries


def _facts(run: _Run, mirror: Mirror, tree: list[TreeEntry]) -> dict[str, BlobFacts | Unread]:
    """Return path -> facts of every file in a known language; notes what could not be read."""
    contents = [
        Content(path=entry.path, blob=entry.blob, language=language.name)
        for entry in tree
        if (language := language_of(entry.path)) is not None
    ]
    run.note(IndexRun.Step.PARSING, files_done=0, files_total=len(contents))
    found = facts_of(
        contents,
        read=lambda blobs: mirror.blobs(blobs, max_bytes=settings.MAXIMUM_FILE_BYTES),
        processes=settings.EXTRACTION_PROCESSES,
        on_parsed=lambda done: run.note_sometimes(IndexRun.Step.PARSING, files_done=done),
    )
    run.note(IndexRun.Step.PARSING, files_done=len(contents))
    for path, facts in found.items():
        if isinstance(facts, Unread):
            run.skipped.append(SkippedFile(path, facts.reason))
        elif facts.gave_up:
            run.skipped.append(SkippedFile(path, f"partly: {facts.gave_up}"))
    return found


def _manifests(mirror: Mirror, tree: list[TreeEntry]) -> dict[str, bytes]:
    wanted = {entry.path: entry.blob for entry in tree if is_manifest(entry.path)}
    contents = dict(mirror.blobs(wanted.values(), max_bytes=settings.MAXIMUM_FILE_BYTES))
    return {
        path: content
        for path, blob in wanted.items()
        if isinstance(content := contents[blob], bytes)
    }


def _file_fact(entry: TreeEntry, facts: BlobFacts | Unread | None) -> FileFact:
    language = language_of(entry.path)
    return FileFact(
        path=entry.path,
        blob=entry.blob,
        size=entry.size or 0,
        lines=facts.lines if isinstance(facts, BlobFacts) else 0,
        language=language.name if language else None,
        skipped=facts.reason if isinstance(facts, Unread) else None,
    )


@contextmanager
def _only_run_of(repository_id: UUID) -> Iterator[bool]:
    """Hold the repository for one run at a time, over all workers; False when it is taken.

    A session lock: Postgres frees it when the worker's connection ends, however the worker dies.
    """
    key = repository_id.int & (1 << 63) - 1
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [key])
        is_ours: bool = cursor.fetchone()[0]
    try:
        yield is_ours
    finally:
        if is_ours and connection.connection is not None and not connection.connection.closed:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [key])
