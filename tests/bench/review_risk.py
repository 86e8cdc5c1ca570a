"""How often is a change that is called risky followed by a fix? Real commits, put to the product.

    python -m tests.bench.review_risk REPOSITORY [REPOSITORY ...] [--cuts 2] [--units 300]
        [--rows FILE] [--plot FILE]

A REPOSITORY is a bare clone, or the rows that an earlier run kept of some. `risk_labels` says which
steps of its main line were followed by a fix within 180 days. Each repository is cut at some places
of the line: the product indexes a cut, and is asked about the next steps that change programs, by
the functions that `review_diff` is made of: diff and base of the step, the graph as it was at the
cut, past commits as they had landed before the step. A step that is younger than 180 days at the
end is not asked about, for nobody knows yet.

The weights were fitted on pallets/flask and gin-gonic/gin only (`risk_fit`, on the rows that
`--rows` keeps).
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import django

TUNED = frozenset({"flask", "gin"})


@dataclass(frozen=True, slots=True)
class Row:
    """One step: what the product knew of it, and whether it was fixed."""

    repository: str
    sha: str
    at: float
    was_fixed: bool
    evidence: dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("repositories", type=Path, nargs="+", help="bare clones, or rows (.jsonl)")
    parser.add_argument("--cuts", type=int, default=2, help="places at which each is indexed")
    parser.add_argument("--units", type=int, default=300, help="steps after each cut")
    parser.add_argument("--rows", type=Path, help="where to keep what was known, as lines of JSON")
    parser.add_argument("--plot", type=Path, help="where to draw the calibration (SVG)")
    arguments = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codemem.settings")
    django.setup()
    rows: list[Row] = []
    for path in arguments.repositories:
        rows += _kept(path) if path.suffix == ".jsonl" else _collect(path.resolve(), arguments)
    if arguments.rows:
        arguments.rows.write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows))
    stated = [Stated(row, _probability(row)) for row in rows]
    held_out = [one for one in stated if one.row.repository not in TUNED]
    _print_ranking(stated, held_out)
    _print_calibration(held_out)
    if arguments.plot:
        arguments.plot.write_text(_plot(held_out))


@dataclass(frozen=True, slots=True)
class Stated:
    """A step with the probability that the product states."""

    row: Row
    probability: float


def _probability(row: Row) -> float:
    from indexing.risk.model import assess

    probability = assess(evidence_from(row.evidence)).probability
    assert probability is not None
    return probability


def _kept(path: Path) -> list[Row]:
    return [Row(**json.loads(line)) for line in path.read_text().splitlines()]


def name_of(path: Path) -> str:
    return (path.parent.name if path.name == "repo" else path.stem).rpartition("+")[2]


def evidence_from(known: dict[str, Any]) -> Any:
    """Return what was known of a step from how a row keeps it."""
    from indexing.risk.evidence import Evidence
    from indexing.risk.past import PastOfFiles

    return Evidence(**{**known, "past": PastOfFiles(**known["past"])})


# --- What the product knew ------------------------------------------------------------------------
def _collect(source: Path, arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each step after each cut of a repository."""
    from tests.bench.risk_labels import DAYS, Line, files_of, is_source

    cuts, units = arguments.cuts, arguments.units
    begun = time.perf_counter()
    line = Line(source)
    touched = files_of(line)
    latest = line.steps[-1].at - DAYS * 86_400
    steps = [
        step
        for step in line.steps
        if step.parent
        and step.at <= latest
        and any(is_source(a or b) for sha in step.commits for a, b in touched.get(sha, ()))
    ][-cuts * units :]
    fixed = line.fixed(step.place for step in steps)
    past = _Past(line, touched)
    name = name_of(source)
    for first in range(0, len(steps), units):
        batch = steps[first : first + units]
        with tempfile.TemporaryDirectory() as folder:
            product = _Product(source, name, Path(folder) / name, batch[0].parent)
            product.parse_ahead(batch, line)
            for step in batch:
                known = product.known_of(step, past)
                if known is not None:
                    yield Row(name, step.sha, step.at, step.place in fixed, asdict(known))
    _say(f"{name}: {len(steps)} steps, {len(fixed)} fixed, {time.perf_counter() - begun:.0f} s")


class _Past:
    """The past of files as Git tells it; keys of files follow renames."""

    def __init__(self, line: Any, touched: Any) -> None:
        from indexing.history.authors import is_bot
        from indexing.risk.past import PastChange, PastChanges, is_shipped, says_fix

        self._keys_at: dict[int, dict[str, int]] = {}
        keys: dict[str, int] = {}
        names: list[str] = []
        changes = []
        self._moments: list[tuple[int, str, int | None]] = []
        for step in line.steps:
            for sha in reversed(step.commits):
                message = line.messages[sha]
                files = []
                for old, new in touched.get(sha, ()):
                    key = keys.get(old or new)
                    if key is None:
                        key = len(names)
                        names.append(new or old)
                    if old and old != new:
                        self._move(keys, step.place, old, None)
                    if new:
                        self._move(keys, step.place, new, key)
                    if is_shipped(new or old):
                        files.append(key)
                if not message.is_merge and not is_bot(name="", email=message.author):
                    changes.append(
                        PastChange(
                            message.at,
                            step.place,
                            message.author,
                            says_fix(message.subject),
                            tuple(files),
                        )
                    )
        self.changes = PastChanges(changes)

    def _move(self, keys: dict[str, int], place: int, path: str, key: int | None) -> None:
        if keys.get(path) != key:
            self._moments.append((place, path, key))
            if key is None:
                keys.pop(path, None)
            else:
                keys[path] = key

    def keys_before(self, place: int, paths: Sequence[str]) -> list[int]:
        wanted: dict[str, int | None] = dict.fromkeys(paths)
        for at, path, key in self._moments:
            if at >= place:
                break
            if path in wanted:
                wanted[path] = key
        return [key for key in wanted.values() if key is not None]


class _Product:
    """The product on a repository whose only branch ends at the cut; later content is at hand."""

    def __init__(self, source: Path, name: str, copy: Path, cut: str) -> None:
        from django.conf import settings
        from django.utils import timezone

        from graph import queries as graph
        from graph.algorithms.communities import Communities
        from graph.services import ranks
        from indexing import queries
        from indexing.mirrors import mirror_path
        from indexing.pipeline import run_index
        from indexing.services import request_index
        from indexing.sides import Limits
        from tests.factories import make_namespace, make_repository, make_user

        _git("clone", "--quiet", "--bare", "--shared", str(source), str(copy))
        for ref in _git("-C", str(copy), "for-each-ref", "--format=%(refname)").split():
            _git("-C", str(copy), "update-ref", "-d", ref)
        _git("-C", str(copy), "update-ref", "refs/heads/frozen", cut)
        _git("-C", str(copy), "symbolic-ref", "HEAD", "refs/heads/frozen")
        unique = f"{name}-{cut[:8]}-{os.getpid()}"
        user = make_user(unique)
        namespace = make_namespace(unique, owner=user)
        row = make_repository(
            namespace, name, url=str(copy), default_branch="frozen", created_by=user
        )
        run = request_index(repository_id=row.pk, requested_by="bench")
        outcome = run_index(run_id=run, now=timezone.now())
        if outcome is None or not outcome.is_indexed:
            sys.exit("Indexing failed.")
        # Communities say nothing of risk, and take longest.
        nothing = Communities(found=(), modularity=0.0)
        vars(ranks)["communities"] = lambda *_, **__: nothing
        ranks.rank_repository(repository_id=row.pk)
        alternates = mirror_path(row.pk) / "objects" / "info" / "alternates"
        alternates.parent.mkdir(exist_ok=True)
        alternates.write_text(f"{source / 'objects'}\n")
        self._source = source
        self._repository = graph.get_repository(repository_id=row.pk)
        self._cut = cut
        self._nodes = queries.count_nodes(repository_id=row.pk)
        self._limits = Limits(
            diff_bytes=settings.MAXIMUM_DIFF_BYTES,
            file_bytes=settings.MAXIMUM_FILE_BYTES,
            processes=settings.EXTRACTION_PROCESSES,
        )

    def parse_ahead(self, steps: Sequence[Any], line: Any) -> None:
        """Parse what the steps' files say all at once; a review of each would start a child."""
        from indexing.contents import Content, facts_of
        from indexing.languages import language_of
        from indexing.mirrors import find_mirror

        mirror = find_mirror(self._repository.id)
        assert mirror is not None
        contents = {}
        for step in steps:
            raw = line.git(
                "diff", "--raw", "-z", "--no-abbrev", "--no-renames", step.parent, step.sha
            )
            fields = raw.split("\0")
            for meta, path in zip(fields[::2], fields[1::2], strict=False):
                language = language_of(path)
                if language is not None:
                    for blob in meta.split(" ")[2:4]:
                        contents[path, blob] = Content(
                            path=f"{blob}/{path}", blob=blob, language=language.name
                        )
        facts_of(
            contents.values(),
            read=lambda blobs: mirror.blobs(list(blobs), max_bytes=self._limits.file_bytes),
            processes=1,
        )

    def known_of(self, step: Any, past: _Past) -> Any:
        from indexing.diffs import DiffTooLarge
        from indexing.radius import find_in_graph, follow
        from indexing.review import read_changes
        from indexing.risk.evidence import evidence_of, programs_in

        diff = subprocess.run(
            (
                *("git", "-C", str(self._source), "diff", "-M", "--full-index", "--no-color"),
                *("--no-ext-diff", "--no-textconv", step.parent, step.sha),
            ),
            check=True,
            capture_output=True,
        ).stdout
        try:
            changes, _, _ = read_changes(
                self._repository,
                diff,
                base=step.parent,
                indexed_commit=self._cut,
                limits=self._limits,
            )
        except DiffTooLarge:
            return None
        changed = find_in_graph(self._repository, changes)
        radius = follow(self._repository, changed, depth=2)
        paths = [one.diff.old_path for one in programs_in(changes) if one.diff.old_path]
        return evidence_of(
            changed,
            radius,
            past=past.changes.of(
                past.keys_before(step.place, paths), until=step.place - 1, now=step.at
            ),
            repository_nodes=self._nodes,
        )


# --- Figures --------------------------------------------------------------------------------------
def _print_ranking(stated: Sequence[Stated], held_out: Sequence[Stated]) -> None:
    print(
        "| repository | steps | fixed | stated | AUC | size alone | top tenth | Brier | constant |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name in dict.fromkeys(one.row.repository for one in stated):
        _print_row(
            f"{name}{' (tuned on)' if name in TUNED else ''}",
            [one for one in stated if one.row.repository == name],
        )
    if held_out:
        _print_row("all that nothing was tuned on", held_out)


def _print_row(name: str, stated: Sequence[Stated]) -> None:
    """Print one line; the constant is the share of those that were fixed, known afterwards."""
    fixed = [one.row.was_fixed for one in stated]
    rate = sum(fixed) / len(fixed)
    highest = sorted(stated, key=lambda one: -one.probability)[: max(1, len(stated) // 10)]
    lines = [one.row.evidence["lines_added"] + one.row.evidence["lines_removed"] for one in stated]
    brier = sum((one.probability - one.row.was_fixed) ** 2 for one in stated) / len(stated)
    print(
        f"| {name} | {len(stated)} | {rate:.1%}"
        f" | {sum(one.probability for one in stated) / len(stated):.1%}"
        f" | {_auc([one.probability for one in stated], fixed):.3f} | {_auc(lines, fixed):.3f}"
        f" | {sum(one.row.was_fixed for one in highest) / len(highest):.1%}"
        f" | {brier:.4f} | {rate * (1 - rate):.4f} |"
    )


def _auc(scores: Sequence[float], fixed: Sequence[bool]) -> float:
    """Return how often one that was fixed has more than one that was not; ties count half."""
    yes = [score for score, was in zip(scores, fixed, strict=True) if was]
    no = [score for score, was in zip(scores, fixed, strict=True) if not was]
    wins = sum((one > other) + (one == other) / 2 for one in yes for other in no)
    return wins / max(len(yes) * len(no), 1)


def _bins(stated: Sequence[Stated], count: int = 6) -> list[tuple[int, float, float]]:
    """Return (steps, stated, came true) of groups of one size, from the lowest stated on."""
    ordered = sorted(stated, key=lambda one: one.probability)
    edges = [round(len(ordered) * number / count) for number in range(count + 1)]
    groups = [ordered[low:high] for low, high in pairwise(edges) if high > low]
    return [
        (
            len(group),
            sum(one.probability for one in group) / len(group),
            sum(one.row.was_fixed for one in group) / len(group),
        )
        for group in groups
    ]


def _print_calibration(stated: Sequence[Stated]) -> None:
    print("\n| stated | steps | came true | 95 % of that |")
    print("|---:|---:|---:|---:|")
    for steps, mean, came in _bins(stated):
        low, high = _interval(came, steps)
        print(f"| {mean:.1%} | {steps} | {came:.1%} | {low:.1%}-{high:.1%} |")


def _interval(share: float, count: int) -> tuple[float, float]:
    """Return Wilson's interval of a share."""
    spread = 1.96
    middle = (share + spread**2 / (2 * count)) / (1 + spread**2 / count)
    half = share * (1 - share) / count + spread**2 / (4 * count**2)
    around = spread * math.sqrt(half) / (1 + spread**2 / count)
    return max(0.0, middle - around), middle + around


def _plot(stated: Sequence[Stated]) -> str:
    """Draw what came true over what was stated, with 95 % of each, as SVG."""
    found = _bins(stated)
    most = max([0.1, *(max(mean, _interval(came, steps)[1]) for steps, mean, came in found)])
    size, edge = 420, 50

    def across(share: float) -> float:
        return edge + share / most * (size - 2 * edge)

    def up(share: float) -> float:
        return size - edge - share / most * (size - 2 * edge)

    marks = []
    for steps, mean, came in found:
        low, high = _interval(came, steps)
        marks.append(
            f'<line x1="{across(mean):.1f}" y1="{up(low):.1f}" x2="{across(mean):.1f}"'
            f' y2="{up(high):.1f}" stroke="#888"/>'
            f'<circle cx="{across(mean):.1f}" cy="{up(came):.1f}" r="5" fill="#2563eb"/>'
        )
    ticks = [
        f'<text x="{across(most * n / 4):.1f}" y="{size - edge + 18}" text-anchor="middle">'
        f"{most * n / 4:.0%}</text>"
        f'<text x="{edge - 6}" y="{up(most * n / 4) + 4:.1f}" text-anchor="end">'
        f"{most * n / 4:.0%}</text>"
        for n in range(5)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}"'
        ' font-family="sans-serif" font-size="11">'
        f'<rect width="{size}" height="{size}" fill="#fff"/>'
        f'<line x1="{across(0)}" y1="{up(0)}" x2="{across(most)}" y2="{up(most)}"'
        ' stroke="#bbb" stroke-dasharray="4"/>'
        f"{''.join(ticks)}{''.join(marks)}"
        f'<text x="{size / 2}" y="{size - 8}" text-anchor="middle">stated</text>'
        f'<text x="14" y="{size / 2}" transform="rotate(-90 14 {size / 2})"'
        ' text-anchor="middle">followed by a fix</text>'
        f'<text x="{size / 2}" y="24" text-anchor="middle" font-size="13">'
        f"{len(stated):,} steps of repositories that nothing was tuned on</text></svg>\n"
    )


def _git(*arguments: str) -> str:
    return subprocess.run(("git", *arguments), check=True, capture_output=True, text=True).stdout


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
