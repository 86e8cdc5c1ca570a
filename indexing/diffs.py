"""What a diff says: files, hunks and changed lines, read from unified and Git diffs.

Pure text in, frozen values out. Hunks are read by the counts in their headers, never by the look
of a line, so a removed SQL comment (`--- x`) is not a file header. Knows nothing of symbols: which
of them a change touches is asked with the line numbers kept here.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

_MAX_PROBLEMS = 100  # a hostile diff must not turn into a report of its own size
_MAX_SHOWN_CHARACTERS = 200
_DEV_NULL = "/dev/null"
_SUBMODULE_MODE = "160000"


class DiffTooLarge(ValueError):
    """The diff is larger than the caller is willing to read."""


class NotADiff(ValueError):
    """The text has no file header of a diff at all."""


class ChangeStatus(StrEnum):
    """What happened to one file."""

    ADDED = "added"
    DELETED = "deleted"
    MODIFIED = "modified"
    RENAMED = "renamed"
    COPIED = "copied"
    MODE_CHANGED = "mode-changed"


class LineRange(NamedTuple):
    """Consecutive lines, 1-based, both ends included."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Hunk:
    """One hunk: its ranges as written in its header, and its changed lines.

    A start with a count of 0 names the line before the change, as in every unified diff.
    `insertions` are the old lines (0 for the top) after which lines were added and none removed;
    `deletions` the new lines after which lines were removed and none added. `context` are the lines
    that both sides have, with their old numbers.
    """

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    removed: tuple[tuple[int, str], ...]
    added: tuple[tuple[int, str], ...]
    insertions: tuple[int, ...] = ()
    deletions: tuple[int, ...] = ()
    context: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class FileDiff:
    """What a diff says about one file. An added file has no old path, a deleted one no new path.

    `old_blob` is the id of the old content as a Git diff names it, often abbreviated: a hint.
    """

    old_path: str | None
    new_path: str | None
    status: ChangeStatus
    is_binary: bool = False
    is_submodule: bool = False
    hunks: tuple[Hunk, ...] = ()
    old_blob: str | None = None

    @property
    def path(self) -> str:
        """The path to show: where the file is now, or where it was if it is gone."""
        path = self.new_path if self.new_path is not None else self.old_path
        assert path is not None
        return path

    @property
    def has_old_side(self) -> bool:
        """Tell whether a file is changed that was there; a copy leaves its source as it was."""
        return self.status not in {ChangeStatus.ADDED, ChangeStatus.COPIED}

    @property
    def old_lines(self) -> tuple[LineRange, ...]:
        """The removed lines of the old file, ascending, neighbors merged."""
        return _merged(number for hunk in self.hunks for number, _ in hunk.removed)

    @property
    def new_lines(self) -> tuple[LineRange, ...]:
        """The added lines of the new file, ascending, neighbors merged."""
        return _merged(number for hunk in self.hunks for number, _ in hunk.added)

    def touches_old(self, first: int, last: int) -> bool:
        """Say whether the change falls within these lines of the old file.

        A pure insertion counts where it lands between two of the lines, not beside them.
        """
        gaps = (gap for hunk in self.hunks for gap in hunk.insertions)
        return _touches(self.old_lines, gaps, first=first, last=last)

    def touches_new(self, first: int, last: int) -> bool:
        """Say whether the change falls within these lines of the new file."""
        gaps = (gap for hunk in self.hunks for gap in hunk.deletions)
        return _touches(self.new_lines, gaps, first=first, last=last)

    def applied_to(self, old: bytes) -> bytes | None:
        """Return the new content of the file, None if `old` is not what the diff was made from.

        Every removed line and every line of context must stand where the diff says, but for
        carriage returns, which mail and editors change. Whether the last line ends is not kept.
        """
        old_lines = old.split(b"\n")
        new_lines: list[bytes] = []
        position = 0
        for hunk in self.hunks:
            first = hunk.old_start - 1 if hunk.old_count else hunk.old_start
            if first < position or not _fits(hunk, old_lines):
                return None
            new_lines += old_lines[position:first]
            new_lines += _new_side(hunk, old_lines)
            position = first + hunk.old_count
        return b"\n".join(new_lines + old_lines[position:])


@dataclass(frozen=True, slots=True)
class Diff:
    """The files of a diff in its order, and sentences about what could not be read."""

    files: tuple[FileDiff, ...]
    problems: tuple[str, ...] = ()


def parse(diff: bytes | str, *, max_bytes: int) -> Diff:
    """Read a unified or Git diff.

    Text around the files (mail, commit messages) is passed over. A file whose path leads outside
    the repository is dropped, a hunk that ends early keeps what was readable; both leave a
    problem. Bytes that are not UTF-8 become backslash escapes, as in the paths read from trees.

    Raises DiffTooLarge above `max_bytes`, and NotADiff for text without any file header. Blank
    text is an empty diff.
    """
    text = _decoded(diff, max_bytes=max_bytes)
    if not text.strip():
        return Diff(files=())
    reading = _Reading(lines=_Lines(text))
    _read_sections(reading)
    if not reading.has_header:
        raise NotADiff("The text has no file header of a diff (`diff --git` or `---` and `+++`).")
    return Diff(files=tuple(reading.files), problems=tuple(reading.problems))


def _decoded(diff: bytes | str, *, max_bytes: int) -> str:
    raw = diff.encode("utf-8", "surrogatepass") if isinstance(diff, str) else diff
    if len(raw) > max_bytes:
        raise DiffTooLarge(f"The diff has {len(raw)} bytes; at most {max_bytes} are read.")
    return diff if isinstance(diff, str) else raw.decode("utf-8", "backslashreplace")


def _merged(numbers: Iterable[int]) -> tuple[LineRange, ...]:
    ranges: list[LineRange] = []
    for number in sorted(set(numbers)):
        if ranges and number == ranges[-1].last + 1:
            ranges[-1] = LineRange(ranges[-1].first, number)
        else:
            ranges.append(LineRange(number, number))
    return tuple(ranges)


def _touches(changed: Iterable[LineRange], gaps: Iterable[int], *, first: int, last: int) -> bool:
    return any(lines.first <= last and lines.last >= first for lines in changed) or any(
        first <= gap < last for gap in gaps
    )


def _fits(hunk: Hunk, old_lines: Sequence[bytes]) -> bool:
    kept = len(hunk.context)
    is_whole = (hunk.old_count, hunk.new_count) == (
        kept + len(hunk.removed),
        kept + len(hunk.added),
    )
    return is_whole and all(
        number <= len(old_lines) and _is_same_line(old_lines[number - 1], text)
        for number, text in (*hunk.removed, *hunk.context)
    )


def _is_same_line(line: bytes, text: str) -> bool:
    expected = text.removesuffix("\r")
    # Whoever sent the diff may have decoded bytes that are not UTF-8 in the other usual way.
    return any(
        line.removesuffix(b"\r").decode("utf-8", errors) == expected
        for errors in ("backslashreplace", "replace")
    )


def _new_side(hunk: Hunk, old_lines: Sequence[bytes]) -> Iterator[bytes]:
    kept = iter(number for number, _ in hunk.context)
    added = dict(hunk.added)
    first = hunk.new_start if hunk.new_count else hunk.new_start + 1
    for number in range(first, first + hunk.new_count):
        if number in added:
            yield added[number].encode("utf-8", "replace")
        else:
            yield old_lines[next(kept) - 1]


# --- Sections: one per file --------------------------------------------------------------------


class _Lines:
    """The lines of a diff with a position.

    Split at newlines only: form feeds, lone carriage returns and Unicode separators are content.
    """

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        if self._lines[-1] == "":
            self._lines.pop()
        self._position = 0
        self.has_cr_ends = False

    @property
    def is_at_end(self) -> bool:
        return self._position >= len(self._lines)

    def peek(self, ahead: int = 0) -> str:
        """Return a line without taking it; the empty string past the end."""
        position = self._position + ahead
        if position >= len(self._lines):
            return ""
        line = self._lines[position]
        return line.removesuffix("\r") if self.has_cr_ends else line

    def peek_header(self) -> str:
        """Return the next line as a header would read, before it is known how lines end."""
        line = self._lines[self._position] if not self.is_at_end else ""
        return line.removesuffix("\r")

    def take(self) -> str:
        line = self.peek()
        self._position += 1
        return line

    def remaining(self) -> int:
        return len(self._lines) - self._position

    def learn_line_ends(self) -> None:
        """Decide from a file header, the only lines sure to be the diff's own, how lines end.

        A diff of a CRLF file has carriage returns in its content but none in its headers; a diff
        that was itself saved with CRLF has them in both, and there they are not content.
        """
        self.has_cr_ends = self._lines[self._position].endswith("\r")


@dataclass(slots=True)
class _Reading:
    lines: _Lines
    files: list[FileDiff] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    has_header: bool = False

    def report(self, problem: str) -> None:
        if len(self.problems) < _MAX_PROBLEMS:
            self.problems.append(problem)
        elif len(self.problems) == _MAX_PROBLEMS:
            self.problems.append("There are more problems than are listed here.")


def _read_sections(reading: _Reading) -> None:
    lines = reading.lines
    while not lines.is_at_end:
        if not _is_section_start(lines):
            lines.take()
            continue
        reading.has_header = True
        lines.learn_line_ends()
        line = lines.peek()
        if line.startswith("diff --git "):
            _read_git_section(reading)
        elif _COMBINED_HEADER.match(line):
            _skip_combined(reading)
        elif line.startswith("--- "):
            _read_plain_section(reading)
        elif match := _BINARY_FILES.fullmatch(line):
            lines.take()
            old, new = _plain_paths(match["old"], match["new"])
            _add_file(reading, _Section(old_path=old, new_path=new, is_binary=True))
        else:
            _read_submodule_log(reading)


_COMBINED_HEADER = re.compile(r"diff --(?:cc|combined) ")
_BINARY_FILES = re.compile(r"Binary files (?P<old>.+) and (?P<new>.+) differ")
# diff.submodule = log writes a sentence and the commits in place of a diff.
_SUBMODULE_LOG = re.compile(
    r"Submodule (?P<path>.+) (?P<old>[0-9a-f]{7,64})\.{2,3}(?P<new>[0-9a-f]{7,64})"
    r"(?: \((?P<note>[^()]*)\)|:| \(rewind\):)"
)


def _is_section_start(lines: _Lines) -> bool:
    line = lines.peek_header()
    if line.startswith("diff --"):
        return line.startswith("diff --git ") or _COMBINED_HEADER.match(line) is not None
    if line.startswith("--- "):
        return _is_plain_start(lines)
    if line.startswith("Binary files "):
        return _BINARY_FILES.fullmatch(line) is not None
    return line.startswith("Submodule ") and _SUBMODULE_LOG.fullmatch(line) is not None


def _is_plain_start(lines: _Lines) -> bool:
    """Tell a header from a line of prose or a mail's `---` by the two lines below it."""
    if not lines.peek(1).startswith("+++ "):
        return False
    return lines.peek(2).startswith("@@ -") or lines.remaining() == len(("---", "+++"))


@dataclass(slots=True)
class _Section:
    """What is known so far about one file."""

    old_path: str | None = None
    new_path: str | None = None
    status: ChangeStatus | None = None
    is_binary: bool = False
    is_submodule: bool = False
    hunks: list[Hunk] = field(default_factory=list)
    old_blob: str | None = None


def _add_file(reading: _Reading, section: _Section) -> None:
    paths = [path for path in (section.old_path, section.new_path) if path is not None]
    if not paths:
        reading.report("A file without a readable path is left out.")
        return
    for path in paths:
        if _leads_outside(path):
            reading.report(f"A path outside the repository is left out: {_shown(path)}.")
            return
    reading.files.append(
        FileDiff(
            old_path=section.old_path,
            new_path=section.new_path,
            status=section.status or _status_by_paths(section),
            is_binary=section.is_binary,
            is_submodule=section.is_submodule,
            hunks=tuple(section.hunks),
            old_blob=section.old_blob,
        )
    )


def _status_by_paths(section: _Section) -> ChangeStatus:
    if section.old_path is None:
        return ChangeStatus.ADDED
    if section.new_path is None:
        return ChangeStatus.DELETED
    return ChangeStatus.MODIFIED


# --- Git sections ------------------------------------------------------------------------------


def _read_git_section(reading: _Reading) -> None:
    lines = reading.lines
    header = lines.take().removeprefix("diff --git ")
    headers = _git_headers(lines)
    section = _section_from_headers(header, headers)
    _read_contents(reading, section, is_expected=_has_contents(section, headers))
    if section.status is None and _is_only_mode_change(section, headers):
        section.status = ChangeStatus.MODE_CHANGED
    _add_file(reading, section)


_COMBINED_LINE = re.compile(r"[ +\\@-]|index |mode |new file |deleted file |Binary files ")


def _skip_combined(reading: _Reading) -> None:
    lines = reading.lines
    reading.report(f"The combined diff of a merge is not read: {_shown(lines.take())}.")
    while _COMBINED_LINE.match(lines.peek()):
        lines.take()


_GIT_HEADER = re.compile(
    r"(?P<name>old mode|new mode|deleted file mode|new file mode|copy from|copy to|rename from"
    r"|rename to|rename old|rename new|similarity index|dissimilarity index|index|---|\+\+\+)"
    r" (?P<value>.*)"
)


def _git_headers(lines: _Lines) -> dict[str, str]:
    headers: dict[str, str] = {}
    while match := _GIT_HEADER.fullmatch(lines.peek()):
        if match["name"] in headers:
            break  # `--- a/x` again: the next file of a diff without Git headers
        headers[match["name"]] = match["value"]
        lines.take()
    return headers


def _section_from_headers(header: str, headers: dict[str, str]) -> _Section:
    old, new = _paths_by_both_names(header, headers)
    section = _Section(old_path=old, new_path=new)
    if "new file mode" in headers or _is_dev_null(headers.get("---")):
        section.status, section.old_path = ChangeStatus.ADDED, None
    elif "deleted file mode" in headers or _is_dev_null(headers.get("+++")):
        section.status, section.new_path = ChangeStatus.DELETED, None
    elif "copy from" in headers:
        section.status = ChangeStatus.COPIED
    elif "rename from" in headers or "rename old" in headers:
        section.status = ChangeStatus.RENAMED
    modes = (headers.get(name, "") for name in ("new file mode", "deleted file mode", "index"))
    section.is_submodule = any(value.endswith(_SUBMODULE_MODE) for value in modes)
    section.old_blob = _old_blob(headers.get("index", ""))
    return section


_BLOBS = re.compile(r"(?P<old>[0-9a-f]{7,64})\.\.[0-9a-f]{7,64}(?: [0-7]{6})?")


def _old_blob(value: str) -> str | None:
    match = _BLOBS.fullmatch(value)
    # Zeros stand for no content.
    return match["old"] if match and match["old"].strip("0") else None


def _paths_by_both_names(header: str, headers: dict[str, str]) -> tuple[str | None, str | None]:
    """Return the old and the new path, from the header that says them most plainly.

    Renames and copies are written without prefix. Otherwise `---` and `+++` name each side, but a
    side that is /dev/null tells nothing about prefixes; there, and where the content is not
    shown, only the `diff --git` line has both names.
    """
    for old, new in (
        ("rename from", "rename to"),
        ("rename old", "rename new"),
        ("copy from", "copy to"),
    ):
        if old in headers and new in headers:
            return _unquoted(headers[old]), _unquoted(headers[new])
    old_name, new_name = headers.get("---"), headers.get("+++")
    is_in_both = not (_is_dev_null(old_name) or _is_dev_null(new_name))
    if old_name is not None and new_name is not None and is_in_both:
        return _without_prefixes(_header_path(old_name), _header_path(new_name))
    names = _two_names(header)
    if names is not None and _DEV_NULL not in names:
        return _without_prefixes(*names)
    return _path_of_one_side(old_name), _path_of_one_side(new_name)


def _path_of_one_side(name: str | None) -> str | None:
    """Return the path where the other side is no help to tell whether there is a prefix."""
    if name is None or _is_dev_null(name):
        return None
    return _without_usual_prefix(_plain(_header_path(name)))


def _has_contents(section: _Section, headers: dict[str, str]) -> bool:
    """Say whether hunks must follow: an empty file that comes or goes has none."""
    is_whole_file = section.status in {ChangeStatus.ADDED, ChangeStatus.DELETED}
    return "---" in headers or ("index" in headers and not is_whole_file)


def _is_only_mode_change(section: _Section, headers: dict[str, str]) -> bool:
    return "new mode" in headers and not section.hunks and not section.is_binary


def _read_contents(reading: _Reading, section: _Section, *, is_expected: bool) -> None:
    lines = reading.lines
    line = lines.peek()
    if line == "GIT binary patch":
        section.is_binary = True
        _skip_binary_patch(reading, section)
    elif _BINARY_FILES.fullmatch(line):
        section.is_binary = True
        lines.take()
    elif line.startswith("@@"):
        _read_hunks(reading, section)
    elif is_expected:
        reading.report(f"The diff ends before the first hunk of {_section_name(section)}.")


_BINARY_BLOCK = re.compile(r"(?:literal|delta) [0-9]+")
# Base 85 as Git writes it: a letter for the length, then groups of five. It has neither blanks
# nor slashes, so no header line can look like it.
_BINARY_LINE = re.compile(r"[A-Za-z](?:[0-9A-Za-z!#$%&()*+;<=>?@^_`{|}~-]{5})+")


def _skip_binary_patch(reading: _Reading, section: _Section) -> None:
    lines = reading.lines
    lines.take()
    while _BINARY_BLOCK.fullmatch(lines.peek()):
        lines.take()
        while _BINARY_LINE.fullmatch(lines.peek()):
            lines.take()
        if lines.is_at_end or lines.peek() != "":
            reading.report(f"The binary patch of {_section_name(section)} ends early.")
            return
        lines.take()


# --- Plain sections ----------------------------------------------------------------------------

# diff -N writes the file that is not there with the time 0, in the local time zone.
_EPOCH = re.compile(r"(?:1970-01-01|1969-12-31) |(?:Thu Jan  ?0?1|Wed Dec 31) .*\b(?:1970|1969)\b")


def _read_plain_section(reading: _Reading) -> None:
    lines = reading.lines
    old_name, old_time = _name_and_time(lines.take())
    new_name, new_time = _name_and_time(lines.take())
    old, new = _plain_paths(old_name, new_name)
    section = _Section(old_path=old, new_path=new)
    _read_contents(reading, section, is_expected=True)
    if _EPOCH.match(old_time) and _is_whole(section, is_old_empty=True):
        section.old_path = None
    elif _EPOCH.match(new_time) and _is_whole(section, is_old_empty=False):
        section.new_path = None
    _add_file(reading, section)


def _name_and_time(header: str) -> tuple[str, str]:
    name, _, time = header[len("--- ") :].partition("\t")
    return name, time


def _is_whole(section: _Section, *, is_old_empty: bool) -> bool:
    sides = [
        (hunk.old_start, hunk.old_count) if is_old_empty else (hunk.new_start, hunk.new_count)
        for hunk in section.hunks
    ]
    return sides == [(0, 0)]


def _plain_paths(old_name: str, new_name: str) -> tuple[str | None, str | None]:
    """Return the paths of a plain diff, which knows no renames.

    Names that differ in more than their first part (`x.orig` and `x`) are one file as well, the
    one with the new name.
    """
    if _is_dev_null(old_name) or _is_dev_null(new_name):
        return _path_of_one_side(old_name), _path_of_one_side(new_name)
    old, new = _without_prefixes(_plain(_unquoted(old_name)), _plain(_unquoted(new_name)))
    if old == new:
        return old, new
    path = _without_usual_prefix(new)
    return path, path


def _plain(path: str) -> str:
    return path.removeprefix("./")


# --- Submodule sentences -----------------------------------------------------------------------


def _read_submodule_log(reading: _Reading) -> None:
    match = _SUBMODULE_LOG.fullmatch(reading.lines.take())
    assert match is not None
    path = match["path"]
    section = _Section(old_path=path, new_path=path, is_submodule=True)
    if match["note"] == "new submodule":
        section.old_path = None
    elif match["note"] == "submodule deleted":
        section.new_path = None
    _add_file(reading, section)


# --- Hunks -------------------------------------------------------------------------------------

# Nine digits: beyond any file, and no conversion of a number a megabyte long.
_HUNK_HEADER = re.compile(
    r"@@ -(?P<old>[0-9]{1,9})(?:,(?P<old_count>[0-9]{1,9}))?"
    r" \+(?P<new>[0-9]{1,9})(?:,(?P<new_count>[0-9]{1,9}))? @@.*",
    re.DOTALL,
)


def _read_hunks(reading: _Reading, section: _Section) -> None:
    lines = reading.lines
    while lines.peek().startswith("@@"):
        header = lines.take()
        match = _HUNK_HEADER.fullmatch(header)
        if match is None:
            reading.report(
                f"A hunk header of {_section_name(section)} is not readable: {_shown(header)}."
            )
            return
        hunk = _HunkReading.from_header(match)
        _read_hunk(reading, section, hunk)
        section.hunks.append(hunk.finished())


@dataclass(slots=True)
class _HunkReading:
    """A hunk being read: what its header promised, and how far each side has come."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    old_left: int
    new_left: int
    old_line: int  # the next line of each side
    new_line: int
    removed: list[tuple[int, str]] = field(default_factory=list)
    added: list[tuple[int, str]] = field(default_factory=list)
    insertions: list[int] = field(default_factory=list)
    deletions: list[int] = field(default_factory=list)
    context: list[tuple[int, str]] = field(default_factory=list)
    run_removed: int = 0  # changed lines since the last line of context
    run_added: int = 0

    @classmethod
    def from_header(cls, match: re.Match[str]) -> "_HunkReading":
        old_start, new_start = int(match["old"]), int(match["new"])
        old_count = int(match["old_count"] or 1)
        new_count = int(match["new_count"] or 1)
        return cls(
            old_start=old_start,
            old_count=old_count,
            new_start=new_start,
            new_count=new_count,
            old_left=old_count,
            new_left=new_count,
            # A side without lines names the line before the change.
            old_line=old_start if old_count else old_start + 1,
            new_line=new_start if new_count else new_start + 1,
        )

    @property
    def is_complete(self) -> bool:
        return self.old_left == 0 and self.new_left == 0

    def take(self, line: str) -> bool:
        """Take a line into the hunk; say no if it cannot belong here."""
        # Mail programs strip the blank from an empty line of context.
        kind, text = (line[0], line[1:]) if line else (" ", "")
        if kind == "-" and self.old_left:
            self._remove(text)
        elif kind == "+" and self.new_left:
            self._add(text)
        elif kind == " " and self.old_left and self.new_left:
            self._keep(text)
        else:
            return kind == "\\"  # "\ No newline at end of file", in Git's or diff's language
        return True

    def finished(self) -> Hunk:
        self._end_run()
        return Hunk(
            old_start=self.old_start,
            old_count=self.old_count,
            new_start=self.new_start,
            new_count=self.new_count,
            removed=tuple(self.removed),
            added=tuple(self.added),
            insertions=tuple(self.insertions),
            deletions=tuple(self.deletions),
            context=tuple(self.context),
        )

    def _remove(self, text: str) -> None:
        self.removed.append((self.old_line, text))
        self.old_line += 1
        self.old_left -= 1
        self.run_removed += 1

    def _add(self, text: str) -> None:
        self.added.append((self.new_line, text))
        self.new_line += 1
        self.new_left -= 1
        self.run_added += 1

    def _keep(self, text: str) -> None:
        self._end_run()
        self.context.append((self.old_line, text))
        self.old_line += 1
        self.new_line += 1
        self.old_left -= 1
        self.new_left -= 1

    def _end_run(self) -> None:
        if self.run_added and not self.run_removed:
            self.insertions.append(self.old_line - 1)
        if self.run_removed and not self.run_added:
            self.deletions.append(self.new_line - 1)
        self.run_removed = self.run_added = 0


def _read_hunk(reading: _Reading, section: _Section, hunk: _HunkReading) -> None:
    lines = reading.lines
    while not hunk.is_complete:
        if lines.is_at_end or not hunk.take(lines.peek()):
            reading.report(
                f"The hunk at line {hunk.new_start} of {_section_name(section)} ends early: "
                f"{hunk.old_left} old and {hunk.new_left} new lines are missing."
            )
            return
        lines.take()
    while lines.peek().startswith("\\"):
        lines.take()
    if _is_surplus(lines):
        reading.report(
            f"The hunk at line {hunk.new_start} of {_section_name(section)} has more lines "
            "than its header says; they are left out."
        )
        while _is_surplus(lines):
            lines.take()


def _is_surplus(lines: _Lines) -> bool:
    line = lines.peek()
    is_mail_signature = line.rstrip("\r") in {"-- ", "--"}
    return line[:1] in {"+", "-", " "} and not is_mail_signature and not _is_section_start(lines)


# --- Paths -------------------------------------------------------------------------------------


def _is_dev_null(name: str | None) -> bool:
    return name is not None and name.partition("\t")[0] == _DEV_NULL


def _header_path(name: str) -> str:
    # Git ends a name that has blanks with a tab, so that patch(1) sees where it ends. A tab
    # of the name itself would be quoted.
    return _unquoted(name.partition("\t")[0])


def _two_names(header: str) -> tuple[str, str] | None:
    """Split the names of a `diff --git` line; None where blanks make it ambiguous."""
    if header.startswith('"') or header.endswith('"'):
        return _two_quoted_names(header)
    # Without quotes a blank may stand in the names. The line is only decisive for files that keep
    # their name, where both sides are equally long and the middle parts them.
    middle = len(header) // 2
    if header[middle : middle + 1] == " ":
        old, new = header[:middle], header[middle + 1 :]
        if old == new or _beyond_first_part(old) == _beyond_first_part(new) is not None:
            return old, new
    names = header.split(" ")
    return (names[0], names[1]) if len(names) == len(("old", "new")) else None


_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')


def _two_quoted_names(header: str) -> tuple[str, str] | None:
    if match := _QUOTED.match(header):
        old, new = match[0], header[match.end() + 1 :]
    else:
        old, _, new = header.partition(' "')
        new = f'"{new}'
    return (_unquoted(old), _unquoted(new)) if old and new else None


def _without_prefixes(old: str, new: str) -> tuple[str, str]:
    """Take off the prefixes of the two sides.

    `a/` and `b/`, or `i/`, `w/`, `c/`, `o/` (diff.mnemonicPrefix), or two folders given to diff:
    equal names have none, and names equal but for their first part have that part as prefix.
    """
    if old == new:
        return old, new
    rest = _beyond_first_part(old)
    if rest is not None and rest == _beyond_first_part(new):
        return rest, rest
    if _without_usual_prefix(old) != old and _without_usual_prefix(new) != new:
        return _without_usual_prefix(old), _without_usual_prefix(new)
    return old, new


def _beyond_first_part(name: str) -> str | None:
    _, slash, rest = name.partition("/")
    return rest if slash else None


_USUAL_PREFIX = re.compile(r"[abciow12]/")


def _without_usual_prefix(name: str) -> str:
    return _USUAL_PREFIX.sub("", name, count=1) if _USUAL_PREFIX.match(name) else name


_ESCAPE = re.compile(r"\\([0-7]{1,3}|[abtnvfr\"\\])")
_ESCAPED_BYTES = {
    "a": b"\a", "b": b"\b", "t": b"\t", "n": b"\n", "v": b"\v", "f": b"\f", "r": b"\r",
    '"': b'"', "\\": b"\\",
}  # fmt: skip


def _unquoted(name: str) -> str:
    """Undo Git's quoting of a path: C escapes, and octal for bytes beyond ASCII."""
    if len(name) < len('""') or not (name.startswith('"') and name.endswith('"')):
        return name
    return b"".join(_quoted_bytes(name[1:-1])).decode("utf-8", "backslashreplace")


def _quoted_bytes(inner: str) -> Iterator[bytes]:
    position = 0
    for match in _ESCAPE.finditer(inner):
        yield inner[position : match.start()].encode("utf-8", "backslashreplace")
        escape = match[1]
        yield _ESCAPED_BYTES.get(escape) or bytes([int(escape, 8) & 0xFF])
        position = match.end()
    yield inner[position:].encode("utf-8", "backslashreplace")


_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


def _leads_outside(path: str) -> bool:
    """Say whether a path cannot be one inside a repository, on any system."""
    parts = re.split(r"[/\\]", path)
    # Two backslashes begin a share. One may begin a name: of bytes that are not UTF-8.
    is_absolute = path.startswith(("/", "\\\\")) or _DRIVE.match(path) is not None
    return not path or "\x00" in path or is_absolute or ".." in parts


def _section_name(section: _Section) -> str:
    return _shown(section.new_path or section.old_path or "?")


def _shown(text: str) -> str:
    """Return text that is safe in a sentence: ASCII, quoted, on one line, not long."""
    return ascii(text[:_MAX_SHOWN_CHARACTERS])
