"""Reads of the graph. The one entry is `visible_repositories`: permission filtered in SQL.

Every other query takes the ids of repositories and namespaces that a caller was given through it,
and finds nothing outside of them.
"""

from graph.queries.analyses import AnalysisValue, NotRanked, repositories_to_rank
from graph.queries.citations import CitedSymbol, blobs_of, cited_symbols, symbols_named
from graph.queries.co_changes import CoChanged, co_changed_with
from graph.queries.crossing import (
    ImportedPlace,
    OuterTarget,
    imports_of,
    uses_of_externals,
)
from graph.queries.cycles import DependencyCycle, Level, Severity, cycles
from graph.queries.edges import (
    Algorithm,
    count_dependents,
    dependents,
    links_of,
    memories_linked_to,
    neighbors,
    parents_of,
    traverse,
)
from graph.queries.groups import (
    Group,
    Groups,
    important_in_namespace,
    important_near,
    related_groups,
)
from graph.queries.nodes import (
    KnownVertex,
    NodeUnknown,
    count_symbols_to_embed,
    find_nodes,
    get_node,
    live_symbols_in,
    nodes_by_name,
    nodes_of,
    scores_of,
    symbols_to_embed,
    vertices_by_id,
)
from graph.queries.overview import counts, important_nodes, tree
from graph.queries.repositories import (
    find_layer,
    find_repositories,
    find_repositories_by_alias,
    get_ref_state,
    get_repository,
    list_branches,
    list_layers,
    list_repositories,
    namespaces_with_repositories,
    newest_revision,
    visible_repositories,
)

__all__ = [
    "Algorithm",
    "AnalysisValue",
    "CitedSymbol",
    "CoChanged",
    "DependencyCycle",
    "Group",
    "Groups",
    "ImportedPlace",
    "KnownVertex",
    "Level",
    "NodeUnknown",
    "NotRanked",
    "OuterTarget",
    "Severity",
    "blobs_of",
    "cited_symbols",
    "co_changed_with",
    "count_dependents",
    "count_symbols_to_embed",
    "counts",
    "cycles",
    "dependents",
    "find_layer",
    "find_nodes",
    "find_repositories",
    "find_repositories_by_alias",
    "get_node",
    "get_ref_state",
    "get_repository",
    "important_in_namespace",
    "important_near",
    "important_nodes",
    "imports_of",
    "links_of",
    "list_branches",
    "list_layers",
    "list_repositories",
    "live_symbols_in",
    "memories_linked_to",
    "namespaces_with_repositories",
    "neighbors",
    "newest_revision",
    "nodes_by_name",
    "nodes_of",
    "parents_of",
    "related_groups",
    "repositories_to_rank",
    "scores_of",
    "symbols_named",
    "symbols_to_embed",
    "traverse",
    "tree",
    "uses_of_externals",
    "vertices_by_id",
    "visible_repositories",
]
