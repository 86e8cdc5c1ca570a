"""What matters most and what belongs together, as the last ranking found it.

Ranks and groups are those of the default branch; an analysis says at which commit it was made.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Final
from uuid import UUID

import numpy as np
from django.db import connection
from django.db.models import BigIntegerField, Value
from numpy.typing import NDArray

from graph.algorithms.network import EDGE_WEIGHTS, Network
from graph.algorithms.pagerank import DAMPING, pagerank, percentiles
from graph.models import DEFAULT_LAYER, Community, NamespaceScore
from graph.queries.analyses import AnalysisValue, analysis_value, current, latest
from graph.queries.nodes import nodes_of, scores_of
from graph.statements import statements
from graph.values import Node, NodeKind, Score, ScoredNode, VertexLabel

_SHOWN_MEMBERS: Final = 12
# Kinds are known of rows only: so many more nodes are looked at when only some kinds are wanted.
_READ_FOR_EACH_SHOWN: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Nodes that are tied to each other more than to others, the most important of them first.

    `cohesion` is the share (0..1) of its ties that stay inside. `neighbors` are (number, name).
    """

    number: int
    name: str
    size: int
    cohesion: float
    rank: float
    members: tuple[ScoredNode, ...]
    neighbors: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The groups of one resolution; `total` counts those that are not shown, too."""

    analysis: AnalysisValue
    resolution: float
    total: int
    groups: tuple[Group, ...]


def important_near(
    *,
    repository_id: UUID,
    namespace_id: UUID,
    vertices: Sequence[int],
    limit: int,
    kinds: Collection[NodeKind] | None = None,
    damping: float = DAMPING,
) -> list[ScoredNode]:
    """Return the nodes that matter most to some nodes: personalized PageRank, those left out.

    Without nodes: to all, with another damping than the stored ranks have. Ranks are of the last
    analysis. Raise NotRanked. Four queries, 20 ms for 63,000 nodes.
    """
    _, network = current(repository_id=repository_id)
    near = network.positions(vertices)
    ranks = pagerank(network.edges(EDGE_WEIGHTS), damping=damping, near=near if vertices else None)
    ranks[near] = 0.0
    percentile, in_degrees = percentiles(ranks), _in_degrees(network)
    found: list[ScoredNode] = []
    wanted = frozenset(NodeKind if kinds is None else kinds)
    order = np.argsort(-ranks)[: limit if kinds is None else _READ_FOR_EACH_SHOWN * limit]
    best = [position for position in order.tolist() if ranks[position] > 0]
    nodes = nodes_of(namespace_id=namespace_id, vertices=network.vertices[best].tolist())
    for position in best:
        node = nodes.get(int(network.vertices[position]))
        if node is None or node.kind not in wanted:
            continue
        score = Score(
            vertex=node.vertex,
            rank=float(ranks[position]),
            percentile=float(percentile[position]),
            in_degree=int(in_degrees[position]),
        )
        found.append(ScoredNode(node=node, score=score))
    return found[:limit]


def important_in_namespace(
    *,
    namespace_id: UUID,
    repository_ids: Collection[UUID],
    limit: int,
    kinds: Collection[NodeKind] | None = None,
) -> list[ScoredNode]:
    """Return the nodes of highest rank among all repositories of a namespace. Three queries."""
    wanted = list(NodeKind if kinds is None else kinds)
    with connection.cursor() as cursor:
        cursor.execute(
            statements("queries")["important_in_namespace"],
            {
                "namespace": namespace_id,
                "repositories": list(repository_ids),
                "kinds": wanted,
                "with_files": NodeKind.FILE in wanted,
                "symbol_label": VertexLabel.SYMBOL.value,
                "file_label": VertexLabel.FILE.value,
                "layer": DEFAULT_LAYER,
                "limit": limit,
            },
        )
        vertices = [vertex for (vertex,) in cursor.fetchall()]
    nodes = nodes_of(namespace_id=namespace_id, vertices=vertices)
    rows = NamespaceScore.objects.in_bulk(vertices)
    return [
        ScoredNode(
            node=nodes[vertex],
            score=Score(
                vertex=vertex,
                rank=rows[vertex].rank,
                percentile=rows[vertex].percentile,
                in_degree=rows[vertex].in_degree,
            ),
        )
        for vertex in vertices
        if vertex in nodes
    ]


def related_groups(
    *,
    repository_id: UUID,
    namespace_id: UUID,
    resolution: float = 1.0,
    containing: int | None = None,
    limit: int = 20,
    members: int = _SHOWN_MEMBERS,
) -> Groups:
    """Return the groups of the kept resolution that is nearest, the most important first.

    `containing` asks for the group of one vertex only. Raise NotRanked. Six queries.
    """
    analysis = latest(repository_id=repository_id)
    kept = analysis.communities.order_by().values_list("resolution", flat=True).distinct()
    nearest = min(kept, key=lambda one: abs(log(one) - log(resolution)), default=1.0)
    rows = analysis.communities.filter(resolution=nearest)
    names = dict(rows.values_list("number", "name"))
    chosen = rows
    if containing is not None:
        # Without the type Django passes 32 bits, and of a vertex's label nothing is left.
        vertex = Value(containing, output_field=BigIntegerField())
        chosen = rows.filter(members__contains=[vertex])
    found = list(chosen.order_by("-rank", "number")[:limit])
    shown = [vertex for row in found for vertex in row.members[:members]]
    nodes = nodes_of(namespace_id=namespace_id, vertices=shown)
    scores = scores_of(vertices=shown)
    return Groups(
        analysis=analysis_value(analysis),
        resolution=nearest,
        total=len(names),
        groups=tuple(_group(row, names, nodes, scores, members) for row in found),
    )


def _in_degrees(network: Network) -> NDArray[np.int64]:
    return np.bincount(network.edges().targets, minlength=network.size)


def _group(
    row: Community,
    names: Mapping[int, str],
    nodes: Mapping[int, Node],
    scores: Mapping[int, Score],
    members: int,
) -> Group:
    return Group(
        number=row.number,
        name=row.name,
        size=len(row.members),
        cohesion=row.cohesion,
        rank=row.rank,
        members=tuple(
            ScoredNode(node=nodes[vertex], score=scores.get(vertex))
            for vertex in row.members[:members]
            if vertex in nodes
        ),
        neighbors=tuple((number, names[number]) for number in row.neighbors if number in names),
    )
