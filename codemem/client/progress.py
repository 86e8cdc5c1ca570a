"""One line on a terminal that says how far something long is; elsewhere nothing."""

from __future__ import annotations

import sys
from typing import Final

_WIDTH: Final = 24


class Progress:
    """A bar that is written over; `total` 0 means unknown."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._shows = sys.stderr.isatty()
        self._last = ""

    def show(self, done: int, total: int, *, unit: str = "") -> None:
        if not self._shows:
            return
        if total:
            share = min(done / total, 1.0)
            bar = "#" * round(share * _WIDTH)
            text = f"{self._label} [{bar:<{_WIDTH}}] {share:4.0%} {_size(done, unit)}"
        else:
            text = f"{self._label} {_size(done, unit)}"
        if text != self._last:
            self._last = text
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._last:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _size(count: int, unit: str) -> str:
    return f"{count:,} {unit}" if unit else f"{count / 1_000_000:,.1f} MB"
