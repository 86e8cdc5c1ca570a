"""A parsed tree -> what its language's query found, as offsets and text. Relates nothing yet.

Queries (`indexing/languages/queries/*.scm`) speak this vocabulary; one pattern has one marking:

- `@definition.<kind>` with `@name`; `@body` ends the signature; `@receiver` is the type a method is
  declared on from outside; `@container` makes a variable hold the definitions inside it;
  `@parameters` holds one child per parameter.
- `@scope`: a container without a node; with `@receiver`, its members belong to that type.
  `@doc` with `@name`: a docstring. `@attribute`: what stands before a definition and is part of it.
- `@call @base @implements @decorator @type @value`, with `@receiver` where there is one, and
  `@arguments` where rules about libraries may want them.
- `@import.(module|from|name|alias|default|namespace|star)`, `@reexport.(name|namespace|star)`,
  `@export.(name|local)`, `@package`; `@import.tree` is a whole statement as `indexing.import_trees`
  reads it, with `@import.alias` if the name comes first.
- `@bind.(name|field|object + attribute)` or `@return`, holding a `.type`, a `.call`, a `.value` or
  an `.element` of one; `@bind.pattern` takes a type or value apart; `@return.object`: its members.
- `@context`: a function whose parameters have the types that the place expects where it stands.
- `@local`: a name that hides the outer ones and whose type is not known.
- `@flow.<kind>`: a step of control flow, see `indexing.complexity`.

Nodes kept across files have been freed under their users, so they become byte offsets at once.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from tree_sitter import Node, QueryCursor

from graph.values import NodeKind
from indexing import patterns
from indexing.arguments import arguments_of, arguments_of_call
from indexing.expressions import OR, OWN_OBJECT, chain_of
from indexing.facts import (
    MODULE_SCOPE,
    Argument,
    BindingSource,
    BindingTarget,
    Export,
    Import,
    ImportKind,
    ReferenceKind,
)
from indexing.import_trees import imports_of
from indexing.languages import Language, grammar_of
from indexing.libraries.rules import names_called
from indexing.written_types import CUT

_MAX_NAME_BYTES = 200
_MAX_EXPRESSION_BYTES = 1000
_MAX_CHAIN_CHARACTERS = 160
_MAX_TYPE_BYTES = 400
_MAX_CHAINS = 3
_MAX_PARAMETER_BYTES = 200
_MAX_PARAMETERS = 100
_MAX_IMPORT_BYTES = 20_000
_GENERATED_PROBE_BYTES = 2048

_GENERATED = re.compile(
    rb"code generated .{0,80}do not edit|@generated\b|auto-?generated|automatically generated",
    re.IGNORECASE | re.DOTALL,
)
_MODIFIERS = frozenset(
    {"name", "receiver", "body", "container", "parameters", "arguments"}
    | {"import.alias", "import.from"}
)
_ELEMENT = "element"
_SAYING = (".type", ".call", ".value", f".{_ELEMENT}")
_LEAVES = frozenset({NodeKind.VARIABLE, NodeKind.FIELD})
_IMPORT_CAPTURES = (
    ("reexport.star", ImportKind.EXPORT_STAR),
    ("reexport.namespace", ImportKind.EXPORT_NAMESPACE),
    ("reexport.name", ImportKind.EXPORT_NAME),
    ("import.star", ImportKind.STAR),
    ("import.default", ImportKind.DEFAULT),
    ("import.namespace", ImportKind.NAMESPACE),
    ("import.name", ImportKind.NAME),
    ("import.module", ImportKind.MODULE),
)
_LITERAL = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_MEMBER_END = re.compile(r"(?<=[\w\])}>])[ \t]*\n\s*(?=[\w$\[])")
"""Where a member of a written out type ends without a semicolon."""
_PLAIN_RECEIVER = re.compile(r"[\w$]+(?:(?:\.|::)[\w$]+)*")

Captures = Mapping[str, list[Node]]


class Text:
    """The source and where its lines begin; all positions are byte offsets."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.newlines = [found.start() for found in re.finditer(rb"\n", source)]
        # In ASCII a byte is a character: one decoding serves all slices.
        self._ascii = source.decode("ascii") if source.isascii() else None

    def of(self, start: int, end: int, limit: int = _MAX_NAME_BYTES) -> str:
        # A slice, not node.text: the receivers in a chain of n calls would copy n * n bytes.
        if end - start > limit:
            end = start + limit
        if self._ascii is not None:
            return self._ascii[start:end]
        return self.source[start:end].decode("utf-8", "replace")

    def of_node(self, node: Node, limit: int = _MAX_NAME_BYTES) -> str:
        return self.of(node.start_byte, node.end_byte, limit)

    def line_of(self, offset: int) -> int:
        return bisect_right(self.newlines, offset - 1) + 1

    def line_start(self, offset: int) -> int:
        line = bisect_right(self.newlines, offset - 1)
        return self.newlines[line - 1] + 1 if line else 0

    def lines_before(self, offset: int) -> Iterator[str]:
        """Yield the lines above the one at `offset`, nearest first, stripped."""
        end = self.line_start(offset) - 1
        while end >= 0:
            start = self.source.rfind(b"\n", 0, end) + 1
            yield self.source[start:end].decode("utf-8", "replace").strip()
            end = start - 1


class Span(NamedTuple):
    """A stretch of the source."""

    start: int
    end: int


@dataclass(slots=True)
class Found:
    """A captured definition; the last three fields are known once containment is."""

    kind: NodeKind | None
    name: str
    name_start: int
    start: int
    end: int
    body_start: int | None
    receiver: str | None
    is_container: bool
    parameters: tuple[str, ...] = ()
    parent: int = MODULE_SCOPE
    local_name: str = ""
    members: list[int] = field(default_factory=list)


# Plain tuples, position first: there are tens of thousands in a large file.
FoundReference = tuple[int, ReferenceKind, str, str | None, int]
FoundSite = tuple[int, ReferenceKind, str, str | None, tuple[Argument, ...]]
FoundBinding = tuple[int, BindingTarget, str, BindingSource, str]


class Flow(NamedTuple):
    """One step of control flow; `kind` as in `indexing.complexity`."""

    start: int
    end: int
    kind: str


class Capture:
    """Runs a language's query over one tree and keeps what it found in lists."""

    def __init__(self, language: Language, source: bytes) -> None:
        self.language = language
        self.text = Text(source)
        self.is_generated = bool(_GENERATED.search(source[:_GENERATED_PROBE_BYTES]))
        self.asked_for = names_called(language.name)
        self.is_whole = True
        self.package = ""
        self.definitions: list[Found] = []
        self.docs: dict[int, Span] = {}
        self.attributes: dict[int, int] = {}
        self.references: list[FoundReference] = []
        self.sites: list[FoundSite] = []
        self.imports: list[Import] = []
        self.trees: list[tuple[int, list[Import]]] = []
        self.exports: list[Export] = []
        self.bindings: list[FoundBinding] = []
        self.locals: list[tuple[int, str]] = []
        self.flows: list[Flow] = []

    def read(self, root: Node, *, cursor: QueryCursor | None = None) -> None:
        """Take in every match below `root`; `cursor` may look for less than the whole query."""
        readers: dict[int, Callable[[Captures], None]] = {}
        cursor = cursor or grammar_of(self.language).cursor
        for pattern, nodes in cursor.matches(root):
            reader = readers.get(pattern)
            if reader is None:
                reader = readers[pattern] = self._reader_of(nodes)
            reader(nodes)
        self.is_whole = not cursor.did_exceed_match_limit

    def _reader_of(self, nodes: Captures) -> Callable[[Captures], None]:
        marking = next(
            name for name in _by_weight(nodes) if name not in _MODIFIERS and name[0] != "_"
        )
        role, _, detail = marking.partition(".")
        if role in _REFERENCE_KINDS:
            read = self._decorator if role == "decorator" else self._reference
            return partial(read, ReferenceKind(role))
        if role == "flow":
            return partial(self._flow, marking, detail)
        readers: dict[str, Callable[[Captures], None]] = {
            "definition": partial(self._definition, marking, detail),
            "scope": self._scope,
            "doc": self._doc,
            "attribute": self._attribute,
            "import": self._import_tree if marking == "import.tree" else self._import,
            "reexport": self._import,
            "export": self._export,
            "bind": self._pattern if "bind.pattern" in nodes else self._binding,
            "return": self._returned_object if marking == "return.object" else self._binding,
            "context": self._context,
            "package": self._package,
            "local": self._local,
        }
        return readers[role]

    def _definition(self, marking: str, detail: str, nodes: Captures) -> None:
        node, name = nodes[marking][0], nodes["name"][0]
        kind: NodeKind | None = NodeKind(detail)
        receiver = self.text.of_node(nodes["receiver"][0]) if "receiver" in nodes else None
        if receiver is not None:
            kind, receiver = self._received(kind, receiver, name)
        body, parameters = nodes.get("body"), nodes.get("parameters")
        self.definitions.append(
            Found(
                kind=kind,
                name=self._name(name),
                name_start=name.start_byte,
                start=node.start_byte,
                end=node.end_byte,
                body_start=body[0].start_byte if body else None,
                receiver=receiver,
                is_container="container" in nodes or kind not in _LEAVES,
                parameters=self._parameters(parameters) if parameters else (),
            )
        )

    def _name(self, node: Node) -> str:
        """Return a name without quotes and sigils: `"key"`, `:symbol`, `@field`."""
        written = self.text.of_node(node)
        return written.strip("\"'").lstrip(":@") or written

    def _received(
        self, kind: NodeKind | None, receiver: str, name: Node
    ) -> tuple[NodeKind | None, str | None]:
        receiver = receiver.replace(".prototype", "")
        if receiver in self.language.export_objects:
            text = self.text.of_node(name)
            self.exports.append(Export(text, text))
            return NodeKind.FUNCTION, None
        if receiver in self.language.self_names:
            return kind, None
        return (kind, receiver) if _PLAIN_RECEIVER.fullmatch(receiver) else (None, None)

    def _parameters(self, nodes: list[Node]) -> tuple[str, ...]:
        """Read the lists, or the parameters where the grammar has no list around them."""
        listed = [
            child
            for node in nodes
            for child in ([node] if node.type == "parameter" else node.named_children)
            if not child.is_extra
        ]
        return tuple(
            " ".join(self.text.of_node(node, _MAX_PARAMETER_BYTES).split())
            for node in listed[:_MAX_PARAMETERS]
        )

    def _scope(self, nodes: Captures) -> None:
        node = nodes["scope"][0]
        receiver = self.text.of_node(nodes["receiver"][0]) if "receiver" in nodes else None
        self.definitions.append(
            Found(
                kind=None,
                name="",
                name_start=-1 - node.start_byte,
                start=node.start_byte,
                end=node.end_byte,
                body_start=None,
                receiver=receiver,
                is_container=True,
            )
        )

    def _doc(self, nodes: Captures) -> None:
        node = nodes["doc"][0]
        self.docs[nodes["name"][0].start_byte] = Span(node.start_byte, node.end_byte)

    def _attribute(self, nodes: Captures) -> None:
        node = nodes["attribute"][0]
        self.attributes[node.end_byte] = node.start_byte

    def _reference(self, kind: ReferenceKind, nodes: Captures) -> None:
        node = nodes[kind][0]
        start = node.start_byte
        name = self.text.of(start, node.end_byte)
        received = nodes.get("receiver")
        receiver = None if received is None else self._chain(received[0])
        if kind in _TYPE_KINDS:
            name = self._type_text(name)
        held = nodes.get("arguments")
        arity = -1 if held is None else held[0].named_child_count
        self.references.append((start, kind, name, receiver, arity))
        if held is not None:
            arguments = arguments_of_call(held[0], name, self.text, asked_for=self.asked_for)
            if arguments:
                self.sites.append((start, kind, name, receiver, arguments))

    def _decorator(self, kind: ReferenceKind, nodes: Captures) -> None:
        node = nodes[kind][0]
        name = self.text.of_node(node)
        receiver = self._chain(nodes["receiver"][0]) if "receiver" in nodes else None
        held = nodes.get("arguments")
        arguments = arguments_of(held[0], self.text) if held else ()
        self.references.append((node.start_byte, kind, name, receiver, -1))
        self.sites.append((node.start_byte, kind, name, receiver, arguments))

    def _import(self, nodes: Captures) -> None:
        marking, kind = next(pair for pair in _IMPORT_CAPTURES if pair[0] in nodes)
        node = nodes[marking][0]
        name = self.text.of_node(node)
        alias = self.text.of_node(nodes["import.alias"][0]) if "import.alias" in nodes else name
        source = self.text.of_node(nodes["import.from"][0]) if "import.from" in nodes else ""
        is_whole_module = kind in (ImportKind.MODULE, ImportKind.EXPORT_STAR)
        self.imports.append(
            Import(
                kind=kind,
                module=name if is_whole_module else source,
                name="" if is_whole_module or kind == ImportKind.STAR else name,
                alias="" if is_whole_module and alias == name else alias,
                line=self.text.line_of(node.start_byte),
            )
        )

    def _import_tree(self, nodes: Captures) -> None:
        node = nodes["import.tree"][0]
        line = self.text.line_of(node.start_byte)
        found = imports_of(self.text.of_node(node, _MAX_IMPORT_BYTES), line)
        if "import.alias" in nodes:
            alias = self.text.of_node(nodes["import.alias"][0])
            found = [one._replace(alias=alias) for one in found]
        self.trees.append((node.start_byte, found))

    def _export(self, nodes: Captures) -> None:
        name, local = nodes.get("export.name"), nodes.get("export.local")
        exported = self.text.of_node(name[0]) if name else "default" if local else ""
        self.exports.append(Export(exported, self.text.of_node(local[0]) if local else exported))

    def _binding(self, nodes: Captures) -> None:
        marking = next(name for name in nodes if name.endswith(_SAYING))
        node = nodes[marking][0]
        role, _, source = marking.partition(".")
        target, name = BindingTarget.RETURN, ""
        if role == "bind":
            target, name = self._bound(nodes)
        if source == BindingSource.TYPE:
            text = self._annotation(node)
        elif source == BindingSource.VALUE:
            text = self._chains(node)
        else:
            text = self._chain(node)
        if source == _ELEMENT:
            source, text = BindingSource.VALUE, f"{text}[]" if text else ""
        if text and (name or target is BindingTarget.RETURN):
            self.bindings.append((node.start_byte, target, name, BindingSource(source), text))

    def _pattern(self, nodes: Captures) -> None:
        """Bind the names of `{ a, b: c }` to members of a value, or of a parameter's type."""
        pattern = nodes["bind.pattern"][0]
        if "bind.type" in nodes:
            node = nodes["bind.type"][0]
            whole = f"{{{patterns.place_of(pattern)}}}"  # no name, so nobody else's
            text = self._annotation(node)
            self.bindings.append(
                (node.start_byte, BindingTarget.NAME, whole, BindingSource.TYPE, text)
            )
        else:
            whole = self._chains(nodes["bind.value"][0])
        self._bind(pattern, whole, BindingSource.VALUE)

    def _context(self, nodes: Captures) -> None:
        function = nodes["context"][0]
        parameters = patterns.untyped_parameters(function)
        expected = patterns.expected_at(function, self._chain) if parameters else ""
        for number, pattern in parameters if expected else ():
            self._bind(pattern, f"{expected}{{{number}}}", BindingSource.CONTEXT)

    def _bind(self, pattern: Node, whole: str, source: BindingSource) -> None:
        for name, members in patterns.names_bound(pattern) if whole else ():
            path = "".join(f".{self.text.of_node(member)}" for member in members)
            chain = OR.join(one + path for one in whole.split(OR))
            if len(chain) <= _MAX_CHAIN_CHARACTERS:
                row = (name.start_byte, BindingTarget.NAME, self.text.of_node(name), source, chain)
                self.bindings.append(row)

    def _returned_object(self, nodes: Captures) -> None:
        node = nodes["return.object"][0]
        target, source = BindingTarget.RETURN, BindingSource.VALUE
        self.bindings.append((node.start_byte, target, "", source, OWN_OBJECT))
        for key, value in patterns.members_written(node):
            chain = self._chain(value)
            if chain:
                self.bindings.append(
                    (value.start_byte, target, self.text.of_node(key), source, chain)
                )

    def _bound(self, nodes: Captures) -> tuple[BindingTarget, str]:
        if "bind.name" in nodes:
            return BindingTarget.NAME, self.text.of_node(nodes["bind.name"][0])
        if "bind.field" in nodes:
            return BindingTarget.FIELD, self._name(nodes["bind.field"][0])
        is_own = self.text.of_node(nodes["bind.object"][0]) in self.language.self_names
        name = self.text.of_node(nodes["bind.attribute"][0]) if is_own else ""
        return BindingTarget.FIELD, name

    def _package(self, nodes: Captures) -> None:
        if not self.package:
            written = self._rewritten(self.text.of_node(nodes["package"][0]))
            self.package = "".join(written.split()).strip(".")

    def _local(self, nodes: Captures) -> None:
        node = nodes["local"][0]
        start = node.start_byte
        self.locals.append((start, self.text.of(start, node.end_byte)))

    def _flow(self, marking: str, kind: str, nodes: Captures) -> None:
        node = nodes[marking][0]
        self.flows.append(Flow(node.start_byte, node.end_byte, kind))

    def _chains(self, node: Node) -> str:
        """Return the chains of what an expression may be: `a ?? b()` is one or the other."""
        if not self.language.has_structural_types:
            return self._chain(node)
        chains = [self._chain(value) for value in patterns.values_of(node)]
        return OR.join([chain for chain in chains if chain][:_MAX_CHAINS])

    def _chain(self, node: Node) -> str:
        start, end = node.start_byte, node.end_byte
        if end - start > _MAX_EXPRESSION_BYTES:
            return ""  # cut off, it would be another chain
        chain = chain_of(self._rewritten(self.text.of(start, end, _MAX_EXPRESSION_BYTES)))
        return chain if len(chain) <= _MAX_CHAIN_CHARACTERS else ""

    def _annotation(self, node: Node) -> str:
        if not self.language.has_structural_types:
            return self._type_text(self.text.of_node(node))
        text = self._type_text(self.text.of_node(node, _MAX_TYPE_BYTES))
        return f"{text} {CUT}" if node.end_byte - node.start_byte > _MAX_TYPE_BYTES else text

    def _type_text(self, text: str) -> str:
        if self.language.has_literal_types:
            text = _LITERAL.sub(" ", text)
        if self.language.has_structural_types and "\n" in text:
            text = _MEMBER_END.sub("; ", _COMMENT.sub("", text))
        return " ".join(self._rewritten(text).split()).lstrip(".")

    def _rewritten(self, text: str) -> str:
        for written, meant in self.language.rewrites:
            text = text.replace(written, meant)
        return text


def _by_weight(nodes: Captures) -> list[str]:
    """Put a definition's marking before what else its pattern may hold."""
    return sorted(nodes, key=lambda name: not name.startswith("definition."))


_REFERENCE_KINDS = frozenset(kind.value for kind in ReferenceKind)
_TYPE_KINDS = frozenset({ReferenceKind.TYPE, ReferenceKind.BASE, ReferenceKind.IMPLEMENTS})
