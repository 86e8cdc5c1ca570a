"""One blob's bytes -> its facts, with tree-sitter. Knows one file's text, never a path's meaning.

Queries (`indexing/languages/queries/*.scm`) speak this vocabulary:

- `@definition.<kind>` with `@name`; `@body` ends the signature; `@receiver` is the type a method is
  declared on from outside; `@container` makes a variable hold the definitions inside it.
- `@scope`: a container without a node. `@doc` with `@name`: a docstring.
- `@call @base @implements @decorator @type @value`, with `@receiver` where there is one.
- `@import.(module|from|name|alias|default|namespace|star)`, `@reexport.(name|namespace|star)`,
  `@export.(name|local)`, `@package`.
- `@bind.(name|field|object + attribute)` or `@return`, holding a `.type`, a `.call` or a `.value`.
- `@local`: a name that hides the outer ones and whose type is not known.

Native hazards that shape this module: `QueryCursor.matches` with a progress callback crashes the
process, `Parser.parse` honors one only when it reads through a callback, and nodes kept across
files have been freed under their users. So nodes become byte offsets at once, and the query's
quadratic time in a flat error node is avoided by looking at the tree's shape first.
"""

import hashlib
import inspect
import re
import time
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tree_sitter import Node, Parser

from graph.values import NodeKind, Visibility
from indexing.expressions import chain_of, steps_of
from indexing.facts import (
    MODULE_SCOPE,
    Binding,
    BindingSource,
    BindingTarget,
    BlobFacts,
    Definition,
    Export,
    Import,
    ImportKind,
    Reference,
    ReferenceKind,
)
from indexing.languages import Language, PrivacyRule, grammar_of

MAX_SOURCE_BYTES = 1_000_000
MAX_DEFINITIONS = 20_000
MAX_DEPTH = 40
"""Deeper definitions are not recorded: their names and hashed bodies would grow quadratically."""

PARSE_SECONDS = 3.0
MAX_ERROR_CHILDREN = 10_000
"""Children of an erroneous root above which the query would take more than a second."""

MAX_SIGNATURE_CHARACTERS = 300
MAX_DOC_CHARACTERS = 2000
MAX_SOURCE_CHARACTERS = 1500
_MAX_DOC_LINES = 100
_MAX_NAME_BYTES = 200
_MAX_EXPRESSION_BYTES = 1000
_MAX_CHAIN_CHARACTERS = 160

_MINIFIED_MIN_BYTES = 20_000
_MINIFIED_MEAN_LINE_BYTES = 500
_BINARY_PROBE_BYTES = 8000
_GENERATED_PROBE_BYTES = 2048

_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_GENERATED = re.compile(
    rb"code generated .{0,80}do not edit|@generated\b|auto-?generated|automatically generated",
    re.IGNORECASE | re.DOTALL,
)
_VENDORED = re.compile(r"(^|/)(node_modules|bower_components|vendor|site-packages|\.venv)/")
_MINIFIED_NAME = re.compile(r"[.-]min\.[a-z]+$")

_CALLABLE = frozenset({NodeKind.FUNCTION, NodeKind.METHOD})
_MEMBER_OWNERS = frozenset({NodeKind.CLASS, NodeKind.INTERFACE, NodeKind.ENUM, NodeKind.TYPE})
_LEAVES = frozenset({NodeKind.VARIABLE, NodeKind.FIELD})
_KIND_RANK = {
    NodeKind.CLASS: 8,
    NodeKind.INTERFACE: 7,
    NodeKind.METHOD: 6,
    NodeKind.FUNCTION: 5,
    NodeKind.ENUM: 4,
    NodeKind.MODULE: 3,
    NodeKind.TYPE: 2,
}

_MODIFIERS = frozenset({"name", "receiver", "body", "container"})
_REFERENCE_KINDS = frozenset(ReferenceKind)
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
_WORDS_BEFORE_NAME = re.compile(r"[\w\s@.]*")
_SIGNATURE_END = re.compile(r"\s*(?:=>|[:{=;])\s*$")
_LITERAL = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
_PLAIN_RECEIVER = re.compile(r"[\w$]+(?:\.[\w$]+)*")
_PRIVATE_MODIFIER = re.compile(r"\b(private|protected)\b")


def skip_reason(path: str, source: bytes | int) -> str | None:
    """Say why a file's contents are not worth reading, or None; give its size before its bytes."""
    if isinstance(source, int):
        return _skip_reason_of_path(path) or ("too-large" if source > MAX_SOURCE_BYTES else None)
    return skip_reason(path, len(source)) or _skip_reason_of_text(source)


def extract(language: Language, source: bytes) -> BlobFacts:
    """Return what `source` says; never raises for its contents, see `BlobFacts.gave_up`."""
    root = _parse(grammar_of(language).parser, source)
    lines = source.count(b"\n") + (not source.endswith(b"\n")) if source else 0
    if root is None:
        return BlobFacts(language=language.name, lines=lines, has_error=True, gave_up="parse-time")
    if root.has_error and root.child_count > MAX_ERROR_CHILDREN:
        return BlobFacts(language=language.name, lines=lines, has_error=True, gave_up="errors")
    captured = _capture(language, source, root)
    return _facts(language, captured, lines=lines, has_error=root.has_error)


def _skip_reason_of_path(path: str) -> str | None:
    if _VENDORED.search(path):
        return "vendored"
    return "minified" if _MINIFIED_NAME.search(path) else None


def _skip_reason_of_text(source: bytes) -> str | None:
    if b"\0" in source[:_BINARY_PROBE_BYTES]:
        return "binary"
    if source.startswith(_LFS_POINTER):
        return "lfs"
    mean_line_bytes = len(source) / (source.count(b"\n") + 1)
    if len(source) > _MINIFIED_MIN_BYTES and mean_line_bytes > _MINIFIED_MEAN_LINE_BYTES:
        return "minified"
    return None


def _parse(parser: Parser, source: bytes) -> Node | None:
    deadline = time.monotonic() + PARSE_SECONDS
    try:
        tree = parser.parse(
            lambda offset, _point: source[offset : offset + 65536],
            progress_callback=lambda *_: time.monotonic() > deadline,
        )
    except ValueError:
        parser.reset()
        return None
    return tree.root_node


class _Span(NamedTuple):
    start: int
    end: int


class _Text:
    """The source and where its lines begin; all positions are byte offsets."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self._newlines = [found.start() for found in re.finditer(rb"\n", source)]

    def of(self, span: _Span, limit: int = _MAX_NAME_BYTES) -> str:
        # A slice, not node.text: the receivers in a chain of n calls would copy n * n bytes.
        end = min(span.end, span.start + limit)
        return self.source[span.start : end].decode("utf-8", "replace")

    def line_of(self, offset: int) -> int:
        return bisect_right(self._newlines, offset - 1) + 1

    def line_start(self, offset: int) -> int:
        line = self.line_of(offset)
        return 0 if line == 1 else self._newlines[line - 2] + 1

    def lines_before(self, offset: int) -> Iterator[str]:
        """Yield the lines above the one at `offset`, nearest first, stripped."""
        end = self.line_start(offset) - 1
        while end >= 0:
            start = self.source.rfind(b"\n", 0, end) + 1
            yield self.source[start:end].decode("utf-8", "replace").strip()
            end = start - 1


@dataclass(slots=True)
class _Found:
    """A captured definition; the last three fields are known once containment is."""

    kind: NodeKind | None
    name: str
    name_start: int
    start: int
    end: int
    body_start: int | None
    receiver: str | None
    is_container: bool
    parent: int = MODULE_SCOPE
    local_name: str = ""
    members: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Captured:
    """What the query found, as offsets and text; positions stay in the first place for sorting."""

    text: _Text
    package: str = ""
    definitions: list[_Found] = field(default_factory=list)
    docs: dict[int, _Span] = field(default_factory=dict)
    references: list[tuple[int, ReferenceKind, str, str | None]] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    exports: list[Export] = field(default_factory=list)
    bindings: list[tuple[int, BindingTarget, str, BindingSource, str]] = field(default_factory=list)
    locals: list[tuple[int, str]] = field(default_factory=list)
    is_generated: bool = False


def _capture(language: Language, source: bytes, root: Node) -> _Captured:
    captured = _Captured(_Text(source))
    captured.is_generated = bool(_GENERATED.search(source[:_GENERATED_PROBE_BYTES]))
    roles: dict[int, str] = {}
    for pattern, nodes in grammar_of(language).cursor.matches(root):
        spans = {
            name: _Span(found[0].start_byte, found[0].end_byte) for name, found in nodes.items()
        }
        role = roles.get(pattern)
        if role is None:
            role = roles[pattern] = _role_of(spans)
        _READERS[role](captured, language, spans)
    return captured


def _role_of(spans: Iterable[str]) -> str:
    marking = next(name for name in spans if name not in _MODIFIERS and not name.startswith("_"))
    role = marking.partition(".")[0]
    return "reference" if role in _REFERENCE_KINDS else role


def _read_definition(captured: _Captured, language: Language, spans: dict[str, _Span]) -> None:
    marking = next(name for name in spans if name.startswith("definition."))
    span, name, body = spans[marking], spans["name"], spans.get("body")
    receiver = captured.text.of(spans["receiver"]) if "receiver" in spans else None
    kind: NodeKind | None = NodeKind(marking.removeprefix("definition."))
    if receiver is not None:
        receiver = receiver.replace(".prototype", "")
        if receiver in language.export_objects:
            captured.exports.append(Export(captured.text.of(name), captured.text.of(name)))
            kind, receiver = NodeKind.FUNCTION, None
        elif receiver in language.self_names:
            receiver = None
        elif not _PLAIN_RECEIVER.fullmatch(receiver):
            kind, receiver = None, None
    captured.definitions.append(
        _Found(
            kind=kind,
            name=captured.text.of(name),
            name_start=name.start,
            start=span.start,
            end=span.end,
            body_start=body.start if body else None,
            receiver=receiver,
            is_container="container" in spans or kind not in _LEAVES,
        )
    )


def _read_scope(captured: _Captured, _language: Language, spans: dict[str, _Span]) -> None:
    span = spans["scope"]
    captured.definitions.append(
        _Found(
            kind=None,
            name="",
            name_start=-1 - span.start,
            start=span.start,
            end=span.end,
            body_start=None,
            receiver=None,
            is_container=True,
        )
    )


def _read_doc(captured: _Captured, _language: Language, spans: dict[str, _Span]) -> None:
    captured.docs[spans["name"].start] = spans["doc"]


def _read_reference(captured: _Captured, language: Language, spans: dict[str, _Span]) -> None:
    receiver = None
    if "receiver" in spans:
        receiver = _chain(captured.text, spans["receiver"])
    for kind in _REFERENCE_KINDS & spans.keys():
        name = captured.text.of(spans[kind])
        if kind == ReferenceKind.TYPE:
            name = _type_text(name, language)
        captured.references.append((spans[kind].start, ReferenceKind(kind), name, receiver))


def _read_import(captured: _Captured, _language: Language, spans: dict[str, _Span]) -> None:
    marking, kind = next(pair for pair in _IMPORT_CAPTURES if pair[0] in spans)
    name = captured.text.of(spans[marking])
    alias = captured.text.of(spans["import.alias"]) if "import.alias" in spans else name
    is_whole_module = kind in (ImportKind.MODULE, ImportKind.EXPORT_STAR)
    captured.imports.append(
        Import(
            kind=kind,
            module=name if is_whole_module else captured.text.of(spans["import.from"]),
            name="" if is_whole_module or kind == ImportKind.STAR else name,
            alias="" if is_whole_module and alias == name else alias,
            line=captured.text.line_of(spans[marking].start),
        )
    )


def _read_export(captured: _Captured, _language: Language, spans: dict[str, _Span]) -> None:
    name, local = spans.get("export.name"), spans.get("export.local")
    text = captured.text
    exported = text.of(name) if name else "default" if local else ""
    captured.exports.append(Export(exported, text.of(local) if local else exported))


def _read_binding(captured: _Captured, language: Language, spans: dict[str, _Span]) -> None:
    marking = next(name for name in spans if name.endswith((".type", ".call", ".value")))
    role, _, source = marking.partition(".")
    target, name = BindingTarget.RETURN, ""
    if role == "bind":
        target, name = _bound(captured.text, language, spans)
    if source == BindingSource.TYPE:
        text = _type_text(captured.text.of(spans[marking]), language)
    else:
        text = _chain(captured.text, spans[marking])
    if text and (name or target is BindingTarget.RETURN):
        captured.bindings.append((spans[marking].start, target, name, BindingSource(source), text))


def _bound(text: _Text, language: Language, spans: dict[str, _Span]) -> tuple[BindingTarget, str]:
    if "bind.name" in spans:
        return BindingTarget.NAME, text.of(spans["bind.name"])
    if "bind.field" in spans:
        return BindingTarget.FIELD, text.of(spans["bind.field"])
    is_own = text.of(spans["bind.object"]) in language.self_names
    return BindingTarget.FIELD, text.of(spans["bind.attribute"]) if is_own else ""


def _read_package(captured: _Captured, _language: Language, spans: dict[str, _Span]) -> None:
    captured.package = captured.text.of(spans["package"])


def _read_local(captured: _Captured, _language: Language, spans: dict[str, _Span]) -> None:
    captured.locals.append((spans["local"].start, captured.text.of(spans["local"])))


_READERS: dict[str, Callable[[_Captured, Language, dict[str, _Span]], None]] = {
    "definition": _read_definition,
    "scope": _read_scope,
    "doc": _read_doc,
    "reference": _read_reference,
    "import": _read_import,
    "reexport": _read_import,
    "export": _read_export,
    "bind": _read_binding,
    "return": _read_binding,
    "package": _read_package,
    "local": _read_local,
}


def _chain(text: _Text, span: _Span) -> str:
    if span.end - span.start > _MAX_EXPRESSION_BYTES:
        return ""  # cut off, it would be another chain
    chain = chain_of(text.of(span, _MAX_EXPRESSION_BYTES))
    return chain if len(chain) <= _MAX_CHAIN_CHARACTERS else ""


def _type_text(text: str, language: Language) -> str:
    if not language.has_quoted_types:
        text = _LITERAL.sub(" ", text)
    return " ".join(text.split())


def _facts(language: Language, captured: _Captured, *, lines: int, has_error: bool) -> BlobFacts:
    distinct = _deduplicated(captured.definitions)
    gave_up = "definitions" if len(distinct) > MAX_DEFINITIONS else None
    found = _contained(distinct[:MAX_DEFINITIONS])
    definitions = tuple(_Describer(language, captured, found).describe())
    if captured.is_generated:
        return BlobFacts(
            language=language.name,
            lines=lines,
            package=captured.package,
            definitions=definitions,
            exports=tuple(captured.exports),
            has_error=has_error,
            gave_up="generated",
        )
    bindings = _bindings(captured, found)
    return BlobFacts(
        language=language.name,
        lines=lines,
        package=captured.package,
        definitions=definitions,
        references=tuple(_references(language, captured, found, bindings)),
        imports=tuple(captured.imports),
        exports=tuple(dict.fromkeys(captured.exports)),
        bindings=bindings,
        has_error=has_error,
        gave_up=gave_up,
    )


def _deduplicated(definitions: list[_Found]) -> list[_Found]:
    """Keep one definition per name token: the most specific kind, then the widest span."""
    best: dict[int, _Found] = {}
    for found in definitions:
        rival = best.get(found.name_start)
        if rival is None or _specificity(found) > _specificity(rival):
            best[found.name_start] = found
    return sorted(best.values(), key=lambda found: (found.start, -found.end, found.name_start))


def _specificity(found: _Found) -> tuple[int, bool, int]:
    rank = _KIND_RANK.get(found.kind, 0) if found.kind else 0
    return rank, found.is_container, found.end - found.start


def _contained(definitions: list[_Found]) -> list[_Found]:
    """Give every definition its parent and local name in one sweep over the sorted spans."""
    kept: list[_Found] = []
    open_containers: list[int] = []
    for found in definitions:
        while open_containers and kept[open_containers[-1]].end <= found.start:
            open_containers.pop()
        found.parent = open_containers[-1] if open_containers else MODULE_SCOPE
        if len(open_containers) >= MAX_DEPTH or _repeats_parent(found, kept):
            continue
        _name_locally(found, kept)
        if found.parent != MODULE_SCOPE:
            kept[found.parent].members.append(len(kept))
        if found.is_container:
            open_containers.append(len(kept))
        kept.append(found)
    return kept


def _repeats_parent(found: _Found, kept: list[_Found]) -> bool:
    """Tell the function expression that is the whole value of a named definition."""
    if found.kind is not None or found.parent == MODULE_SCOPE:
        return False
    return found.end == kept[found.parent].end


def _name_locally(found: _Found, kept: list[_Found]) -> None:
    parent = kept[found.parent] if found.parent != MODULE_SCOPE else None
    if found.kind is NodeKind.FUNCTION and parent and parent.kind in _MEMBER_OWNERS:
        found.kind = NodeKind.METHOD
    outer = parent.local_name if parent else ""
    if found.kind is NodeKind.METHOD and not found.receiver and not outer:
        found.kind = None  # a function in an object literal that nothing names
    own = f"{found.receiver}.{found.name}" if found.receiver else found.name
    if found.kind is None:
        found.local_name = outer
    else:
        found.local_name = f"{outer}.{own}" if outer else own


class _Describer:
    """Turns found definitions into facts: signature, doc, visibility and body hash."""

    def __init__(self, language: Language, captured: _Captured, found: list[_Found]) -> None:
        self.language = language
        self.text = captured.text
        self.docs = captured.docs
        self.found = found
        self.exported = {export.local for export in captured.exports}

    def describe(self) -> Iterator[Definition]:
        for found in self.found:
            yield self._scope(found) if found.kind is None else self._definition(found)

    def _scope(self, found: _Found) -> Definition:
        return Definition(
            kind=None,
            name="",
            local_name=found.local_name,
            parent=found.parent,
            receiver=None,
            start_line=self.text.line_of(found.start),
            end_line=self.text.line_of(found.end - 1),
            signature="",
            doc="",
            visibility=Visibility.PRIVATE,
            body_hash="",
            source_text="",
        )

    def _definition(self, found: _Found) -> Definition:
        header = self._header_start(found)
        text_end = found.start + 4 * MAX_SOURCE_CHARACTERS
        source_text = self.text.of(
            _Span(min(header, found.start), min(found.end, text_end)), text_end
        )
        return Definition(
            kind=found.kind,
            name=found.name,
            local_name=found.local_name,
            parent=found.parent,
            receiver=found.receiver,
            start_line=self.text.line_of(found.start),
            end_line=self.text.line_of(max(found.start, found.end - 1)),
            signature=self._signature(found, header),
            doc=self._doc(found),
            visibility=self._visibility(found, header),
            body_hash=self._body_hash(found),
            source_text=source_text[:MAX_SOURCE_CHARACTERS],
        )

    def _header_start(self, found: _Found) -> int:
        """Start of the name's line if only words precede the name (`export async function`)."""
        line_start = self.text.line_start(found.name_start)
        before = self.text.of(_Span(line_start, found.name_start))
        if found.start >= line_start and not _WORDS_BEFORE_NAME.fullmatch(before):
            return found.start
        return line_start + len(before) - len(before.lstrip())

    def _signature(self, found: _Found, header: int) -> str:
        end = found.body_start if found.body_start and found.body_start > header else found.end
        text = self.text.of(_Span(header, end), 4 * MAX_SIGNATURE_CHARACTERS)
        if not found.body_start:
            text = text.partition("\n")[0]
        return _SIGNATURE_END.sub("", " ".join(text.split())[:MAX_SIGNATURE_CHARACTERS])

    def _doc(self, found: _Found) -> str:
        span = self.docs.get(found.name_start)
        if span:
            literal = self.text.of(span, 4 * MAX_DOC_CHARACTERS).lstrip("rRuUbBfF")
            return inspect.cleandoc(literal.strip("\"'"))[:MAX_DOC_CHARACTERS]
        line_start = self.text.line_start(found.start)
        if not _WORDS_BEFORE_NAME.fullmatch(self.text.of(_Span(line_start, found.start))):
            return ""  # the comment above is about what the line begins with
        return self._comment_above(found.start)[:MAX_DOC_CHARACTERS]

    def _comment_above(self, start: int) -> str:
        opener, closer = self.language.block_comment or ("\n", "\n")
        lines: list[str] = []
        is_block = is_open = False
        for line in self.text.lines_before(start):
            if not lines:
                is_block = is_open = line.endswith(closer)
            if not (is_open if is_block else line.startswith(self.language.line_comment)):
                break
            is_open = is_open and opener not in line
            lines.append(line)
            if len(lines) == _MAX_DOC_LINES:
                break
        return "\n".join(_without_comment_marks(line) for line in reversed(lines)).strip()

    def _visibility(self, found: _Found, header: int) -> Visibility:
        return _VISIBILITY_RULES[self.language.privacy](self, found, header)

    def by_underscore(self, found: _Found, _header: int) -> Visibility:
        if not found.name.startswith("_") or found.name.endswith("__"):
            return Visibility.PUBLIC
        is_member = found.parent != MODULE_SCOPE and self.found[found.parent].kind in _MEMBER_OWNERS
        if is_member and not found.name.startswith("__"):
            return Visibility.PROTECTED
        return Visibility.PRIVATE

    def by_modifier(self, found: _Found, header: int) -> Visibility:
        if found.name.startswith("#"):
            return Visibility.PRIVATE
        modifier = _PRIVATE_MODIFIER.search(self.text.of(_Span(header, found.name_start)))
        if modifier:
            return Visibility(modifier.group())
        is_hidden = self.exported and found.parent == MODULE_SCOPE and not found.receiver
        if is_hidden and found.name not in self.exported and found.name != "default":
            return Visibility.PRIVATE
        return Visibility.PUBLIC

    def by_capital(self, found: _Found, _header: int) -> Visibility:
        return Visibility.PUBLIC if found.name[:1].isupper() else Visibility.PRIVATE

    def _body_hash(self, found: _Found) -> str:
        indent = found.start - self.text.line_start(found.start)
        digest = hashlib.sha256()
        for line in self._own_bytes(found).splitlines():
            digest.update(_dedented(line, indent).rstrip() + b"\n")
        return digest.hexdigest()[:16]

    def _own_bytes(self, found: _Found) -> bytes:
        """The definition's text; for a class or an interface, without its methods and classes."""
        if found.kind not in _MEMBER_OWNERS:
            return self.text.source[found.start : found.end]
        pieces, position = [], found.start
        for index in found.members:
            member = self.found[index]
            if member.kind in _CALLABLE or member.kind in _MEMBER_OWNERS:
                pieces.append(self.text.source[position : member.start].rstrip())
                position = member.end
        pieces.append(self.text.source[position : found.end].rstrip())
        return b"\n".join(pieces)


_VISIBILITY_RULES: dict[PrivacyRule, Callable[[_Describer, _Found, int], Visibility]] = {
    PrivacyRule.UNDERSCORE: _Describer.by_underscore,
    PrivacyRule.MODIFIER: _Describer.by_modifier,
    PrivacyRule.CAPITAL: _Describer.by_capital,
}


def _without_comment_marks(line: str) -> str:
    return line.removeprefix("/**").removeprefix("/*").removesuffix("*/").lstrip("/#*! ").rstrip()


def _dedented(line: bytes, indent: int) -> bytes:
    blank = len(line) - len(line.lstrip())
    return line[min(indent, blank) :]


def _bindings(captured: _Captured, found: list[_Found]) -> tuple[Binding, ...]:
    rows = sorted(captured.bindings, key=lambda row: row[0])
    scopes = _scopes_at([row[0] for row in rows], found)
    bindings = (
        Binding(target, name, source, text, scope, captured.text.line_of(position))
        for (position, target, name, source, text), scope in zip(rows, scopes, strict=True)
    )
    return tuple(dict.fromkeys(bindings))


def _references(
    language: Language, captured: _Captured, found: list[_Found], bindings: Iterable[Binding]
) -> Iterator[Reference]:
    shadows = _Shadows(language, captured, found, bindings)
    rows = sorted(captured.references, key=lambda row: (row[0], row[1]))
    scopes = _scopes_at([row[0] for row in rows], found)
    for (position, kind, name, receiver), scope in zip(rows, scopes, strict=True):
        is_shadowed = shadows.hide(name if receiver is None else receiver, scope)
        if is_shadowed and kind is ReferenceKind.VALUE:
            continue
        column = position - captured.text.line_start(position)
        line = captured.text.line_of(position)
        yield Reference(kind, name, receiver, scope, line, column, is_shadowed)


class _Shadows:
    """Which names are locals that nothing is known about, scope by scope."""

    def __init__(
        self,
        language: Language,
        captured: _Captured,
        found: list[_Found],
        bindings: Iterable[Binding],
    ) -> None:
        self.found = found
        self.self_names = language.self_names
        self.known: defaultdict[int, set[str]] = defaultdict(set)
        for definition in found:
            self.known[definition.parent].add(definition.name)
        for binding in bindings:
            if binding.target is BindingTarget.NAME:
                self.known[binding.scope].add(binding.name)
        # The name of `const f = () => f()` stands inside the definition that it names.
        own_names = {definition.name_start for definition in found}
        rows = sorted(row for row in captured.locals if row[0] not in own_names)
        self.unknown: defaultdict[int, set[str]] = defaultdict(set)
        for (_, name), scope in zip(rows, _scopes_at([r[0] for r in rows], found), strict=True):
            self.unknown[scope].add(name)

    def hide(self, expression: str, scope: int) -> bool:
        """Tell whether the innermost function that knows the expression's first name is untyped."""
        head = next(iter(steps_of(expression)), "")
        if head in self.self_names:
            return False
        while scope != MODULE_SCOPE:
            definition = self.found[scope]
            if definition.kind is None or definition.kind in _CALLABLE:
                if head in self.known[scope]:
                    return False
                if head in self.unknown[scope]:
                    return True
            scope = definition.parent
        return False


def _scopes_at(positions: list[int], found: list[_Found]) -> Iterator[int]:
    """Yield the innermost container at each of the sorted positions, in one sweep."""
    upcoming = 0
    open_containers: list[int] = []
    for position in positions:
        while upcoming < len(found) and found[upcoming].start <= position:
            if found[upcoming].is_container:
                _close_before(open_containers, found, found[upcoming].start)
                open_containers.append(upcoming)
            upcoming += 1
        _close_before(open_containers, found, position)
        yield open_containers[-1] if open_containers else MODULE_SCOPE


def _close_before(open_containers: list[int], found: list[_Found], position: int) -> None:
    while open_containers and found[open_containers[-1]].end <= position:
        open_containers.pop()
