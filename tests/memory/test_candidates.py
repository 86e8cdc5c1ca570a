"""What generators find together is what each finds alone, whoever asked what before."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from codemem.accounts.models import Namespace, User
from codemem.accounts.values import Caller
from memory import candidates
from memory.candidates import QuestionVector
from memory.context import make_contexts
from memory.models import Memory
from memory.times import Span
from memory.values import RecallQuery
from tests import factories
from tests.memory.conftest import Store, WordModel

NOW = factories.NOW
TERMS = ("deploy", "invoice", "step7")
pytestmark = pytest.mark.django_db


@pytest.fixture
def vector(model: WordModel) -> QuestionVector:
    (values,) = model.embed(["deploy the invoice step7"], kind="query")
    return QuestionVector(values=values, fingerprint=model.fingerprint)


@pytest.fixture
def query(store: Store, namespace: Namespace, model: WordModel) -> RecallQuery:
    for number in range(60):
        store(f"Then step{number} was done.", session_id="s-1")
        store(f"Deploy the invoice service to place {number}.")
    make_contexts(limit=1_000, provider=model)
    return RecallQuery(text="", namespace_ids=(namespace.pk,))


def found_by(
    caller: Caller, query: RecallQuery, vector: QuestionVector, spans: Sequence[Span] = ()
) -> dict[str, set[bytes]]:
    found = candidates.nearest(
        caller=caller, query=query, terms=TERMS, vector=vector, now=NOW, spans=spans
    )
    by_name: dict[str, set[bytes]] = {}
    for key, names in found.items():
        for name in names:
            by_name.setdefault(name, set()).add(key)
    return by_name


def test_one_scan_finds_what_each_generator_finds(
    writing: Caller, query: RecallQuery, vector: QuestionVector
):
    rows = candidates.answering(
        caller=writing, query=query, namespace_ids=query.namespace_ids, now=NOW
    )
    apart = {
        "words": candidates.nearest_by_rank(rows, TERMS),
        "session": candidates.nearest_in_session(
            rows, TERMS, namespace_ids=list(query.namespace_ids)
        ),
    }
    found = found_by(writing, query, vector)

    assert {name: found[name] for name in apart} == {
        name: {key.bytes for _, key in ranked} for name, ranked in apart.items()
    }
    by_vector = sorted(distance for distance, _ in candidates.nearest_by_vector(rows, vector))
    assert len(found["vector"]) == len(by_vector) == candidates.PER_GENERATOR


def test_a_named_time_has_generators_of_its_own(
    writing: Caller, query: RecallQuery, vector: QuestionVector
):
    long_ago = Memory.objects.order_by("-pk").first()
    assert long_ago is not None
    Memory.objects.filter(pk=long_ago.pk).update(created_at=NOW - timedelta(days=400))
    span = Span(NOW - timedelta(days=401), NOW - timedelta(days=399))
    found = found_by(writing, query, vector, [span])

    assert found["time"] == found["time_vector"] == {long_ago.pk.bytes}
    assert len(found["words"]) == candidates.PER_GENERATOR


def test_remembered_filters_know_what_time_it_is(
    store: Store, writing: Caller, namespace: Namespace
):
    store("We deploy on Tuesdays.", expires_at=NOW + timedelta(hours=1))
    query = RecallQuery(text="", namespace_ids=(namespace.pk,))
    hours = [0, 2, 0]
    held = [
        candidates.answering(
            caller=writing,
            query=query,
            namespace_ids=query.namespace_ids,
            now=NOW + timedelta(hours=hour),
        ).count()
        for hour in hours
    ]
    assert held == [1, 0, 1]


def test_remembered_filters_are_of_one_user_and_one_role(
    store: Store, writing: Caller, namespace: Namespace, reader: User, outsider: User
):
    store("I like tabs.", visibility="private")
    query = RecallQuery(text="", namespace_ids=(namespace.pk,))

    def seen(caller: Caller) -> int:
        return candidates.answering(
            caller=caller, query=query, namespace_ids=query.namespace_ids, now=NOW
        ).count()

    others = [factories.caller_of(user) for user in (reader, outsider)]
    assert [seen(caller) for caller in (writing, *others, writing)] == [1, 0, 0, 1]
