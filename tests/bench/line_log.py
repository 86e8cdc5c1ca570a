"""What `git log -L` lists for a function, and for how long that is still the function.

git follows lines, not definitions: after a rewrite, or a hunk that reaches over the end of the
function, its range is a whole class, a neighbor, or part of something, and every older commit that
it lists is about that. Here each range is held against the definitions of its own version.
"""

import functools
import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from indexing.history.outline import Entry, Name, Text, outline
from indexing.languages import language_of
from indexing.parsing import extract

_LEAST_SHARE_OF_LINES = 0.5
_SIDES = re.compile(r"^--- (?:a/)?(.+)\n\+\+\+ (?:b/)?(.+)\n", re.MULTILINE)
_RANGE = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LineLog:
    """The commits that git lists; those up to which its range is a definition, and the same one."""

    listed: frozenset[str]
    beyond_one: frozenset[str]
    beyond_same: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Definition:
    name: Name
    lines: tuple[bytes, ...]

    def is_like(self, other: "_Definition") -> bool:
        """Tell whether these are versions of one thing: by name, or by half of their lines."""
        if self.name.last == other.name.last:
            return True
        common = (Counter(self.lines) & Counter(other.lines)).total()
        return 2 * common >= _LEAST_SHARE_OF_LINES * (len(self.lines) + len(other.lines))


def line_log(repository: Path, head: str, path: str, start: int, end: int) -> LineLog:
    """Return what git lists for lines of a file at `head`.

    `beyond_one`: the commits from which on git's range is not one whole definition on both sides
    (one side where it is added), and what lies between the last one that has it and those;
    `beyond_same`: as well those at which it is another one than in the commit after.
    """
    lines = f"-L{start},{end}:{path}"
    output = _git(repository, "log", "--format=%x01%H %P", lines, head).decode("utf-8", "replace")
    listed: list[str] = []
    begun: list[str] = []
    ends_one: list[str] = []
    ends_same: list[str] = []
    followed: list[str] = []
    for entry in output.split("\x01")[1:]:
        commits, _, patch = entry.partition("\n")
        sha, *parents = commits.split()
        listed.append(sha)
        if len(parents) > 1:
            continue  # of merges git shows no range
        after, before, is_added = _sides(repository, sha, parents, patch)
        if after is None or (before is None and not is_added):
            ends_one.append(sha)
        elif before is None:
            begun += parents
        else:
            followed.append(sha)
            ends_same += [] if after.is_like(before) else parents
    beyond_one = _with_ancestors(repository, [*begun, *ends_one])
    beyond_one |= _between(repository, followed, ends_one)
    beyond_same = beyond_one | _with_ancestors(repository, ends_same)
    return LineLog(frozenset(listed), beyond_one, beyond_same)


def is_confirmed(repository: Path, sha: str, path: str, local_name: str) -> bool:
    """Tell whether git itself lists a commit for a function, when it is asked from that commit on.

    From the head it may leave one out that did change the function: of the parents of a merge it
    follows one whose range is the merge's own.
    """
    changed = _git(repository, "diff-tree", "-r", "--no-commit-id", "--name-only", sha).decode()
    for place in changed.splitlines():
        if Path(place).name != Path(path).name:
            continue  # a file may have had another folder then
        try:
            _, entries = _version(repository, f"{sha}:{place}")
        except subprocess.CalledProcessError:
            continue  # removed
        for name, entry in entries.items():
            lines = f"-L{entry.start_line},{entry.end_line}:{place}"
            asked = ("log", "-1", "--format=%H", "--no-patch", lines, sha)
            if name.local_name == local_name and _git(repository, *asked).decode().startswith(sha):
                return True
    return False


def _between(repository: Path, followed: list[str], ends: list[str]) -> frozenset[str]:
    """Return the commits after the end, and before the last one at which git had its range right.

    Somewhere there the range went wrong, in a commit that git does not list.
    """
    if not followed or not ends:
        return frozenset()
    later = [f"^{sha}" for sha in ends]
    found = _git(repository, "rev-list", *(f"{sha}^@" for sha in followed[-1:]), *later)
    return frozenset(found.decode().split())


def _sides(
    repository: Path, sha: str, parents: list[str], patch: str
) -> tuple[_Definition | None, _Definition | None, bool]:
    """Return the definitions that a listed commit's range is after and before it.

    And whether there is nothing before it.
    """
    sides = _SIDES.search(patch)
    ranges = _RANGE.findall(patch)
    if sides is None or len(ranges) != 1:
        return None, None, False
    old_start, old_count, start, count = (int(text or 1) for text in ranges[0])
    after = _defined(repository, f"{sha}:{sides[2]}", start, start + count - 1)
    if not parents or sides[1] == "/dev/null" or not old_count:
        return after, None, True
    place, end = f"{parents[0]}:{sides[1]}", old_start + old_count - 1
    text, _ = _version(repository, place)
    is_added = not any(_is_written(text, number) for number in range(old_start, end + 1))
    return after, _defined(repository, place, old_start, end), is_added


def _defined(repository: Path, place: str, start: int, end: int) -> _Definition | None:
    """Return the definition that these lines are and nothing else but empty lines."""
    text, entries = _version(repository, place)
    lines = {number for number in range(start, end + 1) if _is_written(text, number)}
    for name, entry in entries.items():
        span = range(entry.start_line, entry.end_line + 1)
        if {number for number in span if _is_written(text, number)} == lines:
            own = (line.strip() for line in text.own_lines(entry))
            return _Definition(name, tuple(line for line in own if line))
    return None


def _is_written(text: Text, number: int) -> bool:
    return 0 < number <= len(text.lines) and bool(text.lines[number - 1].strip())


@functools.lru_cache(maxsize=2_000)
def _version(repository: Path, place: str) -> tuple[Text, dict[Name, Entry]]:
    language = language_of(place.partition(":")[2])
    source = _git(repository, "show", place)
    found = outline(extract(language, source).definitions) if language is not None else {}
    return Text.of(source), dict(found)


def _with_ancestors(repository: Path, shas: list[str]) -> frozenset[str]:
    if not shas:
        return frozenset()
    return frozenset(_git(repository, "rev-list", *shas).decode().split())


def _git(repository: Path, *arguments: str) -> bytes:
    command = ["git", "-C", str(repository), *arguments]
    return subprocess.run(command, capture_output=True, check=True).stdout
