"""Briefs, digests, budgets, the past, and what counts as being recalled."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from codemem import policies
from codemem.accounts.models import Namespace, User
from codemem.accounts.values import Caller
from graph.models import Repository
from memory import modes
from memory.models import Anchor, Memory, MemoryUse
from memory.recall import QueryInvalid
from memory.services import (
    Change,
    delete_memory,
    note_recalled,
    record_version,
    refine_memory,
    restore_memory,
)
from memory.values import RecallQuery
from tests import factories
from tests.memory.conftest import Ask, Store, WordModel

pytestmark = pytest.mark.django_db
NOW = factories.NOW


@pytest.fixture(autouse=True)
def one_model(monkeypatch: pytest.MonkeyPatch, model: WordModel) -> None:
    monkeypatch.setattr("codemem.embedding.from_settings", lambda: model)


@pytest.fixture
def query(namespace: Namespace) -> RecallQuery:
    return RecallQuery(text="deploying the invoice service", namespace_ids=(namespace.pk,))


def made(memory_id: UUID, **changes: object) -> None:
    Memory.objects.filter(pk=memory_id).update(**changes)


def contents(answer) -> list[str]:
    return [hit.memory.content for hit in answer.hits]


def test_a_brief_tells_rules_before_decisions_before_failures(
    store: Store, writing: Caller, query: RecallQuery
):
    store("Deploying the invoice service failed without a lock.", memory_type="failure")
    store("Deploying the invoice service happens on Tuesdays.", memory_type="decision")
    store("Never skip the review.", memory_type="rule", importance=0.9)
    store("Who owns deploying the invoice service?", memory_type="question")
    told = modes.brief(caller=writing, query=query, now=NOW)
    assert [part.name for part in told.sections] == ["rules", "decisions", "failures", "questions"]


def test_a_digest_tells_what_came_since_the_last_one(
    store: Store, writing: Caller, query: RecallQuery
):
    old = store("Old news about ports.").memory.id
    made(old, created_at=NOW - timedelta(hours=3))
    first = modes.digest(caller=writing, query=query, now=NOW - timedelta(hours=2))
    assert sum(first.counts.values()) == 1
    new = store("New news about certificates.").memory.id
    made(new, created_at=NOW - timedelta(hours=1))
    second = modes.digest(caller=writing, query=query, now=NOW)
    assert [one.id for part in second.sections for one in part.memories] == [new]
    assert second.since == NOW - timedelta(hours=2)


def test_a_digest_grows_with_the_time_away():
    sizes = [modes.size_of(timedelta(hours=hours)) for hours in (0.5, 12, 100, 400, 2_000)]
    assert sizes == sorted(set(sizes))


def test_a_budget_names_what_it_left_out(store: Store):
    memories = [store(f"{'word ' * 40}{number}").memory for number in range(3)]
    fitted = modes.fitted(memories, max_tokens=120)
    assert [one.id for one in fitted.kept] == [one.id for one in memories[:2]]
    assert fitted.left_out == (memories[2].id,)
    assert fitted.tokens <= 120
    assert modes.fitted(memories, max_tokens=None).left_out == ()


def test_what_was_retired_answers_only_when_asked_for(store: Store, ask: Ask, writing: Caller):
    gone = store("Deploys go through Jenkins.").memory
    delete_memory(caller=writing, memory_id=gone.id, reason="", now=NOW)
    assert ask("deploys jenkins").hits == ()
    (hit,) = ask("deploys jenkins", include=frozenset({"retired"})).hits
    assert hit.memory.state == "retired"


@pytest.mark.parametrize("state", ["proposed", "superseded", "resolved"])
def test_no_state_but_active_answers_unasked(store: Store, ask: Ask, state: str):
    made(store("Deploys go through Jenkins.").memory.id, state=state)
    assert ask("deploys jenkins").hits == ()
    assert len(ask("deploys jenkins", include=frozenset({state})).hits) == 1


def test_what_is_past_its_time_answers_only_when_asked_for(store: Store, ask: Ask):
    made(store("Deploys are frozen.").memory.id, expires_at=NOW - timedelta(hours=1))
    assert ask("deploys frozen").hits == ()
    assert len(ask("deploys frozen", include=frozenset({"expired"})).hits) == 1


def test_an_unknown_state_and_a_time_without_a_zone_are_refused(ask: Ask):
    with pytest.raises(QueryInvalid, match="no state"):
        ask("deploys", include=frozenset({"gone"}))
    with pytest.raises(QueryInvalid, match="time zone"):
        ask("deploys", since=NOW.replace(tzinfo=None))


def test_as_of_tells_what_held_then_in_the_words_of_then(store: Store, ask: Ask, writing: Caller):
    key = store("Deploys go through Jenkins.").memory.id
    made(key, created_at=NOW - timedelta(days=30))
    memory = Memory.objects.get(pk=key)
    record_version(memory, change=Change.REFINED, actor=writing, now=NOW - timedelta(days=10))
    memory.content = "Deploys go through Buildkite."
    memory.save()
    later = store("Deploys need two reviewers.").memory.id
    made(later, created_at=NOW - timedelta(days=5))
    then = ask("deploys go through", as_of=NOW - timedelta(days=20))
    assert contents(then) == ["Deploys go through Jenkins."]
    assert "Deploys go through Buildkite." in contents(ask("deploys go through"))
    assert ask("deploys go through", as_of=NOW - timedelta(days=40)).hits == ()


def test_as_of_finds_what_has_changed_by_its_words_of_then(
    store: Store, ask: Ask, writing: Caller, outsider: User
):
    key = store("Deploys go through Jenkins.").memory.id
    made(key, created_at=NOW - timedelta(days=30))
    refine_memory(
        caller=writing,
        memory_id=key,
        now=NOW - timedelta(days=10),
        content="Releases are cut by Buildkite.",
    )
    then, since = NOW - timedelta(days=20), NOW - timedelta(days=5)
    assert contents(ask("jenkins deploys", as_of=then)) == ["Deploys go through Jenkins."]
    assert ask("jenkins deploys", as_of=since).hits == ()
    assert ask("buildkite releases", as_of=then).hits == ()
    stranger = factories.caller_of(outsider)
    assert ask("jenkins deploys", as_of=then, caller=stranger).hits == ()
    Memory.objects.update(visibility="private", author=outsider)
    assert ask("jenkins deploys", as_of=then).hits == ()


def test_as_of_leaves_out_what_was_retired_then_and_has_come_back(
    store: Store, ask: Ask, writing: Caller
):
    key = store("Deploys go through Jenkins.").memory.id
    made(key, created_at=NOW - timedelta(days=30))
    delete_memory(caller=writing, memory_id=key, now=NOW - timedelta(days=20), reason="Old.")
    restore_memory(caller=writing, memory_id=key, now=NOW - timedelta(days=10))
    found = [
        len(ask("deploys jenkins", as_of=NOW - timedelta(days=days)).hits) for days in (25, 15, 5)
    ]
    assert found == [1, 0, 1]


def test_as_of_tells_what_has_ended_since(store: Store, ask: Ask):
    key = store("Deploys go through Jenkins.").memory.id
    made(
        key,
        created_at=NOW - timedelta(days=30),
        state="retired",
        ended_at=NOW - timedelta(days=10),
    )
    assert len(ask("deploys jenkins", as_of=NOW - timedelta(days=20)).hits) == 1
    assert ask("deploys jenkins", as_of=NOW - timedelta(days=5)).hits == ()


def test_times_and_authors_bound_the_answer(store: Store, ask: Ask):
    key = store("Deploys go through Jenkins.").memory.id
    made(key, created_at=NOW - timedelta(days=30), author_name="Ann")
    assert ask("deploys jenkins", since=NOW - timedelta(days=5)).hits == ()
    assert len(ask("deploys jenkins", until=NOW - timedelta(days=5)).hits) == 1
    assert len(ask("deploys jenkins", author="ann").hits) == 1
    assert ask("deploys jenkins", author="bob").hits == ()


def test_naming_the_author_and_the_time_lifts_a_memory(store: Store, ask: Ask):
    for place, (author, month) in enumerate([("Ann", 2), ("Bob", 5), ("Cyd", 8)]):
        key = store(f"Rotated the deploy keys, part {place}.").memory.id
        made(key, author_name=author, created_at=NOW.replace(year=2025, month=month, day=10))
    assert ask("did Bob rotate the deploy keys").hits[0].memory.author == "Bob"
    first = ask("were the deploy keys rotated in August 2025").hits[0]
    assert first.memory.author == "Cyd"
    assert first.parts.temporal == 1.0
    assert "time" in first.found_by


def test_an_unresolved_failure_stands_above_its_equals(store: Store, ask: Ask):
    store("Deploys of invoices hang, says one.", memory_type="insight")
    failure = store("Deploys of invoices hang, says two.", memory_type="failure").memory.id
    store("Deploys of invoices hang, says ten.", memory_type="context")
    assert ask("deploys of invoices hang").hits[0].memory.id == failure


def test_drifted_anchors_demote_and_are_flagged(store: Store, ask: Ask, repository: Repository):
    drifted = store("Saving retries twice, part red.", repository_id=repository.pk).memory.id
    store("Saving retries twice, part blue.", repository_id=repository.pk)
    Anchor.objects.create(
        memory_id=drifted, repository=repository, kind="file", path="a.py", state="drifted"
    )
    hits = ask("saving retries twice", repository_id=repository.pk).hits
    assert [hit.anchors for hit in hits] == [None, "drifted"]


def test_the_same_words_answer_once(store: Store, ask: Ask, repository: Repository):
    store("Retry webhooks with backoff.")
    store("Retry  webhooks with backoff.", repository_id=repository.pk)
    assert len(ask("retry webhooks backoff").hits) == 1


def test_weights_and_floor_are_the_namespaces_own(store: Store, ask: Ask, namespace: Namespace):
    store("Retry webhooks with exponential backoff.")
    assert ask("backoff kubernetes ingress timeouts value").hits == ()
    namespace.settings = {"recall.floor": 0.01, "recall.weights.text": 0.0}
    namespace.save()
    (hit,) = ask("backoff kubernetes ingress timeouts value").hits
    assert hit.relevance > 0
    assert policies.value(namespace.pk, "recall.weights.text") == 0.0


def test_being_recalled_counts_unless_the_namespace_does_not_want_it(
    store: Store, namespace: Namespace
):
    key = store("Retry webhooks.").memory.id
    assert note_recalled(memory_ids=[key], now=NOW) == 1
    assert MemoryUse.objects.get(memory_id=key).recalled_at == NOW
    namespace.settings = {"recall.counts_as_access": False}
    namespace.save()
    assert note_recalled(memory_ids=[key], now=NOW) == 0
    assert MemoryUse.objects.get(memory_id=key).recalled == 1


def test_reading_writes_nothing(store: Store, ask: Ask):
    key = store("Retry webhooks with backoff.").memory.id
    ask("retry webhooks")
    assert not MemoryUse.objects.filter(memory_id=key, recalled__gt=0).exists()


def test_lines_are_short(store: Store):
    memory = store("First line.\nSecond line.").memory
    assert modes.line_of(memory) == "First line."
    assert len(modes.line_of(replace(memory, content="x" * 500))) == 120
