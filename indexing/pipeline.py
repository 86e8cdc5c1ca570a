"""One ref, start to finish: the only file that knows the order of the steps.

    fetch -> what changed -> facts (cached by blob, parsed when new) -> resolve -> put

What follows from the graph (vectors, ranks) is the work of tasks of their own.

A push is resolved as a change to what is kept of the default branch, a branch as a change to the
default branch as it was at one revision: an overlay. What nobody keeps is resolved as a whole.
The graph is written in one transaction: a worker that is killed anywhere leaves the last good
snapshot answering, and the next run does what is missing.
"""

import gc
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from graph import queries as graph_queries
from graph import services as graph
from graph.models import Repository
from graph.values import Delta, PutReport, RevisionValue, Snapshot
from indexing import dependencies, memories, queries, services
from indexing.answers import Answers
from indexing.contents import NOT_REMEMBERED, Content, Unread, facts_of
from indexing.deltas import (
    ResolvedChange,
    TooDifferent,
    TreeChange,
    distinct,
    file_fact,
    indexable_edges,
    indexable_symbols,
    resolve_change,
    too_long,
)
from indexing.dependencies import FactsMissing, FileNumbers, Numbering
from indexing.facts import BlobFacts
from indexing.git import (
    CommitInfo,
    EntryKind,
    GitError,
    Mirror,
    ObjectMissing,
    RefUnknown,
    TreeEntry,
)
from indexing.languages import language_of
from indexing.locks import Work, only_worker
from indexing.mirrors import SourceRefused, mirror_path, refuse_foreign_path
from indexing.models import IndexRun
from indexing.resolution import Resolution, is_manifest, resolve_files
from indexing.scip import queries as scip_queries
from indexing.scip import services as scip_services
from indexing.services import SkippedFile

log = structlog.get_logger(__name__)

_PROGRESS_EVERY_SECONDS = 0.5
# An index of Postgres takes rows up to 2.7 KB, and a path stands in one.
_LONGEST_PATH_BYTES = 1_000
# So many paths fit into the arguments of a command.
_MOST_UNREAD = 500


class RepositoryTooLarge(Exception):
    """The tree has more files than CODEMEM_MAXIMUM_FILES."""


class BranchGone(Exception):
    """The repository has no such branch (any more)."""


class DefaultBranchFirst(Exception):
    """A branch cannot be indexed before the branch that it is an overlay of."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended; what follows is the work of other tasks, if the graph shows the head now.

    Runs of this ref may have been kept waiting, also by one that was over already: its message came
    twice. A blank ref is the default branch.
    """

    repository_id: UUID
    ref: str
    is_indexed: bool


_ANTICIPATED = (
    *(GitError, SourceRefused, RepositoryTooLarge, BranchGone, DefaultBranchFirst),
    *(graph.RefNotDefault, graph.BaseRevisionGone),
)


def run_index(*, run_id: UUID, now: datetime) -> Outcome | None:
    """Carry out a queued run; None when another worker has the ref, or there is no such run.

    A failure that trying again cannot mend (unreachable, unknown ref, too large) ends the run with
    its sentence. Anything else also ends it, and is raised.
    """
    found = queries.find_ref_of(run_id=run_id)
    if found is None:
        return None
    repository_id, ref = found
    # Branches of one repository are indexed side by side; only their fetches wait for each other.
    with only_worker(work=Work.INDEX, repository_id=repository_id, ref=ref) as is_ours:
        if not is_ours:
            return None
        record = services.claim(run_id=run_id, now=now)
        is_indexed = record is not None and _carry_out(record)
        return Outcome(repository_id=repository_id, ref=ref, is_indexed=is_indexed)


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
    whole_because: str = ""

    @contextmanager
    def step(self, step: IndexRun.Step) -> Iterator[None]:
        self.note(step)
        started = time.perf_counter()
        yield
        seconds = self.seconds.get(step.value, 0.0) + time.perf_counter() - started
        self.seconds[step.value] = round(seconds, 3)

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
        _forget_gone_branches(repository, mirror)
        ref = run.record.ref or repository.default_branch
        commit = _head(mirror, repository, ref)
        _note_head(repository, mirror, ref, commit)
    run.note(IndexRun.Step.PARSING, commit=commit.sha)
    source = _Source(run=run, repository=repository, mirror=mirror, ref=ref, commit=commit)
    counts = _index_default(source) if source.is_default else _index_branch(source)
    services.finish(
        run_id=run.record.pk,
        now=timezone.now(),
        counts=counts,
        seconds=run.seconds,
        skipped=run.skipped,
        whole_because=run.whole_because,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """What a run indexes: one commit at the head of one ref."""

    run: _Run
    repository: Repository
    mirror: Mirror
    ref: str
    commit: CommitInfo

    @property
    def is_default(self) -> bool:
        return self.ref == self.repository.default_branch

    @property
    def committed_at(self) -> int:
        return int(self.commit.committed_at.timestamp())


# --- The default branch ---------------------------------------------------------------------------


def _index_default(source: _Source) -> dict[str, int]:
    """Bring layer 0 to the commit, by what changed since the last one where that is kept."""
    # Read before the answers: what is written between the two is left for the next run.
    unapplied = scip_queries.paths_to_apply(repository_id=source.repository.pk)
    counts = _index_by_change(source, also=unapplied)
    scip_services.mark_applied(repository_id=source.repository.pk, paths=unapplied)
    return counts


def _index_by_change(source: _Source, *, also: frozenset[str]) -> dict[str, int]:
    """Bring layer 0 to the commit; `also` are files about which compilers said something new."""
    base = graph_queries.newest_revision(repository_id=source.repository.pk)
    if base is None:
        return _index_whole(source, because="Nothing was indexed before.")
    try:
        entries = {**_entries_unread(source), **_entries(source, base)}
        change = _resolved_change(source, base, entries, also=also)
    except (TooDifferent, FactsMissing, ObjectMissing) as reason:
        return _index_whole(source, because=str(reason))
    with source.run.step(IndexRun.Step.WRITING), transaction.atomic():
        report = graph.put_delta(
            repository_id=source.repository.pk, ref_name=source.ref, delta=change.delta
        )
        dependencies.keep_changes(
            repository_id=source.repository.pk,
            revision=report.revision or base.id,
            files=change.numbers,
            gone=change.gone,
        )
    return _counts(change.delta, report, parsed=change.parsed)


def _index_whole(source: _Source, *, because: str) -> dict[str, int]:
    """Bring layer 0 to the commit by resolving its whole tree."""
    source.run.whole_because = because
    whole = _resolved_whole(source)
    with source.run.step(IndexRun.Step.WRITING), transaction.atomic():
        report = graph.put(
            repository_id=source.repository.pk, ref_name=source.ref, snapshot=whole.snapshot
        )
        revision = report.revision or _newest(source).id
        dependencies.keep_all(
            repository_id=source.repository.pk, revision=revision, files=whole.numbers
        )
    return _counts(whole.snapshot, report, parsed=whole.parsed)


def _newest(source: _Source) -> RevisionValue:
    newest = graph_queries.newest_revision(repository_id=source.repository.pk)
    assert newest is not None  # something was written, in this transaction or before
    return newest


# --- Other branches -------------------------------------------------------------------------------


def _index_branch(source: _Source) -> dict[str, int]:
    """Make the branch's overlay show the commit: all that differs from the default branch."""
    base, entries = _nearest_base(source)
    try:
        change = _resolved_change(source, base, entries)
        delta, parsed = change.delta, change.parsed
    except (TooDifferent, FactsMissing, ObjectMissing) as reason:
        source.run.whole_because = str(reason)
        whole = _resolved_whole(source)
        delta, parsed = _whole_delta(source, whole, base), whole.parsed
    with source.run.step(IndexRun.Step.WRITING):
        report = graph.put_delta(
            repository_id=source.repository.pk,
            ref_name=source.ref,
            delta=delta,
            base_revision=base.id,
        )
    return _counts(delta, report, parsed=parsed)


def _nearest_base(source: _Source) -> tuple[RevisionValue, "_Entries"]:
    """Return the revision of the default branch to rest on, and what differs from it.

    The one that the overlay rests on already, or the newest: whichever differs in fewer files, so
    that a branch that lags behind costs what it changes, and a rebased one moves on.
    """
    repository_id = source.repository.pk
    newest = graph_queries.newest_revision(repository_id=repository_id)
    if newest is None:
        raise DefaultBranchFirst(
            f"Branch {source.ref[:200]!a} is indexed over the default branch,"
            f" {source.repository.default_branch!a}, which is not indexed yet."
        )
    bases = [newest]
    layer = graph_queries.find_layer(repository_id=repository_id, ref_name=source.ref)
    if layer is not None and layer.base.id != newest.id:
        bases.append(layer.base)
    found = []
    for base in bases:
        try:
            found.append((base, _entries(source, base)))
        except ObjectMissing:
            continue
    if not found:
        # Its commit is gone with a rewritten history; what it showed is still there to rest on.
        return newest, {}
    return min(found, key=lambda one: len(one[1]))


def _whole_delta(source: _Source, whole: "_Whole", base: RevisionValue) -> Delta:
    """Return a whole tree as what it changes; what it says again like its base is left to `put`."""
    present = {fact.path for fact in whole.snapshot.files}
    shown = queries.paths_shown(repository_id=source.repository.pk, revision=base.id)
    return Delta(
        commit=whole.snapshot.commit,
        committed_at=whole.snapshot.committed_at,
        files=whole.snapshot.files,
        symbols=whole.snapshot.symbols,
        edges=whole.snapshot.edges,
        entities=whole.snapshot.entities,
        removed=tuple(path for path in shown if path not in present),
    )


# --- Changes and whole trees ----------------------------------------------------------------------

_Entries = Mapping[str, TreeEntry | None]


def _entries(source: _Source, base: RevisionValue) -> _Entries:
    """Return what stands at the paths that differ from a revision; None where nothing does."""
    if not source.mirror.has_commit(base.commit):
        raise ObjectMissing(base.commit)
    return source.mirror.changed_entries(base.commit, source.commit.sha)


def _entries_unread(source: _Source) -> _Entries:
    """Return what could not be read the last time, for no fault of its content."""
    paths = queries.paths_unread(repository_id=source.repository.pk, reasons=NOT_REMEMBERED)
    return {
        entry.path: entry
        for entry in source.mirror.entries(source.commit.sha, paths[:_MOST_UNREAD])
    }


def _resolved_change(
    source: _Source, base: RevisionValue, entries: _Entries, *, also: frozenset[str] = frozenset()
) -> ResolvedChange:
    def find_answers(path: str, blob: str) -> Answers | None:
        return scip_queries.find_answers(repository_id=source.repository.pk, path=path, blob=blob)

    tree = dependencies.find_kept_tree(revision=base, find_answers=find_answers)
    if tree is None:
        raise TooDifferent("What the last resolution depended on is not kept, or of another kind.")
    run = source.run
    with run.step(IndexRun.Step.PARSING):
        files = {path: _usable(run, path, entry) for path, entry in entries.items()}
    with run.step(IndexRun.Step.RESOLVING):
        change = resolve_change(
            tree,
            TreeChange(
                commit=source.commit.sha, committed_at=source.committed_at, entries=files, also=also
            ),
            read_facts=lambda found: _facts(run, source.mirror, found),
            read_texts=lambda blobs: _texts(source.mirror, blobs),
            find_answers=find_answers,
        )
    for path in change.too_long:
        run.skip(path, "partly: name-too-long")
    return change


def _usable(run: _Run, path: str, entry: TreeEntry | None) -> TreeEntry | None:
    """Return a file with a usable path; what is another thing is noted, and counts as gone."""
    if entry is None:
        return None
    if entry.kind is not EntryKind.FILE:
        run.skip(path, entry.kind.value)
        return None
    if len(path.encode()) > _LONGEST_PATH_BYTES:
        run.skip(path, "path-too-long")
        return None
    return entry


@dataclass(frozen=True, slots=True, kw_only=True)
class _Whole:
    """A whole tree, resolved."""

    snapshot: Snapshot
    numbers: list[FileNumbers]
    parsed: int


def _resolved_whole(source: _Source) -> _Whole:
    run = source.run
    with run.step(IndexRun.Step.PARSING):
        tree = _tree(run, source.mirror, source.commit)
        read = _facts(run, source.mirror, tree)
        facts = {path: found for path, found in read.items() if isinstance(found, BlobFacts)}
        manifests = {entry.path: entry.blob for entry in tree if is_manifest(entry.path)}
        texts = _texts(source.mirror, manifests.values())
        dependencies.keep_texts(texts)
    with run.step(IndexRun.Step.RESOLVING):
        known = {path: texts[blob] for path, blob in manifests.items() if blob in texts}
        numbering = Numbering(source.repository.pk)
        numbers = [numbering.of_manifest(path) for path in manifests if path not in facts]
        resolution = Resolution(symbols=[], edges=[], entities=[])
        answers = scip_queries.answers_of(
            repository_id=source.repository.pk,
            blobs={entry.path: entry.blob for entry in tree if entry.path in facts},
        )
        for file in resolve_files(facts, known, answers):
            resolution.symbols.extend(file.symbols)
            resolution.edges.extend(file.edges)
            resolution.entities.extend(file.entities)
            numbers.append(numbering.of(file))
    for path in too_long(resolution.symbols):
        run.skip(path, "partly: name-too-long")
    snapshot = Snapshot(
        commit=source.commit.sha,
        committed_at=source.committed_at,
        files=tuple(file_fact(entry, read.get(entry.path)) for entry in tree),
        symbols=tuple(indexable_symbols(resolution.symbols)),
        edges=tuple(indexable_edges(resolution.edges)),
        entities=distinct(resolution.entities),
    )
    return _Whole(snapshot=snapshot, numbers=numbers, parsed=len(facts))


# --- From the mirror ------------------------------------------------------------------------------


def _fetched(run: _Run, repository: Repository) -> Mirror:
    """Return the mirror as the remote is now; notes the default branch if nobody chose one."""
    refuse_foreign_path(repository.url)
    mirror = Mirror.create(mirror_path(repository.pk))
    before = mirror.branches()
    mirror.fetch(
        repository.url,
        timeout_seconds=settings.FETCH_TIMEOUT_SECONDS,
        on_progress=lambda _line: run.note_sometimes(IndexRun.Step.FETCHING),
    )
    # Where a branch led that is gone: whether it was merged is asked of its last commit.
    memories.branches_gone(
        repository_id=repository.pk, before=before, after=mirror.branches().keys()
    )
    if not repository.default_branch:
        repository.default_branch = mirror.default_branch(repository.url)
        graph.set_default_branch(repository_id=repository.pk, branch=repository.default_branch)
    return mirror


def _forget_gone_branches(repository: Repository, mirror: Mirror) -> None:
    """Drop what the graph shows of branches that the remote has no more."""
    known = graph_queries.list_branches(repository_id=repository.pk)
    gone = known - mirror.branches().keys() - {repository.default_branch} if known else ()
    for branch in gone:
        graph.forget_branch(repository_id=repository.pk, ref_name=branch)


def _head(mirror: Mirror, repository: Repository, ref: str) -> CommitInfo:
    try:
        return mirror.commit(mirror.resolve(f"refs/heads/{ref}"))
    except RefUnknown as error:
        # Says so itself when the repository is empty.
        default = mirror.default_branch(repository.url)
        raise BranchGone(
            f"The repository has no branch {ref[:200]!a}; its default branch is {default!a}."
        ) from error


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


def _facts(run: _Run, mirror: Mirror, tree: Iterable[TreeEntry]) -> dict[str, BlobFacts | Unread]:
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


def _texts(mirror: Mirror, blobs: Iterable[str]) -> dict[str, bytes]:
    """Return the contents of blobs that are there and small enough."""
    wanted = sorted(set(blobs))
    contents = mirror.blobs(wanted, max_bytes=settings.MAXIMUM_FILE_BYTES) if wanted else ()
    return {blob: content for blob, content in contents if isinstance(content, bytes)}


def _counts(facts: Snapshot | Delta, report: PutReport, *, parsed: int) -> dict[str, int]:
    """Count what was resolved, which is what changed unless the whole tree was, and the writing."""
    return {
        "files": len(facts.files),
        "parsed": parsed,
        "symbols": len(facts.symbols),
        "edges": len(facts.edges),
        "files_written": report.files.total,
        "symbols_written": report.symbols.total,
        "edges_written": report.edges.total,
    }
