"""People's own Cypher as text: what it may say, and what its columns are called.

Pure. A first line of defense and the place of helpful refusals; the second line is the role that
runs the query (graph.cypher_access), which may read one graph and nothing else.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

LONGEST: Final = 4_000
_DEEPEST: Final = 20
_MOST_COLUMNS: Final = 30

# Functions of openCypher that compute and no more. Not among them: those that make rows or wait
# (range), that read past row security (startNode, endNode, shortestPath), that come from Postgres.
FUNCTIONS: Final = frozenset(
    "abs all any avg ceil coalesce collect count end_id exists floor head id isempty keys label"
    " labels last left length log log10 ltrim max min nodes none percentilecont percentiledisc"
    " properties relationships replace reverse right round rtrim sign single size split sqrt"
    " start_id stdev stdevp substring sum tail toboolean tofloat tointeger tolower tostring"
    " toupper trim type".split()
)
# Words that stand before a parenthesis without being functions.
_KEYWORDS: Final = frozenset(
    "and as asc ascending by case contains count desc descending distinct else end ends exists in"
    " is limit match not null on optional or order return skip starts then union unwind when where"
    " with xor true false".split()
)
_FORBIDDEN: Final = frozenset(
    "call create delete detach drop explain foreach load merge profile remove set yield".split()
)
_TOKEN: Final = re.compile(
    r"""(?P<space>\s+)
      | (?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
      | (?P<quoted>`[^`]*`)
      | (?P<name>[^\W\d]\w*)
      | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
      | (?P<sign><-|->|<=|>=|<>|=~|\.\.|::|[-+*/%^=<>.,:|()\[\]{}])""",
    re.VERBOSE | re.DOTALL,
)
_OPENING: Final = {"(": ")", "[": "]", "{": "}"}
_CLOSING: Final = frozenset(_OPENING.values())
_AFTER_COLUMNS: Final = frozenset({"order", "skip", "limit", "union"})


class CypherRefused(Exception):
    """The query says something that is not allowed here, or that this server cannot read."""


class _Token(NamedTuple):
    kind: str
    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """The text as a keyword or function is compared: without quotes, in lower case."""
        return self.text.strip("`").lower()


@dataclass(frozen=True, slots=True)
class ReadQuery:
    """A query that only reads, and the names of its columns in order."""

    text: str
    columns: tuple[str, ...]


def read_query(text: str) -> ReadQuery:
    """Return the query if it only reads and is bounded; raise CypherRefused with the reason."""
    if len(text) > LONGEST:
        raise CypherRefused(f"The query is longer than {LONGEST:,} characters.")
    tokens = list(_tokens(text))
    _check_nesting(tokens)
    for position, token in enumerate(tokens):
        _check_token(tokens, position, token)
    return ReadQuery(text=text, columns=_columns(text, tokens))


def _tokens(text: str) -> Iterator[_Token]:
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            shown = text[position : position + 20]
            hint = " Parameters are not supported: write the value." if shown[0] == "$" else ""
            raise CypherRefused(f"Cannot read the query from {shown!r} on.{hint}")
        kind = str(match.lastgroup)
        if kind not in {"space", "comment"}:
            yield _Token(kind, match.group(), match.start(), match.end())
        position = match.end()


def _check_nesting(tokens: Sequence[_Token]) -> None:
    expected: list[str] = []
    for token in tokens:
        if token.kind != "sign":
            continue
        if token.text in _OPENING:
            expected.append(_OPENING[token.text])
        elif token.text in _CLOSING and (not expected or expected.pop() != token.text):
            raise CypherRefused(f"A {token.text!r} closes nothing.")
        if len(expected) > _DEEPEST:
            raise CypherRefused(f"Brackets are nested more than {_DEEPEST} deep.")
    if expected:
        raise CypherRefused(f"A {expected[-1]!r} is missing.")


def _check_token(tokens: Sequence[_Token], position: int, token: _Token) -> None:
    before = tokens[position - 1].text if position else ""
    after = tokens[position + 1].text if position + 1 < len(tokens) else ""
    if (
        token.kind == "name"
        and token.word in _FORBIDDEN
        and before not in {".", ":"}
        and after != ":"
    ):
        raise CypherRefused(f"{token.text.upper()} is not allowed: queries here only read.")
    if token.kind in {"name", "quoted"} and after == "(":
        _check_function(token, before)
    if token.kind in {"name", "quoted"} and after == "." and _is_qualified_call(tokens, position):
        raise CypherRefused(f"Functions of a schema ({token.text}.) are not allowed.")
    if token.text == "[" and before in {"-", "<-"}:
        _check_relationship(tokens, position)
    if token.text == "::":
        raise CypherRefused("Casts (::) are not supported: use toInteger, toFloat, toString.")


def _check_function(token: _Token, before: str) -> None:
    if before in {":", "|"}:
        return
    allowed = FUNCTIONS if token.kind == "quoted" or before == "." else FUNCTIONS | _KEYWORDS
    if token.word not in allowed or before == ".":
        raise CypherRefused(
            f"The function {token.text} is not allowed."
            f" Allowed are: {', '.join(sorted(FUNCTIONS))}."
        )


def _is_qualified_call(tokens: Sequence[_Token], position: int) -> bool:
    name, opening = tokens[position + 2 : position + 3], tokens[position + 3 : position + 4]
    return bool(name and opening and name[0].kind in {"name", "quoted"} and opening[0].text == "(")


def _check_relationship(tokens: Sequence[_Token], position: int) -> None:
    depth = 0
    for token in tokens[position:]:
        depth += (token.text in _OPENING) - (token.text in _CLOSING)
        if depth == 0:
            return
        if token.text == "*" and depth == 1:
            raise CypherRefused(
                "Paths of variable length are not allowed: they load the whole graph. Write the"
                " steps out, (a)-[:CALLS]->(b)-[:CALLS]->(c), or use graph_traverse."
            )


def _columns(text: str, tokens: Sequence[_Token]) -> tuple[str, ...]:
    """Return the names of what the first RETURN outside of brackets gives."""
    parts = _returned(tokens)
    if not parts:
        raise CypherRefused("The query has no RETURN.")
    names: dict[str, None] = {}
    for part in parts:
        if not part or (len(part) == 1 and part[0].text == "*"):
            raise CypherRefused("Name what to return, separated by commas: RETURN a, b.name.")
        name = text[part[0].start : part[-1].end]
        if len(part) > 2 and part[-2].word == "as" and part[-1].kind in {"name", "quoted"}:  # noqa: PLR2004
            name = part[-1].text.strip("`")
        if name in names:
            raise CypherRefused(f"Two columns are called {name!r}: give one another name with AS.")
        names[name] = None
    if len(names) > _MOST_COLUMNS:
        raise CypherRefused(f"A query returns {_MOST_COLUMNS} columns at most.")
    return tuple(names)


def _returned(tokens: Sequence[_Token]) -> list[list[_Token]]:
    parts: list[list[_Token]] = []
    depth = 0
    for position, token in enumerate(tokens):
        depth += (token.text in _OPENING and token.kind == "sign") - (
            token.text in _CLOSING and token.kind == "sign"
        )
        is_keyword = token.kind == "name" and depth == 0
        follows_dot = position > 0 and tokens[position - 1].text == "."
        if not parts:
            if is_keyword and token.word == "return":
                parts.append([])
        elif is_keyword and not follows_dot and token.word in _AFTER_COLUMNS:
            break
        elif token.text == "," and depth == 0:
            parts.append([])
        elif not (token.word == "distinct" and not parts[-1] and len(parts) == 1):
            parts[-1].append(token)
    return parts
