"""From a question to ranked memories: filters, floor, links, scopes, and who may see what."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from codemem.accounts import services as accounts
from codemem.accounts.models import Namespace, User
from codemem.accounts.values import TokenScope
from graph.models import Repository
from memory.recall import QueryInvalid
from memory.services import delete_memory, restore_memory
from memory.values import MemoryType, RecallAnswer
from tests import factories
from tests.memory.conftest import AbsentModel, Ask, Store, put_symbols

NOW = factories.NOW
pytestmark = pytest.mark.django_db


def contents(answer: RecallAnswer) -> list[str]:
    return [hit.memory.content for hit in answer.hits]


def test_recall_finds_the_memory_that_shares_words_with_the_question(store: Store, ask: Ask):
    store("Retry webhooks with exponential backoff, six attempts at most.")
    store("Anna owns the authentication module.")
    answer = ask("how are webhooks retried with backoff")
    assert contents(answer) == ["Retry webhooks with exponential backoff, six attempts at most."]
    assert answer.used_vectors
    assert 0 < answer.hits[0].score <= 1
    assert 0 < answer.hits[0].relevance <= 1


def test_a_question_that_nothing_answers_gets_nothing(store: Store, ask: Ask):
    for content in ("We deploy on Tuesdays.", "Logs are JSON lines.", "Prices use Decimal."):
        store(content, importance=1.0)
    assert ask("kubernetes ingress timeout value").hits == ()


def test_an_important_memory_does_not_displace_a_relevant_one(store: Store, ask: Ask):
    store("Everyone must read the handbook.", importance=1.0)
    store("The invoice currency is immutable after sending.", importance=0.0)
    assert contents(ask("is the invoice currency immutable?")) == [
        "The invoice currency is immutable after sending."
    ]


@pytest.mark.parametrize("text", ["", "   ", "the of and", "\u200b\u200d", "\0", "?!", "' | & :*"])
def test_a_question_without_words_is_answered_by_nothing(store: Store, ask: Ask, text: str):
    store("We deploy on Tuesdays.")
    assert ask(text).hits == ()


def test_an_empty_namespace_answers_nothing(ask: Ask):
    assert ask("anything at all").hits == ()


def test_a_huge_question_is_answered(store: Store, ask: Ask):
    store("We deploy on Tuesdays.")
    assert ask("deploy tuesdays " + "filler%d " * 20_000).candidates <= 100


def test_right_to_left_text_is_found(store: Store, ask: Ask):
    store(
        "\u05dc\u05d0 \u05dc\u05e4\u05e8\u05d5\u05e1"
        " \u05d1\u05d9\u05d5\u05dd \u05e9\u05d9\u05e9\u05d9"
    )
    assert len(ask("\u05dc\u05e4\u05e8\u05d5\u05e1 \u05e9\u05d9\u05e9\u05d9").hits) == 1


def test_more_answers_take_no_more_queries(store: Store, ask: Ask, django_assert_num_queries):
    store("We deploy the invoice service on Tuesdays.")
    with CaptureQueriesContext(connection) as for_one:
        assert len(ask("when is the invoice service deployed").hits) == 1
    for place in range(12):
        store(f"We deploy the invoice service to place {place} on Tuesdays.")
    with django_assert_num_queries(len(for_one)):
        assert len(ask("when is the invoice service deployed").hits) == 10


def test_an_outsider_sees_nothing(store: Store, ask: Ask, outsider: User):
    store("We deploy on Tuesdays.")
    assert ask("when do we deploy", caller=factories.caller_of(outsider)).hits == ()


def test_every_member_sees_the_memory(store: Store, ask: Ask, owner: User, reader: User):
    store("We deploy on Tuesdays.")
    for user in (owner, reader):
        assert len(ask("when do we deploy", caller=factories.caller_of(user)).hits) == 1


def test_an_archived_namespace_answers_nobody(
    store: Store, ask: Ask, namespace: Namespace, owner: User
):
    store("We deploy on Tuesdays.")
    accounts.archive_namespace(namespace=namespace, actor="olga", now=NOW)
    assert ask("when do we deploy", caller=factories.caller_of(owner)).hits == ()


def test_a_token_for_another_namespace_sees_nothing(store: Store, ask: Ask, writer: User):
    store("We deploy on Tuesdays.")
    other = factories.make_namespace(owner=writer)
    token = factories.make_token(writer, namespaces=[other])
    caller = accounts.authenticate_token(secret=token.secret, now=NOW, ip=None)
    assert ask("when do we deploy", caller=caller).hits == ()


def test_a_token_without_the_reading_scope_sees_nothing(store: Store, ask: Ask, writer: User):
    store("We deploy on Tuesdays.")
    caller = factories.caller_of(writer, scopes=[TokenScope.GRAPH_READ])
    assert ask("when do we deploy", caller=caller).hits == ()


def test_several_namespaces_answer_together_and_none_twice(
    store: Store, ask: Ask, namespace: Namespace, writer: User
):
    other = factories.make_namespace(owner=writer)
    caller = factories.caller_of(writer)
    store("We deploy the shop on Tuesdays.")
    store("We deploy the depot on Fridays.", caller=caller, namespace_id=other.pk)
    answer = ask(
        "when do we deploy", caller=caller, namespace_ids=(namespace.pk, other.pk, other.pk)
    )
    assert len(answer.hits) == 2


def test_retired_memories_are_not_recalled_until_restored(store: Store, ask: Ask, writing):
    memory = store("We deploy on Tuesdays.").memory
    delete_memory(caller=writing, memory_id=memory.id, now=NOW)
    assert ask("when do we deploy").hits == ()
    restore_memory(caller=writing, memory_id=memory.id, now=NOW)
    assert len(ask("when do we deploy").hits) == 1


def test_a_memory_past_its_time_is_not_recalled_before_the_sweep(store: Store, ask: Ask):
    store("We deploy on Tuesdays.", now=NOW - timedelta(hours=3), ttl_hours=2)
    assert ask("when do we deploy").hits == ()


def test_filters_decide_before_the_limit(store: Store, ask: Ask):
    for number in range(120):
        store(f"Deploy note {number}.", memory_type="context", importance=0.2, tags=["noise"])
    store("Deploy carefully.", memory_type="rule", importance=0.9, confidence=0.9, tags=["a", "b"])
    for filters in (
        {"memory_types": frozenset({MemoryType.RULE})},
        {"min_importance": 0.5},
        {"tags": frozenset({"A", "b"})},
        {"exclude_tags": frozenset({"noise"})},
    ):
        assert contents(ask("deploy note", k=1, **filters)) == ["Deploy carefully."], filters
    assert "Deploy carefully." not in contents(ask("deploy carefully", min_confidence=0.95))


def test_a_small_namespace_beside_a_huge_one_gets_its_answers(
    store: Store, ask: Ask, writer: User, namespace: Namespace
):
    small = factories.make_namespace(owner=writer)
    caller = factories.caller_of(writer)
    for number in range(200):
        store(f"Deploy the shop, step {number}.")
    for number in range(5):
        store(f"Deploy the depot, step {number}.", caller=caller, namespace_id=small.pk)
    answer = ask("deploy step", caller=caller, namespace_ids=(small.pk,), k=5)
    assert len(answer.hits) == 5
    assert {hit.memory.namespace_id for hit in answer.hits} == {small.pk}


def test_a_repository_hears_its_own_and_the_namespaces_memories(
    store: Store, ask: Ask, repository: Repository, namespace: Namespace
):
    other = factories.make_repository(namespace)
    store("Deploy app on Mondays.", repository_id=repository.pk)
    store("Deploy everything by noon.")
    store("Deploy other on Fridays.", repository_id=other.pk)
    answer = ask("deploy", repository_id=repository.pk)
    assert set(contents(answer)) == {"Deploy app on Mondays.", "Deploy everything by noon."}
    assert len(ask("deploy").hits) == 3


def test_recall_prefers_the_callers_branch(store: Store, ask: Ask, repository: Repository):
    store("Deploy checks are slow here.", repository_id=repository.pk)
    store("Deploy checks are fast here.", repository_id=repository.pk, branch="faster")
    store("Deploy checks are gone here.", repository_id=repository.pk, branch="else")
    scope = {"repository_id": repository.pk}
    assert contents(ask("deploy checks", **scope)) == ["Deploy checks are slow here."]
    on_branch = contents(ask("deploy checks", branch="faster", **scope))
    assert on_branch == ["Deploy checks are fast here.", "Deploy checks are slow here."]


def test_without_a_model_words_answer_alone_and_the_answer_says_so(
    store: Store, ask: Ask, absent_model: AbsentModel
):
    store("Retry webhooks with backoff.", provider=absent_model)
    answer = ask("retry webhooks", provider=absent_model)
    assert len(answer.hits) == 1
    assert not answer.used_vectors
    assert answer.hits[0].parts.vector == 0
    assert ask("kubernetes ingress", provider=absent_model).hits == ()


def test_a_memory_without_a_vector_is_found_by_words(
    store: Store, ask: Ask, absent_model: AbsentModel
):
    store("Retry webhooks with backoff.", provider=absent_model)
    store("Unrelated statement about colors.")
    answer = ask("retry webhooks backoff")
    assert contents(answer) == ["Retry webhooks with backoff."]


def test_vectors_of_another_model_are_never_compared(store: Store, ask: Ask, model):
    store("Retry webhooks with backoff.")
    model.fingerprint = "words-2"
    answer = ask("retry webhooks backoff")
    assert answer.used_vectors
    assert answer.hits[0].parts.vector == 0


def test_common_words_of_a_scope_do_not_decide(store: Store, ask: Ask):
    for number in range(80):
        store(f"Caroline said thing{number} about subject{number}.")
    store("Caroline bought a bicycle.")
    assert contents(ask("What bicycle did Caroline buy?"))[0] == "Caroline bought a bicycle."


def test_the_same_question_has_the_same_answer(store: Store, ask: Ask):
    for number in range(30):
        store(f"Deploy step {number}.")
    first = [hit.memory.id for hit in ask("deploy step", k=20).hits]
    assert first == [hit.memory.id for hit in ask("deploy step", k=20).hits]
    assert len(first) == 20


@pytest.mark.parametrize("k", [0, 51, -1])
def test_k_outside_its_range_is_refused(ask: Ask, k: int):
    with pytest.raises(QueryInvalid, match="from 1 to 50"):
        ask("deploy", k=k)


def test_naming_code_finds_what_is_tied_to_it(store: Store, ask: Ask, repository: Repository):
    (symbol,) = put_symbols(repository, "User.save")
    store(
        "Must stay idempotent because the queue delivers twice.",
        repository_id=repository.pk,
        links=[symbol],
    )
    store("Colors of charts are fixed.", repository_id=repository.pk)
    answer = ask("what about `User.save`?", repository_id=repository.pk)
    assert contents(answer) == ["Must stay idempotent because the queue delivers twice."]
    assert answer.hits[0].parts.graph == 1


def test_expand_brings_memories_tied_to_the_same_code(
    store: Store, ask: Ask, repository: Repository
):
    (symbol,) = put_symbols(repository, "User.save")
    scope = {"repository_id": repository.pk}
    first = store("Saving is idempotent.", links=[symbol], **scope).memory
    store("Colors of charts: blue.", links=[symbol], tags=["ui"], **scope)
    answer = ask("saving idempotent", expand=True, **scope)
    assert contents(answer) == ["Saving is idempotent.", "Colors of charts: blue."]
    assert answer.hits[1].path[0] == str(first.id)
    assert answer.hits[1].path[1] == symbol
    assert answer.hits[1].score < answer.hits[0].score
    kept = ask("saving idempotent", expand=True, exclude_tags=frozenset({"ui"}), **scope)
    assert contents(kept) == ["Saving is idempotent."]


def test_impact_names_the_code_a_hit_is_tied_to(store: Store, ask: Ask, repository: Repository):
    (symbol,) = put_symbols(repository, "User.save")
    store("Saving is idempotent.", links=[symbol], repository_id=repository.pk)
    answer = ask("saving idempotent", include_impact=True, repository_id=repository.pk)
    assert [linked.id for linked in answer.hits[0].impact] == [symbol]
    assert answer.hits[0].impact[0].weight == 1.0


def test_recall_needs_few_queries(store: Store, ask: Ask, django_assert_max_num_queries):
    store("Retry webhooks with backoff.")
    with django_assert_max_num_queries(10):
        ask("retry webhooks")
