"""What past commits changed together: files whose commits are like the change at hand.

A commit is like it for the files that both touch, and for a message that speaks of what the lines
change. Newer commits count more, large ones less, and a file that changes all the time says little
about the others. Pure; times are seconds.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from indexing.missing.documents import Documents, Scores
from indexing.missing.words import identifiers, parts

HALF_LIFE_DAYS: Final = 730.0
MOST_FILES_IN_A_COMMIT: Final = 50
"""A commit with more files (a reformatting, a move) says nothing about any of them."""

_LEAST_RARITY: Final = 0.1
# A commit that touches none of the shown files still says a little, if its message fits.
_STRANGER: Final = 0.1
_MESSAGE_LENGTH_WEIGHT: Final = 0.3
_SECONDS_PER_DAY: Final = 86_400


class PastCommit(NamedTuple):
    """One commit: when it landed on the main line, its time in seconds, its files' keys."""

    landed: int
    at: float
    files: tuple[int, ...]
    subject: str = ""


class Company(NamedTuple):
    """How often a file was changed, and in how many of those commits another one was."""

    together: int
    commits: int


class Likely(NamedTuple):
    """How much past commits speak for each file, by its key.

    `by_files`: commits that touch the files shown. `by_message`: those whose message also speaks of
    what is changed.
    """

    by_files: Mapping[int, float]
    by_message: Mapping[int, float]


class PastCommits:
    """The commits of a repository by the files that they changed."""

    def __init__(self, commits: Sequence[PastCommit]) -> None:
        self._landed = np.array([commit.landed for commit in commits], dtype=np.int64)
        self._at = np.array([commit.at for commit in commits], dtype=np.float64)
        self._sizes = np.array([len(commit.files) for commit in commits], dtype=np.int64)
        pairs = [(number, key) for number, one in enumerate(commits) for key in one.files]
        self._commit = np.array([number for number, _ in pairs], dtype=np.int64)
        keys, file = np.unique(np.array([key for _, key in pairs], np.int64), return_inverse=True)
        self._keys: NDArray[np.int64] = keys
        self._file: NDArray[np.int64] = file
        numbers: defaultdict[int, list[int]] = defaultdict(list)
        for number, key in pairs:
            numbers[key].append(number)
        self._of_file = {key: np.array(found, np.int64) for key, found in numbers.items()}
        self._messages = Documents(
            [
                parts(identifiers(one.subject)) if len(one.files) <= MOST_FILES_IN_A_COMMIT else {}
                for one in commits
            ],
            length_weight=_MESSAGE_LENGTH_WEIGHT,
        )

    def likely_with(
        self, files: Collection[int], *, about: Mapping[str, float], until: int | None
    ) -> Likely:
        """Return how much the commits that are like a change of these files speak for each file.

        `about` weighs the parts of identifiers in the changed lines. `until` is the position on
        the main line after which nothing is known yet.
        """
        known = self._known(until)
        if not known.any():
            return Likely({}, {})
        overlap = self._overlap(files, until)
        worth = self._worth(known)
        told = self._messages.scores(about, among=known)
        fit = told / highest if (highest := told.max(initial=0.0)) > 0 else told
        return Likely(
            by_files=self._spread(overlap**2 * worth),
            by_message=self._spread(fit**2 * (overlap + _STRANGER) ** 2 * worth),
        )

    def company(self, file: int, other: int, *, until: int | None) -> Company:
        """Return in how many of a file's commits another one was changed as well."""
        numbers = self._numbers(file, until)
        together = len(np.intersect1d(numbers, self._numbers(other, until)))
        return Company(together, len(numbers))

    def _overlap(self, files: Collection[int], until: int | None) -> Scores:
        """Return which share of the files each commit touches, the rarely changed counting more."""
        shares = np.zeros(len(self._at))
        whole = 0.0
        for file in files:
            numbers = self._numbers(file, until)
            rarity = max(_LEAST_RARITY, math.log((len(self._at) + 1) / (len(numbers) + 1)))
            shares[numbers] += rarity
            whole += rarity
        return shares / whole if whole else shares

    def _worth(self, known: NDArray[np.bool_]) -> Scores:
        """Return what each commit has to say for any one of its files, by its size and age."""
        age = np.maximum(0.0, self._at[known].max() - self._at) / _SECONDS_PER_DAY
        counts = known & (self._sizes <= MOST_FILES_IN_A_COMMIT)
        worth: Scores = counts * 0.5 ** (age / HALF_LIFE_DAYS) / np.maximum(self._sizes, 1)
        return worth

    def _spread(self, weights: Scores) -> dict[int, float]:
        sums = np.bincount(self._file, weights=weights[self._commit], minlength=len(self._keys))
        found = np.nonzero(sums)[0]
        return dict(zip(self._keys[found].tolist(), sums[found].tolist(), strict=True))

    def _numbers(self, file: int, until: int | None) -> NDArray[np.int64]:
        numbers = self._of_file.get(file, np.zeros(0, dtype=np.int64))
        return numbers[self._known(until)[numbers]]

    def _known(self, until: int | None) -> NDArray[np.bool_]:
        if until is None:
            return np.ones(len(self._landed), dtype=bool)
        return self._landed <= until
