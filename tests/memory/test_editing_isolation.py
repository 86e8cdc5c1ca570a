"""Who may see and change what: private, repository and namespace memories; four kinds of people."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from codemem.accounts import services as accounts
from codemem.accounts.models import Namespace, User
from codemem.accounts.values import Caller, Role
from graph import queries as graph
from graph.models import Repository
from graph.values import VertexLabel, graph_id
from memory import history, queries
from memory.models import Anchor, Memory
from memory.portability.reading import Selection, records
from memory.recall import recall
from memory.services import (
    MemoryUnknown,
    Part,
    RightMissing,
    StateUnfit,
    answer_question,
    ask_question,
    associate,
    decide,
    delete_memory,
    dissociate,
    give_feedback,
    list_drifted,
    list_questions,
    merge_memories,
    move,
    pin,
    preview_purge,
    purge_memory,
    recheck,
    refine_memory,
    reopen,
    resolve,
    restore_memory,
    split_memory,
)
from memory.values import RecallQuery, RelationshipKind, StoredMemory, Visibility
from memory.wording import MemoryInvalid
from tests import factories
from tests.memory.conftest import Store, WordModel, put_symbols

NOW = factories.NOW
pytestmark = pytest.mark.django_db


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """The author, a colleague who writes, the namespace's owner, and somebody outside."""

    author: Caller
    colleague: Caller
    owner: Caller
    outsider: Caller


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    repository: Repository
    symbol: str
    vertex: int
    private: StoredMemory
    shared: StoredMemory
    everywhere: StoredMemory


@pytest.fixture
def people(namespace: Namespace, writing: Caller, owner: User, outsider: User) -> People:
    wanda = factories.make_user("wanda")
    accounts.set_role(namespace=namespace, user=wanda, role=Role.WRITER, actor="tests")
    return People(
        author=writing,
        colleague=factories.caller_of(wanda),
        owner=factories.caller_of(owner),
        outsider=factories.caller_of(outsider),
    )


@pytest.fixture
def place(store: Store, repository: Repository) -> Place:
    (symbol,) = put_symbols(repository, "User.save")
    node = graph.get_node(repository_id=repository.pk, id=symbol)

    def made(text: str, visibility: str) -> StoredMemory:
        memory = store(
            text, repository_id=repository.pk, visibility=visibility, links=[symbol]
        ).memory
        Anchor.objects.create(
            memory_id=memory.id,
            repository=repository,
            kind="file",
            path="src/user.py",
            state="drifted",
        )
        return memory

    return Place(
        repository=repository,
        symbol=symbol,
        vertex=node.vertex,
        private=made("A hunch of mine about saving.", "private"),
        shared=made("Saving is slow in this repository.", "repository"),
        everywhere=made("Whoever saves, logs it.", "namespace"),
    )


NAMES = (
    *("refine", "split", "merge", "delete", "restore", "preview", "purge", "feedback", "verify"),
    *("confirm", "resolve", "reopen", "pin", "move", "link", "unlink", "versions", "answer"),
)


def changes(memory: StoredMemory) -> dict[str, Callable[[Caller], object]]:
    """Return every way to read or change one memory, by name."""
    one: dict[str, Any] = {"memory_id": memory.id, "now": NOW}
    model = WordModel()
    return {
        "refine": lambda who: refine_memory(
            caller=who, content="Something else.", provider=model, **one
        ),
        "split": lambda who: split_memory(
            caller=who, parts=[Part(content="One."), Part(content="Two.")], provider=model, **one
        ),
        "merge": lambda who: merge_memories(
            caller=who,
            source_ids=[memory.id, UUID(int=7)],
            content="All.",
            now=NOW,
            provider=model,
        ),
        "delete": lambda who: delete_memory(caller=who, **one),
        "restore": lambda who: restore_memory(caller=who, **one),
        "preview": lambda who: preview_purge(caller=who, **one),
        "purge": lambda who: purge_memory(caller=who, confirm=str(memory.id), **one),
        "feedback": lambda who: give_feedback(caller=who, verdict="helpful", **one),
        "verify": lambda who: recheck(caller=who, **one),
        "confirm": lambda who: recheck(caller=who, confirm=True, **one),
        "resolve": lambda who: resolve(caller=who, **one),
        "reopen": lambda who: reopen(caller=who, **one),
        "pin": lambda who: pin(caller=who, is_pinned=True, **one),
        "move": lambda who: move(caller=who, visibility=Visibility.NAMESPACE, **one),
        "link": lambda who: associate(
            caller=who,
            source_id=str(memory.id),
            target_id="sym:src/user.py#User.save",
            kind=RelationshipKind.EXPLAINS,
            now=NOW,
        ),
        "unlink": lambda who: dissociate(
            caller=who,
            source_id=str(memory.id),
            target_id="sym:src/user.py#User.save",
            kind=RelationshipKind.RELATES_TO,
            now=NOW,
        ),
        "versions": lambda who: history.versions_of(caller=who, **one),
        "answer": lambda who: answer_question(
            caller=who, question_id=memory.id, text="So.", now=NOW, provider=model
        ),
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_private_memory_does_not_exist_for_anybody_else(
    name: str, place: Place, people: People
) -> None:
    assert set(changes(place.private)) == set(NAMES)
    change = changes(place.private)[name]
    for who in (people.colleague, people.owner, people.outsider):
        with pytest.raises(MemoryUnknown):
            change(who)
    assert Memory.objects.get(pk=place.private.id).version == 1


@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_a_namespace_exists_for_an_outsider(
    name: str, place: Place, people: People
) -> None:
    for memory in (place.shared, place.everywhere):
        with pytest.raises(MemoryUnknown):
            changes(memory)[name](people.outsider)


@pytest.mark.parametrize("name", ["split", "delete", "restore", "preview", "purge", "pin"])
def test_what_takes_something_away_is_for_its_author_and_for_maintainers(
    name: str, place: Place, people: People
) -> None:
    change = changes(place.shared)[name]
    with pytest.raises(RightMissing):
        change(people.colleague)
    change(people.owner)


def test_memories_of_code_and_their_counts_are_the_callers_own(
    place: Place, people: People
) -> None:
    def known(who: Caller) -> set[str]:
        found = history.memories_of_nodes(
            caller=who,
            namespace_id=place.repository.namespace_id,
            nodes={place.vertex: (place.symbol, 0)},
            anchored={place.private.id: 1.0, place.shared.id: 1.0},
            now=NOW,
        )
        return {one.memory.content for one in found}

    def counted(who: Caller) -> int:
        counts = history.count_about(
            caller=who,
            namespace_id=place.repository.namespace_id,
            vertices=[place.vertex],
            now=NOW,
        )
        return counts[place.vertex]

    shared = {place.shared.content, place.everywhere.content}
    assert known(people.author) == shared | {place.private.content}
    assert known(people.colleague) == known(people.owner) == shared
    assert known(people.outsider) == set()
    assert [counted(who) for who in (people.author, people.colleague, people.outsider)] == [3, 2, 0]


def test_lists_and_times_are_the_callers_own(place: Place, people: People) -> None:
    spaces = [place.repository.namespace_id]

    def told(who: Caller) -> tuple[int, int]:
        events = history.timeline(caller=who, now=NOW, namespace_ids=spaces)
        drifted = list_drifted(caller=who, now=NOW, namespace_ids=spaces)
        return len(events), len(drifted)

    assert told(people.author) == (3, 3)
    assert told(people.colleague) == told(people.owner) == (2, 2)
    assert told(people.outsider) == (0, 0)


def test_no_walk_and_no_chain_leads_through_a_private_memory(
    place: Place, people: People, store: Store
) -> None:
    end = store("Far away.", repository_id=place.repository.pk).memory
    for source, target in ((place.shared, place.private), (place.private, end)):
        associate(
            caller=people.author,
            source_id=str(source.id),
            target_id=str(target.id),
            kind=RelationshipKind.LEADS_TO,
            now=NOW,
        )

    def chain(who: Caller) -> tuple[set[str], int]:
        found = history.decision_chain(
            caller=who, namespace_id=end.namespace_id, starts=[place.shared], now=NOW
        )
        return {memory.content for memory in found.memories}, len(found.links)

    def walked(who: Caller) -> set[int]:
        walk = graph.traverse(
            namespace_id=end.namespace_id,
            starts=[graph_id(label=VertexLabel.MEMORY, key=place.shared.number)],
            max_depth=3,
            kinds=["LEADS_TO"],
            allowed_memories=lambda vertices: queries.memories_by_vertex(
                caller=who, namespace_id=end.namespace_id, vertices=vertices, now=NOW
            ),
        )
        return {visit.vertex for visit in walk.visits}

    assert chain(people.author) == (
        {place.shared.content, place.private.content, end.content},
        2,
    )
    assert chain(people.owner) == ({place.shared.content}, 0)
    assert len(walked(people.author)) == 3
    assert len(walked(people.owner)) == 1


def test_only_its_author_publishes_a_private_memory_and_a_maintainer_widens_a_shared_one(
    place: Place, people: People
) -> None:
    one: dict[str, Any] = {"visibility": Visibility.NAMESPACE, "now": NOW}
    item = move(caller=people.author, memory_id=place.shared.id, **one)
    assert item is not None
    assert Memory.objects.get(pk=place.shared.id).visibility == "repository"
    with pytest.raises(RightMissing):
        decide(caller=people.author, item_id=item.pk, approve=True, now=NOW)
    decide(caller=people.owner, item_id=item.pk, approve=True, now=NOW)
    assert Memory.objects.get(pk=place.shared.id).visibility == "namespace"
    assert move(caller=people.author, memory_id=place.private.id, **one) is None
    assert Memory.objects.get(pk=place.private.id).visibility == "namespace"
    with pytest.raises(RightMissing):
        move(
            caller=people.owner,
            memory_id=place.everywhere.id,
            visibility=Visibility.PRIVATE,
            now=NOW,
        )


def test_verdicts_are_one_for_each_and_move_the_confidence_within_bounds(
    place: Place, people: People
) -> None:
    def say(who: Caller, verdict: str) -> tuple[int, int, float]:
        said = give_feedback(caller=who, memory_id=place.shared.id, verdict=verdict, now=NOW)
        return said.helpful, said.wrong, said.confidence

    assert say(people.author, "helpful") == (1, 0, 1.0)  # praise of one's own counts nothing
    assert say(people.colleague, "wrong") == (1, 1, 0.85)
    assert say(people.colleague, "wrong") == (1, 1, 0.85)
    assert say(people.colleague, "helpful") == (2, 0, 1.0)
    assert say(people.owner, "wrong")[2] == 0.85
    first = give_feedback(
        caller=people.owner, memory_id=place.everywhere.id, verdict="wrong", now=NOW
    )
    assert first.proposal_id is not None
    assert Memory.objects.get(pk=place.everywhere.id).state == "active"


def test_questions_are_asked_listed_and_answered_in_their_scope(
    repository: Repository, people: People, place: Place
) -> None:
    model = WordModel()
    asked = ask_question(
        caller=people.author,
        namespace_id=repository.namespace_id,
        repository_id=repository.pk,
        text="Why is saving slow?",
        asked_of="wanda",
        now=NOW,
        provider=model,
    ).memory
    spaces = [repository.namespace_id]

    def open_for(who: Caller, *, only_to_me: bool = False) -> list[str | None]:
        found = list_questions(caller=who, now=NOW, namespace_ids=spaces, only_to_me=only_to_me)
        return [one.asked_of for one in found]

    assert open_for(people.owner) == ["wanda"]
    assert open_for(people.colleague, only_to_me=True) == ["wanda"]
    assert open_for(people.owner, only_to_me=True) == []
    assert open_for(people.outsider) == []
    with pytest.raises(MemoryInvalid, match="no member"):
        ask_question(
            caller=people.author,
            namespace_id=repository.namespace_id,
            text="Who?",
            asked_of="otto",
            now=NOW,
        )
    outcome, resolved = answer_question(
        caller=people.colleague,
        question_id=asked.id,
        text="It writes the index three times.",
        now=NOW,
        provider=model,
    )
    assert resolved.state == "resolved"
    assert outcome.memory.visibility is Visibility.REPOSITORY
    vertex = graph_id(label=VertexLabel.MEMORY, key=asked.number)
    links = graph.links_of(namespace_id=asked.namespace_id, vertices=[vertex])
    assert {link.kind for link in links} == {"EXPLAINS"}
    assert open_for(people.owner) == []
    with pytest.raises(StateUnfit):
        resolve(caller=people.author, memory_id=place.shared.id, now=NOW)
    reopened = reopen(caller=people.author, memory_id=asked.id, now=NOW)
    assert reopened.state == "active"
    assert open_for(people.owner) == ["wanda"]


def test_publishing_shows_what_it_says_now_and_not_what_its_author_kept_to_themselves(
    people: People, store: Store, namespace: Namespace, model: WordModel
) -> None:
    memory = store("The vault opens with heliotrope.", caller=people.author, visibility="private")
    key = memory.memory.id
    later = NOW + timedelta(hours=1)
    refine_memory(
        caller=people.author,
        memory_id=key,
        content="The vault has an owner.",
        reason="heliotrope is nobody's business",
        now=later,
        provider=model,
    )
    published = later + timedelta(hours=1)
    move(caller=people.author, memory_id=key, visibility=Visibility.NAMESPACE, now=published)
    now = published + timedelta(hours=1)
    refine_memory(caller=people.author, memory_id=key, content="The vault has two owners.", now=now)

    def told(caller: Caller) -> str:
        selection = Selection(caller=caller, namespace=namespace, now=now)
        question = RecallQuery(
            text="vault heliotrope", namespace_ids=(namespace.pk,), as_of=NOW + timedelta(minutes=1)
        )
        return repr(
            (
                history.versions_of(caller=caller, memory_id=key, now=now),
                history.memory_at(caller=caller, memory_id=key, version=1, now=now),
                history.timeline(caller=caller, now=now, namespace_ids=[namespace.pk]),
                recall(caller=caller, query=question, now=now, provider=model).hits,
                list(records(selection)),
            )
        )

    assert "heliotrope" in told(people.author)
    for caller in (people.colleague, people.owner):
        assert "heliotrope" not in told(caller)
        (version,) = history.versions_of(caller=caller, memory_id=key, now=now)
        assert "The vault has an owner." in repr(version)
