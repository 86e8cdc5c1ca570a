"""Reads whole repositories and says what it cost: files, lines, symbols, edges, seconds, memory.

    python -m tests.bench.repositories PATH-TO-BARE-REPOSITORY ...

Everything is read as a worker reads it, in children that may die, but nothing is written: the cost
of loading is measured elsewhere. Every file that is not read is counted under its reason.
"""

import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from graph.values import EdgeKind
from indexing.extraction import Job, Skipped, extract_all
from indexing.facts import BlobFacts
from indexing.languages import Language, language_of
from indexing.parsing import skip_reason
from indexing.resolution import is_manifest, resolve

_MODES = (b"100644", b"100755")


def main() -> None:
    print(
        f"{'repository':24} {'files':>6} {'lines':>8} {'symbols':>8} {'edges':>8} {'calls':>7} "
        f"{'CPU s':>6} {'MiB':>5}  languages; skipped"
    )
    for path in sys.argv[1:]:
        _report(Path(path))


def _report(repository: Path) -> None:
    started = _cpu_seconds()
    languages: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    files: dict[str, BlobFacts] = {}
    manifests: dict[str, bytes] = {}
    jobs = _jobs(repository, languages, skipped, manifests)
    for path, outcome in extract_all(jobs, processes=1, unpack=BlobFacts.from_bytes):
        if isinstance(outcome, Skipped):
            skipped[outcome.reason] += 1
            continue
        files[path] = outcome
        if outcome.gave_up:
            skipped[f"partly:{outcome.gave_up}"] += 1
    resolution = resolve(files, manifests)
    edges = Counter(edge.kind for edge in resolution.edges)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    name = repository.parent.name if repository.name in ("repo", "git") else repository.name
    print(
        f"{name:24} {len(files):6} {sum(facts.lines for facts in files.values()):8} "
        f"{len(resolution.symbols):8} {len(resolution.edges):8} {edges[EdgeKind.CALLS]:7} "
        f"{_cpu_seconds() - started:6.1f} {memory:5}  {dict(languages.most_common(4))}; "
        f"{dict(skipped)}",
        flush=True,
    )


def _jobs(
    repository: Path,
    languages: Counter[str],
    skipped: Counter[str],
    manifests: dict[str, bytes],
) -> Iterator[Job[str]]:
    for path, language, source in _sources(repository):
        if is_manifest(path):
            manifests[path] = source
        if language is None:
            continue
        reason = skip_reason(path, source)
        if reason:
            skipped[reason] += 1
            continue
        languages[language.name] += 1
        yield Job(path, language, source)


def _sources(repository: Path) -> Iterator[tuple[str, Language | None, bytes]]:
    listing = _git(repository, "ls-tree", "-r", "-z", "HEAD")
    for entry in filter(None, listing.split(b"\0")):
        about, _, name = entry.partition(b"\t")
        mode, _, blob = about.split(b" ")
        path = name.decode("utf-8", "backslashreplace")
        language = language_of(path)
        if mode in _MODES and (language or is_manifest(path)):
            yield path, language, _git(repository, "cat-file", "blob", blob.decode())


def _git(repository: Path, *arguments: str) -> bytes:
    command = ["git", "--git-dir", str(repository), *arguments]
    return subprocess.run(command, check=True, capture_output=True).stdout


def _cpu_seconds() -> float:
    own = time.process_time()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own + children.ru_utime + children.ru_stime


if __name__ == "__main__":
    main()
