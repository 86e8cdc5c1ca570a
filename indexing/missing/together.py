"""What past commits changed together: files whose commits are like the change at hand.

Newer commits count more, large ones less, and a file that changes all the time says little about
the others. Pure; times are seconds.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

HALF_LIFE_DAYS: Final = 730.0
MOST_FILES_IN_A_COMMIT: Final = 50
"""A commit with more files (a reformatting, a move) says nothing about any of them."""

_LEAST_RARITY: Final = 0.1
_SECONDS_PER_DAY: Final = 86_400


class PastCommit(NamedTuple):
    """One commit: when it landed on the main line, its time in seconds, the keys of its files."""

    landed: int
    at: float
    files: tuple[int, ...]


class Company(NamedTuple):
    """How often a file was changed, and in how many of those commits another one was."""

    together: int
    commits: int


class PastCommits:
    """The commits of a repository by the files that they changed."""

    def __init__(self, commits: Sequence[PastCommit]) -> None:
        self._commits = commits
        self._of_file: defaultdict[int, list[int]] = defaultdict(list)
        for number, commit in enumerate(commits):
            for file in commit.files:
                self._of_file[file].append(number)

    def likely_with(self, files: Collection[int], *, until: int | None) -> dict[int, float]:
        """Return how much the commits that are like a change of these files speak for each file.

        `until` is the position on the main line after which nothing is known yet.
        """
        rarity = {file: self._rarity(file, until) for file in files}
        shared: defaultdict[int, float] = defaultdict(float)
        for file in files:
            for number in self._numbers(file, until):
                shared[number] += rarity[file]
        whole = sum(rarity.values())
        newest = self._newest(until)
        found: defaultdict[int, float] = defaultdict(float)
        for number, overlap in shared.items():
            commit = self._commits[number]
            if len(commit.files) > MOST_FILES_IN_A_COMMIT:
                continue
            likeness = (overlap / whole) ** 2 / len(commit.files)
            age = max(0.0, newest - commit.at) / _SECONDS_PER_DAY
            share = likeness * 0.5 ** (age / HALF_LIFE_DAYS)
            for other in commit.files:
                found[other] += share
        return found

    def company(self, file: int, other: int, *, until: int | None) -> Company:
        """Return in how many of a file's commits another one was changed as well."""
        numbers = self._numbers(file, until)
        together = len(set(numbers).intersection(self._numbers(other, until)))
        return Company(together, len(numbers))

    def _numbers(self, file: int, until: int | None) -> list[int]:
        numbers = self._of_file.get(file, [])
        if until is None:
            return numbers
        return [number for number in numbers if self._commits[number].landed <= until]

    def _rarity(self, file: int, until: int | None) -> float:
        known = len(self._commits) + 1
        return max(_LEAST_RARITY, math.log(known / (len(self._numbers(file, until)) + 1)))

    def _newest(self, until: int | None) -> float:
        times = (one.at for one in self._commits if until is None or one.landed <= until)
        return max(times, default=0.0)


def keyed(paths: Collection[str], keys: Mapping[str, int]) -> dict[int, str]:
    """Return the paths that history knows, by their keys."""
    return {keys[path]: path for path in paths if path in keys}
