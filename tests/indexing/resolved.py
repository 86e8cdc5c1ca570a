"""A small tree of sources, parsed and resolved, with the questions that tests ask of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from graph.values import EdgeFact, EdgeKind, SymbolFact
from indexing.languages import language_of
from indexing.parsing import extract
from indexing.resolution import Resolution, is_manifest, resolve


@dataclass(frozen=True)
class Tree:
    resolution: Resolution

    def edge(self, kind: EdgeKind, source: str, target: str) -> EdgeFact | None:
        matching = [
            edge
            for edge in self.resolution.edges
            if (edge.kind, edge.source, edge.target) == (kind, source, target)
        ]
        assert len(matching) <= 1
        return matching[0] if matching else None

    def rule(self, kind: EdgeKind, source: str, target: str) -> str | None:
        edge = self.edge(kind, source, target)
        return edge.rule if edge else None

    def targets(self, kind: EdgeKind, source: str, *, at_least: float = 0.9) -> set[str]:
        return {
            edge.target
            for edge in self.resolution.edges
            if (edge.kind, edge.source) == (kind, source) and edge.confidence >= at_least
        }

    def symbol(self, symbol_id: str) -> SymbolFact:
        return next(symbol for symbol in self.resolution.symbols if symbol.id == symbol_id)

    def qualified_name(self, symbol_id: str) -> str:
        return self.symbol(symbol_id).qualified_name


def resolved(sources: Mapping[str, str]) -> Tree:
    facts = {}
    for path, source in sources.items():
        language = language_of(path)
        if language:
            facts[path] = extract(language, source.encode())
    manifests = {path: text.encode() for path, text in sources.items() if is_manifest(path)}
    return Tree(resolve(facts, manifests))
