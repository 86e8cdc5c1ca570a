"""Measure what a push of one file costs on repositories of several sizes.

    python -m tests.bench.pushes SOURCE [SIZE ...]

SOURCE is a folder of Python; repositories of SIZE files are made of copies of its packages. Prints
the CPU and wall seconds of the first index, and of pushes of one file (medians).
"""

import os
import resource
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import django

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graph.models import Repository

_PUSHES = 7


def main() -> None:
    """Print one line for each size."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codemem.settings")
    django.setup()
    source, *sizes = sys.argv[1:]
    print("files  first: wall  cpu   push: wall median  max  (parse, resolve, write)  answer")
    for size in map(int, sizes or ("500", "2000", "8000")):
        with tempfile.TemporaryDirectory() as folder:
            print(_measured(Path(source), size, Path(folder)), flush=True)


def _measured(source: Path, size: int, folder: Path) -> str:
    from codemem.accounts.models import Namespace
    from graph.models import Repository
    from tests.indexing.checkout import Checkout

    checkout = Checkout(folder / "work")
    edited = _fill(checkout.path, source, size)
    checkout.commit({})
    namespace = Namespace.objects.create(name=f"bench-{os.getpid()}-{size}")
    repository = Repository.objects.create(
        namespace=namespace, name="bench", url=str(checkout.path), default_branch="main"
    )
    try:
        first_wall, first_cpu, _ = _timed(repository)
        walls, steps, answers = [], [], []
        for number in range(_PUSHES):
            text = edited.read_text()
            name = f"pushed_{number}"
            checkout.commit({str(edited.relative_to(checkout.path)): _pushed(text, name)})
            wall, _, seconds = _timed(repository)
            walls.append(wall)
            steps.append(seconds)
            answers.append(_answered(repository, name))
    finally:
        _remove(repository)
    medians = ", ".join(
        f"{statistics.median(step.get(name, 0) for step in steps):.3f}"
        for name in ("fetching", "parsing", "resolving", "writing")
    )
    return (
        f"{size:5}  {first_wall:6.1f} {first_cpu:6.1f}   {statistics.median(walls):.3f}"
        f"  {max(walls):.3f}  ({medians})  {statistics.median(answers):.3f}"
    )


def _fill(target: Path, source: Path, size: int) -> Path:
    """Copy packages until there are so many files; return the one that is edited."""
    files = sorted(source.rglob("*.py"))
    count = copy = 0
    while count < size:
        for file in files[: size - count]:
            path = target / f"copy{copy}" / file.relative_to(source)
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, path)
        count += len(files)
        copy += 1
    made = sorted(path for path in target.rglob("*.py") if path.stat().st_size)
    return made[len(made) // 2]


def _pushed(text: str, name: str) -> str:
    return f"{text}\n\ndef {name}(given):\n    return given\n"


def _timed(repository: "Repository") -> tuple[float, float, dict[str, float]]:
    from django.utils import timezone

    from indexing import queries
    from indexing.pipeline import run_index
    from indexing.services import request_index

    cpu, wall = _cpu(), time.perf_counter()
    run_id = request_index(repository_id=repository.pk, requested_by="bench")
    outcome = run_index(run_id=run_id, now=timezone.now())
    wall, cpu = time.perf_counter() - wall, _cpu() - cpu
    run = queries.get_run(run_id=run_id)
    if outcome is None or not outcome.is_indexed:
        raise RuntimeError(run.error)
    return wall, cpu, run.seconds


def _answered(repository: "Repository", name: str) -> float:
    from graph import queries as graph

    started = time.perf_counter()
    found = graph.find_nodes(repository_id=repository.pk, text=name)
    if not found:
        raise RuntimeError(f"{name} was pushed and is not found")
    return time.perf_counter() - started


def _cpu() -> float:
    """Return the CPU seconds of this process and its children; Postgres is not counted."""
    used: Iterable[resource.struct_rusage] = map(
        resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return sum(one.ru_utime + one.ru_stime for one in used)


def _remove(repository: "Repository") -> None:
    from graph import cypher
    from indexing.mirrors import mirror_path

    shutil.rmtree(mirror_path(repository.pk), ignore_errors=True)
    namespace = repository.namespace
    cypher.drop_graph(namespace.pk)
    repository.delete()
    namespace.delete()


if __name__ == "__main__":
    main()
