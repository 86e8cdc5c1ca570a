"""The languages codemem reads, as data: one row per dialect (`table`) and its tree-sitter queries.

Adding a language is one row in `table` and one `queries/<name>.scm`; only an unheard-of way of
importing also needs code (a new `ImportScheme`). The capture names that queries use are listed in
`indexing.capturing`. Does not parse anything itself.
"""

import importlib
import re
from functools import cache
from importlib import resources
from typing import NamedTuple

from tree_sitter import Language as TreeSitterLanguage
from tree_sitter import Parser, Query, QueryCursor

from indexing.languages.row import (
    NO_MARKS,
    Fixtures,
    ImportScheme,
    Language,
    PrivacyRule,
    TestMarks,
)
from indexing.languages.table import LANGUAGES

__all__ = [
    "LANGUAGES",
    "NO_MARKS",
    "Fixtures",
    "Grammar",
    "ImportScheme",
    "Language",
    "PrivacyRule",
    "TestMarks",
    "definitions_grammar_of",
    "grammar_of",
    "is_program",
    "is_test_path",
    "language_named",
    "language_of",
]


class Grammar(NamedTuple):
    """A loaded dialect. The parser and the cursor keep state: one user at a time."""

    parser: Parser
    cursor: QueryCursor


_MATCH_LIMIT = 1024
"""Matches begun at once. Code needs a few; deeply broken text takes quadratic time without."""

_OF_DEFINITIONS = re.compile(rb"@(?:definition\.|scope\b|attribute\b)")

# What is read, but says what to build or how it is meant, not what to run.
_NO_PROGRAM = frozenset({"markdown", "yaml", "hcl"})

QUERIES = resources.files(__name__) / "queries"

_BY_NAME = {language.name: language for language in LANGUAGES}
_BY_EXTENSION = {extension: language for language in LANGUAGES for extension in language.extensions}


def language_named(name: str) -> Language:
    """Return the row called `name`; raises KeyError for a language codemem does not read."""
    return _BY_NAME[name]


def language_of(path: str) -> Language | None:
    """Return the language a path's extension stands for, or None."""
    name = path.rpartition("/")[2]
    stem, dot, extension = name.rpartition(".")
    return _BY_EXTENSION.get(dot + extension.lower()) if stem else None


def is_test_path(path: str) -> bool:
    """Tell whether a file is test code by where it is, as its language has it."""
    language = language_of(path)
    return language is not None and language.test_paths.search(path) is not None


def is_program(path: str) -> bool:
    """Tell whether a file is in a language that is read and that can be run; tests are, too."""
    language = language_of(path)
    return language is not None and language.name not in _NO_PROGRAM


@cache
def grammar_of(language: Language) -> Grammar:
    """Load a language's grammar and compile its queries, once per process."""
    loaded = _loaded(language)
    query = Query(loaded, _query_text(language))
    return Grammar(Parser(loaded), QueryCursor(query, match_limit=_MATCH_LIMIT))


@cache
def definitions_grammar_of(language: Language) -> Grammar:
    """Return a grammar of its own whose cursor finds definitions and nothing else."""
    loaded, text = _loaded(language), _query_text(language)
    query = Query(loaded, text)
    for pattern in range(query.pattern_count):
        span = slice(query.start_byte_for_pattern(pattern), query.end_byte_for_pattern(pattern))
        if not _OF_DEFINITIONS.search(text.encode()[span]):
            query.disable_pattern(pattern)
    return Grammar(Parser(loaded), QueryCursor(query, match_limit=_MATCH_LIMIT))


def _loaded(language: Language) -> TreeSitterLanguage:
    factory = getattr(importlib.import_module(language.grammar), language.factory)
    return TreeSitterLanguage(factory())


def _query_text(language: Language) -> str:
    return "\n".join(
        (QUERIES / f"{name}.scm").read_text(encoding="utf-8") for name in language.queries
    )
