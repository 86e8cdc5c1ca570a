"""The edges of each file, one per (kind, source, target): the surest rule, the first line."""

from collections.abc import Iterable, Iterator, Sequence

from graph.values import EdgeFact, EdgeKind, EdgeSource, NodeKind, file_id
from indexing.expressions import names_in_type
from indexing.facts import (
    MODULE_SCOPE,
    BindingSource,
    Import,
    ImportKind,
    Reference,
    ReferenceKind,
)
from indexing.resolution.calls import Calls, Target
from indexing.resolution.compiled import Answer, Compiled
from indexing.resolution.names import Names, Rule
from indexing.resolution.program import TYPE_KINDS, Module, Symbol
from indexing.resolution.types import BASE_KINDS, Types

_HERITAGE = {
    ReferenceKind.BASE: EdgeKind.INHERITS,
    ReferenceKind.IMPLEMENTS: EdgeKind.IMPLEMENTS,
}

_CONSTRUCTORS = frozenset({"__init__", "__new__", "constructor"})

_SCIP = (Rule.SCIP.confidence, int(EdgeSource.SCIP))
_BOTH = (0.99, int(EdgeSource.SYNTAX | EdgeSource.SCIP))
_CONTRADICTED = 0.3
"""What is left of a rule's confidence where the compiler says something else."""


class Edges:
    """Collects the edges that leave the nodes of one file after the other."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.program = names.program
        self.types = Types(names)
        self.calls = Calls(names, self.types)
        self._best: dict[tuple[EdgeKind, str, str], EdgeFact] = {}
        self._sources: dict[int, str] = {}

    def of(self, path: str, compiled: Compiled) -> list[EdgeFact]:
        """Return every edge that leaves the file or a symbol of it, by kind, source and target."""
        facts = self.program.tables[path].facts
        self._best = {}
        self._sources = {MODULE_SCOPE: file_id(path)}
        self._compiled = compiled
        self._contains(path)
        for imported in facts.imports:
            self._imports(path, imported)
        for reference in self._different(facts.references):
            self._refers(path, reference)
        self._mentions_types(path)
        self._extended(path)
        self._satisfied(path)
        self._uses_that_only_compilers_see(path)
        self._relations_that_compilers_see()
        return [self._best[key] for key in sorted(self._best)]

    def _different(self, references: Sequence[Reference]) -> Iterator[Reference]:
        """Yield the references that may make an edge which an earlier one does not make.

        The first of those that say the same in the same scope has the first line. A compiler may
        know each of them as something else.
        """
        if self._compiled.knows_references:
            yield from references
            return
        seen = set()
        for reference in references:
            kind, name, receiver, scope, _, _, is_shadowed, arity = reference
            said = (kind, name, receiver, scope, is_shadowed, arity)
            if said not in seen:
                seen.add(said)
                yield reference

    def _contains(self, path: str) -> None:
        tables = self.program.tables[path]
        for number, definition in enumerate(tables.definitions):
            if definition.kind is None:
                continue
            symbol = Symbol(path, number)
            parent = self.program.parent(symbol)
            if parent is None or parent.path == path:
                source = self.program.id(parent) if parent else file_id(path)
                self._add(EdgeKind.CONTAINS, source, symbol, Rule.SYNTAX, definition.start_line)
            if definition.kind in TYPE_KINDS:
                self._contains_from_elsewhere(symbol, definition.start_line)

    def _contains_from_elsewhere(self, owner: Symbol, line: int) -> None:
        """Add what other files declare for a type; the line is the type's, which is in this one."""
        for methods in self.program.adopted(owner).values():
            for method in methods:
                if method.path != owner.path:
                    source = self.program.id(owner)
                    self._add(EdgeKind.CONTAINS, source, method, Rule.SYNTAX, line)

    def _imports(self, path: str, imported: Import) -> None:
        rule = Rule.STAR if imported.kind is ImportKind.STAR else Rule.IMPORT
        for value in self.names.targets_of_import(path, imported):
            if isinstance(value, Module):
                for target in self._files_used(path, imported, value):
                    self._add_file(path, target, imported.line)
            elif isinstance(value, Symbol):
                self._add(EdgeKind.IMPORTS, file_id(path), value, rule, imported.line)

    def _files_used(self, path: str, imported: Import, module: Module) -> Iterator[str]:
        """Yield the files of a package whose names the importer uses; all, if it uses none."""
        everything = self.program.paths_of(module)
        paths = [p for p in everything if not self.program.is_test(p)] or everything
        if len(paths) == 1:
            yield from paths
            return
        bound = [name for name, _ in self.names.modules.bound_names(path, imported.module)]
        aliases = {imported.alias} if imported.alias else set(bound)
        used = {
            symbol.path
            for name in self._names_used(path, aliases)
            for symbol in self.program.top_of(module, name)
        }
        yield from sorted(used) or paths

    def _names_used(self, path: str, aliases: set[str]) -> Iterator[str]:
        facts = self.program.tables[path].facts
        for reference in facts.references:
            if reference.receiver in aliases:
                yield reference.name
        for binding in facts.bindings:
            for name in names_in_type(binding.text):
                head, _, rest = name.partition(".")
                if head in aliases:
                    yield rest

    def _refers(self, path: str, reference: Reference) -> None:
        if reference.kind is ReferenceKind.CALL:
            self._calls(path, reference)
        elif reference.kind in _HERITAGE:
            self._inherits(path, reference)
        else:
            source = self._source(path, reference.scope)
            if reference.kind is ReferenceKind.TYPE:
                found = self._mentioned(path, reference.scope, reference.name)
            else:
                found = self.calls.referred(path, reference)
            self._add_agreed(EdgeKind.REFERENCES, source, found, reference)

    def _calls(self, path: str, reference: Reference) -> None:
        source = self._source(path, reference.scope)
        self._add_agreed(EdgeKind.CALLS, source, self.calls.called(path, reference), reference)

    def _inherits(self, path: str, reference: Reference) -> None:
        source = self.program.named(path, reference.scope)
        extended = reference.scope
        if self.program.tables[path].receiver_of_scope(extended):
            source = self.program.owner(path, extended)
        if source is None:
            return
        if source.path != path:
            return  # an edge belongs to its source's file, where `_extended` adds it
        scope = self.program.tables[path].definitions[extended].parent
        rule = self._type_rule(path, scope, reference.name)
        found = [
            Target(rule, value)
            for value in self.types.types_named(path, scope, reference.name, BASE_KINDS)
            if isinstance(value, Symbol) and value != source
        ]
        kind = _HERITAGE[reference.kind]
        if found:
            kind = self._heritage(reference.kind, source, found[0].symbol)
        self._add_agreed(kind, self.program.id(source), found, reference)

    def _heritage(self, kind: ReferenceKind, source: Symbol, target: Symbol) -> EdgeKind:
        """Say how a type relates to a base: many languages write both relations alike."""
        is_interface = self.program.kind(target) is NodeKind.INTERFACE
        if is_interface and self.program.kind(source) is not NodeKind.INTERFACE:
            return EdgeKind.IMPLEMENTS
        return _HERITAGE[kind]

    def _extended(self, path: str) -> None:
        """Add the bases that extensions in other files give to the types of this one."""
        tables = self.program.tables[path]
        if not tables.language.has_outside_members:
            return
        for number, definition in enumerate(tables.definitions):
            if definition.kind not in TYPE_KINDS:
                continue
            source = Symbol(path, number)
            for scope in self.program.extensions(source):
                if scope.path != path:
                    self._extended_by(source, scope, definition.start_line)

    def _extended_by(self, source: Symbol, scope: Symbol, line: int) -> None:
        outer = self.program.definition(scope).parent
        for text in self.program.bases_of(scope):
            for value in self.types.types_named(scope.path, outer, text, BASE_KINDS):
                if isinstance(value, Symbol) and value != source:
                    kind = self._heritage(ReferenceKind.BASE, source, value)
                    self._add(kind, self.program.id(source), value, Rule.TYPED, line)

    def _satisfied(self, path: str) -> None:
        """Add the interfaces whose methods a type has, where saying so is not needed (Go)."""
        tables = self.program.tables[path]
        if not tables.language.has_implicit_interfaces:
            return
        for number, definition in enumerate(tables.definitions):
            if definition.kind is NodeKind.CLASS or definition.kind is NodeKind.TYPE:
                symbol = Symbol(path, number)
                for interface in self.types.satisfied_by(symbol):
                    source = self.program.id(symbol)
                    self._add(
                        EdgeKind.IMPLEMENTS, source, interface, Rule.METHODS, definition.start_line
                    )

    def _mentions_types(self, path: str) -> None:
        for binding in self.program.tables[path].facts.bindings:
            if binding.source is BindingSource.TYPE:
                self._mentions(path, binding.scope, binding.text, binding.line)

    def _mentions(self, path: str, scope: int, annotation: str, line: int) -> None:
        source = self._source(path, scope)
        for rule, symbol in self._mentioned(path, scope, annotation):
            if self.program.id(symbol) != source:
                self._add(EdgeKind.REFERENCES, source, symbol, rule, line)

    def _mentioned(self, path: str, scope: int, annotation: str) -> list[Target]:
        return [
            Target(self._type_rule(path, scope, name), value)
            for name in names_in_type(annotation)
            for value in self.types.type_named(path, scope, name)
            if isinstance(value, Symbol)
        ]

    def _add_agreed(
        self, kind: EdgeKind, source: str, found: Iterable[Target], reference: Reference
    ) -> None:
        """Add what the rules found, and what the compiler says of the same name.

        Where both say the same that is nearly certain; where they differ, the compiler is believed,
        and the rule's target kept as a candidate.
        """
        answer = self._compiled.at(reference)
        if answer is None:
            for rule, symbol in found:
                if self.program.id(symbol) != source or kind is EdgeKind.CALLS:
                    self._add(kind, source, symbol, rule, reference.line)
            return
        by = Rule.SCIP, _SCIP
        for rule, symbol in found:
            if self._is_same(symbol, answer):
                by = rule, _BOTH
            else:
                confidence = rule.confidence * _CONTRADICTED
                target = self.program.id(symbol)
                self._keep(EdgeFact(kind, source, target, confidence, rule, reference.line))
        if not answer.is_outside and (answer.id != source or kind is EdgeKind.CALLS):
            rule, (confidence, sources) = by
            self._keep(EdgeFact(kind, source, answer.id, confidence, rule, reference.line, sources))

    def _is_same(self, symbol: Symbol, answer: Answer) -> bool:
        """Tell whether a rule and the compiler mean the same: overloads, a type's constructor."""
        if symbol == answer.symbol:
            return True
        if answer.symbol is None or symbol.path != answer.symbol.path:
            return False
        own, other = self.program.definition(symbol), self.program.definition(answer.symbol)
        if own.local_name == other.local_name:
            return True
        is_constructor = own.name == other.name or own.name in _CONSTRUCTORS
        return is_constructor and self.program.parent(symbol) == answer.symbol

    def _uses_that_only_compilers_see(self, path: str) -> None:
        facts = self.program.tables[path].facts
        import_lines = {imported.line for imported in facts.imports}
        for answer, scope, line in self._compiled.other_uses(facts.references):
            source = self._source(path, scope)
            is_import = (EdgeKind.IMPORTS, source, answer.id) in self._best or (
                scope == MODULE_SCOPE and line in import_lines
            )
            if answer.id != source and not is_import:
                confidence, sources = _SCIP
                kind = EdgeKind.REFERENCES
                self._keep(EdgeFact(kind, source, answer.id, confidence, Rule.SCIP, line, sources))

    def _relations_that_compilers_see(self) -> None:
        for name, source, answer, line in self._compiled.relations():
            kind = EdgeKind(name)
            if kind is EdgeKind.IMPLEMENTS and (EdgeKind.INHERITS, source, answer.id) in self._best:
                kind = EdgeKind.INHERITS
            confidence, sources = _SCIP
            self._keep(EdgeFact(kind, source, answer.id, confidence, Rule.SCIP, line, sources))

    def _type_rule(self, path: str, scope: int, name: str) -> Rule:
        if "." in name:
            return Rule.MODULE
        meaning = self.names.lookup(path, scope, name)
        return meaning.rule if meaning else Rule.TYPED

    def _source(self, path: str, scope: int) -> str:
        """Return who refers: the innermost named definition, or the file at module level."""
        known = self._sources.get(scope)
        if known is None:
            tables = self.program.tables[path]
            named = tables.named(scope)
            known = tables.ids[named] if named != MODULE_SCOPE else file_id(path)
            self._sources[scope] = known
        return known

    def _add_file(self, path: str, target: str, line: int) -> None:
        if target != path:
            self._keep(
                EdgeFact(
                    EdgeKind.IMPORTS,
                    file_id(path),
                    file_id(target),
                    Rule.IMPORT.confidence,
                    Rule.IMPORT,
                    line,
                )
            )

    def _add(self, kind: EdgeKind, source: str, target: Symbol, rule: Rule, line: int) -> None:
        if kind is EdgeKind.IMPORTS and self.program.kind(target) is NodeKind.FIELD:
            return
        self._keep(EdgeFact(kind, source, self.program.id(target), rule.confidence, rule, line))

    def _keep(self, edge: EdgeFact) -> None:
        key = (edge.kind, edge.source, edge.target)
        known = self._best.setdefault(key, edge)
        if known is not edge:
            surest = max(known, edge, key=lambda one: one.confidence)
            sources = known.sources | edge.sources
            if sources != surest.sources:
                surest = max(known, edge, key=lambda one: one.sources == EdgeSource.SYNTAX)
                surest = surest._replace(confidence=_BOTH[0], sources=sources)
            self._best[key] = surest._replace(line=min(known.line, edge.line))
