"""Named SQL statements, read from the files in graph/sql, or in another app's folder."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import LiteralString, cast

_DIRECTORY = Path(__file__).parent / "sql"
_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def statements(name: str, directory: Path = _DIRECTORY) -> Mapping[str, LiteralString]:
    """Return the statements of graph/sql/<name>.sql by their names."""
    _, *parts = _NAME.split((directory / f"{name}.sql").read_text())
    # The files are part of the program: literals that stand elsewhere.
    return {
        key: cast("LiteralString", text) for key, text in zip(parts[::2], parts[1::2], strict=True)
    }
