"""What a name may stand for: a definition, a module, or something from outside."""

from typing import NamedTuple


class Symbol(NamedTuple):
    """One definition of the program: the `number`th definition of the file at `path`."""

    path: str
    number: int


class Module(NamedTuple):
    """Files that share one scope of names: one file, or a directory's package in Go."""

    key: str


class External(NamedTuple):
    """Something known to come from outside the repository, or from the language itself."""


class Written(NamedTuple):
    """A type that is written out at a scope of a file: of a function, an object, a list."""

    path: str
    scope: int
    text: str


EXTERNAL = External()

Value = Symbol | Module | External | Written
"""What a name or an expression may stand for."""
