"""Everything that changes the graph: repositories and refs, snapshots, links, ranks, vectors."""

from graph.services.snapshots import RefNotDefault, put

__all__ = ["RefNotDefault", "put"]
