"""One ref, start to finish: the only file that knows the order of the steps.

    fetch -> tree -> facts (cached by blob, parsed when new) -> resolve -> put

What follows from the graph (vectors, ranks) is the work of tasks of their own.

The graph is written in one transaction: a worker that is killed anywhere leaves the last good
snapshot answering, and the next run does what is missing.
"""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import structlog
from django.conf import settings
from django.utils import timezone

from graph import services as graph
from graph.models import Repository
from graph.values import FileFact, PutReport, Snapshot, SymbolFact
from indexing import queries, services
from indexing.contents import Content, Unread, facts_of
from indexing.facts import BlobFacts
from indexing.git import CommitInfo, EntryKind, GitError, Mirror, RefUnknown, TreeEntry
from indexing.languages import language_of
from indexing.locks import Work, only_worker
from indexing.mirrors import SourceRefused, mirror_path, refuse_foreign_path
from indexing.models import IndexRun
from indexing.resolution import Resolution, is_manifest, resolve
from indexing.scip import queries as scip_queries
from indexing.scip import services as scip_services
from indexing.services import SkippedFile

log = structlog.get_logger(__name__)

_PROGRESS_EVERY_SECONDS = 0.5
# An index of Postgres takes rows up to 2.7 KB: one has a symbol's path and local name, another its
# qualified name.
_LONGEST_PATH_BYTES = 1_000
_LONGEST_LOCAL_NAME_BYTES = 1_600
_LONGEST_QUALIFIED_NAME_BYTES = 2_600


class RepositoryTooLarge(Exception):
    """The tree has more files than CODEMEM_MAXIMUM_FILES."""


class BranchGone(Exception):
    """The repository has no such branch (any more)."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended; what is left to do is embedding, if the graph shows the head now."""

    repository_id: UUID
    is_indexed: bool


_ANTICIPATED = (GitError, SourceRefused, RepositoryTooLarge, BranchGone, graph.RefNotDefault)


def run_index(*, run_id: UUID, now: datetime) -> Outcome | None:
    """Carry out a queued run; None when it is over already or another run is in the way.

    A failure that trying again cannot mend (unreachable, unknown ref, too large) ends the run with
    its sentence. Anything else also ends it, and is raised.
    """
    repository_id = queries.find_repository_of(run_id=run_id)
    if repository_id is None:
        return None
    with only_worker(work=Work.INDEX, repository_id=repository_id) as is_ours:
        record = services.claim(run_id=run_id, now=now) if is_ours else None
        if record is None:
            return None
        return Outcome(repository_id=repository_id, is_indexed=_carry_out(record))


def _carry_out(record: IndexRun) -> bool:
    """Return whether the run succeeded."""
    try:
        with _no_garbage_collection():
            _index(_Run(record))
    except _ANTICIPATED as error:
        log.warning("index_failed", reason=str(error))
        services.fail(run_id=record.pk, now=timezone.now(), error=str(error))
        return False
    except Exception as error:
        # What an unforeseen error says may name anything; its own words are for the log.
        sentence = (
            f"The run stopped on an error of the server ({type(error).__name__}); see its log."
        )
        services.fail(run_id=record.pk, now=timezone.now(), error=sentence)
        raise
    return True


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Spare Python the search for cycles in millions of facts, a third of a run's CPU time.

    Facts are tuples of plain values, which need no collector; what else piles up waits for the end.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


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

    def skip(self, path: str, reason: str) -> None:
        self.skipped.append(SkippedFile(path, reason))

    def note(self, step: IndexRun.Step, **progress: str | int) -> None:
        self.noted_at = time.monotonic()
        services.note_progress(
            run_id=self.record.pk, now=timezone.now(), changes={"step": step, **progress}
        )

    def note_sometimes(self, step: IndexRun.Step, **progress: str | int) -> None:
        if time.monotonic() - self.noted_at >= _PROGRESS_EVERY_SECONDS:
            self.note(step, **progress)


def _index(run: _Run) -> None:
    repository = run.record.repository
    with run.step(IndexRun.Step.FETCHING):
        mirror = _fetched(run, repository)
        ref = run.record.ref or repository.default_branch
        commit = _head(mirror, repository, ref)
        _note_head(repository, mirror, ref, commit)
        _refuse_other_refs(repository, ref)
    with run.step(IndexRun.Step.PARSING):
        run.note(IndexRun.Step.PARSING, commit=commit.sha)
        tree = _tree(run, mirror, commit)
        read = _facts(run, mirror, tree)
        facts = {path: found for path, found in read.items() if isinstance(found, BlobFacts)}
        manifests = _manifests(mirror, tree)
    with run.step(IndexRun.Step.RESOLVING):
        # Read before the answers: what is written between the two is left for the next run.
        unapplied = scip_queries.paths_to_apply(repository_id=repository.pk)
        answers = scip_queries.answers_of(
            repository_id=repository.pk,
            blobs={entry.path: entry.blob for entry in tree if entry.path in facts},
        )
        resolution = _storable(run, resolve(facts, manifests, answers))
    with run.step(IndexRun.Step.WRITING):
        snapshot = Snapshot(
            commit=commit.sha,
            committed_at=int(commit.committed_at.timestamp()),
            files=tuple(_file_fact(entry, read.get(entry.path)) for entry in tree),
            symbols=tuple(resolution.symbols),
            edges=tuple(resolution.edges),
            entities=tuple(resolution.entities),
        )
        report = graph.put(repository_id=repository.pk, ref_name=ref, snapshot=snapshot)
        scip_services.mark_applied(repository_id=repository.pk, paths=unapplied)
    services.finish(
        run_id=run.record.pk,
        now=timezone.now(),
        counts=_counts(snapshot, report, parsed=len(facts)),
        seconds=run.seconds,
        skipped=run.skipped,
    )


def _fetched(run: _Run, repository: Repository) -> Mirror:
    """Return the mirror as the remote is now; notes the default branch if nobody chose one."""
    refuse_foreign_path(repository.url)
    mirror = Mirror.create(mirror_path(repository.pk))
    mirror.fetch(
        repository.url,
        timeout_seconds=settings.FETCH_TIMEOUT_SECONDS,
        on_progress=lambda _line: run.note_sometimes(IndexRun.Step.FETCHING),
    )
    if not repository.default_branch:
        repository.default_branch = mirror.default_branch(repository.url)
        graph.set_default_branch(repository_id=repository.pk, branch=repository.default_branch)
    return mirror


def _head(mirror: Mirror, repository: Repository, ref: str) -> CommitInfo:
    try:
        return mirror.commit(mirror.resolve(f"refs/heads/{ref}"))
    except RefUnknown as error:
        # Says so itself when the repository is empty.
        default = mirror.default_branch(repository.url)
        raise BranchGone(
            f"The repository has no branch {ref[:200]!a}; its default branch is {default!a}."
        ) from error


def _refuse_other_refs(repository: Repository, ref: str) -> None:
    if ref != repository.default_branch:
        raise graph.RefNotDefault(
            f"Only the default branch, {repository.default_branch}, is indexed; {ref} is not."
        )


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
    """Return the files of the commit; what is no file, or has no usable path, is noted."""
    files: dict[str, TreeEntry] = {}
    for entry in mirror.tree(commit.sha):
        if entry.kind is not EntryKind.FILE:
            run.skip(entry.path, entry.kind.value)
        elif len(entry.path.encode()) > _LONGEST_PATH_BYTES:
            run.skip(entry.path, "path-too-long")
        elif entry.path in files:
            # Bytes that are not UTF-8 are escaped, and a file may be called like the escape.
            run.skip(entry.path, "path-ambiguous")
        else:
            files[entry.path] = entry
        if len(files) > settings.MAXIMUM_FILES:
            raise RepositoryTooLarge(
                f"The tree has more than {settings.MAXIMUM_FILES:,} files."
                " Raise CODEMEM_MAXIMUM_FILES to index it."
            )
    return list(files.values())


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
            run.skip(path, facts.reason)
        elif facts.gave_up:
            run.skip(path, f"partly: {facts.gave_up}")
    return found


def _manifests(mirror: Mirror, tree: list[TreeEntry]) -> dict[str, bytes]:
    wanted = {entry.path: entry.blob for entry in tree if is_manifest(entry.path)}
    contents = dict(mirror.blobs(wanted.values(), max_bytes=settings.MAXIMUM_FILE_BYTES))
    return {
        path: content
        for path, blob in wanted.items()
        if isinstance(content := contents[blob], bytes)
    }


def _storable(run: _Run, resolution: Resolution) -> Resolution:
    """Leave out symbols with longer names than the graph can index, and their edges."""
    too_long = {symbol.id: symbol.path for symbol in resolution.symbols if _is_too_long(symbol)}
    if not too_long:
        return resolution
    for path in sorted(set(too_long.values())):
        run.skip(path, "partly: name-too-long")
    return Resolution(
        symbols=[symbol for symbol in resolution.symbols if symbol.id not in too_long],
        edges=[
            edge
            for edge in resolution.edges
            if too_long.keys().isdisjoint((edge.source, edge.target))
        ],
        entities=resolution.entities,
    )


def _is_too_long(symbol: SymbolFact) -> bool:
    return (
        len(symbol.local_name.encode()) > _LONGEST_LOCAL_NAME_BYTES
        or len(symbol.qualified_name.encode()) > _LONGEST_QUALIFIED_NAME_BYTES
    )


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


def _counts(snapshot: Snapshot, report: PutReport, *, parsed: int) -> dict[str, int]:
    return {
        "files": len(snapshot.files),
        "parsed": parsed,
        "symbols": len(snapshot.symbols),
        "edges": len(snapshot.edges),
        "files_written": report.files.total,
        "symbols_written": report.symbols.total,
        "edges_written": report.edges.total,
    }
