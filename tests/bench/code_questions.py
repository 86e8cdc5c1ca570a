"""Real commits as questions about code: what they say, and what of a frozen tree they changed."""

import ast
import re
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from indexing import languages
from indexing.parsing import extract

MOST_FILES = 8
_FEWEST_WORDS = 4
_LONGEST_QUESTION = 1_000
_TRAILER = re.compile(r"(?im)^(?:[a-z-]+-by|closes?|fix(?:es|ed)?|refs?|resolves?)[: ].*$")
_ADDRESS = re.compile(r"https?://\S+")
_NUMBER = re.compile(r"\(?#\d+\)?")
_CHORE = re.compile(
    r"(?i)^(?:bump|merge|release|version|start version|revert|update (?:requirements|dependencies"
    r"|pre-commit)|pin |upgrade |prepare |v?\d+\.\d+|chore\(deps\)|build\(deps\))|pre-commit"
    r"|dependabot|pyupgrade|\bblack\b|\bisort\b|reformat|changelog$|\btypos?\b"
)
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? ", re.MULTILINE)
_HOLDERS = {"function", "method", "class", "interface", "enum", "type"}


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


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a past commit would teach: its message, and the files and symbols that it changed.

    Symbols are (path, name in the file), as `Class.method`.
    """

    text: str
    files: tuple[str, ...]
    symbols: tuple[tuple[str, str], ...]


class Span(NamedTuple):
    """A function or class: its name, its name in the file, its lines and its text."""

    name: str
    local_name: str
    first: int
    last: int
    text: str


def plan(git: "Git", freezes: int, wanted: int) -> list[tuple[str, list[Question]]]:
    """Return the newest freezes that have so many questions behind them, oldest first.

    Goes down the main line and takes up what each commit of it brought.
    """
    line = git.line()
    seen = Counter(git.subjects())
    found: list[tuple[str, list[Question]]] = []
    asked = list[_Candidate]()
    for place in range(1, len(line)):
        fresh = git.between(line[place], line[place - 1])
        asked = [*filter(None, (_candidate(git, sha, seen) for sha in fresh)), *asked]
        if len(asked) >= wanted:
            questions = list(_questions(git, line[place], asked))
            if len(questions) >= wanted:
                # The oldest of them: they are nearest to the freeze.
                found.append((line[place], questions[:wanted]))
                asked = []
        if len(found) == freezes:
            break
    return found[::-1]


def lessons(git: "Git", *, after: str | None, freeze: str, most: int) -> list[Lesson]:
    """Return what the newest commits up to a freeze would teach, of which all is still there."""
    at_freeze = git.paths(freeze)
    found: list[Lesson] = []
    for sha in reversed(git.between(after, freeze)):
        candidate = _candidate(git, sha, Counter())
        if candidate is None:
            continue
        files = tuple(sorted(frozenset(candidate.changed) & at_freeze))
        symbols = tuple(
            (path, span.local_name)
            for path in files
            for span in _changed_spans(path, git.content(f"{sha}^", path), candidate.changed[path])
        )
        if files:
            found.append(Lesson(candidate.text, files, symbols))
        if len(found) == most:
            break
    return found[::-1]


def spans(path: str, text: str) -> list[Span]:
    """Return the functions and classes of a text: Python by `ast`, others as the product parses."""
    if path.endswith(".py"):
        return list(_python_spans(text))
    language = languages.language_of(path)
    if language is None:
        return []
    lines = text.splitlines()
    return [
        Span(
            *(one.name, one.local_name, one.start_line, one.end_line),
            text="\n".join(lines[one.start_line - 1 : one.end_line]),
        )
        for one in extract(language, text.encode()).definitions
        if one.kind in _HOLDERS
    ]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A commit that would make a question, whatever the freeze."""

    sha: str
    text: str
    changed: Mapping[str, Sequence[tuple[int, int]]]


def _candidate(git: "Git", sha: str, seen: Mapping[str, int]) -> _Candidate | None:
    subject, _, body = git.message(sha).partition("\n")
    text = _cleaned(f"{subject}\n{body}")
    is_telling = len(set(re.findall(r"[A-Za-z]{3,}", text))) >= _FEWEST_WORDS
    if _CHORE.search(subject) or seen.get(subject, 0) > 1 or not is_telling:
        return None
    changed = git.changed(sha)
    return _Candidate(sha, text, changed) if 1 <= len(changed) <= MOST_FILES else None


def _questions(git: "Git", freeze: str, candidates: Sequence[_Candidate]) -> Iterator[Question]:
    at_freeze = git.paths(freeze)
    for one in candidates:
        files = frozenset(one.changed) & at_freeze
        if not files:
            continue
        symbols = frozenset(
            (path, span.name)
            for path in files
            for span in _changed_spans(path, git.content(f"{one.sha}^", path), one.changed[path])
        )
        yield Question(sha=one.sha, text=one.text, files=files, symbols=symbols)


def _cleaned(message: str) -> str:
    without = _NUMBER.sub("", _ADDRESS.sub("", _TRAILER.sub("", message)))
    return " ".join(without.split())[:_LONGEST_QUESTION]


def _changed_spans(path: str, text: str, hunks: Sequence[tuple[int, int]]) -> set[Span]:
    """Return the innermost functions and classes that some lines of the parent side are in."""
    known = spans(path, text)
    found = set()
    for first, last in hunks:
        around = [span for span in known if span.first <= last and span.last >= first]
        if around:
            found.add(min(around, key=lambda span: span.last - span.first))
    return found


def _python_spans(text: str) -> Iterator[Span]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    lines = text.splitlines()
    waiting: list[tuple[str, ast.AST]] = [("", tree)]
    while waiting:
        owner, around = waiting.pop()
        for node in ast.iter_child_nodes(around):
            name = owner
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                last = node.end_lineno or first
                name = f"{owner}.{node.name}".removeprefix(".")
                yield Span(node.name, name, first, last, "\n".join(lines[first - 1 : last]))
            waiting.append((name, node))


class Git:
    """A bare clone, and which of its files count."""

    def __init__(self, path: Path, suffixes: Sequence[str]) -> None:
        self.path = path
        self._suffixes = tuple(suffixes)
        # All at once: a process for each of some thousand commits takes minutes.
        told = self._text("log", "--format=%H%x00%P%x00%B%x1e", "HEAD").split("\x1e")
        commits = [one.lstrip("\n").split("\0") for one in told if one.strip()]
        self._parents = {sha: parents.split() for sha, parents, _ in commits}
        self._messages = {sha: message.strip() for sha, _, message in commits}

    def line(self) -> list[str]:
        """Return the main line, newest first."""
        return self._lines("rev-list", "--first-parent", "HEAD")

    def subjects(self) -> list[str]:
        return [
            message.partition("\n")[0]
            for sha, message in self._messages.items()
            if len(self._parents[sha]) < 2
        ]

    def between(self, old: str | None, new: str) -> list[str]:
        """Return what came between two commits, without merges, oldest first."""
        if self._parents[new] == [old]:
            return [new]
        both = f"{old}..{new}" if old else new
        return self._lines("rev-list", "--no-merges", "--reverse", both)

    def message(self, sha: str) -> str:
        return self._messages[sha]

    def changed(self, sha: str) -> dict[str, list[tuple[int, int]]]:
        """Return the files that a commit changed, with the lines of its parent's side."""
        if not self._parents[sha]:
            return {}
        patterns = [f"*{suffix}" for suffix in self._suffixes]
        diff = self._text(
            "diff", "-U0", "--no-renames", "--diff-filter=M", f"{sha}^", sha, "--", *patterns
        )
        found: dict[str, list[tuple[int, int]]] = {}
        for part in re.split(r"(?m)^diff --git ", diff)[1:]:
            path = re.search(r"(?m)^--- a/(.*)$", part)
            if path:
                hunks = [(int(start), int(count or 1)) for start, count in _HUNK.findall(part)]
                found[path[1]] = [(start, start + max(count, 1) - 1) for start, count in hunks]
        return found

    def paths(self, sha: str) -> frozenset[str]:
        return frozenset(
            path
            for path in self._lines("ls-tree", "-r", "--name-only", sha)
            if path.endswith(self._suffixes)
        )

    def files(self, sha: str) -> dict[str, str]:
        return {path: self.content(sha, path) for path in sorted(self.paths(sha))}

    def content(self, sha: str, path: str) -> str:
        return self._text("show", f"{sha}:{path}")

    def _lines(self, *arguments: str) -> list[str]:
        return self._text(*arguments).splitlines()

    def _text(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.path), *arguments], check=False, capture_output=True
        )
        if done.returncode:
            sys.exit(f"git {arguments[0]} in {self.path}: {done.stderr.decode(errors='replace')}")
        return done.stdout.decode(errors="replace")
