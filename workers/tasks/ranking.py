"""Tasks that compute what the shape of a graph says, after pushes and apart from them."""

from uuid import UUID

from celery import shared_task

from graph import queries as graph_queries
from graph import services as graph
from workers import queue


@shared_task
def rank_repository(*, repository_id: str) -> None:
    """Rank a repository unless its ranks are newer than its graph; queue what follows from it."""
    # Of several messages for pushes in a row the first finds them all, the others nothing to do.
    if not graph_queries.repositories_to_rank(repository_id=UUID(repository_id)):
        return
    graph.rank_repository(repository_id=UUID(repository_id))
    queue.lay_out_repository(repository_id=UUID(repository_id))
    repository = graph_queries.get_repository(repository_id=UUID(repository_id))
    queue.rank_namespace(namespace_id=repository.namespace_id)


@shared_task
def lay_out_repository(*, repository_id: str) -> None:
    """Draw the explorer's picture of a repository unless it shows the last ranking already."""
    if graph_queries.repositories_to_lay_out(repository_id=UUID(repository_id)):
        graph.lay_out_repository(repository_id=UUID(repository_id))


@shared_task
def rank_namespace(*, namespace_id: str) -> None:
    """Rank the repositories of a namespace together, unless that was done since they were."""
    if not graph.is_namespace_ranked(namespace_id=UUID(namespace_id)):
        graph.rank_namespace(namespace_id=UUID(namespace_id))


@shared_task
def rank_stale() -> None:
    """Queue the repositories whose graph is newer than their ranks, or these than the picture.

    A message may be lost.
    """
    for repository_id in graph_queries.repositories_to_rank():
        queue.rank_repository(repository_id=repository_id)
    for repository_id in graph_queries.repositories_to_lay_out():
        queue.lay_out_repository(repository_id=repository_id)
