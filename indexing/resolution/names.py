"""What a bare name means where it stands: local, file, package, import, star. No types here."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from graph.values import NodeKind
from indexing.facts import Import, ImportKind
from indexing.resolution.modules import Modules
from indexing.resolution.program import (
    EXTERNAL,
    External,
    Module,
    Program,
    Symbol,
    Value,
)

_MAX_REEXPORTS = 10
_DEFAULT = "default"


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
    UNIQUE = "unique"
    HOMONYM = "homonym"
    SUBCLASS = "subclass"
    CANDIDATE = "candidate"
    SYNTAX = "syntax"

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
    Rule.UNIQUE: 0.45,
    Rule.HOMONYM: 0.40,
    Rule.SUBCLASS: 0.30,
    Rule.CANDIDATE: 0.12,
    Rule.SYNTAX: 1.0,
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
        self.modules = modules
        self.imports: dict[str, dict[str, Imported | Module | External]] = {}
        self.stars: defaultdict[str, list[Module]] = defaultdict(list)
        self._reexports: defaultdict[str, dict[str, Imported | Module | External]] = defaultdict(
            dict
        )
        self._reexported_stars: defaultdict[str, list[Module]] = defaultdict(list)
        self._exports = {
            path: {export.name: export.local for export in facts.exports}
            for path, facts in program.files.items()
        }
        for path, facts in program.files.items():
            self.imports[path] = {}
            for imported in facts.imports:
                self._bind(path, imported)

    def lookup(self, path: str, scope: int, name: str) -> Meaning | None:
        """Return the meaning of a bare name at a scope, or None when nothing here explains it."""
        for function in self.program.scopes(path, scope):
            inner = self._visible(self.program.inside_of(Symbol(path, function), name))
            if inner:
                return Meaning(Rule.LOCAL, inner)
        return self._module_level(path, name) or self._imported(path, name)

    def exported(self, module: Module, name: str, depth: int = 0) -> tuple[Value, ...]:
        """Return what `name` means when it is taken from a module, following re-exports."""
        own = self._visible(self.program.top[module].get(name, []))
        if own or depth > _MAX_REEXPORTS:
            return own
        for path in self.program.paths[module]:
            values = self._exported_from_file(path, name, depth)
            if values:
                return values
        child = self.modules.child(module, name)
        return (child,) if child else ()

    def follow(self, imported: Imported | Module | External, depth: int = 0) -> tuple[Value, ...]:
        if isinstance(imported, Imported):
            return self.exported(imported.module, imported.name, depth)
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
        module = self.program.modules[path]
        values = self._visible(self.program.top[module].get(name, []))
        if not values:
            return None
        if name in self.imports[path] and self._is_data(values):
            return None  # `const a = require(..)`, or `a = None` where an import may fail
        here = tuple(value for value in values if value.path == path)
        return Meaning(Rule.FILE, here) if here else Meaning(Rule.PACKAGE, values)

    def _imported(self, path: str, name: str) -> Meaning | None:
        imported = self.imports[path].get(name)
        if imported is not None:
            return Meaning(Rule.IMPORT, self.follow(imported) or (EXTERNAL,))
        for module in self.stars[path]:
            values = self.exported(module, name)
            if values:
                return Meaning(Rule.STAR, values)
        return None

    def _exported_from_file(self, path: str, name: str, depth: int) -> tuple[Value, ...]:
        local = self._exports[path].get(name)
        if local is not None and local != name:
            meaning = self._module_level(path, local)
            if meaning:
                return meaning.values
            name = local
        imported = self._reexports[path].get(name) or self.imports[path].get(name)
        if imported is not None:
            return self.follow(imported, depth + 1)
        for module in (*self._reexported_stars[path], *self.stars[path]):
            values = self.exported(module, name, depth + 1)
            if values:
                return values
        return ()

    def _visible(self, symbols: Iterable[Symbol]) -> tuple[Symbol, ...]:
        """Drop members of object literals: they are reached through their object only."""
        program = self.program
        return tuple(s for s in symbols if program.kind(s) is not NodeKind.METHOD)

    def _is_data(self, symbols: Iterable[Symbol]) -> bool:
        return all(self.program.kind(symbol) is NodeKind.VARIABLE for symbol in symbols)

    def _bind(self, path: str, imported: Import) -> None:
        module = self.modules.locate(path, imported.module)
        if imported.kind is ImportKind.MODULE:
            self._bind_module(path, imported, module)
        elif imported.kind is ImportKind.STAR:
            self.stars[path] += [module] if module else []
        elif imported.kind is ImportKind.EXPORT_STAR:
            self._reexported_stars[path] += [module] if module else []
        else:
            self._bind_name(path, imported, module)

    def _bind_module(self, path: str, imported: Import, module: Module | None) -> None:
        if imported.alias == ".":
            self.stars[path] += [module] if module else []
        elif imported.alias:
            self.imports[path][imported.alias] = module or EXTERNAL
        else:
            for name, bound in self.modules.bound_names(path, imported.module):
                # `import a.b` after `import a` must not hide what is already known of `a`.
                if bound or name not in self.imports[path]:
                    self.imports[path][name] = bound or EXTERNAL

    def _bind_name(self, path: str, imported: Import, module: Module | None) -> None:
        is_reexport = imported.kind in (ImportKind.EXPORT_NAME, ImportKind.EXPORT_NAMESPACE)
        table = self._reexports[path] if is_reexport else self.imports[path]
        table[imported.alias] = self._bound(path, imported, module)

    def _bound(
        self, path: str, imported: Import, module: Module | None
    ) -> Imported | Module | External:
        if module is None:
            submodule = imported.kind is ImportKind.NAME and self.modules.locate(
                path, f"{imported.module}.{imported.name}"
            )
            return submodule or EXTERNAL
        if imported.kind in (ImportKind.NAMESPACE, ImportKind.EXPORT_NAMESPACE):
            return module
        name = _DEFAULT if imported.kind is ImportKind.DEFAULT else imported.name
        return Imported(module, name)
