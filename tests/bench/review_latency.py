"""How long a pull request waits for its review: a real gunicorn, a token, diffs of 500 lines.

    python -m tests.bench.review_latency NAMESPACE REPOSITORY PATH [--index] [--reviews 30]

PATH is a Git repository, which with --index is indexed under that name first (for the figures in
ARCHITECTURE.md: Django's source). Each diff changes 500 lines, half removed and half added, in ten
files with symbols that were picked at random; no two diffs are the same, those of earlier runs
included, so nothing of the new side was ever parsed. Prints milliseconds from request to last byte:
of a process's first review, and of the later ones.
"""

import argparse
import difflib
import os
import random
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path

import django

_FILES = 10
_LINES_A_FILE = 25


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("namespace")
    parser.add_argument("repository")
    parser.add_argument("path", type=Path, help="a Git repository")
    parser.add_argument("--index", action="store_true", help="index it first")
    parser.add_argument("--reviews", type=int, default=30)
    arguments = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codemem.settings")
    django.setup()
    from tests.bench import http_latency

    if arguments.index:
        http_latency._index(arguments.namespace, arguments.repository, arguments.path)
    headers = http_latency._headers(arguments.namespace, arguments.repository)
    diffs = list(_diffs(arguments.path, arguments.reviews + 1))
    with http_latency._gunicorn() as connection:
        first, *rest = [
            http_latency.milliseconds(connection, "/api/v1/reviews", {"diff": diff}, headers)
            for diff in diffs
        ]
    taken = sorted(rest)
    print(f"first review of a process: {first:.0f} ms")
    print(
        f"{len(taken)} more: p50 {taken[len(taken) // 2]:.0f} ms,"
        f" p95 {taken[int(len(taken) * 0.95)]:.0f} ms, least {taken[0]:.0f} ms"
    )


def _diffs(path: Path, count: int) -> Iterator[str]:
    listed = subprocess.run(
        ("git", "-C", str(path), "ls-files", "*.py"), check=True, capture_output=True, text=True
    )
    chance = random.Random(5)
    names = [
        name
        for name in listed.stdout.splitlines()
        if "\tdef " in (text := (path / name).read_text()) or "    def " in text
    ]
    for _ in range(count):
        yield "".join(_changed(path, name, chance) for name in chance.sample(names, _FILES))


def _changed(path: Path, name: str, chance: random.Random) -> str:
    """Return a diff of one file: some lines of it get a comment that nobody has seen."""
    old = (path / name).read_text().splitlines(keepends=True)
    simple = [place for place, line in enumerate(old) if line.rstrip().endswith((")", '"', "'"))]
    new, nonce = list(old), secrets.token_hex(4)
    for place in chance.sample(simple, min(_LINES_A_FILE, len(simple))):
        new[place] = f"{old[place].rstrip()}  # {nonce}\n"
    header = f"diff --git a/{name} b/{name}\n"
    return header + "".join(difflib.unified_diff(old, new, f"a/{name}", f"b/{name}"))


if __name__ == "__main__":
    main()
