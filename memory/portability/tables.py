"""Memories as a table: one a row, for spreadsheets. Loses history and links; comes back as edits.

A cell that a spreadsheet would take for a formula gets an apostrophe in front, and so does one that
begins with an apostrophe, so that taking the first one away always gives the cell back. Pure.
"""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

from memory.portability.records import Line, Record

COLUMNS = (
    "id",
    "version",
    "type",
    "content",
    "tags",
    "importance",
    "confidence",
    "pinned",
    "state",
    "visibility",
    "repository",
    "branch",
    "author",
    "agent",
    "source",
    "created_at",
    "updated_at",
    "expires_at",
    "rationale",
    "alternatives",
    "acceptance_criteria",
    "evidence",
)
_STRUCTURED = frozenset({"tags", "alternatives", "acceptance_criteria", "evidence"})
_NUMBERS = {"importance": float, "confidence": float, "version": int}
# What Excel, LibreOffice and Google Sheets begin a formula with, and our own mark.
_BEGINS_A_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "'")
_LONGEST_CELL = 1 << 20


class TableInvalid(Exception):
    """The file is no table of memories; the message says what is missing."""


def heading() -> bytes:
    """Return the first line; it begins with a byte order mark, or Excel would not read UTF-8."""
    return b"\xef\xbb\xbf" + _line(COLUMNS)


def row(record: Record) -> bytes:
    return _line([safe(_cell(name, record.get(name))) for name in COLUMNS])


def safe(cell: str) -> str:
    """Return a cell that no spreadsheet calculates; `plain` gives it back."""
    return f"'{cell}" if cell.startswith(_BEGINS_A_FORMULA) else cell


def plain(cell: str) -> str:
    return cell.removeprefix("'")


def lines(text: Iterator[str], *, first: int = 1) -> Iterator[Line]:
    """Yield the records of a table; a row's number is that of its first line in the file.

    `first` is the number of the heading's line, for a part of a larger table.

    Raise TableInvalid when the heading is not one of ours.
    """
    csv.field_size_limit(_LONGEST_CELL)
    rows = csv.reader(text, strict=True)
    names: list[str] | None = None
    while True:
        number = rows.line_num + first
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            yield Line(number=number, problem=f"The row cannot be read: {error}.")
            continue
        if names is None:
            names = _names(cells)
        elif any(cells):
            yield _read(number, names, cells)


def _names(cells: Sequence[str]) -> list[str]:
    names = [cell.strip().removeprefix("\ufeff").lower() for cell in cells]
    if "content" not in names:
        raise TableInvalid(
            "The first row must name the columns, at least `content`; known are: "
            f"{', '.join(COLUMNS)}."
        )
    if unknown := [name for name in names if name and name not in COLUMNS]:
        raise TableInvalid(f"There is no column {unknown[0][:40]!r}; known: {', '.join(COLUMNS)}.")
    return names


def _read(number: int, names: Sequence[str], cells: Sequence[str]) -> Line:
    if len(cells) > len(names):
        return Line(number=number, problem=f"The row has {len(cells)} cells for {len(names)}.")
    record: Record = {}
    for name, cell in zip(names, cells, strict=False):
        if not name or cell == "":
            continue
        try:
            record[name] = _value(name, plain(cell))
        except ValueError:
            return Line(number=number, problem=f"{name} cannot be read: {cell[:40]!r}.")
    return Line(number=number, record=record)


def _value(name: str, cell: str) -> Any:
    if name == "tags" and not cell.startswith("["):
        return [tag for part in cell.split(",") if (tag := part.strip())]
    if name in _STRUCTURED:
        return json.loads(cell)
    if name in _NUMBERS:
        return _NUMBERS[name](cell)
    if name == "pinned":
        return {"true": True, "false": False}[cell.lower()] if cell.lower() in _TRUTHS else cell
    return cell


def _cell(name: str, value: Any) -> str:
    if value is None or value == []:
        return ""
    if name in _STRUCTURED:
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _line(cells: Sequence[str]) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerow(cells)
    return buffer.getvalue().encode()


_TRUTHS = frozenset({"true", "false"})
