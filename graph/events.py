"""What commits did to files and symbols, as frozen values. Pure."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from graph.values import NodeKind, symbol_id


class Happening(StrEnum):
    """What a commit did to a file or a symbol.

    MOVED: it stands in another place, or has another name, since then; LEFT is the other end of
    that, seen from where it stood before.
    """

    ADDED = "added"
    MODIFIED = "modified"
    REMOVED = "removed"
    MOVED = "moved"
    LEFT = "left"


class SymbolKey(NamedTuple):
    """The identity of a symbol in its repository."""

    path: str
    local_name: str
    kind: NodeKind
    ordinal: int

    @property
    def id(self) -> str:
        return symbol_id(path=self.path, local_name=self.local_name, ordinal=self.ordinal)


class SymbolEvent(NamedTuple):
    """One symbol that a commit touched.

    `other` is where a symbol that MOVED came from, or one that LEFT went to. `is_changed`: its text
    is not what it was, also beyond its name; `is_formatting`: only its white space.
    """

    happening: Happening
    symbol: SymbolKey
    language: str
    other: SymbolKey | None = None
    is_changed: bool = True
    is_formatting: bool = False


class FileEvent(NamedTuple):
    """One file that a commit touched; `other` as in SymbolEvent."""

    happening: Happening
    path: str
    other: str | None = None
    is_changed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitEvents:
    """Everything one commit did."""

    sha: str
    files: tuple[FileEvent, ...]
    symbols: tuple[SymbolEvent, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoricCommit:
    """A commit of the default branch: `position` on the main line, `landed` where it came to it."""

    sha: str
    parents: tuple[str, ...]
    author_name: str
    author_email: str
    authored_at: datetime
    committed_at: datetime
    subject: str
    body: str
    is_bot: bool
    position: int | None
    landed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedRequest:
    """A pull request, the commit that merged it, and all commits that are part of it."""

    number: int
    title: str
    branch: str
    merged_commit: str
    merged_at: datetime
    commits: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitView:
    """A commit as readers see it; `key` is its row's, `is_landed`: the default branch has it."""

    key: int
    repository_id: UUID
    sha: str
    author_name: str
    author_email: str
    committed_at: datetime
    subject: str
    is_bot: bool
    is_merge: bool
    is_landed: bool
    landed: int | None
    request_number: int | None
    request_title: str


class Touched(NamedTuple):
    """A file or symbol that a commit touched, by its text id; the rest as in SymbolEvent."""

    id: str
    happening: Happening
    other: str | None
    is_changed: bool
    is_formatting: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened to a file or symbol, under the text id that it had."""

    commit: CommitView
    touched: Touched


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifetime:
    """Since and until when a node is known to have been at its place, and its newest change.

    `valid_from` is None where history does not reach back that far (yet).
    """

    valid_from: CommitView | None
    valid_to: CommitView | None
    last_changed: CommitView | None
    changes: int
