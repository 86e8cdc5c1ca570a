"""What an anchor says of the code, and whether some content still says it. Pure text, no rows.

Lines are compared without what stands around them: neither indentation nor line ends are part of
what was cited. Lines that moved inside of their file are found again, nearest first.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from memory.wording import MemoryInvalid, printable

MAXIMUM_ANCHORS = 50
_MAXIMUM_LINES = 2_000
_MAXIMUM_PATTERN_CHARACTERS = 500
_MAXIMUM_NAME_CHARACTERS = 1_000
_LAST_LINE = 10_000_000
# Windows of a file are hashed until so many lines were: 0.1 s.
_LINES_COMPARED = 200_000
_SHA = re.compile(r"[0-9a-f]{7,64}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_PACKAGE = re.compile(r"pkg:[a-z0-9]+:\S+")
_PLACE = re.compile(r"(?:file:)?(?P<path>[^:]+):(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?")


class AnchorInvalid(MemoryInvalid):
    """A citation is not one; the message is a sentence that says how to mend it."""


class AnchorKind(StrEnum):
    """What is cited; the values are those of `memory.models.Anchor.Kind`."""

    FILE = "file"
    LINES = "lines"
    SYMBOL = "symbol"
    PATTERN = "pattern"
    DEPENDENCY = "dependency"


class AnchorState(StrEnum):
    """Whether what was cited is as it was; UNVERIFIED where the server cannot know."""

    OK = "ok"
    DRIFTED = "drifted"
    MISSING = "missing"
    UNVERIFIED = "unverified"


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A place in the code that a memory stands on; `citation` makes a valid one.

    `content_hash` is the caller's own (see `lines_hash`), for what is not committed yet.
    """

    kind: AnchorKind
    path: str = ""
    symbol: str = ""
    start_line: int | None = None
    end_line: int | None = None
    pattern: str = ""
    package: str = ""
    commit: str = ""
    content_hash: bytes | None = None


def citation(
    *,
    path: str = "",
    symbol: str = "",
    start_line: int | None = None,
    end_line: int | None = None,
    pattern: str = "",
    package: str = "",
    commit: str = "",
    content_hash: str = "",
) -> Citation:
    """Return what is cited: a symbol, lines of a file, a pattern in a file, a file, a package.

    The most particular of what is given decides. Raise AnchorInvalid.
    """
    if symbol:
        kind, path = AnchorKind.SYMBOL, _path_of_symbol(symbol)
    elif package:
        kind = AnchorKind.DEPENDENCY
    elif pattern:
        kind = AnchorKind.PATTERN
    elif start_line is not None or end_line is not None:
        kind = AnchorKind.LINES
    else:
        kind = AnchorKind.FILE
    if package and not _PACKAGE.fullmatch(package):
        raise AnchorInvalid(f"The package {_shown(package)} is not written as pkg:pypi:django.")
    if len(pattern) > _MAXIMUM_PATTERN_CHARACTERS:
        raise AnchorInvalid(f"A pattern has at most {_MAXIMUM_PATTERN_CHARACTERS} characters.")
    if commit and not _SHA.fullmatch(commit):
        raise AnchorInvalid(f"The commit {_shown(commit)} is not a sha.")
    if content_hash and not _DIGEST.fullmatch(content_hash):
        raise AnchorInvalid("content_hash is a SHA-256 in 64 lower-case hexadecimal digits.")
    first, last = _lines(start_line, end_line) if kind is AnchorKind.LINES else (None, None)
    return Citation(
        kind=kind,
        path="" if kind is AnchorKind.DEPENDENCY else valid_path(path),
        symbol=symbol if kind is AnchorKind.SYMBOL else "",
        start_line=first,
        end_line=last,
        pattern=pattern if kind is AnchorKind.PATTERN else "",
        package=package if kind is AnchorKind.DEPENDENCY else "",
        commit=commit,
        content_hash=bytes.fromhex(content_hash) if content_hash else None,
    )


def read_citation(text: str) -> Citation:
    """Return what is cited in one word, as people and agents write it; raise AnchorInvalid.

    src/a.py, src/a.py:10-20, src/a.py@<commit>, sym:src/a.py#f, pkg:pypi:django, and
    src/a.py =~ <regular expression>.
    """
    path, is_pattern, pattern = text.partition(" =~ ")
    if is_pattern:
        return citation(path=path.strip(), pattern=pattern)
    place, _, commit = text.partition("@") if not text.startswith("pkg:") else (text, "", "")
    if place.startswith("sym:"):
        return citation(symbol=place, commit=commit)
    if place.startswith("pkg:"):
        return citation(package=place)
    if lines := _PLACE.fullmatch(place):
        first, last = int(lines["first"]), int(lines["last"] or lines["first"])
        return citation(path=lines["path"], start_line=first, end_line=last, commit=commit)
    return citation(path=place.removeprefix("file:"), commit=commit)


def valid_path(path: str) -> str:
    """Return a path from the repository's root as Git writes it; raise AnchorInvalid."""
    plain = path.replace("\\", "/").removeprefix("./")
    parts = plain.split("/")
    if not plain:
        raise AnchorInvalid("An anchor needs a path, a symbol or a package.")
    if printable(plain) != plain or len(plain) > _MAXIMUM_NAME_CHARACTERS or "\n" in plain:
        raise AnchorInvalid(f"The path {_shown(path)} is not one.")
    if any(part in {"", ".", ".."} for part in parts) or parts[0].endswith(":"):
        raise AnchorInvalid(
            f"The path {_shown(path)} must begin at the repository's root and stay in it,"
            " such as src/app.py."
        )
    return plain


def lines_of(content: bytes) -> list[str]:
    """Return a file's lines as they are compared: without what stands around them."""
    text = content.decode("utf-8", "replace").removeprefix("\ufeff")
    return [line.strip() for line in re.split(r"\r\n?|\n", text)]


def lines_hash(lines: Sequence[str]) -> bytes:
    """Return the SHA-256 of some lines, each without surrounding space, joined by line feeds."""
    return hashlib.sha256("\n".join(line.strip() for line in lines).encode()).digest()


def cited_hash(lines: Sequence[str], *, start_line: int, end_line: int) -> bytes | None:
    """Return the hash of these lines of a file; None when it has no such lines."""
    cited = lines[start_line - 1 : end_line]
    return lines_hash(cited) if len(cited) == end_line - start_line + 1 else None


def find_lines(
    lines: Sequence[str], wanted: bytes, *, start_line: int, end_line: int
) -> tuple[int, int] | None:
    """Return where the cited lines stand in a file now, looking from their old place outward.

    None when they stand nowhere, or too far away in a file too large to compare all of.
    """
    length = end_line - start_line + 1
    for start in _outward(start_line, last=len(lines) - length + 1, most=_LINES_COMPARED // length):
        if lines_hash(lines[start - 1 : start - 1 + length]) == wanted:
            return start, start + length - 1
    return None


def worst(states: Sequence[AnchorState]) -> AnchorState | None:
    """Return what is worst about some anchors, None for none. What nobody could verify is last."""
    order = (AnchorState.MISSING, AnchorState.DRIFTED, AnchorState.UNVERIFIED, AnchorState.OK)
    return next((state for state in order if state in states), None)


def _outward(start: int, *, last: int, most: int) -> Iterator[int]:
    """Yield places from 1 to `last`, the nearest to `start` first, about `most` of them."""
    start = max(1, min(start, last))
    for distance in range(min(max(last, 0), max(most // 2, 1))):
        for place in {start - distance, start + distance}:
            if 1 <= place <= last:
                yield place


def _lines(start_line: int | None, end_line: int | None) -> tuple[int, int]:
    first = start_line if start_line is not None else end_line
    last = end_line if end_line is not None else start_line
    assert first is not None
    assert last is not None
    if not 1 <= first <= last <= _LAST_LINE:
        raise AnchorInvalid(f"Lines {first} to {last}: count from 1, the first one first.")
    if last - first >= _MAXIMUM_LINES:
        raise AnchorInvalid(f"An anchor has at most {_MAXIMUM_LINES} lines; cite the file.")
    return first, last


def _path_of_symbol(symbol: str) -> str:
    if not symbol.startswith("sym:") or "#" not in symbol or len(symbol) > _MAXIMUM_NAME_CHARACTERS:
        raise AnchorInvalid(
            f"The symbol {_shown(symbol)} is not an id such as sym:src/a.py#Class.method."
        )
    return symbol.removeprefix("sym:").partition("#")[0]


def _shown(text: str) -> str:
    return ascii(text[:80])
