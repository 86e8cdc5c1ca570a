"""What one blob says, whatever file or commit it stands in: the cacheable result of parsing.

Everything is positions and plain text; which definition a name means is `indexing.resolution`'s
question. Serialized as compressed JSON, never pickled: the producer has read hostile bytes.
"""

import json
import zlib
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, Self

from graph.values import NodeKind, Visibility

EXTRACTOR_VERSION = 2
"""Raise when the same bytes would give other facts: cached facts of older versions are stale."""

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
    """What a binding's text is: an annotation, a called expression, or the value's expression."""

    TYPE = "type"
    CALL = "call"
    VALUE = "value"


class Definition(NamedTuple):
    """One definition, or an anonymous scope when `kind` is None.

    `parent` indexes the blob's definitions. `receiver` is the type a method is declared on from
    outside (Go) or the object a function is assigned to (`app.init = function`).
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


class Reference(NamedTuple):
    """One use of a name. `column` counts bytes; `scope` indexes the innermost definition.

    `receiver` is the chain before the name (`indexing.expressions`), None for a bare name and ""
    for an expression that is no chain. `is_shadowed`: the first name is a local of unknown type.
    """

    kind: ReferenceKind
    name: str
    receiver: str | None
    scope: int
    line: int
    column: int
    is_shadowed: bool


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
    """A hint at the type of a local name, of a field of the enclosing class, or of a result."""

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
        values = {name: getattr(self, name) for name in self.__slots__}
        text = json.dumps(values, separators=(",", ":"), ensure_ascii=False)
        return zlib.compress(text.encode("utf-8", "backslashreplace"), level=6)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what `to_bytes` wrote; raises FactsMalformed for anything else."""
        try:
            return cls._from_values(json.loads(_inflate(data)))
        except (zlib.error, ValueError, TypeError, KeyError) as error:
            raise FactsMalformed(str(error)) from error

    @classmethod
    def _from_values(cls, values: dict[str, Any]) -> Self:
        return cls(
            language=values["language"],
            lines=values["lines"],
            package=values["package"],
            definitions=tuple(map(_definition, values["definitions"])),
            references=tuple(
                Reference(ReferenceKind(kind), *rest) for kind, *rest in values["references"]
            ),
            imports=tuple(Import(ImportKind(kind), *rest) for kind, *rest in values["imports"]),
            exports=tuple(Export(*row) for row in values["exports"]),
            bindings=tuple(
                Binding(BindingTarget(target), name, BindingSource(source), *rest)
                for target, name, source, *rest in values["bindings"]
            ),
            sites=tuple(map(_site, values["sites"])),
            has_error=values["has_error"],
            gave_up=values["gave_up"],
        )


def _definition(row: list[Any]) -> Definition:
    definition = Definition(*row)
    return definition._replace(
        kind=None if definition.kind is None else NodeKind(definition.kind),
        visibility=Visibility(definition.visibility),
    )


def _site(row: list[Any]) -> Site:
    kind, name, receiver, scope, line, arguments = row
    return Site(
        ReferenceKind(kind),
        name,
        receiver,
        scope,
        line,
        tuple(Argument(*argument) for argument in arguments),
    )


def _inflate(data: bytes) -> bytes:
    inflater = zlib.decompressobj()
    text = inflater.decompress(data, _MAX_FACTS_BYTES)
    if inflater.unconsumed_tail:
        raise FactsMalformed("facts are larger than any blob's facts")
    return text
