"""The two texts a symbol is found by: the words for full-text search and the text to embed.

Pure. A change here reaches stored rows when `graph.staging.DIGEST_VERSION` is raised.
"""

import hashlib
from typing import Final

from codemem.words import code_tokens, tokens_text

# The embedding model reads 256 word pieces; what a body does shows in its first lines.
_BODY_CHARACTERS: Final = 300
_DOC_CHARACTERS: Final = 600
# Keeps the search vector far below the megabyte that Postgres allows, however long the tokens.
_MAX_SEARCH_TOKENS: Final = 2_000
_NAME_WEIGHT: Final = 3


def search_tokens(*, name: str, qualified_name: str, path: str, signature: str, doc: str) -> str:
    """Return the words that a symbol is found by; its name weighs as three mentions."""
    parts = [*[name] * _NAME_WEIGHT, qualified_name, path, signature, doc]
    return tokens_text("\n".join(parts), limit=_MAX_SEARCH_TOKENS)


def embedding_text(
    *, kind: str, path: str, name: str, signature: str, doc: str, source_text: str
) -> str:
    """Return the short natural text whose vector stands for a symbol."""
    words = " ".join(dict.fromkeys(code_tokens(name)))
    body = source_text.removeprefix(signature).strip()[:_BODY_CHARACTERS]
    parts = (f"{kind} {name} in {path}", words, signature, doc[:_DOC_CHARACTERS], body)
    return "\n".join(part for part in parts if part)


def embedding_digest(text: str) -> bytes:
    """Return the content address of an embedding: the SHA-256 of what was embedded."""
    return hashlib.sha256(text.encode(errors="replace")).digest()
