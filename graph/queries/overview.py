"""Overviews: the tree of what contains what, the most important nodes, how much there is."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.db.models import Count
from psycopg import sql

from graph import cypher
from graph.models import DEFAULT_LAYER, FileVersion, Repository, SymbolVersion
from graph.queries.edges import parents_of
from graph.queries.nodes import NodeUnknown, get_node, live_symbols_in, nodes_of, scores_of
from graph.queries.repositories import get_repository
from graph.queries.seen import is_seen, view_parameters
from graph.statements import statements
from graph.values import (
    CROSSING_KINDS,
    LINK_LABEL,
    LIVE,
    SNAPSHOT_KINDS,
    GraphCounts,
    Node,
    NodeKind,
    Score,
    ScoredNode,
    TreeNode,
    VertexLabel,
    View,
    file_id,
)

DIRECTORY: Final = "directory"


def tree(
    *,
    repository_id: UUID,
    start: str | None = None,
    max_depth: int = 2,
    node_limit: int = 200,
    view: View = LIVE,
) -> TreeNode:
    """Return what a directory, file or symbol contains, the most important first.

    `start` is a text id (`pkg:src/`, `file:...`, `sym:...`); the whole repository without one.
    Levels are filled from the top; what finds no room marks its parent as truncated. Raise
    NodeUnknown. Four queries at most.
    """
    start = start or "pkg:"
    if start.startswith("pkg:"):
        path = start.removeprefix("pkg:").strip("/")
        root = _directory(repository_id, path, max_depth, view)
    else:
        root = _file_or_symbol(repository_id, start, view)
    shown = _fitting(root, max_depth, node_limit)
    return _tree_node(root, shown, max_depth)


def important_nodes(
    *,
    repository_ids: Collection[UUID],
    limit: int,
    kinds: Collection[NodeKind] | None = None,
    view: View = LIVE,
) -> list[ScoredNode]:
    """Return the nodes of highest rank, of some kinds or all. Four queries at most.

    Only the default branch is ranked: what an overlay alone has stands in no such list.

    Ranks sum to 1 in each repository: among several, those of smaller ones come first.
    """
    if not repository_ids:
        return []
    wanted = list(NodeKind if kinds is None else kinds)
    parameters: dict[str, Any] = {
        "repositories": list(repository_ids),
        "kinds": wanted,
        "with_files": NodeKind.FILE in wanted,
        "symbol_label": VertexLabel.SYMBOL.value,
        "file_label": VertexLabel.FILE.value,
        "limit": limit,
        **view_parameters(view),
    }
    statement = sql.SQL(statements("queries")["important_nodes"]).format(
        seen=is_seen(view=view, table="version")
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        found: list[tuple[int, UUID]] = cursor.fetchall()
    nodes: dict[int, Node] = {}
    for namespace_id in {namespace_id for _, namespace_id in found}:
        vertices = [vertex for vertex, own in found if own == namespace_id]
        nodes |= nodes_of(namespace_id=namespace_id, vertices=vertices, view=view)
    scores = scores_of(vertices=list(nodes))
    return [
        ScoredNode(node=nodes[vertex], score=scores.get(vertex))
        for vertex, _ in found
        if vertex in nodes
    ]


def counts(*, namespace_ids: Sequence[UUID]) -> GraphCounts:
    """Return how much the namespaces hold now. Three queries, and three for each namespace."""
    repositories = Repository.objects.filter(namespace_id__in=namespace_ids)
    live = {
        "repository__namespace_id__in": namespace_ids,
        "layer": DEFAULT_LAYER,
        "valid_to": None,
    }
    nodes = Counter(
        dict(
            SymbolVersion.objects.filter(**live)
            .order_by()
            .values_list("symbol__kind")
            .annotate(Count("pk"))
        )
    )
    nodes[NodeKind.FILE] = FileVersion.objects.filter(**live).count()
    edges: Counter[str] = Counter()
    links: Counter[str] = Counter()
    for namespace_id in namespace_ids:
        if cypher.has_graph(namespace_id):
            edges.update(_edge_counts(cypher.graph_name(namespace_id)))
            links.update(_link_counts(cypher.graph_name(namespace_id)))
    return GraphCounts(
        repositories=repositories.count(), nodes=dict(+nodes), edges=dict(+edges), links=dict(links)
    )


@dataclass(slots=True)
class _Branch:
    """A part of the tree that is being made; counts and ranks are of all below it."""

    id: str
    kind: str
    name: str
    rank: float = 0.0
    symbol_count: int = 0
    children: dict[str, "_Branch"] = field(default_factory=dict)


def _directory(repository_id: UUID, path: str, max_depth: int, view: View) -> _Branch:
    prefix = f"{path}/" if path else ""
    root = _Branch(id=f"pkg:{prefix}", kind=DIRECTORY, name=path.rpartition("/")[2] or "/")
    near: list[str] = []
    statement = sql.SQL(statements("queries")["files_below"]).format(
        file_seen=is_seen(view=view, table="version"),
        symbol_seen=is_seen(view=view, table="symbol"),
    )
    parameters: dict[str, Any] = {
        "repository": repository_id,
        "prefix": prefix,
        "symbol_label": VertexLabel.SYMBOL.value,
        "file_label": VertexLabel.FILE.value,
        **view_parameters(view),
    }
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        for file_path, symbol_count, rank in cursor.fetchall():
            depth = _add_file(root, prefix, file_path, symbol_count, rank)
            if depth < max_depth:
                near.append(file_path)
    if not root.children:
        raise NodeUnknown(f"There is no directory {path or '/'} in the graph.")
    _add_symbols(repository_id, root, prefix, near, view)
    return root


def _add_file(root: _Branch, prefix: str, path: str, symbol_count: int, rank: float) -> int:
    """Hang a file under its directories, which it counts for, and return its depth."""
    *directories, name = path.removeprefix(prefix).split("/")
    branch = root
    for depth, directory in enumerate((None, *directories)):
        if directory is not None:
            below = "/".join(directories[:depth])
            branch = branch.children.setdefault(
                f"{directory}/",
                _Branch(id=f"pkg:{prefix}{below}/", kind=DIRECTORY, name=directory),
            )
        branch.symbol_count += symbol_count
        branch.rank += rank
    branch.children[name] = _Branch(
        id=file_id(path), kind=NodeKind.FILE, name=name, rank=rank, symbol_count=symbol_count
    )
    return len(directories) + 1


def _add_symbols(
    repository_id: UUID, root: _Branch, prefix: str, paths: Collection[str], view: View
) -> None:
    """Hang the symbols of some files under them."""
    for path, forest in _forests(repository_id, paths, view).items():
        *directories, name = path.removeprefix(prefix).split("/")
        branch = root
        for directory in directories:
            branch = branch.children[f"{directory}/"]
        branch.children[name].children = forest


def _file_or_symbol(repository_id: UUID, start: str, view: View) -> _Branch:
    node = get_node(repository_id=repository_id, id=start, view=view)
    file = get_node(repository_id=repository_id, id=file_id(node.path), view=view)
    forest = _forests(repository_id, [node.path], view).get(node.path, {})
    own = scores_of(vertices=[file.vertex]).get(file.vertex)
    root = _Branch(
        id=file.id,
        kind=file.kind,
        name=file.name,
        rank=sum(branch.rank for branch in forest.values()) + (own.rank if own else 0.0),
        symbol_count=sum(branch.symbol_count + 1 for branch in forest.values()),
        children=forest,
    )
    return next(branch for branch in _all_below(root) if branch.id == node.id)


def _forests(
    repository_id: UUID, paths: Collection[str], view: View
) -> dict[str, dict[str, _Branch]]:
    """Return the symbols of some files, each under the one that contains it in the same file."""
    symbols = live_symbols_in(repository_id=repository_id, paths=paths, view=view) if paths else {}
    nodes = [node for in_file in symbols.values() for node in in_file]
    vertices = [node.vertex for node in nodes]
    namespace_id = get_repository(repository_id=repository_id).namespace_id
    parents = parents_of(namespace_id=namespace_id, vertices=vertices, view=view)
    scores = scores_of(vertices=vertices)
    branches = {node.vertex: _symbol_branch(node, scores.get(node.vertex)) for node in nodes}
    path_of = {node.vertex: node.path for node in nodes}
    forests: dict[str, dict[str, _Branch]] = {path: {} for path in symbols}
    for node in nodes:
        parent = parents.get(node.vertex)
        # Go declares methods of a type in any file of its package: they stand where they are.
        inside = parent is not None and path_of.get(parent) == node.path
        siblings = branches[parent].children if inside and parent else forests[node.path]
        siblings[node.id] = branches[node.vertex]
    for forest in forests.values():
        for branch in forest.values():
            _add_up(branch)
    return forests


def _symbol_branch(node: Node, score: Score | None) -> _Branch:
    return _Branch(id=node.id, kind=node.kind, name=node.name, rank=score.rank if score else 0.0)


def _add_up(branch: _Branch) -> None:
    for child in branch.children.values():
        _add_up(child)
        branch.rank += child.rank
        branch.symbol_count += child.symbol_count + 1


def _all_below(root: _Branch) -> Iterator[_Branch]:
    yield root
    for child in root.children.values():
        yield from _all_below(child)


def _fitting(root: _Branch, max_depth: int, node_limit: int) -> set[str]:
    """Return the ids that are shown: level by level from the top, important ones first."""
    shown = {root.id}
    level = [root]
    for _ in range(max_depth):
        below = [child for branch in level for child in branch.children.values()]
        below.sort(key=_important_first)
        level = below[: node_limit - len(shown)]
        shown.update(branch.id for branch in level)
    return shown


def _tree_node(branch: _Branch, shown: Collection[str], depth: int) -> TreeNode:
    children = sorted(branch.children.values(), key=_important_first) if depth else []
    fitting = [child for child in children if child.id in shown]
    return TreeNode(
        id=branch.id,
        kind=branch.kind,
        name=branch.name,
        symbol_count=branch.symbol_count,
        rank=branch.rank,
        children=tuple(_tree_node(child, shown, depth - 1) for child in fitting),
        is_truncated=len(fitting) < len(children),
    )


def _important_first(branch: _Branch) -> tuple[float, int, str]:
    return -branch.rank, -branch.symbol_count, branch.id


def _edge_counts(graph: str) -> dict[str, int]:
    selects = (
        sql.SQL("SELECT {}, count(*) FROM {} e WHERE {}").format(
            sql.Literal(label.value), sql.Identifier(graph, label), cypher.is_head(table="e")
        )
        for label in (*SNAPSHOT_KINDS, *CROSSING_KINDS)
    )
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL(" UNION ALL ").join(selects))
        return dict(cursor.fetchall())


def _link_counts(graph: str) -> dict[str, int]:
    rows = cypher.run(
        graph=graph,
        query=f"MATCH ()-[link:{LINK_LABEL}]->() RETURN link.kind, count(*)",
        columns=("kind", "count"),
    )
    return dict(rows)
