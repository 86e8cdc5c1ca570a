"""One file's facts, indexed by where names are looked for. Knows nothing of other files."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from graph.values import NodeKind, symbol_id
from indexing.facts import (
    MODULE_SCOPE,
    Binding,
    BindingTarget,
    BlobFacts,
    ImportKind,
    ReferenceKind,
)
from indexing.facts import Import as ImportFact
from indexing.languages import ImportScheme, language_named
from indexing.resolution.modules import name_of

CALLABLE_KINDS = frozenset({NodeKind.FUNCTION, NodeKind.METHOD})
TYPE_KINDS = frozenset({NodeKind.CLASS, NodeKind.INTERFACE, NodeKind.ENUM, NodeKind.TYPE})
# Schemes whose `import a.b` makes `a` and `a.b` known, whatever these are.
_BINDING_PREFIXES = frozenset({ImportScheme.DOTTED})
_SCOPE_KINDS = frozenset({None, NodeKind.FUNCTION, NodeKind.METHOD, NodeKind.MODULE})
# Schemes by which a receiver names a type of its own module; in the others any name in scope.
RECEIVING_IN_MODULE = frozenset({ImportScheme.PACKAGE_PATH, ImportScheme.RELATIVE_PATH})
# Schemes whose modules may be the whole repository, too large to be searched file by file.
WIDE_SCHEMES = frozenset({ImportScheme.INCLUDE, ImportScheme.CONSTANTS, ImportScheme.TARGET})
_REEXPORTS = frozenset({ImportKind.EXPORT_NAME, ImportKind.EXPORT_NAMESPACE})


class FileTables:
    """Look-up tables over one file. Definitions are numbers: their place among its definitions.

    `module` is the key of the file's module. `received` has the definitions that belong to a type
    by name (Go receivers, `app.init = ...`); `groups` names for each definition the top-level name
    it stands under, its receiver's if it has one: what others know of a file is compared group by
    group. `has_whole_types`: what a type is called and what it derives from stands in one place;
    `holds_all_inside`: its members, too.
    """

    def __init__(self, path: str, facts: BlobFacts) -> None:
        self.path = path
        self.module = name_of(path, facts)
        self.facts = facts
        self.definitions = facts.definitions
        self.language = language_named(facts.language)
        self.is_test = bool(self.language.test_paths.search(path))
        self.groups: list[str] = []
        self.top: defaultdict[str, list[int]] = defaultdict(list)
        self.inside: defaultdict[int, defaultdict[str, list[int]]] = defaultdict(_lists)
        self.received: defaultdict[str, list[int]] = defaultdict(list)
        self.extensions: defaultdict[str, list[int]] = defaultdict(list)
        self.by_local: defaultdict[str, list[int]] = defaultdict(list)
        self.methods: defaultdict[str, list[int]] = defaultdict(list)
        self.locals: dict[tuple[int, str], Binding] = {}
        self.globals: dict[str, Binding] = {}
        self.fields: defaultdict[int, dict[str, Binding]] = defaultdict(dict)
        self.received_fields: defaultdict[str, dict[str, Binding]] = defaultdict(dict)
        self.results: defaultdict[int, list[Binding]] = defaultdict(list)
        self.bases: defaultdict[int, list[str]] = defaultdict(list)
        self.fixtures: dict[str, int] = {}
        self.interfaces: defaultdict[str, list[int]] = defaultdict(list)
        self.ordinals: dict[int, int] = {}
        self.ids: dict[int, str] = {}
        self._scopes: dict[int, Sequence[int]] = {MODULE_SCOPE: ()}
        self.receives_by_name = self.language.imports not in RECEIVING_IN_MODULE
        self.is_wide = self.language.imports in WIDE_SCHEMES
        self.has_whole_types = not (
            self.language.has_open_types or self.language.has_outside_members
        )
        self.holds_all_inside = self.has_whole_types and self.receives_by_name
        self._read_definitions()
        self.numbers = {text: number for number, text in self.ids.items()}
        self._read_bindings()
        self._read_references()
        if self.language.has_implicit_interfaces:
            self._read_interfaces()
        self.imports = ImportTables(
            facts, binds_prefixes=self.language.imports in _BINDING_PREFIXES
        )

    def scopes(self, scope: int) -> Sequence[int]:
        """Return the functions around a scope whose names are visible in it, innermost first."""
        known = self._scopes.get(scope)
        if known is None:
            definition = self.definitions[scope]
            around = self.scopes(definition.parent)
            known = (scope, *around) if definition.kind in _SCOPE_KINDS else around
            self._scopes[scope] = known
        return known

    def named(self, scope: int) -> int:
        """Return the innermost definition with a name around a scope, or MODULE_SCOPE."""
        while scope != MODULE_SCOPE and self.definitions[scope].kind is None:
            scope = self.definitions[scope].parent
        return scope

    def lines(self, number: int) -> int:
        definition = self.definitions[number]
        return definition.end_line - definition.start_line

    def _read_definitions(self) -> None:
        seen: Counter[str] = Counter()
        for number, definition in enumerate(self.definitions):
            parent = definition.parent
            is_top = parent == MODULE_SCOPE
            name = definition.receiver or definition.name
            self.groups.append(name if is_top else self.groups[parent])
            if definition.kind is None:
                if definition.receiver:
                    self.extensions[definition.receiver].append(number)
                continue
            if self.language.has_open_types and self._is_reachable(parent):
                self.by_local[definition.local_name].append(number)
            if not is_top:
                self.inside[parent][definition.name].append(number)
            elif definition.receiver is None:
                self.top[definition.name].append(number)
            if receiver := self.receiver_of(number):
                self.received[receiver].append(number)
            if definition.kind is NodeKind.METHOD:
                self.methods[definition.name].append(number)
            ordinal = self.ordinals[number] = seen[definition.local_name]
            seen[definition.local_name] += 1
            self.ids[number] = symbol_id(
                path=self.path, local_name=definition.local_name, ordinal=ordinal
            )

    def methods_of(self, number: int) -> dict[str, list[int]]:
        """Return the methods that a type itself holds, by name."""
        inside: Mapping[str, list[int]] = self.inside.get(number, {})
        kinds = self.definitions
        return {
            name: methods
            for name, numbers in inside.items()
            if (methods := [one for one in numbers if kinds[one].kind is NodeKind.METHOD])
        }

    def _read_interfaces(self) -> None:
        """Keep interfaces by the first of their methods: who has it may have them all."""
        for number, definition in enumerate(self.definitions):
            if definition.kind is NodeKind.INTERFACE and (methods := self.methods_of(number)):
                self.interfaces[min(methods)].append(number)

    def receiver_of(self, number: int) -> str | None:
        """Return the name of the type that a definition outside of it belongs to, if it does."""
        definition = self.definitions[number]
        if definition.receiver:
            is_free = definition.parent == MODULE_SCOPE or self.receives_by_name
            return definition.receiver if is_free else None
        if definition.parent == MODULE_SCOPE:
            return None
        around = self.definitions[definition.parent]
        return around.receiver if around.kind is None else None

    def stands_inline(self, scope: int) -> bool:
        """Tell whether a scope is inside of a module that is written inside of the file."""
        while scope != MODULE_SCOPE and self.definitions[scope].kind is not NodeKind.MODULE:
            scope = self.definitions[scope].parent
        return scope != MODULE_SCOPE

    def receiver_of_scope(self, number: int) -> str | None:
        """Return the name of the type whose members a scope without a name holds, if it does."""
        if number == MODULE_SCOPE or self.definitions[number].kind is not None:
            return None
        return self.definitions[number].receiver

    def _is_reachable(self, scope: int) -> bool:
        """Tell whether a definition in a scope can be named from elsewhere: not in a function."""
        while scope != MODULE_SCOPE:
            kind = self.definitions[scope].kind
            if kind not in TYPE_KINDS and kind is not NodeKind.MODULE:
                return False
            scope = self.definitions[scope].parent
        return True

    def _read_bindings(self) -> None:
        for binding in self.facts.bindings:
            scope = binding.scope
            if binding.target is BindingTarget.RETURN:
                self.results[scope].append(binding)
            elif binding.target is BindingTarget.FIELD:
                self._read_field(binding)
            elif scope == MODULE_SCOPE:
                self.globals.setdefault(binding.name, binding)
            else:
                self.locals.setdefault((scope, binding.name), binding)
                if self.definitions[scope].kind in TYPE_KINDS:
                    self.fields[scope].setdefault(binding.name, binding)

    def _read_field(self, binding: Binding) -> None:
        """Keep a field with the type, or the object literal, around it; with a receiver's name."""
        scope = binding.scope
        while scope != MODULE_SCOPE:
            definition = self.definitions[scope]
            if definition.parent == MODULE_SCOPE and definition.receiver:
                self.received_fields[definition.receiver].setdefault(binding.name, binding)
                return
            if definition.kind in TYPE_KINDS or definition.kind is NodeKind.VARIABLE:
                self.fields[scope].setdefault(binding.name, binding)
                return
            scope = definition.parent

    def _read_references(self) -> None:
        maker = self.language.fixtures.decorator if self.language.fixtures else None
        for reference in self.facts.references:
            if reference.scope == MODULE_SCOPE:
                continue
            if reference.kind is ReferenceKind.BASE:
                self.bases[reference.scope].append(reference.name)
            elif reference.kind is ReferenceKind.DECORATOR and reference.name == maker:
                self.fixtures[self.definitions[reference.scope].name] = reference.scope


class ImportTables:
    """What a file's imports and exports bind, before anybody asks what the modules are.

    `named` has what may bind a name, in the order of the file: with `import a.b` that is both `a`
    and `a.b`, so that a name with a dot is in `dotted`. `whole` are imports of a module under a
    name that only the module itself tells (Go).
    """

    def __init__(self, facts: BlobFacts, *, binds_prefixes: bool) -> None:
        self.binds_prefixes = binds_prefixes
        self.dotted: set[str] = set()
        self.named: defaultdict[str, list[ImportFact]] = defaultdict(list)
        self.reexported: dict[str, ImportFact] = {}
        self.whole: list[ImportFact] = []
        self.stars: list[str] = []
        self.reexported_stars: list[str] = []
        self.exports = {export.name: export.local for export in facts.exports}
        for imported in facts.imports:
            self._read(imported)

    def _read(self, imported: ImportFact) -> None:
        is_module = imported.kind is ImportKind.MODULE
        if imported.kind is ImportKind.STAR or (is_module and imported.alias == "."):
            self.stars.append(imported.module)
        elif imported.kind is ImportKind.EXPORT_STAR:
            self.reexported_stars.append(imported.module)
        elif is_module and not imported.alias:
            self._read_whole(imported)
        elif imported.kind in _REEXPORTS:
            self.reexported[imported.alias] = imported
        else:
            self.named[imported.alias].append(imported)

    def _read_whole(self, imported: ImportFact) -> None:
        if not self.binds_prefixes:
            self.whole.append(imported)
            return
        names = imported.module.split(".")
        for end in range(1, len(names) + 1):
            self.named[".".join(names[:end])].append(imported)
        self.dotted.update(".".join(names[:end]) for end in range(2, len(names) + 1))


def _lists() -> defaultdict[str, list[int]]:
    return defaultdict(list)
