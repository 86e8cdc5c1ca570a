"""Tools that read what became of memories: history, decisions, what is known about code."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import Field

from codemem.accounts.values import Action
from codemem.gateway import memories as shown
from codemem.gateway import scope as scopes
from codemem.gateway import views
from codemem.gateway.cited import MemoryId
from codemem.gateway.errors import ArgumentsInvalid, ScopeNeeded
from codemem.gateway.memories import AnchorView, MemoryEntry
from codemem.gateway.tool import Arguments, Call, CodeArguments, Result, Toolset, tool
from graph import queries as graph
from graph.values import Direction, Node, NodeKind, RefState
from memory import history, services
from memory.recall import recall
from memory.values import RecallQuery, StoredMemory

_IMPORTANT = 20
_CONTAINERS = 6
_CONTAINED = 200
_TOPIC_HITS = 10


# --- memory_history -------------------------------------------------------------------------------
class HistoryArguments(Arguments):
    view: Literal["versions", "provenance", "timeline", "drifted"] = Field(
        "versions",
        description="timeline: what was learned around `id`, or since/until; drifted: memories"
        " whose cited code changed.",
    )
    id: MemoryId | None = Field(None, description="A memory; needed for versions and provenance.")
    since: datetime | None = None
    until: datetime | None = None
    mine: bool = Field(False, description="Of drifted ones only your own.")
    limit: int = Field(20, ge=1, le=200)


class DifferenceView(Result):
    field: str
    before: Any = None
    after: Any = None
    diff: str | None = None


class VersionView(Result):
    version: int = Field(description="The version that this change ended.")
    change: str
    by: str
    agent: str | None = None
    reason: str | None = None
    held_from: datetime
    held_until: datetime
    differences: list[DifferenceView]


class LinkView(Result):
    source: str
    relationship: str
    target: str


class ProvenanceView(Result):
    author: str
    agent: str | None = None
    model: str | None = None
    session_id: str | None = None
    source: str
    created_at: datetime
    evidence: list[dict[str, str]] | None = None
    anchors: list[AnchorView] | None = None
    links: list[LinkView] | None = None


class EventView(Result):
    at: datetime
    what: str
    by: str
    reason: str | None = None
    memory: MemoryEntry


class DriftedView(MemoryEntry):
    anchors: list[AnchorView] | None = None


class HistoryResult(Result):
    scope: scopes.ScopeEcho
    memory: MemoryEntry | None = None
    versions: list[VersionView] | None = None
    provenance: ProvenanceView | None = None
    events: list[EventView] | None = None
    drifted: list[DriftedView] | None = None


@tool(Toolset.CURATION, reads_only=True)
def memory_history(call: Call, arguments: HistoryArguments) -> HistoryResult:
    """Show what a memory said before and who changed it (versions), where it comes from
    (provenance), what was learned when (timeline), or whose cited code changed since (drifted). Use
    it when a memory surprises you.
    """
    if arguments.view == "timeline":
        return _timeline(call, arguments)
    if arguments.view == "drifted":
        return _drifted(call, arguments)
    if arguments.id is None:
        raise ArgumentsInvalid(f"id: the view {arguments.view} is of one memory.")
    stored, _ = shown.memory_named(call, arguments, arguments.id, action=Action.READ_MEMORY)
    result = HistoryResult(scope=shown.echo_of(stored), memory=shown.entry(stored))
    if arguments.view == "provenance":
        result.provenance = _provenance(call, stored)
    else:
        versions = history.versions_of(
            caller=call.caller, memory_id=stored.id, now=call.now, limit=arguments.limit
        )
        result.versions = [_version_view(version) for version in versions]
    return result


# --- get_decision_chain ---------------------------------------------------------------------------
class ChainArguments(CodeArguments):
    id: MemoryId | None = Field(None, description="A decision.")
    node: str | None = Field(None, max_length=1000, description="A symbol or file, by id or name.")
    topic: str | None = Field(None, min_length=1, max_length=1000)
    limit: int = Field(20, ge=1, le=100)


class ChainResult(Result):
    scope: scopes.ScopeEcho
    chain_length: int
    decisions: list[MemoryEntry] = Field(description="In the order in which they were made.")
    connections: list[LinkView]
    truncated: bool


@tool(Toolset.HISTORY, reads_only=True)
def get_decision_chain(call: Call, arguments: ChainArguments) -> ChainResult:
    """Show how a decision came about: the decisions, rules and requirements about a file, symbol or
    topic (or around one memory) with their rationale, what superseded what and what led to what,
    oldest first. Use it before you undo something that looks wrong.
    """
    if sum(part is not None for part in (arguments.id, arguments.node, arguments.topic)) != 1:
        raise ArgumentsInvalid("Pass one of id, node and topic.")
    scope, namespace_id, starts = _chain_starts(call, arguments)
    chain = history.decision_chain(
        caller=call.caller,
        namespace_id=namespace_id,
        starts=starts[: arguments.limit],
        now=call.now,
        limit=arguments.limit,
    )
    return ChainResult(
        scope=scope,
        chain_length=len(chain.memories),
        decisions=[shown.entry(stored) for stored in chain.memories],
        connections=_link_views(chain.links),
        truncated=chain.is_truncated,
    )


# --- get_node_memories ----------------------------------------------------------------------------
class NodeMemoriesArguments(CodeArguments):
    node_id: str = Field(min_length=1, max_length=1000, description="A symbol or file.")
    with_surroundings: bool = Field(
        True, description="Also of what contains it and of what it contains."
    )
    include_relationships: list[str] = Field(
        [], max_length=32, description="Only these verbs, such as EXPLAINS."
    )
    limit: int = Field(20, ge=1, le=200)


class NodeMemoryView(MemoryEntry):
    relationship: str
    via: str = Field(description="The node that it is about.")
    depth: int = Field(description="0: the node itself.")
    anchors: list[AnchorView] | None = None


class NodeMemoriesResult(views.CodeResult):
    node: str
    memories: list[NodeMemoryView]


@tool(Toolset.MEMORY, reads_only=True)
def get_node_memories(call: Call, arguments: NodeMemoriesArguments) -> NodeMemoriesResult:
    """Show what the team knows about a symbol or file: memories linked to it or anchored in it, and
    to what contains it. Anchors say whether the cited code is still as it was.
    """
    scopes.require_of_token(call, Action.READ_MEMORY)
    place = scopes.repository_to_read(call, arguments, Action.READ_GRAPH)
    scopes.require(call, Action.READ_MEMORY, place.namespace)
    state, code = scopes.ref_to_read(call, arguments, place.repository)
    node = views.node_named(place, arguments.node_id, view=state.view)
    nodes = _surroundings(place, state, node) if arguments.with_surroundings else {}
    nodes = {node.vertex: (node.id, 0)} | {
        vertex: way for vertex, way in nodes.items() if vertex != node.vertex
    }
    found = history.memories_of_nodes(
        caller=call.caller,
        namespace_id=place.namespace.id,
        nodes=nodes,
        anchored=_anchored(place, node),
        now=call.now,
        branch=code.ref,
        relationships=arguments.include_relationships,
        limit=arguments.limit,
    )
    anchors = services.anchors_of(
        [one.memory.id for one in found], ref=state, repository_id=place.repository.id
    )
    return NodeMemoriesResult(
        scope=scopes.echo(place),
        code=code,
        node=node.id,
        memories=[
            NodeMemoryView.model_validate(
                {
                    **shown.entry_fields(one.memory),
                    "relationship": one.relationship,
                    "via": one.via,
                    "depth": one.distance,
                    "anchors": shown.anchor_views(anchors.get(one.memory.id, ())),
                }
            )
            for one in found
        ],
    )


# --- node_coverage --------------------------------------------------------------------------------
class CoverageArguments(CodeArguments):
    node_ids: list[str] = Field(
        [], max_length=100, description="Symbols or files; default: the most important ones."
    )
    kinds: list[Literal["file", "class", "function", "method"]] = Field([], max_length=4)
    limit: int = Field(_IMPORTANT, ge=1, le=200, description="Without node_ids.")


class CoverageView(Result):
    node_id: str
    memory_count: int
    has_coverage: bool
    rank_percentile: float | None = None


class CoverageResult(views.CodeResult):
    nodes: list[CoverageView]
    covered: int
    uncovered: list[str] = Field(description="Most important first.")


@tool(Toolset.CURATION, reads_only=True)
def node_coverage(call: Call, arguments: CoverageArguments) -> CoverageResult:
    """Tell which symbols and files the team has memories about and which not: those that you name,
    or the most important ones of the repository. What matters and has none is worth a question.
    """
    scopes.require_of_token(call, Action.READ_MEMORY)
    place = scopes.repository_to_read(call, arguments, Action.READ_GRAPH)
    scopes.require(call, Action.READ_MEMORY, place.namespace)
    state, code = scopes.ref_to_read(call, arguments, place.repository)
    nodes = _covered_nodes(place, state, arguments)
    scores = views.scores_by_vertex(list(nodes))
    counts = history.count_about(
        caller=call.caller,
        namespace_id=place.namespace.id,
        vertices=[node.vertex for node in nodes],
        now=call.now,
        branch=code.ref,
    )
    listed = [
        CoverageView(
            node_id=node.id,
            memory_count=counts.get(node.vertex, 0),
            has_coverage=counts.get(node.vertex, 0) > 0,
            rank_percentile=round(scores[node.vertex].percentile, 3)
            if node.vertex in scores
            else None,
        )
        for node in nodes
    ]
    return CoverageResult(
        scope=scopes.echo(place),
        code=code,
        nodes=listed,
        covered=sum(view.has_coverage for view in listed),
        uncovered=[view.node_id for view in listed if not view.has_coverage],
    )


# --- Parts ----------------------------------------------------------------------------------------
def _version_view(version: history.VersionValue) -> VersionView:
    return VersionView(
        version=version.number,
        change=version.change,
        by=version.by,
        agent=version.agent or None,
        reason=version.reason or None,
        held_from=version.valid_from,
        held_until=version.valid_to,
        differences=[
            DifferenceView(
                field=one.field,
                # A null says nothing on the wire, and what was empty is shown as such.
                before="" if one.before is None and not one.diff else one.before,
                after="" if one.after is None and not one.diff else one.after,
                diff=one.diff or None,
            )
            for one in version.differences
        ],
    )


def _provenance(call: Call, stored: StoredMemory) -> ProvenanceView:
    links = history.origins_of(caller=call.caller, memory=stored, now=call.now)
    anchors = services.anchors_of([stored.id]).get(stored.id, ())
    return ProvenanceView(
        author=stored.author,
        agent=stored.agent or None,
        model=stored.model or None,
        session_id=stored.session_id or None,
        source=stored.source,
        created_at=stored.created_at,
        evidence=[dict(part) for part in stored.evidence] or None,
        anchors=shown.anchor_views(anchors),
        links=_link_views(links) or None,
    )


def _timeline(call: Call, arguments: HistoryArguments) -> HistoryResult:
    for name, at in (("since", arguments.since), ("until", arguments.until)):
        if at is not None and at.tzinfo is None:
            raise ArgumentsInvalid(f"{name}: needs a time zone, as in 2030-01-31T12:00:00Z.")
    around: StoredMemory | None = None
    if arguments.id is not None:
        around, namespace = shown.memory_named(
            call, arguments, arguments.id, action=Action.READ_MEMORY
        )
        echo, read, repository_id = shown.echo_of(around), [namespace.id], around.repository_id
    else:
        echo, read, repository_id = _scope(call, arguments)
    events = history.timeline(
        caller=call.caller,
        now=call.now,
        namespace_ids=read,
        repository_id=repository_id,
        since=arguments.since,
        until=arguments.until,
        around=around,
        limit=arguments.limit,
    )
    return HistoryResult(
        scope=echo,
        events=[
            EventView(
                at=event.at,
                what=event.what,
                by=event.by,
                reason=event.reason or None,
                memory=shown.entry(event.memory),
            )
            for event in events
        ],
    )


def _drifted(call: Call, arguments: HistoryArguments) -> HistoryResult:
    echo, read, repository_id = _scope(call, arguments)
    found = services.list_drifted(
        caller=call.caller,
        now=call.now,
        namespace_ids=read,
        repository_id=repository_id,
        only_mine=arguments.mine,
        limit=arguments.limit,
    )
    anchors = services.anchors_of([stored.id for stored in found])
    return HistoryResult(
        scope=echo,
        drifted=[
            DriftedView.model_validate(
                {
                    **shown.entry_fields(stored),
                    "anchors": shown.anchor_views(anchors.get(stored.id, ())),
                }
            )
            for stored in found
        ],
    )


def _scope(call: Call, arguments: Arguments) -> tuple[scopes.ScopeEcho, list[UUID], UUID | None]:
    namespaces, source = scopes.namespaces_to_read(call, arguments, Action.READ_MEMORY)
    place = scopes.find_repository(call, arguments, namespaces=namespaces)
    if place is not None:
        return scopes.echo(place), [place.namespace.id], place.repository.id
    ids = [scope.id for scope in namespaces]
    return scopes.echo_namespaces(namespaces, source), ids, None


def _chain_starts(
    call: Call, arguments: ChainArguments
) -> tuple[scopes.ScopeEcho, UUID, list[StoredMemory]]:
    if arguments.id is not None:
        stored, namespace = shown.memory_named(
            call, arguments, arguments.id, action=Action.READ_MEMORY
        )
        return shown.echo_of(stored), namespace.id, [stored]
    if arguments.node is not None:
        return _decisions_about(call, arguments, arguments.node)
    namespaces, source = scopes.namespaces_to_read(call, arguments, Action.READ_MEMORY)
    place = scopes.find_repository(call, arguments, namespaces=namespaces)
    read = [place.namespace] if place else list(namespaces)
    if len(read) > 1:
        raise ScopeNeeded("Name the namespace: pass `namespace`.")
    answer = recall(
        caller=call.caller,
        query=RecallQuery(
            text=arguments.topic or "",
            namespace_ids=(read[0].id,),
            repository_id=place.repository.id if place else None,
            k=min(arguments.limit, _TOPIC_HITS),
            memory_types=frozenset(history.CHAIN_TYPES),
        ),
        now=call.now,
    )
    echo = scopes.echo(place) if place else scopes.echo_namespaces(read, source)
    return echo, read[0].id, [hit.memory for hit in answer.hits]


def _decisions_about(
    call: Call, arguments: ChainArguments, name: str
) -> tuple[scopes.ScopeEcho, UUID, list[StoredMemory]]:
    place = scopes.repository_to_read(call, arguments, Action.READ_GRAPH)
    scopes.require(call, Action.READ_MEMORY, place.namespace)
    state, _ = scopes.ref_to_read(call, arguments, place.repository)
    node = views.node_named(place, name, view=state.view)
    nodes = {node.vertex, *_surroundings(place, state, node)}
    found = history.decisions_about(
        caller=call.caller,
        namespace_id=place.namespace.id,
        vertices=nodes,
        anchored=_anchored(place, node),
        now=call.now,
        limit=arguments.limit,
    )
    return scopes.echo(place), place.namespace.id, found


def _surroundings(
    place: scopes.RepositoryScope, state: RefState, node: Node
) -> dict[int, tuple[str, int]]:
    """Return what contains a node and what it contains, by vertex: text id and distance."""
    vertices: dict[int, int] = {}
    inner = [node.vertex]
    for distance in range(1, _CONTAINERS):
        inner = list(
            graph.parents_of(
                namespace_id=place.namespace.id, vertices=inner, view=state.view
            ).values()
        )
        if not inner:
            break
        vertices |= dict.fromkeys(inner, distance)
    contained = graph.neighbors(
        namespace_id=place.namespace.id,
        vertices=[node.vertex],
        direction=Direction.OUT,
        kinds=["CONTAINS"],
        limit=_CONTAINED,
        view=state.view,
    )
    vertices |= {one.vertex: 1 for one in contained.neighbors}
    nodes = graph.nodes_of(namespace_id=place.namespace.id, vertices=vertices, view=state.view)
    return {
        vertex: (nodes[vertex].id, distance)
        for vertex, distance in vertices.items()
        if vertex in nodes
    }


def _anchored(place: scopes.RepositoryScope, node: Node) -> Mapping[UUID, float]:
    """Return the memories anchored at a node: at the symbol, or anywhere in the file."""
    if node.kind is NodeKind.FILE:
        return services.memories_anchored_at(repository_id=place.repository.id, paths=[node.path])
    return services.memories_anchored_at(repository_id=place.repository.id, symbols=[node.id])


def _covered_nodes(
    place: scopes.RepositoryScope, state: RefState, arguments: CoverageArguments
) -> list[Node]:
    if arguments.node_ids:
        names = dict.fromkeys(arguments.node_ids)
        return [views.node_named(place, name, view=state.view) for name in names]
    kinds = [NodeKind(kind) for kind in arguments.kinds] or None
    found = graph.important_nodes(
        repository_ids=[place.repository.id],
        limit=arguments.limit,
        kinds=kinds,
        view=state.view,
    )
    return [scored.node for scored in found]


def _link_views(links: Iterable[history.LinkValue]) -> list[LinkView]:
    return [
        LinkView(source=link.source, relationship=link.relationship, target=link.target)
        for link in links
    ]
