"""Pictures of the past: the graph of a commit, and what came and went between two.

Whatever still stands has the place that it has in the picture of today, so that a slider moves
through one picture. Pure; places come from `graph.queries.places_by_id`.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from graph.algorithms.layout import NO_GROUP, beside
from graph.pictures import MOST_EDGES, MOST_NODES, Mark, Scene, Tie
from graph.values import Edge, EdgeKind, Node, NodeKind, file_id
from indexing.history.graphs import DEPENDENCIES, CommitGraph

APPEARED: Final = "appeared"
VANISHED: Final = "vanished"
CHANGED: Final = "changed"

Places = Mapping[str, tuple[float, float, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Nodes (text ids) that only one of two graphs has, or that say something else in the other."""

    appeared: tuple[str, ...]
    vanished: tuple[str, ...]
    changed: tuple[str, ...]


def scene_at(
    graph: CommitGraph,
    *,
    places: Places,
    node_kinds: Collection[NodeKind] | None = None,
    edge_kinds: Collection[EdgeKind] | None = None,
    limit: int = MOST_NODES,
) -> Scene:
    """Return the picture of one commit: its most tied nodes, where they stand today."""
    degrees = _degrees([graph])
    nodes = [node for node in graph.nodes if node_kinds is None or node.kind in node_kinds]
    chosen = sorted(nodes, key=lambda node: (-degrees[node.id], node.id))[:limit]
    return _scene(
        chosen, [graph], places=places, edge_kinds=edge_kinds, total=len(nodes), degrees=degrees
    )


def difference(before: CommitGraph, after: CommitGraph) -> Difference:
    """Compare the nodes of two graphs; what only moved to other lines has not changed."""
    old, new = before.by_id, after.by_id
    both = old.keys() & new.keys()
    used_before, used_after = _uses(before), _uses(after)
    changed = [
        key
        for key in both
        if _said(old[key]) != _said(new[key]) or used_before.get(key) != used_after.get(key)
    ]
    return Difference(
        appeared=tuple(sorted(new.keys() - old.keys())),
        vanished=tuple(sorted(old.keys() - new.keys())),
        changed=tuple(sorted(changed)),
    )


def drift_scene(
    before: CommitGraph,
    after: CommitGraph,
    *,
    places: Places,
    node_kinds: Collection[NodeKind] | None = None,
    edge_kinds: Collection[EdgeKind] | None = None,
    limit: int = MOST_NODES,
) -> Scene:
    """Return what appeared, vanished and changed, and what is tied to it, in one picture."""
    found = difference(before, after)
    states = {
        **dict.fromkeys(found.changed, CHANGED),
        **dict.fromkeys(found.appeared, APPEARED),
        **dict.fromkeys(found.vanished, VANISHED),
    }
    degrees = _degrees([before, after])
    nodes = {**before.by_id, **after.by_id}
    around = _around(states, [before, after])
    wanted = [
        node
        for key, node in nodes.items()
        if (key in states or key in around) and (node_kinds is None or node.kind in node_kinds)
    ]
    # What is of the difference first, and of the rest what has the most ties.
    wanted.sort(key=lambda node: (node.id not in states, -degrees[node.id], node.id))
    scene = _scene(
        wanted[:limit],
        [after, before],
        places=places,
        edge_kinds=edge_kinds,
        total=len(wanted),
        degrees=degrees,
        states=states,
    )
    return Scene(
        marks=scene.marks,
        ties=scene.ties,
        groups=(),
        nodes_total=scene.nodes_total,
        edges_total=scene.edges_total,
        counts={
            APPEARED: len(found.appeared),
            VANISHED: len(found.vanished),
            CHANGED: len(found.changed),
        },
    )


def _scene(
    nodes: Sequence[Node],
    graphs: Sequence[CommitGraph],
    *,
    places: Places,
    edge_kinds: Collection[EdgeKind] | None,
    total: int,
    degrees: Mapping[str, int],
    states: Mapping[str, str] | None = None,
) -> Scene:
    slots = {node.id: number for number, node in enumerate(nodes)}
    kinds = frozenset(DEPENDENCIES if edge_kinds is None else edge_kinds)
    ties = list(_ties(graphs, slots, kinds))
    placed = _placed(nodes, ties, places)
    most = max((degrees[node.id] for node in nodes), default=1) or 1
    states = states or {}
    marks = tuple(
        Mark(
            id=node.id,
            name=node.name,
            kind=node.kind,
            path=node.path,
            x=placed[node.id][0],
            y=placed[node.id][1],
            size=2.0 + 6.0 * (degrees[node.id] / most) ** 0.5,
            group=places[node.id][2] if node.id in places else NO_GROUP,
            state=states.get(node.id, ""),
        )
        for node in nodes
    )
    return Scene(
        marks=marks,
        ties=tuple(ties[:MOST_EDGES]),
        groups=(),
        nodes_total=total,
        edges_total=len(ties),
    )


def _ties(
    graphs: Sequence[CommitGraph], slots: Mapping[str, int], kinds: Collection[str]
) -> Iterable[Tie]:
    """Yield the edges between chosen nodes once, from the first graph that has each."""
    seen: set[tuple[int, int, str]] = set()
    several = len(graphs) > 1
    known = [_keys(graph) for graph in graphs] if several else []
    for number, graph in enumerate(graphs):
        for edge in graph.edges:
            source = slots.get(graph.node(edge.source).id)
            target = slots.get(graph.node(edge.target).id)
            if edge.kind not in kinds or source is None or target is None or source == target:
                continue
            if (key := (source, target, edge.kind)) in seen:
                continue
            seen.add(key)
            state = ""
            if several and number == 1:
                state = VANISHED
            elif several and _key(graph, edge) not in known[1]:
                state = APPEARED
            yield Tie(
                source=source, target=target, kind=edge.kind, weight=edge.confidence, state=state
            )


def _placed(
    nodes: Sequence[Node], ties: Sequence[Tie], places: Places
) -> dict[str, tuple[float, float]]:
    """Return a place for each node: today's, else beside what it is tied to, else its file's."""
    placed = {node.id: places[node.id][:2] for node in nodes if node.id in places}
    near: defaultdict[str, list[str]] = defaultdict(list)
    for tie in ties:
        one, other = nodes[tie.source].id, nodes[tie.target].id
        near[one].append(other)
        near[other].append(one)
    files = {node.id: file_id(node.path) for node in nodes}
    crowd: Counter[tuple[float, float]] = Counter()
    edge = max((abs(part) for place in placed.values() for part in place), default=10.0)
    known = dict(placed)
    for node in nodes:
        if node.id in placed:
            continue
        anchors = [known[other] for other in near[node.id] if other in known]
        if not anchors and files[node.id] in places:
            anchors = [places[files[node.id]][:2]]
        at = (
            (sum(x for x, _ in anchors) / len(anchors), sum(y for _, y in anchors) / len(anchors))
            if anchors
            # Nothing of today is near: to the right of everything.
            else (edge * 1.15, 0.0)
        )
        placed[node.id] = beside(at, crowd[at])
        crowd[at] += 1
    return placed


def _around(states: Mapping[str, str], graphs: Sequence[CommitGraph]) -> set[str]:
    found: set[str] = set()
    for graph in graphs:
        for edge in graph.edges:
            if edge.kind in DEPENDENCIES:
                one, other = graph.node(edge.source).id, graph.node(edge.target).id
                if one in states:
                    found.add(other)
                if other in states:
                    found.add(one)
    return found - states.keys()


def _degrees(graphs: Sequence[CommitGraph]) -> Counter[str]:
    degrees: Counter[str] = Counter()
    for graph in graphs:
        for edge in graph.edges:
            if edge.kind in DEPENDENCIES:
                degrees[graph.node(edge.source).id] += 1
                degrees[graph.node(edge.target).id] += 1
    return degrees


def _uses(graph: CommitGraph) -> dict[str, frozenset[tuple[str, str]]]:
    """Return what each node uses, by text ids: a body that calls others has changed."""
    uses: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for edge in graph.edges:
        if edge.kind in DEPENDENCIES:
            uses[graph.node(edge.source).id].add((edge.kind, graph.node(edge.target).id))
    return {key: frozenset(found) for key, found in uses.items()}


def _said(node: Node) -> tuple[object, ...]:
    """Return what a node says of itself, whatever line it stands at."""
    length = node.end_line - node.start_line if node.local_name else node.end_line
    return node.signature, node.doc, node.cyclomatic, node.cognitive, length, node.decorators


def _key(graph: CommitGraph, edge: Edge) -> tuple[str, str, str]:
    return edge.kind, graph.node(edge.source).id, graph.node(edge.target).id


def _keys(graph: CommitGraph) -> set[tuple[str, str, str]]:
    return {_key(graph, edge) for edge in graph.edges}
