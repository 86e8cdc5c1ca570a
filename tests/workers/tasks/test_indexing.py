import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from indexing import embedding, pipeline
from indexing.models import IndexRun
from indexing.pipeline import Outcome
from indexing.services import SILENT_AFTER, claim, request_index
from workers import queue
from workers.tasks.indexing import embed_symbols, index
from workers.tasks.maintenance import embed_missing_symbols, recover_runs

pytestmark = pytest.mark.django_db


@pytest.fixture
def sent(monkeypatch):
    """What is asked of the queue, in order."""
    sent = []
    monkeypatch.setattr(queue, "index", lambda *, run_id: sent.append(("index", run_id)))
    monkeypatch.setattr(
        queue, "embed_symbols", lambda *, repository_id: sent.append(("embed", repository_id))
    )
    monkeypatch.setattr(
        queue, "advance_history", lambda *, repository_id: sent.append(("history", repository_id))
    )
    return sent


@pytest.fixture
def ends(monkeypatch):
    """Return a way to have runs end like this."""
    return lambda outcome: monkeypatch.setattr(pipeline, "run_index", lambda **_: outcome)


def test_an_index_run_is_followed_by_vectors_and_the_runs_it_kept_waiting(repository, sent, ends):
    waiting = request_index(repository_id=repository.pk, requested_by="olga")
    ends(Outcome(repository.pk, "", is_indexed=True))

    index(run_id=str(uuid.uuid4()))

    assert sent == [("embed", repository.pk), ("history", repository.pk), ("index", waiting)]


def test_a_run_that_failed_also_lets_the_next_begin(repository, sent, ends):
    waiting = request_index(repository_id=repository.pk, requested_by="olga")
    ends(Outcome(repository.pk, "", is_indexed=False))

    index(run_id=str(uuid.uuid4()))

    assert sent == [("index", waiting)]


def test_a_message_that_comes_too_early_or_too_late_sends_nothing(repository, sent, ends):
    request_index(repository_id=repository.pk, requested_by="olga")
    ends(None)
    index(run_id=str(uuid.uuid4()))
    assert sent == []


@pytest.mark.parametrize("is_left", [True, False])
def test_embedding_goes_on_while_something_is_left(repository, sent, monkeypatch, is_left):
    monkeypatch.setattr(embedding, "embed_symbols", lambda **_: is_left)
    embed_symbols(repository_id=str(repository.pk))
    assert sent == [("embed", repository.pk)] * is_left


def test_vectors_that_are_missing_are_asked_for(repository, sent, monkeypatch):
    monkeypatch.setattr(embedding, "repositories_to_embed", lambda: [repository.pk])
    embed_missing_symbols()
    assert sent == [("embed", repository.pk)]


def test_the_run_of_a_lost_worker_is_sent_again(repository, sent):
    run_id = request_index(repository_id=repository.pk, requested_by="olga")
    claim(run_id=run_id, now=timezone.now() - SILENT_AFTER - timedelta(seconds=1))

    recover_runs()
    recover_runs()

    assert sent == [("index", run_id)]
    assert IndexRun.objects.get().state == IndexRun.State.RUNNING
