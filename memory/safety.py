"""Makes what comes from outside fit to keep: secrets taken out, orders noticed, hidden signs gone.

Every text that is stored goes through `cleaned`, or through a `Screen` where a thing has many
texts: contents, rationales, tags, evidence, reasons, notes. What was found is told by rule and
count, never by what it said. Cleaning twice changes nothing. Pure: the rules are in
`memory/safety_rules.py`, and what to do about orders is the caller's policy.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from memory.safety_rules import ORDERS, SECRETS, SecretRule

HIDDEN = "hidden-characters"
"""The flag of a text that spells words in signs that nobody sees."""

_MOST_SIGNS_UNFLAGGED = 4

# Zero-width and bidirectional signs, fillers that show nothing, tags, variation selectors.
_HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff]")
_JOINERS = "\u200c\u200d"
# Scripts in which a joiner changes how a word is written.
_JOINED_SCRIPT = re.compile("[\u0600-\u07bf\u08a0-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u18af]")
_MARKS = "\u200e\u200f\u061c"
_OPENING = "\u202a\u202b\u2066\u2067\u2068"
_CLOSING = {"\u202c": "\u202a\u202b", "\u2069": "\u2066\u2067\u2068"}
_SELECTORS = re.compile("[\ufe00-\ufe0f]")
_FLAG = re.compile("\U0001f3f4[\U000e0061-\U000e007a]{2,7}\U000e007f")
# Tags and supplementary selectors can spell any text; zero-width spaces only break up mentions.
_SPELLING = re.compile("[\U000e0000-\U000e0fff]")
_SPACES = re.compile(r"[^\S\n]+")

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaned:
    """A text fit to keep, and what was found in it."""

    text: str
    redactions: Mapping[str, int]  # times that each rule found a secret
    flags: tuple[str, ...]  # rules of the orders that it gives
    hidden: int  # signs taken out that nobody sees


@dataclass(slots=True)
class Screen:
    """Cleans the many texts of one thing and remembers what was found in all of them."""

    redactions: Counter[str] = field(default_factory=Counter)
    flags: list[str] = field(default_factory=list)
    hidden: int = 0

    def text(self, text: str) -> str:
        """Return a text fit to keep."""
        found = cleaned(text)
        self.redactions.update(found.redactions)
        self.flags += [name for name in found.flags if name not in self.flags]
        self.hidden += found.hidden
        return found.text

    def value(self, value: Value) -> Value:
        """Return a value of JSON with every text in it cleaned, keys included."""
        return self._of(value)  # type: ignore[return-value]  # of the same shape

    def _of(self, value: object) -> object:
        match value:
            case str():
                return self.text(value)
            case Mapping():
                return {self._of(key): self._of(part) for key, part in value.items()}
            case list() | tuple():
                return type(value)(self._of(part) for part in value)
        return value


def cleaned(text: str) -> Cleaned:
    """Return a text without secrets and hidden signs, and the names of what was found."""
    seen = without_hidden(text)
    hidden = len(text) - len(seen)
    redactions: Counter[str] = Counter()
    kept = seen
    lower = seen.lower()
    for rule in SECRETS:
        if any(cue in lower for cue in rule.cues):
            kept = _redacted(kept, rule, redactions)
    flags = orders_in(seen)
    if (
        hidden
        and len(_SPELLING.findall(text)) - len(_SPELLING.findall(seen)) > _MOST_SIGNS_UNFLAGGED
    ):
        flags = (*flags, HIDDEN)
    return Cleaned(text=kept, redactions=dict(redactions), flags=flags, hidden=hidden)


def orders_in(text: str) -> tuple[str, ...]:
    """Return the names of the rules by which a text orders its reader about.

    Compared is what a model would read: compatible letters as plain ones, hidden signs gone.
    """
    read = _SPACES.sub(" ", unicodedata.normalize("NFKC", without_hidden(text)))
    return tuple(rule.name for rule in ORDERS if rule.pattern.search(read))


def without_hidden(text: str) -> str:
    """Return a text without signs that show nothing, except where a script or emoji needs them.

    Kept: joiners between emoji and in scripts that are written with them, one variation selector
    behind a sign that has variants, flags of regions, direction marks and closed embeddings in a
    text with right-to-left letters. Overrides, which show code in another order than it runs in,
    never stay.
    """
    if text.isascii() or not _HIDDEN.search(text):
        return text
    has_right_to_left = bool(_RIGHT_TO_LEFT.search(text))
    closed = _closed_embeddings(text) if has_right_to_left else frozenset()
    flags = {at for match in _FLAG.finditer(text) for at in range(match.start(), match.end())}
    kept = [
        character
        for at, character in enumerate(text)
        if not _HIDDEN.match(character)
        or at in flags
        or at in closed
        or (has_right_to_left and character in _MARKS)
        or _is_needed(text, at)
    ]
    return "".join(kept)


def _redacted(text: str, rule: SecretRule, redactions: Counter[str]) -> str:
    def replace(match: re.Match[str]) -> str:
        if not rule.is_one(match):
            return match.group()
        redactions[rule.name] += 1
        start, end = match.span("secret")
        whole, begin = match.group(), match.start()
        return f"{whole[: start - begin]}[redacted:{rule.name}]{whole[end - begin :]}"

    return rule.pattern.sub(replace, text)


def _closed_embeddings(text: str) -> frozenset[int]:
    """Return the places of embeddings and isolates that end as they began, in the same line."""
    closed: set[int] = set()
    opened: list[int] = []
    for at, character in enumerate(text):
        if character == "\n":
            opened.clear()
        elif character in _OPENING:
            opened.append(at)
        elif character in _CLOSING and opened and text[opened[-1]] in _CLOSING[character]:
            closed |= {opened.pop(), at}
    return frozenset(closed)


def _is_needed(text: str, at: int) -> bool:
    before = text[at - 1] if at else ""
    after = text[at + 1] if at + 1 < len(text) else ""
    if text[at] in _JOINERS:
        in_word = _JOINED_SCRIPT.match(before) and _JOINED_SCRIPT.match(after)
        return bool(in_word) or (_is_symbol(before) and _is_symbol(after))
    if _SELECTORS.match(text[at]):
        # A keycap has its selector between a digit and the cap.
        return _is_symbol(before) or after == "\u20e3" or _is_ideograph(before)
    return False


def _is_symbol(character: str) -> bool:
    """Tell emoji and what modifies them from letters."""
    if not character:
        return False
    category = unicodedata.category(character)
    return category in {"So", "Sk"} or character in "\ufe0f\u2640\u2642\u2194\u2195\u203c\u2049"


def _is_ideograph(character: str) -> bool:
    return "\u3400" <= character <= "\u9fff"
