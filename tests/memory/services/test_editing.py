"""Refining, splitting and merging: nothing is lost, nothing is seen by more people than before."""

from collections.abc import Callable
from threading import Barrier, Thread
from typing import Any
from unittest.mock import patch
from uuid import UUID, uuid4

import pytest
from django.db import connections, transaction

from codemem.accounts import services as accounts
from codemem.accounts.models import AuditEvent, Namespace, User
from codemem.accounts.values import Caller, Role
from graph import queries as graph
from graph import services as graph_services
from graph.models import Repository
from graph.values import VertexLabel, graph_id
from memory import history, queries
from memory.models import Anchor, Memory, MemoryEntity, MemoryUse, MemoryVersion, ReviewItem
from memory.services import (
    MemoryChanged,
    MemoryInvalid,
    MemoryTaken,
    MemoryUnknown,
    NodesApart,
    Part,
    RightMissing,
    StateUnfit,
    associate,
    decide,
    delete_memory,
    editing,
    merge_memories,
    refine_memory,
    restore_memory,
    split_memory,
)
from memory.values import RelationshipKind, StoredMemory
from tests import factories
from tests.memory.conftest import AbsentModel, Ask, Store, WordModel, put_symbols

NOW = factories.NOW
pytestmark = pytest.mark.django_db

Refine = Callable[..., editing.Refined]


@pytest.fixture
def refine(writing: Caller, model: WordModel) -> Refine:
    def refine(memory: StoredMemory, **changes: Any) -> editing.Refined:
        arguments: dict[str, Any] = {
            "caller": writing,
            "memory_id": memory.id,
            "now": NOW,
            "provider": model,
        }
        return refine_memory(**(arguments | changes))

    return refine


@pytest.fixture
def merge(writing: Caller, model: WordModel) -> Callable[..., editing.Merged]:
    def merge(*memories: StoredMemory, content: str = "Both.", **changes: Any) -> editing.Merged:
        arguments: dict[str, Any] = {
            "caller": writing,
            "source_ids": [memory.id for memory in memories],
            "content": content,
            "now": NOW,
            "provider": model,
        }
        return merge_memories(**(arguments | changes))

    return merge


def row(memory: StoredMemory) -> Memory:
    return Memory.objects.get(pk=memory.id)


def links_of(memory: StoredMemory) -> set[tuple[str, int, int]]:
    vertex = graph_id(label=VertexLabel.MEMORY, key=memory.number)
    links = graph.links_of(namespace_id=memory.namespace_id, vertices=[vertex])
    return {(link.kind, link.source, link.target) for link in links}


# --- Refining -------------------------------------------------------------------------------------
def test_a_refined_memory_keeps_its_id_and_is_found_by_its_new_words_only(
    store: Store, refine: Refine, ask: Ask
) -> None:
    memory = store("Retry failed uploads three times.", tags=["http"]).memory
    refined = refine(memory, content="Queue failed uploads for the night.", reason="it was slow")
    assert refined.memory.id == memory.id
    assert refined.changed == ("content",)
    assert (refined.memory.version, refined.memory.tags) == (2, ("http",))
    assert [hit.memory.content for hit in ask("failed uploads").hits] == [refined.memory.content]
    assert ask("retry three times").hits == ()
    (version,) = MemoryVersion.objects.filter(memory_id=memory.id)
    assert version.snapshot["content"] == memory.content
    assert (version.change, version.reason) == ("refined", "it was slow")
    assert AuditEvent.objects.get(action="memory.refine").detail == {"fields": ["content"]}


def test_what_is_left_out_stays_and_what_is_the_same_makes_no_version(
    store: Store, refine: Refine
) -> None:
    memory = store("Retry three times.", importance=0.7, tags=["http"]).memory
    refined = refine(memory, tags=["net", "http"], rationale="The net fails.")
    assert set(refined.changed) == {"tags", "rationale"}
    assert (refined.memory.importance, refined.memory.content) == (0.7, memory.content)
    again = refine(memory, tags=["net", "http"], rationale="The net fails.")
    assert (again.changed, again.memory.version) == ((), 2)


def test_what_the_new_text_names_is_tied_and_what_only_the_old_one_named_is_not(
    store: Store, refine: Refine, repository: Repository
) -> None:
    save, load = put_symbols(repository, "User.save", "User.load")
    memory = store("User.save is slow.", repository_id=repository.pk).memory
    refined = refine(memory, content="User.load is slow.", links=[])
    ends = {target for _, _, target in links_of(refined.memory)}
    loaded = graph.get_node(repository_id=repository.pk, id=load).vertex
    saved = graph.get_node(repository_id=repository.pk, id=save).vertex
    assert loaded in ends
    assert saved not in ends
    named = set(MemoryEntity.objects.filter(memory_id=memory.id).values_list("key", flat=True))
    assert any("load" in key for key in named)
    assert not any("save" in key for key in named)


def test_an_explicit_link_outlives_the_words(
    store: Store, refine: Refine, repository: Repository
) -> None:
    (save,) = put_symbols(repository, "User.save")
    memory = store("It is slow.", repository_id=repository.pk, links=[save]).memory
    before = links_of(memory)
    assert links_of(refine(memory, content="It is fast by now.").memory) == before != set()


def test_secrets_are_taken_out_of_what_is_refined(store: Store, refine: Refine) -> None:
    memory = store("The key is in the vault.").memory
    key = "ghp_" + "x7Kd93mPqL2vR8sT4wY6zB1nC5hJ0gF7aE2u"
    refined = refine(memory, content=f"The key is {key}, rotated weekly.")
    assert key not in refined.memory.content
    assert refined.redactions


def test_who_read_another_version_is_refused_with_what_it_says_now(
    store: Store, refine: Refine
) -> None:
    memory = store("Retry three times.").memory
    refine(memory, content="Retry five times.", expected_version=1)
    with pytest.raises(MemoryChanged, match="Retry five times"):
        refine(memory, content="Retry seven times.", expected_version=1)
    assert row(memory).content == "Retry five times."


@pytest.mark.django_db(transaction=True)
def test_two_who_refine_different_fields_at_once_both_have_their_way(
    store: Store, refine: Refine
) -> None:
    memory = store("Retry three times.").memory
    together = Barrier(2)

    def change(**fields: Any) -> None:
        try:
            together.wait(timeout=10)
            refine(memory, **fields)
        finally:
            connections.close_all()

    threads = [
        Thread(target=change, kwargs={"content": "Retry five times."}),
        Thread(target=change, kwargs={"tags": ["http"]}),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    after = row(memory)
    assert (after.content, after.tags, after.version) == ("Retry five times.", ["http"], 3)
    assert MemoryVersion.objects.filter(memory_id=memory.id).count() == 2
    assert "http" in after.tokens
    assert "five" in after.tokens


def test_the_words_of_another_memory_are_taken(store: Store, refine: Refine) -> None:
    store("Retry five times, always.")
    memory = store("Deploy on Tuesdays.").memory
    with pytest.raises(MemoryTaken):
        refine(memory, content="Retry five times, always.")
    assert (row(memory).content, row(memory).version) == ("Deploy on Tuesdays.", 1)


def test_without_a_model_the_vector_is_made_later(
    store: Store, refine: Refine, absent_model: AbsentModel
) -> None:
    memory = store("Retry three times.").memory
    refined = refine(memory, content="Retry five times.", provider=absent_model)
    assert not refined.memory.is_embedded


def test_what_is_retired_cannot_be_refined_and_unknown_ids_are_unknown(
    store: Store, refine: Refine, writing: Caller
) -> None:
    memory = store("Retry three times.").memory
    delete_memory(caller=writing, memory_id=memory.id, now=NOW)
    with pytest.raises(StateUnfit, match="retired"):
        refine(memory, content="Retry five times.")
    with pytest.raises(MemoryUnknown):
        refine(memory, memory_id=uuid4(), content="Retry five times.")


def test_a_colleague_may_refine_what_is_shared_but_no_rule(
    store: Store, refine: Refine, namespace: Namespace
) -> None:
    colleague = factories.make_user("wanda")
    accounts.set_role(namespace=namespace, user=colleague, role=Role.WRITER, actor="tests")
    wanda = factories.caller_of(colleague)
    memory = store("Retry three times.").memory
    rule = store("Never log tokens.", memory_type="rule").memory
    refine(memory, caller=wanda, content="Retry five times.")
    assert MemoryVersion.objects.get(memory_id=memory.id).changed_by_name == "wanda"
    assert row(memory).author_name == "walter"
    with pytest.raises(RightMissing):
        refine(rule, caller=wanda, content="Log tokens.")
    with pytest.raises(RightMissing):
        split_memory(
            caller=wanda, memory_id=memory.id, parts=[Part(content="a"), Part(content="b")], now=NOW
        )


# --- Splitting ------------------------------------------------------------------------------------
def test_parts_take_over_what_the_whole_had_and_the_whole_is_superseded(
    store: Store, writing: Caller, repository: Repository, model: WordModel, ask: Ask
) -> None:
    (save,) = put_symbols(repository, "User.save")
    whole = store(
        "Uploads are retried. Downloads are cached.",
        repository_id=repository.pk,
        links=[save],
        tags=["http"],
        importance=0.8,
    ).memory
    Anchor.objects.create(memory=row(whole), repository=repository, kind="file", path="src/user.py")
    split = split_memory(
        caller=writing,
        memory_id=whole.id,
        parts=[Part(content="Uploads are retried."), Part(content="Downloads are cached.")],
        now=NOW,
        provider=model,
    )
    assert split.source.state == "superseded"
    vertex = graph_id(label=VertexLabel.MEMORY, key=whole.number)
    code = graph.get_node(repository_id=repository.pk, id=save).vertex
    for part in split.parts:
        mine = graph_id(label=VertexLabel.MEMORY, key=part.number)
        assert {("PART_OF", mine, vertex), ("RELATES_TO", mine, code)} <= links_of(part)
        assert (part.tags, part.importance, part.is_embedded) == (("http",), 0.8, True)
        assert Anchor.objects.filter(memory_id=part.id, path="src/user.py").count() == 1
    found = ask("uploads", repository_id=repository.pk).hits
    assert [hit.memory.content for hit in found] == ["Uploads are retried."]
    restore_memory(caller=writing, memory_id=whole.id, now=NOW)
    assert row(whole).state == "active"


def test_parts_must_differ_from_each_other_and_from_the_whole(
    store: Store, writing: Caller, model: WordModel
) -> None:
    whole = store("Uploads are retried.").memory
    for contents in (["One."], ["One.", "One."], ["Uploads are retried.", "Two."], ["One.", " "]):
        with pytest.raises(MemoryInvalid):
            split_memory(
                caller=writing,
                memory_id=whole.id,
                parts=[Part(content=content) for content in contents],
                now=NOW,
                provider=model,
            )
    assert (Memory.objects.count(), row(whole).state) == (1, "active")


# --- Merging --------------------------------------------------------------------------------------
def test_a_merged_memory_has_all_that_its_sources_had(
    store: Store,
    merge: Callable[..., editing.Merged],
    repository: Repository,
    ask: Ask,
) -> None:
    save, load = put_symbols(repository, "User.save", "User.load")
    place: dict[str, Any] = {"repository_id": repository.pk, "auto_link": False}
    one = store(
        "Uploads fail at night.", tags=["net"], links=[save], confidence=0.6, **place
    ).memory
    two = store("At night, the net is down.", tags=["ops"], links=[load], **place).memory
    MemoryUse.objects.update_or_create(memory_id=one.id, defaults={"recalled": 3})
    MemoryUse.objects.update_or_create(memory_id=two.id, defaults={"recalled": 4})
    Anchor.objects.create(memory=row(one), repository=repository, kind="file", path="src/user.py")
    merged = merge(one, two, content="Uploads fail at night, when the net is down.")
    assert merged.memory is not None
    assert set(merged.superseded) == {one.id, two.id}
    assert set(merged.memory.tags) == {"net", "ops"}
    assert merged.memory.confidence == pytest.approx(0.8)
    assert MemoryUse.objects.get(memory_id=merged.memory.id).recalled == 7
    assert Anchor.objects.filter(memory_id=merged.memory.id).count() == 1
    mine = graph_id(label=VertexLabel.MEMORY, key=merged.memory.number)
    for source, symbol in ((one, save), (two, load)):
        vertex = graph_id(label=VertexLabel.MEMORY, key=source.number)
        code = graph.get_node(repository_id=repository.pk, id=symbol).vertex
        assert {("SUMMARIZES", mine, vertex), ("RELATES_TO", mine, code)} <= links_of(merged.memory)
        assert (row(source).state, row(source).superseded_by_id) == (
            "superseded",
            merged.memory.id,
        )
    found = ask("uploads at night", repository_id=repository.pk).hits
    assert [hit.memory.id for hit in found] == [merged.memory.id]


def test_a_merge_is_never_seen_by_more_than_its_most_private_source(
    store: Store, merge: Callable[..., editing.Merged], repository: Repository, owner: User
) -> None:
    mine = store("My hunch.", visibility="private", repository_id=repository.pk).memory
    shared = store("What all know.", repository_id=repository.pk).memory
    merged = merge(mine, shared, content="My hunch about what all know.")
    assert merged.memory is not None
    assert merged.memory.visibility == "private"
    assert (merged.superseded, merged.kept) == ((mine.id,), (shared.id,))
    assert row(shared).state == "active"
    others = queries.visible_memories(
        caller=factories.caller_of(owner), now=NOW, include_inactive=True
    )
    assert [memory.pk for memory in others] == [shared.id]


def test_a_merge_of_wider_and_narrower_leaves_the_wider_one(
    store: Store, merge: Callable[..., editing.Merged], repository: Repository
) -> None:
    wide = store("Everywhere.", repository_id=repository.pk, visibility="namespace").memory
    narrow = store("Only here.", repository_id=repository.pk).memory
    branch = store("Only on a branch.", repository_id=repository.pk, branch="b").memory
    merged = merge(wide, narrow, branch)
    assert merged.memory is not None
    assert (merged.memory.visibility, merged.memory.branch) == ("repository", "b")
    assert merged.superseded == (branch.id,)
    assert set(merged.kept) == {wide.id, narrow.id}


def test_what_holds_nowhere_together_cannot_be_merged(
    store: Store,
    merge: Callable[..., editing.Merged],
    namespace: Namespace,
    repository: Repository,
    maintainer: User,
) -> None:
    other = factories.make_repository(namespace, "other", created_by=maintainer)
    here = store("Here.", repository_id=repository.pk).memory
    there = store("There.", repository_id=other.pk).memory
    with pytest.raises(NodesApart):
        merge(here, there)
    with pytest.raises(MemoryInvalid):
        merge(here, here)
    with pytest.raises(MemoryUnknown):
        merge(here, there, source_ids=[here.id, uuid4()])


def test_other_peoples_memories_are_merged_by_who_may(
    store: Store, merge: Callable[..., editing.Merged], maintainer: User, namespace: Namespace
) -> None:
    mary = factories.caller_of(maintainer)
    mine = store("Retry three times.").memory
    theirs = store("Retry thrice, and wait.", caller=mary, is_distinct=True).memory
    asked = merge(mine, theirs, content="Retry three times, and wait.")
    assert asked.memory is None
    assert asked.proposal_id is not None
    assert Memory.objects.filter(state="active").count() == 2
    item = ReviewItem.objects.get(pk=asked.proposal_id)
    assert item.kind == "merge"
    with patch("memory.services.editing.embedding.from_settings", return_value=WordModel()):
        decide(caller=mary, item_id=item.pk, approve=True, now=NOW)
    (merged,) = Memory.objects.filter(state="active")
    assert merged.content == "Retry three times, and wait."


def test_the_words_of_a_source_are_that_source(
    store: Store, merge: Callable[..., editing.Merged]
) -> None:
    one = store("Retry three times.").memory
    two = store("Wait between two attempts at an upload.").memory
    merged = merge(one, two, content="Retry three times.")
    assert merged.memory is not None
    assert merged.memory.id == one.id
    assert merged.superseded == (two.id,)


def test_a_merge_that_dies_in_the_middle_did_nothing(
    store: Store, merge: Callable[..., editing.Merged]
) -> None:
    one, two = store("Retry three times.").memory, store("Deploy on Tuesdays.").memory

    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with (
        patch.object(editing, "record_event", die),
        pytest.raises(KeyboardInterrupt),
        transaction.atomic(),
    ):
        merge(one, two)
    assert set(Memory.objects.values_list("pk", "state")) == {
        (one.id, "active"),
        (two.id, "active"),
    }
    assert MemoryVersion.objects.count() == 0
    assert links_of(one) == set()


def test_a_chain_of_superseding_that_is_a_circle_ends(
    store: Store, writing: Caller, merge: Callable[..., editing.Merged]
) -> None:
    one, two = store("Retry three times.").memory, store("Deploy on Tuesdays.").memory
    merged = merge(one, two, content="Retry on Tuesdays.").memory
    assert merged is not None
    restore_memory(caller=writing, memory_id=one.id, now=NOW)
    back = merge(one, merged, content="Retry three times.").memory
    assert back is not None
    chain = history.decision_chain(
        caller=writing, namespace_id=one.namespace_id, starts=[back], now=NOW
    )
    assert {memory.id for memory in chain.memories} == {one.id, two.id, merged.id}
    assert {link.relationship for link in chain.links} == {"SUMMARIZES"}


def test_a_thousand_links_are_carried(
    store: Store,
    merge: Callable[..., editing.Merged],
    repository: Repository,
) -> None:
    names = [f"method_{number}" for number in range(1_000)]
    symbols = put_symbols(repository, *names)
    one = store("Retry three times.", repository_id=repository.pk, auto_link=False).memory
    two = store("Deploy on Tuesdays.", repository_id=repository.pk).memory
    vertices = graph.vertices_by_id(repository_id=repository.pk, ids=symbols)
    mine = graph_id(label=VertexLabel.MEMORY, key=one.number)
    graph_services.link_all(
        namespace_id=one.namespace_id,
        links=[
            graph_services.NewLink(
                source=mine, target=vertices[symbol].vertex, kind="EXPLAINS", weight=1.0
            )
            for symbol in symbols
        ],
        actor="walter",
        now=NOW,
    )
    merged = merge(one, two).memory
    assert merged is not None
    vertex = graph_id(label=VertexLabel.MEMORY, key=merged.number)
    links = graph.links_of(namespace_id=one.namespace_id, vertices=[vertex], limit=5_000)
    assert sum(link.kind == "EXPLAINS" for link in links) == 1_000


def test_ids_that_are_no_memories_are_unknown(merge: Callable[..., editing.Merged]) -> None:
    with pytest.raises(MemoryUnknown):
        merge(source_ids=[UUID(int=1), UUID(int=2)])
    with pytest.raises(MemoryInvalid):
        merge(source_ids=[UUID(int=1)])


def test_who_links_by_supersedes_ends_the_other_and_cannot_close_a_circle(
    store: Store, writing: Caller
) -> None:
    old, new = store("Retry three times.").memory, store("Deploy on Tuesdays.").memory

    def supersede(source: StoredMemory, target: StoredMemory) -> None:
        associate(
            caller=writing,
            source_id=str(source.id),
            target_id=str(target.id),
            kind=RelationshipKind.SUPERSEDES,
            now=NOW,
        )

    supersede(new, old)
    assert (row(old).state, row(old).superseded_by_id) == ("superseded", new.id)
    with pytest.raises(NodesApart):
        supersede(old, new)
    assert row(new).state == "active"
