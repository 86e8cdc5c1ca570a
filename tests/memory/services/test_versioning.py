"""Versions: what is kept of a memory before it changes, and who may change it."""

from datetime import timedelta
from threading import Barrier, Thread
from uuid import UUID

import pytest
from django.db import connections, transaction

from codemem.accounts.values import Caller
from memory.models import Memory, MemoryVersion
from memory.services import MemoryChanged, record_version
from memory.services.versioning import (
    Change,
    apply_snapshot,
    as_of,
    record_versions,
    require_version,
    snapshot_of,
)
from tests import factories
from tests.memory.conftest import Store

pytestmark = pytest.mark.django_db

LATER = factories.NOW + timedelta(days=1)


def row_of(memory_id: UUID) -> Memory:
    return Memory.objects.get(pk=memory_id)


def change_text(memory: Memory, text: str, *, days: int) -> None:
    at = factories.NOW + timedelta(days=days)
    record_version(memory, change=Change.REFINED, actor="ann", now=at, reason=f"day {days}")
    memory.content = text
    memory.save()


def made_at_noon(store: Store, text: str) -> Memory:
    memory = row_of(store(text).memory.id)
    memory.created_at = factories.NOW
    memory.save()
    return memory


def test_a_version_is_what_was_there_before_and_the_present_is_the_row(store: Store) -> None:
    memory = made_at_noon(store, "Retry three times.")
    change_text(memory, "Retry five times.", days=1)
    change_text(memory, "Never retry.", days=2)
    first, second = MemoryVersion.objects.filter(memory=memory)
    assert (first.number, first.snapshot["content"]) == (1, "Retry three times.")
    assert (second.number, second.snapshot["content"]) == (2, "Retry five times.")
    assert first.valid_from == factories.NOW
    assert first.valid_to == second.valid_from == LATER
    assert (second.change, second.reason, second.changed_by_name) == ("refined", "day 2", "ann")
    row = row_of(memory.pk)
    assert (row.version, row.content) == (3, "Never retry.")


def test_who_changes_what_has_changed_since_is_told_what_it_says_now(store: Store) -> None:
    mine = made_at_noon(store, "Retry three times.")
    theirs = row_of(mine.pk)
    change_text(theirs, "Retry five times.", days=1)
    with pytest.raises(MemoryChanged, match=r"version 2 by now, not 1.*Retry five times"):
        record_version(mine, change=Change.REFINED, actor="bob", now=LATER)
    with pytest.raises(MemoryChanged, match="Retry five times"):
        require_version(row_of(mine.pk), expected=1)
    require_version(row_of(mine.pk), expected=2)
    require_version(row_of(mine.pk), expected=None)
    assert MemoryVersion.objects.filter(memory=mine).count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_at_once_one_changes_it_and_the_other_is_refused(store: Store) -> None:
    memory_id = made_at_noon(store, "Retry three times.").pk
    together, refused = Barrier(2), []

    def refine(text: str) -> None:
        try:
            with transaction.atomic():
                memory = row_of(memory_id)
                together.wait(timeout=10)
                change_text(memory, text, days=1)
        except MemoryChanged as error:
            refused.append(str(error))
        finally:
            connections.close_all()

    threads = [Thread(target=refine, args=(text,)) for text in ("Five.", "Seven.")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 1
    assert row_of(memory_id).content in refused[0]
    assert row_of(memory_id).version == 2
    assert MemoryVersion.objects.filter(memory=memory_id).count() == 1


def test_a_snapshot_put_back_is_the_row_as_it_was(store: Store) -> None:
    memory = made_at_noon(store, "Retry three times, see src/a.py.")
    memory.tags, memory.is_pinned = ["http"], True
    memory.alternatives = [{"option": "queue", "reason": "slow"}]
    memory.expires_at = LATER
    memory.save()
    before = snapshot_of(memory)
    tokens, digest = memory.tokens, bytes(memory.content_hash)
    changed = row_of(memory.pk)
    changed.content, changed.tags, changed.state = "Other.", [], "retired"
    changed.ended_at = changed.retired_at = LATER
    changed.expires_at = None
    assert apply_snapshot(changed, before) is True
    assert snapshot_of(changed) == before
    assert bytes(changed.content_hash) == digest
    assert set(tokens.split()) <= set(changed.tokens.split())
    assert changed.embedding is None
    assert apply_snapshot(changed, before) is False


def test_the_past_is_read_as_of_a_time(store: Store, writing: Caller) -> None:
    memory = made_at_noon(store, "Retry three times.")
    change_text(memory, "Retry five times.", days=2)
    rows = Memory.objects.filter(pk=memory.pk)

    def said(days: float) -> list[str]:
        at = factories.NOW + timedelta(days=days)
        return [snapshot["content"] for snapshot in as_of(rows, caller=writing, at=at).values()]

    assert said(-1) == []
    assert said(1) == ["Retry three times."]
    assert said(2) == ["Retry five times."]
    assert said(3) == ["Retry five times."]


def test_a_clock_that_went_back_makes_a_version_of_no_length(store: Store) -> None:
    memory = made_at_noon(store, "Retry three times.")
    change_text(memory, "Retry five times.", days=-1)
    version = MemoryVersion.objects.get(memory=memory)
    assert version.valid_from == version.valid_to == factories.NOW


def test_many_versions_cost_as_many_statements_as_one(
    store: Store, django_assert_num_queries: object
) -> None:
    rows = [made_at_noon(store, f"Rule number {number}.") for number in range(30)]
    with django_assert_num_queries(9):  # type: ignore[operator]
        record_versions(rows, change=Change.EXPIRED, actor="schedule", now=LATER)
    assert MemoryVersion.objects.count() == 30
