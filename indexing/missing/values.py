"""What is asked and answered about missing changes, as frozen values."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

MOST_SUGGESTIONS: Final = 5
MOST_SYMBOLS: Final = 3
LEAST_PROBABILITY: Final = 0.3
"""What is less likely than this is not worth a line, where a namespace does not say otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFile:
    """A file that the diff changes: where it stood, or None for a new one, and where it stands.

    `words` counts the identifiers of its lines that are added or removed.
    """

    old_path: str | None
    path: str
    words: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a diff shows: its files, and how often each identifier is in which of its lines.

    `redefined` are names whose definitions are new, gone or have another signature. `dependents`
    counts, by path, the symbols outside the diff that use directly what it changes. `title` is what
    the author says of it; where nothing was said, nothing speaks from it.
    """

    files: Sequence[ShownFile]
    added: Mapping[str, int]
    removed: Mapping[str, int]
    context: Mapping[str, int]
    redefined: frozenset[str]
    dependents: Mapping[str, int]
    title: str = ""

    @property
    def changed(self) -> Mapping[str, int]:
        """How often each identifier is in lines that are added or removed."""
        return {
            word: self.added.get(word, 0) + self.removed.get(word, 0)
            for word in (*self.added, *(word for word in self.removed if word not in self.added))
        }

    @property
    def shared(self) -> Mapping[str, float]:
        """Which share of the files changes each identifier that several of them change."""
        holders = Counter(word for file in self.files for word in file.words)
        return {word: count / len(self.files) for word, count in holders.items() if count > 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class LikelySymbol:
    """A symbol of a suggested file, at its line in the indexed commit, and what speaks for it."""

    id: str
    name: str
    line: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingChange:
    """A file that the diff leaves as it is, and how likely such a change is to include it.

    `symbols` are where in it the change would be, the likeliest first; none where nothing says so.
    """

    path: str
    probability: float
    reason: str
    symbols: tuple[LikelySymbol, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """The likeliest files, and sentences about what could not be asked."""

    changes: tuple[MissingChange, ...]
    notes: tuple[str, ...] = ()
