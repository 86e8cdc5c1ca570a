"""One table in a TOML file, written and taken out without touching anything else of it.

Every edit is proven: the file is read again, and must say what it said before and our table.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from codemem.client.install.jsonc import Malformed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_HEADER: Final = re.compile(r"(?m)^[ \t]*\[\[?[ \t]*([^\[\]\r\n]+?)[ \t]*\]\]?[ \t]*(?:#.*)?\r?$")
# What may hold a line that looks like a header, and what may look like the begin of that.
_STRINGS: Final = re.compile(
    r"""#[^\n]*|(\"{3}(?:[^\\]|\\.)*?\"{3,5}|'{3}.*?'{3,5})|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'""",
    re.DOTALL,
)
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


def table_of(text: str, path: Sequence[str]) -> Any:
    """Return what a table says, None where there is none. Raises Malformed."""
    value: Any = _read(text)
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def with_table(text: str, path: Sequence[str], value: Mapping[str, object]) -> str:
    """Return the text with the table, made or replaced. Raises Malformed."""
    if table_of(text, path) == value:
        return text
    rest = without_table(text, path)
    line_end = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{'.'.join(map(_key, path))}]"]
    lines += [f"{_key(name)} = {_written(one)}" for name, one in value.items()]
    gap = "" if rest.endswith("\n") or not rest.lstrip("\ufeff") else line_end
    gap += line_end if rest.lstrip("\ufeff") else ""
    edited = f"{rest}{gap}{line_end.join(lines)}{line_end}"
    expected = _read(rest)
    parent = expected
    for name in path[:-1]:
        parent = parent.setdefault(name, {})
    parent[path[-1]] = dict(value)
    return _proven(edited, expected)


def without_table(text: str, path: Sequence[str]) -> str:
    """Return the text without the table and those under it. Raises Malformed."""
    if table_of(text, path) is None:
        return text
    expected = _read(text)
    parent = expected
    for name in path[:-1]:
        parent = parent[name]
    del parent[path[-1]]
    headers = [(found.start(), _names(found[1])) for found in _HEADER.finditer(_masked(text))]
    headers.append((len(text), []))
    edited, kept_from = "", 0
    for (start, names), (end, _) in pairwise(headers):
        if names[: len(path)] == list(path):
            edited += text[kept_from:start]
            kept_from = end
    edited += text[kept_from:]
    if kept_from == len(text):
        # The blank line before a table at the end came with it.
        edited = re.sub(r"(\r?\n)(?:\r?\n)+\Z", r"\1", edited)
    if path[:-1] and not parent:
        _prune(expected, path[:-1], edited)
    return _proven(edited, expected)


def _prune(expected: dict[str, Any], path: Sequence[str], edited: str) -> None:
    """Forget a parent that only our table's header had made."""
    if table_of(edited, path) is None:
        *parents, last = path
        parent = expected
        for name in parents:
            parent = parent[name]
        del parent[last]


def _proven(edited: str, expected: Mapping[str, Any]) -> str:
    if _read(edited) != expected:
        raise Malformed(
            "this file is written in a way that cannot be edited safely; add the table by hand"
        )
    return edited


def _read(text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise Malformed(str(error)) from error


def _masked(text: str) -> str:
    """Return the text, equally long, without the brackets inside of long strings."""
    return _STRINGS.sub(lambda found: found[0].replace("[", " ") if found[1] else found[0], text)


def _names(header: str) -> list[str]:
    return [part.strip().strip("\"'") for part in header.split(".")]


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name)


def _written(value: object) -> str:
    if isinstance(value, dict):
        inner = ", ".join(f"{_key(name)} = {_written(one)}" for name, one in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_written, value))}]"
    # Strings, numbers and booleans are written as in JSON.
    return json.dumps(value, ensure_ascii=False)
