"""All edges of a repository, one per (kind, source, target): the surest rule, the first line."""

from collections.abc import Iterator, Mapping

from graph.values import EdgeFact, EdgeKind, NodeKind, file_id
from indexing.expressions import names_in_type
from indexing.facts import BindingSource, Import, ImportKind, Reference, ReferenceKind
from indexing.resolution.calls import Calls
from indexing.resolution.names import Names, Rule
from indexing.resolution.program import Module, Symbol
from indexing.resolution.types import Types

_HERITAGE = {
    ReferenceKind.BASE: EdgeKind.INHERITS,
    ReferenceKind.IMPLEMENTS: EdgeKind.IMPLEMENTS,
}


class Edges:
    """Collects edges between text ids; `ids` has an id for every named definition."""

    def __init__(self, names: Names, ids: Mapping[Symbol, str]) -> None:
        self.names = names
        self.program = names.program
        self.types = Types(names)
        self.calls = Calls(names, self.types)
        self.ids = ids
        self._best: dict[tuple[EdgeKind, str, str], EdgeFact] = {}

    def collect(self) -> list[EdgeFact]:
        """Return every edge, sorted by kind, source and target."""
        for path, facts in self.program.files.items():
            self._contains(path)
            for imported in facts.imports:
                self._imports(path, imported)
            for reference in facts.references:
                self._refers(path, reference)
            self._mentions_types(path)
        return [self._best[key] for key in sorted(self._best)]

    def _contains(self, path: str) -> None:
        for index, definition in enumerate(self.program.files[path].definitions):
            if definition.kind is None:
                continue
            symbol = Symbol(path, index)
            parent = self.program.parent(symbol)
            source = self.ids[parent] if parent else file_id(path)
            self._add(EdgeKind.CONTAINS, source, symbol, Rule.SYNTAX, definition.start_line)

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
        paths = [p for p in self.program.paths[module] if not self.program.is_test(p)]
        paths = paths or self.program.paths[module]
        if len(paths) == 1:
            yield from paths
            return
        bound = [name for name, _ in self.names.modules.bound_names(path, imported.module)]
        aliases = {imported.alias} if imported.alias else set(bound)
        used = {
            symbol.path
            for name in self._names_used(path, aliases)
            for symbol in self.program.top[module].get(name, ())
        }
        yield from sorted(used) or paths

    def _names_used(self, path: str, aliases: set[str]) -> Iterator[str]:
        facts = self.program.files[path]
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
        elif reference.kind is ReferenceKind.TYPE:
            self._mentions(path, reference.scope, reference.name, reference.line)
        else:
            source = self._source(path, reference.scope)
            for rule, symbol in self.calls.referred(path, reference):
                self._add(EdgeKind.REFERENCES, source, symbol, rule, reference.line)

    def _calls(self, path: str, reference: Reference) -> None:
        source = self._source(path, reference.scope)
        for rule, symbol in self.calls.called(path, reference):
            self._add(EdgeKind.CALLS, source, symbol, rule, reference.line)

    def _inherits(self, path: str, reference: Reference) -> None:
        source = self.program.named(path, reference.scope)
        if source is None:
            return
        scope = self.program.definition(source).parent
        for value in self.types.types_named(path, scope, reference.name):
            if isinstance(value, Symbol) and value != source:
                kind = _HERITAGE[reference.kind]
                rule = self._type_rule(path, scope, reference.name)
                self._add(kind, self.ids[source], value, rule, reference.line)

    def _mentions_types(self, path: str) -> None:
        for binding in self.program.files[path].bindings:
            if binding.source is BindingSource.TYPE:
                self._mentions(path, binding.scope, binding.text, binding.line)

    def _mentions(self, path: str, scope: int, annotation: str, line: int) -> None:
        source = self._source(path, scope)
        for name in names_in_type(annotation):
            for value in self.types.type_named(path, scope, name):
                if isinstance(value, Symbol) and self.ids[value] != source:
                    rule = self._type_rule(path, scope, name)
                    self._add(EdgeKind.REFERENCES, source, value, rule, line)

    def _type_rule(self, path: str, scope: int, name: str) -> Rule:
        if "." in name:
            return Rule.MODULE
        meaning = self.names.lookup(path, scope, name)
        return meaning.rule if meaning else Rule.TYPED

    def _source(self, path: str, scope: int) -> str:
        """Return who refers: the innermost named definition, or the file at module level."""
        named = self.program.named(path, scope)
        return self.ids[named] if named else file_id(path)

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
        if self.program.kind(target) is NodeKind.FIELD and kind is EdgeKind.IMPORTS:
            return
        self._keep(EdgeFact(kind, source, self.ids[target], rule.confidence, rule, line))

    def _keep(self, edge: EdgeFact) -> None:
        key = (edge.kind, edge.source, edge.target)
        known = self._best.get(key)
        if known is None:
            self._best[key] = edge
        else:
            surest = max(known, edge, key=lambda one: one.confidence)
            self._best[key] = surest._replace(line=min(known.line, edge.line))
