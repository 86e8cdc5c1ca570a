"""An index and the facts of its tree -> answers: whose definition is it, and which reference.

The syntax owns definitions, spans, callers and roles. The compiler's word counts only where a name
stands that it could mean (the name guard): indexers are wrong in places, scip-python about one in
seven call sites of httpx. Pure: no disk beyond the index, no database.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from graph.values import EdgeKind, NodeKind, symbol_id
from indexing.answers import OUTSIDE, Answers, ExternalSymbol, Hover, Place, Relation
from indexing.facts import MODULE_SCOPE, BlobFacts, Definition, Import, ImportKind
from indexing.languages import language_named
from indexing.scip.index import Document, Encoding, IndexFile, Information, Occurrence
from indexing.scip.symbols import ScipSymbol, parsed

MAX_REFERENCES_TO_ONE_TARGET = 500
"""References from one file to one symbol that are kept; the rest is counted."""

BINDING_VERSION = 2
"""Raise when the same index would give other answers: answers of older versions are made anew."""

_LOCAL = "local "
_LONGEST_DOCUMENTATION = 4000
_LONGEST_SIGNATURE = 1000
_CALLABLE = frozenset({NodeKind.FUNCTION, NodeKind.METHOD})
_TYPES = frozenset({NodeKind.CLASS, NodeKind.INTERFACE, NodeKind.ENUM, NodeKind.TYPE})
_CONSTRUCTORS = frozenset({"__init__", "__new__", "constructor"})


class SourceFile(NamedTuple):
    """One file of the indexed tree: what parsing found, and how to read its text."""

    facts: BlobFacts
    read: Callable[[], bytes]


@dataclass(slots=True)
class Bound:
    """Answers by path, and how the index fared."""

    answers: dict[str, Answers] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)


def bind(
    index: IndexFile,
    files: Mapping[str, SourceFile],
    *,
    directory: str = "",
    keeps_standard_library: bool = False,
) -> Bound:
    """Return the answers about every file that the index covers.

    `files` are those of the indexed tree by path; the index's paths are below `directory`.
    Documents of other paths are dropped and counted.
    """
    return _Binding(
        index, files, directory=directory, keeps_standard_library=keeps_standard_library
    ).bound()


class _Binding:
    def __init__(
        self,
        index: IndexFile,
        files: Mapping[str, SourceFile],
        *,
        directory: str,
        keeps_standard_library: bool,
    ) -> None:
        self.index = index
        self.files = files
        self.directory = directory
        self.keeps_standard_library = keeps_standard_library
        self.counts: Counter[str] = Counter()
        self.definitions: defaultdict[str, list[_Defined]] = defaultdict(list)
        self.by_names: defaultdict[tuple[str, ...], list[_Defined]] = defaultdict(list)
        self.own_packages: set[tuple[str, str]] = set()
        self.implementations: set[tuple[str, str]] = set()
        self.external_docs: dict[str, str] = {}
        self._targets: dict[str, _Defined | str | None] = {}
        self._nodes: dict[str, _Nodes] = {}

    def bound(self) -> Bound:
        self._find_definitions()
        self._read_external_docs()
        answers: dict[str, Answers] = {}
        for path, document in self._documents():
            text = _Text(self.files[path].read(), document.encoding)
            answers[path] = self._answers(path, document, text)
        self.counts["malformed"] = self.index.malformed
        return Bound(answers, self.counts)

    def _documents(self) -> Iterator[tuple[str, Document]]:
        self.index.malformed = 0
        seen: set[str] = set()
        for document in self.index.documents():
            path = f"{self.directory}/{document.path}" if self.directory else document.path
            if path not in self.files or path in seen:
                self.counts["foreign_documents"] += path not in seen
                continue
            seen.add(path)
            yield path, document
        self.counts["documents"] = len(seen)

    # --- Definitions ------------------------------------------------------------------------------

    def _find_definitions(self) -> None:
        for path, document in self._documents():
            nodes = self._nodes_of(path)
            for information in document.symbols:
                for related in information.relationships:
                    if related.is_implementation:
                        self.implementations.add((information.symbol, related.symbol))
            text: _Text | None = None
            for occurrence in document.occurrences:
                if not occurrence.is_definition:
                    continue
                found = parsed(occurrence.symbol)
                if found is not None:
                    self.own_packages.add((found.manager, found.owner))
                if not _may_be_target(occurrence.symbol):
                    continue
                text = text or _Text(self.files[path].read(), document.encoding)
                token = text.token(occurrence)
                node = nodes.named(token.name, token.place.line) if token else None
                if node:
                    self._define(_global_name(occurrence.symbol, path), node)
        self.counts.clear()

    def _define(self, symbol: str, node: "_Defined") -> None:
        self.definitions[symbol].append(node)
        found = parsed(symbol)
        if found:
            self.by_names[found.names].append(node)

    def _nodes_of(self, path: str) -> "_Nodes":
        known = self._nodes.get(path)
        if known is None:
            known = self._nodes[path] = _Nodes(path, self.files[path].facts)
        return known

    def _read_external_docs(self) -> None:
        for information in self.index.external_symbols():
            text = _documentation(information)
            if text:
                self.external_docs[information.symbol] = text

    # --- Answers ----------------------------------------------------------------------------------

    def _answers(self, path: str, document: Document, text: "_Text") -> Answers:
        nodes = self._nodes_of(path)
        guard = _NameGuard(self.files[path].facts)
        targets: dict[Place, str] = {}
        externals: dict[str, ExternalSymbol] = {}
        uses: Counter[str] = Counter()
        truncated = 0
        for occurrence in document.occurrences:
            if occurrence.is_definition:
                continue
            self.counts["references"] += 1
            target = self._answer(path, occurrence, text, guard)
            if target is None:
                continue
            place, meant, symbol = target
            uses[meant] += 1
            if meant != OUTSIDE and uses[meant] > MAX_REFERENCES_TO_ONE_TARGET:
                truncated += 1
                continue
            targets.setdefault(place, meant)
            if symbol and meant.startswith("ext:"):
                externals[meant] = self._external(symbol, occurrence.symbol)
        self.counts["answers"] += len(targets)
        self.counts["truncated"] += truncated
        hovers, relations = self._said_of_definitions(nodes, document)
        return Answers(
            targets=targets,
            relations=relations,
            hovers=hovers,
            externals=externals,
            truncated=truncated,
        )

    def _answer(
        self, path: str, occurrence: Occurrence, text: "_Text", guard: "_NameGuard"
    ) -> tuple[Place, str, ScipSymbol | None] | None:
        symbol = parsed(occurrence.symbol)
        target = self._target(_global_name(occurrence.symbol, path))
        if target is None or (symbol is not None and not symbol.is_nameable):
            return None
        token = text.token(occurrence)
        if token is None:
            self.counts["outside_the_text"] += 1
            return None
        names = {symbol.name, symbol.parts[-1].name} if symbol else set()
        if isinstance(target, _Defined):
            names.add(target.name)
        if not guard.allows(token.name, names):
            self.counts["other_name"] += 1
            return None
        meant = target.id_as(token.name) if isinstance(target, _Defined) else target
        return token.place, meant, symbol

    def _target(self, symbol: str) -> "_Defined | str | None":
        if symbol not in self._targets:
            self._targets[symbol] = self._find_target(symbol)
        return self._targets[symbol]

    def _find_target(self, symbol: str) -> "_Defined | str | None":
        found = parsed(symbol)
        defined = self.definitions.get(symbol)
        if defined is None and found is not None:
            # Some references call an attribute what its definition calls a method.
            defined = self.by_names.get(found.names)
        if defined:
            return max(defined, key=lambda node: (node.kind in _CALLABLE | _TYPES, node.lines))
        if found is None:
            return None
        if found.is_of_standard_library and not self.keeps_standard_library:
            return OUTSIDE
        # What the tree defines without a node of its own (a field, a local) is no external symbol.
        is_own = (found.manager, found.owner) in self.own_packages
        return None if is_own or not found.owner else found.key

    def _external(self, symbol: ScipSymbol, text: str) -> ExternalSymbol:
        return ExternalSymbol(symbol.name, symbol.package_key, self.external_docs.get(text, ""))

    def _said_of_definitions(
        self, nodes: "_Nodes", document: Document
    ) -> tuple[dict[str, Hover], tuple[Relation, ...]]:
        hovers: dict[str, Hover] = {}
        relations: dict[tuple[str, str, str], Relation] = {}
        for information in document.symbols:
            for node in self.definitions.get(_global_name(information.symbol, nodes.path), ()):
                # A constructor that nobody wrote stands where its type does.
                found = parsed(information.symbol)
                if node.path != nodes.path or (found and found.is_constructor):
                    continue
                hover = Hover(_signature(information), _documentation(information))
                if any(hover):
                    hovers[node.id] = hover
                for relation in self._relations(node, information):
                    relations[relation.kind, relation.source, relation.target] = relation
        return hovers, tuple(sorted(relations.values()))

    def _relations(self, node: "_Defined", information: Information) -> Iterator[Relation]:
        for related in information.relationships:
            target = self._target(related.symbol)
            if not target or target == node:
                continue
            is_member = node.kind not in _TYPES
            target_id = target.id if isinstance(target, _Defined) else target
            if related.is_implementation and self._is_below(information.symbol, related.symbol):
                kind = "OVERRIDES" if is_member else EdgeKind.IMPLEMENTS.value
                yield Relation(kind, node.id, target_id, node.start_line)
            if related.is_type_definition:
                yield Relation("TYPE_OF", node.id, target_id, node.start_line)

    def _is_below(self, symbol: str, other: str) -> bool:
        """Tell the one that implements from the implemented: scip-java says it both ways."""
        if (other, symbol) not in self.implementations:
            return True
        own, its = _owner(symbol), _owner(other)
        return own != its and (own, its) in self.implementations


class _Defined(NamedTuple):
    """One definition of the tree, with what its text id needs."""

    path: str
    id: str
    name: str
    kind: NodeKind | None
    start_line: int
    end_line: int
    owner_id: str
    owner_name: str

    @property
    def lines(self) -> int:
        return self.end_line - self.start_line

    def id_as(self, token: str) -> str:
        """Return the type for a constructor that is called by the type's name."""
        is_constructor = self.name in _CONSTRUCTORS or self.name == self.owner_name
        if is_constructor and self.owner_id and token != self.name:
            return self.owner_id
        return self.owner_id if self.owner_id and self.name == self.owner_name else self.id


class _Nodes:
    """The named definitions of one file, looked up by name and line."""

    def __init__(self, path: str, facts: BlobFacts) -> None:
        self.path = path
        self._named: defaultdict[str, list[_Defined]] = defaultdict(list)
        ids = _ids(path, facts)
        for number, definition in enumerate(facts.definitions):
            if number in ids:
                owner = _named_parent(facts, definition)
                self._named[definition.name].append(
                    _Defined(
                        path,
                        ids[number],
                        definition.name,
                        definition.kind,
                        definition.start_line,
                        definition.end_line,
                        ids[owner] if owner in ids and _is_type(facts, owner) else "",
                        facts.definitions[owner].name if owner in ids else "",
                    )
                )

    def named(self, name: str, line: int) -> _Defined | None:
        """Return the innermost definition of this name around a line."""
        around = [
            node for node in self._named.get(name, ()) if node.start_line <= line <= node.end_line
        ]
        return max(around, key=lambda node: (node.start_line, -node.end_line), default=None)


def _ids(path: str, facts: BlobFacts) -> dict[int, str]:
    """Number the definitions of a file as the graph does."""
    seen: Counter[str] = Counter()
    ids = {}
    for number, definition in enumerate(facts.definitions):
        if definition.kind is not None:
            local_name = definition.local_name
            ids[number] = symbol_id(path=path, local_name=local_name, ordinal=seen[local_name])
            seen[local_name] += 1
    return ids


def _named_parent(facts: BlobFacts, definition: Definition) -> int:
    parent = definition.parent
    while parent != MODULE_SCOPE and facts.definitions[parent].kind is None:
        parent = facts.definitions[parent].parent
    return parent


def _is_type(facts: BlobFacts, number: int) -> bool:
    return facts.definitions[number].kind in _TYPES


class _NameGuard:
    """Which names a token of the file may stand for."""

    def __init__(self, facts: BlobFacts) -> None:
        language = language_named(facts.language)
        self._aliases = {imported.alias for imported in facts.imports if _is_renamed(imported)}
        self._aliases |= {export.name for export in facts.exports if export.name != export.local}
        self._aliases |= set(language.self_types)

    def allows(self, token: str, names: Iterable[str]) -> bool:
        return token in names or token in self._aliases


def _is_renamed(imported: Import) -> bool:
    if imported.kind is ImportKind.DEFAULT:
        return True
    is_name = imported.kind in (ImportKind.NAME, ImportKind.EXPORT_NAME)
    return is_name and imported.alias != imported.name


class _Token(NamedTuple):
    name: str
    place: Place


class _Text:
    """A file's lines; turns the index's columns into bytes."""

    def __init__(self, source: bytes, encoding: Encoding) -> None:
        self._lines = source.split(b"\n")
        self._encoding = encoding

    def token(self, occurrence: Occurrence) -> _Token | None:
        """Return what stands where the index points, None if nothing does."""
        if occurrence.line >= len(self._lines) or occurrence.end <= occurrence.start:
            return None
        line = self._lines[occurrence.line]
        if line.isascii() or self._encoding is Encoding.UTF8:
            start, end = occurrence.start, occurrence.end
        else:
            start, end = self._bytes(line, occurrence.start), self._bytes(line, occurrence.end)
        if end > len(line):
            return None
        name = line[start:end].decode("utf-8", "replace").strip("`")
        return _Token(name, Place(occurrence.line + 1, start))

    def _bytes(self, line: bytes, column: int) -> int:
        text = line.decode("utf-8", "replace")
        if self._encoding is Encoding.UTF32:
            return len(text[:column].encode())
        units = text.encode("utf-16-le")[: 2 * column]
        return len(units.decode("utf-16-le", "ignore").encode())


def _may_be_target(symbol: str) -> bool:
    """Tell what may have a node: locals may, as functions inside functions have one."""
    found = parsed(symbol)
    return symbol.startswith(_LOCAL) if found is None else found.is_nameable


def _global_name(symbol: str, path: str) -> str:
    """Return a name of the symbol that no other document gives to another one."""
    return f"{symbol}\0{path}" if symbol.startswith(_LOCAL) else symbol


def _owner(symbol: str) -> str:
    """Return the symbol of the type that a member belongs to."""
    return symbol[: symbol.rfind("#") + 1]


def _signature(information: Information) -> str:
    """Return the declaration: a field of its own, or the first fenced block."""
    text = information.signature
    if not text:
        fenced = next((part for part in information.documentation if part.startswith("```")), "")
        text = fenced.strip("`").partition("\n")[2]
    return text.replace("\0", "").strip()[:_LONGEST_SIGNATURE]


def _documentation(information: Information) -> str:
    """Return the prose: what is no fenced declaration."""
    prose = [part for part in information.documentation if not part.lstrip().startswith("```")]
    return "\n".join(prose).replace("\0", "").strip()[:_LONGEST_DOCUMENTATION]
