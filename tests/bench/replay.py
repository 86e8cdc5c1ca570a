"""Replay real commits and compare incremental resolution with resolving everything, row by row.

    python -m tests.bench.replay GIT_DIRECTORY COUNT [REF]

Follows the first parents of REF for COUNT commits. Prints every commit that differs, and the sums.
"""

import subprocess
import sys
import time

from indexing.facts import BlobFacts
from indexing.languages import language_of
from indexing.parsing import extract, skip_reason
from indexing.resolution import is_manifest
from indexing.resolution.manifests import read_manifests
from tests.indexing.replaying import ResolvedTree

_LARGEST = 1 << 20


class History:
    """The trees of a repository, each content parsed once."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._facts: dict[tuple[str, str], BlobFacts | None] = {}

    def commits(self, count: int, ref: str) -> list[str]:
        """Return so many commits, oldest first."""
        listed = self._git("rev-list", "--first-parent", "-n", str(count), ref).decode()
        return listed.split()[::-1]

    def tree(self, commit: str) -> tuple[dict[str, BlobFacts], dict[str, bytes]]:
        """Return the facts and the project files of a commit by path."""
        files, manifests = {}, {}
        listed = self._git("ls-tree", "-r", "-z", commit).decode("utf-8", "replace")
        for record in filter(None, listed.split("\0")):
            about, _, path = record.partition("\t")
            mode, kind, blob = about.split()
            if kind != "blob" or mode == "120000":
                continue
            if is_manifest(path):
                manifests[path] = self._git("cat-file", "blob", blob)
            facts = self._facts_of(path, blob)
            if facts is not None:
                files[path] = facts
        return files, manifests

    def _facts_of(self, path: str, blob: str) -> BlobFacts | None:
        language = language_of(path)
        if language is None:
            return None
        if (blob, language.name) not in self._facts:
            source = self._git("cat-file", "blob", blob)
            is_skipped = len(source) > _LARGEST or skip_reason(path, source)
            self._facts[blob, language.name] = None if is_skipped else extract(language, source)
        return self._facts[blob, language.name]

    def _git(self, *arguments: str) -> bytes:
        command = ["git", f"--git-dir={self._directory}", *arguments]
        return subprocess.run(command, capture_output=True, check=True).stdout


def main() -> None:
    """Print what differs and what both ways cost."""
    directory, count, *ref = sys.argv[1:]
    history = History(directory)
    kept: ResolvedTree | None = None
    compared = differing = resolved = 0
    seconds = {"whole": 0.0, "changes": 0.0}
    for commit in history.commits(int(count) + 1, *(ref or ["HEAD"])):
        files, manifests = history.tree(commit)
        started = time.process_time()
        whole = ResolvedTree.of(files, manifests)
        seconds["whole"] += time.process_time() - started
        if kept is None or read_manifests(manifests) != read_manifests(kept.manifests):
            kept = whole
            continue
        started = time.process_time()
        kept.advance(files)
        seconds["changes"] += time.process_time() - started
        compared, resolved = compared + 1, resolved + len(kept.resolved)
        if found := kept.differences(whole):
            differing += 1
            print(commit, *found[:5], sep="\n  ", flush=True)
            kept = whole
    print(
        f"{compared} commits, {differing} differ; {resolved} files resolved;"
        f" CPU s: whole {seconds['whole']:.1f}, changes {seconds['changes']:.1f}"
    )


if __name__ == "__main__":
    main()
