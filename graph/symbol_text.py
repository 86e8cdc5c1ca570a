"""The two texts a symbol is found by: the words for full-text search and the text to embed.

Pure. A change here reaches stored rows when `graph.staging.DIGEST_VERSION` is raised.
"""

import hashlib
import re
from functools import lru_cache
from typing import Final

from codemem.words import code_tokens
from graph.values import NodeKind

# The embedding model reads 256 word pieces; what a body does shows in its first lines.
_BODY_CHARACTERS: Final = 300
_DOC_CHARACTERS: Final = 600
_DOCUMENT_CHARACTERS: Final = 900
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")
# Keeps the search vector far below the megabyte that Postgres allows, however long the tokens.
_MAX_SEARCH_TOKENS: Final = 2_000
_NAME_WEIGHT: Final = 3


def search_tokens(*, name: str, qualified_name: str, path: str, signature: str, doc: str) -> str:
    """Return the words that a symbol is found by; its name weighs as three mentions."""
    tokens = _tokens(name) * _NAME_WEIGHT
    for found in (_tokens(qualified_name), _path_tokens(path), _tokens(signature), _tokens(doc)):
        tokens += found
    return " ".join(tokens[:_MAX_SEARCH_TOKENS])


def _tokens(text: str) -> list[str]:
    return code_tokens(text, limit=_MAX_SEARCH_TOKENS)


# The symbols of a file come one after the other.
@lru_cache(maxsize=64)
def _path_tokens(path: str) -> tuple[str, ...]:
    return tuple(_tokens(path))


def embedding_text(
    *,
    kind: str,
    path: str,
    name: str,
    local_name: str,
    signature: str,
    doc: str,
    source_text: str,
) -> str:
    """Return the short natural text whose vector stands for a symbol, or a section of a document.

    Names are spelled as words, with the class or namespace they are of: the model knows words, not
    identifiers. Finding 1,200 functions of Django by their docstrings (which were taken out): MRR
    .723 with the bare name and its stems, .728 with the parent, .740 with both as words. Names of
    what it calls added nothing (.728 to .728), and would change the text without the symbol.
    """
    parent = local_name.removesuffix(name).strip(".:/# ")
    where = f"of {_as_words(parent)} in {path}" if parent else f"in {path}"
    if kind == NodeKind.DOCUMENT:
        return f"{name} {where}\n{source_text[:_DOCUMENT_CHARACTERS]}"
    body = source_text.removeprefix(signature).strip()[:_BODY_CHARACTERS]
    parts = (f"{kind} {_as_words(name)} {where}", signature, doc[:_DOC_CHARACTERS], body)
    return "\n".join(part for part in parts if part)


# Classes and namespaces are those of many symbols, and many methods are called the same.
@lru_cache(maxsize=65_536)
def _as_words(name: str) -> str:
    """Return a name as prose: `HTTPServer.parse_json2` is http server parse json 2."""
    return " ".join(_WORD.findall(name)).lower() or name


def embedding_digest(text: str) -> bytes:
    """Return the content address of an embedding: the SHA-256 of what was embedded."""
    return hashlib.sha256(text.encode(errors="replace")).digest()
