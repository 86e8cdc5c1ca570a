"""Machine code of the modules that resolve, where somebody had it made.

`python -m indexing.native` makes it with mypyc and a C compiler; without either, and without it,
the modules run as they are written, more slowly and with the same results. They stay the truth:
machine code lies in a folder named by the digest of all sources that it follows from and by the
Python that it is for, so what was made of others is not found.
"""

import hashlib
import sys
import sysconfig
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Final

MODULES: Final = (
    *("calls", "compiled", "edges", "interface", "names", "offers", "program", "reading"),
    *("structures", "symbols", "tables", "things", "types", "whole"),
)
"""The modules of `indexing.resolution` that are compiled: what mypyc takes as it is.

Not those that parse: half of their time is tree-sitter's, and mypyc cuts bytes otherwise.
"""

CHECKOUT: Final = Path(__file__).resolve().parents[2]
SUFFIX: Final[str] = sysconfig.get_config_var("EXT_SUFFIX")
# What the modules import of ours, and what mypyc may have taken constants and types from.
_SOURCES: Final = (
    "graph/values.py",
    *(f"indexing/{folder}*.py" for folder in ("", "languages/", "native/", "resolution/")),
)


def folder() -> Path:
    """Return where the machine code of these very sources for this Python lies, or would lie."""
    digest = hashlib.sha256(f"{sys.version}/{SUFFIX}".encode())
    for pattern in _SOURCES:
        for path in sorted(CHECKOUT.glob(pattern)):
            content = path.read_bytes()
            digest.update(f"{path.name} {len(content)} ".encode() + content)
    return CHECKOUT / ".local" / "native" / digest.hexdigest()[:32]


def use(made: Path) -> None:
    """Import from a folder of machine code what it has, if it is there."""
    if made.is_dir():
        sys.meta_path.insert(0, Finder(made))


def is_used() -> bool:
    """Tell whether this process runs machine code."""
    return any(isinstance(finder, Finder) for finder in sys.meta_path)


class Finder(MetaPathFinder):
    """Finds modules, and the library that they share, in one folder."""

    def __init__(self, made: Path) -> None:
        self._files = {
            path.relative_to(made).as_posix().removesuffix(SUFFIX).replace("/", "."): path
            for path in made.rglob(f"*{SUFFIX}")
        }

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        file = self._files.get(fullname)
        return spec_from_file_location(fullname, file) if file else None
