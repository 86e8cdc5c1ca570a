"""Smells and complexity: functions, classes and files that are larger than people can follow.

Looks at one file at a time, at its symbols and, for nesting, at its tokens.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from indexing.findings.rules import severity as base_severity
from indexing.findings.rules import threshold
from indexing.findings.tokens import Token, TokenKind, scan
from indexing.findings.values import (
    CALLABLE_KINDS,
    TYPE_KINDS,
    Found,
    HeadFile,
    HeadSymbol,
    Severity,
)

_CONTROL: Final = frozenset(
    "if elif else for foreach while switch match when try catch except finally with do loop select"
    " unless until".split()
)
_LABELS: Final = frozenset({"case", "default"})
_INDENTED: Final = frozenset({"python"})
_BRACED: Final = frozenset(
    "javascript typescript tsx go rust c cpp java csharp kotlin swift php scala".split()
)
_LINES_OF_A_GOD_CLASS: Final = 500
# A function with less cannot be nested so deep: each level adds one more than the one before.
_LEAST_COGNITIVE_OF_DEEP: Final = 15
_RECEIVERS: Final = frozenset({"self", "cls", "this"})


def find_smells(
    *, file: HeadFile, symbols: Sequence[HeadSymbol], content: bytes | None
) -> list[Found]:
    """Return what is too large or too tangled in one file; tests may be as long as they like."""
    if file.is_aside:
        return []
    found = [*_of_file(file), *_of_types(symbols)]
    for symbol in symbols:
        if symbol.is_callable and not symbol.is_test:
            found += _of_function(symbol)
    deep = [symbol for symbol in symbols if symbol.cognitive >= _LEAST_COGNITIVE_OF_DEEP]
    if content is not None and deep:
        found += _nested(deep, scan(content.decode("utf-8", "replace"), language=file.language))
    return found


def _of_file(file: HeadFile) -> Iterator[Found]:
    limit = threshold("smell.large-file")
    if file.lines > limit:
        yield Found(
            rule="smell.large-file",
            path=file.path,
            line=1,
            end_line=file.lines,
            message=f"The file has {file.lines:,} lines.",
            severity=_worse_above("smell.large-file", file.lines, 3 * limit),
            confidence=1.0,
        )


def _of_types(symbols: Sequence[HeadSymbol]) -> Iterator[Found]:
    methods: dict[str, int] = {}
    for symbol in symbols:
        if symbol.kind in CALLABLE_KINDS:
            owner = symbol.local_name.rpartition(".")[0]
            methods[owner] = methods.get(owner, 0) + 1
    for symbol in symbols:
        count = methods.get(symbol.local_name, 0)
        if (
            symbol.kind in TYPE_KINDS
            and count > threshold("smell.god-class")
            and symbol.lines > _LINES_OF_A_GOD_CLASS
        ):
            yield _about(
                symbol,
                "smell.god-class",
                f"{symbol.name} has {count} methods in {symbol.lines:,} lines.",
            )


def _of_function(symbol: HeadSymbol) -> Iterator[Found]:
    # What a decorator reads (a command's options) no caller fills.
    needed = 0 if symbol.decorators else _needed_parameters(symbol)
    measured = (
        ("complexity.cognitive", symbol.cognitive, "{} has a cognitive complexity of {}."),
        ("complexity.cyclomatic", symbol.cyclomatic, "{} has {} independent paths."),
        ("smell.long-function", symbol.lines, "{} is {} lines long."),
        (
            "smell.many-parameters",
            needed,
            "Callers of {} have to fill {} parameters.",
        ),
    )
    for rule, value, sentence in measured:
        if value > threshold(rule):
            worse = _worse_above(rule, value, 3 * threshold(rule))
            yield _about(symbol, rule, sentence.format(symbol.name, value), severity=worse)


def _needed_parameters(symbol: HeadSymbol) -> int:
    """Count the parameters without a default, variable ones and the object itself left out."""
    return sum(
        1
        for position, parameter in enumerate(symbol.parameters)
        if not (
            "=" in parameter
            or parameter.lstrip().startswith(("*", "...", "/"))
            or "?:" in parameter
            or (
                position == 0
                and parameter.split(":")[0].strip().lstrip("&").removeprefix("mut ") in _RECEIVERS
            )
        )
    )


# --- Nesting --------------------------------------------------------------------------------------
def _nested(symbols: Iterable[HeadSymbol], tokens: Sequence[Token]) -> Iterator[Found]:
    by_line: dict[int, list[Token]] = {}
    for token in tokens:
        by_line.setdefault(token.line, []).append(token)
    for symbol in symbols:
        body = [
            token
            for line in range(symbol.start_line, symbol.end_line + 1)
            for token in by_line.get(line, ())
        ]
        depth, line = 0, symbol.start_line
        if symbol.language in _INDENTED:
            depth, line = _deepest_by_indentation(body)
        elif symbol.language in _BRACED:
            depth, line = _deepest_by_braces(body)
        if depth > threshold("smell.deep-nesting"):
            yield _about(
                symbol,
                "smell.deep-nesting",
                f"{symbol.name} nests control flow {depth} levels deep.",
                line=line,
            )


def _deepest_by_indentation(tokens: Sequence[Token]) -> tuple[int, int]:
    """Return how many control statements stand around the deepest one, and its line."""
    deepest, deepest_line = 0, 0
    around: list[int] = []
    brackets = 0
    is_first = True
    for token in tokens:
        if token.kind is TokenKind.NEWLINE:
            is_first = brackets == 0
            continue
        if token.kind is TokenKind.OPERATOR:
            brackets += (token.text in "([{") - (token.text in ")]}")
        if is_first:
            while around and around[-1] >= token.column:
                around.pop()
            if token.text in _CONTROL and token.is_name:
                around.append(token.column)
                if len(around) > deepest:
                    deepest, deepest_line = len(around), token.line
            is_first = False
    return deepest, deepest_line


def _deepest_by_braces(tokens: Sequence[Token]) -> tuple[int, int]:
    """The same, where braces make blocks: one is control flow when its statement begins so."""
    deepest, deepest_line, depth = 0, 0, 0
    blocks: list[tuple[bool, int]] = []  # is it control flow, and the open parentheses outside
    first, parentheses = "", 0
    for token in tokens:
        match token.text if not token.is_text else "":
            case "{":
                is_control = first in _CONTROL
                blocks.append((is_control, parentheses))
                depth += is_control
                first, parentheses = "", 0
                if depth > deepest:
                    deepest, deepest_line = depth, token.line
            case "}":
                was_control, parentheses = blocks.pop() if blocks else (False, 0)
                depth -= was_control
                first = ""
            case "(" | "[":
                parentheses += 1
            case ")" | "]":
                parentheses -= 1
            case "" | "\n":
                pass
            case text if parentheses <= 0:
                first = _first_word(first, text)
    return deepest, deepest_line


def _first_word(first: str, text: str) -> str:
    """Return the first word of the statement after one more token of it."""
    if text == ";" or (text == ":" and first in _LABELS):
        return ""
    return text if not first or (first == "else" and text == "if") else first


def _about(
    symbol: HeadSymbol,
    rule: str,
    message: str,
    *,
    severity: Severity | None = None,
    line: int | None = None,
) -> Found:
    return Found(
        rule=rule,
        path=symbol.path,
        line=line or symbol.start_line,
        end_line=line or symbol.end_line,
        message=message,
        severity=base_severity(rule) if severity is None else severity,
        confidence=1.0,
        symbol=symbol.id,
    )


def _worse_above(rule: str, value: float, limit: float) -> Severity:
    """Return the rule's severity, one step higher above a limit."""
    return Severity(min(Severity.HIGH, base_severity(rule) + (value > limit)))
