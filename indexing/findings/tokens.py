"""Source text as tokens: names, texts, numbers, operators, with lines, without comments.

A scanner, not a parser: it never fails, takes time linear in the text, and knows of a language only
how comments and texts are written. Rules about texts and calls need no more, in any language.
"""

import re
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from functools import cache
from typing import Final, NamedTuple


class TokenKind(Enum):
    NAME = auto()
    TEXT = auto()
    NUMBER = auto()
    OPERATOR = auto()
    NEWLINE = auto()


class Token(NamedTuple):
    """One token. The text of a TEXT is its content; `is_filled`: values are put into it."""

    kind: TokenKind
    text: str
    line: int
    column: int
    is_filled: bool = False

    @property
    def is_name(self) -> bool:
        return self.kind is TokenKind.NAME

    @property
    def is_text(self) -> bool:
        return self.kind is TokenKind.TEXT


OPENING: Final = {"(": ")", "[": "]", "{": "}"}
CLOSING: Final = frozenset(OPENING.values())
_LONGEST_CALL = 600

_NAME = r"(?P<name>[^\W\d][\w$]*|\$[A-Za-z_]\w*|@[A-Za-z_]\w*)"
_NUMBER = r"(?P<number>\d[\w.]*)"
_OPERATOR = r"(?P<operator>=>|->|::|:=|==|!=|<=|>=|&&|\|\||\+=|%=|\?\?|\*\*|[^\s\w])"
_NEWLINE = r"(?P<newline>\n)"
_REST = f"{_NAME}|{_NUMBER}|{_NEWLINE}|{_OPERATOR}"

# Whatever is not closed ends with the text or the line: no scanning twice.
_HASH_COMMENT = r"#[^\n]*"
_SLASH_COMMENT = r"//[^\n]*|/\*(?s:.*?)(?:\*/|\Z)"
_LONG_DOUBLE = r'"""(?P<long_double>(?s:(?:\\.|[^\\])*?))(?:"""|\Z)'
_LONG_SINGLE = r"'''(?P<long_single>(?s:(?:\\.|[^\\])*?))(?:'''|\Z)"
_DOUBLE = r'"(?P<double>(?:\\(?s:.)|[^"\\\n])*)(?:"|$)'
_SINGLE = r"'(?P<single>(?:\\(?s:.)|[^'\\\n])*)(?:'|$)"
_MANY_LINES_DOUBLE = r'"(?P<double>(?:\\(?s:.)|[^"\\])*)(?:"|\Z)'
_MANY_LINES_SINGLE = r"'(?P<single>(?:\\(?s:.)|[^'\\])*)(?:'|\Z)"
_BACKTICK = r"`(?P<backtick>(?:\\(?s:.)|[^`\\])*)(?:`|\Z)"
_CHARACTER = r"'(?P<single>\\[^\n]{1,8}?|[^'\\\n])'"
_PREFIX = r"(?P<prefix>[A-Za-z]{1,2}(?=[\"']))?"

_LONG_QUOTED = ("long_double", "long_single", "double", "single", "backtick")


@cache
def _scanner(language: str) -> re.Pattern[str]:
    parts: tuple[str, ...]
    match language:
        case "python":
            texts = f"{_PREFIX}(?:{_LONG_DOUBLE}|{_LONG_SINGLE}|{_DOUBLE}|{_SINGLE})"
            parts = (_HASH_COMMENT, texts)
        case "ruby" | "hcl" | "terraform":
            parts = (_HASH_COMMENT, _MANY_LINES_DOUBLE, _MANY_LINES_SINGLE, _BACKTICK)
        case "php":
            parts = (_HASH_COMMENT, _SLASH_COMMENT, _MANY_LINES_DOUBLE, _MANY_LINES_SINGLE)
        case "javascript" | "typescript" | "tsx":
            parts = (_SLASH_COMMENT, _DOUBLE, _SINGLE, _BACKTICK)
        case "rust":
            raw = r'r(?P<hashes>#*)"(?P<long_double>(?s:.*?))(?:"(?P=hashes)|\Z)'
            parts = (_SLASH_COMMENT, raw, _MANY_LINES_DOUBLE, _CHARACTER)
        case "go":
            parts = (_SLASH_COMMENT, _DOUBLE, _CHARACTER, _BACKTICK)
        case _:
            parts = (_SLASH_COMMENT, _LONG_DOUBLE, _DOUBLE, _CHARACTER)
    return re.compile("|".join((*parts, _REST)), re.MULTILINE)


_FILLED = {
    "javascript": re.compile(r"\$\{"),
    "typescript": re.compile(r"\$\{"),
    "tsx": re.compile(r"\$\{"),
    "ruby": re.compile(r"#\{"),
    "php": re.compile(r"\$\w|\{\$"),
    "kotlin": re.compile(r"\$[\w{]"),
    "scala": re.compile(r"\$[\w{]"),
    "swift": re.compile(r"\\\("),
}


def scan(text: str, *, language: str) -> list[Token]:
    """Return the tokens of a text, without comments."""
    tokens: list[Token] = []
    line, line_starts, reached = 1, 0, 0
    for match in _scanner(language).finditer(text):
        start = match.start()
        skipped = text.count("\n", reached, start)
        if skipped:
            line += skipped
            line_starts = text.rindex("\n", reached, start) + 1
        reached = start
        column = start - line_starts
        kind = match.lastgroup
        if kind == "name":
            tokens.append(Token(TokenKind.NAME, match[0], line, column))
        elif kind == "operator":
            tokens.append(Token(TokenKind.OPERATOR, match[0], line, column))
        elif kind == "newline":
            tokens.append(Token(TokenKind.NEWLINE, "\n", line, column))
        elif kind == "number":
            tokens.append(Token(TokenKind.NUMBER, match[0], line, column))
        elif kind is not None:
            tokens.append(_text_token(match, kind, language, line, column))
    return tokens


def _text_token(match: re.Match[str], kind: str, language: str, line: int, column: int) -> Token:
    groups = match.groupdict()
    content = next((groups[name] for name in _LONG_QUOTED if groups.get(name) is not None), "")
    prefix = (groups.get("prefix") or "").lower()
    if language == "python":
        is_filled = "f" in prefix and "{" in content.replace("{{", "")
    elif language == "csharp":
        is_filled = match.start() > 0 and match.string[match.start() - 1] in "$@" and "{" in content
    elif language in {"javascript", "typescript", "tsx"}:
        is_filled = kind == "backtick" and "${" in content
    else:
        pattern = _FILLED.get(language)
        # Ruby and PHP fill only what stands in double quotes or backticks.
        is_filled = bool(pattern and kind != "single" and pattern.search(content))
    return Token(TokenKind.TEXT, content, line, column, is_filled)


def arguments(tokens: Sequence[Token], opening: int) -> list[Sequence[Token]]:
    """Return the arguments of the call whose parenthesis stands at `opening`, newlines left out.

    An argument list of more than 600 tokens is cut there.
    """
    found: list[list[Token]] = [[]]
    depth = 0
    for token in tokens[opening : opening + _LONGEST_CALL]:
        if token.kind is TokenKind.NEWLINE:
            continue
        if token.kind is TokenKind.OPERATOR:
            if token.text in OPENING:
                depth += 1
                if depth == 1:
                    continue
            elif token.text in CLOSING:
                depth -= 1
                if depth == 0:
                    break
            elif token.text == "," and depth == 1:
                found.append([])
                continue
        found[-1].append(token)
    return [argument for argument in found if argument]


def statement(tokens: Sequence[Token], start: int, *, limit: int = 120) -> Iterator[Token]:
    """Yield the tokens from `start` to the end of the statement: a line's end outside brackets."""
    depth = 0
    for token in tokens[start : start + limit]:
        if token.kind is TokenKind.NEWLINE:
            if depth == 0:
                return
            continue
        if token.kind is TokenKind.OPERATOR:
            if token.text in OPENING:
                depth += 1
            elif token.text in CLOSING:
                depth -= 1
                if depth < 0:
                    return
            elif token.text == ";" and depth == 0:
                return
        yield token
