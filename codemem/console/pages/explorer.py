"""The graph explorer: one picture of a repository, its columns as JSON, and what a node is."""

from typing import Any, Final

from django.http import HttpResponse, JsonResponse

from codemem.console import refusals
from codemem.console.access import Visit
from codemem.console.pages.code import story_of
from graph import queries as graph
from graph import search
from graph.algorithms.network import DEPENDENCIES
from graph.pictures import EVERY_GROUP, MOST_NODES, Scene, Wanted
from graph.values import Direction, EdgeKind, NodeKind, RefState
from indexing.history.past import MomentUnknown, PastUnavailable, graph_at, moment
from indexing.history.scenes import drift_scene, scene_at

refusals.register(
    unknown=(graph.NodeUnknown,),
    refused=(graph.NotLaidOut, graph.NotRanked, MomentUnknown, PastUnavailable),
)

_NODE_KINDS: Final = (
    *(NodeKind.FILE, NodeKind.CLASS, NodeKind.INTERFACE, NodeKind.ENUM, NodeKind.TYPE),
    *(NodeKind.FUNCTION, NodeKind.METHOD, NodeKind.FIELD, NodeKind.VARIABLE, NodeKind.MODULE),
    *(NodeKind.MACRO, NodeKind.DOCUMENT),
)
_EDGE_KINDS: Final = (*DEPENDENCIES, EdgeKind.CONTAINS)
_FEW: Final = 400
_ROWS: Final = 100
_MOST_OPEN: Final = 40
_LONGEST: Final = 6
_SUGGESTED: Final = 12
_DEEPEST: Final = 3
_AROUND: Final = 300


def show(visit: Visit) -> HttpResponse:
    """Show the picture of a repository, or of what is around one of its nodes."""
    state = visit.ref_state()
    layout = graph.find_layout(repository_id=visit.repository_id)
    focus = visit.parameter("focus")
    as_table = visit.parameter("as") == "table"
    scene = _scene(visit, state) if as_table and (layout or focus) else None
    context = {
        "state": state,
        "layout": layout,
        "focus": graph.get_node(repository_id=visit.repository_id, id=focus, view=state.view)
        if focus
        else None,
        "depth": _depth(visit),
        "direction": _direction(visit).value,
        "as_table": as_table,
        "scene": scene,
        "rows": _rows(visit, scene) if scene else None,
        "node_kinds": [(kind.value, _is_chosen(visit, "kind", kind)) for kind in _NODE_KINDS],
        "edge_kinds": [(kind.value, _is_chosen(visit, "edge", kind)) for kind in _EDGE_KINDS],
        "is_open": visit.parameter("open", _usual(layout)) == "all",
        "opened": sorted(_opened(visit, _usual(layout)) - EVERY_GROUP),
        "source": visit.url("graph-columns", query=_query(visit)),
        "shows_all": layout is not None and layout.nodes <= MOST_NODES,
        "most": f"{MOST_NODES:,}",
    }
    return visit.render("graph/explorer.html", context, title="Graph")


def columns(visit: Visit) -> HttpResponse:
    """Answer with the picture as columns of JSON."""
    return JsonResponse(_scene(visit, visit.ref_state()).as_columns())


def node(visit: Visit) -> HttpResponse:
    """Answer with what the inspector shows of a node, or of a group."""
    state = visit.ref_state()
    wanted = visit.parameter("id")
    if wanted.startswith("group:"):
        return _group(visit, wanted.removeprefix("group:"))
    found = graph.get_node(repository_id=visit.repository_id, id=wanted, view=state.view)
    context = {"state": state, "story": story_of(visit, state, found)}
    return visit.fragment("graph/inspector.html", context)


def suggestions(visit: Visit) -> HttpResponse:
    """Answer with the nodes that what was typed so far may mean."""
    state = visit.ref_state()
    query = visit.parameter("q")
    context = {"query": query, "nodes": _meant(visit, state, query) if query else []}
    return visit.fragment("graph/suggestions.html", context)


def _scene(visit: Visit, state: RefState) -> Scene:
    repository_id = visit.repository_id
    if since := visit.parameter("from"):
        until = visit.parameter("to") or visit.now.strftime("%Y-%m-%dT%H:%M:%SZ")
        return drift_scene(
            graph_at(moment(repository_id=repository_id, text=since)),
            graph_at(moment(repository_id=repository_id, text=until)),
            places=graph.places_by_id(repository_id=repository_id),
            node_kinds=_chosen_nodes(visit),
            edge_kinds=_chosen_edges(visit),
        )
    if at := visit.parameter("at"):
        return scene_at(
            graph_at(moment(repository_id=repository_id, text=at)),
            places=graph.places_by_id(repository_id=repository_id),
            node_kinds=_chosen_nodes(visit),
            edge_kinds=_chosen_edges(visit),
        )
    if focus := visit.parameter("focus"):
        return graph.scene_around(
            namespace_id=visit.namespace_id,
            repository_id=repository_id,
            node=graph.get_node(repository_id=repository_id, id=focus, view=state.view),
            depth=_depth(visit),
            direction=_direction(visit),
            node_kinds=_chosen_nodes(visit),
            edge_kinds=_chosen_edges(visit),
            limit=_AROUND,
            view=state.view,
        )
    usual = _usual(graph.find_layout(repository_id=repository_id))
    return graph.repository_scene(
        repository_id=repository_id,
        wanted=Wanted(
            node_kinds=_chosen_nodes(visit),
            edge_kinds=_chosen_edges(visit),
            opened=_opened(visit, usual),
        ),
    )


def _group(visit: Visit, number: str) -> HttpResponse:
    layout = graph.find_layout(repository_id=visit.repository_id)
    found = [one for one in layout.groups if str(one.number) == number] if layout else []
    if not found:
        raise graph.NodeUnknown("There is no such group in the picture.")
    best = graph.repository_scene(
        repository_id=visit.repository_id,
        wanted=Wanted(opened=frozenset({found[0].number})),
    )
    members = [mark for mark in best.marks if mark.group == found[0].number and not mark.members]
    members.sort(key=lambda mark: -mark.size)
    context = {"group": found[0], "members": members[:_SUGGESTED]}
    return visit.fragment("graph/group.html", context)


def _meant(visit: Visit, state: RefState, query: str) -> list[Any]:
    named = graph.find_nodes(
        repository_id=visit.repository_id, text=query, limit=_SUGGESTED, view=state.view
    )
    hits = search.search_symbols(
        repository_ids=[visit.repository_id],
        query=query,
        mode=search.Mode.TEXT,
        embedded=None,
        limit=_SUGGESTED,
        view=state.view,
    )
    found = {one.id: one for one in (*named, *(hit.node for hit in hits))}
    return list(found.values())[:_SUGGESTED]


def _rows(visit: Visit, scene: Scene) -> dict[str, Any]:
    """Return one page of the picture's nodes as a table: the largest first, with their ties."""
    ties: dict[int, int] = {}
    for tie in scene.ties:
        ties[tie.source] = ties.get(tie.source, 0) + 1
        ties[tie.target] = ties.get(tie.target, 0) + 1
    order = sorted(range(len(scene.marks)), key=lambda slot: -scene.marks[slot].size)
    number = visit.number("page", 1, minimum=1, maximum=MOST_NODES // _ROWS)
    shown = order[(number - 1) * _ROWS : number * _ROWS]
    return {
        "rows": [(scene.marks[slot], ties.get(slot, 0)) for slot in shown],
        "number": number,
        "previous": number - 1,
        "next": number + 1,
        "has_next": number * _ROWS < len(order),
        "has_other": len(order) > _ROWS,
    }


def _usual(layout: graph.LayoutState | None) -> str:
    """Return what is opened unless asked otherwise: everything where that is little."""
    return "all" if layout is not None and layout.nodes <= _FEW else ""


def _opened(visit: Visit, usual: str) -> frozenset[int]:
    text = visit.parameter("open", usual)
    if text == "all":
        return EVERY_GROUP
    numbers = [
        part for part in text.split(",") if part.lstrip("-").isdecimal() and len(part) <= _LONGEST
    ]
    return frozenset(int(part) for part in numbers[:_MOST_OPEN])


def _depth(visit: Visit) -> int:
    return visit.number("depth", 1, minimum=1, maximum=_DEEPEST)


def _direction(visit: Visit) -> Direction:
    text = visit.parameter("direction")
    return Direction(text) if text in set(Direction) else Direction.BOTH


def _chosen_nodes(visit: Visit) -> frozenset[NodeKind] | None:
    names = set(visit.request.GET.getlist("kind"))
    return frozenset(kind for kind in _NODE_KINDS if kind in names) or None


def _chosen_edges(visit: Visit) -> frozenset[EdgeKind] | None:
    names = set(visit.request.GET.getlist("edge"))
    return frozenset(kind for kind in _EDGE_KINDS if kind in names) or None


def _is_chosen(visit: Visit, name: str, value: str) -> bool:
    return value in visit.request.GET.getlist(name)


def _query(visit: Visit) -> dict[str, Any]:
    """Return what of the page's address the columns depend on."""
    names = ("open", "focus", "depth", "direction", "at", "from", "to")
    kept: dict[str, Any] = {name: visit.parameter(name) for name in names}
    kept["kind"] = [kind for kind, chosen in _chosen(visit, "kind", _NODE_KINDS) if chosen]
    kept["edge"] = [kind for kind, chosen in _chosen(visit, "edge", _EDGE_KINDS) if chosen]
    return {name: value for name, value in kept.items() if value}


def _chosen(visit: Visit, name: str, kinds: tuple[Any, ...]) -> list[tuple[str, bool]]:
    return [(kind.value, _is_chosen(visit, name, kind)) for kind in kinds]
