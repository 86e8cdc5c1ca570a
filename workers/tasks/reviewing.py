"""Tasks that get ready what reviews need."""

from uuid import UUID

from celery import shared_task

from indexing import queries
from indexing.missing import knowledge


@shared_task
def keep_words(*, repository_id: str) -> None:
    """Keep the words of a repository's head for the first review of each process.

    While another push is being indexed there is nothing to do: a message follows it, too.
    """
    if not queries.is_default_branch_pending(repository_id=UUID(repository_id)):
        knowledge.keep_words(repository_id=UUID(repository_id))
