"""One tree's resolver: what each file's symbols and edges are, and what that depends on."""

from collections.abc import Mapping
from dataclasses import dataclass

from graph.values import EdgeFact, EntityFact, SymbolFact
from indexing.resolution.compiled import Compiled
from indexing.resolution.edges import Edges
from indexing.resolution.manifests import Manifests
from indexing.resolution.modules import Modules
from indexing.resolution.names import Names
from indexing.resolution.offers import offered
from indexing.resolution.program import Program, Symbol
from indexing.resolution.reading import Key, Reading, Tree
from indexing.resolution.symbols import Symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class FileResolution:
    """One file's part of the graph: its symbols, and the edges that leave it and them.

    `entities` are the edges' targets that no file of the tree defines. `consulted` are the keys
    that another tree must answer alike for the result to be the same; `offered` those by which the
    file is found, `derived` those of them that say which types its own derive from, and the ids of
    the latter.
    """

    path: str
    symbols: list[SymbolFact]
    edges: list[EdgeFact]
    entities: list[EntityFact]
    consulted: frozenset[Key]
    offered: frozenset[Key]
    derived: "Derived"


Derived = Mapping[Key, tuple[str, ...]]


class Resolver:
    """Resolves the files of a tree in any order; answers about a file depend on no other's."""

    def __init__(self, tree: Tree, manifests: Manifests) -> None:
        self.reading = Reading(tree)
        modules = Modules(self.reading, manifests)
        self.program = Program(self.reading, modules)
        self._manifests = manifests
        self._derived: dict[str, Derived] = {}
        self._derived_from: dict[str, set[Key]] = {}
        self._symbols = Symbols(self.program, modules)
        self.edges = Edges(Names(self.program, modules))

    def derived(self, path: str) -> Derived:
        """Return the keys by which a file is found as one that derives from others' types."""
        known = self._derived.get(path)
        if known is None:
            known = self._derived[path] = self._derived_of(path)
        return known

    def resolve(self, path: str) -> FileResolution:
        """Resolve one file. What derives from its types must be known to the tree by now."""
        derived = self.derived(path)
        self.reading.begin(path)
        compiled = Compiled(self.program, path)
        symbols = self._symbols.of(path, compiled)
        edges = self.edges.of(path, compiled)
        facts = self.program.tables[path].facts
        return FileResolution(
            path=path,
            symbols=symbols,
            edges=edges,
            entities=compiled.entities(edges),
            consulted=frozenset(self.reading.keys | self._derived_from[path]),
            offered=frozenset(offered(path, facts, self._manifests)).union(derived),
            derived=derived,
        )

    def forget(self) -> None:
        """Let go of what was read of the tree.

        The parts of a resolver know each other: only Python's collector would find it all.
        """
        self.program.forget()
        self.reading.forget()

    def _derived_of(self, path: str) -> Derived:
        self.reading.begin(path)
        bases = self.edges.types.bases
        found: dict[Key, tuple[str, ...]] = {}
        for number in self.program.tables[path].bases:
            symbol = Symbol(path, number)
            for base in bases(symbol):
                if isinstance(base, Symbol):
                    key = ("derived", self.program.id(base))
                    found[key] = (*found.get(key, ()), self.program.name(symbol))
        self._derived_from[path] = self.reading.keys
        return found
