"""Small charts as numbers for SVG: templates draw them, no script and no library. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log1p
from typing import Final

_WIDTH: Final = 720.0
_MARGIN: Final = 34.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One upright bar; `label` is what a pointer or a screen reader is told."""

    x: float
    y: float
    width: float
    height: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A word at an axis."""

    x: float
    y: float
    text: str
    anchor: str = "middle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Upright bars above a base line; `scale` are the words beside and below."""

    columns: tuple[Column, ...]
    scale: tuple[Mark, ...]
    width: float
    height: float
    base: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    x: float
    y: float
    radius: float
    label: str
    key: str
    is_hot: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter:
    """Dots by two numbers, both on logarithmic axes; the upper right is where to look."""

    dots: tuple[Dot, ...]
    scale: tuple[Mark, ...]
    width: float
    height: float
    left: float
    base: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What a scatter is made of: two numbers (0 or more) and what they are about."""

    key: str
    across: float
    up: float
    is_hot: bool = False


def columns(
    values: Sequence[float],
    labels: Sequence[str],
    *,
    ticks: Sequence[tuple[int, str]] = (),
    height: float = 150.0,
) -> Columns:
    """Return bars for some values; `ticks` name some of them (by position) below the line."""
    base, top = height - 22.0, 12.0
    most = max(values, default=0.0) or 1.0
    step = (_WIDTH - _MARGIN) / max(len(values), 1)
    width = max(step * 0.72, 1.0)
    drawn = tuple(
        Column(
            x=round(_MARGIN + number * step + (step - width) / 2, 2),
            y=round(base - (base - top) * value / most, 2),
            width=round(width, 2),
            height=round((base - top) * value / most, 2),
            label=label,
        )
        for number, (value, label) in enumerate(zip(values, labels, strict=True))
    )
    marks = [
        Mark(x=_MARGIN - 6, y=top + 4, text=f"{most:g}", anchor="end"),
        Mark(x=_MARGIN - 6, y=base + 4, text="0", anchor="end"),
    ]
    marks += [
        Mark(x=round(_MARGIN + (number + 0.5) * step, 2), y=height - 6, text=text)
        for number, text in ticks
    ]
    return Columns(columns=drawn, scale=tuple(marks), width=_WIDTH, height=height, base=base)


def scatter(points: Sequence[Point], *, height: float = 300.0) -> Scatter:
    """Return dots for some points; those that are hot are drawn last, above the others."""
    left, base, top = 44.0, height - 34.0, 14.0
    most_across = max((point.across for point in points), default=0.0) or 1.0
    most_up = max((point.up for point in points), default=0.0) or 1.0
    dots = tuple(
        Dot(
            x=round(left + (_WIDTH - left - 16) * _share(point.across, most_across), 1),
            y=round(base - (base - top) * _share(point.up, most_up), 1),
            radius=5.0 if point.is_hot else 3.5,
            label=f"{point.key}: {point.across:g}, {point.up:g}",
            key=point.key,
            is_hot=point.is_hot,
        )
        for point in sorted(points, key=lambda point: point.is_hot)
    )
    marks = (
        Mark(x=left - 6, y=top + 4, text=f"{most_up:g}", anchor="end"),
        Mark(x=left - 6, y=base, text="0", anchor="end"),
        Mark(x=left, y=base + 16, text="0", anchor="start"),
        Mark(x=_WIDTH - 16, y=base + 16, text=f"{most_across:g}", anchor="end"),
    )
    return Scatter(dots=dots, scale=marks, width=_WIDTH, height=height, left=left, base=base)


def _share(value: float, most: float) -> float:
    return log1p(max(value, 0.0)) / log1p(most)
