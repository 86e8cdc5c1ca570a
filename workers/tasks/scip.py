"""Tasks that ask compilers about a repository, after its graph answers already."""

from uuid import UUID

from celery import shared_task

from indexing import services
from indexing.scip import refinement
from workers import queue


@shared_task
def refine(*, repository_id: str) -> None:
    """Run the indexers that have something new to say, then have the covered files resolved."""
    refined = refinement.refine(repository_id=UUID(repository_id))
    if refined.has_answers:
        run_id = services.request_index(repository_id=UUID(repository_id), requested_by="scip")
        queue.index(run_id=run_id)
    if refined.is_behind:
        queue.refine(repository_id=UUID(repository_id))
