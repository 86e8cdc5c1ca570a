"""Where would this change go? Commit messages asked of the product, as an agent would ask.

    python -m tests.bench.code_memory REPOSITORY [REPOSITORY ...] [--freezes 6] [--questions 20]

A REPOSITORY is a bare clone. Its main line (first parents) is cut at some commits, the freezes,
oldest first. At each, the product indexes that tree, embeds it and reads the history up to it, and
nothing later exists for it. It is then asked for the commits that came to the main line between
this freeze and the next, by their message alone, through the REST tool `search_code` with a token.
So the state is never younger than a commit's parent, and often some weeks older.

A commit counts when it is no merge, changes 1 to 8 Python files that exist at the freeze, says at
least 4 words, is no release, bump or formatting, and no earlier one had the same subject. The
question is subject and body without trailers, addresses and `#123`. Gold are those files, and the
functions and classes whose lines at the freeze the commit's own parent side changed, by name.

Beside: BM25 over the whole content of the same files with the same words, and each witness alone.
Prints Markdown. The weights were compared with others on encode/httpx only.
"""

import argparse
import ast
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import django

_K1, _B = 1.2, 0.75
_MOST_FILES = 8
_FEWEST_WORDS = 4
_LONGEST_QUESTION = 1_000
_SHOWN_SYMBOLS = 10
_SHOWN_FILES = 10
_TRAILER = re.compile(r"(?im)^(?:[a-z-]+-by|closes?|fix(?:es|ed)?|refs?|resolves?)[: ].*$")
_ADDRESS = re.compile(r"https?://\S+")
_NUMBER = re.compile(r"\(?#\d+\)?")
_CHORE = re.compile(
    r"(?i)^(?:bump|merge|release|version|start version|revert|update (?:requirements|dependencies"
    r"|pre-commit)|pin |upgrade |prepare |v?\d+\.\d+)|pre-commit|dependabot|pyupgrade|\bblack\b"
    r"|\bisort\b|reformat|changelog$|\btypos?\b"
)
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? ", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A commit's message, and what the commit changed that stood at the freeze."""

    sha: str
    text: str
    files: frozenset[str]
    symbols: frozenset[tuple[str, str]]

    @property
    def is_leaky(self) -> bool:
        """Tell whether the message names one of its files."""
        stems = {Path(path).stem for path in self.files} - {"__init__"}
        return any(re.search(rf"\b{re.escape(stem)}\b", self.text) for stem in stems)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where in a ranked list the gold stood."""

    method: str
    question: Question
    reciprocal: float
    recall_at_5: float
    recall_at_10: float


def main() -> None:
    arguments = _arguments()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codemem.settings")
    django.setup()
    for path in arguments.repositories:
        _measure(path.resolve(), arguments.freezes, arguments.questions)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("repositories", type=Path, nargs="+", help="bare clones")
    parser.add_argument("--freezes", type=int, default=6)
    parser.add_argument("--questions", type=int, default=20, help="after each freeze")
    return parser.parse_args()


def _measure(source: Path, freezes: int, questions: int) -> None:
    git = _Git(source)
    name = source.parent.name if source.name == "repo" else source.stem
    name = name.rpartition("+")[2]
    places: list[Place] = []
    symbols: list[Place] = []
    took: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        product = _Product(git, name, Path(folder) / name)
        for freeze, asked in _plan(git, freezes, questions):
            started = time.perf_counter()
            product.freeze(freeze)
            contents = git.python_files(freeze)
            content = _Bm25(contents)
            bodies = _Bm25(_symbols_of(contents))
            _say(
                f"{name} {freeze[:12]}: {len(contents)} files, {len(asked)} questions,"
                f" ready in {time.perf_counter() - started:.0f} s"
            )
            for question in asked:
                begun = time.perf_counter()
                answer = product.ask(question.text)
                took.append(time.perf_counter() - begun)
                ranked = {
                    "BM25 over content": content.ranked(question.text),
                    "search_code, files of its symbols": _paths(answer["results"]),
                    **product.witnesses(question.text),
                    "search_code, files": [hit["path"] for hit in answer["files"]],
                }
                places += [
                    _place(method, question, question.files, order)
                    for method, order in ranked.items()
                ]
                if question.symbols:
                    found = {
                        "BM25 over bodies": bodies.ranked(question.text),
                        "search_code, results": [
                            (hit["path"], _name_in(hit["id"])) for hit in answer["results"]
                        ],
                    }
                    symbols += [
                        _place(method, question, question.symbols, order)
                        for method, order in found.items()
                    ]
    _print(name, places, symbols, took)


# --- What is asked --------------------------------------------------------------------------------
def _plan(git: "_Git", freezes: int, wanted: int) -> list[tuple[str, list[Question]]]:
    """Return the newest freezes that have so many questions behind them, oldest first.

    Goes down the main line and takes up what each commit of it brought.
    """
    line = git.line()
    seen = Counter(git.subjects())
    plan: list[tuple[str, list[Question]]] = []
    newer, asked = 0, list[_Candidate]()
    for place in range(1, len(line)):
        fresh = git.between(line[place], line[place - 1])
        asked = [*filter(None, (_candidate(git, sha, seen) for sha in fresh)), *asked]
        if len(asked) >= wanted:
            questions = list(_questions(git, line[place], asked))
            if len(questions) >= wanted:
                # The oldest of them: they are nearest to the freeze.
                plan.append((line[place], questions[:wanted]))
                newer, asked = place, []
        if len(plan) == freezes:
            break
    _say(f"planned as far back as {newer} commits of the main line")
    return plan[::-1]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A commit that would make a question, whatever the freeze."""

    sha: str
    text: str
    changed: Mapping[str, Sequence[tuple[int, int]]]


def _candidate(git: "_Git", sha: str, seen: Mapping[str, int]) -> _Candidate | None:
    subject, _, body = git.message(sha).partition("\n")
    text = _cleaned(f"{subject}\n{body}")
    is_telling = len(set(re.findall(r"[A-Za-z]{3,}", text))) >= _FEWEST_WORDS
    if _CHORE.search(subject) or seen[subject] > 1 or not is_telling:
        return None
    changed = git.changed(sha)
    return _Candidate(sha, text, changed) if 1 <= len(changed) <= _MOST_FILES else None


def _questions(git: "_Git", freeze: str, candidates: Sequence[_Candidate]) -> Iterator[Question]:
    at_freeze = git.python_paths(freeze)
    for one in candidates:
        files = frozenset(one.changed) & at_freeze
        if not files:
            continue
        symbols = frozenset(
            (path, name)
            for path in files
            for name in _changed_symbols(git.content(f"{one.sha}^", path), one.changed[path])
        )
        yield Question(sha=one.sha, text=one.text, files=files, symbols=symbols)


def _cleaned(message: str) -> str:
    without = _NUMBER.sub("", _ADDRESS.sub("", _TRAILER.sub("", message)))
    return " ".join(without.split())[:_LONGEST_QUESTION]


def _changed_symbols(text: str, hunks: Sequence[tuple[int, int]]) -> set[str]:
    """Return the innermost functions and classes that some lines of the parent side are in."""
    spans = list(_spans(text))
    names = set()
    for first, last in hunks:
        around = [
            (end - start, name) for name, start, end, _ in spans if start <= last and end >= first
        ]
        if around:
            names.add(min(around)[1])
    return names


def _spans(text: str) -> Iterator[tuple[str, int, int, str]]:
    """Yield name, first line, last line and text of each function and class."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    lines = text.splitlines()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            last = node.end_lineno or first
            yield node.name, first, last, "\n".join(lines[first - 1 : last])


def _symbols_of(contents: Mapping[str, str]) -> dict[tuple[str, str], str]:
    return {
        (path, name): body for path, text in contents.items() for name, _, _, body in _spans(text)
    }


# --- Who is asked ---------------------------------------------------------------------------------
class _Product:
    """The product on a repository whose main branch shows one freeze after the other."""

    def __init__(self, git: "_Git", name: str, copy: Path) -> None:
        from django.test import Client
        from django.utils import timezone

        from tests.factories import make_namespace, make_repository, make_token, make_user

        subprocess.run(
            ["git", "clone", "--quiet", "--bare", "--shared", str(git.path), str(copy)], check=True
        )
        self._copy = copy
        # Only the frozen branch exists for the product.
        refs = subprocess.run(
            ["git", "-C", str(copy), "for-each-ref", "--format=%(refname)"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()
        for ref in refs:
            self._git("update-ref", "-d", ref)
        self._git("symbolic-ref", "HEAD", "refs/heads/frozen")
        unique = f"{name}-{os.getpid()}"
        user = make_user(unique)
        namespace = make_namespace(unique, owner=user)
        self.repository = make_repository(
            namespace, name, url=str(copy), default_branch="frozen", created_by=user
        )
        self._headers = {
            "Authorization": f"Bearer {make_token(user, now=timezone.now()).secret}",
            "Codemem-Namespace": unique,
            "Codemem-Repository": name,
        }
        self._client = Client(SERVER_NAME="localhost")

    def freeze(self, sha: str) -> None:
        """Bring index, vectors and history to a commit, as a push to it does."""
        from django.utils import timezone

        from graph.indexes import ensure_words_index
        from indexing.embedding import embed_symbols
        from indexing.history.backfill import advance
        from indexing.pipeline import run_index
        from indexing.services import request_index

        ensure_words_index()
        self._git("update-ref", "refs/heads/frozen", sha)
        run = request_index(repository_id=self.repository.pk, requested_by="bench")
        outcome = run_index(run_id=run, now=timezone.now())
        if outcome is None or not outcome.is_indexed:
            sys.exit(f"Indexing {sha} failed.")
        while embed_symbols(repository_id=self.repository.pk):
            pass
        while advance(repository_id=self.repository.pk, seconds=60):
            pass

    def ask(self, question: str) -> Any:
        """Return what search_code answers."""
        body = {
            "query": question,
            "k": 50,
            "language": "python",
            "files": 50,
        }
        response = self._client.post(
            "/api/v1/tools/search_code", json.dumps(body), "application/json", headers=self._headers
        )
        if response.status_code != 200:
            sys.exit(f"search_code answered {response.status_code}: {response.content!r}")
        return response.json()

    def witnesses(self, question: str) -> dict[str, list[str]]:
        """Return the files in the order of each witness alone."""
        from codemem.embedding import from_settings
        from graph import file_search
        from graph.search import QueryVector

        model = from_settings()
        vector = model.embed([question], kind="query")[0]
        hits = file_search.rank_files(
            repository_id=self.repository.pk,
            query=question,
            embedded=QueryVector(vector=vector.tolist(), fingerprint=model.fingerprint),
            language="python",
            limit=10_000,
        )
        names = ("meaning", "words", "text", "commits", "churn")
        return {
            f"- {name} alone": [
                hit.path for hit in sorted(hits, key=lambda hit: -getattr(hit.witnesses, name))
            ]
            for name in names
        }

    def _git(self, *arguments: str) -> None:
        subprocess.run(["git", "-C", str(self._copy), *arguments], check=True)


# --- Figures --------------------------------------------------------------------------------------
class _Bm25:
    """Robertson's BM25 over whole texts, with the product's words."""

    def __init__(self, texts: Mapping[Any, str]) -> None:
        from codemem.words import code_tokens

        self._holding: dict[str, list[tuple[Any, int]]] = defaultdict(list)
        self._lengths: dict[Any, int] = {}
        for key, text in texts.items():
            counts = Counter(code_tokens(text, limit=10**6))
            self._lengths[key] = sum(counts.values())
            for term, count in counts.items():
                self._holding[term].append((key, count))
        self._mean = sum(self._lengths.values()) / max(len(self._lengths), 1)

    def ranked(self, question: str) -> list[Any]:
        from codemem.words import query_terms

        scores: Counter[Any] = Counter()
        for term in query_terms(question):
            holding = self._holding.get(term, ())
            weight = math.log1p((len(self._lengths) - len(holding) + 0.5) / (len(holding) + 0.5))
            for key, count in holding:
                pull = _K1 * (1 - _B + _B * self._lengths[key] / self._mean)
                scores[key] += weight * count * (_K1 + 1) / (count + pull)  # type: ignore[assignment]
        return sorted(scores, key=lambda key: (-scores[key], key))


def _place(method: str, question: Question, gold: Iterable[Any], order: Sequence[Any]) -> Place:
    wanted = set(gold)
    ranked = list(dict.fromkeys(order))
    first = next((n for n, one in enumerate(ranked, start=1) if one in wanted), None)

    def recall(k: int) -> float:
        return len(wanted.intersection(ranked[:k])) / len(wanted)

    return Place(
        method=method,
        question=question,
        reciprocal=1 / first if first else 0.0,
        recall_at_5=recall(5),
        recall_at_10=recall(10),
    )


def _name_in(node: str) -> str:
    """Return the bare name of a symbol's id, `sym:path#Class.method~1`."""
    return node.rpartition("#")[2].partition("~")[0].rpartition(".")[2]


def _paths(hits: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(hit["path"] for hit in hits))


def _print(
    name: str, places: Sequence[Place], symbols: Sequence[Place], took: Sequence[float]
) -> None:
    asked = {place.question.sha: place.question for place in places}
    leaky = sum(question.is_leaky for question in asked.values())
    ordered = sorted(took)
    print(f"\n## {name}: {len(asked)} commits, {leaky} name one of their files\n")
    for title, rows in (("files", places), ("symbols", symbols)):
        print(f"| {title} | MRR | recall@5 | recall@10 | MRR, not named |")
        print("|---|---:|---:|---:|---:|")
        for method in dict.fromkeys(row.method for row in rows):
            mine = [row for row in rows if row.method == method]
            unnamed = [row for row in mine if not row.question.is_leaky]
            print(
                f"| {method} | {_mean(row.reciprocal for row in mine):.3f}"
                f" | {_mean(row.recall_at_5 for row in mine):.3f}"
                f" | {_mean(row.recall_at_10 for row in mine):.3f}"
                f" | {_mean(row.reciprocal for row in unnamed):.3f} |"
            )
        print()
    middle = ordered[len(ordered) // 2] * 1000
    print(
        f"search_code with symbols and files: p50 {middle:.0f} ms, most {ordered[-1] * 1000:.0f} ms"
    )
    sys.stdout.flush()


def _mean(values: Iterable[float]) -> float:
    taken = list(values)
    return sum(taken) / max(len(taken), 1)


# --- Git ------------------------------------------------------------------------------------------
class _Git:
    def __init__(self, path: Path) -> None:
        self.path = path

    def line(self) -> list[str]:
        """Return the main line, newest first."""
        return self._lines("rev-list", "--first-parent", "HEAD")

    def subjects(self) -> list[str]:
        return self._lines("log", "--no-merges", "--format=%s", "HEAD")

    def between(self, old: str, new: str) -> list[str]:
        """Return what came between two commits, without merges, oldest first."""
        return self._lines("rev-list", "--no-merges", "--reverse", f"{old}..{new}")

    def message(self, sha: str) -> str:
        return self._text("log", "-1", "--format=%B", sha)

    def changed(self, sha: str) -> dict[str, list[tuple[int, int]]]:
        """Return the Python files that a commit changed, with the lines of its parent's side."""
        diff = self._text(
            "diff", "-U0", "--no-renames", "--diff-filter=M", f"{sha}^", sha, "--", "*.py"
        )
        found: dict[str, list[tuple[int, int]]] = {}
        for part in re.split(r"(?m)^diff --git ", diff)[1:]:
            path = re.search(r"(?m)^--- a/(.*)$", part)
            if path:
                hunks = [(int(start), int(count or 1)) for start, count in _HUNK.findall(part)]
                found[path[1]] = [(start, start + max(count, 1) - 1) for start, count in hunks]
        return found

    def python_paths(self, sha: str) -> frozenset[str]:
        paths = self._lines("ls-tree", "-r", "--name-only", sha)
        return frozenset(path for path in paths if path.endswith(".py"))

    def python_files(self, sha: str) -> dict[str, str]:
        return {path: self.content(sha, path) for path in sorted(self.python_paths(sha))}

    def content(self, sha: str, path: str) -> str:
        return self._text("show", f"{sha}:{path}")

    def _lines(self, *arguments: str) -> list[str]:
        return self._text(*arguments).splitlines()

    def _text(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.path), *arguments], check=True, capture_output=True
        )
        return done.stdout.decode(errors="replace")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
