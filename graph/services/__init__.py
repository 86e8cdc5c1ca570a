"""Everything that changes the graph: repositories and refs, snapshots, links, ranks, vectors."""

from graph.indexes import ensure_vector_indexes
from graph.queries.nodes import NodeUnknown
from graph.services.co_changes import store_co_changes
from graph.services.crossing import CrossingEdge, write_crossing_edges
from graph.services.embeddings import store_symbol_embeddings, take_cached_symbol_vectors
from graph.services.entities import ensure_entities
from graph.services.history import record_events, set_history
from graph.services.layers import (
    drop_overlay,
    expire_overlays,
    forget_branch,
    note_overlay_used,
    prune,
)
from graph.services.layouts import lay_out_repository
from graph.services.link_rows import (
    LinkRow,
    NewLink,
    drop_link_rows,
    link_all,
    link_rows,
    put_link_rows,
)
from graph.services.links import (
    ensure_memory_vertex,
    ensure_memory_vertices,
    link,
    put_ties,
    unlink,
    unlink_memory,
)
from graph.services.ranks import (
    is_namespace_ranked,
    rank_namespace,
    rank_repository,
    store_scores,
)
from graph.services.repositories import (
    RemoteTaken,
    RepositoryNameTaken,
    note_head,
    register_repository,
    set_default_branch,
)
from graph.services.snapshots import (
    BaseRevisionGone,
    OverlayUnknown,
    RefNotDefault,
    put,
    put_delta,
)
from graph.staging import SnapshotInconsistent
from graph.values import CommitRow

__all__ = [
    "BaseRevisionGone",
    "CommitRow",
    "CrossingEdge",
    "LinkRow",
    "NewLink",
    "NodeUnknown",
    "OverlayUnknown",
    "RefNotDefault",
    "RemoteTaken",
    "RepositoryNameTaken",
    "SnapshotInconsistent",
    "drop_link_rows",
    "drop_overlay",
    "ensure_entities",
    "ensure_memory_vertex",
    "ensure_memory_vertices",
    "ensure_vector_indexes",
    "expire_overlays",
    "forget_branch",
    "is_namespace_ranked",
    "lay_out_repository",
    "link",
    "link_all",
    "link_rows",
    "note_head",
    "note_overlay_used",
    "prune",
    "put",
    "put_delta",
    "put_link_rows",
    "put_ties",
    "rank_namespace",
    "rank_repository",
    "record_events",
    "register_repository",
    "set_default_branch",
    "set_history",
    "store_co_changes",
    "store_scores",
    "store_symbol_embeddings",
    "take_cached_symbol_vectors",
    "unlink",
    "unlink_memory",
    "write_crossing_edges",
]
