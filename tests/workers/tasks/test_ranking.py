"""A push is ranked once, and its namespace after it."""

import pytest

from graph import services as graph
from graph.models import Analysis
from tests.factories import snapshot, symbol_fact
from tests.gateway.team import show
from workers import queue
from workers.tasks import ranking

pytestmark = pytest.mark.django_db


@pytest.fixture
def sent(monkeypatch):
    messages = []
    for name in ("rank_repository", "rank_namespace"):
        monkeypatch.setattr(
            queue, name, lambda _name=name, **given: messages.append((_name, *given.values()))
        )
    return messages


def test_of_several_messages_the_first_ranks_and_the_namespace_follows(repository, sent):
    show(repository, snapshot(symbol_fact("a.py", "one")))
    Analysis.objects.all().delete()

    ranking.rank_repository(repository_id=str(repository.pk))
    ranking.rank_repository(repository_id=str(repository.pk))

    assert Analysis.objects.filter(repository=repository).count() == 1
    assert sent == [("rank_namespace", repository.namespace_id)]


def test_a_namespace_is_ranked_once_after_its_repositories(repository):
    show(repository, snapshot(symbol_fact("a.py", "one")))
    for _ in range(2):
        ranking.rank_namespace(namespace_id=str(repository.namespace_id))
    assert Analysis.objects.filter(repository=None).count() == 1
    graph.rank_repository(repository_id=repository.pk)
    ranking.rank_namespace(namespace_id=str(repository.namespace_id))
    assert Analysis.objects.filter(repository=None).count() == 2


def test_a_lost_message_is_made_up_for(repository, sent):
    show(repository, snapshot(symbol_fact("a.py", "one")))
    ranking.rank_stale()
    assert sent == []
    Analysis.objects.all().delete()
    ranking.rank_stale()
    assert sent == [("rank_repository", repository.pk)]
