"""Where would this change go? Commit messages asked of the product, as an agent would ask.

    python -m tests.bench.code_memory REPOSITORY [REPOSITORY ...] [--freezes 2] [--questions 50]

A REPOSITORY is a bare clone. Its main line (first parents) is cut at some commits, the freezes,
oldest first. At each, the product indexes that tree, embeds it and reads the history up to it;
nothing later exists for it. An agent stores as memories what the newest commits up to the freeze
said, each anchored at the files and linked to the functions and classes that it changed. It then
asks for the commits that came to the main line between this freeze and the next, by their message
alone, through REST with a token: `search_code` with `files`, `recall` (the code that its hits are
about), and `recall` in mode brief (its `code`). So the state is never younger than a commit's
parent, and often some weeks older.

A commit counts when it is no merge, changes 1 to 8 files of the language (by default Python) that
exist at the freeze, says at least 4 words, is no release, bump or formatting, and no earlier one
had the same subject. The question is subject and body without trailers, addresses and `#123`. Gold
are those files, and the innermost functions and classes whose lines at the commit's own parent it
changed, by file and name.

Beside: BM25 with the product's words over the whole content of the same files, and over the whole
text of their functions and classes. Prints Markdown. The files' weights were compared with others
on encode/httpx only, the symbols' on encode/httpx and pallets/flask; pallets/click was looked at.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import django

_K1, _B = 1.2, 0.75
_SHOWN_SYMBOLS = 50
_SHOWN_FILES = 50
_RECALLED = 20
_LEARNED = 200
_STORED_AT_ONCE = 20
_SUFFIXES = {
    "python": [".py"],
    "go": [".go"],
    "typescript": [".ts", ".tsx"],
    "ruby": [".rb"],
    "java": [".java"],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where in a ranked list the gold stood."""

    method: str
    sha: str
    is_leaky: bool
    reciprocal: float
    recall_at_5: float
    recall_at_10: float


def main() -> None:
    arguments = _arguments()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codemem.settings")
    django.setup()
    for path in arguments.repositories:
        _measure(path.resolve(), arguments)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("repositories", type=Path, nargs="+", help="bare clones")
    parser.add_argument("--freezes", type=int, default=2)
    parser.add_argument("--questions", type=int, default=50, help="after each freeze")
    parser.add_argument("--language", choices=sorted(_SUFFIXES), default="python")
    parser.add_argument("--apart", action="store_true", help="also rank by each witness alone")
    return parser.parse_args()


def _measure(source: Path, arguments: argparse.Namespace) -> None:
    from tests.bench.code_questions import Git, lessons, plan, spans

    git = Git(source, _SUFFIXES[arguments.language])
    name = (source.parent.name if source.name == "repo" else source.stem).rpartition("+")[2]
    files: list[Place] = []
    symbols: list[Place] = []
    took: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        product = _Product(git.path, name, Path(folder) / name, arguments)
        before: str | None = None
        for freeze, asked in plan(git, arguments.freezes, arguments.questions):
            started = time.perf_counter()
            product.freeze(freeze)
            known = lessons(git, after=before, freeze=freeze, most=_LEARNED)
            stored = product.learn(known)
            before = freeze
            contents = git.files(freeze)
            content = _Bm25(contents)
            bodies = _Bm25(
                {
                    (path, span.name): span.text
                    for path, text in contents.items()
                    for span in spans(path, text)
                }
            )
            _say(
                f"{name} {freeze[:12]}: {len(contents)} files, {stored} memories more,"
                f" {len(asked)} questions, ready in {time.perf_counter() - started:.0f} s"
            )
            for question in asked:
                answers = product.answers(question.text, took)
                ranked = {"BM25 over content": content.ranked(question.text)} | {
                    method: list(dict.fromkeys(answer.files)) for method, answer in answers.items()
                }
                files += [
                    place(method, question, question.files, order)
                    for method, order in ranked.items()
                ]
                if question.symbols:
                    found = {"BM25 over bodies": bodies.ranked(question.text)} | {
                        method: answer.symbols
                        for method, answer in answers.items()
                        if answer.symbols is not None
                    }
                    symbols += [
                        place(method, question, question.symbols, order)
                        for method, order in found.items()
                    ]
    _print(name, files, symbols, took)


# --- Who is asked ---------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """Files, and symbols as (path, name), in the order in which an answer leads to them."""

    files: list[str]
    symbols: list[tuple[str, str]] | None


class _Product:
    """The product on a repository whose main branch shows one freeze after the other."""

    def __init__(self, source: Path, name: str, copy: Path, arguments: argparse.Namespace) -> None:
        from django.test import Client
        from django.utils import timezone

        from tests.factories import make_namespace, make_repository, make_token, make_user

        subprocess.run(
            ["git", "clone", "--quiet", "--bare", "--shared", str(source), str(copy)], check=True
        )
        self._copy = copy
        self._language, self._apart = arguments.language, arguments.apart
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

    def learn(self, known: Iterable[Any]) -> int:
        """Store what past commits taught, as an agent at their end would; return how many."""
        from graph.queries import vertices_by_id

        items = []
        for lesson in known:
            ids = [f"sym:{path}#{name}" for path, name in lesson.symbols]
            there = vertices_by_id(repository_id=self.repository.pk, ids=ids)
            is_fix = lesson.text.lower().startswith(("fix", "bug"))
            items.append(
                {
                    "content": lesson.text,
                    "memory_type": "fix" if is_fix else "decision",
                    "anchors": list(lesson.files),
                    "links": [one for one in ids if one in there][:_STORED_AT_ONCE],
                    "distinct": True,
                }
            )
        stored = 0
        waiting = iter(items)
        while batch := list(islice(waiting, _STORED_AT_ONCE)):
            answer = self._call("store_memories", {"items": batch})
            stored += sum(one.get("memory") is not None for one in answer["results"])
        return stored

    def answers(self, question: str, took: Mapping[str, list[float]]) -> dict[str, _Answer]:
        """Ask in every way; note how long each took."""
        code = {"query": question, "k": _SHOWN_SYMBOLS, "language": self._language}
        plain = self._timed("search_code", code, took, "search_code")
        change = self._timed(
            "search_code", code | {"files": _SHOWN_FILES}, took, "search_code with files"
        )
        asked = {"query": question, "k": _RECALLED, "include_impact": True}
        hits = self._timed("recall", asked, took, "recall")["results"]
        brief = {"query": question, "k": _SHOWN_SYMBOLS, "mode": "brief"}
        told = self._timed("recall", brief, took, "recall, brief")["code"] or []
        tied = [code["id"] for hit in hits for code in hit.get("impact") or ()]
        return {
            "search_code": _Answer(
                files=[hit["path"] for hit in plain["results"]],
                symbols=_named(hit["id"] for hit in plain["results"]),
            ),
            "search_code with `files`": _Answer(
                files=[hit["path"] for hit in change["files"]],
                symbols=_named(hit["id"] for hit in change["results"]),
            ),
            "recall, what its hits are about": _Answer(
                files=self._paths(tied), symbols=_named(self._of_language(tied))
            ),
            "recall in mode brief, its `code`": _Answer(
                files=self._paths(told), symbols=_named(self._of_language(told))
            ),
            **{
                f"- {name} alone": _Answer(files=paths, symbols=None)
                for name, paths in (self._witnesses(question) if self._apart else {}).items()
            },
        }

    def _witnesses(self, question: str) -> dict[str, list[str]]:
        """Return the files in the order of each witness alone."""
        from codemem.embedding import from_settings
        from graph import file_search
        from graph.search import QueryVector

        model = from_settings()
        vector = model.embed([question], kind="query")[0]
        places = file_search.rank_places(
            repository_id=self.repository.pk,
            query=question,
            embedded=QueryVector(vector=vector.tolist(), fingerprint=model.fingerprint),
            language=self._language,
            files=10_000,
        )
        names = ("meaning", "words", "text", "commits", "churn")
        return {
            name: [
                hit.path
                for hit in sorted(places.files, key=lambda hit: -getattr(hit.witnesses, name))
            ]
            for name in names
        }

    def _of_language(self, ids: Iterable[str]) -> Iterator[str]:
        suffixes = tuple(_SUFFIXES[self._language])
        return (one for one in ids if _path_in(one).endswith(suffixes))

    def _paths(self, ids: Iterable[str]) -> list[str]:
        return [_path_in(one) for one in self._of_language(ids)]

    def _timed(
        self, tool: str, body: Mapping[str, Any], took: Mapping[str, list[float]], name: str
    ) -> Any:
        begun = time.perf_counter()
        answer = self._call(tool, body)
        took[name].append(time.perf_counter() - begun)
        return answer

    def _call(self, tool: str, body: Mapping[str, Any]) -> Any:
        response = self._client.post(
            f"/api/v1/tools/{tool}", json.dumps(body), "application/json", headers=self._headers
        )
        if response.status_code != 200:
            sys.exit(f"{tool} answered {response.status_code}: {response.content!r}")
        return response.json()

    def _git(self, *arguments: str) -> None:
        subprocess.run(["git", "-C", str(self._copy), *arguments], check=True)


def _named(ids: Iterable[str]) -> list[tuple[str, str]]:
    """Return (path, bare name) of symbols' ids, `sym:path#Class.method~1`."""
    found = []
    for one in ids:
        if one.startswith("sym:"):
            local = one.rpartition("#")[2].partition("~")[0]
            found.append((_path_in(one), local.rpartition(".")[2]))
    return found


def _path_in(node: str) -> str:
    """Return the path in a file's or symbol's id."""
    return node.partition(":")[2].partition("#")[0]


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


def place(method: str, question: Any, gold: Iterable[Any], order: Sequence[Any]) -> Place:
    """Return where the gold stands in a ranked list, of which each counts once."""
    wanted = set(gold)
    ranked = list(dict.fromkeys(order))
    first = next((n for n, one in enumerate(ranked, start=1) if one in wanted), None)

    def recall(k: int) -> float:
        return len(wanted.intersection(ranked[:k])) / len(wanted)

    return Place(
        method=method,
        sha=question.sha,
        is_leaky=question.is_leaky,
        reciprocal=1 / first if first else 0.0,
        recall_at_5=recall(5),
        recall_at_10=recall(10),
    )


def _print(
    name: str,
    files: Sequence[Place],
    symbols: Sequence[Place],
    took: Mapping[str, Sequence[float]],
) -> None:
    leaky = {row.sha for row in files if row.is_leaky}
    print(
        f"\n## {name}: {len({row.sha for row in files})} commits, {len(leaky)} name one of their"
        f" files, {len({row.sha for row in symbols})} changed a symbol\n"
    )
    for title, rows in (("files", files), ("symbols", symbols)):
        print(f"| {title} | MRR | recall@5 | recall@10 | MRR, not named |")
        print("|---|---:|---:|---:|---:|")
        for method in dict.fromkeys(row.method for row in rows):
            mine = [row for row in rows if row.method == method]
            unnamed = [row for row in mine if not row.is_leaky]
            print(
                f"| {method} | {_mean(row.reciprocal for row in mine):.3f}"
                f" | {_mean(row.recall_at_5 for row in mine):.3f}"
                f" | {_mean(row.recall_at_10 for row in mine):.3f}"
                f" | {_mean(row.reciprocal for row in unnamed):.3f} |"
            )
        print()
    for way, times in took.items():
        ordered = sorted(times)
        print(
            f"{way}: p50 {ordered[len(ordered) // 2] * 1000:.0f} ms,"
            f" p95 {ordered[len(ordered) * 95 // 100] * 1000:.0f} ms"
        )
    sys.stdout.flush()


def _mean(values: Iterable[float]) -> float:
    taken = list(values)
    return sum(taken) / max(len(taken), 1)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
