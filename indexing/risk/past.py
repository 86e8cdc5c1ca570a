"""What happened to files before: how often they changed, by whom, and how often that was mended.

Commits in, numbers out. Pure: who asks says which files are meant and until when the past counts.
"""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from indexing.languages import is_program, is_test_path

FOLLOWED_DAYS: Final = 180
"""A fix within so many days of a change is taken to have to do with it."""

MOST_FILES: Final = 50
"""A commit with more files (a reformatting, a move) says nothing about any of them."""

_DAY: Final = 86_400.0
_CHURN_HALF_LIFE: Final = 180 * _DAY
_FIX_HALF_LIFE: Final = 365 * _DAY
_AUTHOR_YEARS: Final = 2
_RATE_YEARS: Final = 3
# What a repository is taken for before it has a past of its own, and how much past outweighs that.
_USUAL_RATE: Final = 0.15
_USUAL_WEIGHT: Final = 20.0

_FIX: Final = re.compile(
    r"\b(?:fix(?:e[sd]|ing|up)?|hot-?fix|bug-?fix(?:es)?|bugs?|revert(?:s|ed)?|regressions?|broken"
    r"|breaks|crash(?:es|ed|ing)?|wrong(?:ly)?|incorrect(?:ly)?|correct(?:s|ed|ly)?|leak(?:s|ed|ing)?"
    r"|panics?|deadlocks?|races?|restore[sd]?)\b",
    re.IGNORECASE,
)
_NOT_A_DEFECT: Final = re.compile(
    r"\b(?:typos?|spelling|grammar|docs?|docstrings?|documentation|readme|changelog|comments?"
    r"|lint(?:er|ing)?|format(?:ting)?|style|whitespace|indentation|typing|type hints?|mypy|flake8"
    r"|tests?|ci|workflows?|github actions|travis|release notes?|links?|examples?|warnings?"
    r"|bump|deps?|dependenc(?:y|ies))\b",
    re.IGNORECASE,
)


def says_fix(message: str) -> bool:
    """Tell whether a commit says, in its first line, that it mends or reverts code.

    What it says of typos, documentation, style, tests and the like is no defect.
    """
    subject = message.partition("\n")[0]
    return bool(_FIX.search(subject)) and not _NOT_A_DEFECT.search(subject)


def is_shipped(path: str) -> bool:
    """Tell whether a path is of a program in a language that is read, and not of a test."""
    return is_program(path) and not is_test_path(path)


class PastChange(NamedTuple):
    """A commit of the past: `landed` is its place on the main line, `files` are keys of programs.

    `at` is when it was written, in seconds.
    """

    at: float
    landed: int
    author: str
    is_fix: bool
    files: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PastOfFiles:
    """What the past says of some files together.

    `churn` and `fixes` are counts that fade (half after half a year, after a year), of the file
    that has most; `commits` and `mended` the counts as they are, of all. `authors` wrote in the
    last two years; `first_author_share` is 0..1, of that file's changes which has most.
    `usual_rate` is the share of the repository's changes that a fix in the same files followed.
    """

    churn: float
    fixes: float
    commits: int
    mended: int
    authors: int
    first_author_share: float
    usual_rate: float


class PastChanges:
    """The changes of one repository, oldest first; what is asked is asked as of a place."""

    def __init__(self, changes: Iterable[PastChange]) -> None:
        self._changes = sorted(
            (one for one in changes if one.files and len(one.files) <= MOST_FILES),
            key=lambda one: (one.landed, one.at),
        )
        self._landed = [one.landed for one in self._changes]
        self._of_file: defaultdict[int, list[int]] = defaultdict(list)
        for number, one in enumerate(self._changes):
            for file in one.files:
                self._of_file[file].append(number)
        self._followed_by = [self._first_fix_after(number) for number in range(len(self._changes))]

    def of(self, files: Collection[int], *, until: int | None, now: float) -> PastOfFiles:
        """Return what is known of some files from commits that landed by `until` (all: None)."""
        end = len(self._changes) if until is None else bisect_right(self._landed, until)
        numbers = {
            file: self._of_file[file][: bisect_left(self._of_file[file], end)]
            for file in files
            if file in self._of_file
        }
        everything = sorted({number for found in numbers.values() for number in found})
        return PastOfFiles(
            churn=self._most_faded(numbers.values(), now, _CHURN_HALF_LIFE, fixes_only=False),
            fixes=self._most_faded(numbers.values(), now, _FIX_HALF_LIFE, fixes_only=True),
            commits=len(everything),
            mended=sum(self._changes[number].is_fix for number in everything),
            authors=len(self._authors(everything, now)),
            first_author_share=self._first_author_share(numbers),
            usual_rate=self._rate(end, now),
        )

    def _most_faded(
        self,
        found: Iterable[Sequence[int]],
        now: float,
        half_life: float,
        *,
        fixes_only: bool,
    ) -> float:
        return max(
            (
                sum(
                    0.5 ** (max(now - self._changes[number].at, 0.0) / half_life)
                    for number in numbers
                    if self._changes[number].is_fix or not fixes_only
                )
                for numbers in found
            ),
            default=0.0,
        )

    def _authors(self, numbers: Iterable[int], now: float) -> set[str]:
        since = now - _AUTHOR_YEARS * 365 * _DAY
        changes = (self._changes[number] for number in numbers)
        return {one.author for one in changes if one.at >= since}

    def _first_author_share(self, numbers: Mapping[int, Sequence[int]]) -> float:
        longest = max(numbers.values(), key=len, default=())
        counts: defaultdict[str, int] = defaultdict(int)
        for number in longest:
            counts[self._changes[number].author] += 1
        return max(counts.values(), default=0) / len(longest) if longest else 0.0

    def _rate(self, end: int, now: float) -> float:
        """Return the share of recent changes that a fix followed, as it was known then.

        Only of changes that are old enough to have been followed.
        """
        followed, total = 0.0, 0.0
        for number in self._old_enough(end, now):
            one, fix = self._changes[number], self._followed_by[number]
            total += 1
            if fix is not None and fix < end:
                followed += self._changes[fix].at - one.at <= FOLLOWED_DAYS * _DAY
        return (followed + _USUAL_RATE * _USUAL_WEIGHT) / (total + _USUAL_WEIGHT)

    def _old_enough(self, end: int, now: float) -> Iterator[int]:
        oldest, newest = now - _RATE_YEARS * 365 * _DAY, now - FOLLOWED_DAYS * _DAY
        for number in range(end - 1, -1, -1):
            at = self._changes[number].at
            if at < oldest:
                return
            if at <= newest:
                yield number

    def _first_fix_after(self, number: int) -> int | None:
        one = self._changes[number]
        latest = one.at + FOLLOWED_DAYS * _DAY
        found: int | None = None
        for file in one.files:
            numbers = self._of_file[file]
            for later in numbers[bisect_right(numbers, number) :]:
                fix = self._changes[later]
                if fix.at > latest or (found is not None and later >= found):
                    break
                if fix.is_fix and fix.landed > one.landed:
                    found = later
                    break
        return found
