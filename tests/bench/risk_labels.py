"""Which changes of a repository were followed by a fix: what really happened, told from Git alone.

A unit is a step of the main line (first parents): what a review would have seen, a merged branch as
a whole. It `was_fixed` when another unit landed within DAYS after it with a commit whose subject
says that it fixes or reverts something, and which removes or rewrites, by `git blame -w` in the
fix's own parent, at least one line of source that a commit of the unit wrote; or that says "This
reverts commit" of one of its commits. Subjects about typos, documentation, lint, formatting, types,
tests, CI or releases do not count; lines of tests, documentation and configuration neither. Merges
are not fixes themselves: the commits in them are.
"""

import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

DAYS: Final = 180
_MOST_FILES_OF_A_FIX: Final = 20
_SECONDS_A_DAY: Final = 86_400
_REVERTED: Final = re.compile(r"This reverts commit ([0-9a-f]{7,40})")
_HUNK: Final = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+")


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the main line: its place on it, its first parent, and its commits (itself, too).

    `at` is when it landed, in seconds.
    """

    sha: str
    parent: str
    place: int
    at: float
    commits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Message:
    """What a commit says, and who says it."""

    sha: str
    parents: tuple[str, ...]
    at: float
    author: str
    subject: str
    body: str

    @property
    def is_merge(self) -> bool:
        return len(self.parents) > 1


class Line:
    """The main line of a bare clone, and what its commits say."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.messages = {one.sha: one for one in self._messages()}
        self.steps = list(self._steps())
        self.place_of = {sha: step.place for step in self.steps for sha in step.commits}

    def fixed(self, places: Iterable[int]) -> set[int]:
        """Return those of the places on the line that were fixed."""
        asked = set(places)
        last = max((self.steps[place].at for place in asked), default=0.0)
        first = min(asked, default=0)
        found: set[int] = set()
        for step in self.steps[first:]:
            if step.at > last + DAYS * _SECONDS_A_DAY:
                break
            for sha in step.commits:
                message = self.messages[sha]
                if not message.is_merge and says_fix(message.subject):
                    broken = {self.place_of.get(one) for one in self._broken_by(message)}
                    found |= {
                        place for place in broken if place in asked and self._is_soon(place, step)
                    }
        return found

    def git(self, *arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(self.path), "-c", "core.quotePath=false", *arguments],
            check=True,
            capture_output=True,
        ).stdout.decode("utf-8", "replace")

    def _is_soon(self, place: int, fix: Step) -> bool:
        passed = fix.at - self.steps[place].at
        return place < fix.place and passed <= DAYS * _SECONDS_A_DAY

    def _messages(self) -> Iterator[Message]:
        text = self.git("log", "--format=%x01%H%x00%P%x00%ct%x00%ae%x00%s%x00%b", "HEAD")
        for record in text.split("\x01")[1:]:
            sha, parents, at, author, subject, body = record.split("\0")
            yield Message(sha, tuple(parents.split()), float(at), author, subject, body)

    def _steps(self) -> Iterator[Step]:
        line = self.git("rev-list", "--first-parent", "--reverse", "HEAD").split()
        taken: set[str] = set()
        for place, sha in enumerate(line):
            commits = [sha]
            waiting = list(self.messages[sha].parents[1:])
            taken.add(sha)
            while waiting:
                one = waiting.pop()
                if one not in taken and one in self.messages:
                    taken.add(one)
                    commits.append(one)
                    waiting += self.messages[one].parents
            parent = next(iter(self.messages[sha].parents), "")
            yield Step(sha, parent, place, self.messages[sha].at, tuple(commits))

    def _broken_by(self, fix: Message) -> set[str]:
        """Return the commits whose lines a fix rewrites, or that it says it reverts."""
        found = {
            sha for start in _REVERTED.findall(fix.body) if (sha := self._whole(start)) is not None
        }
        if not fix.parents:
            return found
        for path, ranges in self._rewritten(fix):
            found |= self._authors_of(fix.parents[0], path, ranges)
        return found

    def _whole(self, start: str) -> str | None:
        return next((sha for sha in self.messages if sha.startswith(start)), None)

    def _rewritten(self, fix: Message) -> list[tuple[str, list[tuple[int, int]]]]:
        diff = self.git(
            *("diff", "-U0", "-w", "-M", "--no-color", "--no-ext-diff", "--no-textconv"),
            *(fix.parents[0], fix.sha),
        )
        ranges: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        path = ""
        for line in diff.splitlines():
            if line.startswith("--- "):
                path = line.removeprefix("--- a/").rstrip("\t")
            elif path and is_source(path) and (match := _HUNK.match(line)):
                count = int(match[2] or 1)
                if count:
                    ranges[path].append((int(match[1]), int(match[1]) + count - 1))
        return list(ranges.items()) if len(ranges) <= _MOST_FILES_OF_A_FIX else []

    def _authors_of(self, commit: str, path: str, ranges: Sequence[tuple[int, int]]) -> set[str]:
        places = [f"-L{first},{last}" for first, last in ranges]
        try:
            text = self.git("blame", "-w", "--porcelain", *places, commit, "--", path)
        except subprocess.CalledProcessError:
            return set()
        return {line[:40] for line in text.splitlines() if re.match(r"[0-9a-f]{40} \d", line)}


def says_fix(subject: str) -> bool:
    from indexing.risk.past import says_fix as product_says_fix

    return product_says_fix(subject)


def is_source(path: str) -> bool:
    """Tell whether a path is a program's and no test."""
    from indexing.risk.past import is_shipped

    return is_shipped(path)


def files_of(line: Line) -> Mapping[str, list[tuple[str, str]]]:
    """Return what each commit that is no merge did to paths: (before, after), "" for none."""
    text = line.git("log", "--no-merges", "-M", "--raw", "-z", "--format=%x01%H", "HEAD")
    found = {}
    for record in text.split("\x01")[1:]:
        sha, _, rest = record.partition("\0")
        found[sha.strip()] = list(_rows(rest))
    return found


def _rows(text: str) -> Iterator[tuple[str, str]]:
    fields = iter(text.lstrip("\n").split("\0"))
    for meta in fields:
        if meta.startswith(":"):
            status = meta.split(" ")[4][:1]
            old = next(fields)
            new = next(fields) if status in "RC" else old
            yield ("" if status in "AC" else old), ("" if status == "D" else new)
