"""What a file offers and how much of it is documented: metrics, and a finding for the worst."""

from collections.abc import Iterator, Sequence
from typing import Final

from indexing.findings.rules import severity, threshold
from indexing.findings.values import (
    CALLABLE_KINDS,
    TYPE_KINDS,
    Found,
    HeadFile,
    HeadSymbol,
    Measured,
)

_OFFERED: Final = CALLABLE_KINDS | TYPE_KINDS
_LEAST_SYMBOLS: Final = 10


def measure_surface(*, file: HeadFile, symbols: Sequence[HeadSymbol]) -> Iterator[Measured]:
    """Yield the size, the public surface and the complexity of a file."""
    callables = [symbol for symbol in symbols if symbol.is_callable]
    offered = _offered(file, symbols)
    yield Measured(file.id, "lines", file.lines)
    yield Measured(file.id, "functions", len(callables))
    yield Measured(file.id, "public_symbols", len(offered))
    yield Measured(file.id, "documented_symbols", sum(symbol.has_doc for symbol in offered))
    yield Measured(file.id, "cyclomatic", sum(symbol.cyclomatic for symbol in callables))
    yield Measured(file.id, "cognitive", sum(symbol.cognitive for symbol in callables))


def find_undocumented(*, file: HeadFile, symbols: Sequence[HeadSymbol]) -> Iterator[Found]:
    """Yield one finding for a file that offers much and explains next to nothing."""
    offered = _offered(file, symbols)
    documented = sum(symbol.has_doc for symbol in offered)
    if len(offered) < _LEAST_SYMBOLS or documented >= threshold("docs.undocumented-api") * len(
        offered
    ):
        return
    yield Found(
        rule="docs.undocumented-api",
        path=file.path,
        line=1,
        end_line=file.lines,
        message=f"{documented} of {len(offered)} public symbols are documented.",
        severity=severity("docs.undocumented-api"),
        confidence=1.0,
    )


def _offered(file: HeadFile, symbols: Sequence[HeadSymbol]) -> list[HeadSymbol]:
    """Return the public functions, methods and types; not what is inside a function."""
    if file.is_aside:
        return []
    inner = {symbol.local_name for symbol in symbols if symbol.is_callable}
    return [
        symbol
        for symbol in symbols
        if symbol.kind in _OFFERED
        and symbol.is_public
        and symbol.local_name.rpartition(".")[0] not in inner
    ]
