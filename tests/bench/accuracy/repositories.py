"""The repositories that accuracy is measured on, parsed, with their compilers' indexes bound.

Rules are tuned on the first repository of a language and reported on the held-out ones.
"""

import posixpath
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from indexing.facts import BlobFacts
from indexing.git import BlobContent, EntryKind, Mirror
from indexing.languages import language_of
from indexing.parsing import extract, skip_reason
from indexing.resolution import is_manifest
from indexing.scip.binding import Bound, SourceFile, bind
from indexing.scip.index import IndexFile
from indexing.scip.indexers import INDEXERS, Installed, find_installed
from indexing.scip.refinement import is_project_file
from indexing.scip.running import Surroundings, run_indexer
from indexing.scip.sandbox import Limits, find_wall
from indexing.scip.trees import SourceEntry, visible

MAX_BYTES = 1_000_000
_LIMITS = Limits(seconds=3600, memory_bytes=6 << 30, output_bytes=512 << 20)


@dataclass(frozen=True, slots=True)
class Measured:
    """One repository of the bench: GitHub's name of it, the indexer, and what it is for."""

    name: str
    indexer: str
    is_held_out: bool


REPOSITORIES = (
    Measured("pallets/flask", "python", is_held_out=False),
    Measured("psf/requests", "python", is_held_out=True),
    Measured("pallets/werkzeug", "python", is_held_out=True),
    Measured("vuejs/core", "typescript", is_held_out=False),
    Measured("trpc/trpc", "typescript", is_held_out=True),
    Measured("spf13/cobra", "go", is_held_out=False),
    Measured("gin-gonic/gin", "go", is_held_out=True),
    Measured("BurntSushi/ripgrep", "rust", is_held_out=False),
    Measured("sharkdp/fd", "rust", is_held_out=True),
    Measured("google/gson", "java", is_held_out=False),
    Measured("apache/commons-cli", "java", is_held_out=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """A repository's newest commit, parsed, and what its compiler says of it."""

    files: Mapping[str, BlobFacts]
    manifests: Mapping[str, bytes]
    bound: Bound
    reason: str


def find_mirror(name: str, mirrors: Path) -> Mirror | None:
    """Return the bare repository kept for a name, in one of the usual layouts."""
    base = name.replace("/", "+")
    for folder in (f"{base}/repo", base, f"{base}.git", posixpath.basename(name)):
        if (mirrors / folder / "HEAD").exists():
            return Mirror(mirrors / folder)
    return None


def installed_for(measured: Measured, tools: Path) -> Installed | None:
    indexer = next(row for row in INDEXERS if row.name == measured.indexer)
    return find_installed(indexer, tools=tools, commands={})


def read_sources(
    measured: Measured, *, mirror: Mirror, installed: Installed, cache: Path, tools: Path
) -> Sources:
    """Parse the newest commit and bind its index, which is made once per commit and tool."""
    commit = _head(mirror)
    tree = [entry for entry in mirror.tree(commit) if entry.kind is EntryKind.FILE]
    texts = _texts(mirror, {entry.path: entry.blob for entry in tree})
    files = {
        path: extract(language, text)
        for path, text in texts.items()
        if (language := language_of(path)) and skip_reason(path, text) is None
    }
    entries = visible(SourceEntry(e.path, e.blob) for e in tree if installed.indexer.wants(e.path))
    scratch = cache / f"{measured.name.replace('/', '+')}-{commit[:12]}"
    if not (scratch / "report").exists():
        _index(measured, installed, entries, mirror, texts, scratch, tools)
    reason, *indexes = (scratch / "report").read_text().splitlines()
    bound = Bound()
    shown = {
        entry.path: SourceFile(files[entry.path], partial(texts.__getitem__, entry.path))
        for entry in entries
        if entry.path in files
    }
    for line in indexes:
        name, _, directory = line.partition(" ")
        index = IndexFile(scratch / "output" / name, _LIMITS.output_bytes)
        found = bind(index, shown, directory=directory)
        bound.answers.update(found.answers)
        bound.counts.update(found.counts)
    manifests = {path: text for path, text in texts.items() if is_manifest(path)}
    return Sources(files=files, manifests=manifests, bound=bound, reason=reason)


def _head(mirror: Mirror) -> str:
    command = ["git", "--git-dir", str(mirror.path), "rev-parse", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _texts(mirror: Mirror, blobs: Mapping[str, str]) -> dict[str, bytes]:
    wanted = {
        path: blob
        for path, blob in blobs.items()
        if language_of(path) or is_manifest(path) or is_project_file(path)
    }
    read = dict(mirror.blobs(set(wanted.values()), max_bytes=MAX_BYTES))
    return {path: text for path, blob in wanted.items() if isinstance(text := read[blob], bytes)}


def _index(  # noqa: PLR0917
    measured: Measured,
    installed: Installed,
    entries: list[SourceEntry],
    mirror: Mirror,
    texts: Mapping[str, bytes],
    scratch: Path,
    tools: Path,
) -> None:
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)

    def read(blobs: Iterable[str]) -> Iterator[tuple[str, BlobContent]]:
        return mirror.blobs(blobs, max_bytes=MAX_BYTES)

    report = run_indexer(
        installed,
        project=posixpath.basename(measured.name),
        entries=entries,
        read=read,
        manifests={path: text for path, text in texts.items() if is_project_file(path)},
        scratch=scratch,
        surroundings=Surroundings(tools=tools, wall=find_wall(tools), limits=_LIMITS),
    )
    for folder in ("source", "home", "tmp"):
        shutil.rmtree(scratch / folder, ignore_errors=True)
    lines = [report.reason.replace("\n", " ")]
    lines += [f"{index.path.name} {index.directory}" for index in report.indexes]
    (scratch / "report").write_text("\n".join(lines) + "\n")
