"""Pictures for the explorer: of a repository as it was laid out, and of what is around a node.

Takes repositories that the caller was given as visible. The columns of the newest pictures are kept
in the process that read them; which ones are current is asked each time.
"""

import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import numpy as np
from django.db.models import BigIntegerField, OuterRef, Subquery

from graph.algorithms.layout import NO_GROUP, rings
from graph.algorithms.network import Network
from graph.models import Analysis, Layout, SourceFile, Symbol
from graph.pictures import (
    MOST_NODES,
    Columns,
    GroupDisc,
    Mark,
    Scene,
    Tie,
    Wanted,
    draw,
    node_size,
    unpacked,
)
from graph.queries.analyses import current
from graph.queries.edges import edges_among, traverse
from graph.queries.nodes import scores_of
from graph.values import (
    LIVE,
    SNAPSHOT_KINDS,
    Direction,
    EdgeKind,
    Node,
    NodeKind,
    VertexLabel,
    View,
    file_id,
    key_of,
    label_of,
    symbol_id,
)

GROUP: Final = "group"
_KEPT: Final = 4


class NotLaidOut(Exception):
    """The repository has no picture yet: it is made after its first ranking."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutState:
    """Which commit the picture shows, how much it holds, and how long it took (CPU seconds)."""

    commit: str
    computed_at: datetime
    nodes: int
    seconds: float
    groups: tuple[GroupDisc, ...]


def find_layout(*, repository_id: UUID) -> LayoutState | None:
    """Return what is known of a repository's picture without its columns. One query."""
    row = Layout.objects.filter(repository_id=repository_id).defer("columns").first()
    if row is None:
        return None
    return LayoutState(
        commit=row.commit,
        computed_at=row.computed_at,
        nodes=row.nodes,
        seconds=row.seconds,
        groups=_discs(row.groups),
    )


def repository_scene(*, repository_id: UUID, wanted: Wanted) -> Scene:
    """Return the picture of a repository's default branch; raise NotLaidOut or NotRanked.

    Three queries; two more the first time in a process.
    """
    layout, network = _loaded(repository_id)
    drawn = draw(network=network, columns=layout.columns, groups=layout.groups, wanted=wanted)
    named = _named(drawn.vertices)
    sizes = {group.number: group.size for group in layout.groups}
    names = {group.number: group.name for group in layout.groups}
    places = zip(drawn.x, drawn.y, drawn.sizes, drawn.group_of, strict=True)
    marks: list[Mark] = []
    ends: dict[int, int] = {}
    for slot, (x, y, size, group) in enumerate(places):
        if slot < len(drawn.vertices):
            name = named.get(drawn.vertices[slot])
            if name is None:  # gone since the ranking
                continue
            ends[slot] = len(marks)
            marks.append(_mark(name, x=x, y=y, size=size, group=group))
        else:
            ends[slot] = len(marks)
            marks.append(
                Mark(
                    id=f"{GROUP}:{group}",
                    name=names[group],
                    kind=GROUP,
                    path="",
                    x=x,
                    y=y,
                    size=size,
                    group=group,
                    members=sizes[group],
                )
            )
    edges = zip(drawn.sources, drawn.targets, drawn.edge_kinds, drawn.weights, strict=True)
    return Scene(
        marks=tuple(marks),
        ties=tuple(
            Tie(
                source=ends[source],
                target=ends[target],
                kind=drawn.kind_names[kind],
                weight=weight,
            )
            for source, target, kind, weight in edges
            if source in ends and target in ends
        ),
        groups=layout.groups,
        nodes_total=drawn.nodes_total,
        edges_total=drawn.edges_total,
        commit=layout.commit,
    )


def scene_around(
    *,
    namespace_id: UUID,
    repository_id: UUID,
    node: Node,
    depth: int = 1,
    direction: Direction = Direction.BOTH,
    edge_kinds: Collection[EdgeKind] | None = None,
    node_kinds: Collection[NodeKind] | None = None,
    limit: int = 300,
    view: View = LIVE,
) -> Scene:
    """Return what is tied to a node, a ring for each step away from it.

    Holds in every view: nothing of it is kept. Two queries for each step and three more.
    """
    kinds = list(SNAPSHOT_KINDS if edge_kinds is None else edge_kinds)
    walk = traverse(
        namespace_id=namespace_id,
        starts=[node.vertex],
        known=[node],
        max_depth=depth,
        direction=direction,
        kinds=kinds,
        exclude_node_kinds=()
        if node_kinds is None
        else [kind for kind in NodeKind if kind not in node_kinds],
        node_limit=min(limit, MOST_NODES),
        view=view,
    )
    visits = [(visit, visit.node) for visit in walk.visits if visit.node is not None]
    slot = {visit.vertex: place for place, (visit, _) in enumerate(visits)}
    depths = np.array([visit.depth for visit, _ in visits], dtype=np.int64)
    parents = np.array(
        [slot.get(visit.reached_from or visit.vertex, 0) for visit, _ in visits], dtype=np.int64
    )
    places = rings(depths, parents)
    scores = scores_of(vertices=list(slot))
    groups = _groups_of(repository_id, list(slot))
    marks = tuple(
        Mark(
            id=found.id,
            name=found.name,
            kind=found.kind,
            path=found.path,
            x=float(places[number, 0]),
            y=float(places[number, 1]),
            size=node_size(scores[visit.vertex].percentile if visit.vertex in scores else 0.0)
            + (4.0 if visit.depth == 0 else 1.5),
            group=groups.get(visit.vertex, NO_GROUP),
            depth=visit.depth,
        )
        for number, (visit, found) in enumerate(visits)
    )
    edges = edges_among(namespace_id=namespace_id, vertices=list(slot), kinds=kinds, view=view)
    ties = tuple(
        Tie(
            source=slot[edge.source],
            target=slot[edge.target],
            kind=edge.kind,
            weight=edge.confidence,
        )
        for edge in edges
    )
    return Scene(
        marks=marks,
        ties=ties,
        groups=(),
        nodes_total=len(marks) + int(walk.is_truncated),
        edges_total=len(ties),
    )


def places_by_id(*, repository_id: UUID) -> Mapping[str, tuple[float, float, int]]:
    """Return where each node of a picture stands, by text id, with its group; none without one.

    For pictures of the past, whose nodes are known by text ids. Two queries.
    """
    row = Layout.objects.filter(repository_id=repository_id).first()
    if row is None:
        return {}
    columns = unpacked(bytes(row.columns))
    named = _named(columns.vertices.tolist())
    rows = zip(
        columns.vertices.tolist(), columns.places.tolist(), columns.groups.tolist(), strict=True
    )
    return {
        named[vertex].id: (place[0], place[1], group)
        for vertex, place, group in rows
        if vertex in named
    }


@dataclass(frozen=True, slots=True)
class _Kept:
    """A picture as it was read."""

    commit: str
    columns: Columns
    groups: tuple[GroupDisc, ...]


_kept: OrderedDict[tuple[UUID, int, datetime], tuple[_Kept, Network]] = OrderedDict()
_lock = threading.Lock()


def _loaded(repository_id: UUID) -> tuple[_Kept, Network]:
    ranked = Analysis.objects.filter(
        repository_id=OuterRef("repository_id"), network__isnull=False
    ).order_by("-id")
    newest = Subquery(ranked.values("id")[:1], output_field=BigIntegerField())
    found = (
        Layout.objects.filter(repository_id=repository_id)
        .annotate(newest=newest)
        .values_list("computed_at", "newest")
        .first()
    )
    if found is None:
        raise NotLaidOut(
            "There is no picture of this repository yet: it is drawn after the first ranking."
        )
    key = (repository_id, found[1] or 0, found[0])
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    row = Layout.objects.get(repository_id=repository_id)
    _, network = current(repository_id=repository_id)
    made = (_Kept(row.commit, unpacked(bytes(row.columns)), _discs(row.groups)), network)
    with _lock:
        _kept[key] = made
        while len(_kept) > _KEPT:
            _kept.popitem(last=False)
    return made


def _discs(groups: Sequence[Mapping[str, object]]) -> tuple[GroupDisc, ...]:
    return tuple(GroupDisc(**group) for group in groups)  # type: ignore[arg-type]


def _groups_of(repository_id: UUID, vertices: Sequence[int]) -> dict[int, int]:
    """Return the groups of some vertices as the repository's picture has them."""
    try:
        layout, _ = _loaded(repository_id)
    except NotLaidOut:
        return {}
    place = layout.columns.at(np.array(vertices, dtype=np.int64))
    found = layout.columns.groups[place.clip(min=0)] if len(layout.columns.vertices) else place
    return {
        vertex: int(group)
        for vertex, where, group in zip(vertices, place.tolist(), found.tolist(), strict=True)
        if where >= 0
    }


@dataclass(frozen=True, slots=True)
class _Name:
    """What a drawn node is called; no more of it is read, for there are thousands."""

    id: str
    name: str
    kind: str
    path: str


def _named(vertices: Sequence[int]) -> dict[int, _Name]:
    keys: dict[VertexLabel, list[int]] = {VertexLabel.SYMBOL: [], VertexLabel.FILE: []}
    for vertex in vertices:
        keys[label_of(vertex)].append(key_of(vertex))
    symbols = Symbol.objects.filter(pk__in=keys[VertexLabel.SYMBOL]).values_list(
        "pk", "path", "local_name", "ordinal", "name", "kind"
    )
    files = SourceFile.objects.filter(pk__in=keys[VertexLabel.FILE]).values_list("pk", "path")
    first_symbol, first_file = (VertexLabel.SYMBOL << 48), (VertexLabel.FILE << 48)
    named = {
        first_symbol | key: _Name(
            symbol_id(path=path, local_name=local_name, ordinal=ordinal), name, kind, path
        )
        for key, path, local_name, ordinal, name, kind in symbols.iterator()
    }
    return named | {
        first_file | key: _Name(file_id(path), path.rpartition("/")[2], NodeKind.FILE.value, path)
        for key, path in files.iterator()
    }


def _mark(name: _Name, *, x: float, y: float, size: float, group: int) -> Mark:
    return Mark(
        id=name.id,
        name=name.name,
        kind=name.kind,
        path=name.path,
        x=x,
        y=y,
        size=size,
        group=group,
    )
