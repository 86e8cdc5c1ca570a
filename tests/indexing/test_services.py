import threading
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from codemem.accounts.models import AuditEvent
from graph.models import Repository
from indexing import services
from indexing.models import IndexRun
from indexing.services import (
    MAXIMUM_ATTEMPTS,
    SILENT_AFTER,
    SkippedFile,
    claim,
    fail,
    finish,
    note_progress,
    recover_runs,
    request_index,
)
from tests.factories import NOW

pytestmark = pytest.mark.django_db

State = IndexRun.State


@pytest.fixture
def run(repository):
    return IndexRun.objects.create(repository=repository)


def queued_long_ago(repository: Repository, **fields: Any) -> UUID:
    made = IndexRun.objects.create(repository=repository, **fields)
    IndexRun.objects.filter(pk=made.pk).update(queued_at=NOW - timedelta(hours=1))
    return made.pk


# --- Asking ---
def test_asking_twice_is_asking_once(repository):
    first = request_index(repository_id=repository.pk, requested_by="olga")
    assert request_index(repository_id=repository.pk, requested_by="mary") == first
    assert IndexRun.objects.get().requested_by == "olga"
    assert AuditEvent.objects.filter(action="repository.index").count() == 1


def test_the_default_branch_by_name_is_the_default_branch(repository):
    first = request_index(repository_id=repository.pk, requested_by="olga")
    by_name = request_index(repository_id=repository.pk, ref="main", requested_by="olga")
    assert by_name == first


def test_another_branch_is_another_run(repository):
    first = request_index(repository_id=repository.pk, requested_by="olga")
    assert request_index(repository_id=repository.pk, ref="dev", requested_by="olga") != first


def test_asking_while_a_run_is_under_way_queues_the_next(repository):
    first = request_index(repository_id=repository.pk, requested_by="olga")
    claim(run_id=first, now=NOW)

    second = request_index(repository_id=repository.pk, requested_by="olga")

    assert second != first
    states = dict(IndexRun.objects.values_list("pk", "state"))
    assert states == {first: State.RUNNING, second: State.QUEUED}


def test_a_repository_that_is_gone_cannot_be_asked_for(repository):
    repository_id = repository.pk
    repository.delete()
    with pytest.raises(Repository.DoesNotExist):
        request_index(repository_id=repository_id, requested_by="olga")


@pytest.mark.django_db(transaction=True)
def test_many_who_ask_at_once_get_one_run(repository):
    found = []

    def ask():
        try:
            found.append(request_index(repository_id=repository.pk, requested_by="olga"))
        finally:
            connection.close()

    askers = [threading.Thread(target=ask) for _ in range(8)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()

    assert len(found) == 8
    assert set(found) == {IndexRun.objects.get().pk}


# --- Carrying out ---
def test_claiming_marks_the_run_as_running(run):
    claimed = claim(run_id=run.pk, now=NOW)

    assert claimed is not None
    assert (claimed.state, claimed.step) == (State.RUNNING, IndexRun.Step.FETCHING)
    assert (claimed.attempts, claimed.started_at, claimed.heartbeat_at) == (1, NOW, NOW)


@pytest.mark.parametrize("state", [State.DONE, State.FAILED])
def test_a_run_that_is_over_cannot_be_claimed(repository, state):
    over = IndexRun.objects.create(repository=repository, state=state)
    assert claim(run_id=over.pk, now=NOW) is None
    over.refresh_from_db()
    assert (over.state, over.attempts) == (state, 0)


def test_a_run_whose_worker_was_lost_is_taken_over(run):
    claim(run_id=run.pk, now=NOW)
    again = claim(run_id=run.pk, now=NOW + timedelta(minutes=2))
    assert again is not None
    assert again.attempts == 2


def test_a_run_that_takes_worker_after_worker_down_is_given_up(run):
    for _ in range(MAXIMUM_ATTEMPTS):
        assert claim(run_id=run.pk, now=NOW) is not None

    assert claim(run_id=run.pk, now=NOW) is None

    run.refresh_from_db()
    assert (run.state, run.finished_at) == (State.FAILED, NOW)
    assert run.error == "The worker was lost 3 times during this run."


def test_progress_is_a_sign_of_life(run):
    note_progress(run_id=run.pk, now=NOW, changes={"step": "parsing", "files_done": 7})
    run.refresh_from_db()
    assert (run.step, run.files_done, run.heartbeat_at) == ("parsing", 7, NOW)


def test_the_report_counts_skipped_files_by_reason_with_a_few_examples(run):
    skipped = [SkippedFile(f"{number:02}.bin", "binary") for number in reversed(range(12))]
    finish(
        run_id=run.pk,
        now=NOW,
        counts={"files": 13},
        seconds={"parsing": 0.5},
        skipped=[*skipped, SkippedFile("a", "lfs")],
    )

    run.refresh_from_db()
    assert (run.state, run.step, run.finished_at) == (State.DONE, IndexRun.Step.FINISHED, NOW)
    assert (run.counts, run.seconds) == ({"files": 13}, {"parsing": 0.5})
    assert run.skipped == {
        "binary": {"count": 12, "examples": [f"{number:02}.bin" for number in range(10)]},
        "lfs": {"count": 1, "examples": ["a"]},
    }


def test_what_a_remote_says_is_stored_whatever_it_holds(run):
    fail(run_id=run.pk, now=NOW, error="bad\0" + "x" * 5000)
    run.refresh_from_db()
    assert run.state == State.FAILED
    assert run.error.startswith("badx")
    assert len(run.error) == services._LONGEST_ERROR


# --- Recovering ---
def test_a_silent_run_is_recovered_once_per_silence(run):
    claim(run_id=run.pk, now=NOW)

    assert recover_runs(now=NOW + SILENT_AFTER) == []
    later = NOW + SILENT_AFTER + timedelta(seconds=1)
    assert recover_runs(now=later) == [run.pk]
    assert recover_runs(now=later) == []
    assert recover_runs(now=later + SILENT_AFTER + timedelta(seconds=1)) == [run.pk]


def test_a_queued_run_whose_message_was_lost_is_recovered(repository):
    forgotten = queued_long_ago(repository)
    recent = IndexRun.objects.create(repository=repository, ref="dev")
    IndexRun.objects.filter(pk=recent.pk).update(queued_at=NOW)

    assert recover_runs(now=NOW) == [forgotten]


def test_what_is_over_is_not_recovered(repository):
    queued_long_ago(repository, state=State.DONE)
    queued_long_ago(repository, state=State.FAILED)
    assert recover_runs(now=NOW) == []
