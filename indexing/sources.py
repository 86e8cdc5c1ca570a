"""The text of a file as the graph shows it: its lines, from the mirror of this host.

Data for whoever looks at it. A web server of a cluster may have no mirror; then there is no text.
"""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from graph import queries as graph
from graph.values import LIVE, View
from indexing.memories import MirrorReader

MOST_LINES: Final = 2_000


class FileUnknown(Exception):
    """The graph shows no file at this path."""


@dataclass(frozen=True, slots=True)
class SourceLine:
    number: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileText:
    """Some lines of a file; `total` is None when the text is not at hand."""

    path: str
    blob: str
    vertex: int
    lines: tuple[SourceLine, ...]
    total: int | None

    @property
    def is_cut(self) -> bool:
        return self.total is not None and len(self.lines) < self.total


def read_lines(
    *,
    repository_id: UUID,
    path: str,
    first: int = 1,
    last: int | None = None,
    most: int = MOST_LINES,
    view: View = LIVE,
) -> FileText:
    """Return lines of a file; raise FileUnknown. One query and one read of the mirror."""
    found = graph.blobs_of(repository_id=repository_id, paths=[path], view=view).get(path)
    if found is None:
        raise FileUnknown(f"There is no file {path} in the graph.")
    blob, vertex = found
    content = MirrorReader().contents(repository_id=repository_id, blobs=[blob]).get(blob)
    if content is None:
        return FileText(path=path, blob=blob, vertex=vertex, lines=(), total=None)
    lines = content.decode("utf-8", "replace").splitlines()
    shown = lines[first - 1 : last][:most]
    return FileText(
        path=path,
        blob=blob,
        vertex=vertex,
        lines=tuple(SourceLine(number, line) for number, line in enumerate(shown, start=first)),
        total=len(lines),
    )
