"""Branches as overlays, pushes as deltas: both show what indexing everything would show."""

import contextlib
import multiprocessing
import random
import time
from collections.abc import Iterator
from datetime import timedelta
from multiprocessing.context import ForkProcess
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.utils import timezone

from codemem.accounts.models import Namespace
from graph import cypher
from graph import queries as graph
from graph.models import FileVersion, Layer, Repository, Revision
from graph.services import snapshots, writer
from graph.values import View
from indexing import deltas, dependencies, pipeline, queries, services
from indexing.models import FileDependencies, IndexRun
from indexing.pipeline import run_index
from indexing.services import SILENT_AFTER, recover_runs, request_index
from tests.factories import NOW, make_namespace
from tests.indexing.checkout import Checkout, register
from tests.indexing.graphs import differences, graph_of
from tests.indexing.test_pipeline import MIXED, refused, run
from tests.indexing.test_resolution_changes import GO, PYTHON, TYPESCRIPT, Author

pytestmark = pytest.mark.django_db

TREE = PYTHON | TYPESCRIPT | GO


def view_of(repository: Repository, ref: str) -> View:
    return graph.get_ref_state(repository_id=repository.pk, ref=ref).view


def fresh(source: Checkout, name: str = "fresh") -> Repository:
    """Return the checked out commit, indexed as if nothing had been known."""
    repository = register(make_namespace(name), source)
    repository.default_branch = source.git("branch", "--show-current").strip()
    repository.save()
    run(repository)
    return repository


def shows_the_head(repository: Repository, source: Checkout, ref: str, name: str) -> list[str]:
    expected = graph_of(fresh(source, name))
    return differences(graph_of(repository, view_of(repository, ref)), expected)


def dependencies_of(repository: Repository) -> dict[str, tuple[int, int]]:
    rows = FileDependencies.objects.filter(repository=repository, valid_to=None)
    values = rows.values_list("file__path", "consulted", "offered")
    return {path: (len(set(consulted)), len(set(offered))) for path, consulted, offered in values}


# --- The default branch ---
def test_a_push_resolves_what_it_concerns_and_nothing_else(mirrored, source):
    source.commit(MIXED)
    assert queries.get_run(run_id=run(mirrored).id).counts["files"] == len(MIXED)
    source.commit({"shop/price.py": MIXED["shop/price.py"].replace("return x", "return x + 0")})

    record = run(mirrored)

    assert (record.counts["files"], record.counts["parsed"]) == (1, 1)
    assert shows_the_head(mirrored, source, "main", "fresh") == []


def test_a_push_that_renames_a_function_restates_its_callers(mirrored, source):
    source.commit(MIXED)
    run(mirrored)
    source.commit({"shop/price.py": MIXED["shop/price.py"].replace("net", "gross")})

    record = run(mirrored)

    assert (record.counts["files"], record.counts["parsed"]) == (2, 1)
    assert shows_the_head(mirrored, source, "main", "fresh") == []


@pytest.mark.parametrize("seed", range(2))
def test_any_pushes_show_what_a_first_run_would(mirrored, source, seed):
    author = Author(TREE, seed)
    source.commit(dict(TREE))
    run(mirrored)
    for number in range(8):
        before = dict(author.sources)
        author.edit()
        gone = dict.fromkeys(before.keys() - author.sources.keys())
        source.commit({**author.sources, **gone})

        run(mirrored)

        copy = fresh(source, f"fresh{number}")
        assert differences(graph_of(mirrored), graph_of(copy)) == []
        assert dependencies_of(mirrored) == dependencies_of(copy)


def test_other_project_files_have_everything_resolved_and_say_so(mirrored, source):
    source.commit(MIXED)
    run(mirrored)
    source.commit({"go.mod": "module example.com/renamed\n"})

    run(mirrored)

    record = IndexRun.objects.get(repository=mirrored, whole_because__startswith="Project files")
    assert record.counts["files"] == len(MIXED)
    assert shows_the_head(mirrored, source, "main", "fresh") == []


def test_a_rewritten_history_shows_what_is_there_now(mirrored, source):
    source.commit(MIXED)
    run(mirrored)
    source.git("commit", "--quiet", "--amend", "--message=Rewritten")
    source.commit({"shop/order.py": None, "shop/new.py": "from shop.price import net\n\nnet(2)\n"})
    source.git("reflog", "expire", "--expire=now", "--all")
    source.git("gc", "--quiet", "--prune=now")

    run(mirrored)

    assert shows_the_head(mirrored, source, "main", "fresh") == []


def test_dependencies_of_other_rules_are_not_relied_on(mirrored, source, monkeypatch):
    source.commit(MIXED)
    run(mirrored)
    source.commit({"shop/more.py": ""})
    monkeypatch.setattr("indexing.dependencies.RULES_VERSION", "another")

    run(mirrored)

    newest = IndexRun.objects.filter(repository=mirrored).latest("queued_at")
    assert newest.whole_because.startswith("What the last resolution depended on")


# --- Other branches ---
def test_a_branch_shows_what_its_checkout_would(mirrored, source):
    source.commit(dict(TREE))
    run(mirrored)
    source.git("checkout", "-q", "-b", "feature")
    source.commit(
        {
            "app/tools.py": TREE["app/tools.py"].replace("make", "build"),
            "src/pen.ts": None,
            "src/ink.ts": TREE["src/pen.ts"],
        }
    )
    before = graph_of(mirrored)

    record = run(mirrored, ref="feature")

    assert record.state == IndexRun.State.DONE
    assert graph_of(mirrored) == before
    assert shows_the_head(mirrored, source, "feature", "fresh") == []
    overlay = FileVersion.objects.filter(repository=mirrored, layer__gt=0, valid_to=None)
    assert 2 < overlay.count() < len(TREE)


def test_a_branch_stays_what_it_is_while_the_default_branch_moves_on(mirrored, source):
    source.commit(dict(TREE))
    run(mirrored)
    source.git("checkout", "-q", "-b", "feature")
    source.commit({"app/base.py": TREE["app/base.py"].replace("store", "keep")})
    run(mirrored, ref="feature")
    source.git("checkout", "-q", "main")
    source.commit({"app/tools.py": None, "app/models.py": "class User: pass\n"})
    run(mirrored)
    assert shows_the_head(mirrored, source, "main", "moved") == []
    source.git("checkout", "-q", "feature")

    assert shows_the_head(mirrored, source, "feature", "before") == []

    source.commit({"app/child.py": TREE["app/child.py"].replace("other", "store")})
    run(mirrored, ref="feature")
    assert shows_the_head(mirrored, source, "feature", "advanced") == []
    source.git("rebase", "-q", "-X", "theirs", "main")
    run(mirrored, ref="feature")
    assert shows_the_head(mirrored, source, "feature", "rebased") == []


@pytest.mark.parametrize("seed", range(2))
def test_any_branch_shows_what_a_first_run_of_it_would(mirrored, source, seed):
    author = Author(TREE, seed + 10)
    source.commit(dict(TREE))
    run(mirrored)
    tree = dict(TREE)
    for number in range(6):
        ref = random.Random(number + seed).choice(["main", "one", "two"])
        existing = source.git("branch", "--list", ref).strip()
        source.git("checkout", "-q", *([ref] if existing else ["-b", ref]))
        author.sources = {
            path: text
            for path in source.git("ls-files").splitlines()
            if (text := (source.path / path).read_text()) is not None
        }
        before = dict(author.sources)
        author.edit()
        gone = dict.fromkeys(before.keys() - author.sources.keys())
        source.commit({**author.sources, **gone})

        run(mirrored, ref=ref)

        assert shows_the_head(mirrored, source, ref, f"fresh{number}") == []
    assert tree == TREE


def test_a_branch_before_the_default_branch_is_refused(mirrored, source):
    source.commit(MIXED)
    source.git("checkout", "-q", "-b", "feature")
    assert "which is not indexed yet" in refused(mirrored, ref="feature")


@pytest.mark.parametrize("ref", ["fix/übung-#1", "a.b@c+d", "dependabot/npm/x-1.0.0"])
def test_odd_names_of_branches_are_names_like_others(mirrored, source, ref):
    source.commit(MIXED)
    run(mirrored)
    source.git("checkout", "-q", "-b", ref)
    source.commit({"shop/order.py": None})

    assert run(mirrored, ref=ref).state == IndexRun.State.DONE
    assert shows_the_head(mirrored, source, ref, "fresh") == []


def test_a_branch_with_other_project_files_is_resolved_as_a_whole(mirrored, source):
    source.commit(MIXED)
    run(mirrored)
    source.git("checkout", "-q", "-b", "feature")
    source.commit({"go.mod": "module example.com/renamed\n", "shop/order.py": None})

    run(mirrored, ref="feature")

    assert shows_the_head(mirrored, source, "feature", "fresh") == []
    shadowed = FileVersion.objects.filter(repository=mirrored, layer__gt=0, valid_to=None)
    assert set(shadowed.values_list("file__path", flat=True)) == {
        *("go.mod", "shop/order.py", "store/store.go", "store/dial.go")
    }


def test_a_branch_that_is_gone_is_forgotten_by_the_next_fetch(mirrored, source):
    source.commit(MIXED)
    run(mirrored)
    source.git("checkout", "-q", "-b", "feature")
    source.commit({"shop/order.py": None})
    run(mirrored, ref="feature")
    source.git("checkout", "-q", "main")
    source.git("branch", "-q", "-D", "feature")

    run(mirrored)

    assert not FileVersion.objects.filter(repository=mirrored, layer__gt=0).exists()
    assert not graph.get_ref_state(repository_id=mirrored.pk, ref="feature").is_known


def test_what_no_branch_rests_on_is_pruned_and_nothing_else(mirrored, source):
    source.commit(MIXED)
    run(mirrored)
    source.commit({"shop/price.py": MIXED["shop/price.py"].replace("net", "gross")})
    run(mirrored)
    before = dependencies_of(mirrored)
    first, second = Revision.objects.filter(repository=mirrored).order_by("pk")

    assert dependencies.prune() == 0
    Revision.objects.filter(pk=first.pk).update(is_whole=False)

    assert dependencies.prune() == 2
    assert dependencies_of(mirrored) == before
    assert not FileDependencies.objects.filter(valid_to__lte=second.pk).exists()


# --- Workers beside each other ---
_FORK = multiprocessing.get_context("fork")


@pytest.fixture
def drops_graphs(transactional_db: None) -> Iterator[None]:
    """Drop the graphs, which no rollback removes in tests that commit."""
    yield
    for namespace in Namespace.objects.all():
        cypher.drop_graph(namespace.pk)


@pytest.mark.parametrize("ref", ["main", "feature"])
def test_workers_at_one_branch_at_once_lose_and_spoil_nothing(ref, drops_graphs, mirrored, source):
    author = Author(TREE, 3)
    source.commit(dict(TREE))
    run(mirrored)
    if ref != "main":
        source.git("checkout", "-q", "-b", ref)
    workers = []
    for _ in range(5):
        before = dict(author.sources)
        author.edit()
        gone = dict.fromkeys(before.keys() - author.sources.keys())
        source.commit({**author.sources, **gone})
        run_id = request_index(repository_id=mirrored.pk, ref=ref, requested_by="tests")
        # Every message comes twice.
        workers += [_worker(run_id), _worker(run_id)]
        time.sleep(0.1)
    for worker in workers:
        worker.join(120)

    assert [worker.exitcode for worker in workers] == [0] * len(workers)
    assert set(IndexRun.objects.values_list("state", flat=True)) == {IndexRun.State.DONE}
    assert shows_the_head(mirrored, source, ref, "fresh") == []
    assert Layer.objects.filter(repository=mirrored).count() == (0 if ref == "main" else 1)


MOMENTS = {
    "fetched": (pipeline, "_note_head"),
    "parsed": (deltas, "resolve_changes"),
    "half written": (writer.Writer, "write_edges"),
    "written, not noted": (snapshots, "_note_indexed"),
    "written, not finished": (services, "finish"),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_worker_killed_on_a_branch_beside_another_loses_and_spoils_nothing(
    moment, drops_graphs, mirrored, source
):
    source.commit(dict(TREE))
    run(mirrored)
    source.git("checkout", "-q", "-b", "feature")
    source.commit({"app/tools.py": TREE["app/tools.py"].replace("make", "build")})
    run(mirrored, ref="feature")
    before = graph_of(mirrored), graph_of(mirrored, view_of(mirrored, "feature"))
    source.commit({"src/pen.ts": None, "src/ink.ts": TREE["src/pen.ts"]})
    killed = request_index(repository_id=mirrored.pk, ref="feature", requested_by="tests")

    with _stopped_at(killed, *MOMENTS[moment]) as worker:
        source.commit({"app/base.py": TREE["app/base.py"].replace("store", "keep")})
        later = request_index(repository_id=mirrored.pk, ref="feature", requested_by="tests")
        # The other worker yields, whichever of the two runs it was sent.
        assert run_index(run_id=later, now=NOW) is None
        assert run_index(run_id=killed, now=NOW) is None
        if moment != "written, not finished":
            assert (graph_of(mirrored), graph_of(mirrored, view_of(mirrored, "feature"))) == before
        worker.kill()

    unheard = recover_runs(now=timezone.now() + SILENT_AFTER + timedelta(seconds=1))
    assert set(unheard) == {killed, later}
    for run_id in unheard:
        _until_free(run_id)
    assert set(IndexRun.objects.values_list("state", flat=True)) == {IndexRun.State.DONE}
    assert graph_of(mirrored) == before[0]
    assert shows_the_head(mirrored, source, "feature", "fresh") == []


def _worker(run_id: UUID) -> ForkProcess:
    connection.close()
    worker = _FORK.Process(target=_work, args=(run_id,))
    worker.start()
    return worker


def _work(run_id: UUID) -> None:
    """Do what the task `index` does, and what it queues for this ref."""
    waiting = [run_id]
    while waiting:
        outcome = run_index(run_id=waiting.pop(0), now=NOW)
        if outcome is not None:
            waiting += queries.waiting_runs(repository_id=outcome.repository_id, ref=outcome.ref)


@contextlib.contextmanager
def _stopped_at(run_id: UUID, owner: Any, name: str) -> Iterator[ForkProcess]:
    """Give a worker that has come to where `owner.name` would be called, and stays there."""
    connection.close()
    is_there = _FORK.Event()

    def stop(*_: Any, **__: Any) -> None:
        is_there.set()
        time.sleep(600)

    def work() -> None:
        setattr(owner, name, stop)
        run_index(run_id=run_id, now=NOW)

    worker = _FORK.Process(target=work)
    worker.start()
    try:
        assert is_there.wait(60)
        yield worker
    finally:
        worker.kill()
        worker.join()


def _until_free(run_id: UUID) -> None:
    """Run as soon as Postgres has noticed that the killed worker's connection is gone."""
    deadline = time.monotonic() + 20
    while run_index(run_id=run_id, now=NOW) is None:
        assert time.monotonic() < deadline, "The killed worker's lock is still held."
        time.sleep(0.05)
