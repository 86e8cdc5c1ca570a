"""The search indexes of large namespaces: built once, used by recall, mended after a kill."""

from collections.abc import Iterator

import pytest
from django.db import DatabaseError, connection
from django.db.transaction import TransactionManagementError, atomic

from codemem.accounts.models import Namespace
from codemem.accounts.values import Caller
from codemem.postgres.indexes import standing
from memory import candidates, indexes
from memory.candidates import QuestionVector
from memory.models import Memory
from memory.services import ensure_vector_indexes, make_contexts
from memory.values import MemoryType, RecallQuery
from tests import factories
from tests.memory.conftest import Ask, Store, WordModel

LARGE = 80
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def large(store: Store, namespace: Namespace) -> Iterator[Namespace]:
    """Yield a namespace of a hundred memories, with its indexes."""
    for number in range(100):
        store(f"Deploy step{number} of the shop.")
    ensure_vector_indexes(from_rows=LARGE)
    yield namespace
    for name in own_indexes():
        run(f"DROP INDEX {name}")


def own_indexes() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexname FROM pg_indexes"
            " WHERE tablename = 'memory_memory' AND indexdef ~ 'WHERE.*namespace_id = '"
        )
        return {name for (name,) in cursor.fetchall()}


def vectors_index(namespace: Namespace, model: str = WordModel().fingerprint) -> str:
    return indexes.vectors_index(namespace.pk, fingerprint=model)


def run(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def test_a_large_namespace_gets_its_indexes_once(large: Namespace):
    names = {vectors_index(large), indexes.bm25_index(large.pk)}
    assert own_indexes() == names
    assert standing(names) == names
    assert ensure_vector_indexes(from_rows=LARGE) == []


def test_a_namespace_of_many_sessions_gets_an_index_of_their_words(
    large: Namespace, store: Store, writing: Caller, model: WordModel
):
    for number in range(LARGE + 1):
        store(f"Then step{number} was done.", session_id="s-1")
    make_contexts(limit=1_000, provider=model)
    assert ensure_vector_indexes(from_rows=LARGE) == [indexes.session_index(large.pk)]
    query = RecallQuery(text="step7", namespace_ids=(large.pk,))
    rows = candidates.answering(
        caller=writing, query=query, namespace_ids=query.namespace_ids, now=factories.NOW
    )
    found = candidates.nearest_in_session(rows, ["step7"], namespace_ids=[large.pk])

    # Itself, the two after it and the one before it; also when it is scanned.
    assert len(found) == 4
    run(f"DROP INDEX {indexes.session_index(large.pk)}")
    assert set(found.all()) == set(found)


def test_a_small_namespace_gets_none(store: Store):
    store("We deploy on Tuesdays.")
    assert ensure_vector_indexes() == []
    assert own_indexes() == set()


def test_what_a_killed_build_left_is_replaced(large: Namespace):
    name = vectors_index(large)
    run(f"DROP INDEX {name}")
    with pytest.raises(DatabaseError):  # a build that fails leaves an invalid index behind
        run(
            f"CREATE UNIQUE INDEX CONCURRENTLY {name} ON memory_memory (namespace_id)"
            f" WHERE namespace_id = '{large.pk}'"
        )
    assert standing([name]) == frozenset()
    assert ensure_vector_indexes(from_rows=LARGE) == [name]
    assert standing([name]) == {name}


def test_building_refuses_to_run_inside_a_transaction():
    with pytest.raises(TransactionManagementError), atomic():
        ensure_vector_indexes()


def test_building_leaves_the_statement_timeout_as_it_was():
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        before = cursor.fetchone()
        ensure_vector_indexes()
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == before


def test_searches_of_a_large_namespace_use_its_indexes(
    large: Namespace, writing: Caller, model: WordModel
):
    query = RecallQuery(text="deploy step7", namespace_ids=(large.pk,))
    rows = candidates.answering(
        caller=writing, query=query, namespace_ids=query.namespace_ids, now=factories.NOW
    )
    vector = QuestionVector(
        values=model.embed([query.text], kind="query")[0], fingerprint=model.fingerprint
    )
    by_vector = candidates.nearest_by_vector(rows, vector)
    by_words = candidates.nearest_by_bm25(rows, ["deploy", "step7"], namespace_id=large.pk)
    with atomic():
        # A hundred rows are scanned sooner than an index; a hundred thousand are not.
        for way in ("seqscan", "bitmapscan", "sort"):
            run(f"SET LOCAL enable_{way} = off")
        assert vectors_index(large) in by_vector.explain()
        assert indexes.bm25_index(large.pk) in by_words.explain()


def test_the_best_answer_is_the_same_with_and_without_indexes(large: Namespace, ask: Ask):
    with_indexes = ask("deploy step42 shop", k=5).hits
    for name in own_indexes():
        run(f"DROP INDEX {name}")
    without = ask("deploy step42 shop", k=5).hits
    assert with_indexes[0].memory == without[0].memory
    assert with_indexes[0].memory.content == "Deploy step42 of the shop."


def test_a_rare_filter_in_a_large_namespace_still_finds_its_rows(
    large: Namespace, store: Store, ask: Ask
):
    store("Deploy step of the depot.", memory_type="rule")
    answer = ask("deploy step", memory_types=frozenset({MemoryType.RULE}))
    assert [hit.memory.content for hit in answer.hits] == ["Deploy step of the depot."]


class LongModel(WordModel):
    """Another model, with vectors of another length."""

    dimensions = 512


def test_models_of_different_lengths_live_side_by_side_and_are_never_compared(
    large: Namespace, store: Store, ask: Ask
):
    other = LongModel("words-2")
    store("Deploy the depot on Mondays.", provider=other)
    by_other = ask("deploy depot on mondays", provider=other, k=10).hits
    assert by_other[0].memory.content == "Deploy the depot on Mondays."
    assert by_other[0].parts.vector == 1.0
    # The question's words find those of the first model, whose vectors say nothing to it.
    assert {hit.parts.vector for hit in by_other[1:]} <= {0.0}
    by_first = ask("deploy depot on mondays", k=50).hits
    (depot,) = (hit for hit in by_first if hit.memory.content.startswith("Deploy the depot"))
    assert depot.parts.vector == 0.0


def test_each_model_gets_an_index_of_its_own_and_loses_it_with_its_last_vector(
    large: Namespace, store: Store
):
    other = LongModel("words-2")
    for number in range(3):
        store(f"Return parcel{number}.", provider=other)
    assert ensure_vector_indexes(from_rows=2) == [vectors_index(large, "words-2")]
    Memory.objects.filter(embedding_fingerprint="words-2").update(
        embedding=None, embedding_fingerprint=""
    )
    ensure_vector_indexes(from_rows=LARGE)
    assert vectors_index(large, "words-2") not in own_indexes()
    assert vectors_index(large) in own_indexes()
