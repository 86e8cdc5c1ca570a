"""What compilers add to a repository, start to finish: tools -> indexes -> answers by content.

Runs after the graph of a push answers already. Nothing here is an error of the push: what is
missing or fails is a reason on the run's record.
"""

import hashlib
import posixpath
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import structlog
from django.conf import settings
from django.utils import timezone

from graph import queries as graph
from graph.models import Repository
from indexing.answers import Answers
from indexing.contents import Content, facts_of
from indexing.facts import EXTRACTOR_VERSION, BlobFacts
from indexing.git import BlobContent, EntryKind, Mirror
from indexing.languages import language_of
from indexing.locks import Work, only_worker
from indexing.mirrors import mirror_path, refuse_foreign_path
from indexing.models import ScipRun
from indexing.scip import services
from indexing.scip.binding import BINDING_VERSION, SourceFile, bind
from indexing.scip.index import IndexFile, IndexTooLarge
from indexing.scip.indexers import INDEXERS, Indexer, Installed, find_installed, indexers_for
from indexing.scip.running import Report, Surroundings, run_indexer
from indexing.scip.sandbox import Limits, find_wall
from indexing.scip.trees import SourceEntry, visible

log = structlog.get_logger(__name__)

_PROJECT_FILES = frozenset(name for row in INDEXERS for name in row.manifests)
_LONGEST_REASON = 2000


@dataclass(frozen=True, slots=True)
class Refined:
    """What a refinement left to do: resolve with new answers, look again at a newer commit."""

    has_answers: bool
    is_behind: bool


def is_project_file(path: str) -> bool:
    """Tell whether an indexer's project is made from the file at `path`."""
    return posixpath.basename(path) in _PROJECT_FILES


def refine(*, repository_id: UUID) -> Refined:
    """Ask every indexer that is here about the indexed head of the default branch.

    Does nothing while another worker does the same for this repository.
    """
    nothing = Refined(has_answers=False, is_behind=False)
    if not settings.SCIP_ENABLED:
        return nothing
    with only_worker(work=Work.SCIP, repository_id=repository_id) as is_ours:
        commit = _indexed_commit(repository_id) if is_ours else None
        if commit is None:
            return nothing
        tree = _Tree.read(repository_id, commit)
        fresh = sum(_ask(tree, indexer) for indexer in indexers_for(tree.languages))
        is_behind = _indexed_commit(repository_id) != commit
    return Refined(has_answers=fresh > 0, is_behind=is_behind)


def _indexed_commit(repository_id: UUID) -> str | None:
    return graph.get_ref_state(repository_id=repository_id, ref=None).indexed_commit


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tree:
    """The files of one commit, by path with their blobs."""

    repository: Repository
    mirror: Mirror
    commit: str
    blobs: Mapping[str, str]

    @classmethod
    def read(cls, repository_id: UUID, commit: str) -> "_Tree":
        repository = Repository.objects.get(pk=repository_id)
        mirror = Mirror.create(mirror_path(repository_id))
        if not mirror.has_commit(commit):  # another host than the one that indexed it
            refuse_foreign_path(repository.url)
            mirror.fetch(repository.url, timeout_seconds=settings.FETCH_TIMEOUT_SECONDS)
        entries = mirror.tree(commit)
        blobs = {entry.path: entry.blob for entry in entries if entry.kind is EntryKind.FILE}
        return cls(repository=repository, mirror=mirror, commit=commit, blobs=blobs)

    @property
    def languages(self) -> set[str]:
        found = {language_of(path) for path in self.blobs}
        return {language.name for language in found if language is not None}

    def read_blobs(self, blobs: Iterable[str]) -> Iterator[tuple[str, BlobContent]]:
        return self.mirror.blobs(blobs, max_bytes=settings.MAXIMUM_FILE_BYTES)

    def manifests(self) -> dict[str, bytes]:
        wanted = {path: blob for path, blob in self.blobs.items() if is_project_file(path)}
        texts = dict(self.read_blobs(set(wanted.values())))
        return {
            path: text for path, blob in wanted.items() if isinstance(text := texts[blob], bytes)
        }

    def digest(self, installed: Installed, entries: Iterable[SourceEntry]) -> str:
        """Return what an index of these files by this tool is known by."""
        found = hashlib.sha256(
            f"{installed.version}\0{installed.command[1:]}\0{BINDING_VERSION}".encode()
            + f"\0{EXTRACTOR_VERSION}\0{settings.SCIP_STANDARD_LIBRARY}".encode()
        )
        projects = (SourceEntry(p, b) for p, b in self.blobs.items() if is_project_file(p))
        for entry in sorted({(one.path, one.blob) for one in (*entries, *projects)}):
            found.update("\0".join(entry).encode("utf-8", "surrogateescape") + b"\0")
        return found.hexdigest()


def _ask(tree: _Tree, indexer: Indexer) -> int:
    """Run one indexer unless it has nothing new to say; return how many files it says new of."""
    entries = visible(
        SourceEntry(path, blob) for path, blob in tree.blobs.items() if indexer.wants(path)
    )
    installed = _usable(tree, indexer)
    if installed is None or not entries:
        return 0
    digest = tree.digest(installed, entries)
    newest = ScipRun.objects.filter(repository=tree.repository, indexer=indexer.name).first()
    if newest and newest.digest == digest and newest.state != ScipRun.State.RUNNING:
        return 0
    run = services.begin_run(
        repository_id=tree.repository.pk,
        indexer=indexer.name,
        version=installed.version,
        commit=tree.commit,
        digest=digest,
        now=timezone.now(),
    )
    scratch = Path(tempfile.mkdtemp(prefix="codemem-scip-"))
    try:
        return _carry_out(tree, run, installed, entries, scratch)
    except Exception as error:
        # What an unforeseen error says may name anything; its own words are for the log.
        run.reason = f"The run stopped on an error of the server ({type(error).__name__})."
        run.state = ScipRun.State.FAILED
        raise
    finally:
        run.finished_at = timezone.now()
        services.end_run(run)
        shutil.rmtree(scratch, ignore_errors=True)


def _usable(tree: _Tree, indexer: Indexer) -> Installed | None:
    tools = settings.SCIP_TOOLS
    installed = find_installed(indexer, tools=tools, commands=settings.SCIP_COMMANDS)
    needs_wall = indexer.needs_wall or settings.SCIP_SANDBOX == "required"
    reason = ""
    if installed is None:
        reason = f"{indexer.program} is not installed here, or is turned off."
    elif needs_wall and _wall() is None:
        reason = "It may only run inside bubblewrap, which does not work here."
    if not reason:
        return installed
    services.note_absent(
        repository_id=tree.repository.pk,
        indexer=indexer.name,
        commit=tree.commit,
        reason=reason,
        now=timezone.now(),
    )
    return None


def _wall() -> str | None:
    return None if settings.SCIP_SANDBOX == "none" else find_wall(settings.SCIP_TOOLS)


def _carry_out(
    tree: _Tree, run: ScipRun, installed: Installed, entries: list[SourceEntry], scratch: Path
) -> int:
    megabyte = 1 << 20
    surroundings = Surroundings(
        tools=settings.SCIP_TOOLS,
        wall=_wall(),
        limits=Limits(
            seconds=settings.SCIP_SECONDS,
            memory_bytes=settings.SCIP_MEMORY_MB * megabyte,
            output_bytes=settings.SCIP_INDEX_MB * megabyte,
        ),
    )
    report = run_indexer(
        installed,
        project=tree.repository.name,
        entries=entries,
        read=tree.read_blobs,
        manifests=tree.manifests(),
        scratch=scratch,
        surroundings=surroundings,
    )
    answers, counts, faults = _bound(tree, report, entries)
    reason = " ".join([report.reason, *faults]).strip()
    run.is_walled = surroundings.wall is not None
    run.seconds, run.peak_bytes = round(report.seconds, 1), report.peak_bytes
    run.counts = {"files": report.files, **counts}
    run.reason = reason[:_LONGEST_REASON]
    if not answers:
        run.state = ScipRun.State.FAILED
        run.reason = run.reason or "The index says nothing of the repository's files."
        log.warning("scip_failed", indexer=run.indexer, reason=run.reason)
        return 0
    run.state = ScipRun.State.PARTIAL if reason else ScipRun.State.DONE
    return services.keep_answers(
        repository_id=tree.repository.pk,
        indexer=run.indexer,
        answers=answers,
        blobs={entry.path: entry.blob for entry in entries},
        now=timezone.now(),
    )


def _bound(
    tree: _Tree, report: Report, entries: list[SourceEntry]
) -> tuple[dict[str, Answers], Counter[str], list[str]]:
    """Return answers by path, what was counted, and what was wrong with the indexes."""
    files = _source_files(tree, entries) if report.indexes else {}
    answers: dict[str, Answers] = {}
    counts: Counter[str] = Counter()
    faults: list[str] = []
    for written in report.indexes:
        try:
            index = IndexFile(written.path, settings.SCIP_INDEX_MB << 20)
        except IndexTooLarge as error:
            faults.append(str(error))
            continue
        if not index.is_whole:
            faults.append("The index is cut off.")
        bound = bind(
            index,
            files,
            directory=written.directory,
            keeps_standard_library=settings.SCIP_STANDARD_LIBRARY,
        )
        answers.update(bound.answers)
        counts.update(bound.counts)
    if counts["malformed"]:
        faults.append(f"{counts['malformed']} documents could not be read.")
    return answers, counts, faults


def _source_files(tree: _Tree, entries: list[SourceEntry]) -> dict[str, SourceFile]:
    contents = [
        Content(path=entry.path, blob=entry.blob, language=language.name)
        for entry in entries
        if (language := language_of(entry.path)) is not None
    ]
    facts = facts_of(contents, read=tree.read_blobs, processes=settings.EXTRACTION_PROCESSES)
    return {
        content.path: SourceFile(found, _Text(tree, content.blob).read)
        for content in contents
        if isinstance(found := facts[content.path], BlobFacts)
    }


@dataclass(frozen=True, slots=True)
class _Text:
    """A blob's text, read when it is wanted: a repository's texts need not fit into memory."""

    tree: _Tree
    blob: str

    def read(self) -> bytes:
        ((_, content),) = self.tree.read_blobs([self.blob])
        return content if isinstance(content, bytes) else b""
