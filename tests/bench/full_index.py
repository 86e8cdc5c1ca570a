"""Measure what it costs to index a whole repository from nothing, and what other tools take for it.

    python -m tests.bench.full_index SOURCE [--other COMMAND ...]

SOURCE is a folder or a Git repository; what is in it is committed to a repository of its own first.
Prints CPU seconds (user and system) of the processes that parse, of this process by step, and of
Postgres, then files, lines, symbols, edges and peak memory. A COMMAND of another tool runs in a
fresh copy of the same files ("codegraph init -i"), and the ratio to its CPU seconds is printed.
Vectors and ranks are not measured: the graph answers without them.
"""

import argparse
import os
import resource
import shlex
import shutil
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import django

if TYPE_CHECKING:
    from graph.models import Repository

_TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Print the figures of one index from nothing, and of every other command."""
    arguments = _arguments()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codemem.settings")
    django.setup()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        _copy(arguments.source, source)
        _commit(source)
        figures = _indexed(source)
        print("\n".join(figures.lines()), flush=True)
        for command in arguments.other:
            other = _other(command, source, Path(folder) / "other")
            print(
                f"{other.cpu:8.1f} CPU s  {other.wall:6.1f} s  {command}"
                f" -> {figures.total / other.cpu:.2f} of it",
                flush=True,
            )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.bench.full_index", description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("--other", action="append", default=[], help="A command to compare with.")
    return parser.parse_args()


# --- The index ------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Figures:
    """CPU seconds by who spent them, and what there is after."""

    wall: float = 0.0
    parsing: float = 0.0
    parent: float = 0.0
    postgres: float = 0.0
    others_of_postgres: float = 0.0
    steps: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    counts: dict[str, int] = field(default_factory=dict)
    peak_bytes: int = 0
    peak_child_bytes: int = 0

    @property
    def total(self) -> float:
        return self.parsing + self.parent + self.postgres

    def lines(self) -> Iterator[str]:
        yield ", ".join(f"{count:,} {name}" for name, count in self.counts.items())
        yield f"{self.total:8.1f} CPU s  {self.wall:6.1f} s  in all"
        yield f"{self.parsing:8.1f} CPU s  parsing processes and git"
        yield f"{self.parent:8.1f} CPU s  this process, of it"
        for name, seconds in self.steps.items():
            yield f"{seconds:12.1f} CPU s  {name}"
        yield f"{self.parent - sum(self.steps.values()):12.1f} CPU s  the rest"
        yield f"{self.postgres:8.1f} CPU s  Postgres, the connection's process"
        yield f"{self.others_of_postgres:8.1f} CPU s  Postgres, background (not in the sum)"
        yield (
            f"{self.peak_bytes / 2**20:8.0f} MB at most here,"
            f" {self.peak_child_bytes / 2**20:.0f} MB in the largest child"
        )


def _indexed(source: Path) -> _Figures:
    from codemem.accounts.models import Namespace
    from graph.models import Repository

    namespace = Namespace.objects.create(name=f"bench-{os.getpid()}")
    repository = Repository.objects.create(
        namespace=namespace, name="bench", url=str(source), default_branch="main"
    )
    try:
        return _measured(repository)
    finally:
        _remove(repository)


def _measured(repository: "Repository") -> _Figures:
    from django.db import connection
    from django.utils import timezone

    from indexing import queries
    from indexing.pipeline import run_index
    from indexing.services import request_index

    run_id = request_index(repository_id=repository.pk, requested_by="bench")
    with connection.cursor() as cursor:
        cursor.execute("select pg_backend_pid()")
        (backend,) = cursor.fetchone()
    figures = _Figures()
    wall, parent, children = time.perf_counter(), time.process_time(), _children_cpu()
    before = _processes_of(backend)
    with _steps(figures.steps):
        outcome = run_index(run_id=run_id, now=timezone.now())
    figures.wall = time.perf_counter() - wall
    figures.parent = time.process_time() - parent
    figures.parsing = _children_cpu() - children
    spent = {pid: cpu - before.get(pid, 0) for pid, cpu in _processes_of(backend).items()}
    figures.postgres = spent.pop(backend)
    figures.others_of_postgres = sum(spent.values())
    figures.peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    figures.peak_child_bytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    run = queries.get_run(run_id=run_id)
    if outcome is None or not outcome.is_indexed:
        raise RuntimeError(run.error)
    figures.counts = {"files": run.counts["files"], "lines": _lines(repository)}
    figures.counts |= {name: run.counts[name] for name in ("symbols", "edges")}
    return figures


@contextmanager
def _steps(spent: dict[str, float]) -> Iterator[None]:
    """Attribute this process's CPU seconds to the steps of a whole index."""
    from graph.services import loading, snapshots
    from indexing import dependencies, pipeline

    measured: list[tuple[str, Any, str]] = [
        ("handing out blobs, unpacking facts", pipeline, "facts_of"),
        ("resolving", pipeline, "resolve_files"),
        ("numbering what files depend on", dependencies.Numbering, "of"),
        ("rows and digests", snapshots, "desired_state"),
        ("writing files", loading.Load, "copy_files"),
        ("writing symbols", loading.Load, "copy_symbols"),
        ("writing vertices", loading.Load, "copy_vertices"),
        ("writing edges", loading.Load, "copy_edges"),
        ("writing what files depend on", dependencies, "keep_all"),
    ]
    originals = [(owner, name, getattr(owner, name)) for _, owner, name in measured]
    for label, owner, name in measured:
        spent[label] = 0.0
        timed = _timed_iterator if name == "resolve_files" else _timed
        setattr(owner, name, timed(getattr(owner, name), label, spent))
    try:
        yield
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)


def _timed(call: Callable[..., Any], label: str, spent: dict[str, float]) -> Callable[..., Any]:
    def timed(*arguments: Any, **named: Any) -> Any:
        started = time.process_time()
        try:
            return call(*arguments, **named)
        finally:
            spent[label] += time.process_time() - started

    return timed


def _timed_iterator(
    call: Callable[..., Any], label: str, spent: dict[str, float]
) -> Callable[..., Any]:
    def timed(*arguments: Any) -> Iterator[Any]:
        produced = iter(_timed(call, label, spent)(*arguments))
        produce = _timed(lambda: next(produced, None), label, spent)
        while (one := produce()) is not None:
            yield one

    return timed


# --- Other tools ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Other:
    cpu: float
    wall: float


def _other(command: str, source: Path, target: Path) -> _Other:
    """Run another tool in a fresh copy of the files; {} in its command stands for the copy."""
    _copy(source, target)
    _commit(target)
    wall, cpu = time.perf_counter(), _children_cpu()
    subprocess.run(
        [part.replace("{}", str(target)) for part in shlex.split(command)],
        cwd=target,
        stdout=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        check=True,
    )
    spent = _Other(cpu=_children_cpu() - cpu, wall=time.perf_counter() - wall)
    shutil.rmtree(target)
    return spent


# --- The machine ----------------------------------------------------------------------------------


def _copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target, symlinks=True, ignore=_is_state_of_a_tool)


def _is_state_of_a_tool(_folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name in {".git", ".codegraph", ".code-review-graph"}]


def _commit(path: Path) -> None:
    identity = ("-c", "user.name=Bench", "-c", "user.email=bench@example.org")
    # Packed, as what a host serves is: to make the pack is not the reader's work.
    for command in (
        ("init", "-q", "-b", "main"),
        ("-c", "core.autocrlf=false", "add", "-A"),
        ("commit", "-q", "-m", "All"),
        ("repack", "-adq"),
    ):
        subprocess.run(["git", *identity, *command], cwd=path, check=True)


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _processes_of(backend: int) -> dict[int, float]:
    """Return the CPU seconds of every process of the Postgres that a backend belongs to."""
    parent = _stat(backend)[1]
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = _stat(int(folder.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
        if fields[1] == parent:
            found[int(folder.name)] = (int(fields[11]) + int(fields[12])) / _TICKS
    return found


def _stat(process: int) -> list[str]:
    """Return the fields of /proc/PID/stat after the name, which may hold anything."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


def _lines(repository: "Repository") -> int:
    from django.db.models import Sum

    from graph.models import FileVersion

    live = FileVersion.objects.filter(file__repository=repository, valid_to=None)
    return int(live.aggregate(lines=Sum("lines"))["lines"] or 0)


def _remove(repository: "Repository") -> None:
    from graph import cypher
    from indexing.mirrors import mirror_path
    from indexing.models import BlobFacts

    shutil.rmtree(mirror_path(repository.pk), ignore_errors=True)
    namespace = repository.namespace
    cypher.drop_graph(namespace.pk)
    repository.delete()
    namespace.delete()
    # The next run must find nothing that it could spare itself.
    BlobFacts.objects.all().delete()


if __name__ == "__main__":
    main()
