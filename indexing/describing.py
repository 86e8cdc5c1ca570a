"""Captured definitions -> facts: who contains whom, signatures, docs, visibility and hashes."""

import hashlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from graph.values import NodeKind, Visibility
from indexing.capturing import Capture, Found, Text
from indexing.complexity import Complexity, complexities
from indexing.facts import MODULE_SCOPE, Definition, ReferenceKind
from indexing.languages import NO_MARKS, PrivacyRule
from indexing.scopes import scopes_at

MAX_DEPTH = 40
"""Deeper definitions are not recorded: their names and hashed bodies would grow quadratically."""

MAX_SIGNATURE_CHARACTERS = 300
MAX_DOC_CHARACTERS = 2000
MAX_SOURCE_CHARACTERS = 1500
_MAX_DOC_LINES = 100
_BYTES_PER_CHARACTER = 4

_HERITAGE = frozenset({ReferenceKind.BASE, ReferenceKind.IMPLEMENTS})
CALLABLE = frozenset({NodeKind.FUNCTION, NodeKind.METHOD})
_MEMBER_OWNERS = frozenset({NodeKind.CLASS, NodeKind.INTERFACE, NodeKind.ENUM, NodeKind.TYPE})
_KIND_RANK = {
    NodeKind.INTERFACE: 9,
    NodeKind.ENUM: 8,
    NodeKind.CLASS: 7,
    NodeKind.METHOD: 6,
    NodeKind.FUNCTION: 5,
    NodeKind.MODULE: 3,
    NodeKind.TYPE: 2,
}

_WORDS_BEFORE_NAME = re.compile(r"[\w\s@.<>,?&*:\[\]']*")
_SIGNATURE_END = re.compile(r"\s*(?:=>|[:{=;])\s*$")
_PRIVATE_MODIFIER = re.compile(r"\b(private|protected|fileprivate|internal)\b")
_SECTION = re.compile(rb"^[ \t]*(public|private|protected)[ \t]*:?[ \t]*$", re.MULTILINE)
_PUB = re.compile(r"\bpub\b")
_STATIC = re.compile(r"\bstatic\b")
_TRAILING_BLANKS = re.compile(rb"[ \t\r\f\v]+(?=\n|\Z)")
_BETWEEN_ATTRIBUTE_AND_DEFINITION = re.compile(rb"\s*(?:export\s+)?(?:default\s+)?\Z")
_MAX_BYTES_BETWEEN = 200


def contained(capture: Capture, *, limit: int) -> tuple[list[Found], bool]:
    """Return the definitions in the order of the file, each with parent, name and members.

    At most `limit` of them; the second value says whether that is all.
    """
    distinct = _deduplicated(capture.definitions)
    if capture.attributes:
        _include_attributes(distinct, capture)
    distinct.sort(key=lambda found: (found.start, -found.end, found.name_start))
    return _contained(distinct[:limit]), len(distinct) <= limit


def definitions_of(capture: Capture, found: Sequence[Found]) -> Iterator[Definition]:
    """Yield one fact per contained definition."""
    return _Describer(capture, found).describe()


def _deduplicated(definitions: list[Found]) -> list[Found]:
    """Keep one definition per name token: the most specific kind, then the widest span."""
    best: dict[int, Found] = {}
    for found in definitions:
        rival = best.get(found.name_start)
        if rival is None or _specificity(found) > _specificity(rival):
            best[found.name_start] = found
        elif rival.receiver is None and not rival.parameters and found.parameters:
            rival.parameters = found.parameters
    return list(best.values())


def _specificity(found: Found) -> tuple[int, bool, bool, int]:
    rank = _KIND_RANK.get(found.kind, 0) if found.kind else 0
    is_received = found.receiver is not None
    return rank, is_received, found.is_container, found.end - found.start


def _include_attributes(definitions: list[Found], capture: Capture) -> None:
    """Let definitions begin with the attributes that stand right before them."""
    source = capture.text.source
    for found in definitions:
        while True:
            before = source[max(0, found.start - _MAX_BYTES_BETWEEN) : found.start]
            gap = _BETWEEN_ATTRIBUTE_AND_DEFINITION.search(before)
            end = found.start - (len(before) - gap.start() if gap else 0)
            start = capture.attributes.get(end)
            if start is None:
                break
            found.start = start


def _contained(definitions: list[Found]) -> list[Found]:
    """Give every definition its parent and local name in one sweep over the sorted spans."""
    kept: list[Found] = []
    open_containers: list[int] = []
    for found in definitions:
        while open_containers and kept[open_containers[-1]].end <= found.start:
            open_containers.pop()
        found.parent = open_containers[-1] if open_containers else MODULE_SCOPE
        if len(open_containers) >= MAX_DEPTH or _repeats_parent(found, kept):
            continue
        _leave_constructor(found, kept)
        _name_locally(found, kept)
        if found.parent != MODULE_SCOPE:
            kept[found.parent].members.append(len(kept))
        if found.is_container:
            open_containers.append(len(kept))
        kept.append(found)
    return kept


def _repeats_parent(found: Found, kept: list[Found]) -> bool:
    """Tell the function expression that is the whole value of a named definition."""
    if found.kind is not None or found.parent == MODULE_SCOPE or found.receiver:
        return False
    return found.end == kept[found.parent].end


def _leave_constructor(found: Found, kept: list[Found]) -> None:
    """Give a field that a constructor's parameter declares to the class."""
    if found.kind is NodeKind.FIELD and found.parent != MODULE_SCOPE:
        function = kept[found.parent]
        if function.kind in CALLABLE and function.parent != MODULE_SCOPE:
            found.parent = function.parent


def _name_locally(found: Found, kept: list[Found]) -> None:
    parent = kept[found.parent] if found.parent != MODULE_SCOPE else None
    if found.kind is NodeKind.FUNCTION and parent and _holds_members(parent):
        found.kind = NodeKind.METHOD
    if found.kind is NodeKind.VARIABLE and parent and _holds_members(parent):
        found.kind = NodeKind.FIELD
    outer = parent.local_name if parent else ""
    if found.kind is NodeKind.METHOD and not found.receiver and not outer:
        found.kind = None  # a function in an object literal that nothing names
    own = f"{found.receiver}.{found.name}" if found.receiver else found.name
    if found.kind is None:
        own = found.receiver or ""
    found.local_name = f"{outer}.{own}" if outer and own else outer or own


def _holds_members(parent: Found) -> bool:
    return parent.kind in _MEMBER_OWNERS or (parent.kind is None and parent.receiver is not None)


class _Describer:
    """Turns found definitions into facts: signature, doc, visibility, body hash and the rest."""

    def __init__(self, capture: Capture, found: Sequence[Found]) -> None:
        self.language = capture.language
        self.text = capture.text
        self.docs = capture.docs
        self.found = found
        self.exported = {export.local for export in capture.exports}
        self.decorators = _decorators(capture, found)
        self.complexities = complexities(found, capture.flows)
        self.tests = _tests(capture, found, self.decorators)

    def describe(self) -> Iterator[Definition]:
        for index, found in enumerate(self.found):
            yield self._scope(found) if found.kind is None else self._definition(index, found)

    def _scope(self, found: Found) -> Definition:
        return Definition(
            kind=None,
            name="",
            local_name=found.local_name,
            parent=found.parent,
            receiver=found.receiver,
            start_line=self.text.line_of(found.start),
            end_line=self.text.line_of(found.end - 1),
            signature="",
            doc="",
            visibility=Visibility.PRIVATE,
            body_hash="",
            source_text="",
        )

    def _definition(self, index: int, found: Found) -> Definition:
        is_callable = found.kind in CALLABLE
        complexity = self.complexities.get(index, _SIMPLE) if is_callable else _NONE
        header = self._header_start(found)
        source_text = self.text.of(
            min(header, found.start), found.end, _BYTES_PER_CHARACTER * MAX_SOURCE_CHARACTERS
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
            body_hash=body_hash(found, self.found, self.text),
            source_text=source_text[:MAX_SOURCE_CHARACTERS],
            parameters=found.parameters,
            decorators=tuple(self.decorators.get(index, ())),
            cyclomatic=complexity.cyclomatic,
            cognitive=complexity.cognitive,
            is_test=index in self.tests,
        )

    def _header_start(self, found: Found) -> int:
        """Start of the name's line if only words precede the name (`export async function`)."""
        line_start = self.text.line_start(found.name_start)
        if line_start <= found.start and _is_blank(self.text.source[line_start : found.start]):
            return found.start
        before = self.text.of(line_start, found.name_start)
        if found.start >= line_start and not _WORDS_BEFORE_NAME.fullmatch(before):
            return found.start
        return line_start + len(before) - len(before.lstrip())

    def _signature(self, found: Found, header: int) -> str:
        end = found.body_start if found.body_start and found.body_start > header else found.end
        text = self.text.of(header, end, _BYTES_PER_CHARACTER * MAX_SIGNATURE_CHARACTERS)
        if not found.body_start:
            text = text.partition("\n")[0]
        return _SIGNATURE_END.sub("", " ".join(text.split())[:MAX_SIGNATURE_CHARACTERS])

    def _doc(self, found: Found) -> str:
        span = self.docs.get(found.name_start)
        if span:
            literal = self.text.of(*span, _BYTES_PER_CHARACTER * MAX_DOC_CHARACTERS).lstrip(
                "rRuUbBfF"
            )
            return inspect.cleandoc(literal.strip("\"'"))[:MAX_DOC_CHARACTERS]
        line_start = self.text.line_start(found.start)
        before = self.text.source[line_start : found.start]
        if not (
            _is_blank(before) or _WORDS_BEFORE_NAME.fullmatch(before.decode("utf-8", "replace"))
        ):
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

    def _visibility(self, found: Found, header: int) -> Visibility:
        return _VISIBILITY_RULES[self.language.privacy](self, found, header)

    def by_underscore(self, found: Found, _header: int) -> Visibility:
        if not found.name.startswith("_") or found.name.endswith("__"):
            return Visibility.PUBLIC
        is_member = found.parent != MODULE_SCOPE and self.found[found.parent].kind in _MEMBER_OWNERS
        if is_member and not found.name.startswith("__"):
            return Visibility.PROTECTED
        return Visibility.PRIVATE

    def by_modifier(self, found: Found, header: int) -> Visibility:
        if found.name.startswith("#"):
            return Visibility.PRIVATE
        modifier = _PRIVATE_MODIFIER.search(self.text.of(header, found.name_start))
        if modifier:
            return _VISIBILITIES[modifier.group()]
        is_hidden = self.exported and found.parent == MODULE_SCOPE and not found.receiver
        if is_hidden and found.name not in self.exported and found.name != "default":
            return Visibility.PRIVATE
        return Visibility.PUBLIC

    def by_capital(self, found: Found, _header: int) -> Visibility:
        return Visibility.PUBLIC if found.name[:1].isupper() else Visibility.PRIVATE

    def by_pub(self, found: Found, header: int) -> Visibility:
        parent = self.found[found.parent] if found.parent != MODULE_SCOPE else None
        if parent and parent.kind in (NodeKind.INTERFACE, NodeKind.ENUM):
            return Visibility.PUBLIC
        before = self.text.of(header, found.name_start)
        return Visibility.PUBLIC if _PUB.search(before) else Visibility.PRIVATE

    def by_section(self, found: Found, header: int) -> Visibility:
        parent = self.found[found.parent] if found.parent != MODULE_SCOPE else None
        if parent is None or parent.kind not in _MEMBER_OWNERS:
            return self.by_static(found, header)
        sections = _SECTION.findall(self.text.source, parent.start, found.start)
        return _VISIBILITIES[sections[-1].decode()] if sections else Visibility.PUBLIC

    def by_static(self, found: Found, header: int) -> Visibility:
        is_hidden = found.parent == MODULE_SCOPE and found.receiver is None
        before = self.text.of(header, found.name_start) if is_hidden else ""
        return Visibility.PRIVATE if _STATIC.search(before) else Visibility.PUBLIC


def body_hash(one: Found, found: Sequence[Found], text: Text) -> str:
    """Return what changes with a definition's own text, `found` being all definitions there.

    Blanks at the ends of lines do not count, nor how deep the whole is indented.
    """
    body = _own_bytes(one, found, text)
    margin = text.source[text.line_start(one.start) : one.start]
    if margin.isspace():
        body = body.replace(b"\n" + margin, b"\n")
    if b" \n" in body or b"\r" in body or b"\t\n" in body:
        body = _TRAILING_BLANKS.sub(b"", body)
    return hashlib.sha256(body.rstrip()).hexdigest()[:16]


def _own_bytes(one: Found, found: Sequence[Found], text: Text) -> bytes:
    """The definition's text; for a class or an interface, without its methods and classes."""
    if one.kind not in _MEMBER_OWNERS:
        return text.source[one.start : one.end]
    pieces, position = [], one.start
    for index in one.members:
        member = found[index]
        if member.kind in CALLABLE or member.kind in _MEMBER_OWNERS:
            pieces.append(text.source[position : member.start].rstrip())
            position = member.end
    pieces.append(text.source[position : one.end].rstrip())
    return b"\n".join(pieces)


_VISIBILITIES = {
    "public": Visibility.PUBLIC,
    "internal": Visibility.PUBLIC,
    "protected": Visibility.PROTECTED,
    "private": Visibility.PRIVATE,
    "fileprivate": Visibility.PRIVATE,
}
_NONE = Complexity(cyclomatic=0)
_SIMPLE = Complexity()
_VISIBILITY_RULES: dict[PrivacyRule, Callable[[_Describer, Found, int], Visibility]] = {
    PrivacyRule.UNDERSCORE: _Describer.by_underscore,
    PrivacyRule.MODIFIER: _Describer.by_modifier,
    PrivacyRule.CAPITAL: _Describer.by_capital,
    PrivacyRule.PUB: _Describer.by_pub,
    PrivacyRule.SECTION: _Describer.by_section,
    PrivacyRule.STATIC: _Describer.by_static,
}


def _without_comment_marks(line: str) -> str:
    return line.removeprefix("/**").removeprefix("/*").removesuffix("*/").lstrip("/#*! ").rstrip()


def _is_blank(text: bytes) -> bool:
    return not text or text.isspace()


def _decorators(capture: Capture, found: Sequence[Found]) -> dict[int, list[str]]:
    """Return the decorators before each definition's name; those of its parameters do not count."""
    rows = sorted(
        (position, f"{receiver}.{name}" if receiver else name)
        for position, kind, name, receiver, _ in capture.references
        if kind is ReferenceKind.DECORATOR
    )
    scopes = scopes_at([position for position, _ in rows], found, with_leaves=True)
    decorators: dict[int, list[str]] = {}
    for (position, name), scope in zip(rows, scopes, strict=True):
        if scope != MODULE_SCOPE and position < found[scope].name_start:
            decorators.setdefault(scope, []).append(name)
    return decorators


def _tests(
    capture: Capture, found: Sequence[Found], decorators: Mapping[int, Sequence[str]]
) -> set[int]:
    """Return the definitions that say that they are tests, and all that stands inside them."""
    marks = capture.language.tests
    if marks is NO_MARKS:
        return set()
    if marks.calls and _calls_any(capture, marks.calls):
        return set(range(len(found)))
    based = _with_bases(capture, found, marks.bases)
    tests: set[int] = set()
    for index, one in enumerate(found):
        if (
            one.parent in tests
            or index in based
            or any(_last_part(name) in marks.decorators for name in decorators.get(index, ()))
            or (one.kind in CALLABLE and marks.names and marks.names.match(one.name))
        ):
            tests.add(index)
    return tests


def _with_bases(capture: Capture, found: Sequence[Found], bases: frozenset[str]) -> set[int]:
    rows = [
        position
        for position, kind, name, _, _ in capture.references
        if bases and kind in _HERITAGE and _last_part(name) in bases
    ]
    return set(scopes_at(sorted(rows), found)) - {MODULE_SCOPE}


def _calls_any(capture: Capture, names: frozenset[str]) -> bool:
    return any(
        name in names and receiver is None and kind is ReferenceKind.CALL
        for _, kind, name, receiver, _ in capture.references
    )


def _last_part(name: str) -> str:
    return re.split(r"\.|::", name)[-1]
