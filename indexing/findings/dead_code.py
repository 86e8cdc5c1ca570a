"""Symbols that nothing uses: no edge leads to them, and their name is written nowhere else.

The second condition is what makes it precise: reflection, templates, configuration and languages
that resolve poorly all write the name somewhere.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from graph.values import NodeKind, Visibility
from indexing.findings.rules import severity
from indexing.findings.values import CALLABLE_KINDS, Found, HeadSymbol, Severity, Uses

_KINDS: Final = CALLABLE_KINDS | {NodeKind.CLASS, NodeKind.INTERFACE, NodeKind.ENUM, NodeKind.TYPE}
_ENTRIES: Final = frozenset(
    {"main", "init", "setup", "constructor", "default", "handler", "register"}
)
# Called by whoever an object is registered with.
_HOOKS: Final = ("on_", "pytest_", "setup_", "before_", "after_", "do_", "handle_")
_SHORTEST_NAME: Final = 4
# `visit_Name`, `do_GET`: so many siblings with one prefix are called by a composed name.
_SIBLINGS_OF_A_FAMILY: Final = 3
MOST_CANDIDATES: Final = 3_000
_CONFIDENCE_OF_PRIVATE: Final = 0.9
_CONFIDENCE_OF_PUBLIC: Final = 0.5


def unused(symbols: Sequence[HeadSymbol], uses: Uses) -> list[HeadSymbol]:
    """Return the symbols that no other symbol or file depends on and no framework calls."""
    if not len(uses.sources):
        return []
    used = set(np.unique(uses.targets[uses.sources != uses.targets]).tolist())
    names = Counter(symbol.name for symbol in symbols)
    families = Counter(_family(symbol) for symbol in symbols)
    types = {(symbol.path, symbol.local_name): symbol for symbol in symbols}
    found = [
        symbol
        for symbol in symbols
        if symbol.kind in _KINDS
        and symbol.vertex not in used
        and not symbol.is_aside
        and not symbol.name.startswith(_HOOKS)
        and not (symbol.is_public and _has_bases(symbol, types))
        and not symbol.decorators
        and len(symbol.name) >= _SHORTEST_NAME
        and not (symbol.name.startswith("__") and symbol.name.endswith("__"))
        and symbol.name.lower() not in _ENTRIES
        and names[symbol.name] == 1
        and families[_family(symbol)] < _SIBLINGS_OF_A_FAMILY
        and not _is_member_of_used_interface(symbol, types)
    ]
    return found[:MOST_CANDIDATES]


def find_unused(
    candidates: Sequence[HeadSymbol], *, mentions: Mapping[str, int]
) -> Iterator[Found]:
    """Yield the candidates whose name stands once in the whole tree, where they are defined."""
    for symbol in candidates:
        if mentions.get(symbol.name, 0) > 1:
            continue
        is_public = symbol.is_public and symbol.visibility is Visibility.PUBLIC
        yield Found(
            rule="dead-code.unused-symbol",
            path=symbol.path,
            line=symbol.start_line,
            end_line=symbol.end_line,
            message=(
                f"Nothing in the repository uses {symbol.local_name}"
                + (", which may be there for others." if is_public else ".")
            ),
            severity=Severity.INFO if is_public else severity("dead-code.unused-symbol"),
            confidence=_CONFIDENCE_OF_PUBLIC if is_public else _CONFIDENCE_OF_PRIVATE,
            symbol=symbol.id,
        )


def _family(symbol: HeadSymbol) -> tuple[str, str, str]:
    """Return what siblings that are called by a composed name have in common."""
    owner = symbol.local_name.rpartition(".")[0]
    prefix, underscore, _ = symbol.name.lstrip("_").partition("_")
    # Without an underscore a name is a family of its own.
    return symbol.path, owner, f"{prefix}_" if underscore else f"={symbol.name}"


def _has_bases(symbol: HeadSymbol, types: Mapping[tuple[str, str], HeadSymbol]) -> bool:
    """Tell whether a method may override one that somebody else calls."""
    owner = types.get((symbol.path, symbol.local_name.rpartition(".")[0]))
    return owner is not None and owner.has_bases


def _is_member_of_used_interface(
    symbol: HeadSymbol, types: Mapping[tuple[str, str], HeadSymbol]
) -> bool:
    owner = types.get((symbol.path, symbol.local_name.rpartition(".")[0]))
    return owner is not None and owner.kind is NodeKind.INTERFACE
