"""The copy of a tree that an indexer may see: regular files of its language, and nothing else.

No symbolic link (an indexer followed one out of the tree), no `.git`, no `.cargo` (its wrapper was
executed), no tool-chain file, no configuration of the repository's: what is needed is written by
`indexing.scip.projects`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from indexing.git import BlobContent

_NEVER = frozenset(
    {".git", ".hg", ".svn", ".cargo", ".yarn", ".mvn", ".gradle", "node_modules", ".vscode"}
)
_LONGEST_COMPONENT_BYTES = 255


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """One file of the tree to show: its path and its blob."""

    path: str
    blob: str


def visible(entries: Iterable[SourceEntry]) -> list[SourceEntry]:
    """Return the entries that may be written below a folder, sorted by path."""
    return sorted(
        (entry for entry in entries if _is_plain(entry.path)), key=lambda entry: entry.path
    )


def write_tree(
    folder: Path, contents: Iterator[tuple[str, BlobContent]], entries: Iterable[SourceEntry]
) -> int:
    """Write every readable entry below `folder`; return how many. `contents` yields by blob id."""
    paths: dict[str, list[str]] = {}
    for entry in entries:
        paths.setdefault(entry.blob, []).append(entry.path)
    written = 0
    for blob, content in contents:
        if isinstance(content, bytes):
            for path in paths.get(blob, ()):
                written += _write(folder / path, content)
    return written


def _write(path: Path, content: bytes) -> bool:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(content)
    except OSError:  # a file where another one's folder is, a name this file system refuses
        return False
    return True


def _is_plain(path: str) -> bool:
    pure = PurePosixPath(path)
    parts = path.split("/")
    return (
        not pure.is_absolute()
        and "\\" not in path
        and path.isprintable()
        and not any(part in ("", ".", "..") for part in parts)
        and not any(part.lower() in _NEVER for part in parts)
        and all(len(part.encode()) <= _LONGEST_COMPONENT_BYTES for part in parts)
    )
