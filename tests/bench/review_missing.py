"""Which file did a commit forget? The product asked on real commits, one file of each hidden.

    python -m tests.bench.review_missing REPOSITORY [REPOSITORY ...] [--commits 120] [--out FOLDER]

A REPOSITORY is a bare clone. Its main line (first parents) is cut at the newest commit after which
as many commits as asked for follow that are no merges and touch 2 to 10 of the source files that
exist at the cut. The product indexes the cut and reads the history up to it; words, graph, history
and names are those of the cut. Then each such file of each such commit is hidden in turn: the diff
without it is given to the product's own functions, as `review_diff` does, and the rest of the
source files are ranked. The two sides of the files that are shown are those of the commit, as they
are for a pull request. A commit whose author's date and subject the history has already is left
out. `codemem` is told the diff alone, `codemem, told the title` the commit's subject as well, as a
review of a pull request is.

Source is what codemem reads and is a program; renames after the cut are followed. Beside stand,
over the same candidates: `co-change only`, the sum of P(file | shown file) over past commits with a
half-life of two years; `graph only`, personalized PageRank from the shown files over all edges
between files, both ways; `same directory`, nearness of folders plus likeness of names. What one of
them knows nothing of counts as not found. Precision at five is the share of the first five that
were hidden, of which there is one. The weights were fitted on pallets/flask and gin-gonic/gin only.

`stated` is every file among the first five of a ranking (documentation and configuration, too) with
the probability that a review would state. Pull requests are a mix: each commit counts once with one
of its files hidden, shared among them, and once complete, when whatever is stated is wrong; half of
each without a title, half with it. `shown` are those that a review without a title would show.

FOLDER (.local/bench-review/out) gets the figures of each repository, which a second run with the
same code takes from there, and a picture of the calibration. What was indexed is kept in the
database under the repository's name and cut, so several runs may share the work, each with
repositories of its own.
"""

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import django
import numpy as np

if TYPE_CHECKING:
    from indexing.missing.values import Shown

_HALF_LIFE_DAYS = 730.0
_MOST_FILES = 50
_DAMPING = 0.7
_STEPS = 6
_EDGES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.01)
_TUNED = frozenset({"flask", "gin"})


@dataclass(frozen=True, slots=True)
class Touched:
    """What a commit did to one file: its path at the cut if it was there; its part of the diff."""

    at_cut: str | None
    status: str
    diff: str


@dataclass(frozen=True, slots=True)
class Change:
    """A commit after the cut."""

    sha: str
    subject: str
    files: tuple[Touched, ...]

    def hidden(self) -> list[Touched]:
        return [file for file in self.files if is_gold(file)]

    def without(self, hidden: Touched | None) -> str:
        return "".join(file.diff for file in self.files if file is not hidden)


@dataclass(frozen=True, slots=True)
class Stated:
    """A file with its probability, whether it was hidden, and how much the question counts."""

    probability: float
    is_hidden: bool
    weight: float


@dataclass(slots=True)
class Figures:
    """Places of the hidden files by method, and what was stated, shown and falsely shown."""

    places: dict[str, list[int | None]] = field(default_factory=dict)
    stated: list[Stated] = field(default_factory=list)
    shown: list[bool] = field(default_factory=list)
    silent: int = 0
    of_complete: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def add(self, other: "Figures") -> None:
        for method, places in other.places.items():
            self.places.setdefault(method, []).extend(places)
        self.stated += other.stated
        self.shown += other.shown
        self.silent += other.silent
        self.of_complete += other.of_complete
        self.seconds += other.seconds

    def keep(self, file: Path, of: str) -> None:
        told = {"of": of, "figures": asdict(self)}
        file.write_text(json.dumps(told, default=_plain))

    @classmethod
    def kept(cls, file: Path, of: str) -> "Figures | None":
        """Return what an earlier run of the same code kept."""
        if not file.exists():
            return None
        read = json.loads(file.read_text())
        if read["of"] != of:
            return None
        figures = cls(**read["figures"])
        figures.stated = [Stated(**one) for one in read["figures"]["stated"]]
        return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("repositories", type=Path, nargs="+", help="bare clones")
    parser.add_argument("--commits", type=int, default=120, help="after the cut")
    parser.add_argument("--out", type=Path, default=Path(".local/bench-review/out"))
    arguments = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codemem.settings")
    django.setup()
    arguments.out.mkdir(parents=True, exist_ok=True)
    held_out, of_each = Figures(), {}
    for path in arguments.repositories:
        name = _name(path.resolve())
        figures = _figures_of(path.resolve(), name, arguments.commits, arguments.out)
        tuned = ", tuned on" if name in _TUNED else ""
        of_each[f"{name}{tuned}"] = figures
        _print(f"{name}{tuned}", figures)
        if name not in _TUNED:
            held_out.add(figures)
    if held_out.places:
        _print("all that nothing was tuned on", held_out)
        _print_summary(of_each | {"all that nothing was tuned on": held_out})
        picture = arguments.out / "calibration.svg"
        picture.write_text(_calibration_picture(held_out))
        print(f"\nCalibration: {picture}")


def _name(path: Path) -> str:
    return (path.parent.name if path.name == "repo" else path.stem).rpartition("+")[2]


def _figures_of(source: Path, name: str, most: int, out: Path) -> Figures:
    past = Past(source)
    cut = past.cut(most)
    of = hashlib.sha256(f"{cut} {most}".encode())
    for file in (Path(__file__), *sorted(Path("indexing/missing").glob("*.py"))):
        of.update(file.read_bytes())
    kept = out / f"{name}.json"
    figures = Figures.kept(kept, of.hexdigest())
    if figures is None:
        figures = _measure(source, name, past, cut, most)
        figures.keep(kept, of.hexdigest())
    return figures


def _measure(source: Path, name: str, past: "Past", cut: str, most: int) -> Figures:
    started = time.perf_counter()
    changes = past.changes_after(cut, most)
    figures = Figures()
    product = Product(source, name, cut)
    _say(
        f"{name}: cut at {cut[:12]}, {len(product.sources)} source files, {len(changes)}"
        f" commits, indexed in {time.perf_counter() - started:.0f} s"
    )
    for number, change in enumerate(changes, 1):
        hidden = change.hidden()
        for file in hidden:
            product.ask(change, file, figures, weight=1 / len(hidden))
        product.ask_whole(change, figures)
        if number % 20 == 0:
            at_ten = _mean(
                place is not None and place <= 10 for place in figures.places.get("codemem", [])
            )
            _say(f"{name}: {number} of {len(changes)} commits, hit@10 {at_ten:.3f} so far")
    _say(f"{name}: {time.perf_counter() - started:.0f} s")
    return figures


# --- Commits --------------------------------------------------------------------------------------
class Past:
    """The history of a bare clone: where to cut it, and what came after."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def cut(self, most: int) -> str:
        """Return the newest commit of the main line that enough commits follow."""
        line = self._git("rev-list", "--first-parent", "HEAD").split()
        low, high = 0, min(200, len(line) - 1)
        while high < len(line) - 1 and self._count(line[high]) < most:
            high = min(2 * high, len(line) - 1)
        # Not from where the last one was too near: what moves as a whole makes the counts uneven.
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self._count(line[middle]) >= most else (middle + 1, high)
        return line[low]

    def changes_after(self, cut: str, most: int) -> list[Change]:
        """Return the first commits after the cut that count."""
        known = {subject for _, subject, _ in self._log(cut)}
        found = []
        for sha, subject, touched in self._after(cut):
            if subject in known or not _counts(touched):
                continue
            parts = self._diffs(sha)
            files = [
                Touched(at_cut, status, parts.get(new) or parts.get(old, ""))
                for status, old, new, at_cut in touched
            ]
            title = subject.partition(" ")[2].partition(" ")[2]
            found.append(Change(sha, title, tuple(files)))
            if len(found) == most:
                break
        return found

    def _count(self, cut: str) -> int:
        return sum(_counts(touched) for _, _, touched in self._after(cut))

    def _after(self, cut: str) -> Iterator[tuple[str, str, list[tuple[str, str, str, str | None]]]]:
        """Yield commits after the cut, oldest first, with the paths at the cut of their files."""
        now = {path: path for path in self._git("ls-tree", "-rz", "--name-only", cut).split("\0")}
        for sha, subject, rows in self._log(f"{cut}..HEAD", "--reverse"):
            touched = [
                (status, old, new, None if status == "C" else now.get(old))
                for status, old, new in rows
            ]
            moved = [(new, now.pop(old, None)) for status, old, new in rows if status == "R"]
            now.update((new, at_cut) for new, at_cut in moved if at_cut is not None)
            yield sha, subject, touched

    def _log(self, *what: str) -> Iterator[tuple[str, str, list[tuple[str, str, str]]]]:
        text = self._git(
            *("log", "--no-merges", "--topo-order", "-M", "--raw", "-z", "--no-abbrev"),
            *("--format=%x01%H%x02%ae %at %s", *what),
        )
        for record in text.split("\x01")[1:]:
            head, _, rest = record.partition("\0")
            sha, _, subject = head.partition("\x02")
            yield sha, subject.strip(), list(_rows(rest))

    def _diffs(self, sha: str) -> dict[str, str]:
        """Return the parts of a commit's diff by the path that each file has after it."""
        text = self._git(
            *("show", "--format=", "-M", "--full-index", "--no-color", "--no-ext-diff"),
            *("--no-textconv", sha),
        )
        sections = text.split("\ndiff --git ")
        whole = ["diff --git " * (number > 0) + part for number, part in enumerate(sections)]
        return {path: part + "\n" for part in whole if (path := _path_of(part)) is not None}

    def _git(self, *arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(self._path), "-c", "core.quotePath=false", *arguments],
            check=True,
            capture_output=True,
        ).stdout.decode("utf-8", "replace")


def _rows(text: str) -> Iterator[tuple[str, str, str]]:
    fields = iter(text.lstrip("\n").split("\0"))
    for meta in fields:
        if meta.startswith(":"):
            status = meta.split(" ")[4][:1]
            old = next(fields)
            new = next(fields) if status in "RC" else old
            if "160000" not in meta:
                yield status, old, new


def _path_of(section: str) -> str | None:
    for line in section.splitlines():
        for start in ("+++ b/", "rename to "):
            if line.startswith(start):
                return line.removeprefix(start).rstrip("\t")
        if line == "+++ /dev/null":
            removed = next(one for one in section.splitlines() if one.startswith("--- a/"))
            return removed.removeprefix("--- a/").rstrip("\t")
        if line.startswith("@@"):
            break
    return None


def _counts(touched: Iterable[tuple[str, str, str, str | None]]) -> bool:
    sources = {
        at_cut for status, _, _, at_cut in touched if at_cut and status != "A" and is_source(at_cut)
    }
    return 2 <= len(sources) <= 10


def is_gold(file: Touched) -> bool:
    return file.at_cut is not None and file.status != "A" and is_source(file.at_cut)


def is_source(path: str) -> bool:
    from indexing.languages import language_of

    language = language_of(path)
    return language is not None and language.name not in {"markdown", "yaml", "hcl"}


# --- Who is asked ---------------------------------------------------------------------------------
class Product:
    """The product on a repository whose only branch ends at the cut, and the baselines."""

    def __init__(self, source: Path, name: str, cut: str) -> None:
        from django.conf import settings

        from graph import queries as graph
        from indexing.mirrors import find_mirror
        from indexing.missing import knowledge
        from indexing.sides import Limits

        key = _indexed(source, name, cut)
        self.repository = graph.get_repository(repository_id=key)
        self.state = graph.get_ref_state(repository_id=key, ref=None)
        assert self.state.indexed_commit == cut
        self.cut = cut
        self.limits = Limits(
            diff_bytes=settings.MAXIMUM_DIFF_BYTES,
            file_bytes=settings.MAXIMUM_FILE_BYTES,
            processes=settings.EXTRACTION_PROCESSES,
        )
        self.mirror = find_mirror(key)
        assert self.mirror is not None
        # From here on, the sides of a later commit can be read as those of a pull request can.
        alternates = self.mirror.path / "objects" / "info" / "alternates"
        alternates.parent.mkdir(exist_ok=True)
        alternates.write_text(f"{source / 'objects'}\n")
        known = knowledge.repository_of(key)
        self.place = known.place(self.mirror, cut)
        self.paths = list(self.place.tree.paths)
        self.sources = {path for path in self.paths if is_source(path)}
        self.co_changes = CoChanges(key)
        self.graph = FileGraph(key, self.paths)

    def ask(self, change: Change, hidden: Touched, figures: Figures, *, weight: float) -> None:
        """Rank the files with one of a commit hidden, in every way."""
        from indexing.missing.values import LEAST_PROBABILITY

        begun = time.perf_counter()
        shown = self._shown(change, hidden)
        if shown is None:
            return
        ranked = self._ranked(shown)
        figures.seconds.append(time.perf_counter() - begun)
        told = self._ranked(replace(shown, title=change.subject))
        gold = hidden.at_cut
        for order in (ranked, told):
            figures.stated += [
                Stated(probability, path == gold, weight / 2) for path, probability in order[:5]
            ]
        named = [
            path == gold for path, probability in ranked[:5] if probability >= LEAST_PROBABILITY
        ]
        figures.shown += named
        figures.silent += not named
        before = [file.at_cut for file in change.files if file is not hidden and file.at_cut]
        after = [_path_of(file.diff) or "" for file in change.files if file is not hidden]
        orders: dict[str, Mapping[str, float]] = {
            "codemem": _falling(ranked),
            "codemem, told the title": _falling(told),
            "co-change only": self.co_changes.scores(before),
            "graph only": self.graph.scores(before),
            "same directory": self._near([path for path in after if path] or before),
        }
        for method, scores in orders.items():
            place = self._place_of(gold, scores, without=set(before))
            figures.places.setdefault(method, []).append(place)

    def ask_whole(self, change: Change, figures: Figures) -> None:
        """Count what would be shown of a commit that lacks nothing."""
        from indexing.missing.values import LEAST_PROBABILITY

        shown = self._shown(change, None)
        if shown is None:
            return
        ranked = self._ranked(shown)
        figures.of_complete.append(
            sum(probability >= LEAST_PROBABILITY for _, probability in ranked[:5])
        )
        for order in (ranked, self._ranked(replace(shown, title=change.subject))):
            figures.stated += [
                Stated(probability, is_hidden=False, weight=0.5) for _, probability in order[:5]
            ]

    def _shown(self, change: Change, hidden: Touched | None) -> "Shown | None":
        """Return what a commit's diff without a file shows; None if nothing is left of it."""
        from indexing import radius, review
        from indexing.diffs import NotADiff
        from indexing.missing import finding

        try:
            changes, _, _ = review.read_changes(
                self.repository,
                change.without(hidden),
                base=f"{change.sha}^",
                indexed_commit=self.cut,
                limits=self.limits,
            )
        except NotADiff:  # nothing but modes or binaries is left
            return None
        reached = radius.follow(
            self.repository, radius.find_in_graph(self.repository, changes), depth=2
        )
        return finding.shown_by(changes, dependents=reached.direct_by_path())

    def _ranked(self, shown: "Shown") -> list[tuple[str, float]]:
        from indexing.missing import finding

        return finding.rank_files(
            repository_id=self.repository.id,
            mirror=self.mirror,
            base_commit=self.cut,
            indexed_commit=self.cut,
            shown=shown,
        )

    def _near(self, shown: Sequence[str]) -> Mapping[str, float]:
        names = self.place.names
        scores = np.max([names.near(path) + names.alike(path) for path in shown], axis=0)
        return dict(zip(self.paths, scores, strict=True))

    def _place_of(
        self, gold: str | None, scores: Mapping[str, float], *, without: set[str]
    ) -> int | None:
        """Return the place of a file among the sources that are not shown; None if not found."""
        if gold is None or scores.get(gold, 0.0) <= 0:
            return None
        own = scores[gold]
        rivals = ((path, scores.get(path, 0.0)) for path in self.sources - without - {gold})
        return 1 + sum(score > own or (score == own and path < gold) for path, score in rivals)


def _indexed(source: Path, name: str, cut: str) -> UUID:
    """Return the repository that ends at the cut, indexed and with its history; made but once."""
    from graph.models import Repository
    from tests.factories import make_namespace, make_repository, make_user

    unique = f"bench-{name}-{cut[:12]}"
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / name
        _clone(source, copy, cut)
        row = Repository.objects.filter(namespace__name=unique).first()
        if row is None:
            user = make_user(unique)
            namespace = make_namespace(unique, owner=user)
            row = make_repository(
                namespace, name, url=str(copy), default_branch="frozen", created_by=user
            )
        else:
            Repository.objects.filter(pk=row.pk).update(url=str(copy))
        _index(row.pk, cut)
    return row.pk


def _clone(source: Path, copy: Path, cut: str) -> None:
    """Make a bare clone of which only the history of one commit can be fetched."""

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(copy), *arguments], check=True, capture_output=True, text=True
        ).stdout

    subprocess.run(
        ["git", "clone", "--quiet", "--bare", "--shared", str(source), str(copy)], check=True
    )
    for ref in git("for-each-ref", "--format=%(refname)").split():
        git("update-ref", "-d", ref)
    git("update-ref", "refs/heads/frozen", cut)
    git("symbolic-ref", "HEAD", "refs/heads/frozen")


def _index(repository_id: UUID, cut: str) -> None:
    from django.utils import timezone

    from graph import queries as graph
    from indexing.history.backfill import advance
    from indexing.pipeline import run_index
    from indexing.services import request_index

    if graph.get_ref_state(repository_id=repository_id, ref=None).indexed_commit != cut:
        run = request_index(repository_id=repository_id, requested_by="bench")
        outcome = run_index(run_id=run, now=timezone.now())
        if outcome is None or not outcome.is_indexed:
            sys.exit("Indexing failed.")
    while advance(repository_id=repository_id, seconds=60):
        pass


class CoChanges:
    """P(file | shown file) over past commits, the newer ones counting more, summed."""

    def __init__(self, repository_id: Any) -> None:
        from graph.models import SourceFile
        from graph.queries.history import landed_changes

        rows = SourceFile.objects.filter(repository_id=repository_id).values_list("path", "pk")
        self._keys = dict(rows)
        self._paths = {key: path for path, key in self._keys.items()}
        self._commits = [
            (change.at.timestamp(), change.files)
            for change in landed_changes(repository_id=repository_id, limit=100_000)
            if len(change.files) <= _MOST_FILES
        ]
        self._of_file: defaultdict[int, list[int]] = defaultdict(list)
        for number, (_, files) in enumerate(self._commits):
            for file in files:
                self._of_file[file].append(number)
        self._newest = max((at for at, _ in self._commits), default=0.0)

    def scores(self, shown: Iterable[str]) -> Mapping[str, float]:
        scores: defaultdict[str, float] = defaultdict(float)
        for key in {self._keys[path] for path in shown if path in self._keys}:
            together: defaultdict[int, float] = defaultdict(float)
            whole = 1.0
            for number in self._of_file[key]:
                at, files = self._commits[number]
                weight = 0.5 ** ((self._newest - at) / 86_400 / _HALF_LIFE_DAYS)
                whole += weight
                for other in files:
                    together[other] += weight
            for other, weight in together.items():
                scores[self._paths[other]] += weight / whole
        return scores


class FileGraph:
    """Files and the edges between what is in them."""

    def __init__(self, repository_id: Any, paths: Sequence[str]) -> None:
        from graph.models import SourceFile
        from graph.values import VertexLabel, graph_id
        from indexing.findings.head import read_symbols, read_uses

        place = {path: number for number, path in enumerate(paths)}
        of_vertex = {
            graph_id(label=VertexLabel.FILE, key=key): place[path]
            for path, key in SourceFile.objects.filter(repository_id=repository_id).values_list(
                "path", "pk"
            )
            if path in place
        }
        for symbol in read_symbols(repository_id=repository_id):
            if symbol.path in place:
                of_vertex[symbol.vertex] = place[symbol.path]
        uses = read_uses(repository_id=repository_id)
        counts: Counter[tuple[int, int]] = Counter()
        for source, target in zip(uses.sources, uses.targets, strict=True):
            ends = of_vertex.get(int(source)), of_vertex.get(int(target))
            if ends[0] is not None and ends[1] is not None and ends[0] != ends[1]:
                counts[ends[0], ends[1]] += 1
                counts[ends[1], ends[0]] += 1
        self._paths = paths
        self._place = place
        self._edges = np.array(list(counts), dtype=np.int64).reshape(-1, 2)
        weights = np.log1p(np.array(list(counts.values()), dtype=float))
        whole = np.zeros(len(paths))
        np.add.at(whole, self._edges[:, 0], weights)
        self._weights = weights / whole[self._edges[:, 0]]

    def scores(self, shown: Iterable[str]) -> Mapping[str, float]:
        start = np.zeros(len(self._paths))
        places = [self._place[path] for path in shown if path in self._place]
        if not places:
            return {}
        start[places] = 1 / len(places)
        rank = start.copy()
        for _ in range(_STEPS):
            passed = np.zeros(len(start))
            np.add.at(passed, self._edges[:, 1], self._weights * rank[self._edges[:, 0]])
            rank = (1 - _DAMPING) * start + _DAMPING * passed
        return dict(zip(self._paths, rank, strict=True))


def _falling(ranked: Sequence[tuple[str, float]]) -> dict[str, float]:
    return {path: 1 - place / len(ranked) for place, (path, _) in enumerate(ranked)}


# --- Figures --------------------------------------------------------------------------------------
def _print(title: str, figures: Figures) -> None:
    count = len(figures.places["codemem"])
    print(f"\n## {title}: {count} hidden files\n")
    print("| ranked by | hit@1 | hit@5 | hit@10 | MRR | precision at 5 |")
    print("|---|---:|---:|---:|---:|---:|")
    for method, places in figures.places.items():
        at_one, at_five, at_ten, reciprocal = _hits(places)
        print(
            f"| {method} | {at_one:.3f} | {at_five:.3f} | {at_ten:.3f} | {reciprocal:.3f}"
            f" | {at_five / 5:.3f} |"
        )
    print("\n| stated | files | mean | came true |")
    print("|---|---:|---:|---:|")
    for low, high, inside in _bins(figures.stated):
        stated, came = _weighted_means(inside)
        print(f"| {low:.2f}-{min(high, 1):.2f} | {len(inside)} | {stated:.3f} | {came:.3f} |")
    whole = sum(one.weight for one in figures.stated)
    brier = sum(one.weight * (one.probability - one.is_hidden) ** 2 for one in figures.stated)
    _, rate = _weighted_means(figures.stated)
    print(f"\nBrier score {brier / whole:.4f}, of the constant {rate:.3f} {rate * (1 - rate):.4f}.")
    print(
        f"Shown: {len(figures.shown)} files, {_mean(figures.shown):.3f} of them right; nothing for"
        f" {figures.silent} of {count}. Of complete commits: {_mean(figures.of_complete):.2f} files"
        f" each, nothing for {_mean(shown == 0 for shown in figures.of_complete):.2f}."
    )
    print(
        f"Diff to ranking: p50 {statistics.median(figures.seconds) * 1000:.0f} ms,"
        f" p95 {sorted(figures.seconds)[int(0.95 * len(figures.seconds))] * 1000:.0f} ms."
    )
    sys.stdout.flush()


def _print_summary(of_each: Mapping[str, Figures]) -> None:
    methods = ("co-change only", "codemem", "codemem, told the title")
    print("\n## In short: @1 @5 @10 MRR\n")
    print(f"| repository | hidden | {' | '.join(methods)} | ahead at 10 | told the title |")
    print("|---|---:|---|---|---|---:|---:|")
    for name, figures in of_each.items():
        past, own, titled = (_hits(figures.places[method]) for method in methods)
        told = (" ".join(f"{value:.3f}" for value in row) for row in (past, own, titled))
        hidden = len(figures.places["codemem"])
        print(
            f"| {name} | {hidden} | {' | '.join(told)} | {own[2] - past[2]:+.3f}"
            f" | {titled[2] - past[2]:+.3f} |"
        )
    sys.stdout.flush()


def _hits(places: Sequence[int | None]) -> tuple[float, float, float, float]:
    at_one, at_five, at_ten = (
        _mean(place is not None and place <= most for place in places) for most in (1, 5, 10)
    )
    return at_one, at_five, at_ten, _mean(1 / place if place else 0.0 for place in places)


def _calibration_picture(figures: Figures) -> str:
    """Return an SVG: how often files came true that were stated this likely, by size of the bin."""
    side, edge = 360, 40
    dots = []
    for _, _, inside in _bins(figures.stated):
        stated, came = _weighted_means(inside)
        radius = 2 + len(inside) ** 0.25
        dots.append(
            f'<circle cx="{edge + side * stated:.1f}" cy="{edge + side * (1 - came):.1f}"'
            f' r="{radius:.1f}" fill="#3465a4" fill-opacity="0.7">'
            f"<title>{len(inside)} files: stated {stated:.3f}, came {came:.3f}</title></circle>"
        )
    ticks = "".join(
        f'<text x="{edge + side * tick / 10:.0f}" y="{edge + side + 16}">{tick / 10:.1f}</text>'
        f'<text x="{edge - 14}" y="{edge + side * (1 - tick / 10) + 4:.0f}">{tick / 10:.1f}</text>'
        for tick in range(0, 11, 2)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {side + 2 * edge}'
        f' {side + 2 * edge}" font-family="sans-serif" font-size="11" text-anchor="middle">'
        f'<rect width="100%" height="100%" fill="white"/>'
        f'<rect x="{edge}" y="{edge}" width="{side}" height="{side}" fill="none" stroke="#888"/>'
        f'<line x1="{edge}" y1="{edge + side}" x2="{edge + side}" y2="{edge}" stroke="#bbb"/>'
        f'{"".join(dots)}{ticks}<text x="{edge + side / 2}" y="{edge + side + 32}">stated</text>'
        f'<text x="{edge + side / 2}" y="{edge - 12}">came true, of files a review stated as'
        f" perhaps missing</text></svg>\n"
    )


def _bins(stated: Sequence[Stated]) -> Iterator[tuple[float, float, list[Stated]]]:
    for low, high in pairwise(_EDGES):
        inside = [one for one in stated if low <= one.probability < high]
        if inside:
            yield low, high, inside


def _weighted_means(stated: Sequence[Stated]) -> tuple[float, float]:
    """Return the mean probability that was stated, and which share came true."""
    whole = sum(one.weight for one in stated)
    return (
        sum(one.weight * one.probability for one in stated) / whole,
        sum(one.weight * one.is_hidden for one in stated) / whole,
    )


def _plain(number: np.generic) -> object:
    """Return a number of NumPy as JSON has it."""
    return number.item()


def _mean(values: Iterable[float]) -> float:
    taken = list(values)
    return sum(taken) / max(len(taken), 1)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
