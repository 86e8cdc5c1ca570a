"""How output looks: colors on a terminal only, and no control characters out of foreign text.

Knows nothing of servers or commands. What a team mate or a repository put into a memory or a
symbol name must not be able to move the cursor, hide text or recolor the reader's terminal.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from codemem.client.failure import Failure

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}

_CONTROLS = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)), "\N{REPLACEMENT CHARACTER}")
# Overrides and isolates of the bidirectional algorithm: they make text read as what it is not.
_BIDI = dict.fromkeys((0x200E, 0x200F, 0x061C, *range(0x202A, 0x202F), *range(0x2066, 0x206A)), "")
_BLOCK = _CONTROLS | _BIDI | {ord("\n"): "\n", ord("\t"): "\t", ord("\r"): ""}
_LINE = _CONTROLS | _BIDI | {ord("\n"): " ", ord("\t"): " ", ord("\r"): ""}


def prepare_streams() -> None:
    """Let characters that the terminal's encoding lacks become question marks, not tracebacks."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def block(text: object) -> str:
    """Return foreign text for display, line breaks kept."""
    return str(text).translate(_BLOCK)


def line(text: object) -> str:
    """Return foreign text for display on one line."""
    return str(text).translate(_LINE)


def styled(text: str, *styles: str) -> str:
    """Return text in color where standard output is a terminal that wants it."""
    if not styles or not _wants_color(sys.stdout):
        return text
    return f"\x1b[{';'.join(_STYLES[style] for style in styles)}m{text}\x1b[0m"


def print_json(value: object) -> None:
    """Print for programs: ASCII only, so no encoding of the terminal can break it."""
    import json

    print(json.dumps(value, indent=2))


def note(text: str) -> None:
    """Say something beside the output: on standard error."""
    print(f"codemem: {block(text)}", file=sys.stderr)


def explain(failure: Failure, *, as_json: bool) -> None:
    """Say why the command failed; for programs also as an object on standard output."""
    if as_json:
        print_json(failure.as_json())
    note(failure.message)
    if failure.hint:
        print(f"  hint: {block(failure.hint)}", file=sys.stderr)


def _wants_color(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()
