"""Tools about the shape of the code: importance, groups, cycles, affected tests, the tree."""

from typing import Literal

from pydantic import Field

from codemem.accounts.values import Action
from codemem.gateway import scope as scopes
from codemem.gateway import views
from codemem.gateway.errors import ArgumentsInvalid, ScopeNeeded, register
from codemem.gateway.tool import Call, CodeArguments, Result, Toolset, tool
from codemem.gateway.views import CodeResult, NodeView
from graph import queries as graph
from graph.values import NodeKind, ScoredNode, TreeNode

register({graph.NotRanked: ("not_ranked", 409)})

Kind = Literal[
    "file", "module", "class", "interface", "enum", "type", "function", "method", "field",
    "variable", "macro", "document",
]  # fmt: skip
Dependency = Literal["CALLS", "REFERENCES", "IMPORTS", "INHERITS", "IMPLEMENTS"]
_DEFAULT_DAMPING = 0.85
_DIRECT_HOPS = 2
_TESTS_AMONG = 2_000
_OTHER_REF = "Ranks and groups are those of the default branch."


# --- find_important_nodes -------------------------------------------------------------------------
class ImportantArguments(CodeArguments):
    top_k: int = Field(20, ge=1, le=1000, description="1 to 1000.")
    kinds: list[Kind] = Field([], description="Only these; default all.")
    near: list[str] = Field(
        [], max_length=50, description="Ids or names: what matters most to these (personalized)."
    )
    damping: float = Field(
        _DEFAULT_DAMPING, gt=0, lt=1, description="Lower stays nearer to where it starts."
    )
    across_namespace: bool = Field(
        False, description="Rank all repositories of the namespace together."
    )


class ImportantNode(NodeView):
    repository: str | None = Field(None, description="Where more than one was ranked.")
    pagerank: float
    dependents: int
    betweenness: float | None = Field(None, description="Share of shortest ways through it.")
    layer: int | None = Field(None, description="0: its file needs no other.")


class ImportantResult(Result):
    scope: scopes.ScopeEcho
    code: scopes.CodeEcho | None = None
    results: list[ImportantNode]
    note: str | None = None


@tool(Toolset.ARCHITECTURE, reads_only=True)
def find_important_nodes(call: Call, arguments: ImportantArguments) -> ImportantResult:
    """List the files and symbols that most of the repository rests on (PageRank over calls,
    imports, references and inheritance), highest first. Where to read first, and where to be most
    careful. With `near`, what matters most to the code you are working on.
    """
    if arguments.across_namespace:
        return _important_in_namespace(call, arguments)
    place = scopes.repository_to_read(call, arguments, Action.READ_GRAPH)
    _, code = scopes.ref_to_read(call, arguments, place.repository)
    kinds = [NodeKind(kind) for kind in arguments.kinds] or None
    if arguments.near or arguments.damping != _DEFAULT_DAMPING:
        found = graph.important_near(
            repository_id=place.repository.id,
            namespace_id=place.namespace.id,
            vertices=[_vertex(place, name) for name in arguments.near],
            limit=arguments.top_k,
            kinds=kinds,
            damping=arguments.damping,
        )
    else:
        found = graph.important_nodes(
            repository_ids=(place.repository.id,), limit=arguments.top_k, kinds=kinds
        )
    return ImportantResult(
        scope=scopes.echo(place),
        code=code,
        results=[_important(item) for item in found],
        note=_note(place, code) if found else "This repository is not ranked yet.",
    )


# --- find_related_groups --------------------------------------------------------------------------
class GroupsArguments(CodeArguments):
    resolution: float = Field(
        1.0, gt=0, le=100, description="1: few large groups; 4; 16: many small ones. Nearest kept."
    )
    containing: str | None = Field(
        None, max_length=1000, description="Only the group of this symbol or file."
    )
    limit: int = Field(15, ge=1, le=200)
    members: int = Field(8, ge=1, le=100, description="Shown of each, most important first.")


class GroupView(Result):
    number: int
    name: str
    size: int
    cohesion: float = Field(description="Share of its ties that stay inside.")
    members: list[str] = Field(description="Ids, the most important first.")
    neighbors: list[str] | None = Field(None, description="Groups it is tied to most.")


class GroupsResult(CodeResult):
    resolution: float
    total: int
    modularity: float
    groups: list[GroupView]
    analyzed_commit: str | None = None
    note: str | None = None


@tool(Toolset.ARCHITECTURE, reads_only=True)
def find_related_groups(call: Call, arguments: GroupsArguments) -> GroupsResult:
    """Divide the repository into groups of code that works together (Leiden communities over all
    edges), whatever its directories say. With `containing`, what belongs to one symbol: what to
    read and change along with it.
    """
    place = scopes.repository_to_read(call, arguments, Action.READ_GRAPH)
    _, code = scopes.ref_to_read(call, arguments, place.repository)
    found = graph.related_groups(
        repository_id=place.repository.id,
        namespace_id=place.namespace.id,
        resolution=arguments.resolution,
        containing=_vertex(place, arguments.containing) if arguments.containing else None,
        limit=arguments.limit,
        members=arguments.members,
    )
    return GroupsResult(
        scope=scopes.echo(place),
        code=code,
        resolution=found.resolution,
        total=found.total,
        modularity=round(found.analysis.modularity, 3),
        groups=[_group(group) for group in found.groups],
        analyzed_commit=_analyzed(found.analysis, code),
        note=_note(place, code),
    )


# --- cycles ---------------------------------------------------------------------------------------
class CyclesArguments(CodeArguments):
    level: Literal["symbol", "file", "directory"] = "file"
    kinds: list[Dependency] = Field([], description="Follow only these edges; default all.")
    min_size: int = Field(2, ge=2, le=1000)
    limit: int = Field(10, ge=1, le=100)


class ClosingEdgeView(Result):
    source: str
    target: str
    because: list[str] | None = Field(None, description="Edges of symbols it consists of.")


class CycleView(Result):
    size: int
    severity: Literal["low", "medium", "high"]
    members: list[str]
    edges: int
    closed_by: int = Field(description="So many edges would have to go; the lightest are shown.")
    closing: list[ClosingEdgeView]


class CyclesResult(CodeResult):
    total: int
    cycles: list[CycleView]
    analyzed_commit: str | None = None
    note: str | None = None


@tool(Toolset.ARCHITECTURE, reads_only=True)
def cycles(call: Call, arguments: CyclesArguments) -> CyclesResult:
    """Find files, symbols or directories that depend on each other in a circle, the largest first,
    and the few edges which close each circle: where to cut.
    """
    place = scopes.repository_to_read(call, arguments, Action.READ_GRAPH)
    _, code = scopes.ref_to_read(call, arguments, place.repository)
    found = graph.cycles(
        repository_id=place.repository.id,
        namespace_id=place.namespace.id,
        level=graph.Level(arguments.level),
        minimum_size=arguments.min_size,
        limit=arguments.limit,
        **({"kinds": arguments.kinds} if arguments.kinds else {}),
    )
    return CyclesResult(
        scope=scopes.echo(place),
        code=code,
        total=found.total,
        cycles=[_cycle(cycle) for cycle in found.cycles],
        analyzed_commit=_analyzed(found.analysis, code),
        note=_note(place, code),
    )


# --- test_impact ----------------------------------------------------------------------------------
class TestImpactArguments(CodeArguments):
    symbols: list[str] = Field(
        min_length=1, max_length=50, description="Ids or names of what changes."
    )
    max_depth: int = Field(4, ge=1, le=5, description="1 to 5.")
    limit: int = Field(100, ge=1, le=1000)


class TestView(Result):
    id: str
    path: str
    start_line: int
    depth: int


class TestImpactResult(CodeResult):
    direct_tests: list[TestView] = Field(description="At most two steps away.")
    transitive_tests: list[TestView]
    paths: list[str] = Field(description="The files to run.")
    truncated: bool


@tool(Toolset.REVIEW, reads_only=True)
def test_impact(call: Call, arguments: TestImpactArguments) -> TestImpactResult:
    """List the tests that depend on some symbols or files, the nearest first: what to run after you
    have changed them.
    """
    place = scopes.repository_to_read(call, arguments, Action.READ_GRAPH)
    state, code = scopes.ref_to_read(call, arguments, place.repository)
    vertices = [views.node_named(place, name, view=state.view).vertex for name in arguments.symbols]
    reached = graph.dependents(
        namespace_id=place.namespace.id,
        vertices=vertices,
        max_depth=arguments.max_depth,
        node_limit=_TESTS_AMONG,
        view=state.view,
    )
    tests = [found for found in reached.dependents if found.node.is_test]
    shown = [
        TestView(
            id=found.node.id,
            path=found.node.path,
            start_line=found.node.start_line,
            depth=found.depth,
        )
        for found in tests[: arguments.limit]
    ]
    return TestImpactResult(
        scope=scopes.echo(place),
        code=code,
        direct_tests=[test for test in shown if test.depth <= _DIRECT_HOPS],
        transitive_tests=[test for test in shown if test.depth > _DIRECT_HOPS],
        paths=list(dict.fromkeys(test.path for test in shown)),
        truncated=reached.is_truncated or len(tests) > len(shown),
    )


# --- summary_tree ---------------------------------------------------------------------------------
class TreeArguments(CodeArguments):
    start_id: str | None = Field(
        None, max_length=1000, description="pkg:<dir>/, file:... or sym:...; default: the root."
    )
    max_depth: int = Field(2, ge=1, le=6, description="1 to 6.")
    limit: int = Field(200, ge=1, le=2000, description="Of nodes, the most important first.")


class TreeView(Result):
    id: str
    kind: str
    symbol_count: int | None = None
    rank: float | None = None
    children: list["TreeView"] | None = None
    truncated: bool | None = None


class TreeResult(CodeResult):
    tree: TreeView


@tool(Toolset.ARCHITECTURE, reads_only=True)
def summary_tree(call: Call, arguments: TreeArguments) -> TreeResult:
    """Show what a directory, file or class contains, the most important first, with symbol counts:
    a map of a repository you do not know yet.
    """
    place = scopes.repository_to_read(call, arguments, Action.READ_GRAPH)
    state, code = scopes.ref_to_read(call, arguments, place.repository)
    tree = graph.tree(
        repository_id=place.repository.id,
        start=arguments.start_id,
        max_depth=arguments.max_depth,
        node_limit=arguments.limit,
        view=state.view,
    )
    return TreeResult(scope=scopes.echo(place), code=code, tree=_tree_view(tree))


# --- Parts ----------------------------------------------------------------------------------------
def _important_in_namespace(call: Call, arguments: ImportantArguments) -> ImportantResult:
    if arguments.near:
        raise ArgumentsInvalid("`near` names nodes of one repository: leave across_namespace out.")
    namespaces, _ = scopes.namespaces_to_read(call, arguments, Action.READ_GRAPH)
    if len(namespaces) > 1:
        raise ScopeNeeded("Name the namespace: pass `namespace`.")
    readable = graph.list_repositories(namespace_ids=[namespaces[0].id])
    names: dict[object, str] = {repository.id: repository.name for repository in readable}
    found = graph.important_in_namespace(
        namespace_id=namespaces[0].id,
        repository_ids=[repository.id for repository in readable],
        limit=arguments.top_k,
        kinds=[NodeKind(kind) for kind in arguments.kinds] or None,
    )
    return ImportantResult(
        scope=scopes.echo(namespaces[0]),
        results=[_important(item, names[item.node.repository_id]) for item in found],
        note=None if found else "This namespace is not ranked yet.",
    )


def _important(item: ScoredNode, repository: str | None = None) -> ImportantNode:
    score = item.score
    return ImportantNode.model_validate(
        {
            **views.node_fields(item.node, score),
            "repository": repository,
            "pagerank": round(score.rank, 8) if score else 0.0,
            "dependents": score.in_degree if score else 0,
            "betweenness": round(score.betweenness, 6) or None if score else None,
            "layer": score.layer or None if score else None,
        }
    )


def _vertex(place: scopes.RepositoryScope, name: str) -> int:
    return views.node_named(place, name).vertex


def _group(group: graph.Group) -> GroupView:
    return GroupView(
        number=group.number,
        name=group.name,
        size=group.size,
        cohesion=round(group.cohesion, 2),
        members=[member.node.id for member in group.members],
        neighbors=[name for _, name in group.neighbors] or None,
    )


def _cycle(cycle: graph.DependencyCycle) -> CycleView:
    return CycleView(
        size=cycle.size,
        severity=cycle.severity.value,
        members=list(cycle.members),
        edges=cycle.edge_count,
        closed_by=cycle.closing_count,
        closing=[
            ClosingEdgeView(
                source=edge.source,
                target=edge.target,
                because=[f"{tie.source} {tie.kind} {tie.target}" for tie in edge.examples] or None,
            )
            for edge in cycle.closing
        ],
    )


def _analyzed(analysis: graph.AnalysisValue, code: scopes.CodeEcho) -> str | None:
    """Return the analyzed commit where it is another than the one that the graph shows."""
    return analysis.commit if analysis.commit != code.indexed_commit else None


def _note(place: scopes.RepositoryScope, code: scopes.CodeEcho) -> str | None:
    return None if code.ref == place.repository.default_branch else _OTHER_REF


def _tree_view(tree: TreeNode) -> TreeView:
    return TreeView(
        id=tree.id,
        kind=tree.kind,
        symbol_count=tree.symbol_count or None,
        rank=round(tree.rank, 5) or None,
        children=[_tree_view(child) for child in tree.children] or None,
        truncated=True if tree.is_truncated else None,
    )
