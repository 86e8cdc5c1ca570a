"""Prove that branches show what a fresh index of each would show, row by row.

    python -m tests.bench.branches REPOSITORY [--head COMMIT] [--branches 10] [--seed 1]

REPOSITORY is a Git repository with a long history (pallets/flask is a good one). Its head, or
COMMIT, is the default branch; points of the history before it that differ from it, in few files
and in many, are its branches. Each is indexed as an overlay, and once more as the default branch
of a repository of its own; files, symbols with texts and lines, edges with confidence and rule,
and what searches find are compared. Prints in how many files each differs, the rows compared, and
the differences.
"""

import argparse
import os
import random
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import django

if TYPE_CHECKING:
    from codemem.accounts.models import Namespace
    from graph.models import Repository
    from graph.values import View

_FEWEST_FILES, _MOST_FILES = 1, 60
_CANDIDATES = 1_500
_QUESTIONS = 30
_HITS = 20
_SHOWN = 5


def main() -> None:
    """Print one line for each branch, its differences, and the sums."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--head", default="HEAD")
    parser.add_argument("--branches", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codemem.settings")
    django.setup()
    with tempfile.TemporaryDirectory() as folder:
        source = _Source.copy_of(arguments.repository, Path(folder) / "source.git", arguments.head)
        branches = source.make_branches(arguments.branches, random.Random(arguments.seed))
        _compare(source, branches, random.Random(arguments.seed))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Branch:
    """A branch, and in how many files it differs from the default branch, and how."""

    name: str
    files: int
    added: int
    deleted: int
    renamed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """A bare repository with branches that we made."""

    path: Path

    @classmethod
    def copy_of(cls, repository: Path, path: Path, head: str) -> "_Source":
        command = ["git", "clone", "--bare", "--quiet", "--no-tags", "--single-branch"]
        subprocess.run([*command, str(repository), str(path)], check=True)
        source = cls(path=path)
        commit = source._git("rev-parse", head).strip()
        for branch in source._git("for-each-ref", "--format=%(refname)", "refs/heads/").split():
            source._git("update-ref", "-d", branch)
        source._git("update-ref", "refs/heads/main", commit)
        source._git("symbolic-ref", "HEAD", "refs/heads/main")
        return source

    def make_branches(self, count: int, chance: random.Random) -> list[_Branch]:
        """Make branches of past commits, with as many deletions and renames as there are."""
        commits = self._git("rev-list", "-n", str(_CANDIDATES), "main").split()[1:]
        chance.shuffle(commits)
        found: dict[str, _Branch] = {}
        for commit in commits:
            branch = self._differing(commit)
            if _FEWEST_FILES <= branch.files <= _MOST_FILES:
                found.setdefault(self._git("rev-parse", f"{commit}^{{tree}}"), branch)
        telling = sorted(found.values(), key=lambda branch: -branch.deleted - 3 * branch.renamed)
        chosen = [*telling[: count // 2], *telling[count // 2 :: max(1, len(telling) // count)]]
        for branch in chosen[:count]:
            self._git("branch", branch.name, branch.name.removeprefix("at-"))
        return chosen[:count]

    def _differing(self, commit: str) -> _Branch:
        listed = self._git("diff-tree", "-r", "--find-renames", "--name-status", "main", commit)
        kinds = [line[0] for line in listed.splitlines()]
        return _Branch(
            name=f"at-{commit[:12]}",
            files=len(kinds),
            added=kinds.count("A"),
            deleted=kinds.count("D"),
            renamed=kinds.count("R"),
        )

    def _git(self, *arguments: str) -> str:
        command = ["git", f"--git-dir={self.path}", *arguments]
        return subprocess.run(command, capture_output=True, check=True, text=True).stdout


def _compare(source: _Source, branches: list[_Branch], chance: random.Random) -> None:
    from codemem.accounts.models import Namespace

    name = f"bench-{os.getpid()}"
    namespace = Namespace.objects.create(name=name)
    made: list[Repository] = []
    compared = differing = 0
    try:
        overlaid = _registered(namespace, source, "main", made)
        _indexed(overlaid, "")
        for branch in branches:
            started = time.perf_counter()
            _indexed(overlaid, branch.name)
            seconds = time.perf_counter() - started
            # In the same namespace, where external symbols have the same vertices.
            fresh = _registered(namespace, source, branch.name, made)
            _indexed(fresh, "")
            rows, found = _differences(overlaid, branch.name, fresh, chance)
            compared, differing = compared + rows, differing + len(found)
            print(
                f"{branch.name}: {branch.files} files differ ({branch.added} added,"
                f" {branch.deleted} deleted, {branch.renamed} renamed), indexed in"
                f" {seconds:.2f} s; {rows:,} rows compared, {len(found)} differ",
                *found[:_SHOWN],
                sep="\n    ",
                flush=True,
            )
    finally:
        _remove(namespace, made)
    print(f"{len(branches)} branches, {compared:,} rows compared, {differing} differ")


def _differences(
    overlaid: "Repository", ref: str, fresh: "Repository", chance: random.Random
) -> tuple[int, list[str]]:
    """Return how many rows were compared and those that one of the two has alone."""
    from graph import queries as graph
    from graph.values import LIVE
    from tests.indexing.graphs import differences, graph_of

    view = graph.get_ref_state(repository_id=overlaid.pk, ref=ref).view
    shown, expected = graph_of(overlaid, view), graph_of(fresh)
    found = differences(shown, expected)
    names = sorted({str(row[1]).split(".")[-1] for row in expected["symbols"]})
    questions = chance.sample(names, min(_QUESTIONS, len(names)))
    hits = 0
    for question in questions:
        one, other = _hits(overlaid, view, question), _hits(fresh, LIVE, question)
        hits += len(other)
        if one != other:
            found.append(f"search {question!r}: {one} instead of {other}")
    return sum(map(len, expected.values())) + hits, found


def _hits(repository: "Repository", view: "View", question: str) -> list[tuple[str, float]]:
    from graph import search

    found = search.search_symbols(
        repository_ids=[repository.pk],
        query=question,
        mode=search.Mode.TEXT,
        embedded=None,
        limit=_HITS,
        view=view,
    )
    return sorted((hit.node.id, round(hit.score, 4)) for hit in found)


def _registered(
    namespace: "Namespace", source: _Source, branch: str, made: "list[Repository]"
) -> "Repository":
    from graph.models import Repository

    repository = Repository.objects.create(
        namespace=namespace,
        name=f"source-{len(made)}",
        url=str(source.path),
        default_branch=branch,
    )
    made.append(repository)
    return repository


def _indexed(repository: "Repository", ref: str) -> None:
    from django.utils import timezone

    from indexing import queries
    from indexing.pipeline import run_index
    from indexing.services import request_index

    run_id = request_index(repository_id=repository.pk, ref=ref, requested_by="bench")
    outcome = run_index(run_id=run_id, now=timezone.now())
    if outcome is None or not outcome.is_indexed:
        raise RuntimeError(queries.get_run(run_id=run_id).error)


def _remove(namespace: "Namespace", repositories: "list[Repository]") -> None:
    from graph import cypher
    from indexing.mirrors import mirror_path

    cypher.drop_graph(namespace.pk)
    for repository in repositories:
        shutil.rmtree(mirror_path(repository.pk), ignore_errors=True)
        repository.delete()
    namespace.delete()


if __name__ == "__main__":
    main()
