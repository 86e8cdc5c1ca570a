"""How the structure changed between two commits: both graphs are there, so that nothing is guessed.

Pure. A module is a directory; a tie between modules is a dependency from a node of one to a node of
the other, and what keeps its source and target is the same tie whatever happened between.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from graph.values import Node, NodeKind
from indexing.history.graphs import DEPENDENCIES, CommitGraph


class Tie(NamedTuple):
    """A dependency between two modules, by the text ids of its ends."""

    kind: str
    source: str
    target: str
    source_module: str
    target_module: str


class Coupling(NamedTuple):
    """How many ties lead from one module to another, before and after."""

    source_module: str
    target_module: str
    before: int
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """What is in one of two graphs only; couplings that changed most stand first."""

    added_files: tuple[str, ...]
    removed_files: tuple[str, ...]
    new_ties: tuple[Tie, ...]
    gone_ties: tuple[Tie, ...]
    couplings: tuple[Coupling, ...]


def drift(before: CommitGraph, after: CommitGraph) -> Drift:
    """Compare two graphs of one repository."""
    old_files, new_files = _paths(before), _paths(after)
    old_ties, new_ties = set(_ties(before)), set(_ties(after))
    return Drift(
        added_files=tuple(sorted(new_files - old_files)),
        removed_files=tuple(sorted(old_files - new_files)),
        new_ties=tuple(sorted(new_ties - old_ties)),
        gone_ties=tuple(sorted(old_ties - new_ties)),
        couplings=tuple(_couplings(old_ties, new_ties)),
    )


def module_of(node: Node) -> str:
    """Return the directory that a node is in, `/` for the root."""
    return node.path.rpartition("/")[0] or "/"


def _paths(graph: CommitGraph) -> set[str]:
    return {node.path for node in graph.nodes if node.kind is NodeKind.FILE}


def _ties(graph: CommitGraph) -> Iterator[Tie]:
    for edge in graph.edges:
        if edge.kind in DEPENDENCIES:
            source, target = graph.node(edge.source), graph.node(edge.target)
            modules = module_of(source), module_of(target)
            if modules[0] != modules[1]:
                yield Tie(edge.kind, source.id, target.id, *modules)


def _couplings(old: set[Tie], new: set[Tie]) -> list[Coupling]:
    before = Counter(tie[3:] for tie in old)
    after = Counter(tie[3:] for tie in new)
    changed = [
        Coupling(*modules, before[modules], after[modules])
        for modules in before.keys() | after.keys()
        if before[modules] != after[modules]
    ]
    return sorted(changed, key=lambda one: (-abs(one.after - one.before), one))
