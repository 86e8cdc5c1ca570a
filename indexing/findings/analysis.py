"""All analyses of one repository in their order: the only file that knows it.

    files that changed -> what each says itself -> history -> what the whole graph says -> blame

What looks at one file costs as much as changed; what looks at the whole reads columns. Blame is the
one slow part: it goes on in portions, the newest files first, until every file has been seen.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.conf import settings

from graph import queries as graph
from graph import services as graph_services
from indexing.findings import (
    activity,
    dead_code,
    hotspots,
    ownership,
    queries,
    reach,
    recent_changes,
    security,
    services,
    smells,
    surface,
    testing,
)
from indexing.findings.head import read_files, read_symbols, read_uses
from indexing.findings.rules import RULES, RULES_VERSION
from indexing.findings.services import Moment
from indexing.findings.values import Found, HeadFile, HeadSymbol, Measured, Uses
from indexing.git import CommitInfo, GitError, Mirror
from indexing.languages import is_test_path
from indexing.locks import Work, only_worker
from indexing.mirrors import find_mirror

log = structlog.get_logger(__name__)

_LOCAL_RULES = tuple(
    rule for rule in RULES if rule.partition(".")[0] in {"complexity", "smell", "security", "docs"}
)
_SURFACE = ("lines", "functions", "public_symbols", "documented_symbols", "cyclomatic", "cognitive")
_ACTIVITY = ("recent_commits", "recent_churn", "recent_authors")
_OWNERSHIP = ("authors", "bus_factor", "owner_share")
_FILES_AT_ONCE = 500
_WINDOW = timedelta(days=365)
# So long one task blames; then others of the queue have their turn.
_SECONDS_OF_BLAME = 20.0
_SECONDS_FOR_A_FILE = 20.0


@dataclass(frozen=True, slots=True)
class _Subject:
    """What is analyzed: the head of a repository, and the mirror that has its contents."""

    moment: Moment
    mirror: Mirror
    head: CommitInfo
    files: Mapping[str, HeadFile]


def analyze(*, repository_id: UUID, now: datetime) -> bool:
    """Bring findings and metrics up to the indexed head; return whether files are left to blame.

    Nothing happens when another worker is at it, or this host has no mirror. Safe to run twice.
    """
    with only_worker(work=Work.FINDINGS, repository_id=repository_id) as is_ours:
        subject = _subject(repository_id, now) if is_ours else None
        if subject is None:
            return False
        known = queries.find_analysis(repository_id=repository_id)
        is_new = known is None or known.commit != subject.head.sha or not known.is_current
        if is_new:
            _analyze_files(subject)
            _analyze_whole(subject)
            services.finish(
                moment=subject.moment,
                rules_version=RULES_VERSION,
                files_to_blame=len(subject.files),
            )
        return _blame(subject, is_new=is_new)


def _subject(repository_id: UUID, now: datetime) -> _Subject | None:
    state = graph.get_ref_state(repository_id=repository_id, ref=None)
    mirror = find_mirror(repository_id)
    if (
        state.indexed_commit is None
        or mirror is None
        or not mirror.has_commit(state.indexed_commit)
    ):
        return None
    return _Subject(
        moment=Moment(repository_id=repository_id, commit=state.indexed_commit, at=now),
        mirror=mirror,
        head=mirror.commit(state.indexed_commit),
        files=read_files(repository_id=repository_id),
    )


# --- File by file ---------------------------------------------------------------------------------
def _analyze_files(subject: _Subject) -> None:
    """Look at each file whose content is another than the last time, and forget those that left."""
    repository_id = subject.moment.repository_id
    seen = queries.analyzed_blobs(repository_id=repository_id)
    removed = [path for path in seen if path not in subject.files]
    if removed:
        _keep_local(subject, removed, found=[], measured=[])
        services.note_analyzed(
            moment=subject.moment, blobs={}, removed=removed, rules_version=RULES_VERSION
        )
    changed = [
        file for file in subject.files.values() if seen.get(file.path) != (file.blob, RULES_VERSION)
    ]
    for start in range(0, len(changed), _FILES_AT_ONCE):
        _analyze_some(subject, changed[start : start + _FILES_AT_ONCE])


def _analyze_some(subject: _Subject, files: Sequence[HeadFile]) -> None:
    paths = [file.path for file in files]
    symbols = _by_path(read_symbols(repository_id=subject.moment.repository_id, paths=paths))
    contents = subject.mirror.blobs(
        {file.blob for file in files}, max_bytes=settings.MAXIMUM_FILE_BYTES
    )
    of_blob: dict[str, list[HeadFile]] = {}
    for file in files:
        of_blob.setdefault(file.blob, []).append(file)
    found: list[Found] = []
    measured: list[Measured] = []
    for blob, content in contents:
        readable = content if isinstance(content, bytes) else None
        for file in of_blob[blob]:
            own = symbols.get(file.path, [])
            found += smells.find_smells(file=file, symbols=own, content=readable)
            found += surface.find_undocumented(file=file, symbols=own)
            measured += surface.measure_surface(file=file, symbols=own)
            if readable is not None:
                dangers = security.find_dangers(
                    path=file.path, language=file.language, content=readable, is_test=file.is_aside
                )
                found += _inside(dangers, own)
    _keep_local(subject, paths, found=found, measured=measured)
    services.note_analyzed(
        moment=subject.moment,
        blobs={file.path: file.blob for file in files},
        removed=(),
        rules_version=RULES_VERSION,
    )


def _keep_local(
    subject: _Subject, paths: Sequence[str], *, found: Iterable[Found], measured: Iterable[Measured]
) -> None:
    services.reconcile(moment=subject.moment, rules=_LOCAL_RULES, paths=paths, found=found)
    services.record_metrics(
        moment=subject.moment,
        names=_SURFACE,
        nodes=[f"file:{path}" for path in paths],
        measured=measured,
    )


def _inside(found: Iterable[Found], symbols: Sequence[HeadSymbol]) -> list[Found]:
    """Say of each finding in which symbol it stands: the innermost around its line."""
    return [one.within(_innermost(one.line, symbols)) for one in found]


def _innermost(line: int, symbols: Sequence[HeadSymbol]) -> str:
    around = [symbol for symbol in symbols if symbol.start_line <= line <= symbol.end_line]
    return min(around, key=lambda symbol: symbol.lines).id if around else ""


def _by_path(symbols: Iterable[HeadSymbol]) -> dict[str, list[HeadSymbol]]:
    by_path: dict[str, list[HeadSymbol]] = {}
    for symbol in symbols:
        by_path.setdefault(symbol.path, []).append(symbol)
    return by_path


# --- The whole ------------------------------------------------------------------------------------
def _analyze_whole(subject: _Subject) -> None:
    """Look at what only history or the graph as a whole can tell."""
    _analyze_history(subject)
    repository_id = subject.moment.repository_id
    symbols = list(read_symbols(repository_id=repository_id))
    uses = read_uses(repository_id=repository_id)
    _analyze_reach(subject, symbols, uses)
    tested = testing.tested_vertices(subject.files.values(), symbols, uses)
    services.record_metrics(
        moment=subject.moment,
        names=("tested_symbols", "tested_share"),
        nodes=None,
        measured=testing.measure_tests(symbols, tested=tested),
    )
    _find_by_name(
        subject,
        untested=testing.untested(symbols, tested=tested),
        unused=dead_code.unused(symbols, uses),
    )


def _analyze_history(subject: _Subject) -> None:
    repository_id = subject.moment.repository_id
    services.ensure_analysis(repository_id=repository_id, now=subject.moment.at)
    changes = [
        change
        for change in recent_changes.follow(
            repository_id=repository_id,
            mirror=subject.mirror,
            head=subject.head,
            window=_WINDOW,
        )
        if change.path in subject.files
    ]
    measured = list(activity.measure_activity(changes))
    cognitive = queries.values_by_path(repository_id=repository_id, name="cognitive")
    churn = _by_path_of(measured, "recent_churn")
    measured += hotspots.measure_hotspots(files=subject.files, churn=churn, cognitive=cognitive)
    services.record_metrics(
        moment=subject.moment, names=(*_ACTIVITY, "hot_and_complex"), nodes=None, measured=measured
    )
    services.reconcile(
        moment=subject.moment,
        rules=["risk.hot-and-complex"],
        paths=None,
        found=hotspots.find_hotspots(
            files=subject.files,
            churn=churn,
            commits=_by_path_of(measured, "recent_commits"),
            cognitive=cognitive,
        ),
    )
    graph_services.store_co_changes(
        repository_id=repository_id,
        pairs=[
            (pair.path, pair.other, pair.confidence, pair.support, pair.lift)
            for pair in activity.co_changes(changes)
        ],
    )


def _by_path_of(measured: Iterable[Measured], name: str) -> dict[str, float]:
    return {one.node.removeprefix("file:"): one.value for one in measured if one.name == name}


def _analyze_reach(subject: _Subject, symbols: Sequence[HeadSymbol], uses: Uses) -> None:
    direct, within_two = reach.dependents_by_file(subject.files, symbols, uses)
    services.record_metrics(
        moment=subject.moment,
        names=("dependents", "change_impact"),
        nodes=None,
        measured=reach.measure_reach(direct, within_two),
    )


def _find_by_name(
    subject: _Subject, *, untested: Sequence[HeadSymbol], unused: Sequence[HeadSymbol]
) -> None:
    """Confirm what no edge leads to: the names of such symbols may not stand elsewhere either.

    One `git grep` of the head for all names (1.4 s for Django's 489,525 lines).
    """
    mentions: dict[str, int] = {}
    in_tests: dict[str, int] = {}
    names = {symbol.name for symbol in (*untested, *unused)}
    for path, name in subject.mirror.occurrences(subject.head.sha, sorted(names)):
        mentions[name] = mentions.get(name, 0) + 1
        if is_test_path(path):
            in_tests[name] = in_tests.get(name, 0) + 1
    services.reconcile(
        moment=subject.moment,
        rules=["tests.untested"],
        paths=None,
        found=testing.find_untested(untested, tests_that_mention=in_tests),
    )
    services.reconcile(
        moment=subject.moment,
        rules=["dead-code.unused-symbol"],
        paths=None,
        found=dead_code.find_unused(unused, mentions=mentions),
    )


# --- Blame ----------------------------------------------------------------------------------------
def _blame(subject: _Subject, *, is_new: bool) -> bool:
    """Blame files for a while, those that changed last first; return whether some are left."""
    repository_id = subject.moment.repository_id
    blamed = queries.blamed_lines(repository_id=repository_id)
    activity_of = queries.values_by_path(repository_id=repository_id, name="recent_commits")
    left = sorted(
        (
            file
            for file in subject.files.values()
            if blamed.get(file.path, ("", {}))[0] != file.blob
        ),
        key=lambda file: -activity_of.get(file.path, 0),
    )
    deadline = time.monotonic() + _SECONDS_OF_BLAME
    done = 0
    for file in left:
        if time.monotonic() >= deadline:
            break
        lines = _authors_of(subject, file)
        services.note_blamed(
            repository_id=repository_id, path=file.path, blob=file.blob, lines=lines
        )
        done += 1
    services.finish(moment=subject.moment, files_to_blame=len(left) - done)
    if done or is_new:
        _keep_ownership(subject)
    return done < len(left)


def _authors_of(subject: _Subject, file: HeadFile) -> Mapping[str, int]:
    """Return lines by author; nothing for a file whose history is too long to be asked for."""
    try:
        return subject.mirror.authors_of_lines(
            subject.head.sha, file.path, timeout_seconds=_SECONDS_FOR_A_FILE
        )
    except GitError as error:
        log.info("blame_failed", path=file.path, reason=str(error))
        return {}


def _keep_ownership(subject: _Subject) -> None:
    repository_id = subject.moment.repository_id
    lines = {
        path: lines
        for path, (_, lines) in queries.blamed_lines(repository_id=repository_id).items()
        if path in subject.files
    }
    dependents = queries.values_by_path(repository_id=repository_id, name="dependents")
    services.record_metrics(
        moment=subject.moment,
        names=_OWNERSHIP,
        nodes=None,
        measured=ownership.measure_ownership(lines),
    )
    services.reconcile(
        moment=subject.moment,
        rules=["ownership.single-author"],
        paths=None,
        found=ownership.find_single_authors(
            files=subject.files,
            lines_by_file=lines,
            dependents={path: int(count) for path, count in dependents.items()},
        ),
    )
