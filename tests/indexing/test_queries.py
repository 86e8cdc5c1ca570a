from uuid import UUID

import pytest

from graph import services as graph
from graph.models import Repository
from graph.queries import symbols_to_embed
from graph.values import SymbolFact
from indexing import queries
from indexing.facts import EXTRACTOR_VERSION, BlobFacts
from indexing.models import BlobFacts as BlobFactsRow
from indexing.models import IndexRun
from tests.factories import make_namespace, make_repository, snapshot
from tests.factories import symbol_fact as symbol

pytestmark = pytest.mark.django_db

State = IndexRun.State


def store_facts(
    blob: str, *, language: str = "python", version: int = EXTRACTOR_VERSION, skipped: str = ""
) -> None:
    facts = b"" if skipped else BlobFacts(language=language, lines=3).to_bytes()
    BlobFactsRow.objects.create(
        blob=blob, language=language, extractor_version=version, facts=facts, skipped=skipped
    )


def put(repository: Repository, *symbols: SymbolFact, commit: str = "1") -> None:
    graph.put(
        repository_id=repository.pk, ref_name="main", snapshot=snapshot(*symbols, commit=commit)
    )


def embed(repository: Repository, fingerprint: str) -> None:
    tasks = symbols_to_embed(repository_id=repository.pk, fingerprint=fingerprint, limit=100)
    graph.store_symbol_embeddings(
        vectors={task.digest: [1.0] + [0.0] * 383 for task in tasks}, fingerprint=fingerprint
    )


# --- Runs ---
def test_a_run_is_shown_as_it_stands(repository):
    run = IndexRun.objects.create(repository=repository, ref="dev", counts={"files": 2})
    view = queries.get_run(run_id=run.pk)
    assert (view.id, view.repository_id, view.ref) == (run.pk, repository.pk, "dev")
    assert (view.state, view.step, view.counts) == ("queued", "waiting", {"files": 2})


def test_the_ref_of_a_run_is_found_while_it_exists(repository):
    run_id = IndexRun.objects.create(repository=repository, ref="dev").pk
    assert queries.find_ref_of(run_id=run_id) == (repository.pk, "dev")
    repository.delete()
    assert queries.find_ref_of(run_id=run_id) is None


def test_waiting_runs_are_the_queued_ones_of_one_ref(repository):
    other = make_repository(make_namespace())
    waiting = IndexRun.objects.create(repository=repository, ref="a")
    IndexRun.objects.create(repository=repository, ref="b")
    IndexRun.objects.create(repository=repository, ref="c", state=State.RUNNING)
    IndexRun.objects.create(repository=other, ref="a")
    assert queries.waiting_runs(repository_id=repository.pk, ref="a") == [waiting.pk]
    assert queries.waiting_runs(repository_id=repository.pk, ref="c") == []


@pytest.mark.parametrize(
    ("stored", "asked", "is_pending"),
    [("", "main", True), ("main", "main", True), ("dev", "main", False), ("", "dev", False)],
)
def test_a_ref_is_pending_under_any_of_its_names(repository, stored, asked, is_pending):
    IndexRun.objects.create(repository=repository, ref=stored)
    IndexRun.objects.create(repository=repository, ref=asked, state=State.DONE)
    assert is_pending == queries.is_pending(
        repository_id=repository.pk, ref=asked, default_branch="main"
    )


def test_active_runs_are_those_queued_or_running_in_some_repositories(repository):
    queued = IndexRun.objects.create(repository=repository)
    running = IndexRun.objects.create(repository=repository, state=State.RUNNING)
    IndexRun.objects.create(repository=repository, state=State.DONE)
    IndexRun.objects.create(repository=make_repository(make_namespace()))
    active = queries.active_runs(repository_ids=[repository.pk])
    assert [run.id for run in active] == [queued.pk, running.pk]


def test_recent_runs_begin_with_the_newest(repository):
    runs = [IndexRun.objects.create(repository=repository, state=State.DONE) for _ in range(22)]
    recent = queries.recent_runs(repository_id=repository.pk)
    assert [run.id for run in recent] == [run.pk for run in reversed(runs)][:20]


# --- Facts by content ---
def test_facts_are_found_by_blob_and_language_of_this_version(monkeypatch):
    monkeypatch.setattr(queries, "_BATCH", 1)
    store_facts("a" * 40)
    store_facts("b" * 40, skipped="binary")
    store_facts("c" * 40, language="go")
    store_facts("d" * 40, version=EXTRACTOR_VERSION - 1)
    keys = {(letter * 40, "python") for letter in "abcde"}

    found = queries.cached_facts(keys=keys)

    assert set(found) == {("a" * 40, "python"), ("b" * 40, "python")}
    assert found["a" * 40, "python"].unpack().lines == 3
    assert found["b" * 40, "python"].skipped == "binary"


def test_no_keys_need_no_query(django_assert_num_queries):
    with django_assert_num_queries(0):
        assert queries.cached_facts(keys=[]) == {}


# --- What the graph shows ---
def test_recorded_files_tell_what_stands_at_a_path_and_what_stood_there(repository):
    put(repository, symbol("a.py", "one"), symbol("b.py", "two"))
    put(repository, symbol("a.py", "one"), commit="2")

    found = queries.recorded_files(repository_id=repository.pk, paths=["a.py", "b.py", "c.py"])

    assert {path: [file.is_live for file in files] for path, files in found.items()} == {
        "a.py": [True],
        "b.py": [False],
    }
    stranger = make_repository(make_namespace())
    assert queries.recorded_files(repository_id=stranger.pk, paths=["a.py"]) == {}


def test_nodes_are_counted_while_they_live(repository):
    put(repository, symbol("a.py", "one"), symbol("b.py", "two"))
    assert queries.count_nodes(repository_id=repository.pk) == 4
    put(repository, symbol("a.py", "one"), commit="2")
    assert queries.count_nodes(repository_id=repository.pk) == 2


def test_repositories_to_embed_are_those_with_a_live_symbol_without_a_vector(repository):
    def to_embed(fingerprint: str) -> list[UUID]:
        return queries.repositories_to_embed(fingerprint=fingerprint)

    assert to_embed("m1") == []
    put(repository, symbol("a.py", "one"), symbol("b.py", "two"))
    assert to_embed("m1") == [repository.pk]
    embed(repository, "m1")
    assert to_embed("m1") == []
    assert to_embed("m2") == [repository.pk]
    put(repository, symbol("a.py", "one"), symbol("c.py", "new", body="x"), commit="2")
    assert to_embed("m1") == [repository.pk]
    put(repository, symbol("a.py", "one"), commit="3")
    assert to_embed("m1") == []
