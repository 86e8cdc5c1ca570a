"""The server's Markdown as a terminal shows it: the same words without their marks.

Only what the server's reviews are made of is known here: headings, lists, tables, folds, code
spans. What a code span holds is somebody's text, and stays as it is.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Final

from codemem.client.terminal import block, styled

if TYPE_CHECKING:
    from collections.abc import Iterator

_SPAN: Final = re.compile(r"(?<!`)(?P<fence>`+)(?!`)(?P<code>.+?)(?<!`)(?P=fence)(?!`)")
_MARKS: Final = re.compile(r"<!--.*?-->|</?(?:details|summary)>|\*\*")
_BOX: Final = re.compile(r"^- \[[ xX]\] ")
_HEADING: Final = re.compile(r"^#+ ")
_RULE: Final = re.compile(r"^\|(?: ?:?-+:? ?\|)+$")
_NO_WIDTH: Final = "\N{ZERO WIDTH SPACE}"


def plain_of(markdown: str) -> str:
    """Return the text of a review for a terminal; headings stand out where it has colors."""
    shown: list[str] = []
    for is_heading, line in _lines(markdown):
        text = block(line).rstrip()
        if text or (shown and shown[-1]):  # never two empty lines
            shown.append(styled(text, "bold") if is_heading and text else text)
    return "\n".join(shown).strip("\n")


def _lines(markdown: str) -> Iterator[tuple[bool, str]]:
    """Return each line with whether it is a heading; the rows of a table in columns."""
    rows: list[list[str]] = []
    for line in [*markdown.splitlines(), ""]:
        if line.startswith("|"):
            if not _RULE.match(line):
                rows.append([_spoken(cell).strip() for cell in line.strip("|").split("|")])
            continue
        for number, row in enumerate(_in_columns(rows)):
            yield number == 0, row
        rows = []
        is_heading = bool(_HEADING.match(line)) or line.startswith(("**", "<summary>", "<details>"))
        yield is_heading, _spoken(_BOX.sub("- ", _HEADING.sub("", line)))


def _in_columns(rows: list[list[str]]) -> list[str]:
    columns = max(map(len, rows), default=0)
    filled = [row + [""] * (columns - len(row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*filled, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in filled
    ]


def _spoken(text: str) -> str:
    """Return a line without marks; entities are what they stand for, code is what it was."""
    said: list[str] = []
    end = 0
    for span in _SPAN.finditer(text):
        said += [_unmarked(text[end : span.start()]), _unpadded(span["code"])]
        end = span.end()
    return "".join([*said, _unmarked(text[end:])])


def _unmarked(text: str) -> str:
    return html.unescape(_MARKS.sub("", text)).replace(_NO_WIDTH, "")


def _unpadded(code: str) -> str:
    is_padded = code[0] == code[-1] == " " and bool(code.strip())
    return code[1:-1] if is_padded else code
