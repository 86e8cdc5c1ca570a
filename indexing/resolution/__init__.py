"""Facts of all blobs of one commit -> its symbols and edges.

Reads top to bottom: `manifests` and `modules` (which file an import means), `program` (what is
defined where), `names` (what a bare name means), `types` (what an expression may be), `calls`
(the rule ladder), `edges` and `symbols` (the result). Pure: no disk, no database, no clock.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from graph.values import EdgeFact, SymbolFact
from indexing.facts import BlobFacts
from indexing.resolution.edges import Edges
from indexing.resolution.manifests import is_manifest
from indexing.resolution.modules import Modules
from indexing.resolution.names import Names, Rule
from indexing.resolution.program import Program
from indexing.resolution.symbols import Symbols

__all__ = ["Resolution", "Rule", "is_manifest", "resolve"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """The graph of one tree. Symbols by path and position, edges by kind, source and target."""

    symbols: list[SymbolFact]
    edges: list[EdgeFact]


def resolve(files: Mapping[str, BlobFacts], manifests: Mapping[str, bytes]) -> Resolution:
    """Resolve a whole tree: `files` by path, and the texts of its manifests (`is_manifest`).

    Every `file:` id in the edges is of a path in `files`, every `sym:` id of a returned symbol.
    The same input gives the same output in the same order.
    """
    modules = Modules(files, manifests)
    program = Program(files, modules.of)
    symbols = Symbols(program, modules)
    names = Names(program, modules)
    return Resolution(symbols=symbols.facts(), edges=Edges(names, symbols.ids).collect())
