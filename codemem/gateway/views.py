"""How nodes, edges and memories look in a tool's answer: short keys, nulls left out."""

from collections.abc import Iterable, Sequence
from typing import Literal
from uuid import UUID

from codemem.accounts.values import Action
from codemem.gateway import scope as scopes
from codemem.gateway.errors import Ambiguous, NotFound
from codemem.gateway.tool import Call, Result
from graph import queries as graph
from graph.values import LIVE, Neighbor, Node, Score, View
from memory import queries as memory
from memory.values import StoredMemory

_MEMORIES = 10
_CANDIDATES = 10


class NodeView(Result):
    """A file or symbol: what an agent needs to open it or to ask on."""

    id: str
    kind: str
    qualified_name: str | None = None
    path: str | None = None
    start_line: int | None = None
    end_line: int | None = None
    signature: str | None = None
    is_test: bool | None = None
    rank_percentile: float | None = None


class EdgeView(Result):
    """An edge to or from another node; `line` is where the source mentions the target."""

    relationship: str
    direction: Literal["in", "out"]
    node: NodeView
    confidence: float
    rule: str | None = None
    line: int | None = None


class MemoryView(Result):
    id: UUID
    memory_type: str
    content: str
    author: str


class CodeResult(Result):
    """What every answer about code begins with."""

    scope: scopes.ScopeEcho
    code: scopes.CodeEcho


def node_fields(node: Node, score: Score | None = None) -> dict[str, object]:
    """Return the fields of a NodeView, for views that add their own."""
    # Files and what no file defines have no lines of their own.
    is_symbol = bool(node.local_name)
    return {
        "id": node.id,
        "kind": node.kind.value,
        "qualified_name": node.qualified_name if is_symbol else None,
        "path": node.path or None,
        "start_line": node.start_line if is_symbol else None,
        "end_line": node.end_line if is_symbol else None,
        "signature": node.signature or None,
        "is_test": True if node.is_test else None,
        "rank_percentile": round(score.percentile, 3) if score else None,
    }


def node_view(node: Node, score: Score | None = None) -> NodeView:
    return NodeView.model_validate(node_fields(node, score))


def edge_views(neighbors: Iterable[Neighbor]) -> list[EdgeView]:
    """Return the edges whose other end is code, as seen from the node that was asked about."""
    return [
        EdgeView(
            relationship=neighbor.edge.kind,
            direction="out" if neighbor.edge.source == neighbor.origin else "in",
            node=node_view(neighbor.node),
            confidence=round(neighbor.edge.confidence, 2),
            rule=neighbor.edge.rule or None,
            line=neighbor.edge.line,
        )
        for neighbor in neighbors
        if neighbor.node is not None
    ]


def node_named(place: scopes.RepositoryScope, name: str, *, view: View = LIVE) -> Node:
    """Return the one node that a name means; raise NotFound, or Ambiguous with the candidates."""
    found = graph.find_nodes(
        repository_id=place.repository.id, text=name, limit=_CANDIDATES + 1, view=view
    )
    if not found:
        raise NotFound(
            f"There is no symbol or file {name!r} in {place.repository.name}.",
            hint="Find its name with search_code.",
        )
    if len(found) > 1:
        shown = ", ".join(node.id for node in found[:_CANDIDATES])
        raise Ambiguous(f"{name!r} means more than one node.", hint=f"Pass an id: {shown}.")
    return found[0]


def memory_view(stored: StoredMemory) -> MemoryView:
    return MemoryView(
        id=stored.id,
        memory_type=stored.memory_type.value,
        content=stored.content,
        author=stored.author,
    )


def memories_about(
    call: Call, place: scopes.RepositoryScope, vertices: Sequence[int], *, branch: str
) -> list[MemoryView] | None:
    """Return what the team knows about these nodes; None when the caller may not read memories."""
    if not call.caller.can(Action.READ_MEMORY, place.namespace.id):
        return None
    found = memory.memories_about(
        caller=call.caller,
        namespace_id=place.namespace.id,
        vertices=vertices,
        now=call.now,
        branch=branch,
        limit=_MEMORIES,
    )
    return [memory_view(stored) for stored in found]


def scores_by_vertex(nodes: Sequence[Node]) -> dict[int, Score]:
    return graph.scores_of(vertices=[node.vertex for node in nodes])
