"""go.mod and go.work."""

import re
from collections.abc import Iterator

from indexing.crossing.values import Dependency, DependencyScope, Manager, Manifest

_GO_MODULE = re.compile(r"^module\s+\"?([^\s\"]+)", re.MULTILINE)
_GO_BLOCK = re.compile(r"^(require|use|replace)\s*\(\s*$(.*?)^\s*\)", re.MULTILINE | re.DOTALL)
_GO_LINE = re.compile(r"^(require|use)\s+([^(\s][^\n]*)$", re.MULTILINE)
_GO_REQUIRED = re.compile(r"^\s*(\S+)\s+(v\S+)\s*(//\s*indirect)?")


def read_go_mod(path: str, text: bytes) -> Manifest | None:
    source = text.decode("utf-8", "replace")
    module = _GO_MODULE.search(source)
    return Manifest(
        path=path,
        manager=Manager.GO,
        name=module[1] if module else "",
        dependencies=tuple(
            Dependency(
                manager=Manager.GO,
                name=found[1].strip('"'),
                range=found[2],
                scope=DependencyScope.INDIRECT if found[3] else DependencyScope.RUNTIME,
            )
            for line in _go_lines(source, "require")
            if (found := _GO_REQUIRED.match(line))
        ),
    )


def read_go_work(path: str, text: bytes) -> Manifest | None:
    used = (
        line.partition("//")[0].strip()
        for line in _go_lines(text.decode("utf-8", "replace"), "use")
    )
    return Manifest(path=path, manager=Manager.GO, members=tuple(one for one in used if one))


def _go_lines(source: str, directive: str) -> Iterator[str]:
    for block in _GO_BLOCK.finditer(source):
        if block[1] == directive:
            yield from block[2].splitlines()
    for line in _GO_LINE.finditer(source):
        if line[1] == directive:
            yield line[2]
