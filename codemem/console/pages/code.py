"""Symbols and files: found, browsed, and one of them with all that is known of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.http import Http404, HttpResponse

from codemem.accounts.values import Action
from codemem.console import refusals
from codemem.console.access import Visit
from graph import queries as graph
from graph import search
from graph.events import Event, Lifetime
from graph.queries import history
from graph.values import (
    Dependent,
    Direction,
    EdgeKind,
    Neighbor,
    Node,
    NodeKind,
    RefState,
    Score,
)
from indexing import sources
from indexing.findings import queries as findings
from indexing.findings.values import Filter, FindingView
from indexing.sources import FileText
from memory import queries as memory
from memory.values import StoredMemory

refusals.register(unknown=(graph.NodeUnknown, sources.FileUnknown))

_FOUND: Final = 50
_USES: Final = 60
_EVENTS: Final = 20
_TESTS: Final = 20
_MEMORIES: Final = 20
_AMONG: Final = 1_000
_REACHES: Final = 4
_PARTS: Final = 400
_SOURCE_LINES: Final = 400
_FILE_LINES: Final = 2_000
_TREE_NODES: Final = 400
_NOT_USES: Final = (EdgeKind.CONTAINS,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One edge of a node as a row: the other end, how it is tied, how certain that is."""

    kind: str
    node: Node
    confidence: float
    line: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStory:
    """All that is shown of a symbol or file, in every place that shows one."""

    node: Node
    score: Score | None
    callers: Sequence[Use]
    callees: Sequence[Use]
    is_cut: bool
    tests: Sequence[Dependent]
    events: Sequence[Event]
    events_total: int
    life: Lifetime
    memories: Sequence[StoredMemory] | None
    findings: Sequence[FindingView]


def symbols(visit: Visit) -> HttpResponse:
    """Search symbols by name and words, or browse what directories hold."""
    state = visit.ref_state()
    query = visit.parameter("q")
    kind = visit.parameter("kind")
    context = {
        "state": state,
        "query": query,
        "kind": kind,
        "kinds": SYMBOL_KINDS,
        "hits": _hits(visit, state, query, kind) if query else None,
        "tree": None,
        "start": visit.parameter("start"),
    }
    if not query and state.is_indexed:
        context["tree"] = _tree(visit, state)
    if visit.is_fragment and query:
        return visit.fragment("code/results.html", context)
    return visit.render("code/symbols.html", context, title="Symbols")


def symbol(visit: Visit, node_id: str) -> HttpResponse:
    """Show one symbol: its source, who uses it, what it uses, tests, history, memories."""
    state = visit.ref_state()
    node = graph.get_node(repository_id=visit.repository_id, id=node_id, view=state.view)
    if node.kind is NodeKind.FILE:
        return file(visit, node.path)
    text = _text_of(visit, state, node)
    context = {"state": state, "story": story_of(visit, state, node), "text": text}
    crumbs = (
        ("Symbols", visit.url("symbols")),
        (node.path, visit.url("file", path=node.path)),
    )
    return visit.render("code/symbol.html", context, title=node.local_name, crumbs=crumbs)


def file(visit: Visit, path: str) -> HttpResponse:
    """Show one file: its outline and text, findings, what changes with it, who wrote it."""
    state = visit.ref_state()
    node = graph.get_node(repository_id=visit.repository_id, id=f"file:{path}", view=state.view)
    text = sources.read_lines(
        repository_id=visit.repository_id, path=path, most=_FILE_LINES, view=state.view
    )
    outline = graph.live_symbols_in(
        repository_id=visit.repository_id, paths=[path], view=state.view
    ).get(path, ())
    context = {
        "state": state,
        "story": story_of(visit, state, node),
        "text": text,
        "outline": outline,
        "co_changed": graph.co_changed_with(
            namespace_id=visit.namespace_id, repository_id=visit.repository_id, path=path
        ),
        "metrics": findings.list_metrics(
            repository_id=visit.repository_id,
            names=None,
            node=node.id,
            path_prefix=None,
            limit=30,
        ),
    }
    parts = path.split("/")
    crumbs = (
        ("Symbols", visit.url("symbols")),
        *(
            (part, visit.url("symbols", query={"start": f"pkg:{'/'.join(parts[: depth + 1])}/"}))
            for depth, part in enumerate(parts[:-1])
        ),
    )
    return visit.render("code/file.html", context, title=parts[-1], crumbs=crumbs)


def story_of(visit: Visit, state: RefState, node: Node) -> NodeStory:
    """Return what is known of a node through the page's branch. Some sixteen queries."""
    near = graph.neighbors(
        namespace_id=visit.namespace_id,
        vertices=[node.vertex],
        direction=Direction.BOTH,
        limit=2 * _USES,
        view=state.view,
    )
    whole = _whole(visit, state, node)
    reached = graph.dependents(
        namespace_id=visit.namespace_id,
        vertices=whole,
        max_depth=_REACHES,
        node_limit=_AMONG,
        view=state.view,
    )
    events, total = history.events_of(
        namespace_id=visit.namespace_id, vertex=node.vertex, limit=_EVENTS
    )
    return NodeStory(
        node=node,
        score=graph.scores_of(vertices=[node.vertex]).get(node.vertex),
        callers=_uses(near.neighbors, is_target=True),
        callees=_uses(near.neighbors, is_target=False),
        is_cut=near.is_truncated,
        tests=[found for found in reached.dependents if found.node.is_test][:_TESTS],
        events=events,
        events_total=total,
        life=history.lifetime_of(namespace_id=visit.namespace_id, vertex=node.vertex),
        memories=_memories(visit, state, whole),
        findings=_findings(visit, node),
    )


SYMBOL_KINDS: Final = (
    *(NodeKind.CLASS, NodeKind.INTERFACE, NodeKind.ENUM, NodeKind.TYPE, NodeKind.FUNCTION),
    *(NodeKind.METHOD, NodeKind.FIELD, NodeKind.VARIABLE, NodeKind.MODULE, NodeKind.MACRO),
)


def _hits(visit: Visit, state: RefState, query: str, kind: str) -> list[search.SearchHit]:
    wanted = NodeKind(kind) if kind in set(SYMBOL_KINDS) else None
    if not state.is_indexed:
        return []
    return search.search_symbols(
        repository_ids=[visit.repository_id],
        query=query,
        # Vectors would make each letter typed wait for the model.
        mode=search.Mode.TEXT,
        embedded=None,
        kind=wanted,
        limit=_FOUND,
        view=state.view,
    )


def _tree(visit: Visit, state: RefState) -> object:
    start = visit.parameter("start") or None
    if start is not None and not start.startswith("pkg:"):
        raise Http404
    return graph.tree(
        repository_id=visit.repository_id,
        start=start,
        max_depth=2,
        node_limit=_TREE_NODES,
        view=state.view,
    )


def _text_of(visit: Visit, state: RefState, node: Node) -> FileText:
    return sources.read_lines(
        repository_id=visit.repository_id,
        path=node.path,
        first=node.start_line,
        last=node.end_line,
        most=_SOURCE_LINES,
        view=state.view,
    )


def _uses(neighbors: Sequence[Neighbor], *, is_target: bool) -> list[Use]:
    """Return the edges that arrive at the node (it is the target) or leave it."""
    return [
        Use(
            kind=neighbor.edge.kind,
            node=neighbor.node,
            confidence=neighbor.edge.confidence,
            line=neighbor.edge.line,
        )
        for neighbor in neighbors
        if neighbor.node is not None
        and neighbor.edge.kind not in _NOT_USES
        and (neighbor.edge.target == neighbor.origin) is is_target
    ][:_USES]


def _whole(visit: Visit, state: RefState, node: Node) -> list[int]:
    """Return the vertices of a node; of a file those of its symbols too, which tests reach."""
    if node.kind is not NodeKind.FILE:
        return [node.vertex]
    inside = graph.live_symbols_in(
        repository_id=visit.repository_id, paths=[node.path], view=state.view
    )
    return [node.vertex, *(one.vertex for one in inside.get(node.path, ()))][:_PARTS]


def _memories(
    visit: Visit, state: RefState, vertices: Sequence[int]
) -> Sequence[StoredMemory] | None:
    if not visit.can(Action.READ_MEMORY):
        return None
    return memory.memories_about(
        caller=visit.caller,
        namespace_id=visit.namespace_id,
        vertices=vertices,
        now=visit.now,
        branch=state.ref,
        limit=_MEMORIES,
    )


def _findings(visit: Visit, node: Node) -> Sequence[FindingView]:
    is_file = node.kind is NodeKind.FILE
    wanted = Filter(path_prefix=node.path, symbol=None if is_file else node.id)
    found = findings.list_findings(repository_id=visit.repository_id, wanted=wanted, limit=50)
    return [one for one in found.findings if one.path == node.path]
