"""What is known before a diff is looked at: the files of a commit, their words, and past commits.

The files and words are those of one commit of the mirror, and past commits those that had landed by
then: nothing later is seen. Words and history are kept in memory for the next review of the same
repository, and words also in a file beside the mirror, which a worker brings up to each push; where
this host has no mirror there are no words.
"""

import tempfile
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final, Self
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from graph.queries.history import newest_landed
from graph.queries.repositories import get_ref_state
from indexing import queries
from indexing.git import BlobMissing, BlobTooLarge, EntryKind, Mirror
from indexing.history.landed import landed_by, read_landed
from indexing.languages import is_test_path
from indexing.mirrors import find_mirror
from indexing.missing.names import Names
from indexing.missing.together import PastCommit, PastCommits
from indexing.missing.words import Tree, Unreadable, WordIndex
from indexing.parsing import skip_reason

_MOST_FILES: Final = 20_000
_LARGEST_FILE_BYTES: Final = 1_000_000
_KEPT_REPOSITORIES: Final = 8
_KEPT_TREES: Final = 4
# What is read for commits that nobody asks about any more goes with a fresh start.
_STALE_CONTENTS: Final = 4
_KEPT_WORDS: Final = "codemem-words.npz"


@dataclass(frozen=True, slots=True)
class Place:
    """The files of a commit, by path and name, their words, and which of them are tests."""

    tree: Tree
    names: Names
    is_test: NDArray[np.bool_]

    @classmethod
    def of(cls, tree: Tree) -> Self:
        is_test = np.array([is_test_path(path) for path in tree.paths], dtype=bool)
        return cls(tree, Names(tree.paths), is_test)


@dataclass(frozen=True, slots=True)
class History:
    """Past commits by the keys of files; keys by path and paths by key."""

    commits: PastCommits
    keys: Mapping[str, int]
    paths: Mapping[int, str]
    until: int | None


class TooManyFiles(Exception):
    """The repository has more files than are held in memory for a review."""


class Repository:
    """The contents of one repository that reviews have needed; guarded by its lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.index = WordIndex()
        self._places: OrderedDict[str, Place] = OrderedDict()

    def place(self, mirror: Mirror, commit: str) -> Place:
        """Return the files of a commit, reading what no earlier one had. Hold the lock.

        Raises GitError and TooManyFiles.
        """
        if commit in self._places:
            self._places.move_to_end(commit)
            return self._places[commit]
        files = _files(mirror, commit)
        if not len(self.index):
            self.index = _kept_words(mirror)
        if len(self.index) > _STALE_CONTENTS * max(len(files), 1_000):
            self.index = WordIndex()
            self._places.clear()
        unknown = self.index.unknown(blob for _, blob in files)
        for blob, content in mirror.blobs(unknown, max_bytes=_LARGEST_FILE_BYTES):
            if not isinstance(content, BlobMissing | BlobTooLarge) and b"\0" not in content[:8_000]:
                self.index.add(blob, content.decode("utf-8", "replace"))
            else:
                self.index.add(blob, "")
        place = Place.of(self.index.tree(files))
        self._places[commit] = place
        while len(self._places) > _KEPT_TREES:
            self._places.popitem(last=False)
        return place


def repository_of(repository_id: UUID) -> Repository:
    """Return what this process knows of a repository; forget those long not asked for."""
    with _LOCK:
        known = _REPOSITORIES.setdefault(repository_id, Repository())
        _REPOSITORIES.move_to_end(repository_id)
        while len(_REPOSITORIES) > _KEPT_REPOSITORIES:
            _REPOSITORIES.popitem(last=False)
        return known


def keep_words(*, repository_id: UUID) -> None:
    """Write the words of the indexed head beside the mirror, where a process's first review looks.

    Only what no earlier head had is read from Git. Two at once do no harm: each writes a whole
    file, and the last one stays. Nothing to do without a mirror, or with too many files. Raises
    GitError.
    """
    mirror = find_mirror(repository_id)
    commit = get_ref_state(repository_id=repository_id, ref=None).indexed_commit
    if mirror is None or commit is None:
        return
    known = Repository()
    try:
        known.place(mirror, commit)
    except TooManyFiles:
        return
    with tempfile.NamedTemporaryFile(dir=mirror.path, prefix=_KEPT_WORDS, delete=False) as file:
        try:
            known.index.keep(file)
        except BaseException:
            Path(file.name).unlink()
            raise
    Path(file.name).replace(mirror.path / _KEPT_WORDS)


def history_of(
    repository_id: UUID, *, mirror: Mirror | None, commit: str, indexed_commit: str
) -> History:
    """Return what had landed on the main line when a commit was made. Two queries once known.

    Of a commit that is not on the main line, what was there when it left it.
    """
    past = _past(repository_id, newest_landed(repository_id=repository_id))
    until = landed_by(repository_id, mirror, commit, indexed_commit)
    return replace(past, until=until)


def place_without_words(repository_id: UUID) -> Place:
    """Return the files that the graph shows, of which no content is at hand. One query."""
    paths = sorted(queries.paths_live(repository_id=repository_id))[:_MOST_FILES]
    index = WordIndex()
    return Place.of(index.tree([(path, "") for path in paths]))


def _kept_words(mirror: Mirror) -> WordIndex:
    try:
        with (mirror.path / _KEPT_WORDS).open("rb") as file:
            return WordIndex.kept(file)
    except (OSError, Unreadable):
        return WordIndex()


def _files(mirror: Mirror, commit: str) -> Sequence[tuple[str, str]]:
    found = [
        (entry.path, entry.blob)
        for entry in mirror.tree(commit)
        if entry.kind is EntryKind.FILE
        and entry.size is not None
        and skip_reason(entry.path, entry.size) is None
    ]
    if len(found) > _MOST_FILES:
        raise TooManyFiles
    return found


@lru_cache(maxsize=16)
def _past(repository_id: UUID, _newest: tuple[int, int]) -> History:
    past = read_landed(repository_id)
    commits = [
        PastCommit(
            change.landed,
            change.at.timestamp(),
            change.files,
            subject=change.message.partition("\n")[0],
        )
        for change in past.changes
        if change.files
    ]
    return History(
        PastCommits(commits),
        keys=past.keys,
        paths={key: path for path, key in past.keys.items()},
        until=None,
    )


_LOCK: Final = threading.Lock()
_REPOSITORIES: Final[OrderedDict[UUID, Repository]] = OrderedDict()
