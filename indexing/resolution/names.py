"""What a bare name means where it stands: local, file, package, import, star. No types here."""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from graph.values import NodeKind
from indexing.facts import Import, ImportKind
from indexing.languages import ImportScheme
from indexing.resolution.modules import Modules
from indexing.resolution.program import (
    EXTERNAL,
    External,
    Module,
    Program,
    Symbol,
    Value,
)

_DEFAULT = "default"
_IMPORTING_FROM_TYPES = frozenset({ImportScheme.DECLARED, ImportScheme.CRATE})


class Rule(StrEnum):
    """How a target was found; `confidence` is the precision measured for the rule.

    Calibrated against compiler-made indexes of flask, requests, click, werkzeug, django, vue core
    and trpc: the share of a rule's targets that were right, where the compiler knew the answer.
    """

    LOCAL = "local"
    FILE = "file"
    IMPORT = "import"
    MODULE = "module"
    SELF = "self"
    SUPER = "super"
    TYPED = "typed"
    STAR = "star"
    PACKAGE = "package"
    METHODS = "methods"
    UNIQUE = "unique"
    HOMONYM = "homonym"
    SUBCLASS = "subclass"
    CANDIDATE = "candidate"
    SYNTAX = "syntax"
    SCIP = "scip"

    @property
    def confidence(self) -> float:
        return _CONFIDENCE[self]


_CONFIDENCE = {
    Rule.LOCAL: 0.97,
    Rule.FILE: 0.97,
    Rule.IMPORT: 0.97,
    Rule.MODULE: 0.97,
    Rule.SELF: 0.97,
    Rule.SUPER: 0.97,
    Rule.TYPED: 0.95,
    Rule.STAR: 0.90,
    Rule.PACKAGE: 0.90,
    Rule.METHODS: 0.90,
    Rule.UNIQUE: 0.45,
    Rule.HOMONYM: 0.40,
    Rule.SUBCLASS: 0.30,
    Rule.CANDIDATE: 0.12,
    Rule.SYNTAX: 1.0,
    Rule.SCIP: 0.95,
}


class Meaning(NamedTuple):
    """What a name stands for, all definitions of it, and the rule that says so."""

    rule: Rule
    values: tuple[Value, ...]


class Imported(NamedTuple):
    """A name of another module, followed only when it is needed."""

    module: Module
    name: str


class Names:
    """Scopes, imports and exports of a program."""

    def __init__(self, program: Program, modules: Modules) -> None:
        self.program = program
        self.reading = program.reading
        self.modules = modules

    def lookup(self, path: str, scope: int, name: str) -> Meaning | None:
        """Return the meaning of a bare name at a scope, or None when nothing here explains it."""
        tables = self.program.tables[path]
        for function in tables.scopes(scope):
            if function in tables.inside:
                inner = self._visible(self.program.inside_of(Symbol(path, function), name))
                if inner:
                    return Meaning(Rule.LOCAL, inner)
        return self.reading.once(("outside", path, name), self._outside, path, name) or self._bare(
            path, scope, name
        )

    def _outside(self, path: str, name: str) -> Meaning | None:
        """Return the meaning of a name outside of all functions."""
        return self._module_level(path, name) or self._imported(path, name)

    def exported(self, module: Module, name: str) -> tuple[Value, ...]:
        """Return what `name` means when it is taken from a module, following re-exports."""
        outer, _, inner = name.rpartition(".")
        if outer:
            return self._inside(self.exported(module, outer), inner)
        own = self._visible(self.program.top_of(module, name))
        if own:
            return own
        question = ("exported", module.key, name)
        return self.reading.answer(question, module.key, (), self._exported, module, name)

    def imported(self, path: str, name: str) -> Imported | Module | External | None:
        """Return what a file's imports bind to a name, which may have dots; None for nothing."""
        tables = self.program.tables[path].imports
        self._note("imports", path, name)
        statements = tables.named.get(name)
        if statements is None and not tables.whole:
            return None
        question = ("imported", path, name)
        return self.reading.answer(question, path, None, self._bound_to, path, name)

    def longest_import(
        self, path: str, names: Sequence[str]
    ) -> tuple[Imported | Module | External, int] | None:
        """Find the longest imported module that begins a chain: `import a.b` then `a.b.f()`."""
        self._note("dotted", path)
        dotted = self.program.tables[path].imports.dotted
        for end in range(len(names), 1, -1) if dotted else ():
            name = ".".join(names[:end])
            if name in dotted:
                found = self.imported(path, name)
                if found is not None:
                    return found, end
        return None

    def follow(self, imported: Imported | Module | External) -> tuple[Value, ...]:
        if isinstance(imported, Imported):
            return self.exported(imported.module, imported.name)
        return (imported,)

    def targets_of_import(self, path: str, imported: Import) -> Iterator[Value]:
        """Yield the module, and the symbols of it, that one import statement brings in."""
        module = self.modules.locate(path, imported.module)
        if module:
            yield module
            name = _DEFAULT if imported.kind is ImportKind.DEFAULT else imported.name
            if imported.kind in (ImportKind.NAME, ImportKind.DEFAULT, ImportKind.EXPORT_NAME):
                yield from self.exported(module, name)
        elif imported.kind is ImportKind.NAME and (
            submodule := self.modules.locate(path, f"{imported.module}.{imported.name}")
        ):
            yield submodule

    def _module_level(self, path: str, name: str) -> Meaning | None:
        values = self._visible(self.program.top_of(self.program.module(path), name))
        if not values:
            return None
        if self._is_data(values) and self.imported(path, name) is not None:
            return None  # `const a = require(..)`, or `a = None` where an import may fail
        here = tuple(value for value in values if value.path == path)
        return Meaning(Rule.FILE, here) if here else Meaning(Rule.PACKAGE, values)

    def _imported(self, path: str, name: str) -> Meaning | None:
        imported = self.imported(path, name)
        if imported is not None:
            return Meaning(Rule.IMPORT, self.follow(imported) or (EXTERNAL,))
        for module in self._stars(path):
            values = self.exported(module, name)
            if values:
                return Meaning(Rule.STAR, values)
        return None

    def _bare(self, path: str, scope: int, name: str) -> Meaning | None:
        """Return the module, or a surrounding one's name, that nothing in the file explains."""
        for module in self.modules.surroundings(path):
            values = self.exported(module, name)
            if values:
                return Meaning(Rule.PACKAGE, values)
        if name == "super" and self.program.tables[path].stands_inline(scope):
            return Meaning(Rule.MODULE, (self.program.module(path),))
        found = self.modules.bare(path, name)
        return Meaning(Rule.MODULE, (found,)) if found else None

    def _exported(self, module: Module, name: str) -> tuple[Value, ...]:
        for path in self.program.paths_of(module):
            values = self._exported_from_file(path, name)
            if values:
                return values
        child = self.modules.child(module, name)
        return (child,) if child else ()

    def _exported_from_file(self, path: str, name: str) -> tuple[Value, ...]:
        tables = self.program.tables[path].imports
        self._note("imports", path, name)
        local = tables.exports.get(name)
        if local is not None and local != name:
            meaning = self._module_level(path, local)
            if meaning:
                return meaning.values
            name = local
            self._note("imports", path, name)
        reexported = tables.reexported.get(name)
        if reexported is not None:
            return self.follow(self._bound(path, reexported))
        imported = self.imported(path, name)
        if imported is not None:
            return self.follow(imported)
        for module in self._reexported_stars(path):
            values = self.exported(module, name)
            if values:
                return values
        return ()

    def _inside(self, values: tuple[Value, ...], name: str) -> tuple[Value, ...]:
        """Return what `name` means inside of types or of modules that are written inline."""
        symbols = [value for value in values if isinstance(value, Symbol)]
        modules = [value for value in values if isinstance(value, Module)]
        found = [inner for symbol in symbols for inner in self.program.inside_of(symbol, name)]
        return (*found, *(inner for module in modules for inner in self.exported(module, name)))

    def _visible(self, symbols: Iterable[Symbol]) -> tuple[Symbol, ...]:
        """Drop members of object literals: they are reached through their object only."""
        program = self.program
        return tuple(s for s in symbols if program.kind(s) is not NodeKind.METHOD)

    def _is_data(self, symbols: Iterable[Symbol]) -> bool:
        return all(self.program.kind(symbol) is NodeKind.VARIABLE for symbol in symbols)

    def _bound_to(self, path: str, name: str) -> Imported | Module | External | None:
        """Return what the last statement that binds a name binds it to."""
        tables = self.program.tables[path].imports
        found: Imported | Module | External | None = None
        for imported in tables.named.get(name, ()):
            if imported.kind is ImportKind.MODULE and not imported.alias:
                # `import a.b` after `import a` must not hide what is already known of `a`.
                found = self.modules.locate(path, name) or found or EXTERNAL
            else:
                found = self._bound(path, imported)
        if tables.whole:
            if path != self.reading.path:
                self.reading.keys.add(("whole", path))
            whole = self._bound_by_whole(path, name)
            # A module of the tree wins; EXTERNAL is a tuple without elements, and so not true.
            found = whole if whole or found is None else found
        return found

    def _bound_by_whole(self, path: str, name: str) -> Module | External | None:
        question = ("whole", path)
        known: dict[str, Module | External] = {}
        known = self.reading.answer(question, path, known, self._whole, path)
        return known.get(name)

    def _whole(self, path: str) -> dict[str, Module | External]:
        """Return what imports of modules under their own names bind."""
        found: dict[str, Module | External] = {}
        for imported in self.program.tables[path].imports.whole:
            for name, module in self.modules.bound_names(path, imported.module):
                if module or name not in found:
                    found[name] = module or EXTERNAL
        return found

    def _stars(self, path: str) -> Sequence[Module]:
        return self._star_modules(path, is_exported=False)

    def _reexported_stars(self, path: str) -> Sequence[Module]:
        """Return the modules all of whose names a file hands on, said to be exported first."""
        return [
            *self._star_modules(path, is_exported=True),
            *self._star_modules(path, is_exported=False),
        ]

    def _star_modules(self, path: str, *, is_exported: bool) -> Sequence[Module]:
        self._note("stars", path)
        tables = self.program.tables[path].imports
        texts = tables.reexported_stars if is_exported else tables.stars
        if not texts:
            return ()
        question = ("stars", path, is_exported)
        return self.reading.answer(question, path, (), self._located, path, tuple(texts))

    def _located(self, path: str, texts: Sequence[str]) -> Sequence[Module]:
        found = (self.modules.locate(path, text) for text in texts)
        return tuple(module for module in found if module)

    def _bound(self, path: str, imported: Import) -> Imported | Module | External:
        module = self.modules.locate(path, imported.module)
        if imported.kind is ImportKind.MODULE:
            return module or EXTERNAL
        if module is None:
            submodule = imported.kind is ImportKind.NAME and self.modules.locate(
                path, f"{imported.module}.{imported.name}"
            )
            return submodule or self._bound_inside(path, imported) or EXTERNAL
        if imported.kind in (ImportKind.NAMESPACE, ImportKind.EXPORT_NAMESPACE):
            return module
        name = _DEFAULT if imported.kind is ImportKind.DEFAULT else imported.name
        return Imported(module, name)

    def _bound_inside(self, path: str, imported: Import) -> Imported | None:
        """Return a name inside of a type of a module, where languages import such."""
        if self.program.language(path).imports not in _IMPORTING_FROM_TYPES:
            return None
        outer, _, holder = imported.module.rpartition(".")
        module = self.modules.locate(path, outer) if outer else None
        return Imported(module, f"{holder}.{imported.name}") if module else None

    def _note(self, facet: str, path: str, *name: str) -> None:
        if path != self.reading.path:
            self.reading.keys.add((facet, path, *name))
