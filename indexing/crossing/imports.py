"""What a file uses of other packages: its imports that lead out of the repository, and their uses.

Knows one file's facts and which of its lines import something of its own repository; which package
and which symbol of whom is meant is `linking`'s question.
"""

import re
import sys
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, NamedTuple

from indexing.crossing.reading.source import Source
from indexing.crossing.values import Manager
from indexing.expressions import steps_of
from indexing.facts import BlobFacts, Import, ImportKind, ReferenceKind

MANAGERS: Final[Mapping[str, Manager]] = {
    "python": Manager.PYPI,
    "javascript": Manager.NPM,
    "typescript": Manager.NPM,
    "tsx": Manager.NPM,
    "go": Manager.GO,
    "rust": Manager.CARGO,
    "java": Manager.MAVEN,
    "kotlin": Manager.MAVEN,
    "scala": Manager.MAVEN,
    "ruby": Manager.GEM,
    "php": Manager.COMPOSER,
    "csharp": Manager.NUGET,
}
"""Whose packages a language's imports name."""

_NODE_MODULES: Final = frozenset(
    """
    assert async_hooks buffer child_process cluster console constants crypto dgram
    diagnostics_channel dns domain events fs http http2 https inspector module net os path
    perf_hooks process punycode querystring readline repl stream string_decoder sys timers tls
    trace_events tty url util v8 vm wasi worker_threads zlib
    """.split()
)
_OF_THE_LANGUAGE: Final[Mapping[Manager, re.Pattern[str]]] = {
    Manager.CARGO: re.compile(r"(std|core|alloc|crate|self|super|proc_macro)(::|$)"),
    Manager.MAVEN: re.compile(r"(java|javax|kotlin|kotlinx|scala|sun|jdk)\."),
    Manager.NUGET: re.compile(r"System(\.|$)"),
}
_MAXIMUM_USES: Final = 2_000
_IS_RELATIVE: Final = re.compile(r"\.|/|#|~|@/")


class OuterUse(NamedTuple):
    """One use of something of another package: what is used, by whom, where."""

    name: str
    symbol: str
    line: int
    is_call: bool


class OuterImport(NamedTuple):
    """One import that leads out of the repository; names are dotted below the module."""

    manager: str
    module: str
    name: str
    line: int
    uses: tuple[OuterUse, ...]


def outer_imports(facts: BlobFacts, *, own_lines: Collection[int]) -> tuple[OuterImport, ...]:
    """Return the imports of other packages; `own_lines` import something of the repository."""
    manager = MANAGERS.get(facts.language)
    if manager is None:
        return ()
    outer = [
        one
        for one in facts.imports
        if one.line not in own_lines and not _is_of_the_language(manager, one.module)
    ]
    if not outer:
        return ()
    uses = _uses(facts, outer)
    return tuple(
        OuterImport(manager.value, one.module, one.name, one.line, tuple(uses[position]))
        for position, one in enumerate(outer)
    )


def outer_from_json(rows: list[list[Any]]) -> tuple[OuterImport, ...]:
    """Read what was kept of `outer_imports`."""
    return tuple(
        OuterImport(manager, module, name, line, tuple(OuterUse(*use) for use in uses))
        for manager, module, name, line, uses in rows
    )


def _uses(facts: BlobFacts, outer: list[Import]) -> Mapping[int, list[OuterUse]]:
    """Return position in `outer` -> its uses, each once by each symbol."""
    heads = {local: position for position, one in enumerate(outer) for local in _locals(one, facts)}
    source = Source(facts)
    found: defaultdict[int, dict[tuple[str, str], OuterUse]] = defaultdict(dict)
    for reference in facts.references[: 50 * _MAXIMUM_USES]:
        used = _used(reference.receiver, reference.name, heads)
        if used is None or reference.is_shadowed:
            continue
        position, dotted = used
        symbol = source.symbol(reference.scope)
        use = OuterUse(dotted, symbol, reference.line, reference.kind is ReferenceKind.CALL)
        known = found[position].get((dotted, symbol))
        if known is None or (use.is_call and not known.is_call):
            found[position][dotted, symbol] = use
    return defaultdict(
        list, {key: list(uses.values())[:_MAXIMUM_USES] for key, uses in found.items()}
    )


def _used(receiver: str | None, name: str, heads: Mapping[str, int]) -> tuple[int, str] | None:
    """Return which import a reference begins with, and what it names below it."""
    if receiver == "":
        return None
    chain = f"{receiver}.{name}" if receiver else name
    steps = steps_of(chain)
    for end in range(min(len(steps), 4), 0, -1):
        head = ".".join(steps[:end])
        if head in heads:
            rest = []
            for step in steps[end:]:
                if step in ("()", "[]"):
                    break  # of what a call returns nothing is known
                rest.append(step)
            return heads[head], ".".join(rest)
    return None


def _locals(one: Import, facts: BlobFacts) -> Iterator[str]:
    """Yield the names that an import binds in its file."""
    if one.kind in (ImportKind.STAR, ImportKind.EXPORT_STAR, ImportKind.EXPORT_NAME):
        return
    if one.alias or one.name:
        yield one.alias or one.name
    elif facts.language == "go":
        segments = [part for part in one.module.split("/") if not re.fullmatch(r"v\d+", part)]
        yield segments[-1].partition(".")[0].removeprefix("go-") if segments else one.module
    elif facts.language in ("java", "kotlin", "scala", "csharp", "php"):
        yield re.split(r"[.\\]", one.module)[-1]
    else:
        yield one.module


def _is_of_the_language(manager: Manager, module: str) -> bool:
    head = re.split(r"[./:]", module, maxsplit=1)[0]
    if not module or _IS_RELATIVE.match(module):
        return True
    match manager:
        case Manager.PYPI:
            return head in sys.stdlib_module_names
        case Manager.NPM:
            return head in _NODE_MODULES or module.startswith("node:")
        case Manager.GO:
            # Whatever is not fetched from somewhere is of Go itself.
            return "." not in module.partition("/")[0]
        case Manager.GEM:
            return False
        case _:
            pattern = _OF_THE_LANGUAGE.get(manager)
            return bool(pattern and pattern.match(module))
