"""Purging: nothing of the text is left in any column of any table, nor in the graph."""

from collections.abc import Iterator
from datetime import timedelta
from unittest.mock import patch

import numpy as np
import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import connection, transaction
from psycopg import sql

from codemem.accounts.models import AuditEvent, User
from codemem.accounts.values import Caller
from codemem.embedding import cache
from codemem.embedding.models import CachedVector, EmbeddingModel
from graph.models import Repository
from memory.context import make_contexts
from memory.models import (
    Anchor,
    Checkpoint,
    ConsolidationChange,
    ConsolidationRun,
    Injection,
    Memory,
    MemoryContext,
    MemoryEntity,
    MemoryVersion,
    Observation,
    ReviewItem,
    Session,
)
from memory.services import (
    Change,
    MemoryUnknown,
    PurgeUnconfirmed,
    RightMissing,
    associate,
    delete_memory,
    give_feedback,
    preview_purge,
    propose,
    purge_memory,
    purging,
    record_version,
)
from memory.values import RelationshipKind
from tests import factories
from tests.memory.conftest import Store, WordModel, put_symbols

NOW = factories.NOW
SECRET = "xylophone"
pytestmark = pytest.mark.django_db


def columns() -> Iterator[tuple[str, str, str]]:
    """Yield every column that can hold text, of every table that is ours or the graph's."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT namespace.nspname, class.relname, attribute.attname"
            " FROM pg_catalog.pg_attribute attribute"
            " JOIN pg_catalog.pg_class class ON class.oid = attribute.attrelid"
            " JOIN pg_catalog.pg_namespace namespace ON namespace.oid = class.relnamespace"
            " JOIN pg_catalog.pg_type type ON type.oid = attribute.atttypid"
            " WHERE class.relkind IN ('r', 'm', 'p') AND attribute.attnum > 0"
            "  AND NOT attribute.attisdropped"
            "  AND namespace.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')"
            "  AND (type.typcategory IN ('S', 'A') OR type.typname IN"
            "   ('json', 'jsonb', 'bytea', 'tsvector', 'agtype', 'hstore', 'xml'))"
        )
        yield from cursor.fetchall()


def places_of(word: str) -> set[str]:
    """Return the columns in which a word stands, as text or as bytes."""
    found = set()
    with connection.cursor() as cursor:
        for schema, table, column in columns():
            cursor.execute(
                sql.SQL(
                    "SELECT count(*) FROM {table} WHERE {column}::text ILIKE %s"
                    " OR {column}::text LIKE %s"
                ).format(table=sql.Identifier(schema, table), column=sql.Identifier(column)),
                [f"%{word}%", f"%{word.encode().hex()}%"],
            )
            if cursor.fetchone()[0]:
                found.add(f"{schema}.{table}.{column}")
    return found


def _captured(memory: Memory, user: User) -> None:
    """Have somebody else's private session hold the words, and what hangs on it."""
    text = memory.content
    session = Session.objects.create(
        namespace_id=memory.namespace_id,
        user=user,
        agent="codex",
        client_session_id="1",
        title=f"Why? {text}",
        started_at=NOW,
        last_event_at=NOW,
    )
    place = {"session": session, "namespace_id": memory.namespace_id}
    for key, content in (("1", f"Remember: {text}"), ("2", "Something else entirely.")):
        Observation.objects.create(
            **place,
            key=key,
            kind="prompt",
            tier="S",
            content=content,
            tokens=content.lower(),
            happened_at=NOW,
            received_at=NOW,
        )
    Checkpoint.objects.create(**place, origin="agent", summary="x", done=[text], created_at=NOW)
    Injection.objects.create(
        **place, event="prompt", kind="rule", memory=memory, reason=SECRET, shown_at=NOW
    )


@pytest.fixture
def spread(
    store: Store,
    writing: Caller,
    maintainer: User,
    repository: Repository,
    model: WordModel,
) -> Memory:
    """Return a memory whose word stands wherever a memory's words can stand."""
    (save,) = put_symbols(repository, "User.save")
    stored = store(
        f"The {SECRET} is in src/{SECRET}.py.",
        repository_id=repository.pk,
        tags=[SECRET],
        links=[save],
    ).memory
    other = store("Another one.", repository_id=repository.pk).memory
    neighbor = store("Its neighbor.", repository_id=repository.pk).memory
    Memory.objects.filter(pk__in=[stored.id, neighbor.id]).update(session_id="s1")
    memory = Memory.objects.get(pk=stored.id)
    record_version(memory, change=Change.REFINED, actor=writing, now=NOW, reason=f"no {SECRET}")
    memory.rationale = f"Because of the {SECRET}."
    memory.evidence = [{"kind": "url", "ref": f"https://{SECRET}.example"}]
    memory.save()
    for source, target in ((stored, other), (other, stored)):
        associate(
            caller=writing,
            source_id=str(source.id),
            target_id=str(target.id),
            kind=RelationshipKind.EXPLAINS,
            now=NOW,
        )
    delete_memory(caller=writing, memory_id=other.id, now=NOW)
    MemoryEntity.objects.get_or_create(
        memory=memory, namespace_id=memory.namespace_id, kind="path", key=f"src/{SECRET}.py"
    )
    Anchor.objects.create(
        memory=memory,
        repository=repository,
        kind="pattern",
        path="src/user.py",
        pattern=SECRET,
        detail=f"{SECRET} is not there.",
    )
    reviewer = factories.caller_of(maintainer)
    give_feedback(
        caller=reviewer, memory_id=memory.pk, verdict="wrong", note=f"No {SECRET}!", now=NOW
    )
    propose(
        namespace_id=memory.namespace_id,
        kind="merge",
        memory_ids=[memory.pk, other.id],
        proposal={
            "operation": "associate",
            "arguments": {"kind": "EXPLAINS", "content": f"A {SECRET}."},
        },
        reason=f"Both speak of a {SECRET}.",
        confidence=0.5,
        proposed_by="cluster",
        now=NOW,
    )
    run = ConsolidationRun.objects.create(
        namespace_id=memory.namespace_id, cycle="decay", asked_by="schedule", started_at=NOW
    )
    ConsolidationChange.objects.create(
        run=run,
        kind="updated",
        subject=f"memory_memory:{memory.pk}",
        memory_id=memory.pk,
        before={"content": f"The {SECRET}."},
    )
    _captured(memory, maintainer)
    known = EmbeddingModel.objects.create(fingerprint="words-1", dimensions=2)
    for text in (memory.content, "Something else."):
        cache.remember(model_id=known.pk, vectors={cache.digest_of(text): np.ones(2, np.float32)})
    LogEntry.objects.create(
        user_id=writing.user_id,
        content_type=ContentType.objects.get_for_model(Memory),
        object_id=str(memory.pk),
        object_repr=str(Memory.objects.get(pk=memory.pk)),
        action_flag=CHANGE,
    )
    make_contexts(limit=10, provider=model)
    assert stored.id in MemoryContext.objects.get(memory_id=neighbor.id).around
    return Memory.objects.get(pk=memory.pk)


def test_nothing_of_the_text_is_left_anywhere(spread: Memory, writing: Caller) -> None:
    before = places_of(SECRET)
    assert {
        "public.memory_memory.content",
        "public.memory_memory.lexemes",
        "public.memory_memoryversion.snapshot",
        "public.memory_memorycontext.tokens",
        "public.memory_memoryentity.key",
        "public.memory_anchor.pattern",
        "public.memory_feedback.note",
        "public.memory_reviewitem.proposal",
        "public.memory_consolidationchange.before",
        "public.django_admin_log.object_repr",
    } <= before
    receipt = purge_memory(
        caller=writing, memory_id=spread.pk, confirm=str(spread.pk), now=NOW, reason="a leak"
    )
    assert places_of(SECRET) == set()
    assert receipt.is_done
    assert receipt.rows["memory"] == receipt.rows["embedding"] == 1
    assert receipt.rows["review_items"] == 2
    assert receipt.rows["cached_vectors"] == 1
    assert [bytes(row.digest) for row in CachedVector.objects.all()] == [
        cache.digest_of("Something else.")
    ]
    assert receipt.rows["versions"] >= 1
    assert {"anchors", "entities", "feedback", "links", "admin_log_entries"} <= receipt.rows.keys()


def test_no_trace_of_it_is_left_in_the_graph_nor_with_others(
    spread: Memory, writing: Caller
) -> None:
    purge_memory(caller=writing, memory_id=spread.pk, confirm=str(spread.pk), now=NOW)
    left = places_of(str(spread.pk))
    assert left == {"public.accounts_auditevent.target", "public.accounts_auditevent.detail"} & left
    assert not any("RELATES_TO" in place or ".Memory." in place for place in left)
    assert [other.retired_links for other in Memory.objects.all()] == [[], []]


def test_the_audit_trail_says_that_it_was_erased_and_not_what(
    spread: Memory, writing: Caller
) -> None:
    purge_memory(caller=writing, memory_id=spread.pk, confirm=str(spread.pk), now=NOW)
    event = AuditEvent.objects.get(action="memory.purge")
    assert (event.actor, event.target) == (writing.username, str(spread.pk))
    assert event.detail["rows"]["memory"] == 1


def test_a_preview_counts_what_would_go_and_erases_nothing(spread: Memory, writing: Caller) -> None:
    preview = preview_purge(caller=writing, memory_id=spread.pk, now=NOW)
    assert not preview.is_done
    receipt = purge_memory(caller=writing, memory_id=spread.pk, confirm=str(spread.pk), now=NOW)
    # Others' sessions are in the receipt only.
    unseen = {"captured", "injections"}
    assert {name: row for name, row in receipt.rows.items() if name not in unseen} == preview.rows


def test_captured_words_go_along_and_only_the_receipt_counts_other_peoples(
    spread: Memory, writing: Caller
) -> None:
    preview = preview_purge(caller=writing, memory_id=spread.pk, now=NOW)
    receipt = purge_memory(caller=writing, memory_id=spread.pk, confirm=str(spread.pk), now=NOW)
    assert "captured" not in preview.rows
    assert receipt.rows["captured"] == 2
    assert list(Observation.objects.values_list("key", flat=True)) == ["2"]
    assert Session.objects.get().title == ""


def test_a_short_memory_takes_only_what_says_exactly_that(
    store: Store, writing: Caller, maintainer: User, repository: Repository
) -> None:
    memory = Memory.objects.get(pk=store("else", repository_id=repository.pk).memory.id)
    _captured(memory, maintainer)
    purge_memory(caller=writing, memory_id=memory.pk, confirm=str(memory.pk), now=NOW)
    assert Observation.objects.count() == 2


def test_who_does_not_say_the_id_again_erases_nothing(spread: Memory, writing: Caller) -> None:
    for confirm in ("", "yes", str(spread.pk)[:8]):
        with pytest.raises(PurgeUnconfirmed):
            purge_memory(caller=writing, memory_id=spread.pk, confirm=confirm, now=NOW)
    assert Memory.objects.filter(pk=spread.pk).exists()


def test_other_people_cannot_purge_and_strangers_see_nothing(
    spread: Memory, owner: User, reader: User, outsider: User
) -> None:
    with pytest.raises(RightMissing):
        purge_memory(
            caller=factories.caller_of(reader),
            memory_id=spread.pk,
            confirm=str(spread.pk),
            now=NOW,
        )
    with pytest.raises(MemoryUnknown):
        preview_purge(caller=factories.caller_of(outsider), memory_id=spread.pk, now=NOW)
    receipt = purge_memory(
        caller=factories.caller_of(owner), memory_id=spread.pk, confirm=str(spread.pk), now=NOW
    )
    assert receipt.is_done


def test_even_a_maintainer_does_not_see_a_private_one(
    store: Store, owner: User, writing: Caller
) -> None:
    memory = Memory.objects.get(pk=store("Mine alone.").memory.id)
    Memory.objects.filter(pk=memory.pk).update(visibility="private")
    with pytest.raises(MemoryUnknown):
        preview_purge(caller=factories.caller_of(owner), memory_id=memory.pk, now=NOW)
    assert purge_memory(
        caller=writing, memory_id=memory.pk, confirm=str(memory.pk), now=NOW
    ).is_done


def test_one_who_dies_in_the_middle_has_erased_nothing(spread: Memory, writing: Caller) -> None:
    before = places_of(SECRET)

    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with (
        patch.object(purging, "record_event", die),
        pytest.raises(KeyboardInterrupt),
        transaction.atomic(),
    ):
        purge_memory(caller=writing, memory_id=spread.pk, confirm=str(spread.pk), now=NOW)
    assert places_of(SECRET) == before


def test_other_memories_with_the_same_words_are_named_not_touched(
    spread: Memory, store: Store, writing: Caller
) -> None:
    quoting = store(f"Walter wrote: {spread.content} That was so.").memory
    later = NOW + timedelta(hours=1)
    preview = preview_purge(caller=writing, memory_id=spread.pk, now=later)
    assert preview.echoes == (quoting.id,)
    purge_memory(caller=writing, memory_id=spread.pk, confirm=str(spread.pk), now=later)
    assert Memory.objects.filter(pk=quoting.id).exists()
    assert not MemoryVersion.objects.filter(memory_id=spread.pk).exists()
    assert not ReviewItem.objects.filter(memory_ids__contains=[str(spread.pk)]).exists()
