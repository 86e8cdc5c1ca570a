import threading

import pytest
from django.db import connection

from graph.models import Repository
from indexing.locks import Work, only_worker

pytestmark = pytest.mark.django_db


def from_elsewhere(repository: Repository, work: Work) -> bool:
    """Return whether a worker with a connection of its own could begin."""
    answers: list[bool] = []

    def ask() -> None:
        try:
            with only_worker(work=work, repository_id=repository.pk) as is_ours:
                answers.append(is_ours)
        finally:
            connection.close()

    worker = threading.Thread(target=ask)
    worker.start()
    worker.join()
    return answers[0]


def test_one_worker_at_a_time_holds_a_repository(repository):
    with only_worker(work=Work.INDEX, repository_id=repository.pk) as is_ours:
        assert is_ours
        assert not from_elsewhere(repository, Work.INDEX)
    assert from_elsewhere(repository, Work.INDEX)


def test_other_work_is_not_held_up(repository):
    with only_worker(work=Work.INDEX, repository_id=repository.pk):
        assert from_elsewhere(repository, Work.EMBED)


def test_work_that_fails_lets_go(repository):
    with (
        pytest.raises(ZeroDivisionError),
        only_worker(work=Work.INDEX, repository_id=repository.pk),
    ):
        raise ZeroDivisionError
    assert from_elsewhere(repository, Work.INDEX)


@pytest.mark.django_db(transaction=True)
def test_a_lost_connection_lets_go(repository):
    with only_worker(work=Work.INDEX, repository_id=repository.pk) as is_ours:
        assert is_ours
        connection.close()
        assert from_elsewhere(repository, Work.INDEX)
