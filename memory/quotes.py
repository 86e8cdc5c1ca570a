"""What a language model claims of texts that it was given: kept is what it can quote. Pure.

A model is asked for a JSON array of {"type", "content", "from", "quote"}: `from` is the number of
the text, `quote` words copied from it. A claim whose quote does not stand there is dropped, as is
one that gives orders.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from memory.safety import orders_in
from memory.values import MemoryType

ASKED_FOR: Final = (
    'Answer with JSON only, an array of at most {most} objects {{"type": one of {types},'
    ' "content": one sentence, "from": the number before the text, "quote": words copied from'
    " that text}}. If there is nothing, answer []."
)

_SHORTEST: Final = 15
_LONGEST: Final = 400
_SHORTEST_QUOTE: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Quoted:
    """One claim, and the text and the words in it that it rests on."""

    memory_type: MemoryType
    content: str
    source: int
    quote: str


def quoted_claims(
    reply: str, sources: Mapping[int, str], *, types: Collection[MemoryType], most: int
) -> list[Quoted] | None:
    """Return what a reply claims and quotes; None when the reply is of no such form at all."""
    plain = re.sub(r"^```(?:json)?\s*|\s*```$", "", reply.strip())
    try:
        found = json.loads(plain)
    except ValueError:
        return None
    if not isinstance(found, list):
        return None
    return [claim for one in found[:most] if (claim := _claim(one, sources, types))]


def lines_of(text: str, quote: str) -> tuple[int, int] | None:
    """Return the first and the last line, from 1, of where a quote stands in a text."""
    starts: list[int] = []
    lines: list[int] = []
    words: list[str] = []
    length = 0
    for number, line in enumerate(text.splitlines(), 1):
        for word in line.split():
            starts.append(length)
            lines.append(number)
            words.append(word.lower())
            length += len(word.lower()) + 1
    sought = _plain(quote)
    at = " ".join(words).find(sought) if sought else -1
    if at < 0:
        return None
    last = at + len(sought) - 1
    return lines[bisect_right(starts, at) - 1], lines[bisect_right(starts, last) - 1]


def _claim(one: Any, sources: Mapping[int, str], types: Collection[MemoryType]) -> Quoted | None:
    if not isinstance(one, dict):
        return None
    kind, content, quote, key = (one.get(name) for name in ("type", "content", "quote", "from"))
    if not isinstance(key, int) or isinstance(key, bool) or key not in sources:
        return None
    if not isinstance(kind, str) or not isinstance(content, str) or not isinstance(quote, str):
        return None
    if kind not in types or not _SHORTEST <= len(content.strip()) <= _LONGEST:
        return None
    is_quoted = len(quote.strip()) >= _SHORTEST_QUOTE and _plain(quote) in _plain(sources[key])
    if not is_quoted or orders_in(content):
        return None
    return Quoted(
        memory_type=MemoryType(kind), content=content.strip(), source=key, quote=quote.strip()
    )


def _plain(text: str) -> str:
    return " ".join(text.split()).lower()
