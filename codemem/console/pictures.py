"""Pictures that pages draw as SVG: where things stand, computed here and drawn by templates.

Pure geometry; the words beside a picture say the same to who cannot see it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from memory.history import Chain
from memory.values import StoredMemory

ROW: Final = 48
_GUTTER: Final = 26
_STEP: Final = 11
_WIDEST: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Arc:
    """A link from one row to another, drawn left of the rows."""

    verb: str
    source: int  # rows, from 1
    target: int
    path: str  # of an SVG path


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainRow:
    """A memory of a chain, and the middle of its row."""

    number: int
    memory: StoredMemory
    y: float
    is_current: bool
    says: tuple[str, ...]  # what it does to others: "supersedes 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArcPicture:
    """Memories in the order of time with arcs between them."""

    rows: tuple[ChainRow, ...]
    arcs: tuple[Arc, ...]
    width: int
    height: int
    is_truncated: bool

    @property
    def dot_x(self) -> int:
        return self.width - 8


def arcs_of(chain: Chain, *, current: UUID) -> ArcPicture | None:
    """Return the picture of a chain, None when a memory stands alone."""
    if not chain.links:
        return None
    places = {str(memory.id): place for place, memory in enumerate(chain.memories)}
    links = [link for link in chain.links if link.source != link.target]
    widest = max((abs(places[link.source] - places[link.target]) for link in links), default=1)
    width = _GUTTER + _STEP * min(widest, _WIDEST)
    arcs = [
        _arc(link.relationship, places[link.source], places[link.target], width) for link in links
    ]
    rows = [
        ChainRow(
            number=place + 1,
            memory=memory,
            y=_middle(place),
            is_current=memory.id == current,
            says=_says(place + 1, arcs),
        )
        for place, memory in enumerate(chain.memories)
    ]
    return ArcPicture(
        rows=tuple(rows),
        arcs=tuple(arcs),
        width=width,
        height=ROW * len(rows),
        is_truncated=chain.is_truncated,
    )


def _arc(verb: str, source: int, target: int, width: int) -> Arc:
    start, end = _middle(source), _middle(target)
    x = width - 14
    out = x - _STEP * min(abs(source - target), _WIDEST) - 4
    return Arc(
        verb=verb,
        source=source + 1,
        target=target + 1,
        path=f"M {x} {start:g} C {out} {start:g}, {out} {end:g}, {x} {end:g}",
    )


def _says(number: int, arcs: Sequence[Arc]) -> tuple[str, ...]:
    return tuple(
        f"{arc.verb.lower().replace('_', ' ')} {arc.target}" for arc in arcs if arc.source == number
    )


def _middle(place: int) -> float:
    return ROW * place + ROW / 2


# --- Blast radius ---------------------------------------------------------------------------------
_MOST_CHANGED: Final = 8
_MOST_DEPENDENTS: Final = 40
_MOST_LABELS: Final = 16
# Half axes of the rings (changed symbols, direct dependents, farther ones), wider than high, where
# there is little to show and where there is much.
_FEW: Final = 8
_NARROW: Final = ((56, 34), (150, 84), (226, 138))
_WIDE: Final = ((84, 52), (210, 128), (300, 186))
_MARGIN: Final = (110, 26)  # for labels
# Not upright: labels stand to the side, and the first two would stand above each other.
_FIRST_ANGLE: Final = -math.pi / 5
_LABEL: Final = 26


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A node of the picture; `ring` 0 is what changed, 2 what is reached over others."""

    id: str
    label: str
    x: float
    y: float
    ring: int
    size: float
    anchor: str  # of the label: start or end
    label_x: float
    label_y: float
    is_labelled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BlastPicture:
    """What a diff touches in the middle, who depends on it around."""

    spots: tuple[Spot, ...]
    lines: tuple[Line, ...]
    rings: tuple[tuple[int, int], ...]
    width: int
    height: int
    left_out: int


def blast_of(answer: Mapping[str, Any]) -> BlastPicture | None:
    """Return the picture of a kept review's answer; None when nothing that others use changed.

    At most eight changed symbols and forty dependents, the first of each as the review orders them.
    """
    changed = list(answer.get("changed_symbols") or ())
    dependents = list(answer.get("dependents") or ())
    if not changed or not dependents:
        return None
    used = {use["changed"] for one in dependents for use in one.get("uses") or ()}
    changed.sort(key=lambda one: one["id"] not in used)
    inner = [one["id"] for one in changed[:_MOST_CHANGED]]
    shown = dependents[:_MOST_DEPENDENTS]
    direct = _near_what_they_use([one for one in shown if one.get("depth", 1) == 1], inner)
    farther = [one for one in shown if one.get("depth", 1) > 1]
    rings = _NARROW if max(len(direct), len(farther)) <= _FEW else _WIDE
    outer = rings[2] if farther else rings[1]
    width, height = 2 * (outer[0] + _MARGIN[0]), 2 * (outer[1] + _MARGIN[1])
    center = (width / 2, height / 2)
    spots = [
        *_ring([_node_of(uid) for uid in inner], ring=0, axes=rings[0], center=center),
        *_ring(direct, ring=1, axes=rings[1], center=center),
        *_ring(farther, ring=2, axes=rings[2], center=center),
    ]
    places = {spot.id: spot for spot in spots}
    lines = [
        Line(x1=places[one["id"]].x, y1=places[one["id"]].y, x2=end.x, y2=end.y)
        for one in direct
        for use in one.get("uses") or ()
        if (end := places.get(use["changed"])) is not None
    ]
    total = (answer.get("totals") or {}).get("dependents", len(dependents))
    return BlastPicture(
        spots=tuple(spots),
        lines=tuple(lines),
        rings=rings[1 : 3 if farther else 2],
        width=width,
        height=height,
        left_out=max(0, total - len(shown)),
    )


def _near_what_they_use(
    direct: Sequence[Mapping[str, Any]], inner: Sequence[str]
) -> list[Mapping[str, Any]]:
    """Return direct dependents in the order of the changed symbols, so that lines cross less."""
    order = {uid: place for place, uid in enumerate(inner)}

    def place(one: Mapping[str, Any]) -> int:
        return min((order.get(use["changed"], 99) for use in one.get("uses") or ()), default=99)

    return sorted(direct, key=place)


def _ring(
    nodes: Sequence[Mapping[str, Any]],
    *,
    ring: int,
    axes: tuple[int, int],
    center: tuple[float, float],
) -> list[Spot]:
    wide, high = axes if ring or len(nodes) > 1 else (0, 0)
    spots = []
    for number, node in enumerate(nodes):
        angle = 2 * math.pi * (number + ring / 3) / len(nodes) + _FIRST_ANGLE
        x, y = center[0] + wide * math.cos(angle), center[1] + high * math.sin(angle)
        is_right = math.cos(angle) >= 0
        rank = float(node.get("rank_percentile") or 0.0)
        size = 7 if ring == 0 else round(3.5 + 3 * rank, 1)
        aside = size + 5 if is_right else -size - 5
        spots.append(
            Spot(
                id=str(node["id"]),
                label=_label(str(node["id"])),
                x=round(x, 1),
                y=round(y, 1),
                ring=ring,
                size=size,
                anchor="start" if is_right else "end",
                label_x=round(x + aside, 1),
                label_y=round(y + 4, 1),
                is_labelled=ring == 0 or len(nodes) <= (_MOST_LABELS if ring == 1 else _FEW),
            )
        )
    return spots


def _node_of(uid: str) -> Mapping[str, Any]:
    return {"id": uid}


def _label(uid: str) -> str:
    """Return the last part of a text id: the symbol, or the file's name."""
    name = uid.partition("#")[2] or uid.rpartition("/")[2].removeprefix("file:")
    return name if len(name) <= _LABEL else f"{name[: _LABEL - 1]}…"
