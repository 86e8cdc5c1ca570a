"""Tools about what the code is: search, symbols, dependents, traversal."""

from collections.abc import Collection, Mapping
from typing import Literal
from uuid import UUID

from pydantic import Field

from codemem.accounts.values import Action
from codemem.embedding import EmbeddingUnavailable, from_settings
from codemem.gateway import scope as scopes
from codemem.gateway import views
from codemem.gateway.errors import ArgumentsInvalid, NotFound, ScopeNeeded, register
from codemem.gateway.past import (
    TIME,
    CommitInfo,
    MomentView,
    commit_info,
    moment_view,
    past_node,
)
from codemem.gateway.tool import Call, CodeArguments, Result, Toolset, tool
from codemem.gateway.views import CodeResult, EdgeView, MemoryView, NodeView
from graph import file_search, search
from graph import queries as graph
from graph.queries import history
from graph.values import (
    CROSSING_KINDS,
    LIVE,
    SNAPSHOT_KINDS,
    Direction,
    EdgeKind,
    Node,
    NodeKind,
    RefState,
    View,
    Visit,
)
from indexing.history.past import Moment, graph_at, moment
from memory import queries as memory
from memory.links import vertex_of
from memory.services.linking import memory_id_of
from memory.values import RelationshipKind, StoredMemory

register(
    {
        EmbeddingUnavailable: ("embedding_unavailable", 503),
        graph.NodeUnknown: ("not_found", 404),
    }
)

_USES = (
    EdgeKind.CALLS,
    EdgeKind.REFERENCES,
    EdgeKind.IMPORTS,
    EdgeKind.INHERITS,
    EdgeKind.IMPLEMENTS,
    EdgeKind.OVERRIDES,
)
_COUNTED_DEPENDENTS = 5_000
Kind = Literal[
    "file", "module", "class", "interface", "enum", "type", "function", "method", "field",
    "variable", "macro", "document",
]  # fmt: skip
OtherKind = Literal["memory", "package", "external", "endpoint", "topic"]
Relationship = Literal[
    "CALLS", "MAY_CALL", "REFERENCES", "IMPORTS", "INHERITS", "IMPLEMENTS", "CONTAINS",
    "OVERRIDES", "TYPE_OF", "DEPENDS_ON", "HANDLES", "HTTP_CALLS", "PUBLISHES_TO", "SUBSCRIBES_TO",
    "RELATES_TO",
]  # fmt: skip


class SymbolArguments(CodeArguments):
    qualified_name: str = Field(
        min_length=1,
        max_length=1000,
        description="Id (sym:..., file:...), qualified name, its end (User.save), or bare name.",
    )


# --- search_code ----------------------------------------------------------------------------------
class SearchArguments(CodeArguments):
    query: str = Field(min_length=1, max_length=1000)
    k: int = Field(10, ge=1, le=100, description="1 to 100.")
    mode: Literal["semantic", "text", "hybrid"] = "hybrid"
    kind: Kind | None = None
    language: str | None = Field(None, max_length=30)
    path_prefix: str | None = Field(None, max_length=1000, description="Only below this path.")
    across_namespace: bool = Field(False, description="Search all its repositories at once.")
    files: int = Field(
        0,
        ge=0,
        le=50,
        description="Rank so many files, too, and `results` likewise: where a change like the"
        " `query` would go. For a task or a commit message.",
    )


class SearchHit(NodeView):
    repository: str | None = Field(None, description="Where more than one was searched.")
    score: float


class RankedFile(Result):
    path: str
    score: float
    commits: list[str] = Field(description="That said something like it and changed the file.")


class SearchResult(Result):
    scope: scopes.ScopeEcho
    code: scopes.CodeEcho | None = None
    results: list[SearchHit]
    files: list[RankedFile] | None = None
    note: str | None = None


@tool(Toolset.CODE, reads_only=True, core=("query", "k", "mode", "path_prefix", "files"))
def search_code(call: Call, arguments: SearchArguments) -> SearchResult:
    """Find symbols and sections of documents by what they are called or what they do. Use it when
    you do not know the name to look for: `text` matches words of names, signatures and
    documentation, `semantic` meaning, `hybrid` both.
    """
    scope, code, view, names = _searched(call, arguments)
    embedded, note = None, None
    if arguments.mode != "text":
        try:
            provider = from_settings()
            vector = provider.embed([arguments.query], kind="query")[0]
            embedded = search.QueryVector(vector=vector.tolist(), fingerprint=provider.fingerprint)
        except EmbeddingUnavailable:
            if arguments.mode == "semantic":
                raise
            note = "Vectors are unavailable: only words were compared."
    places = _places(arguments, embedded, list(names), view)
    hits = (
        [(hit.node, hit.score) for hit in places.symbols]
        if places is not None and places.symbols
        else _symbols(arguments, embedded, list(names), view)
    )
    return SearchResult(
        scope=scope,
        code=code,
        results=[
            SearchHit.model_validate(
                {
                    **views.node_fields(node),
                    "repository": _name_of(node, names) if len(names) > 1 else None,
                    "score": round(score, 4),
                }
            )
            for node, score in hits
        ],
        files=[
            RankedFile(path=hit.path, score=round(hit.score, 4), commits=list(hit.commits))
            for hit in places.files
        ]
        if places is not None
        else None,
        note=note,
    )


def _symbols(
    arguments: SearchArguments,
    embedded: search.QueryVector | None,
    repositories: list[UUID],
    view: View,
) -> list[tuple[Node, float]]:
    """Return the symbols that a question describes, with their scores."""
    hits = search.search_symbols(
        query=arguments.query,
        mode=search.Mode(arguments.mode if embedded else "text"),
        embedded=embedded,
        repository_ids=repositories,
        kind=NodeKind(arguments.kind) if arguments.kind else None,
        language=arguments.language,
        path_prefix=arguments.path_prefix,
        limit=arguments.k,
        view=view,
    )
    return [(hit.node, hit.score) for hit in hits]


def _places(
    arguments: SearchArguments,
    embedded: search.QueryVector | None,
    repositories: list[UUID],
    view: View,
) -> file_search.Places | None:
    """Return where a change would go in one repository, if that is asked.

    Symbols only where both words and meaning may speak: who wants one of them gets that.
    """
    if not arguments.files:
        return None
    if len(repositories) != 1:
        raise ArgumentsInvalid("Files are ranked in one repository: name it.")
    return file_search.rank_places(
        repository_id=repositories[0],
        query=arguments.query,
        embedded=embedded,
        language=arguments.language,
        path_prefix=arguments.path_prefix,
        kind=NodeKind(arguments.kind) if arguments.kind else None,
        files=arguments.files,
        symbols=arguments.k if arguments.mode == "hybrid" else 0,
        view=view,
    )


# --- get_symbol_info ------------------------------------------------------------------------------
class SymbolInfoArguments(SymbolArguments):
    include_dependencies: bool = Field(False, description="Also what it uses.")


class SymbolInfoResult(CodeResult):
    symbol: NodeView
    language: str | None = None
    visibility: str
    doc: str | None = None
    dependents: int = Field(description="Nodes that use it directly.")
    dependencies: list[EdgeView] | None = None
    memories: list[MemoryView] | None = Field(None, description="What the team knows about it.")
    valid_from: CommitInfo | None = Field(None, description="The commit that put it there.")
    last_changed: CommitInfo | None = None


@tool(Toolset.CODE, reads_only=True, core=("qualified_name", "include_dependencies"))
def get_symbol_info(call: Call, arguments: SymbolInfoArguments) -> SymbolInfoResult:
    """Look up one symbol or file: where it is, its signature and documentation, how many use it,
    and what the team remembers about it.
    """
    place, state, code, node = _one_node(call, arguments)
    life = history.lifetime_of(namespace_id=place.namespace.id, vertex=node.vertex)
    return SymbolInfoResult(
        scope=scopes.echo(place),
        code=code,
        symbol=_scored_view(node),
        language=node.language or None,
        visibility=node.visibility.value,
        doc=node.doc or None,
        dependents=graph.count_dependents(
            namespace_id=place.namespace.id,
            vertices=[node.vertex],
            limit=_COUNTED_DEPENDENTS,
            view=state.view,
        ),
        dependencies=_dependencies(place, node, state.view)
        if arguments.include_dependencies
        else None,
        memories=views.memories_about(call, place, [node.vertex], branch=code.ref) or None,
        valid_from=commit_info(life.valid_from),
        last_changed=commit_info(life.last_changed),
    )


# --- get_symbol_graph -----------------------------------------------------------------------------
class SymbolGraphArguments(SymbolArguments):
    at: str | None = Field(None, min_length=1, max_length=64, description=f"As of then: {TIME}")
    depth: int = Field(1, ge=1, le=5, description="1 to 5; above 1, `reachable` is filled.")
    direction: Literal["in", "out", "both"] = "both"
    min_confidence: float = Field(0.0, ge=0, le=1, description="0.5 leaves out candidates.")
    limit: int = Field(100, ge=1, le=1000, description="Of edges, and of reachable nodes.")


class Reached(NodeView):
    depth: int
    direction: Literal["in", "out"]


class SymbolGraphResult(CodeResult):
    at: MomentView | None = Field(None, description="The commit this is the graph of, if asked.")
    symbol: NodeView
    edges: list[EdgeView]
    reachable: list[Reached] | None = None
    truncated: bool


@tool(Toolset.CODE, reads_only=True, core=("qualified_name", "depth", "direction"))
def get_symbol_graph(call: Call, arguments: SymbolGraphArguments) -> SymbolGraphResult:
    """Show who uses a symbol (`in`), what it uses (`out`), and who is affected up to `depth` steps
    away. Use it before you change or remove something: the callers you have not seen are here.
    MAY_CALL marks candidates, which may be wrong. With `at`: as the code was then.
    """
    if arguments.at is not None:
        return _past_symbol_graph(call, arguments, arguments.at)
    place, state, code, node = _one_node(call, arguments)
    near = graph.neighbors(
        namespace_id=place.namespace.id,
        vertices=[node.vertex],
        direction=Direction(arguments.direction),
        minimum_confidence=arguments.min_confidence,
        limit=arguments.limit,
        view=state.view,
    )
    reached, is_cut = None, False
    if arguments.depth > 1:
        reached, is_cut = _reachable(place, node, arguments, state.view)
    return SymbolGraphResult(
        scope=scopes.echo(place),
        code=code,
        symbol=_scored_view(node),
        edges=views.edge_views(near.neighbors),
        reachable=reached,
        truncated=near.is_truncated or is_cut,
    )


# --- graph_traverse -------------------------------------------------------------------------------
class TraverseArguments(CodeArguments):
    at: str | None = Field(None, min_length=1, max_length=64, description=f"As of then: {TIME}")
    start_id: str = Field(min_length=1, max_length=1000, description="Of a symbol, file or memory.")
    max_depth: int = Field(2, ge=1, le=5, description="1 to 5.")
    algorithm: Literal["bfs", "dfs"] = "bfs"
    direction: Literal["in", "out", "both"] = "both"
    include_relationships: list[Relationship | RelationshipKind] = Field(
        [], max_length=40, description="Only these; default all."
    )
    exclude_kinds: list[Kind | OtherKind] = Field(
        [], max_length=20, description="Walked through, but not shown."
    )
    limit: int = Field(200, ge=1, le=2000)


class VisitView(NodeView):
    depth: int
    reached_from: str | None = None
    relationship: str | None = None
    content: str | None = Field(None, description="Of a memory.")


class TraverseResult(CodeResult):
    at: MomentView | None = Field(None, description="The commit this is the graph of, if asked.")
    visits: list[VisitView]
    truncated: bool


@tool(Toolset.ARCHITECTURE, reads_only=True)
def graph_traverse(call: Call, arguments: TraverseArguments) -> TraverseResult:
    """Walk from one symbol, file or memory over code and memory edges; each visit says by which
    edge it was reached. For the dependents of a symbol get_symbol_graph is shorter. With `at`: over
    the code as it was then, without memories. Use it to see how code and memories hang together.
    """
    if arguments.at is not None:
        return _past_traversal(call, arguments, arguments.at)
    place = scopes.repository_to_read(call, arguments, Action.READ_GRAPH)
    state, code = scopes.ref_to_read(call, arguments, place.repository)
    excluded = frozenset(NodeKind(kind) for kind in arguments.exclude_kinds)
    kinds = [str(kind) for kind in arguments.include_relationships]
    if not call.caller.can(Action.READ_MEMORY, place.namespace.id):
        # Not through memories either: what they tie together is part of what they say.
        of_code = (*SNAPSHOT_KINDS, *CROSSING_KINDS)
        kinds = [kind for kind in kinds or of_code if kind in of_code]
    start, known = _start(call, place, arguments.start_id, state.view)
    walk = graph.traverse(
        namespace_id=place.namespace.id,
        starts=[start],
        known=known,
        max_depth=arguments.max_depth,
        algorithm=graph.Algorithm(arguments.algorithm),
        direction=Direction(arguments.direction),
        kinds=kinds or None,
        exclude_node_kinds=excluded,
        node_limit=arguments.limit,
        view=state.view,
        allowed_memories=lambda vertices: _memories(call, place, vertices),
    )
    return TraverseResult(
        scope=scopes.echo(place),
        code=code,
        visits=_visit_views(call, place, walk.visits),
        truncated=walk.is_truncated,
    )


# --- As of a commit or a date ---------------------------------------------------------------------
def _past_symbol_graph(call: Call, arguments: SymbolGraphArguments, at: str) -> SymbolGraphResult:
    place, code, when = _past_place(call, arguments, at)
    then = graph_at(when)
    node = past_node(then, when, arguments.qualified_name)
    direction = Direction(arguments.direction)
    near = then.neighbors(
        [node.vertex],
        direction=direction,
        minimum_confidence=arguments.min_confidence,
        limit=arguments.limit,
    )
    reached: list[Reached] = []
    is_cut = near.is_truncated
    if arguments.depth > 1 and direction is not Direction.OUT:
        users = then.dependents(
            [node.vertex], max_depth=arguments.depth, node_limit=arguments.limit
        )
        is_cut |= users.is_truncated
        reached += [_reached(one.node, depth=one.depth, direction="in") for one in users.dependents]
    if arguments.depth > 1 and direction is not Direction.IN:
        used = then.traverse(
            [node.vertex],
            max_depth=arguments.depth,
            direction=Direction.OUT,
            kinds=_USES,
            node_limit=arguments.limit,
        )
        is_cut |= used.is_truncated
        reached += [
            _reached(visit.node, depth=visit.depth, direction="out")
            for visit in used.visits
            if visit.depth and visit.node is not None
        ]
    return SymbolGraphResult(
        scope=scopes.echo(place),
        code=code,
        at=moment_view(when),
        symbol=views.node_view(node),
        edges=views.edge_views(near.neighbors),
        reachable=reached if arguments.depth > 1 else None,
        truncated=is_cut,
    )


def _past_traversal(call: Call, arguments: TraverseArguments, at: str) -> TraverseResult:
    place, code, when = _past_place(call, arguments, at)
    then = graph_at(when)
    walk = then.traverse(
        [past_node(then, when, arguments.start_id).vertex],
        max_depth=arguments.max_depth,
        algorithm=graph.Algorithm(arguments.algorithm),
        direction=Direction(arguments.direction),
        kinds=[str(kind) for kind in arguments.include_relationships] or None,
        exclude_node_kinds=frozenset(NodeKind(kind) for kind in arguments.exclude_kinds),
        node_limit=arguments.limit,
    )
    return TraverseResult(
        scope=scopes.echo(place),
        code=code,
        at=moment_view(when),
        visits=[
            VisitView.model_validate(
                {
                    **views.node_fields(visit.node),
                    "depth": visit.depth,
                    "reached_from": then.node(visit.reached_from).id
                    if visit.reached_from is not None
                    else None,
                    "relationship": visit.edge.kind if visit.edge else None,
                }
            )
            for visit in walk.visits
            if visit.node is not None
        ],
        truncated=walk.is_truncated,
    )


def _past_place(
    call: Call, arguments: CodeArguments, at: str
) -> tuple[scopes.RepositoryScope, scopes.CodeEcho, Moment]:
    place = scopes.repository_to_read(call, arguments, Action.READ_GRAPH)
    _, code = scopes.ref_to_read(call, arguments, place.repository)
    return place, code, moment(repository_id=place.repository.id, text=at)


# --- Parts ----------------------------------------------------------------------------------------
def _name_of(node: Node, names: Mapping[UUID, str]) -> str | None:
    return None if node.repository_id is None else names.get(node.repository_id)


def _searched(
    call: Call, arguments: SearchArguments
) -> tuple[scopes.ScopeEcho, scopes.CodeEcho | None, View, dict[UUID, str]]:
    """Return the scope, how fresh it is, and the repositories to search by id with their names."""
    if not arguments.across_namespace:
        place = scopes.repository_to_read(call, arguments, Action.READ_GRAPH)
        state, code = scopes.ref_to_read(call, arguments, place.repository)
        return scopes.echo(place), code, state.view, {place.repository.id: place.repository.name}
    if arguments.ref is not None:
        raise ArgumentsInvalid("`ref` is of one repository: leave across_namespace out.")
    namespaces, _ = scopes.namespaces_to_read(call, arguments, Action.READ_GRAPH)
    if len(namespaces) > 1:
        raise ScopeNeeded("Name the namespace: pass `namespace`.")
    found = graph.list_repositories(namespace_ids=[namespaces[0].id])
    names = {repository.id: repository.name for repository in found}
    return scopes.echo(namespaces[0]), None, LIVE, names


def _one_node(
    call: Call, arguments: SymbolArguments
) -> tuple[scopes.RepositoryScope, RefState, scopes.CodeEcho, Node]:
    """Return the one node that a name means; raise NotFound, or Ambiguous with the candidates."""
    place = scopes.repository_to_read(call, arguments, Action.READ_GRAPH)
    state, code = scopes.ref_to_read(call, arguments, place.repository)
    node = views.node_named(place, arguments.qualified_name, view=state.view)
    return place, state, code, node


def _scored_view(node: Node) -> NodeView:
    return views.node_view(node, views.scores_by_vertex([node]).get(node.vertex))


def _dependencies(place: scopes.RepositoryScope, node: Node, view: View) -> list[EdgeView]:
    used = graph.neighbors(
        namespace_id=place.namespace.id,
        vertices=[node.vertex],
        direction=Direction.OUT,
        kinds=_USES,
        limit=200,
        view=view,
    )
    return views.edge_views(used.neighbors)


def _reachable(
    place: scopes.RepositoryScope, node: Node, arguments: SymbolGraphArguments, view: View
) -> tuple[list[Reached], bool]:
    reached: list[Reached] = []
    is_cut = False
    if arguments.direction in {"in", "both"}:
        users = graph.dependents(
            namespace_id=place.namespace.id,
            vertices=[node.vertex],
            max_depth=arguments.depth,
            node_limit=arguments.limit,
            view=view,
        )
        is_cut = users.is_truncated
        reached += [
            _reached(user.node, depth=user.depth, direction="in") for user in users.dependents
        ]
    if arguments.direction in {"out", "both"}:
        used = graph.traverse(
            namespace_id=place.namespace.id,
            starts=[node.vertex],
            known=[node],
            max_depth=arguments.depth,
            direction=Direction.OUT,
            kinds=_USES,
            node_limit=arguments.limit,
            view=view,
        )
        is_cut = is_cut or used.is_truncated
        reached += [
            _reached(visit.node, depth=visit.depth, direction="out")
            for visit in used.visits
            if visit.depth and visit.node is not None
        ]
    return reached, is_cut


def _reached(node: Node, *, depth: int, direction: Literal["in", "out"]) -> Reached:
    return Reached.model_validate(
        {**views.node_fields(node), "depth": depth, "direction": direction}
    )


def _start(
    call: Call, place: scopes.RepositoryScope, text: str, view: View
) -> tuple[int, tuple[Node, ...]]:
    """Return the vertex of a code id or of a memory that the caller may see, and its node."""
    if text.startswith(("sym:", "file:")):
        node = graph.get_node(repository_id=place.repository.id, id=text, view=view)
        return node.vertex, (node,)
    memory_id = memory_id_of(text)
    if memory_id is None:
        raise NotFound(
            f"There is no node {text!r}.", hint="Pass sym:..., file:... or a memory's id."
        )
    scopes.require_of_token(call, Action.READ_MEMORY)
    stored = memory.get_memory(caller=call.caller, memory_id=memory_id, now=call.now)
    if stored.namespace_id != place.namespace.id:
        raise memory.unknown(memory_id)
    return vertex_of(stored), ()


def _memories(
    call: Call, place: scopes.RepositoryScope, vertices: Collection[int]
) -> Mapping[int, StoredMemory]:
    """Return the memories among some vertices that hold and that the caller may see."""
    return memory.memories_by_vertex(
        caller=call.caller, namespace_id=place.namespace.id, vertices=vertices, now=call.now
    )


def _visit_views(
    call: Call, place: scopes.RepositoryScope, visits: tuple[Visit, ...]
) -> list[VisitView]:
    """Show a walk; a memory that the caller may not see or that no longer holds is left out."""
    memories = _memories(call, place, [visit.vertex for visit in visits if visit.node is None])
    names = {visit.vertex: visit.node.id for visit in visits if visit.node is not None}
    names |= {vertex: str(stored.id) for vertex, stored in memories.items()}
    shown = []
    for visit in visits:
        if visit.vertex not in names:
            continue
        stored = memories.get(visit.vertex)
        fields = (
            views.node_fields(visit.node)
            if visit.node is not None
            else {"id": names[visit.vertex], "kind": "memory"}
        )
        came_from = names.get(visit.reached_from) if visit.reached_from is not None else None
        shown.append(
            VisitView.model_validate(
                {
                    **fields,
                    "depth": visit.depth,
                    "reached_from": came_from,
                    "relationship": visit.edge.kind if visit.edge else None,
                    "content": stored.content if stored else None,
                }
            )
        )
    return shown
