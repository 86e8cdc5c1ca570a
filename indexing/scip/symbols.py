"""SCIP's names of symbols taken apart: package, descriptors, and the key that outlives versions."""

import re
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

MAX_SYMBOL_LENGTH = 4096
"""Longer names are not believed: no real one comes near, and they would be stored."""

_NAME = r"`(?:[^`]|``)*`|[\w+$\-]+"
_DESCRIPTOR = re.compile(
    rf"\[(?P<type_parameter>{_NAME})\]"
    rf"|\((?P<parameter>{_NAME})\)"
    rf"|(?P<name>{_NAME})(?P<suffix>[/#.:!]|\((?P<overload>[^)]*)\)\.)",
    re.ASCII,
)
_PYTHON = "python"
_STANDARD_LIBRARIES = frozenset(
    {
        ("python", "python-stdlib"),
        ("npm", "typescript"),
        ("npm", "@types/node"),
        ("cargo", "core"),
        ("cargo", "alloc"),
        ("cargo", "std"),
        ("gomod", "github.com/golang/go/src"),
        ("maven", "jdk"),
    }
)
_REGISTRIES = {_PYTHON: "pypi", "gomod": "go"}
"""What other parts of the graph call the managers that SCIP names otherwise."""
_CONSTRUCTORS = frozenset({"__init__", "__new__", "constructor", "<constructor>", "<init>"})
_ACCESSOR = re.compile(r"<(?:get|set)>")


class Suffix(StrEnum):
    """What a descriptor names."""

    NAMESPACE = "/"
    TYPE = "#"
    TERM = "."
    META = ":"
    MACRO = "!"
    METHOD = "()."
    TYPE_PARAMETER = "[]"
    PARAMETER = "()"


class Descriptor(NamedTuple):
    """One part of a symbol's path."""

    name: str
    suffix: Suffix

    @property
    def is_constructor(self) -> bool:
        return self.suffix is Suffix.METHOD and self.name in _CONSTRUCTORS


class ScipSymbol(NamedTuple):
    """A global symbol. `descriptors` is the text, `parts` the same taken apart."""

    manager: str
    package: str
    descriptors: str
    parts: tuple[Descriptor, ...]

    @property
    def name(self) -> str:
        """The name that code uses for it: of a constructor, the type's."""
        names = [part.name for part in self.parts]
        return names[-2] if self.is_constructor and len(names) > 1 else names[-1]

    @property
    def names(self) -> tuple[str, ...]:
        """All names, whatever they name: `Foo#bar.` and `Foo#bar().` share them."""
        return tuple(part.name for part in self.parts)

    @property
    def is_constructor(self) -> bool:
        return self.parts[-1].is_constructor

    @property
    def is_nameable(self) -> bool:
        """Tell what may be a target from parameters, modules and type literals."""
        last = self.parts[-1].suffix
        if last is Suffix.META:
            return False
        return last not in (Suffix.NAMESPACE, Suffix.PARAMETER, Suffix.TYPE_PARAMETER)

    @property
    def owner(self) -> str:
        """The package it really comes from: scip-python files foreign symbols under the project."""
        if self.manager == _PYTHON and self.package not in ("python-stdlib", ""):
            top = self.parts[0].name.partition(".")[0]
            return _pep_503(top)
        return self.package

    @property
    def is_of_standard_library(self) -> bool:
        return (self.manager, self.package) in _STANDARD_LIBRARIES

    @property
    def key(self) -> str:
        """Text id of the symbol as seen from outside: the version is not part of it."""
        return f"ext:{self._published}:{self.descriptors}"

    @property
    def package_key(self) -> str:
        """Text id of the package, the one that manifests and imports lead to."""
        return f"pkg:{self._published}"

    @property
    def _published(self) -> str:
        name = self.owner
        if self.manager == "maven":
            name = name.removeprefix("maven/").replace("/", ":")
        return f"{_REGISTRIES.get(self.manager, self.manager)}:{name}"


@lru_cache(maxsize=200_000)
def parsed(symbol: str) -> ScipSymbol | None:
    """Return a global symbol's parts; None for locals and for what is no symbol."""
    if len(symbol) > MAX_SYMBOL_LENGTH or symbol.startswith("local "):
        return None
    fields = _fields(symbol)
    if fields is None:
        return None
    _scheme, manager, package, _version, descriptors = fields
    parts = _parts(descriptors)
    if not parts:
        return None
    manager, package = ("" if field == "." else field for field in (manager, package))
    return ScipSymbol(manager, package, descriptors, parts)


def parts_of_key(key: str, *, package: str) -> tuple[Descriptor, ...]:
    """Return the descriptors of an external symbol's text id, given its package's."""
    return _parts(key.removeprefix(f"ext:{package.removeprefix('pkg:')}:"))


def _fields(symbol: str) -> list[str] | None:
    """Split at single spaces; a doubled space is a space inside a field."""
    fields = symbol.split(" ", 4)
    if "  " in symbol:
        escaped = symbol.replace("  ", "\0").split(" ", 4)
        fields = [field.replace("\0", " ") for field in escaped]
    return fields if len(fields) == 5 else None  # noqa: PLR2004


def _parts(descriptors: str) -> tuple[Descriptor, ...]:
    parts, position = [], 0
    while position < len(descriptors):
        found = _DESCRIPTOR.match(descriptors, position)
        if not found:
            return ()
        parts.append(_descriptor(found))
        position = found.end()
    return tuple(parts)


def _descriptor(found: re.Match[str]) -> Descriptor:
    if found["type_parameter"]:
        return Descriptor(_unquoted(found["type_parameter"]), Suffix.TYPE_PARAMETER)
    if found["parameter"]:
        return Descriptor(_unquoted(found["parameter"]), Suffix.PARAMETER)
    is_method = found["overload"] is not None
    suffix = Suffix.METHOD if is_method else Suffix(found["suffix"])
    return Descriptor(_unquoted(found["name"]), suffix)


def _unquoted(name: str) -> str:
    if not name.startswith("`"):
        return name
    inner = name[1:-1].replace("``", "`")
    return inner if inner in _CONSTRUCTORS else _ACCESSOR.sub("", inner)


def _pep_503(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
