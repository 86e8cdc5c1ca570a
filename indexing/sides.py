"""The two sides of a diff: what each changed file said before and after, as facts.

The old side is the diff's own base where this server knows it, or else the commit that the graph
shows; a sentence says which, and what could not be had. The new side is the old one with the hunks
applied. Nothing is taken from content that the repository itself never had: a blob id in a diff is
a claim of whoever sent it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from indexing.contents import Key, Unread, blob_id, each_of
from indexing.diffs import ChangeStatus, FileDiff
from indexing.facts import BlobFacts
from indexing.git import BlobContent, BlobMissing, EntryKind, GitError, Mirror
from indexing.languages import Language, language_of
from indexing.parsing import skip_reason
from indexing.queries import RecordedFile

_NAMED_IN_A_NOTE = 5
_SHORTEST_SHA = 7
_FULL_SHAS = frozenset({40, 64})
# A web process holds both sides of a review at once; the files beyond are judged by their lines.
_MOST_CONTENT_BYTES = 64 << 20

_MISFIT = "The diff does not fit the content it is said to change, so its lines alone were used for"
_UNKNOWN = "The content before the change is not known here, so no symbols were compared in"
_OLD_SIDE_ONLY = (
    "This server has no copy of the content at hand, so changed lines were mapped on what the"
    " graph knows of"
)
_OTHER_CONTENT = "The graph never saw the content that the diff names, so another was used for"
_UNREAD = "Not read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one review may cost: bytes of the diff and of a file, files, parsing processes."""

    diff_bytes: int
    file_bytes: int
    processes: int
    files: int = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """The commit that a diff starts from, as far as this server knows it.

    `asked` is what the caller said; `commit` the full sha, None when nothing was said or it is not
    in the mirror. `behind` and `ahead` count commits against the indexed commit.
    """

    asked: str | None
    commit: str | None
    behind: int | None = None
    ahead: int | None = None

    @property
    def is_indexed(self) -> bool:
        """Tell whether the graph shows exactly this commit."""
        return self.behind == 0 and self.ahead == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSides:
    """The facts of one file before and after; None where a side is not there or was not seen.

    `contents` are what both are of, None likewise.
    """

    diff: FileDiff
    language: Language
    old: BlobFacts | None
    new: BlobFacts | None
    contents: tuple[bytes | None, bytes | None] = (None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """The sides of the files in known languages, and sentences about what was not seen."""

    files: Mapping[int, FileSides]
    notes: tuple[str, ...]


def find_base(mirror: Mirror | None, *, asked: str | None, indexed_commit: str) -> Base:
    """Return what this server knows of a base, named as a branch, tag or commit."""
    asked = asked.strip() if asked else None
    if asked and len(asked) >= _SHORTEST_SHA and indexed_commit.startswith(asked.lower()):
        return Base(asked=asked, commit=indexed_commit, behind=0, ahead=0)
    if mirror is None or not asked:
        return Base(asked=asked, commit=None)
    try:
        commit = mirror.resolve(asked)
        return Base(
            asked=asked,
            commit=commit,
            behind=mirror.count_commits(commit, indexed_commit),
            ahead=mirror.count_commits(indexed_commit, commit),
        )
    except GitError:
        return Base(asked=asked, commit=None)


def read_sides(
    files: Mapping[int, FileDiff],
    *,
    mirror: Mirror | None,
    base: Base,
    recorded: Mapping[str, Sequence[RecordedFile]],
    limits: Limits,
) -> Sides:
    """Return both sides of the files in known languages, under the same keys.

    `recorded` is what `indexing.queries.recorded_files` knows of their old paths. Content that
    nobody has parsed yet is parsed in children and remembered.
    """
    reading = _Reading(files, mirror=mirror, base=base, recorded=recorded, limits=limits)
    reading.choose_blobs()
    reading.load_old_contents()
    reading.apply_hunks()
    return reading.sides()


@dataclass(slots=True)
class _File:
    """One file on its way to two sides.

    `choices` are blobs that may be the old side, the likeliest first. `claim` is one among them
    that only the diff vouches for: it counts if the repository's own mirror has it, never because
    the cache knows facts of it, which other repositories share.
    """

    diff: FileDiff
    language: Language
    choices: list[str]
    claim: str | None = None
    old_content: bytes | None = None
    new_content: bytes | None = None


class _Version(NamedTuple):
    """One side of a file: its path, its blob, and the content if it is at hand."""

    path: str
    blob: str
    content: bytes | None

    @property
    def key(self) -> Key | None:
        language = language_of(self.path)
        if language is None or skip_reason(self.path, 0) is not None:
            return None
        return Key(self.blob, language.name)


class _Reading:
    def __init__(
        self,
        files: Mapping[int, FileDiff],
        *,
        mirror: Mirror | None,
        base: Base,
        recorded: Mapping[str, Sequence[RecordedFile]],
        limits: Limits,
    ) -> None:
        self.mirror = mirror
        self.base = base
        self.recorded = recorded
        self.limits = limits
        self.notes: dict[str, list[str]] = {}
        self.files = {
            place: _File(diff, language, choices=[])
            for place, diff in files.items()
            if not (diff.is_binary or diff.is_submodule)
            and (language := language_of(diff.path)) is not None
        }

    def choose_blobs(self) -> None:
        base_blobs = self._base_blobs()
        for file in self.files.values():
            path = file.diff.old_path
            if path is not None:
                self._choose(file, base_blobs.get(path), self.recorded.get(path, ()))

    def load_old_contents(self) -> None:
        """Read the old contents that the mirror has; without it, facts have to be enough."""
        room = _MOST_CONTENT_BYTES
        waiting = [file for file in self.files.values() if file.choices]
        while waiting and self.mirror is not None:
            contents = self._read([file.choices[0] for file in waiting])
            for file in waiting:
                content = contents.get(file.choices[0])
                if isinstance(content, bytes) and len(content) <= room:
                    file.old_content = content
                    room -= len(content)
            waiting = [f for f in waiting if f.old_content is None and len(f.choices) > 1]
            for file in waiting:
                file.choices.pop(0)
        for file in self.files.values():
            if file.old_content is None and file.claim in file.choices:
                file.choices.clear()

    def apply_hunks(self) -> None:
        for file in self.files.values():
            diff = file.diff
            if diff.new_path is None:
                continue
            old = b"" if diff.status is ChangeStatus.ADDED else file.old_content
            if old is not None:
                file.new_content = diff.applied_to(old)
                if file.new_content is None:
                    self._note(_MISFIT, diff.path)
            elif not file.choices:
                self._note(_UNKNOWN, diff.path)
            else:
                self._note(_OLD_SIDE_ONLY, diff.path)

    def sides(self) -> Sides:
        old, new = self._facts(self._old_sides(), self._new_sides())
        return Sides(
            files={
                place: FileSides(
                    diff=file.diff,
                    language=file.language,
                    old=old.get(place),
                    new=new.get(place),
                    contents=(file.old_content, file.new_content),
                )
                for place, file in self.files.items()
            },
            notes=tuple(_sentence(note, paths) for note, paths in self.notes.items()),
        )

    # --- The old side --------------------------------------------------------------------------

    def _base_blobs(self) -> dict[str, str]:
        """Return the blobs of the base commit at the old paths; none where the graph shows it."""
        commit = self.base.commit
        if self.mirror is None or commit is None or self.base.is_indexed:
            return {}
        wanted = {file.diff.old_path for file in self.files.values()}
        try:
            return {
                entry.path: entry.blob
                for entry in self.mirror.tree(commit)
                if entry.path in wanted and entry.kind is EntryKind.FILE
            }
        except GitError:
            return {}

    def _choose(self, file: _File, base_blob: str | None, recorded: Sequence[RecordedFile]) -> None:
        """Find the blobs that may be the old content.

        What the diff itself names comes first if it is one that the repository had at this path,
        or in its mirror. Otherwise the base commit's counts, or what the graph shows.
        """
        usual = [base_blob] if base_blob else [row.blob for row in recorded if row.is_live]
        hint = file.diff.old_blob
        if hint is None:
            file.choices = usual
            return
        known = [*usual, *(row.blob for row in recorded)]
        named = [blob for blob in known if blob.startswith(hint)][:1]
        if not named and self.mirror is not None and len(hint) in _FULL_SHAS:
            named, file.claim = [hint], hint
        if not named and usual:
            self._note(_OTHER_CONTENT, file.diff.path)
        file.choices = [*named, *usual]

    def _read(self, blobs: Iterable[str]) -> dict[str, BlobContent]:
        assert self.mirror is not None
        try:
            return dict(self.mirror.blobs(set(blobs), max_bytes=self.limits.file_bytes))
        except GitError:
            return {}

    def _old_sides(self) -> "dict[int, _Version]":
        return {
            place: _Version(file.diff.old_path, file.choices[0], file.old_content)
            for place, file in self.files.items()
            if file.diff.old_path is not None and file.choices
        }

    # --- The new side --------------------------------------------------------------------------

    def _new_sides(self) -> "dict[int, _Version]":
        return {
            place: _Version(file.diff.new_path, blob_id(file.new_content), file.new_content)
            for place, file in self.files.items()
            if file.diff.new_path is not None and file.new_content is not None
        }

    # --- Facts and notes -----------------------------------------------------------------------

    def _facts(
        self, *sides: "Mapping[int, _Version]"
    ) -> "tuple[dict[int, BlobFacts], dict[int, BlobFacts]]":
        """Return facts by place. Content that is neither cached nor at hand has none.

        Both sides at once: whatever must be parsed is, in one child.
        """
        versions = [version for side in sides for version in side.values()]
        bodies = {one.blob: one.content for one in versions if one.content is not None}

        def read(blobs: Iterable[str]) -> Iterator[tuple[str, BlobContent]]:
            for blob in blobs:
                yield blob, bodies.get(blob, BlobMissing())

        known = dict(
            each_of(
                [key for one in versions if (key := one.key) is not None],
                read=read,
                processes=self.limits.processes,
                unpack=BlobFacts.from_bytes,
            )
        )
        old, new = (
            {
                place: facts
                for place, version in side.items()
                if (facts := self._seen(version, known)) is not None
            }
            for side in sides
        )
        return old, new

    def _seen(
        self, version: "_Version", known: "Mapping[Key, BlobFacts | Unread]"
    ) -> BlobFacts | None:
        reason = skip_reason(version.path, 0)
        key = version.key
        facts = known.get(key) if key is not None and reason is None else None
        if reason is not None or isinstance(facts, Unread):
            why = facts.reason if isinstance(facts, Unread) else reason
            self._note(f"{_UNREAD} ({why})", version.path)
            return None
        return facts

    def _note(self, note: str, path: str) -> None:
        paths = self.notes.setdefault(note, [])
        if path not in paths:
            paths.append(path)


def _sentence(note: str, paths: Sequence[str]) -> str:
    shown = ", ".join(ascii(path)[1:-1] for path in paths[:_NAMED_IN_A_NOTE])
    more = len(paths) - _NAMED_IN_A_NOTE
    return f"{note}: {shown}{f' and {more:,} more' if more > 0 else ''}."
