"""The end of a namespace's graph."""

from uuid import UUID

from graph import cypher


def drop_graph(*, namespace_id: UUID) -> None:
    """Drop the namespace's AGE graph with all vertices and edges, in the caller's transaction."""
    cypher.drop_graph(namespace_id)
