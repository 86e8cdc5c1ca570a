"""Storing: what is kept and what is refused, once in a scope, tied to the code it names."""

import unicodedata
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from codemem.accounts import services as accounts
from codemem.accounts.models import Namespace, User
from codemem.accounts.values import Caller, TokenScope
from graph import queries as graph
from graph.models import Repository
from graph.values import VertexLabel, graph_id
from memory.models import Memory
from memory.services import (
    LinkUnknown,
    MemoryInvalid,
    NamespaceUnknown,
    RepositoryUnknown,
    RightMissing,
)
from memory.values import MemoryType, StoreAction, StoredMemory
from tests import factories
from tests.memory.conftest import AbsentModel, Store, put_symbols

NOW = factories.NOW
pytestmark = pytest.mark.django_db


def linked_weights(memory: StoredMemory) -> dict[int, float]:
    vertex = graph_id(label=VertexLabel.MEMORY, key=memory.number)
    links = graph.links_of(namespace_id=memory.namespace_id, vertices=[vertex])
    return {link.target: link.confidence for link in links}


def test_a_stored_memory_says_who_made_it_and_where_it_holds(
    store: Store, writing: Caller, namespace: Namespace
):
    outcome = store(
        "We deploy on Tuesdays.", memory_type="rule", importance=1, tags=["Ops", "ops "]
    )
    memory = outcome.memory
    assert outcome.action is StoreAction.CREATED
    assert memory.memory_type is MemoryType.RULE
    assert (memory.author, memory.author_id) == (writing.username, writing.user_id)
    assert (memory.namespace, memory.repository, memory.branch) == (namespace.name, None, "")
    assert memory.tags == ("ops",)
    assert memory.importance == 1.0
    assert memory.is_embedded
    row = Memory.objects.get(pk=memory.id)
    assert row.token_id == writing.token_id
    assert "tuesday" in row.tokens


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ("  a decision\r\nin two lines \x00\x07", "a decision\nin two lines"),
        ("cafe\u0301", "caf\u00e9"),
        ("\ufeffwith a mark", "with a mark"),
        ("tab\tstays", "tab\tstays"),
        ("half a pair \ud83d", "half a pair"),
        ("\u202b\u05e9\u05dc\u05d5\u05dd\u202c", "\u202b\u05e9\u05dc\u05d5\u05dd\u202c"),
    ],
)
def test_content_is_kept_in_one_normal_form(store: Store, content: str, kept: str):
    memory = store(content).memory
    assert memory.content == kept
    assert unicodedata.is_normalized("NFC", memory.content)


@pytest.mark.parametrize(
    "content", ["", "  \n\t ", "\u200b\u200d\ufeff", "\x00\x01", "\u202e\u202c"]
)
def test_content_without_anything_visible_is_refused(store: Store, content: str):
    with pytest.raises(MemoryInvalid, match="empty"):
        store(content)


def test_too_long_content_is_refused_with_its_length(store: Store, settings: Any):
    settings.MAXIMUM_MEMORY_CHARACTERS = 200
    assert store("x" * 200).action is StoreAction.CREATED
    with pytest.raises(MemoryInvalid, match="201 characters; at most 200"):
        store("y" * 201)


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), float("inf"), True, "0.5", None])
@pytest.mark.parametrize("name", ["importance", "confidence"])
def test_a_share_outside_its_range_is_refused_not_clamped(store: Store, name: str, value: Any):
    with pytest.raises(MemoryInvalid, match=f"{name} is"):
        store("We deploy on Tuesdays.", **{name: value})
    assert not Memory.objects.exists()


def test_an_unknown_type_is_refused_with_those_that_are_known(store: Store):
    with pytest.raises(MemoryInvalid, match=r"'hunch'.*decision, pattern"):
        store("We deploy on Tuesdays.", memory_type="hunch")


def test_tags_have_limits(store: Store):
    with pytest.raises(MemoryInvalid, match="51 tags"):
        store("We deploy.", tags=[f"tag {number}" for number in range(51)])
    with pytest.raises(MemoryInvalid, match="101 characters"):
        store("We deploy.", tags=["x" * 101])
    assert store("We deploy.", tags=["", "  ", "a\x00b"]).memory.tags == ("ab",)


@pytest.mark.parametrize(
    "when",
    [
        {"expires_at": NOW - timedelta(seconds=1)},
        {"expires_at": NOW},
        {"expires_at": datetime(2030, 1, 1)},  # noqa: DTZ001  without a zone on purpose
        {"ttl_hours": 0},
        {"ttl_hours": -1},
        {"ttl_hours": float("nan")},
        {"ttl_hours": 1e9},
        {"ttl_hours": 1, "expires_at": NOW + timedelta(hours=1)},
    ],
)
def test_an_expiry_that_makes_no_sense_is_refused(store: Store, when: dict[str, Any]):
    with pytest.raises(MemoryInvalid, match=r"expires_at|ttl_hours"):
        store("We deploy on Tuesdays.", **when)


def test_hours_to_live_become_a_time_of_expiry(store: Store):
    assert store("For today.", ttl_hours=2).memory.expires_at == NOW + timedelta(hours=2)


def test_the_same_words_in_the_same_scope_are_one_memory(store: Store):
    first = store("We deploy on  Tuesdays.", tags=["ops"])
    again = store("  We deploy on  Tuesdays.\n", tags=["ops", "release"], importance=0.9)
    assert again.action is StoreAction.UPDATED
    assert again.memory.id == first.memory.id
    assert again.memory.tags == ("ops", "release")
    assert again.added_tags == ("release",)
    assert again.memory.importance == first.memory.importance
    assert "releas" in Memory.objects.get().tokens


def test_the_same_words_in_another_scope_are_another_memory(
    store: Store, repository: Repository, writer: User
):
    other = factories.make_namespace(owner=writer)
    scopes: list[dict[str, Any]] = [
        {},
        {"repository_id": repository.pk},
        {"repository_id": repository.pk, "branch": "next"},
        {"namespace_id": other.pk, "caller": factories.caller_of(writer)},
    ]
    outcomes = [store("We deploy on Tuesdays.", **scope) for scope in scopes]
    assert {outcome.action for outcome in outcomes} == {StoreAction.CREATED}


def test_an_expired_duplicate_makes_room_for_the_new_one(store: Store):
    first = store("We deploy on Tuesdays.", ttl_hours=1).memory
    again = store("We deploy on Tuesdays.", now=NOW + timedelta(hours=2))
    assert again.action is StoreAction.CREATED
    assert again.memory.id != first.id
    assert Memory.objects.get(pk=first.id).state == Memory.State.EXPIRED


@pytest.mark.django_db(transaction=True)
def test_the_same_memory_stored_at_once_is_one_memory(store: Store):
    def store_with(tag: str) -> StoreAction:
        try:
            return store("We deploy on Tuesdays.", tags=[tag]).action
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        actions = list(pool.map(store_with, [f"tag{number}" for number in range(8)]))
    assert sorted(actions) == [StoreAction.CREATED] + [StoreAction.UPDATED] * 7
    assert len(Memory.objects.get().tags) == 8


def test_without_a_model_the_memory_is_kept_without_a_vector(
    store: Store, absent_model: AbsentModel
):
    memory = store("We deploy on Tuesdays.", provider=absent_model).memory
    assert not memory.is_embedded
    assert Memory.objects.get(pk=memory.id).embedding_fingerprint == ""


def test_explicit_links_and_mentioned_code_are_tied(store: Store, repository: Repository):
    save, load = put_symbols(repository, "User.save", "User.load")
    outcome = store(
        "`User.load` must be called first; see src/user.py, not CamelNowhere.",
        repository_id=repository.pk,
        links=[save, save],
    )
    assert outcome.linked == (save, load, "file:src/user.py")
    assert sorted(linked_weights(outcome.memory).values()) == [0.5, 0.5, 1.0]


def test_mentioned_code_is_left_alone_when_asked(store: Store, repository: Repository):
    put_symbols(repository, "User.save")
    outcome = store("`User.save` is slow.", repository_id=repository.pk, auto_link=False)
    assert outcome.linked == ()


def test_an_ambiguous_name_is_not_tied(store: Store, repository: Repository):
    put_symbols(repository, "User.save", "Order.save")
    assert store("`save` is slow.", repository_id=repository.pk).linked == ()


def test_links_of_a_repeated_memory_are_added(store: Store, repository: Repository):
    (save,) = put_symbols(repository, "User.save")
    first = store("It is slow.", repository_id=repository.pk)
    again = store("It is slow.", repository_id=repository.pk, links=[save])
    assert again.linked == (save,)
    assert list(linked_weights(first.memory).values()) == [1.0]


def test_a_repetition_does_not_weaken_an_explicit_link(store: Store, repository: Repository):
    (save,) = put_symbols(repository, "User.save")
    scope = {"repository_id": repository.pk}
    first = store("`User.save` is slow.", links=[save], **scope)
    store("`User.save` is slow.", **scope)
    assert list(linked_weights(first.memory).values()) == [1.0]


@pytest.mark.parametrize(
    "link",
    ["sym:src/user.py#Nothing", "file:none.py", "nonsense", "019a0000-0000-7000-8000-000000000000"],
)
def test_an_unknown_link_is_an_error_before_anything_is_written(
    store: Store, repository: Repository, link: str
):
    put_symbols(repository, "User.save")
    with pytest.raises(LinkUnknown):
        store("It is slow.", repository_id=repository.pk, links=[link])
    assert not Memory.objects.exists()


def test_code_is_not_linked_without_its_repository(store: Store):
    with pytest.raises(LinkUnknown, match="name the repository"):
        store("It is slow.", links=["file:src/user.py"])


def test_a_memory_of_another_namespace_is_no_link(store: Store, outsider: User):
    elsewhere = outsider.namespaces.get()
    secret = store(
        "Secret plan.", caller=factories.caller_of(outsider), namespace_id=elsewhere.pk
    ).memory
    with pytest.raises(LinkUnknown, match="not for you"):
        store("It is slow.", links=[str(secret.id)])


def test_an_outsider_is_told_that_there_is_no_such_namespace(store: Store, outsider: User):
    with pytest.raises(NamespaceUnknown):
        store("We deploy.", caller=factories.caller_of(outsider))


def test_a_reader_is_told_the_role_that_is_missing(store: Store, reader: User):
    with pytest.raises(RightMissing, match="role writer"):
        store("We deploy.", caller=factories.caller_of(reader))


def test_a_token_without_the_scope_is_told_which(store: Store, writer: User):
    caller = factories.caller_of(writer, scopes=[TokenScope.MEMORY_READ])
    with pytest.raises(RightMissing, match="scope memory:write"):
        store("We deploy.", caller=caller)


def test_an_archived_namespace_takes_nothing(store: Store, namespace: Namespace, owner: User):
    accounts.archive_namespace(namespace=namespace, actor="olga", now=NOW)
    with pytest.raises(NamespaceUnknown):
        store("We deploy.", caller=factories.caller_of(owner))


def test_a_repository_of_another_namespace_is_unknown(store: Store, outsider: User):
    theirs = factories.make_repository(outsider.namespaces.get())
    with pytest.raises(RepositoryUnknown):
        store("We deploy.", repository_id=theirs.pk)


def test_a_branch_needs_its_repository(store: Store):
    with pytest.raises(MemoryInvalid, match="name its repository"):
        store("We deploy.", branch="next")
