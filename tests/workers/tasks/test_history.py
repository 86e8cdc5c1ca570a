import uuid

import pytest

from indexing.history import backfill
from workers import queue
from workers.tasks.history import advance, advance_all

REPOSITORY = uuid.uuid4()


@pytest.fixture
def sent(monkeypatch):
    """What is asked of the queue, in order."""
    sent = []
    monkeypatch.setattr(
        queue, "advance_history", lambda *, repository_id: sent.append(repository_id)
    )
    return sent


@pytest.mark.parametrize("has_more", [True, False])
def test_what_is_left_of_a_history_is_queued_again(monkeypatch, sent, has_more):
    monkeypatch.setattr(backfill, "advance", lambda **_: has_more)
    advance(repository_id=str(REPOSITORY))
    assert sent == [REPOSITORY] * has_more


def test_the_clock_queues_histories_that_are_behind(monkeypatch, sent):
    monkeypatch.setattr(backfill, "histories_to_advance", lambda *, now: [REPOSITORY])
    advance_all()
    assert sent == [REPOSITORY]
