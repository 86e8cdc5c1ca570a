"""`codemem ui`: the server's pages in a browser."""

from __future__ import annotations

import os
import sys

from codemem.client.failure import ExitStatus
from codemem.client.terminal import note, print_json


def run(*, url: str, only_prints: bool, as_json: bool) -> ExitStatus:
    """Open the server's first page, or say where it is where there is no browser to open."""
    address = f"{url}/"
    opened = not only_prints and not as_json and _has_screen() and _open(address)
    if as_json:
        print_json({"url": address})
    elif not opened:
        print(address)
    else:
        note(f"Opened {address}")
    return ExitStatus.OK


def _has_screen() -> bool:
    # Without one, webbrowser would start a browser in this terminal.
    if sys.platform in ("darwin", "win32"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def _open(address: str) -> bool:
    import webbrowser

    return webbrowser.open(address)
