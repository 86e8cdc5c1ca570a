"""A repository's definitions, found by where names are looked for. Resolves nothing itself.

Reads files as they are needed, through `indexing.resolution.reading`, and notes on which facets of
them an answer depends (`indexing.resolution.interface`).
"""

import posixpath
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from graph.values import NodeKind
from indexing.facts import MODULE_SCOPE, Binding, Definition
from indexing.languages import Language, language_of
from indexing.resolution.reading import Reading
from indexing.resolution.tables import CALLABLE_KINDS, TYPE_KINDS, FileTables
from indexing.resolution.things import EXTERNAL, External, Module, Symbol, Value, Written

__all__ = [
    "CALLABLE_KINDS",
    "EXTERNAL",
    "TYPE_KINDS",
    "External",
    "Module",
    "Program",
    "Symbol",
    "Value",
    "Written",
]


class Modular(Protocol):
    """Tells the module of a file (`indexing.resolution.modules`)."""

    def of(self, path: str) -> Module:
        """Return the module that a file is, or is part of."""


class _Tables(dict[str, FileTables]):
    """The look-up tables of files; of every path that some key or module led to.

    Read a dozen million times for a large tree, so that a method would cost more than all it does.
    """

    def __init__(self, reading: Reading) -> None:
        super().__init__()
        self._reading = reading

    def __missing__(self, path: str) -> FileTables:
        facts = self._reading.tree.facts(path)
        if facts is None:
            raise KeyError(path)
        tables = self[path] = FileTables(path, facts)
        return tables


class Program:
    """The definitions of a tree, file by file as they are asked for."""

    def __init__(self, reading: Reading, modules: Modular) -> None:
        self.reading = reading
        self._modules = modules
        self.tables = _Tables(reading)
        self._module_of: dict[str, Module] = {}
        self._is_test: dict[str, bool] = {}
        self._tops: dict[tuple[Module, str], tuple[Symbol, ...]] = {}
        self._adopted: dict[Symbol, dict[str, list[Symbol]]] = {}
        self.find_type: Callable[[str, int, str], Symbol | None] = _nothing
        """Tells the type that a name means at a scope; `types` knows, which builds on this."""

    def forget(self) -> None:
        """Forget the files."""
        self.tables.clear()
        self._tops.clear()
        self._adopted.clear()

    # --- Files and modules -----------------------------------------------------------------------

    def module(self, path: str) -> Module:
        known = self._module_of.get(path)
        if known is None:
            known = self._module_of[path] = self._modules.of(path)
        return known

    def paths_of(self, module: Module) -> Sequence[str]:
        """Return the files of a module, sorted."""
        if self._is_file(module):
            return (module.key,)
        return self.reading.providers(("module", module.key))

    def language(self, path: str) -> Language:
        return self.tables[path].language

    def is_test(self, path: str) -> bool:
        """Tell whether a file is one of tests, which its path says: nothing is read for it."""
        known = self._is_test.get(path)
        if known is None:
            language = language_of(path)
            known = self._is_test[path] = bool(language and language.test_paths.search(path))
        return known

    # --- Definitions -----------------------------------------------------------------------------

    def definition(self, symbol: Symbol) -> Definition:
        return self.tables[symbol.path].definitions[symbol.number]

    def kind(self, symbol: Symbol) -> NodeKind | None:
        return self.tables[symbol.path].definitions[symbol.number].kind

    def id(self, symbol: Symbol) -> str:
        """Return the text id of a definition with a name."""
        return self.tables[symbol.path].ids[symbol.number]

    def name(self, symbol: Symbol) -> str:
        """Return what tells a type from others: its id, or its place when it has no name."""
        return self.tables[symbol.path].ids.get(symbol.number, f"{symbol.path}#{symbol.number}")

    def top_of(self, module: Module, name: str) -> Sequence[Symbol]:
        """Return the definitions called `name` at the top level of a module."""
        if module.key != self.reading.path:
            self.reading.keys.add(("shape", module.key, name))
        known = self._tops.get((module, name))
        if known is None:
            known = self._tops[module, name] = tuple(self._top(module, name))
        return known

    def inside_of(self, symbol: Symbol, name: str) -> Sequence[Symbol]:
        """Return the definitions called `name` that a symbol contains."""
        tables = self.tables[symbol.path]
        if tables.holds_all_inside:
            own = tables.inside.get(symbol.number)  # a miss must not become an entry
            numbers = own.get(name) if own else None
            return [Symbol(symbol.path, number) for number in numbers] if numbers else ()
        if self._is_open(symbol):
            local_name = f"{self.definition(symbol).local_name}.{name}"
            found = [*self._called_locally(symbol, local_name)]
            return found + [s for s in self.adopted(symbol).get(name, []) if s not in found]
        own = tables.inside.get(symbol.number)
        found = [Symbol(symbol.path, number) for number in own.get(name, ())] if own else []
        return found + self.adopted(symbol).get(name, [])

    def has_members(self, symbol: Symbol) -> bool:
        """Tell whether a symbol contains definitions."""
        return symbol.number in self.tables[symbol.path].inside or bool(self.adopted(symbol))

    def parts(self, symbol: Symbol) -> Sequence[Symbol]:
        """Return all definitions of a type or module that may be written in several places."""
        if not self._is_open(symbol):
            return (symbol,)
        own = self.definition(symbol)
        kinds = TYPE_KINDS | {NodeKind.MODULE}
        found = self._called_locally(symbol, own.local_name)
        return tuple(part for part in found if self.kind(part) in kinds)

    def extensions(self, symbol: Symbol) -> Sequence[Symbol]:
        """Return the scopes whose members belong to a type: Rust's `impl`, Swift's `extension`."""
        if not self._may_be_extended(symbol):
            return ()
        question = ("extensions", symbol)
        return self.reading.answer(question, symbol.path, (), self._extending, symbol)

    def adopted(self, symbol: Symbol) -> dict[str, list[Symbol]]:
        """Return methods declared outside their type, by name: Go receivers, `app.init = ...`."""
        if self.tables[symbol.path].receives_by_name:
            if not self._may_be_extended(symbol):
                return {}
            question = ("adopted", symbol)
            nothing: dict[str, list[Symbol]] = {}
            return self.reading.answer(question, symbol.path, nothing, self._adopting, symbol)
        found = self._adopted.get(symbol)
        if found is None:
            found = self._adopted[symbol] = self._received(symbol)
        module = self.module(symbol.path)
        if not found and module.key == symbol.path:
            return found
        self._note("shape", symbol)
        name = self.definition(symbol).name
        is_adopter = found and self.best(self.top_of(module, name), TYPE_KINDS) == symbol
        return found if is_adopter else {}

    def method_names(self, symbol: Symbol) -> set[str]:
        """Return the names of the methods that a type holds, or has from elsewhere."""
        self._note("shape", symbol)
        own = self.tables[symbol.path].methods_of(symbol.number)
        return {*own, *self.adopted(symbol)}

    def named(self, path: str, scope: int) -> Symbol | None:
        """Return the innermost definition with a name around a scope; None at module level."""
        number = self.tables[path].named(scope)
        return Symbol(path, number) if number != MODULE_SCOPE else None

    def parent(self, symbol: Symbol) -> Symbol | None:
        """Return the definition a symbol belongs to, also when it is written elsewhere."""
        return self._adopter(symbol) or self.named(symbol.path, self.definition(symbol).parent)

    def owner(self, path: str, scope: int) -> Symbol | None:
        """Return the type, or the object literal, that `self` means at a scope."""
        tables = self.tables[path]
        definitions = tables.definitions
        while scope != MODULE_SCOPE:
            symbol = Symbol(path, scope)
            adopter = self._adopter(symbol)
            if adopter:
                return adopter
            kind = definitions[scope].kind
            if kind in TYPE_KINDS or kind is NodeKind.VARIABLE:
                return symbol
            if kind is NodeKind.MODULE and tables.language.has_mixins:
                return symbol
            scope = definitions[scope].parent
        return None

    def scopes(self, path: str, scope: int) -> Sequence[int]:
        """Return the functions around a scope whose names are visible in it, innermost first."""
        return self.tables[path].scopes(scope)

    def methods_called(self, family: str, name: str) -> Sequence[str]:
        """Return the files that define methods of this name, in any language of the family."""
        return self.reading.providers(("method", family, name))

    def methods_in(self, path: str, name: str) -> list[Symbol]:
        """Return the methods of this name in one of the files that define some."""
        return [Symbol(path, number) for number in self.tables[path].methods.get(name, ())]

    def fixture(self, path: str, name: str) -> Symbol | None:
        """Return the function that makes the value of a test's parameter, the nearest one."""
        tables = self.tables[path]
        if not tables.language.fixtures or not tables.is_test:
            return None
        makers = self.reading.providers(("fixture", tables.language.family, name))
        found = [(place, maker) for maker in makers if _serves(place := self._place(maker), path)]
        if not found:
            return None
        _, maker = max(found, key=lambda one: len(one[0]))
        return self.shaped(Symbol(maker, self.tables[maker].fixtures[name]))

    def _place(self, maker: str) -> str:
        """Return what a file's fixtures serve: the file, or the folder if they are shared."""
        fixtures = self.tables[maker].language.fixtures
        folder, base = posixpath.split(maker)
        return folder if fixtures and base == fixtures.shared_file else maker

    def best(self, symbols: Iterable[Symbol], kinds: frozenset[NodeKind]) -> Symbol | None:
        """Choose among definitions of one name: a preferred kind first, then the longest.

        Overloads, accessor pairs and declarations merged with implementations share a name.
        """
        found = tuple(symbols)
        preferred = [symbol for symbol in found if self.kind(symbol) in kinds] or found
        if len(preferred) < 2:  # noqa: PLR2004
            return preferred[0] if preferred else None
        for symbol in preferred:
            self._note("length", symbol)
        return max(preferred, key=lambda symbol: self.tables[symbol.path].lines(symbol.number))

    def overloads(self, symbol: Symbol) -> Sequence[Symbol]:
        """Return the definitions of a symbol's name beside it, itself included, in order."""
        self._note("shape", symbol)
        tables = self.tables[symbol.path]
        definition = tables.definitions[symbol.number]
        if definition.receiver is not None:
            return (symbol,)
        inside = tables.inside.get(definition.parent)
        beside = inside if inside and definition.parent != MODULE_SCOPE else tables.top
        return [Symbol(symbol.path, number) for number in beside.get(definition.name, ())]

    def symbol(self, symbol_id: str) -> Symbol | None:
        """Return the definition with a text id, None when the tree has none (any more)."""
        path, _, name = symbol_id.removeprefix("sym:").partition("#")
        if path == self.reading.path:
            number = self.tables[path].numbers.get(symbol_id)
            return None if number is None else Symbol(path, number)
        if not self.reading.providers(("file", path)):
            return None
        tables = self.tables[path]
        number = tables.numbers.get(symbol_id)
        group = tables.groups[number] if number is not None else name.partition(".")[0]
        self.reading.keys.add(("shape", self.module(path).key, group))
        return None if number is None else Symbol(path, number)

    def shaped(self, symbol: Symbol) -> Symbol:
        """Note that whoever asks depends on what a definition looks like, found by another way."""
        self._note("shape", symbol)
        return symbol

    # --- What holds which value ------------------------------------------------------------------

    def local(self, path: str, scope: int, name: str) -> Binding | None:
        """Return the binding of a variable of one function (not of those around it)."""
        tables = self.tables[path]
        self._note_scope("locals", tables, scope)
        return tables.locals.get((scope, name))

    def global_of(self, module: Module, name: str) -> tuple[str, Binding] | None:
        """Return the first binding of a module's variable, and the file where it stands."""
        if module.key != self.reading.path:
            self.reading.keys.add(("global", module.key, name))
        for path in self._holding(module, "globals", name):
            binding = self.tables[path].globals.get(name)
            if binding:
                return path, binding
        return None

    def field_of(self, owner: Symbol, name: str) -> tuple[str, Binding] | None:
        """Return the first binding of a field of a type, and the file where it stands."""
        tables = self.tables[owner.path]
        self._note_scope("fields", tables, owner.number)
        definition = tables.definitions[owner.number]
        if tables.receives_by_name:
            for part in self.parts(owner):
                binding = self.tables[part.path].fields.get(part.number, {}).get(name)
                if binding:
                    return part.path, binding
            return None
        if definition.parent != MODULE_SCOPE or definition.receiver is not None:
            binding = tables.fields.get(owner.number, {}).get(name)
            return (owner.path, binding) if binding else None
        for path in self._paths(self.module(owner.path)):
            held = self.tables[path]
            binding = held.fields.get(owner.number, {}).get(name) if path == owner.path else None
            binding = binding or held.received_fields.get(definition.name, {}).get(name)
            if binding:
                return path, binding
        return None

    def results_of(self, symbol: Symbol) -> Sequence[Binding]:
        """Return what a function says it returns: annotations and returned expressions."""
        tables = self.tables[symbol.path]
        self._note_scope("results", tables, symbol.number)
        return tables.results.get(symbol.number, ())

    def bases_of(self, symbol: Symbol) -> Sequence[str]:
        """Return the texts of a type's bases, in order."""
        tables = self.tables[symbol.path]
        self._note_scope("bases", tables, symbol.number)
        return tables.bases.get(symbol.number, ())

    # --- Dependencies ----------------------------------------------------------------------------

    def _note(self, facet: str, symbol: Symbol) -> None:
        self._note_scope(facet, self.tables[symbol.path], symbol.number)

    def _note_scope(self, facet: str, tables: FileTables, scope: int) -> None:
        key = tables.module
        if key != self.reading.path and scope != MODULE_SCOPE:
            self.reading.keys.add((facet, key, tables.groups[scope]))

    # --- Modules of several files ----------------------------------------------------------------

    def _is_file(self, module: Module) -> bool:
        return module.key in self.tables or self.reading.tree.facts(module.key) is not None

    def _paths(self, module: Module) -> Sequence[str]:
        """Return a module's files where a key says already that the answer depends on them."""
        if self._is_file(module):
            return (module.key,)
        return self.reading.tree.providers(("module", module.key))

    def _top(self, module: Module, name: str) -> list[Symbol]:
        return [
            Symbol(path, number)
            for path in self._holding(module, "top", name)
            for number in self.tables[path].top.get(name, ())
        ]

    def _holding(self, module: Module, what: str, name: str) -> Sequence[str]:
        """Return the files of a module that may have a name: in a large one, those that do."""
        if self._is_file(module):
            return (module.key,)
        paths = self.reading.tree.providers(("module", module.key))
        if paths and self.tables[paths[0]].is_wide:
            return self.reading.tree.providers((what, module.key, name))
        return paths

    def _is_open(self, symbol: Symbol) -> bool:
        tables = self.tables[symbol.path]
        if not tables.language.has_open_types:
            return False
        kind = tables.definitions[symbol.number].kind
        return kind in TYPE_KINDS or kind is NodeKind.MODULE

    def _called_locally(self, symbol: Symbol, local_name: str) -> Sequence[Symbol]:
        """Return what has a local name in the module of a symbol, in any of its files."""
        module = self.module(symbol.path)
        self._note("shape", symbol)
        return [
            Symbol(path, number)
            for path in self.reading.tree.providers(("local", module.key, local_name))
            for number in self.tables[path].by_local.get(local_name, ())
        ]

    def _may_be_extended(self, symbol: Symbol) -> bool:
        return (
            self.tables[symbol.path].receives_by_name
            and self.kind(symbol) in TYPE_KINDS
            and self.language(symbol.path).has_outside_members
        )

    def _adopting(self, symbol: Symbol) -> dict[str, list[Symbol]]:
        found: dict[str, list[Symbol]] = {}
        name = self.definition(symbol).name
        for path in self.reading.providers(("received", self.language(symbol.path).family, name)):
            tables = self.tables[path]
            for number in tables.received.get(name, ()):
                if self._adopter(Symbol(path, number)) == symbol:
                    found.setdefault(tables.definitions[number].name, []).append(
                        Symbol(path, number)
                    )
        return found

    def _extending(self, symbol: Symbol) -> Sequence[Symbol]:
        name = self.definition(symbol).name
        return tuple(
            Symbol(path, number)
            for path in self.reading.providers(
                ("received", self.language(symbol.path).family, name)
            )
            for number in self.tables[path].extensions.get(name, ())
            if self._adopter(Symbol(path, number)) == symbol
        )

    def _received(self, symbol: Symbol) -> dict[str, list[Symbol]]:
        """Return what is declared for a type of this name, if the symbol stands at top level."""
        definition = self.definition(symbol)
        if definition.parent != MODULE_SCOPE or definition.receiver is not None:
            return {}
        found: dict[str, list[Symbol]] = {}
        for path in self._paths(self.module(symbol.path)):
            tables = self.tables[path]
            for number in tables.received.get(definition.name, ()):
                found.setdefault(tables.definitions[number].name, []).append(Symbol(path, number))
        return found

    def _adopter(self, symbol: Symbol) -> Symbol | None:
        """Return the type that a definition outside of it belongs to."""
        tables = self.tables[symbol.path]
        if not tables.receives_by_name:
            definition = tables.definitions[symbol.number]
            if definition.parent != MODULE_SCOPE or not definition.receiver:
                return None
            module = self.module(symbol.path)
            return self.best(self.top_of(module, definition.receiver), TYPE_KINDS)
        receiver = tables.receiver_of(symbol.number)
        if receiver is None:
            return None
        question = ("adopter", symbol)
        return self.reading.answer(question, symbol.path, None, self._called, symbol, receiver)

    def _called(self, symbol: Symbol, receiver: str) -> Symbol | None:
        definition = self.definition(symbol)
        if self.language(symbol.path).has_open_types:
            outer = definition.local_name.removesuffix(f".{definition.name}")
            beside = [
                one for one in self._called_locally(symbol, outer) if self.kind(one) in TYPE_KINDS
            ]
            return self.best(beside or self._types_called(symbol, receiver), TYPE_KINDS)
        scope = definition.parent
        if definition.kind is not None and not definition.receiver:
            scope = self.definition(Symbol(symbol.path, scope)).parent
        return self.find_type(symbol.path, scope, receiver)

    def _types_called(self, symbol: Symbol, name: str) -> list[Symbol]:
        """Return the types of a name anywhere in the repository, those nearest to a file."""
        paths = self.reading.providers(("type", self.language(symbol.path).family, name))
        nearest = max((shared_folders(path, symbol.path) for path in paths), default=0)
        found = []
        for path in paths:
            if shared_folders(path, symbol.path) == nearest:
                tables = self.tables[path]
                found += [
                    self.shaped(Symbol(path, number))
                    for number, one in enumerate(tables.definitions)
                    if one.name == name and one.kind in TYPE_KINDS
                ]
        return found


def shared_folders(path: str, other: str) -> int:
    """Return how many folders two paths have in common."""
    return len(posixpath.commonprefix([path.split("/")[:-1], other.split("/")[:-1]]))


def _nothing(_path: str, _scope: int, _name: str) -> None:
    return None


def _serves(place: str, path: str) -> bool:
    return not place or path == place or path.startswith(place + "/")
