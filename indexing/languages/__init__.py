"""The languages codemem reads, as data: one row per dialect and its tree-sitter queries.

Adding a language is one row here and one `queries/<name>.scm`; only an unheard-of way of importing
also needs code (a new `ImportScheme`). The capture names that queries use are listed in
`indexing.parsing`. Does not parse anything itself.
"""

import importlib
import re
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from importlib import resources
from typing import NamedTuple

from tree_sitter import Language as TreeSitterLanguage
from tree_sitter import Parser, Query, QueryCursor


class ImportScheme(Enum):
    """How the text of an import names a module."""

    DOTTED = auto()
    """`package.module`, leading dots relative to the importing package."""

    RELATIVE_PATH = auto()
    """`./file` without its extension, or a package name of the workspace."""

    PACKAGE_PATH = auto()
    """`module/path/directory`: a package is a directory, its files share one scope."""


class PrivacyRule(Enum):
    """How a language says that a symbol is not for everyone."""

    UNDERSCORE = auto()
    MODIFIER = auto()
    CAPITAL = auto()


class Fixtures(NamedTuple):
    """How tests are handed values by parameter name: who makes them, and which file shares them."""

    decorator: str
    shared_file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TestMarks:
    """How code says that it is a test, whatever its path: last parts of names, and a pattern.

    `names` are functions that are tests by their name; `bases` make a class and all in it tests;
    `calls` of `describe` and the like make the whole file one.
    """

    decorators: frozenset[str] = frozenset()
    names: re.Pattern[str] | None = None
    bases: frozenset[str] = frozenset()
    calls: frozenset[str] = frozenset()


NO_MARKS = TestMarks()


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """One dialect. Names resolve across dialects of one `family` only.

    `grammar` and `factory` name the wheel's module and function; `queries` are concatenated.
    `export_objects` are receivers whose assigned functions are module members (`exports.f = ...`).
    `self_types` are annotations that mean the enclosing class. `has_quoted_types` says that quotes
    in an annotation hold a type, not a literal.
    """

    name: str
    family: str
    grammar: str
    factory: str
    queries: tuple[str, ...]
    extensions: tuple[str, ...]
    imports: ImportScheme
    privacy: PrivacyRule
    test_paths: re.Pattern[str]
    line_comment: str
    block_comment: tuple[str, str] | None = None
    self_names: frozenset[str] = frozenset()
    self_types: frozenset[str] = frozenset()
    super_name: str | None = None
    has_quoted_types: bool = False
    fixtures: Fixtures | None = None
    export_objects: frozenset[str] = frozenset()
    tests: TestMarks = NO_MARKS


class Grammar(NamedTuple):
    """A loaded dialect. The parser and the cursor keep state: one user at a time."""

    parser: Parser
    cursor: QueryCursor


_ECMASCRIPT_TESTS = re.compile(
    r"(^|/)(__tests__|__mocks__|tests?|e2e|cypress)/|\.(test|spec|test-d|bench)\.[cm]?[jt]sx?$"
)

_ECMASCRIPT_TEST_MARKS = TestMarks(calls=frozenset({"describe", "it", "suite"}))
_PYTHON_TEST_BASES = frozenset(
    {"TestCase", "SimpleTestCase", "TransactionTestCase", "IsolatedAsyncioTestCase", "APITestCase"}
)

LANGUAGES: tuple[Language, ...] = (
    Language(
        name="python",
        family="python",
        grammar="tree_sitter_python",
        factory="language",
        queries=("python",),
        extensions=(".py", ".pyi", ".pyw"),
        imports=ImportScheme.DOTTED,
        privacy=PrivacyRule.UNDERSCORE,
        test_paths=re.compile(r"(^|/)tests?/|(^|/)(test_[^/]*|[^/]*_test|conftest)\.pyi?$"),
        line_comment="#",
        self_names=frozenset({"self", "cls"}),
        self_types=frozenset({"Self"}),
        has_quoted_types=True,
        fixtures=Fixtures(decorator="fixture", shared_file="conftest.py"),
        super_name="super",
        tests=TestMarks(bases=_PYTHON_TEST_BASES),
    ),
    Language(
        name="javascript",
        family="ecmascript",
        grammar="tree_sitter_javascript",
        factory="language",
        queries=("ecmascript", "javascript", "jsx"),
        extensions=(".js", ".jsx", ".mjs", ".cjs"),
        imports=ImportScheme.RELATIVE_PATH,
        privacy=PrivacyRule.MODIFIER,
        test_paths=_ECMASCRIPT_TESTS,
        line_comment="//",
        block_comment=("/*", "*/"),
        self_names=frozenset({"this"}),
        self_types=frozenset({"this"}),
        super_name="super",
        export_objects=frozenset({"exports", "module.exports"}),
        tests=_ECMASCRIPT_TEST_MARKS,
    ),
    Language(
        name="typescript",
        family="ecmascript",
        grammar="tree_sitter_typescript",
        factory="language_typescript",
        queries=("ecmascript", "typescript"),
        extensions=(".ts", ".mts", ".cts"),
        imports=ImportScheme.RELATIVE_PATH,
        privacy=PrivacyRule.MODIFIER,
        test_paths=_ECMASCRIPT_TESTS,
        line_comment="//",
        block_comment=("/*", "*/"),
        self_names=frozenset({"this"}),
        self_types=frozenset({"this"}),
        super_name="super",
        export_objects=frozenset({"exports", "module.exports"}),
        tests=_ECMASCRIPT_TEST_MARKS,
    ),
    Language(
        name="tsx",
        family="ecmascript",
        grammar="tree_sitter_typescript",
        factory="language_tsx",
        queries=("ecmascript", "typescript", "jsx"),
        extensions=(".tsx",),
        imports=ImportScheme.RELATIVE_PATH,
        privacy=PrivacyRule.MODIFIER,
        test_paths=_ECMASCRIPT_TESTS,
        line_comment="//",
        block_comment=("/*", "*/"),
        self_names=frozenset({"this"}),
        self_types=frozenset({"this"}),
        super_name="super",
        tests=_ECMASCRIPT_TEST_MARKS,
    ),
    Language(
        name="go",
        family="go",
        grammar="tree_sitter_go",
        factory="language",
        queries=("go",),
        extensions=(".go",),
        imports=ImportScheme.PACKAGE_PATH,
        privacy=PrivacyRule.CAPITAL,
        test_paths=re.compile(r"_test\.go$|(^|/)testdata/"),
        line_comment="//",
        block_comment=("/*", "*/"),
    ),
)

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


@cache
def grammar_of(language: Language) -> Grammar:
    """Load a language's grammar and compile its queries, once per process."""
    factory = getattr(importlib.import_module(language.grammar), language.factory)
    loaded = TreeSitterLanguage(factory())
    return Grammar(Parser(loaded), QueryCursor(Query(loaded, _query_text(language))))


def _query_text(language: Language) -> str:
    folder = resources.files(__name__) / "queries"
    return "\n".join(
        (folder / f"{name}.scm").read_text(encoding="utf-8") for name in language.queries
    )
