"""What one blob says, whatever file or commit it stands in: the cacheable result of parsing.

Everything is positions and plain text; which definition a name means is `indexing.resolution`'s
question. Serialized as compressed JSON, never pickled: the producer has read hostile bytes.
"""

import json
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple, Self, TypeVar

from graph.values import NodeKind, Visibility

EXTRACTOR_VERSION = 6
"""Raise when the same bytes would give other facts: cached facts of older versions are stale.

That is also when a rule of `indexing.libraries` asks for calls that no rule asked for before.
"""

MODULE_SCOPE = -1
"""The scope of what stands outside every definition."""

_MAX_FACTS_BYTES = 64 << 20


class FactsMalformed(ValueError):
    """The bytes are not the facts of a blob."""


class ReferenceKind(StrEnum):
    """What a name is used for where it stands."""

    CALL = "call"
    BASE = "base"
    IMPLEMENTS = "implements"
    DECORATOR = "decorator"
    TYPE = "type"
    VALUE = "value"


class ImportKind(StrEnum):
    """Which names an import or a re-export brings into the file or out of it."""

    MODULE = "module"
    NAME = "name"
    DEFAULT = "default"
    NAMESPACE = "namespace"
    STAR = "star"
    EXPORT_NAME = "export_name"
    EXPORT_NAMESPACE = "export_namespace"
    EXPORT_STAR = "export_star"


class BindingTarget(StrEnum):
    """What holds the value of a binding."""

    NAME = "name"
    FIELD = "field"
    RETURN = "return"


class BindingSource(StrEnum):
    """What a binding's text is: an annotation, a called expression, or the value's expression.

    CONTEXT is an expression too, for what is expected where a function is written: it is read
    outside of the function whose parameter it binds.
    """

    TYPE = "type"
    CALL = "call"
    VALUE = "value"
    CONTEXT = "context"


class Definition(NamedTuple):
    """One definition, or an anonymous scope when `kind` is None.

    `parent` indexes the blob's definitions. `receiver` is the type a method is declared on from
    outside (Go), the object a function is assigned to (`app.init = function`), or, of a scope, the
    type that all its members belong to (Rust's `impl`, Swift's `extension`). `parameters` are as
    written, `decorators` are names without arguments (annotations and attributes alike).
    Complexities are 0 for what cannot be called. `is_test`: it says itself that it is a test.
    """

    kind: NodeKind | None
    name: str
    local_name: str
    parent: int
    receiver: str | None
    start_line: int
    end_line: int
    signature: str
    doc: str
    visibility: Visibility
    body_hash: str
    source_text: str
    parameters: tuple[str, ...] = ()
    decorators: tuple[str, ...] = ()
    cyclomatic: int = 0
    cognitive: int = 0
    is_test: bool = False


class Reference(NamedTuple):
    """One use of a name. `column` counts bytes; `scope` indexes the innermost definition.

    `receiver` is the chain before the name (`indexing.expressions`), None for a bare name and ""
    for an expression that is no chain. `is_shadowed`: the first name is a local of unknown type.
    `arity` is the number of a call's arguments, -1 where it is not known.
    """

    kind: ReferenceKind
    name: str
    receiver: str | None
    scope: int
    line: int
    column: int
    is_shadowed: bool
    arity: int = -1


class Import(NamedTuple):
    """One imported or re-exported name; `module` is as written."""

    kind: ImportKind
    module: str
    name: str
    alias: str
    line: int


class Export(NamedTuple):
    """`local`, as the file calls it, leaves the file as `name`."""

    name: str
    local: str


class Binding(NamedTuple):
    """A hint at the type of a local name, of a field of the enclosing class, or of a result.

    A result with a name is a member of the object that is returned. What an alias of a type stands
    for, and how an interface can be called, are results of theirs.
    """

    target: BindingTarget
    name: str
    source: BindingSource
    text: str
    scope: int
    line: int


class Argument(NamedTuple):
    """One argument of a site. `keyword` is "" for a positional one.

    `text` is a literal's value with `{}` for what is interpolated, or the chain of a name
    (`indexing.expressions`); which of the two, `is_literal` says. Anything else is ("", False).
    Pairs of an object or a map are arguments with their key as keyword, after the ("", False) that
    holds its place; every element of a list is an argument with the list's keyword.
    """

    keyword: str
    text: str
    is_literal: bool


class Site(NamedTuple):
    """A call, decorator or annotation with its arguments, kept where rules about libraries look.

    `kind` is CALL or DECORATOR; `receiver` as in Reference; `scope` indexes the innermost
    definition, for a decorator the one that it decorates.
    """

    kind: ReferenceKind
    name: str
    receiver: str | None
    scope: int
    line: int
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobFacts:
    """All facts of one blob. `gave_up` says why there are fewer than the text holds, if so."""

    language: str
    lines: int
    package: str = ""
    definitions: tuple[Definition, ...] = field(default=())
    references: tuple[Reference, ...] = field(default=())
    imports: tuple[Import, ...] = field(default=())
    exports: tuple[Export, ...] = field(default=())
    bindings: tuple[Binding, ...] = field(default=())
    sites: tuple[Site, ...] = field(default=())
    has_error: bool = False
    gave_up: str | None = None

    def to_bytes(self) -> bytes:
        """Serialize as compressed JSON, 4-8 times smaller than the source it came from."""
        values = {
            "language": self.language,
            "lines": self.lines,
            "package": self.package,
            "has_error": self.has_error,
            "gave_up": self.gave_up,
            "columns": {name: _columns(getattr(self, name)) for name in _ROWS},
        }
        text = json.dumps(values, separators=(",", ":"), ensure_ascii=False)
        return zlib.compress(text.encode("utf-8", "backslashreplace"), level=_COMPRESSION)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what `to_bytes` wrote; raises FactsMalformed for anything else."""
        try:
            return cls._from_values(json.loads(_inflate(data)))
        except (zlib.error, ValueError, TypeError, KeyError, RecursionError) as error:
            raise FactsMalformed(str(error)) from error

    @classmethod
    def definitions_from_bytes(cls, data: bytes) -> tuple[Definition, ...]:
        """Read only the definitions of what `to_bytes` wrote; raises FactsMalformed."""
        try:
            columns = json.loads(_inflate(data))["columns"]
            return tuple(_ROWS["definitions"](columns["definitions"]))
        except (zlib.error, ValueError, TypeError, KeyError, RecursionError) as error:
            raise FactsMalformed(str(error)) from error

    @classmethod
    def _from_values(cls, values: dict[str, Any]) -> Self:
        columns = values["columns"]
        rows = {name: read(columns[name]) for name, read in _ROWS.items()}
        return cls(
            language=values["language"],
            lines=values["lines"],
            package=values["package"],
            has_error=values["has_error"],
            gave_up=values["gave_up"],
            **rows,
        )


# Rows are kept column by column: that compresses better, and reading them needs no Python code
# per row. Three of four rows are references, and they are read on every run.
_COMPRESSION = 1
_Row = TypeVar("_Row", bound=tuple[Any, ...])


def _columns(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _rows(
    row_type: type[_Row], converters: dict[int, Callable[[Any], Any]], columns: list[list[Any]]
) -> tuple[_Row, ...]:
    if not columns:
        return ()
    if len(columns) != len(row_type._fields):  # type: ignore[attr-defined]
        raise FactsMalformed(f"{len(columns)} columns for {row_type.__name__}")
    converted: list[Iterable[Any]] = [
        map(converters[place], column) if place in converters else column
        for place, column in enumerate(columns)
    ]
    return tuple(map(partial(tuple.__new__, row_type), zip(*converted, strict=True)))


def _arguments(rows: list[list[Any]]) -> tuple[Argument, ...]:
    return tuple(Argument(*row) for row in rows)


_KINDS: dict[str | None, NodeKind | None] = {None: None} | {kind.value: kind for kind in NodeKind}
_REFERENCE_KINDS = {kind.value: kind for kind in ReferenceKind}
_ROWS: dict[str, Callable[[list[list[Any]]], tuple[Any, ...]]] = {
    "definitions": partial(
        _rows,
        Definition,
        {
            0: _KINDS.__getitem__,
            9: {visibility.value: visibility for visibility in Visibility}.__getitem__,
            12: tuple,
            13: tuple,
        },
    ),
    "references": partial(_rows, Reference, {0: _REFERENCE_KINDS.__getitem__}),
    "imports": partial(_rows, Import, {0: {kind.value: kind for kind in ImportKind}.__getitem__}),
    "exports": partial(_rows, Export, {}),
    "bindings": partial(
        _rows,
        Binding,
        {
            0: {target.value: target for target in BindingTarget}.__getitem__,
            2: {source.value: source for source in BindingSource}.__getitem__,
        },
    ),
    "sites": partial(_rows, Site, {0: _REFERENCE_KINDS.__getitem__, 5: _arguments}),
}


def _inflate(data: bytes) -> bytes:
    inflater = zlib.decompressobj()
    text = inflater.decompress(data, _MAX_FACTS_BYTES)
    if inflater.unconsumed_tail:
        raise FactsMalformed("facts are larger than any blob's facts")
    return text
