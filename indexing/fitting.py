"""A diff that is too long to read: which of its files are read, and which are only named.

Pure. The smallest files are kept whole. Of the others the header stays, so that they still count as
changed, with one line below it that says how much was left out; whoever reads the diff later (the
server what a job sent, a review what the gateway took in) knows by it what it does not see.
"""

import heapq
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

_START = b"diff --git "
_PIECE_CHARACTERS = 1 << 20
_LONGEST_HEADER = 1 << 16
_LONGEST_NAME = 200
# What tells where a file is and went; content, and what says that content follows, does not stay.
_HEADER_LINE = re.compile(
    rb"(?:diff --git|new file mode|deleted file mode|rename from|rename to|copy from|copy to) .*\n"
)
_END = "the end of the diff"
_UNNAMED = re.compile(r"(?P<files>[0-9]{1,9}) files more")
_LEFT_OUT = "codemem-left-out: {size} bytes of {name}\n"
_LEFT_OUT_LINE = re.compile(
    r"^codemem-left-out: (?P<size>[0-9]{1,12}) bytes of (?P<name>.+)$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file of a change of which only the name was read, with the size of its part of the diff.

    One without a name stands for `files` that were too many to name.
    """

    name: str
    size_bytes: int
    files: int = 1


@dataclass(frozen=True, slots=True)
class Fitted:
    """A diff that can be read, and what it leaves out, the largest first.

    Where no headers of Git tell files apart, it is the end that is left out.
    """

    text: str
    left_out: tuple[LeftOut, ...] = ()

    @property
    def files_left_out(self) -> int:
        return sum(one.files for one in self.left_out)


NOTHING: Final = Fitted("")


def fit(diff: str, *, limit: int) -> Fitted:
    """Return a diff of at most about `limit` bytes; headers of what is left out come on top."""
    if len(diff) <= limit and len(diff.encode("utf-8", "surrogatepass")) <= limit:
        return Fitted(text=diff, left_out=_left_out_in(diff))
    return fit_pieces(_pieces(diff), limit=limit)


def fit_pieces(pieces: Iterable[bytes], *, limit: int) -> Fitted:
    """Do as `fit` with a diff that comes in pieces; holds about twice `limit` bytes at most."""
    kept = _Kept(room=limit, room_for_names=limit)
    for section in _sections(pieces, longest=limit):
        kept.add(section)
    text = kept.content().decode("utf-8", "backslashreplace")
    return Fitted(text=text, left_out=_left_out_in(text))


def sentences_of(fitted: Fitted) -> list[str]:
    """Return what a review of this diff has to say about what it did not read."""
    if not fitted.left_out:
        return []
    shown = [one for one in fitted.left_out if one.name][:_NAMED]
    named = ", ".join(f"{one.name} ({_shown_size(one)})" for one in shown)
    total = fitted.files_left_out
    more = total - len(shown)
    files = f"{total:,} file{'s' * (total > 1)}"
    said = f"The change is too large to read whole: {files} left out, the largest first: {named}"
    return [
        said + (f" and {more:,} more" if more > 0 else "") + ".",
        "Of what is left out, only that it changed is known; the risk is that of the rest.",
    ]


# --- Parts ---------------------------------------------------------------------------------------

_NAMED = 3


@dataclass(frozen=True, slots=True)
class _Section:
    """One file of a diff, or what stands before the first; `content` may be its begin only."""

    content: bytes
    size: int

    @property
    def is_whole(self) -> bool:
        return len(self.content) == self.size

    @property
    def is_named(self) -> bool:
        return self.content.startswith(_START)

    def without_content(self) -> "_Section":
        header = b"".join(_header_lines(self.content))
        name = _name_in(header.split(b"\n", 1)[0])
        left = header + _LEFT_OUT.format(size=self.size, name=name).encode()
        return _Section(content=left, size=len(left))


@dataclass(slots=True)
class _Kept:
    """The sections so far: whole while there is room, then without content, then counted."""

    room: int
    room_for_names: int
    sections: list[_Section] = field(default_factory=list)
    largest: list[tuple[int, int]] = field(default_factory=list)  # a heap of the whole ones
    unnamed: int = 0
    unnamed_bytes: int = 0

    def add(self, section: _Section) -> None:
        place = len(self.sections)
        self.sections.append(section)
        if not section.is_named:
            return
        if section.is_whole:
            heapq.heappush(self.largest, (-section.size, place))
            self.room -= section.size
        else:
            self._name(place)
        while self.room < 0 and self.largest:
            size, place = heapq.heappop(self.largest)
            self.room -= size
            self._name(place)

    def content(self) -> bytes:
        parts = [section.content for section in self.sections]
        if self.unnamed:
            more = _LEFT_OUT.format(size=self.unnamed_bytes, name=f"{self.unnamed} files more")
            parts.append(more.encode())
        return b"".join(parts)

    def _name(self, place: int) -> None:
        section = self.sections[place]
        named = section.without_content()
        if len(named.content) <= self.room_for_names:
            self.room_for_names -= len(named.content)
            self.sections[place] = named
            return
        self.unnamed += 1
        self.unnamed_bytes += section.size
        self.sections[place] = _Section(content=b"", size=0)


@dataclass(slots=True)
class _Cutting:
    """The section that is coming in: what is held of it, and how much there was of it."""

    longest: int
    held: bytearray = field(default_factory=bytearray)
    size: int = 0

    def take(self, content: bytes) -> None:
        self.size += len(content)
        room = max(0, self.longest - len(self.held))
        self.held += content[:room]

    def end(self) -> _Section:
        section = _Section(content=bytes(self.held), size=self.size)
        self.held.clear()
        self.size = 0
        if section.is_whole:
            return section
        return section if section.is_named else _begin_of(section)


def _sections(pieces: Iterable[bytes], *, longest: int) -> Iterator[_Section]:
    cutting = _Cutting(longest=longest)
    for content, ends_section in _runs(pieces):
        cutting.take(content)
        if ends_section:
            yield cutting.end()
    if cutting.size:
        yield cutting.end()


def _runs(pieces: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Yield the diff in pieces that end where a section ends, with whether they do.

    No line of a hunk begins as the header of a file: content is indented by its mark.
    """
    mark, rest = b"\n" + _START, b""
    for piece in pieces:
        text, start = rest + piece, 0
        while (found := text.find(mark, start)) >= 0:
            yield text[start : found + 1], True
            start = found + 1
        # The end may be the begin of a mark.
        end = max(start, len(text) - len(mark))
        yield text[start:end], False
        rest = text[end:]
    yield rest, False


def _begin_of(section: _Section) -> _Section:
    """Return as much as is held of text that no header divides, with a line that says so."""
    kept = section.content[: section.content.rfind(b"\n") + 1]
    left = _LEFT_OUT.format(size=section.size - len(kept), name=_END).encode()
    return _Section(content=kept + left, size=len(kept + left))


def _header_lines(content: bytes) -> Iterator[bytes]:
    for line in content[:_LONGEST_HEADER].splitlines(keepends=True):
        if line.startswith((b"@@", b"--- ", b"GIT binary", b"Binary files")):
            return
        if _HEADER_LINE.fullmatch(line):
            yield line


def _name_in(first_line: bytes) -> str:
    """Return the new name as a sentence shows it; not exact where names have blanks."""
    text = first_line.decode("utf-8", "replace").removeprefix(_START.decode())
    _, _, new = text.rpartition(' "b/' if text.endswith('"') else " b/")
    return (new.removesuffix('"') or text).strip()[:_LONGEST_NAME]


def _left_out_in(diff: str) -> tuple[LeftOut, ...]:
    found = [_left_out(match) for match in _LEFT_OUT_LINE.finditer(diff)]
    return tuple(sorted(found, key=lambda one: (-one.size_bytes, one.name)))


def _left_out(match: re.Match[str]) -> LeftOut:
    name, size = match["name"].rstrip("\r"), int(match["size"])
    if unnamed := _UNNAMED.fullmatch(name):
        return LeftOut(name="", size_bytes=size, files=int(unnamed["files"]))
    return LeftOut(name=name[:_LONGEST_NAME], size_bytes=size)


def _pieces(diff: str) -> Iterator[bytes]:
    for start in range(0, len(diff), _PIECE_CHARACTERS):
        yield diff[start : start + _PIECE_CHARACTERS].encode("utf-8", "surrogatepass")


def _shown_size(one: LeftOut) -> str:
    if one.size_bytes < 100_000:  # noqa: PLR2004  a tenth of what is shown
        return f"{one.size_bytes / 1_000:,.1f} kB"
    return f"{one.size_bytes / 1_000_000:,.1f} MB"
