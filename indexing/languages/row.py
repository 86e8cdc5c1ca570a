"""What a row of the language table may say. Knows no language and no grammar."""

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple


class ImportScheme(Enum):
    """How the text of an import names a module."""

    DOTTED = auto()
    """`package.module`, leading dots relative to the importing package."""

    RELATIVE_PATH = auto()
    """`./file` without its extension, or a package name of the workspace."""

    PACKAGE_PATH = auto()
    """`module/path/directory`: a package is a directory, its files share one scope."""

    CRATE = auto()
    """`crate::`, `self::` and `super::` over a tree of `mod` files, one tree per Cargo.toml."""

    DECLARED = auto()
    """Files that declare the same package or namespace share one scope, wherever they stand."""

    CONSTANTS = auto()
    """One scope for the whole repository: what is loaded is visible everywhere."""

    INCLUDE = auto()
    """One scope for the whole repository, of which an include says what is nearest."""

    TARGET = auto()
    """All files of a build target share one scope; importing a target brings in all of it."""

    NONE = auto()
    """Files know nothing of each other."""


class PrivacyRule(Enum):
    """How a language says that a symbol is not for everyone."""

    UNDERSCORE = auto()
    MODIFIER = auto()
    CAPITAL = auto()
    PUB = auto()
    """Private unless `pub`, except in what is public as a whole (a trait)."""

    SECTION = auto()
    """`private` on a line of its own holds until the next such line."""

    STATIC = auto()
    """`static` hides a name outside its file."""


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
    `self_types` are annotations that mean the enclosing class. `has_quoted_types`: quotes in an
    annotation hold a type; `has_literal_types`: they hold a literal that is one. `rewrites` turn a
    language's ways of writing a member into a dot. `constructor` is the method of a class that
    makes an instance. `transparent` methods answer with what they are called on, as far as types
    go (`unwrap`).

    `has_implicit_self`: a bare name may be a member of the class around it. `has_open_types`:
    definitions of the same name in one scope are parts of one thing. `has_outside_members`: members
    of a type may stand outside of it, wherever its name is known. `has_mixins`: modules are types
    that others take members from. `has_overloads`: methods of one name differ in their parameters.
    `has_implicit_interfaces`: a type implements every interface whose methods it has.
    `sees_outer_packages`: the names of `a` are visible in `a.b`. `has_structural_types`: types of
    functions, objects and lists are written out, and what a function is passed to types it.
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
    rewrites: tuple[tuple[str, str], ...] = ()
    has_implicit_self: bool = False
    has_open_types: bool = False
    has_literal_types: bool = False
    has_outside_members: bool = False
    has_mixins: bool = False
    has_overloads: bool = False
    has_implicit_interfaces: bool = False
    sees_outer_packages: bool = False
    has_structural_types: bool = False
    constructor: str | None = None
    transparent: frozenset[str] = frozenset()
