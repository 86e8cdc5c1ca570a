"""Which code the tests reach: along the graph's edges, and by the names that tests mention."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from indexing.findings.rules import severity, threshold
from indexing.findings.values import (
    CALLABLE_KINDS,
    TYPE_KINDS,
    Found,
    HeadFile,
    HeadSymbol,
    Measured,
    Uses,
)

MOST_STEPS = 5


def tested_vertices(
    files: Iterable[HeadFile], symbols: Iterable[HeadSymbol], uses: Uses
) -> frozenset[int]:
    """Return the vertices that tests use, directly or over at most five steps.

    What a test imports runs its module-level code, so files count, too.
    """
    tests = [file.vertex for file in files if file.is_test]
    tests += [symbol.vertex for symbol in symbols if symbol.is_test]
    return frozenset(_reached(np.array(tests, dtype=np.int64), uses).tolist())


def measure_tests(symbols: Sequence[HeadSymbol], *, tested: Collection[int]) -> Iterator[Measured]:
    """Yield how many public symbols of each file tests reach, and the repository's share."""
    public, reached = 0, 0
    by_file: dict[str, list[int]] = {}
    for symbol in symbols:
        if _is_to_be_tested(symbol):
            counts = by_file.setdefault(f"file:{symbol.path}", [0, 0])
            counts[0] += 1
            counts[1] += symbol.vertex in tested
    for node, (total, covered) in by_file.items():
        public, reached = public + total, reached + covered
        yield Measured(node, "tested_symbols", covered)
    if public:
        yield Measured("", "tested_share", round(reached / public, 3))


def untested(symbols: Sequence[HeadSymbol], *, tested: Collection[int]) -> list[HeadSymbol]:
    """Return the public functions with many paths that no edge leads to from any test."""
    if not any(symbol.is_test for symbol in symbols):
        return []
    functions = {(one.path, one.local_name) for one in symbols if one.is_callable}
    heirs = {(one.path, one.local_name) for one in symbols if one.has_bases}
    return [
        symbol
        for symbol in symbols
        if symbol.is_callable
        and _is_to_be_tested(symbol)
        and symbol.cyclomatic > threshold("tests.untested")
        and symbol.vertex not in tested
        and not symbol.decorators  # its framework calls it, in tests too
        and not symbol.name.startswith("__")
        and _owner(symbol) not in functions  # part of the function around it
        and _owner(symbol) not in heirs  # perhaps called as a method of its base
    ]


def find_untested(
    candidates: Sequence[HeadSymbol], *, tests_that_mention: Mapping[str, int]
) -> Iterator[Found]:
    """Yield those whose name no test mentions either; `tests_that_mention` counts them by name."""
    for symbol in candidates:
        if not tests_that_mention.get(symbol.name):
            yield Found(
                rule="tests.untested",
                path=symbol.path,
                line=symbol.start_line,
                end_line=symbol.end_line,
                message=(
                    f"No test reaches {symbol.local_name}, which has {symbol.cyclomatic} paths."
                ),
                severity=severity("tests.untested"),
                confidence=0.7,
                symbol=symbol.id,
            )


def _owner(symbol: HeadSymbol) -> tuple[str, str]:
    return symbol.path, symbol.local_name.rpartition(".")[0]


def _is_to_be_tested(symbol: HeadSymbol) -> bool:
    return symbol.kind in CALLABLE_KINDS | TYPE_KINDS and symbol.is_public and not symbol.is_aside


def _reached(seeds: NDArray[np.int64], uses: Uses) -> NDArray[np.int64]:
    seen = np.unique(seeds)
    ahead = seen
    for _ in range(MOST_STEPS):
        targets = np.unique(uses.targets[np.isin(uses.sources, ahead)])
        ahead = np.setdiff1d(targets, seen, assume_unique=True)
        if not len(ahead):
            break
        seen = np.union1d(seen, ahead)
    return seen
