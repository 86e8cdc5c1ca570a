"""Runs: asked for with a right, by the clock, one at a time, killed and gone on with, undone."""

from contextlib import contextmanager
from datetime import timedelta

import psycopg
import pytest
from django.db import connection

from memory.consolidation import decay, forget, runs
from memory.models import ConsolidationRun, Memory, MemoryUse
from memory.services.rights import NamespaceUnknown, RightMissing
from tests import factories
from tests.factories import NOW

pytestmark = pytest.mark.django_db


def request(user, namespace, *cycles, is_dry=False):
    return runs.request(
        caller=factories.caller_of(user),
        namespace_id=namespace.pk,
        cycles=cycles or ["decay"],
        is_dry=is_dry,
        now=NOW,
    )


def queued(namespace, cycle):
    row = ConsolidationRun.objects.create(
        namespace=namespace, cycle=cycle, asked_by="mary", started_at=NOW
    )
    return row.pk


def test_a_maintainer_may_ask_and_nobody_below(namespace, maintainer, writer, outsider):
    assert len(request(maintainer, namespace, *runs.CYCLES)) == 5
    with pytest.raises(RightMissing):
        request(writer, namespace)
    with pytest.raises(NamespaceUnknown):
        request(outsider, namespace)


def test_what_waits_is_not_asked_for_twice(namespace, maintainer):
    assert request(maintainer, namespace) == request(maintainer, namespace)


def test_the_clock_asks_by_each_namespaces_policy(namespace):
    namespace.settings = {"consolidation.creative.enabled": False}
    namespace.save()
    assert namespace.pk in runs.request_due(now=NOW)
    asked = ConsolidationRun.objects.filter(namespace=namespace)
    assert {row.cycle for row in asked} == {"decay", "cluster", "summarize", "forget"}
    assert {row.cycle for row in asked if row.is_dry} == {"forget"}
    asked.update(state="done")
    assert namespace.pk not in runs.request_due(now=NOW + timedelta(hours=23))
    runs.request_due(now=NOW + timedelta(hours=25))
    later = asked.filter(state="queued")
    assert [row.cycle for row in later] == ["decay"]


def test_forgetting_is_rehearsed_for_its_first_week(namespace):
    runs.request_due(now=NOW)
    ConsolidationRun.objects.update(state="done")
    runs.request_due(now=NOW + timedelta(days=8))
    newest = ConsolidationRun.objects.filter(cycle="forget").first()
    assert newest is not None
    assert (newest.state, newest.is_dry) == ("queued", False)


def test_one_worker_at_a_time(namespace, maintainer):
    (run_id,) = request(maintainer, namespace)
    key = [str(namespace.pk), runs._LOCK_NUMBER]
    parameters = connection.get_connection_params()
    parameters = {
        name: parameters[name]
        for name in ("dbname", "user", "password", "host", "port")
        if name in parameters
    }
    with psycopg.connect(**parameters) as other:
        other.execute("SELECT pg_advisory_lock(hashtextextended(%s, %s))", key)
        assert not runs.execute(run_id=run_id, now=NOW)
        assert ConsolidationRun.objects.get().state == "queued"
        other.execute("SELECT pg_advisory_unlock(hashtextextended(%s, %s))", key)
    assert runs.execute(run_id=run_id, now=NOW)
    assert ConsolidationRun.objects.get().state == "done"


def test_a_run_that_was_killed_half_way_goes_on_and_is_undone_as_a_whole(
    remember, namespace, monkeypatch, everything, undo
):
    namespace.settings = {"consolidation.forget.maximum_share": 1.0}
    namespace.save()
    for number in range(6):
        remember(f"Old thing {number}.", days=3000, memory_type="context")
    before = everything()
    run_id = queued(namespace, "forget")
    monkeypatch.setattr(forget, "_STEP", 2)
    real, calls = forget._retire, []

    def killed(work, ids):
        calls.append(ids)
        if len(calls) == 2:
            raise SystemExit
        real(work, ids)

    monkeypatch.setattr(forget, "_retire", killed)
    with pytest.raises(SystemExit):
        runs.execute(run_id=run_id, now=NOW)
    assert Memory.objects.filter(state="retired").count() == 2
    assert ConsolidationRun.objects.get().state == "running"
    monkeypatch.setattr(forget, "_retire", real)
    assert runs.recover(now=NOW) == [namespace.pk]
    assert runs.next_run(namespace_id=namespace.pk) == run_id
    runs.execute(run_id=run_id, now=NOW + timedelta(minutes=10))
    row = ConsolidationRun.objects.get()
    assert (row.state, row.attempts) == ("done", 2)
    assert Memory.objects.filter(state="retired").count() == 6
    undo(row)
    assert everything() == before


def test_a_run_whose_worker_always_dies_is_given_up(namespace, maintainer):
    request(maintainer, namespace)
    ConsolidationRun.objects.update(state="running", attempts=3)
    assert runs.recover(now=NOW) == []
    assert ConsolidationRun.objects.get().state == "failed"


def test_what_another_worker_ended_meanwhile_is_neither_repeated_nor_given_up(
    namespace, maintainer, monkeypatch
):
    (run_id,) = request(maintainer, namespace)
    alone = runs._alone

    @contextmanager
    def alone_too_late(namespace_id):
        ConsolidationRun.objects.update(state="done", attempts=3)
        with alone(namespace_id) as is_alone:
            yield is_alone

    monkeypatch.setattr(runs, "_alone", alone_too_late)
    assert runs.execute(run_id=run_id, now=NOW)
    assert ConsolidationRun.objects.get().report == {}
    ConsolidationRun.objects.update(state="running")
    assert runs.recover(now=NOW) == []
    assert ConsolidationRun.objects.get().state == "done"


def test_a_fault_is_told_by_the_run(namespace, maintainer, monkeypatch):
    (run_id,) = request(maintainer, namespace)

    def broken(work, circle):
        raise ValueError("the moon is full")

    monkeypatch.setitem(runs.CYCLES, runs.Cycle.DECAY, broken)
    with pytest.raises(ValueError, match="moon"):
        runs.execute(run_id=run_id, now=NOW)
    row = ConsolidationRun.objects.get()
    assert (row.state, row.error) == ("failed", "ValueError; the server's log says more.")


def test_a_cancelled_run_stops_at_its_next_step_and_can_be_undone(
    remember, people, namespace, undo, monkeypatch
):
    for number in range(4):
        remember(f"Old thing {number}.", days=3000)
    caller = factories.caller_of(people.maintainer)
    run_id = queued(namespace, "decay")
    real = decay._write
    monkeypatch.setattr(decay, "batches", lambda rows: [rows[:2], rows[2:]])

    def write(work, batch):
        real(work, batch)
        runs.cancel(caller=caller, run_id=run_id, now=NOW)

    monkeypatch.setattr(decay, "_write", write)
    runs.execute(run_id=run_id, now=NOW)
    row = ConsolidationRun.objects.get()
    assert row.state == "cancelled"
    assert row.changes.count() == 2
    undo(row)
    assert not MemoryUse.objects.exists()


def test_a_waiting_run_is_cancelled_at_once(namespace, maintainer):
    (run_id,) = request(maintainer, namespace)
    runs.cancel(caller=factories.caller_of(maintainer), run_id=run_id, now=NOW)
    assert runs.next_run(namespace_id=namespace.pk) is None


def test_undoing_takes_a_right_and_a_run_that_is_over(remember, run, namespace, people):
    remember("Old.", days=300)
    row = run("decay")
    with pytest.raises(RightMissing):
        runs.undo(caller=factories.caller_of(people.writer), run_id=row.pk, now=NOW)
    with pytest.raises(runs.RunUnknown):
        runs.undo(caller=factories.caller_of(people.outsider), run_id=row.pk, now=NOW)
    caller = factories.caller_of(people.maintainer)
    runs.undo(caller=caller, run_id=row.pk, now=NOW)
    with pytest.raises(runs.RunNotUndoable):
        runs.undo(caller=caller, run_id=row.pk, now=NOW)
    (waiting,) = request(people.maintainer, namespace)
    with pytest.raises(runs.RunNotFinished):
        runs.undo(caller=caller, run_id=waiting, now=NOW)


def test_how_to_undo_is_forgotten_in_time(remember, run):
    remember("Old.", days=300)
    row = run("decay")
    assert runs.prune(now=NOW + timedelta(days=89)) == 0
    assert runs.prune(now=NOW + timedelta(days=91)) == 1
    assert not row.changes.exists()


def test_a_purge_erases_what_undoing_keeps(remember, run):
    memory = remember("Old.", days=300)
    row = run("decay")
    assert runs.erase(memory_ids=[memory.pk]) == 1
    assert not row.changes.exists()
