"""The form in which texts and tags are kept and compared; refuses, in a sentence, what has none.

Pure: knows nothing of rows, scopes or models.
"""

import re
import unicodedata
from collections.abc import Iterable

MAXIMUM_TAGS = 50
MAXIMUM_TAG_CHARACTERS = 100

_KEPT_CONTROLS = "\n\t"


class MemoryInvalid(Exception):
    """What was to be stored cannot be; the message is a sentence that says how to mend it."""


def valid_content(content: str, *, maximum_characters: int) -> str:
    """Return a text as it is kept: NFC, plain line ends, no control characters, trimmed.

    Raise MemoryInvalid when nothing visible is left, or too much.
    """
    plain_lines = re.sub(r"\r\n?", "\n", content)
    kept = unicodedata.normalize("NFC", printable(plain_lines)).strip().strip("\ufeff").strip()
    if not any(_is_visible(character) for character in kept):
        raise MemoryInvalid("A memory needs words: its content is empty.")
    if len(kept) > maximum_characters:
        raise MemoryInvalid(
            f"The content has {len(kept):,} characters; at most {maximum_characters:,} are kept."
            " Store what was learned, not the material, or split it."
        )
    return kept


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


def _is_visible(character: str) -> bool:
    # Zero-width and direction marks (Cf), spaces and unassigned code points show nothing.
    return unicodedata.category(character)[0] not in "ZC"
