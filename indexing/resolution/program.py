"""A repository's definitions, indexed by where names are looked for. Resolves nothing itself."""

import posixpath
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from graph.values import NodeKind
from indexing.facts import (
    MODULE_SCOPE,
    Binding,
    BindingTarget,
    BlobFacts,
    Definition,
    ReferenceKind,
)
from indexing.languages import Language, language_named

CALLABLE_KINDS = frozenset({NodeKind.FUNCTION, NodeKind.METHOD})
TYPE_KINDS = frozenset({NodeKind.CLASS, NodeKind.INTERFACE, NodeKind.ENUM, NodeKind.TYPE})
_SCOPE_KINDS = frozenset({None, NodeKind.FUNCTION, NodeKind.METHOD, NodeKind.MODULE})


class Symbol(NamedTuple):
    """One definition of the program: the `number`th definition of the file at `path`."""

    path: str
    number: int


class Module(NamedTuple):
    """Files that share one scope of names: one file, or a directory's package in Go."""

    key: str


class External(NamedTuple):
    """Something known to come from outside the repository, or from the language itself."""


EXTERNAL = External()

Value = Symbol | Module | External
"""What a name or an expression may stand for."""

Names = defaultdict[str, list[Symbol]]


class Program:
    """Lookup tables over the facts of all files, built once. `modules` maps paths to modules."""

    def __init__(self, files: Mapping[str, BlobFacts], modules: Mapping[str, Module]) -> None:
        self.files = {path: files[path] for path in sorted(files)}
        self.languages = {
            path: language_named(facts.language) for path, facts in self.files.items()
        }
        self.modules = modules
        self.paths: defaultdict[Module, list[str]] = defaultdict(list)
        self.top: defaultdict[Module, Names] = defaultdict(_names)
        self.inside: defaultdict[Symbol, Names] = defaultdict(_names)
        self.owners: dict[Symbol, Symbol] = {}
        self.methods: defaultdict[tuple[str, str], list[Symbol]] = defaultdict(list)
        self.locals: dict[tuple[str, int, str], Binding] = {}
        self.globals: dict[tuple[Module, str], tuple[str, Binding]] = {}
        self.fields: defaultdict[Symbol, dict[str, tuple[str, Binding]]] = defaultdict(dict)
        self.results: defaultdict[Symbol, list[Binding]] = defaultdict(list)
        self.bases: defaultdict[Symbol, list[str]] = defaultdict(list)
        self._fixtures: dict[tuple[str, str], Symbol] = {}
        self._index_definitions()
        self._adopt_methods()
        self._index_bindings()
        self._index_bases()
        self._index_fixtures()

    def definition(self, symbol: Symbol) -> Definition:
        return self.files[symbol.path].definitions[symbol.number]

    def kind(self, symbol: Symbol) -> NodeKind | None:
        return self.definition(symbol).kind

    def inside_of(self, symbol: Symbol, name: str) -> Sequence[Symbol]:
        """Return the definitions called `name` that a symbol contains."""
        found = self.inside.get(symbol)  # not [..]: a miss must not become an entry
        return found.get(name, ()) if found else ()

    def language(self, path: str) -> Language:
        return self.languages[path]

    def is_test(self, path: str) -> bool:
        return bool(self.languages[path].test_paths.search(path))

    def scopes(self, path: str, scope: int) -> Iterator[int]:
        """Yield the functions around a scope whose names are visible in it, innermost first."""
        definitions = self.files[path].definitions
        while scope != MODULE_SCOPE:
            if definitions[scope].kind in _SCOPE_KINDS:
                yield scope
            scope = definitions[scope].parent

    def named(self, path: str, scope: int) -> Symbol | None:
        """Return the innermost definition with a name around a scope; None at module level."""
        definitions = self.files[path].definitions
        while scope != MODULE_SCOPE and definitions[scope].kind is None:
            scope = definitions[scope].parent
        return Symbol(path, scope) if scope != MODULE_SCOPE else None

    def parent(self, symbol: Symbol) -> Symbol | None:
        """Return the definition a symbol belongs to, also when it is written elsewhere."""
        return self.owners.get(symbol) or self.named(symbol.path, self.definition(symbol).parent)

    def owner(self, path: str, scope: int) -> Symbol | None:
        """Return the type, or the object literal, that `self` means at a scope."""
        definitions = self.files[path].definitions
        while scope != MODULE_SCOPE:
            symbol = Symbol(path, scope)
            if symbol in self.owners:
                return self.owners[symbol]
            if (
                definitions[scope].kind in TYPE_KINDS
                or definitions[scope].kind is NodeKind.VARIABLE
            ):
                return symbol
            scope = definitions[scope].parent
        return None

    def fixture(self, path: str, name: str) -> Symbol | None:
        """Return the function that makes the value of a test's parameter, the nearest one."""
        if not self._fixtures or not self.is_test(path):
            return None
        place = path
        while True:
            found = self._fixtures.get((place, name))
            if found or not place:
                return found
            place = posixpath.dirname(place)

    def best(self, symbols: Iterable[Symbol], kinds: frozenset[NodeKind]) -> Symbol | None:
        """Choose among definitions of one name: a preferred kind first, then the longest.

        Overloads, accessor pairs and declarations merged with implementations share a name.
        """
        return max(
            symbols,
            key=lambda symbol: (self.kind(symbol) in kinds, self._lines(symbol), -symbol.number),
            default=None,
        )

    def _lines(self, symbol: Symbol) -> int:
        definition = self.definition(symbol)
        return definition.end_line - definition.start_line

    def _index_definitions(self) -> None:
        for path, facts in self.files.items():
            module = self.modules[path]
            self.paths[module].append(path)
            for index, definition in enumerate(facts.definitions):
                symbol = Symbol(path, index)
                if definition.kind is None:
                    continue
                if definition.parent != MODULE_SCOPE:
                    self.inside[Symbol(path, definition.parent)][definition.name].append(symbol)
                elif definition.receiver is None:
                    self.top[module][definition.name].append(symbol)
                if definition.kind is NodeKind.METHOD:
                    self.methods[self.languages[path].family, definition.name].append(symbol)

    def _adopt_methods(self) -> None:
        """Give methods declared outside their type to it: Go receivers, `app.init = function`."""
        for path, facts in self.files.items():
            for index, definition in enumerate(facts.definitions):
                if definition.receiver and definition.parent == MODULE_SCOPE:
                    self._adopt(Symbol(path, index), definition, definition.receiver)

    def _adopt(self, symbol: Symbol, definition: Definition, receiver: str) -> None:
        owner = self.best(self.top[self.modules[symbol.path]].get(receiver, ()), TYPE_KINDS)
        if owner:
            self.owners[symbol] = owner
            self.inside[owner][definition.name].append(symbol)

    def _index_bindings(self) -> None:
        for path, facts in self.files.items():
            for binding in facts.bindings:
                self._index_binding(path, binding)

    def _index_binding(self, path: str, binding: Binding) -> None:
        scope = Symbol(path, binding.scope)
        if binding.target is BindingTarget.RETURN:
            self.results[scope].append(binding)
        elif binding.target is BindingTarget.FIELD:
            owner = self.owner(path, binding.scope)
            if owner:
                self.fields[owner].setdefault(binding.name, (path, binding))
        elif binding.scope == MODULE_SCOPE:
            self.globals.setdefault((self.modules[path], binding.name), (path, binding))
        else:
            self.locals.setdefault((path, binding.scope, binding.name), binding)
            if self.kind(scope) in TYPE_KINDS:
                self.fields[scope].setdefault(binding.name, (path, binding))

    def _index_bases(self) -> None:
        for path, facts in self.files.items():
            for reference in facts.references:
                if reference.kind is ReferenceKind.BASE and reference.scope != MODULE_SCOPE:
                    self.bases[Symbol(path, reference.scope)].append(reference.name)

    def _index_fixtures(self) -> None:
        """Remember fixtures by the file they serve, or by the folder if they are shared."""
        for path, facts in self.files.items():
            fixtures = self.languages[path].fixtures
            for reference in facts.references if fixtures else ():
                is_maker = reference.kind is ReferenceKind.DECORATOR
                if fixtures and is_maker and reference.name == fixtures.decorator:
                    symbol = Symbol(path, reference.scope)
                    folder, base = posixpath.split(path)
                    place = folder if base == fixtures.shared_file else path
                    if reference.scope != MODULE_SCOPE:
                        self._fixtures[place, self.definition(symbol).name] = symbol


def _names() -> Names:
    return defaultdict(list)
