"""Every named definition as a fact of the graph: identity, qualified name, parent, test or not."""

from collections import Counter
from collections.abc import Iterator

from graph.values import SymbolFact, symbol_id
from indexing.resolution.modules import Modules
from indexing.resolution.program import Program, Symbol


class Symbols:
    """Numbers the definitions of a program and describes them."""

    def __init__(self, program: Program, modules: Modules) -> None:
        self.program = program
        self.modules = modules
        self.ordinals = dict(self._number())
        self.ids = {
            symbol: symbol_id(
                path=symbol.path,
                local_name=program.definition(symbol).local_name,
                ordinal=ordinal,
            )
            for symbol, ordinal in self.ordinals.items()
        }

    def facts(self) -> list[SymbolFact]:
        """Return all symbols, by path and then in the order of the file."""
        return [self._fact(symbol) for symbol in self.ordinals]

    def _number(self) -> Iterator[tuple[Symbol, int]]:
        for path, facts in self.program.files.items():
            seen: Counter[str] = Counter()
            for index, definition in enumerate(facts.definitions):
                if definition.kind is not None:
                    yield Symbol(path, index), seen[definition.local_name]
                    seen[definition.local_name] += 1

    def _fact(self, symbol: Symbol) -> SymbolFact:
        definition = self.program.definition(symbol)
        assert definition.kind is not None
        parent = self.program.parent(symbol)
        return SymbolFact(
            path=symbol.path,
            name=definition.name,
            local_name=definition.local_name,
            qualified_name=f"{self.modules.qualifier(symbol.path)}.{definition.local_name}",
            kind=definition.kind,
            ordinal=self.ordinals[symbol],
            language=self.program.files[symbol.path].language,
            parent=self.ids[parent] if parent else None,
            start_line=definition.start_line,
            end_line=definition.end_line,
            signature=definition.signature,
            doc=definition.doc,
            visibility=definition.visibility,
            is_test=definition.is_test or self.program.is_test(symbol.path),
            body_hash=definition.body_hash,
            source_text=definition.source_text,
            parameters=definition.parameters,
            decorators=definition.decorators,
            cyclomatic=definition.cyclomatic,
            cognitive=definition.cognitive,
        )
