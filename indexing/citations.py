"""The code that memories cite, as it stands now: lines with their numbers, read from the mirror.

Data for whoever looks at it. What a mirror of this host does not have is left out, never guessed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from codemem.accounts.values import Action, Caller
from graph import queries as graph
from graph.values import LIVE, View
from indexing.memories import MirrorReader
from memory.anchors import AnchorKind
from memory.services import AnchorValue

MOST_LINES: Final = 40
_AROUND: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeLine:
    number: int
    text: str
    is_cited: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedCode:
    """An anchor and the lines that it names now; no lines: they are not at hand, or no longer."""

    anchor: AnchorValue
    symbol: str  # text id, where the graph has one
    lines: tuple[CodeLine, ...] = ()
    is_cut: bool = False


def cited_code(
    *, caller: Caller, namespace_id: UUID, anchors: Sequence[AnchorValue], view: View = LIVE
) -> list[CitedCode]:
    """Return the code of some anchors of a namespace, in their order.

    Three queries and one read of the mirror for each repository; nothing is read for who may not
    read the code graph.
    """
    if not caller.can(Action.READ_GRAPH, namespace_id):
        return [CitedCode(anchor=anchor, symbol="") for anchor in anchors]
    found: dict[AnchorValue, CitedCode] = {}
    for repository_id in dict.fromkeys(anchor.repository_id for anchor in anchors):
        mine = [anchor for anchor in anchors if anchor.repository_id == repository_id]
        found |= _of_repository(repository_id, mine, view)
    return [found[anchor] for anchor in anchors]


def _of_repository(
    repository_id: UUID, anchors: Sequence[AnchorValue], view: View
) -> dict[AnchorValue, CitedCode]:
    ids = {anchor.symbol for anchor in anchors if anchor.symbol}
    symbols = graph.cited_symbols(repository_id=repository_id, ids=ids, view=view)
    places = {anchor: _place(anchor, symbols) for anchor in anchors}
    paths = {anchor.path for anchor, place in places.items() if place is not None}
    blobs = graph.blobs_of(repository_id=repository_id, paths=paths, view=view)
    contents = MirrorReader().contents(
        repository_id=repository_id, blobs={blob for blob, _ in blobs.values()}
    )
    return {
        anchor: _cited(anchor, place, _text(anchor, blobs, contents), symbols)
        for anchor, place in places.items()
    }


def _place(anchor: AnchorValue, symbols: Mapping[str, graph.CitedSymbol]) -> tuple[int, int] | None:
    """Return the first and the last line that an anchor names, None for a package or a pattern."""
    if anchor.symbol in symbols:
        symbol = symbols[anchor.symbol]
        return symbol.start_line, symbol.end_line
    if anchor.kind is AnchorKind.LINES and anchor.start_line and anchor.end_line:
        return anchor.start_line, anchor.end_line
    return (1, MOST_LINES) if anchor.kind is AnchorKind.FILE else None


def _text(
    anchor: AnchorValue, blobs: Mapping[str, tuple[str, int]], contents: Mapping[str, bytes]
) -> bytes | None:
    return contents.get(blobs[anchor.path][0]) if anchor.path in blobs else None


def _cited(
    anchor: AnchorValue,
    place: tuple[int, int] | None,
    text: bytes | None,
    symbols: Mapping[str, graph.CitedSymbol],
) -> CitedCode:
    symbol = anchor.symbol if anchor.symbol in symbols else ""
    if place is None or text is None:
        return CitedCode(anchor=anchor, symbol=symbol)
    first, last = place
    start = max(1, first - _AROUND)
    lines = text.decode("utf-8", "replace").splitlines()[start - 1 : last + _AROUND]
    shown = tuple(
        CodeLine(number=number, text=line, is_cited=first <= number <= last)
        for number, line in enumerate(lines[:MOST_LINES], start=start)
    )
    return CitedCode(anchor=anchor, symbol=symbol, lines=shown, is_cut=len(lines) > MOST_LINES)
