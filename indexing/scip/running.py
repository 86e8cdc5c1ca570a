"""One indexer on one tree: export, prepare, start, and start again without the file it died of.

Knows nothing of rows. What the indexer wrote stays below the scratch folder for the caller to read.
"""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from indexing.git import BlobContent
from indexing.scip.indexers import Indexer, Installed, runtime_homes, search_path
from indexing.scip.projects import Exported
from indexing.scip.sandbox import OUTPUT, SOURCE, Ended, Limits, Room, make_room, run_bounded
from indexing.scip.trees import SourceEntry, write_tree

MAX_CRASHES = 3
"""Files that are left out one after the other because the indexer died of them."""

MAX_PROJECTS = 30
"""Folders with a project of their own (Go modules) that are indexed in one run."""

_HEAP_SHARE = 0.75
_STOPPED = {
    "time": "took too long",
    "memory": "took too much memory",
    "output": "wrote too much",
}

Reader = Callable[[Iterable[str]], Iterator[tuple[str, BlobContent]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """One index: where it is, and the folder that its paths are relative to."""

    path: Path
    directory: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """How the indexer fared. `reason` is "" for a whole index, else why it is partial or none."""

    indexes: tuple[Written, ...]
    reason: str
    excluded: tuple[str, ...]
    files: int
    seconds: float
    peak_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What is the same for every run of this host."""

    tools: Path
    wall: str | None
    limits: Limits


def run_indexer(
    installed: Installed,
    *,
    project: str,
    entries: Sequence[SourceEntry],
    read: Reader,
    manifests: Mapping[str, bytes],
    scratch: Path,
    surroundings: Surroundings,
) -> Report:
    """Return what the indexer made of the files `entries`; never raises for what it does."""
    room = _room(installed.indexer, scratch, surroundings)
    files = write_tree(scratch / SOURCE, read({entry.blob for entry in entries}), entries)
    run = _Run(
        installed=installed,
        project=re.sub(r"[^\w.\-]", "-", project) or "project",
        paths=[entry.path for entry in entries],
        manifests=manifests,
        room=room,
        surroundings=surroundings,
    )
    for number, directory in enumerate(_directories(installed.indexer, manifests)):
        run.index(directory, f"{number}.scip")
    if run.excluded:
        left_out = ", ".join(run.excluded)[:500]
        run.reasons.append(f"Left out, because it crashed on them: {left_out}.")
    return Report(
        indexes=tuple(run.indexes),
        reason=" ".join(dict.fromkeys(run.reasons)),
        excluded=tuple(run.excluded),
        files=files,
        seconds=run.seconds,
        peak_bytes=run.peak_bytes,
    )


@dataclass(slots=True, kw_only=True)
class _Run:
    """The starts of one indexer, and what came of them."""

    installed: Installed
    project: str
    paths: Sequence[str]
    manifests: Mapping[str, bytes]
    room: Room
    surroundings: Surroundings
    indexes: list[Written] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    seconds: float = 0.0
    peak_bytes: int = 0

    def index(self, directory: str, output: str) -> None:
        """Index one project, again without the file it died of, and again."""
        ended = self._start(directory, output)
        while victim := self._victim(ended, directory):
            self.excluded.append(victim)
            ended = self._start(directory, output)
        if not ended.is_good:
            self.reasons.append(_reason(ended))
        path = self.room.scratch / OUTPUT / output
        if path.is_file() and not path.is_symlink() and path.stat().st_size:
            self.indexes.append(Written(path=path, directory=directory))
        elif ended.is_good:
            self.reasons.append("It ended well and wrote no index.")

    def _start(self, directory: str, output: str) -> Ended:
        self._write_project(directory)
        ended = run_bounded(
            self._command(output),
            room=self.room,
            limits=self.surroundings.limits,
            directory=directory,
        )
        self.seconds += ended.seconds
        self.peak_bytes = max(self.peak_bytes, ended.peak_bytes)
        return ended

    def _write_project(self, directory: str) -> None:
        tree = Exported(
            directory=directory,
            paths=self.paths,
            manifests=self.manifests,
            excluded=self.excluded,
            tools=self.surroundings.tools,
        )
        for path, text in self.installed.indexer.prepare(tree).items():
            target = self.room.scratch / SOURCE / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            target.write_text(text, encoding="utf-8")

    def _command(self, output: str) -> list[str]:
        values = {
            "output": self.room.inside(OUTPUT, output),
            "project": self.project,
            "tools": str(self.surroundings.tools),
        }
        return [
            re.sub(r"\{(output|project|tools)\}", lambda found: values[found[1]], part)
            for part in self.installed.command
        ]

    def _victim(self, ended: Ended, directory: str) -> str | None:
        """Return the file that the log says it was reading when it died, if it can be left out."""
        mark = self.installed.indexer.crash_mark
        if ended.is_good or ended.stopped or not mark or len(self.excluded) >= MAX_CRASHES:
            return None
        known = set(self.paths) - set(self.excluded)
        for line in reversed(ended.log.splitlines()):
            for word in re.findall(r"[^\s'\"`,:()]+", line.partition(mark)[2]):
                below = word.removeprefix("/scratch").removeprefix(f"/{SOURCE}/")
                path = posixpath.join(directory, below)
                if path in known:
                    return path
        return None


def _directories(indexer: Indexer, manifests: Mapping[str, bytes]) -> list[str]:
    """Return the folders to run in: the root, or each that holds a project file."""
    if not indexer.roots:
        return [""]
    found = {
        posixpath.dirname(path) for path in manifests if posixpath.basename(path) == indexer.roots
    }
    return sorted(found, key=lambda folder: (len(folder.split("/")), folder))[:MAX_PROJECTS]


def _room(indexer: Indexer, scratch: Path, surroundings: Surroundings) -> Room:
    tools = surroundings.tools
    outside = [home for home in runtime_homes() if not home.is_relative_to("/usr")]
    heap_megabytes = int(surroundings.limits.memory_bytes * _HEAP_SHARE) >> 20
    environment = {
        "PATH": search_path(tools),
        "NODE_OPTIONS": f"--max-old-space-size={heap_megabytes}",
        **dict(indexer.environment),
    }
    if surroundings.wall:
        environment["CODEMEM_WALL"] = surroundings.wall
    return make_room(
        scratch,
        is_walled=surroundings.wall is not None,
        readable=[tools.parent, *outside],
        environment=environment,
    )


def _reason(ended: Ended) -> str:
    if ended.stopped:
        return f"It {_STOPPED[ended.stopped]} and was stopped after {ended.seconds:.0f} s."
    last = next((line.strip() for line in reversed(ended.log.splitlines()) if line.strip()), "")
    return f"It ended with code {ended.exit_code}: {last[:300]}"
