"""Facts of all blobs of one commit -> its symbols and edges.

Reads top to bottom: `reading` (a tree, and what was asked of it), `manifests` and `modules` (which
file an import means), `tables` and `program` (what is defined where), `names` (what a bare name
means), `types` (what an expression may be), `calls` (the rule ladder), `edges` and `symbols` (the
result), `compiled` (what compilers add to it), `resolver` (one file at a time). Pure: no disk, no
database, no clock.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from graph.values import EdgeFact, EntityFact, SymbolFact
from indexing.answers import Answers
from indexing.facts import BlobFacts
from indexing.resolution.manifests import is_manifest, read_manifests
from indexing.resolution.names import Rule
from indexing.resolution.resolver import FileResolution, Resolver
from indexing.resolution.version import RULES_VERSION
from indexing.resolution.whole import WholeTree

__all__ = [
    "RULES_VERSION",
    "FileResolution",
    "Resolution",
    "Rule",
    "is_manifest",
    "resolve",
    "resolve_files",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """The graph of one tree. Symbols by path and position, edges by kind, source and target."""

    symbols: list[SymbolFact]
    edges: list[EdgeFact]
    entities: list[EntityFact]


def resolve(
    files: Mapping[str, BlobFacts],
    manifests: Mapping[str, bytes],
    answers: Mapping[str, Answers] | None = None,
) -> Resolution:
    """Resolve a whole tree: `files` by path, and the texts of its manifests (`is_manifest`).

    `answers` is what compilers say of some of the files. Every `file:` id in the edges is of a
    path in `files`, every `sym:` id of a returned symbol, every other one of a returned entity.
    The same input gives the same output in the same order.
    """
    resolved = list(resolve_files(files, manifests, answers))
    entities = {entity.id: entity for file in resolved for entity in file.entities}
    return Resolution(
        symbols=[symbol for file in resolved for symbol in file.symbols],
        edges=sorted((edge for file in resolved for edge in file.edges), key=lambda e: e[:3]),
        entities=[entities[key] for key in sorted(entities)],
    )


def resolve_files(
    files: Mapping[str, BlobFacts],
    manifests: Mapping[str, bytes],
    answers: Mapping[str, Answers] | None = None,
) -> Iterator[FileResolution]:
    """Resolve a whole tree and yield it file by file, by path."""
    known = read_manifests(manifests)
    tree = WholeTree(files, known, answers)
    resolver = Resolver(tree, known)
    for path in tree.files:
        tree.add(path, sorted(resolver.derived(path)))
    for path in tree.files:
        yield resolver.resolve(path)
    resolver.forget()
