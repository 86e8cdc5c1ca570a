"""Every named definition as a fact of the graph: identity, qualified name, parent, test or not."""

from graph.values import SymbolFact
from indexing.resolution.compiled import Compiled
from indexing.resolution.modules import Modules
from indexing.resolution.program import Program, Symbol
from indexing.resolution.tables import FileTables


class Symbols:
    """Describes the definitions of a program."""

    def __init__(self, program: Program, modules: Modules) -> None:
        self.program = program
        self.modules = modules

    def of(self, path: str, compiled: Compiled) -> list[SymbolFact]:
        """Return the symbols of a file, in its order."""
        tables = self.program.tables[path]
        qualifier = self.modules.qualifier(path) if tables.ids else ""
        return [self._fact(tables, number, qualifier, compiled) for number in tables.ids]

    def _fact(
        self, tables: FileTables, number: int, qualifier: str, compiled: Compiled
    ) -> SymbolFact:
        path = tables.path
        definition = tables.definitions[number]
        assert definition.kind is not None
        parent = self.program.parent(Symbol(path, number))
        hover = compiled.hover(tables.ids[number])
        return SymbolFact(
            path=path,
            name=definition.name,
            local_name=definition.local_name,
            qualified_name=f"{qualifier}.{definition.local_name}",
            kind=definition.kind,
            ordinal=tables.ordinals[number],
            language=tables.facts.language,
            parent=self.program.id(parent) if parent else None,
            start_line=definition.start_line,
            end_line=definition.end_line,
            signature=definition.signature or hover.signature,
            doc=definition.doc or hover.documentation,
            visibility=definition.visibility,
            is_test=definition.is_test or self.program.is_test(path),
            body_hash=definition.body_hash,
            source_text=definition.source_text,
            parameters=definition.parameters,
            decorators=definition.decorators,
            cyclomatic=definition.cyclomatic,
            cognitive=definition.cognitive,
        )
