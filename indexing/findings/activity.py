"""What recent history says of files: how often they change, by whom, which together.

Computes from changes of files; where these come from is `history_of_files`' business.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from graph.values import file_id
from indexing.findings.values import Change, Measured

MOST_FILES_IN_A_COMMIT: Final = 50
"""A commit with more files (a reformatting, a move) says nothing about any pair of them."""

LEAST_SUPPORT: Final = 4
LEAST_CONFIDENCE: Final = 0.3
LEAST_LIFT: Final = 2.0
_MOST_PARTNERS: Final = 20


@dataclass(frozen=True, slots=True)
class CoChange:
    """Two files that change together, seen from the first: `confidence` that the second follows.

    `support` counts the commits with both; `lift` is how many times more often than by chance.
    """

    path: str
    other: str
    support: int
    confidence: float
    lift: float


def measure_activity(changes: Sequence[Change]) -> Iterator[Measured]:
    """Yield commits, churned lines and authors of each file in the window."""
    commits: Counter[str] = Counter()
    churn: Counter[str] = Counter()
    authors: defaultdict[str, set[str]] = defaultdict(set)
    for change in changes:
        commits[change.path] += 1
        churn[change.path] += change.lines_added + change.lines_removed
        authors[change.path].add(change.author)
    for path in commits:
        yield Measured(file_id(path), "recent_commits", commits[path])
        yield Measured(file_id(path), "recent_churn", churn[path])
        yield Measured(file_id(path), "recent_authors", len(authors[path]))


def co_changes(changes: Sequence[Change]) -> list[CoChange]:
    """Return the pairs that change together more often than chance, in both directions.

    At most 20 partners a file, those with the highest lift-weighted support first.
    """
    files_of: defaultdict[str, set[str]] = defaultdict(set)
    for change in changes:
        if change.files_in_commit <= MOST_FILES_IN_A_COMMIT:
            files_of[change.commit].add(change.path)
    together: Counter[tuple[str, str]] = Counter()
    alone: Counter[str] = Counter()
    for files in files_of.values():
        alone.update(files)
        together.update(combinations(sorted(files), 2))
    partners: defaultdict[str, list[CoChange]] = defaultdict(list)
    for (one, other), support in together.items():
        if support < LEAST_SUPPORT:
            continue
        lift = support * len(files_of) / (alone[one] * alone[other])
        if lift < LEAST_LIFT:
            continue
        for path, follower in ((one, other), (other, one)):
            confidence = support / alone[path]
            if confidence >= LEAST_CONFIDENCE:
                partners[path].append(
                    CoChange(path, follower, support, round(confidence, 3), round(lift, 2))
                )
    return [
        pair
        for found in partners.values()
        for pair in sorted(found, key=lambda pair: (-pair.support * pair.confidence, pair.other))[
            :_MOST_PARTNERS
        ]
    ]
