"""Measure and prove history on a real repository: `make bench-history`.

    python -m tests.bench.history PATH [--branch main] [--past 10] [--functions 20] [--seed 1]

Needs the environment that deploy/bench_history.sh gives it. Prints Markdown. Exits with 1 when a
past graph differs from a fresh index of its commit.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import django


def main() -> None:
    arguments = _arguments()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codemem.settings")
    django.setup()
    rng = random.Random(arguments.seed)
    repository = _repository("history", str(arguments.path.resolve()), arguments.branch)
    _index(repository)
    _measure_backfill(repository)
    is_exact = _prove_past_graphs(repository, arguments.past, rng)
    _compare_with_git(repository, arguments.path, arguments.functions, rng)
    sys.exit(0 if is_exact else 1)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="a Git repository with a long history")
    parser.add_argument("--branch", default="main")
    parser.add_argument("--past", type=int, default=10, help="random commits to rebuild")
    parser.add_argument("--functions", type=int, default=20, help="to compare with git log -L")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


# --- Backfill ------------------------------------------------------------------------------------
def _measure_backfill(repository: Any) -> None:
    from indexing.history.backfill import advance
    from indexing.models import History, TreeSpan

    started = time.perf_counter()
    while advance(repository_id=repository.pk, seconds=60):
        history = History.objects.get(pk=repository.pk)
        _say(f"... {history}")
    history = History.objects.get(pk=repository.pk)
    spent = history.seconds * 1000 / max(1, history.commits_done)
    spans = TreeSpan.objects.filter(repository=repository).count()
    print("## Backfill\n")
    print("| commits | on the main line | spans | CPU s | CPU ms a commit | wall s |")
    print("|---:|---:|---:|---:|---:|---:|")
    print(
        f"| {history.commits_done} | {history.length} | {spans} | {history.seconds:.1f}"
        f" | {spent:.1f} | {time.perf_counter() - started:.0f} |\n"
    )


# --- Past graphs ---------------------------------------------------------------------------------
def _prove_past_graphs(repository: Any, count: int, rng: random.Random) -> bool:
    from graph.models import Commit
    from indexing.history import past

    line = list(
        Commit.objects.filter(repository=repository, position__isnull=False)
        .order_by("position")
        .values_list("sha", flat=True)
    )
    print("## Past graphs against fresh indexes of their commits\n")
    print("| commit | files | symbols | edges | seconds | CPU s | only past | only fresh |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    is_exact = True
    for sha in rng.sample(line, min(count, len(line))):
        past._kept.clear()
        started, worked = time.perf_counter(), time.process_time()
        then = past.graph_at(past.moment(repository_id=repository.pk, text=sha), most_unread=None)
        seconds, cpu = time.perf_counter() - started, time.process_time() - worked
        mine, fresh = set(_past_rows(then)), set(_fresh_rows(repository, sha))
        files = sum(row[0] == "file" for row in mine)
        edges = sum(row[0] == "edge" for row in mine)
        only_past, only_fresh = mine - fresh, fresh - mine
        is_exact = is_exact and not only_past and not only_fresh
        for row in sorted(map(repr, only_past))[:3]:
            _say(f"only past: {row}")
        for row in sorted(map(repr, only_fresh))[:3]:
            _say(f"only fresh: {row}")
        print(
            f"| {sha[:12]} | {files} | {len(mine) - files - edges} | {edges}"
            f" | {seconds:.2f} | {cpu:.2f} | {len(only_past)} | {len(only_fresh)} |"
        )
    print()
    return is_exact


def _past_rows(then: Any) -> Iterator[tuple[object, ...]]:
    for node in then.nodes:
        yield _node_row(node)
    for edge in then.edges:
        source, target = then.node(edge.source), then.node(edge.target)
        yield (
            "edge",
            edge.kind,
            source.id,
            target.id,
            round(edge.confidence, 6),
            edge.rule,
            edge.line,
        )


def _node_row(node: Any) -> tuple[object, ...]:
    if node.kind == "file":
        return ("file", node.id, node.language, node.end_line)
    return (
        *("symbol", node.id, node.kind.value, node.qualified_name, node.language),
        *(node.start_line, node.end_line, node.signature, node.doc),
        *(node.visibility.value, node.is_test),
    )


def _fresh_rows(repository: Any, sha: str) -> Iterator[tuple[object, ...]]:
    """Yield what a repository whose head is this commit shows after its first index run."""
    from django.db import connection
    from psycopg import sql

    from graph import cypher, queries
    from graph.models import FileVersion, SourceFile, SymbolVersion
    from graph.values import EdgeKind, EdgeSource, VertexLabel, graph_id

    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.git"
        _git("clone", "--quiet", "--bare", "--shared", repository.url, str(copy))
        # The branch of the clone leads to the commit; what else there is, is nobody's head.
        _git("-C", str(copy), "update-ref", "refs/heads/past", sha)
        fresh = _repository("fresh", str(copy), "past")
        _index(fresh)
    live = {"repository": fresh, "layer": 0, "valid_to": None}
    keys = [
        graph_id(label=VertexLabel.SYMBOL, key=key)
        for key in SymbolVersion.objects.filter(**live).values_list("symbol_id", flat=True)
    ]
    keys += [
        graph_id(label=VertexLabel.FILE, key=key)
        for key in FileVersion.objects.filter(**live).values_list("file_id", flat=True)
    ]
    nodes = queries.nodes_of(namespace_id=fresh.namespace_id, vertices=keys)
    for node in nodes.values():
        yield _node_row(node)
    graph = cypher.graph_name(fresh.namespace_id)
    for label in EdgeKind:
        statement = sql.SQL(
            "SELECT start_id::bigint, end_id::bigint, {c}::float8, {r}::text, {o}::bigint"
            " FROM {edges} e WHERE {live} AND {s}::bigint & %s > 0"
        ).format(
            edges=sql.Identifier(graph, label),
            live=cypher.is_head(table="e"),
            **{key: cypher.property_of(key, table="e") for key in ("c", "r", "o", "s")},
        )
        with connection.cursor() as cursor:
            cursor.execute(statement, [EdgeSource.SYNTAX.value])
            for start, end, confidence, rule, offset in cursor.fetchall():
                if start in nodes and end in nodes:
                    source, target = nodes[start], nodes[end]
                    line = source.start_line + offset
                    yield (
                        *("edge", label.value, source.id, target.id),
                        *(round(confidence, 6), rule, line),
                    )
    namespace_id = fresh.namespace_id
    SourceFile.objects.filter(repository=fresh).delete()
    fresh.symbols.all().delete()
    fresh.delete()
    cypher.drop_graph(namespace_id)


# --- git log -L ----------------------------------------------------------------------------------
def _compare_with_git(repository: Any, path: Path, count: int, rng: random.Random) -> None:
    from graph.models import SymbolVersion
    from tests.bench.line_log import is_confirmed, line_log

    head = _git("-C", str(path), "rev-parse", f"refs/heads/{repository.default_branch}").strip()
    rows = SymbolVersion.objects.filter(
        repository=repository, layer=0, valid_to=None, symbol__kind__in=("function", "method")
    ).select_related("symbol")
    functions = [row for row in rows.order_by("symbol_id") if row.end_line - row.start_line >= 3]
    print("## symbol_history against git log -L\n")
    print("| function | both | only ours | only git | while git follows it: both | ours | git |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    raw, one, same, confirmed = _Agreement(), _Agreement(), _Agreement(), _Agreement()
    for row in rng.sample(functions, min(count, len(functions))):
        name = f"{row.symbol.path}#{row.symbol.local_name}"
        log = line_log(path, head, row.symbol.path, row.start_line, row.end_line)
        # git does not list what only moved, unless its indentation did too.
        changed, moved = _told(repository, row)
        ours = changed | (moved & log.listed)
        raw.add(ours, log.listed)
        one.add(ours - log.beyond_one, log.listed - log.beyond_one)
        mine, gits = ours - log.beyond_same, log.listed - log.beyond_same
        same.add(mine, gits)
        asked = {
            sha
            for sha in mine - gits
            if is_confirmed(path, sha, row.symbol.path, row.symbol.local_name)
        }
        confirmed.add(mine, gits | asked)
        print(
            f"| {name} | {len(ours & log.listed)} | {len(ours - log.listed)}"
            f" | {len(log.listed - ours)} | {len(mine & gits)} | {len(mine - gits)}"
            f" | {len(gits - mine)} |"
        )
        for sha in sorted((ours ^ log.listed) - log.beyond_one):
            side = "ours" if sha in ours else "git"
            where = ", which follows another by then" if sha in log.beyond_same else ""
            _say(f"only {side}{where}: {sha[:12]} {name}")
    print(f"\nOf all commits that either lists, both list {raw}.")
    # git follows lines, not names: after a rewrite its range is often a whole class, or other code.
    print(f"As long as git's range is one whole definition: {one}.")
    print(f"As long as that has the function's name or half of its lines: {same}.")
    # Of a merge's parents git follows one; a change on the other is one all the same.
    print(f"The same, with what git lists of ours when asked from that commit on: {confirmed}.")


def _told(repository: Any, row: Any) -> tuple[frozenset[str], frozenset[str]]:
    """Return the commits in which symbol_history says that a function changed, or only moved."""
    from graph.events import Happening
    from graph.queries import history as queries
    from graph.values import VertexLabel, graph_id

    events, _ = queries.events_of(
        namespace_id=repository.namespace_id,
        vertex=graph_id(label=VertexLabel.SYMBOL, key=row.symbol_id),
        limit=10_000,
    )
    came = [event for event in events if event.touched.happening is not Happening.LEFT]
    changed = frozenset(event.commit.sha for event in came if event.touched.is_changed)
    return changed, frozenset(event.commit.sha for event in came) - changed


class _Agreement:
    """How many of the commits that one of two lists has are in both."""

    def __init__(self) -> None:
        self.both = self.either = self.theirs = 0
        self.shares: list[float] = []

    def add(self, ours: frozenset[str], theirs: frozenset[str]) -> None:
        both, either = len(ours & theirs), len(ours | theirs)
        self.both, self.either = self.both + both, self.either + either
        self.theirs += len(theirs)
        self.shares.append(both / max(1, either))

    def __str__(self) -> str:
        mean = sum(self.shares) / max(1, len(self.shares))
        share = self.both / max(1, self.either)
        found = self.both / max(1, self.theirs)
        return (
            f"{self.both} of {self.either} ({share:.3f}; mean over functions {mean:.3f});"
            f" of git's {self.theirs} we list {found:.3f}"
        )


# --- Parts ---------------------------------------------------------------------------------------
def _repository(name: str, url: str, branch: str) -> Any:
    from codemem.accounts.models import Namespace
    from graph.models import Repository
    from tests.factories import make_namespace, make_repository

    namespace = Namespace.objects.filter(name=f"bench-{name}").first()
    namespace = namespace or make_namespace(f"bench-{name}")
    known = Repository.objects.filter(namespace=namespace, name=name).first()
    return known or make_repository(namespace, name, url=url, default_branch=branch)


def _index(repository: Any) -> None:
    from django.utils import timezone

    from indexing.pipeline import run_index
    from indexing.services import request_index

    run_id = request_index(repository_id=repository.pk, requested_by="bench")
    outcome = run_index(run_id=run_id, now=timezone.now())
    if outcome is None or not outcome.is_indexed:
        sys.exit(f"Indexing {repository.url} failed: {repository.runs.first().error}")
    from indexing.mirrors import mirror_path

    if repository.name == "fresh":
        shutil.rmtree(mirror_path(repository.pk))


def _git(*arguments: str) -> str:
    answer = subprocess.run(["git", *arguments], capture_output=True, check=True)
    return answer.stdout.decode("utf-8", "replace")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
