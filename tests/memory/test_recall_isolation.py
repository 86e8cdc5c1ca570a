"""Who is answered what, in every mode: an owner, a member and an outsider; three visibilities."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from codemem.accounts.models import Namespace, User
from codemem.accounts.values import Caller
from graph.models import Repository
from memory import modes
from memory.context import make_contexts
from memory.models import Memory
from memory.neighbors import neighbors_of
from memory.recall import recall
from memory.values import RecallHit, RecallQuery, StoredMemory
from tests import factories
from tests.memory.conftest import Store, WordModel, put_symbols

pytestmark = pytest.mark.django_db

NOW = factories.NOW
QUESTION = "how is the saving of invoices retried"
VISIBILITIES = ("private", "repository", "namespace")

Ids = set[UUID]
Way = Callable[[Caller, RecallQuery, WordModel], Ids]


def _ids(memories: Iterable[StoredMemory]) -> Ids:
    return {memory.id for memory in memories}


def _of_hits(hits: Iterable[RecallHit]) -> Ids:
    return {hit.memory.id for hit in hits}


def _full(caller: Caller, query: RecallQuery, model: WordModel) -> Ids:
    return _of_hits(recall(caller=caller, query=query, now=NOW, provider=model).hits)


def _expanded(caller: Caller, query: RecallQuery, model: WordModel) -> Ids:
    return _full(caller, replace(query, expand=True, expansion_depth=3), model)


def _with_impact(caller: Caller, query: RecallQuery, model: WordModel) -> Ids:
    return _full(caller, replace(query, include_impact=True), model)


def _with_everything(caller: Caller, query: RecallQuery, model: WordModel) -> Ids:
    states = frozenset({"proposed", "resolved", "superseded", "retired", "expired"})
    return _full(caller, replace(query, include=states, expand=True), model)


def _as_of(caller: Caller, query: RecallQuery, model: WordModel) -> Ids:
    return _full(caller, replace(query, as_of=NOW + timedelta(days=1)), model)


def _brief(caller: Caller, query: RecallQuery, model: WordModel) -> Ids:
    told = modes.brief(caller=caller, query=query, paths=["User.save"], now=NOW)
    return _ids(memory for section in told.sections for memory in section.memories)


def _digest(caller: Caller, query: RecallQuery, model: WordModel) -> Ids:
    since = replace(query, since=NOW - timedelta(days=3650))
    told = modes.digest(caller=caller, query=since, now=NOW)
    ids = _ids(memory for section in told.sections for memory in section.memories)
    assert sum(told.counts.values()) == len(ids)
    return ids


def _neighbors(caller: Caller, query: RecallQuery, model: WordModel) -> Ids:
    """Return what would be told around a hit that stands beside everything."""
    hit = uuid4()
    steps = dict.fromkeys(Memory.objects.values_list("pk", flat=True), 1)
    found = neighbors_of(
        caller=caller, query=query, around={hit: steps}, characters={hit: 4_000}, now=NOW
    )
    return {one.id for one in found.get(hit, ())}


WAYS: dict[str, Way] = {
    "full": _full,
    "expand": _expanded,
    "impact": _with_impact,
    "every state": _with_everything,
    "as_of": _as_of,
    "brief": _brief,
    "digest": _digest,
    "neighbors": _neighbors,
}


@pytest.fixture(autouse=True)
def one_model(monkeypatch: pytest.MonkeyPatch, model: WordModel) -> None:
    monkeypatch.setattr("codemem.embedding.from_settings", lambda: model)


@pytest.fixture
def memories(store: Store, repository: Repository, model: WordModel) -> dict[str, UUID]:
    """Store one memory of each visibility as the writer: same session, same code, same words."""
    (symbol,) = put_symbols(repository, "User.save")
    ids = {}
    for visibility in VISIBILITIES:
        ids[visibility] = store(
            f"The saving of invoices is retried twice, {visibility} rule.",
            repository_id=repository.pk,
            links=[symbol],
            memory_type="rule",
            importance=0.9,
        ).memory.id
        Memory.objects.filter(pk=ids[visibility]).update(
            visibility=visibility,
            session_id="one",
            created_at=NOW - timedelta(hours=1) + timedelta(seconds=len(ids)),
        )
    make_contexts(limit=100, provider=model)
    return ids


@pytest.fixture
def query(namespace: Namespace, repository: Repository) -> RecallQuery:
    return RecallQuery(
        text=QUESTION, namespace_ids=(namespace.pk,), repository_id=repository.pk, k=20
    )


@pytest.fixture(params=list(WAYS))
def asked(request: pytest.FixtureRequest, model: WordModel) -> Callable[[Caller, RecallQuery], Ids]:
    """Return one of the ways to ask."""
    way = WAYS[request.param]
    return lambda caller, query: way(caller, query, model)


Asked = Callable[[Caller, RecallQuery], Ids]


def test_the_author_is_answered_all_three(
    asked: Asked, memories: dict[str, UUID], query: RecallQuery, writing: Caller
):
    assert asked(writing, query) == set(memories.values())


def test_neither_an_owner_nor_a_reader_is_answered_what_is_private(
    asked: Asked, memories: dict[str, UUID], query: RecallQuery, owner: User, reader: User
):
    shared = {memories["repository"], memories["namespace"]}
    for member in (owner, reader):
        assert asked(factories.caller_of(member), query) == shared


@pytest.mark.usefixtures("memories")
def test_an_outsider_is_answered_nothing(asked: Asked, query: RecallQuery, outsider: User):
    assert asked(factories.caller_of(outsider), query) == set()


def test_another_repository_is_answered_what_is_everybodys(
    asked: Asked,
    memories: dict[str, UUID],
    query: RecallQuery,
    namespace: Namespace,
    reader: User,
):
    other = factories.make_repository(namespace, "other")
    elsewhere = replace(query, repository_id=other.pk)
    assert asked(factories.caller_of(reader), elsewhere) == {memories["namespace"]}


def test_words_of_what_is_private_weigh_nothing_for_others(
    memories: dict[str, UUID], query: RecallQuery, reader: User
):
    from memory.candidates import scope_of

    scope = scope_of(caller=factories.caller_of(reader), query=query, terms=["privat"])
    assert scope.statistics.frequencies["privat"] == 0
