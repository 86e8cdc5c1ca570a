"""Deleting a namespace: closed, erased to the last row, and nothing comes back."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import IntegrityError, connection, transaction
from psycopg import sql

from codemem.accounts import services as accounts
from codemem.accounts.models import AuditEvent, Namespace, User
from graph import cypher
from graph.models import Repository
from indexing import erasure
from indexing.locks import Work, only_worker
from indexing.mirrors import mirror_path
from indexing.models import BlobFacts, Erasure, IndexRun
from memory.models import (
    Anchor,
    Checkpoint,
    Handoff,
    Injection,
    Memory,
    MemoryUse,
    Observation,
    Session,
    WorkItem,
)
from memory.services import store_memory
from memory.services.versioning import Change, record_version
from tests import factories
from tests.factories import NOW, caller_of
from tests.memory.conftest import WordModel, put_symbols

WORD = "zyzzyva"
DAY = timedelta(days=1)
# The trail and the receipt name what is gone; that is what they are for.
REMEMBER = {"accounts_auditevent", "indexing_erasure"}


@pytest.fixture
def full(namespace: Namespace, repository: Repository, owner: User, writer: User) -> Namespace:
    """Fill a namespace so that its word is in many tables."""
    save, *_ = put_symbols(repository, f"User.{WORD}", "User.login")
    place: dict[str, Any] = {
        "namespace_id": namespace.pk,
        "repository_id": repository.pk,
        "now": NOW,
        "provider": WordModel(),
    }
    first = store_memory(
        caller=caller_of(owner),
        content=f"The {WORD} is closed once.",
        memory_type="rule",
        tags=[WORD],
        links=[save],
        **place,
    ).memory.id
    second = store_memory(
        caller=caller_of(writer), content=f"A second {WORD}.", memory_type="rule", **place
    ).memory.id
    memory = Memory.objects.get(pk=first)
    record_version(memory, change=Change.REFINED, actor="tests", now=NOW, reason=f"No {WORD}.")
    Memory.objects.filter(pk=second).update(superseded_by=first, visibility="private")
    Anchor.objects.create(memory=memory, repository=repository, kind="file", path=f"{WORD}.py")
    MemoryUse.objects.create(memory=memory)
    IndexRun.objects.create(repository=repository, ref=WORD, requested_by="tests")
    factories.make_token(writer, namespaces=[namespace])
    namespace.settings = {"recall.floor": 0.3}
    namespace.save()
    return namespace


def asked(owner: User, namespace: Namespace, **changes: Any) -> erasure.Receipt:
    arguments: dict[str, Any] = {"confirm": namespace.name, "grace": DAY, "now": NOW}
    return erasure.request_erasure(
        caller=caller_of(owner), namespace_id=namespace.pk, **(arguments | changes)
    )


def tables_with(text: str) -> set[str]:
    """Return every table of every schema in which some row has a text."""
    found = set()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT schemaname, tablename FROM pg_tables"
            " WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        )
        for schema, table in cursor.fetchall():
            cursor.execute(
                sql.SQL("SELECT EXISTS (SELECT FROM {} AS one WHERE one::text ILIKE %s)").format(
                    sql.Identifier(schema, table)
                ),
                [f"%{text}%"],
            )
            if cursor.fetchone()[0]:
                found.add(table)
    return found


@pytest.mark.django_db
def test_nothing_of_it_is_left_anywhere(
    full: Namespace, owner: User, repository: Repository
) -> None:
    other = factories.make_namespace("other", owner=owner)
    kept = store_memory(
        caller=caller_of(owner),
        namespace_id=other.pk,
        content="Something else.",
        memory_type="rule",
        now=NOW,
        provider=WordModel(),
    ).memory.id
    mirror = mirror_path(repository.pk)
    mirror.mkdir(parents=True)
    assert len(tables_with(WORD) | tables_with(str(full.pk))) > 8
    receipt = asked(owner, full)

    assert erasure.erase(erasure_id=receipt.id, now=NOW + DAY)

    assert tables_with(WORD) == set()
    for key in (full.pk, repository.pk):
        assert tables_with(str(key)) <= REMEMBER | {"django_admin_log"}
        assert tables_with(UUID(str(key)).hex) <= REMEMBER
    assert not cypher.has_graph(full.pk)
    assert not mirror.exists()
    assert Memory.objects.get().pk == kept
    assert Namespace.objects.filter(pk=other.pk).exists()


@pytest.mark.django_db
def test_the_receipt_counts_and_the_trail_stays(full: Namespace, owner: User) -> None:
    receipt = asked(owner, full)
    assert (receipt.state, receipt.due_at) == ("waiting", NOW + DAY)
    erasure.erase(erasure_id=receipt.id, now=NOW + DAY)

    done = erasure.get_receipt(caller=caller_of(owner), erasure_id=receipt.id)
    assert done.state == "done"
    assert done.counts["memory_memory"] == 2
    assert done.counts["graph_repository"] == 1
    actions = AuditEvent.objects.filter(namespace_name="team").values_list("action", flat=True)
    assert {"namespace.delete_request", "namespace.archive", "namespace.delete"} <= set(actions)
    event = AuditEvent.objects.get(action="namespace.delete")
    assert event.detail["rows"] == done.counts
    assert not AuditEvent.objects.filter(detail__icontains=WORD).exists()


@pytest.mark.django_db
def test_before_its_time_and_after_a_restore_nothing_is_erased(
    full: Namespace, owner: User
) -> None:
    receipt = asked(owner, full)
    full.refresh_from_db()
    assert full.archived_at == NOW, "closed at once"
    assert not erasure.erase(erasure_id=receipt.id, now=NOW)
    assert erasure.due_erasures(now=NOW) == []
    accounts.restore_namespace(namespace=full, actor="admin")

    assert erasure.erase(erasure_id=receipt.id, now=NOW + DAY)

    assert Memory.objects.count() == 2
    assert Erasure.objects.get().state == "cancelled"
    assert asked(owner, full).state == "waiting", "it can be asked for again"


@pytest.mark.django_db
@pytest.mark.parametrize("typed", ["", "TEAM", "team ", "elsewhere"])
def test_a_wrong_confirmation_does_nothing(full: Namespace, owner: User, typed: str) -> None:
    with pytest.raises(erasure.ConfirmationWrong):
        asked(owner, full, confirm=typed)
    full.refresh_from_db()
    assert full.archived_at is None


@pytest.mark.django_db
def test_the_preview_counts_what_the_caller_may_know(full: Namespace, owner: User) -> None:
    rows = erasure.count_rows(caller=caller_of(owner), namespace_id=full.pk, now=NOW)
    assert (rows["memory_memory"], rows["memory_memoryversion"]) == (1, 1)
    assert rows["graph_repository"] == 1


@pytest.mark.django_db
def test_the_preview_knows_nothing_of_other_peoples_sessions(
    full: Namespace, repository: Repository, owner: User, writer: User
) -> None:
    for user, words in ((owner, "mine"), (writer, "theirs")):
        session = Session.objects.create(
            namespace=full,
            repository=repository,
            user=user,
            agent="codex",
            client_session_id=words,
            started_at=NOW,
            last_event_at=NOW,
        )
        place = {"session": session, "namespace": full}
        Observation.objects.create(
            **place, key="1", kind="prompt", tier="S", happened_at=NOW, received_at=NOW
        )
        Checkpoint.objects.create(**place, origin="agent", summary=words, created_at=NOW)
        Injection.objects.create(**place, event="prompt", kind="rule", reason="x", shown_at=NOW)
        Handoff.objects.create(
            **place, author=user, summary=words, created_at=NOW, expires_at=NOW + DAY
        )
        WorkItem.objects.create(
            namespace=full, owner=user, title=words, created_at=NOW, updated_at=NOW
        )
    rows = erasure.count_rows(caller=caller_of(owner), namespace_id=full.pk, now=NOW)
    kinds = ("session", "observation", "checkpoint", "injection", "handoff", "workitem")
    assert [rows[f"memory_{kind}"] for kind in kinds] == [1] * 6
    Session.objects.filter(user=writer).update(
        continues=Session.objects.get(user=owner), work_item=WorkItem.objects.first()
    )
    receipt = asked(owner, full)
    assert erasure.erase(erasure_id=receipt.id, now=NOW + 2 * DAY)
    assert not Session.objects.exists()
    assert not WorkItem.objects.exists()


@pytest.mark.django_db
def test_a_receipt_is_for_whoever_asked(full: Namespace, owner: User, maintainer: User) -> None:
    receipt = asked(owner, full)
    with pytest.raises(erasure.ErasureUnknown):
        erasure.get_receipt(caller=caller_of(maintainer), erasure_id=receipt.id)


@pytest.mark.django_db
def test_a_deletion_that_broke_off_goes_on(
    full: Namespace, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    receipt = asked(owner, full)

    def die(*_: Any, **__: Any) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(erasure, "_finish", die)
        with pytest.raises(RuntimeError, match="killed"):
            erasure.erase(erasure_id=receipt.id, now=NOW + DAY)
    assert erasure.due_erasures(now=NOW + DAY) == [receipt.id]

    assert erasure.erase(erasure_id=receipt.id, now=NOW + DAY)

    assert tables_with(WORD) == set()
    assert Erasure.objects.get().counts["memory_memory"] == 2, "the counts of both rounds"


@pytest.mark.django_db(transaction=True)
def test_it_waits_for_whoever_indexes(full: Namespace, owner: User, repository: Repository) -> None:
    import threading

    from django.db import connection as own

    receipt = asked(owner, full)
    taken, over = threading.Event(), threading.Event()

    def index() -> None:
        with only_worker(work=Work.INDEX, repository_id=repository.pk):
            taken.set()
            over.wait(30)
        own.close()

    worker = threading.Thread(target=index)
    worker.start()
    taken.wait(30)
    assert not erasure.erase(erasure_id=receipt.id, now=NOW + DAY)
    assert Repository.objects.filter(pk=repository.pk).exists()
    over.set()
    worker.join()

    assert erasure.erase(erasure_id=receipt.id, now=NOW + DAY)
    with pytest.raises(Repository.DoesNotExist):
        put_symbols(repository, "User.back")
    assert tables_with(WORD) == set()


@pytest.mark.django_db(transaction=True)
def test_who_writes_meanwhile_fails_and_brings_nothing_back(
    full: Namespace, owner: User, writer: User
) -> None:
    late = caller_of(writer)  # read its rights while the namespace was open
    receipt = asked(owner, full)
    erasure.erase(erasure_id=receipt.id, now=NOW + DAY)
    with pytest.raises((IntegrityError, Memory.DoesNotExist)), transaction.atomic():
        store_memory(
            caller=late,
            namespace_id=full.pk,
            content="Late.",
            memory_type="rule",
            now=NOW,
            provider=WordModel(),
        )
    assert not Memory.objects.exists()
    assert not cypher.has_graph(full.pk)


@pytest.mark.django_db
def test_contents_that_another_namespace_has_stay(full: Namespace, owner: User) -> None:
    other = factories.make_repository(factories.make_namespace("other", owner=owner), "copy")
    put_symbols(other, "User.login")
    shared = factories.file_fact("src/user.py").blob
    for blob in (shared, "b" * 40):
        BlobFacts.objects.create(blob=blob, language="python", extractor_version=1, facts=b"")
    erasure.erase(erasure_id=asked(owner, full).id, now=NOW + DAY)
    assert BlobFacts.objects.filter(blob=shared).exists()
