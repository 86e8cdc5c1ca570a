"""The form in which texts and tags are kept and compared; refuses, in a sentence, what has none.

Pure: knows nothing of rows, scopes or models.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping

from codemem.words import tokens_text

MAXIMUM_TAGS = 50
MAXIMUM_TAG_CHARACTERS = 100

_KEPT_CONTROLS = "\n\t"
# A text many times too long is not even read: cleaning a megabyte takes a second.
_MOST_READ = 4


class MemoryInvalid(Exception):
    """What was to be stored cannot be; the message is a sentence that says how to mend it."""


def valid_content(content: str, *, maximum_characters: int) -> str:
    """Return a text as it is kept: NFC, plain line ends, no control characters, trimmed.

    Raise MemoryInvalid when nothing visible is left, or too much.
    """
    if len(content) > _MOST_READ * maximum_characters:
        raise _too_long("content", len(content), maximum_characters)
    kept = normal(content)
    if not any(_is_visible(character) for character in kept):
        raise MemoryInvalid("A memory needs words: its content is empty.")
    if len(kept) > maximum_characters:
        raise _too_long("content", len(kept), maximum_characters)
    return kept


def valid_text(name: str, text: str, *, maximum_characters: int) -> str:
    """Return a text beside the content as it is kept, maybe empty; raise MemoryInvalid."""
    if not isinstance(text, str):
        raise MemoryInvalid(f"{name} must be a text, not {type(text).__name__}.")
    if len(text) > _MOST_READ * maximum_characters:
        raise _too_long(name, len(text), maximum_characters)
    kept = normal(text)
    if len(kept) > maximum_characters:
        raise _too_long(name, len(kept), maximum_characters)
    return kept


def normal(text: str) -> str:
    """Return a text in the one form in which texts are kept and compared."""
    plain_lines = re.sub(r"\r\n?", "\n", text)
    return unicodedata.normalize("NFC", printable(plain_lines)).strip().strip("\ufeff").strip()


def valid_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return tags as they are kept and compared: lower case, each once; raise MemoryInvalid."""
    cleaned = (re.sub(r"\s+", " ", printable(tag)).strip().lower() for tag in tags)
    kept = tuple(dict.fromkeys(unicodedata.normalize("NFC", tag) for tag in cleaned if tag))
    if len(kept) > MAXIMUM_TAGS:
        raise MemoryInvalid(f"There are {len(kept)} tags; a memory has at most {MAXIMUM_TAGS}.")
    for tag in kept:
        if len(tag) > MAXIMUM_TAG_CHARACTERS:
            raise MemoryInvalid(
                f"The tag {tag[:30]!r}... has {len(tag)} characters;"
                f" at most {MAXIMUM_TAG_CHARACTERS} are kept."
            )
    return kept


def printable(text: str) -> str:
    """Return a text without what neither Postgres nor a model takes: controls, lone surrogates."""
    return "".join(
        character
        for character in text
        if character in _KEPT_CONTROLS or unicodedata.category(character) not in {"Cc", "Cs"}
    )


def words_of(
    content: str,
    *,
    tags: Iterable[str] = (),
    rationale: str = "",
    alternatives: Iterable[Mapping[str, str]] = (),
    acceptance_criteria: Iterable[str] = (),
) -> str:
    """Return the words that a memory is found by; all but the content is in no vector."""
    options = (text for alternative in alternatives for text in alternative.values())
    return tokens_text("\n".join([content, *tags, rationale, *options, *acceptance_criteria]))


def _too_long(name: str, length: int, maximum: int) -> MemoryInvalid:
    return MemoryInvalid(
        f"The {name} has {length:,} characters; at most {maximum:,} are kept."
        " Store what was learned, not the material, or split it."
    )


def _is_visible(character: str) -> bool:
    # Zero-width and direction marks (Cf), spaces and unassigned code points show nothing.
    return unicodedata.category(character)[0] not in "ZC"
