"""An indexer that behaves as its first argument says; the last one is where the index goes.

Runs as a program of its own, in the folder of the exported tree.
"""

import os
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from indexing.scip.index import message_class

_WORD = re.compile(r"\b(?P<definition>def|class)?\s*\b(?P<name>[a-z]\w+)\b")


def index_of(folder: Path) -> bytes:
    """Index Python files: each `def NAME` is a definition, each other NAME refers to it."""
    index = message_class("Index")()
    for path in sorted(folder.rglob("*.py")):
        document = index.documents.add(relative_path=str(path.relative_to(folder)))
        for number, line in enumerate(path.read_text().splitlines()):
            for found in _WORD.finditer(line):
                place = [number, found.start("name"), found.end("name")]
                symbol = f"fake python shop 1 `all`/{found['name']}()."
                is_definition = found["definition"] == "def"
                document.occurrences.add(
                    range=place, symbol=symbol, symbol_roles=int(is_definition)
                )
                if is_definition:
                    document.symbols.add(
                        symbol=symbol, documentation=[f"Hover text of {found['name']}."]
                    )
    data: bytes = index.SerializeToString()
    return data


def good(source: Path, output: Path) -> None:
    output.write_bytes(index_of(source))


def hang(_source: Path, _output: Path) -> None:
    time.sleep(600)


def grow(_source: Path, _output: Path) -> None:
    hoard = bytearray(os.urandom(1 << 20) * 300)
    time.sleep(len(hoard))


def flood(_source: Path, output: Path) -> None:
    with output.open("wb") as file:
        while True:
            file.write(b"\0" * (1 << 20))


def crash(_source: Path, _output: Path) -> None:
    sys.exit("cannot go on")


def crash_on_bad_files(source: Path, output: Path) -> None:
    excluded = (source / "pyrightconfig.json").read_text()
    for path in sorted(source.rglob("bad*.py")):
        if path.name not in excluded:
            sys.exit(f"currentFilepath: {path.relative_to(source)} broke it")
    good(source, output)


def cut(source: Path, output: Path) -> None:
    output.write_bytes(index_of(source)[:-5])


def garbage(_source: Path, output: Path) -> None:
    output.write_bytes(os.urandom(4000))


def nothing(_source: Path, _output: Path) -> None:
    pass


def environment(_source: Path, _output: Path) -> None:
    sys.exit("SECRETS " + " ".join(name for name in os.environ if "CODEMEM" in name))


BEHAVIORS = [
    *(good, hang, grow, flood, crash, crash_on_bad_files),
    *(cut, garbage, nothing, environment),
]

if __name__ == "__main__":
    named = {behavior.__name__: behavior for behavior in BEHAVIORS}
    named[sys.argv[1]](Path.cwd(), Path(sys.argv[-1]))
