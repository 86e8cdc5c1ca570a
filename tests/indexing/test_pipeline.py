import multiprocessing
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from codemem.accounts.models import Namespace
from graph import cypher
from graph import queries as graph
from graph.models import FileVersion, Repository, SymbolVersion
from graph.services import snapshots, writer
from indexing import contents, deltas, dependencies, extraction, pipeline, queries, services
from indexing.facts import EXTRACTOR_VERSION
from indexing.git import Mirror
from indexing.mirrors import mirror_path
from indexing.models import BlobFacts, IndexRun
from indexing.pipeline import Outcome, run_index
from indexing.queries import RunView
from indexing.resolution import resolve_files
from indexing.services import SILENT_AFTER, recover_runs, request_index
from tests.factories import NOW, make_namespace, make_repository
from tests.indexing.checkout import Checkout, register
from tests.indexing.test_extraction import HOSTILE

pytestmark = pytest.mark.django_db

MIXED = {
    "shop/price.py": "def net(x):\n    return rounded(x)\n\n\ndef rounded(x):\n    return x\n",
    "shop/order.py": "from shop.price import net\n\n\ndef place():\n    return net(1)\n",
    "web/user.ts": "export class User {\n  save(): void {}\n}\n",
    "web/app.ts": (
        "import { User } from './user'\n\nexport function start(): void {\n  new User().save()\n}\n"
    ),
    "go.mod": "module example.com/shop\n",
    "store/store.go": "package store\n\nfunc Open() int { return dial() }\n",
    "store/dial.go": "package store\n\nfunc dial() int { return 1 }\n",
    "README.rst": "# Shop\n",
}
SYMBOLS = {
    *("shop/price.py#net", "shop/price.py#rounded", "shop/order.py#place"),
    *("web/user.ts#User", "web/user.ts#User.save", "web/app.ts#start"),
    *("store/store.go#Open", "store/dial.go#dial"),
}


def run(repository: Repository, *, ref: str = "") -> RunView:
    """Index as a worker would and return the record of the run."""
    run_id = request_index(repository_id=repository.pk, ref=ref, requested_by="tests")
    assert run_index(run_id=run_id, now=NOW) is not None
    return queries.get_run(run_id=run_id)


def refused(repository: Repository, *, ref: str = "") -> str:
    """Return the sentence with which a run ended that could not succeed."""
    record = run(repository, ref=ref)
    assert record.state == IndexRun.State.FAILED
    return record.error


def live_files(repository: Repository) -> dict[str, str]:
    rows = FileVersion.objects.filter(repository=repository, valid_to=None)
    return dict(rows.values_list("file__path", "skipped"))


def live_symbols(repository: Repository) -> set[str]:
    rows = SymbolVersion.objects.filter(repository=repository, valid_to=None)
    names = rows.values_list("symbol__path", "symbol__local_name")
    return {f"{path}#{name}" for path, name in names}


def live_edges(repository: Repository) -> set[tuple[str, str, str]]:
    rows = cypher.run(
        graph=cypher.graph_name(repository.namespace_id),
        query="MATCH (a {repo: $repo})-[e {head: true}]->(b) RETURN label(e), a.uid, b.uid",
        columns=("label", "source", "target"),
        parameters={"repo": str(repository.pk)},
    )
    return {(label, source, target) for label, source, target in rows}


def calls(repository: Repository) -> set[tuple[str, str]]:
    return {
        (source.removeprefix("sym:"), target.removeprefix("sym:"))
        for label, source, target in live_edges(repository)
        if label == "CALLS"
    }


def shows(repository: Repository) -> tuple[object, ...]:
    return live_files(repository), live_symbols(repository), live_edges(repository)


def refuse_to_parse(jobs: Any, **_: Any) -> Iterator[Any]:
    assert not list(jobs), "Something is parsed that was parsed before."
    return iter(())


# --- One run ---
def test_a_run_makes_the_graph_of_the_head(mirrored, source):
    commit = source.commit(MIXED)

    record = run(mirrored)

    assert (record.state, record.error, record.commit) == (IndexRun.State.DONE, "", commit)
    assert live_files(mirrored) == dict.fromkeys(MIXED, "")
    assert live_symbols(mirrored) == SYMBOLS
    assert calls(mirrored) == {
        ("shop/price.py#net", "shop/price.py#rounded"),
        ("shop/order.py#place", "shop/price.py#net"),
        ("web/app.ts#start", "web/user.ts#User"),
        ("web/app.ts#start", "web/user.ts#User.save"),
        ("store/store.go#Open", "store/dial.go#dial"),
    }
    assert ("CONTAINS", "sym:web/user.ts#User", "sym:web/user.ts#User.save") in live_edges(mirrored)
    state = graph.get_ref_state(repository_id=mirrored.pk, ref=None)
    assert (state.indexed_commit, state.head_commit, state.behind_by) == (commit, commit, 0)


def test_the_record_tells_what_was_done_and_how_long_it_took(mirrored, source, monkeypatch):
    noted: list[str] = []
    note = services.note_progress

    def noting(**given: Any) -> None:
        noted.append(given["changes"]["step"])
        note(**given)

    monkeypatch.setattr(services, "note_progress", noting)
    source.commit(MIXED)

    record = run(mirrored)

    steps = ["fetching", "parsing", "resolving", "writing"]
    assert list(dict.fromkeys(noted)) == steps
    assert set(record.seconds) == set(steps)
    assert all(seconds >= 0 for seconds in record.seconds.values())
    assert (record.files_done, record.files_total) == (6, 6)
    expected = {"files": 8, "parsed": 6, "symbols": 8, "files_written": 8, "symbols_written": 8}
    assert record.counts == {**record.counts, **expected}
    assert record.counts["edges"] == len(live_edges(mirrored))
    assert (record.step, record.skipped) == (IndexRun.Step.FINISHED, {})
    assert record.finished_at is not None


def test_a_second_run_parses_and_writes_nothing(mirrored, source, monkeypatch):
    source.commit(MIXED)
    run(mirrored)
    monkeypatch.setattr(extraction, "extract_all", refuse_to_parse)

    record = run(mirrored)

    assert record.state == IndexRun.State.DONE
    written = {key: count for key, count in record.counts.items() if key.endswith("_written")}
    assert written == {"files_written": 0, "symbols_written": 0, "edges_written": 0}


def test_a_push_changes_renames_removes_and_moves(mirrored, source):
    source.commit(
        {
            "lib.py": "def kept():\n    return 1\n\n\ndef moved():\n    return 2\n",
            "other.py": "",
            "gone.py": "def gone():\n    pass\n",
            "named.py": "def same():\n    return kept\n",
            "caller.py": "from lib import later\n\n\ndef call():\n    return later()\n",
        }
    )
    run(mirrored)
    assert calls(mirrored) == set()

    source.commit(
        {
            "lib.py": "def kept():\n    return 1\n\n\ndef later():\n    return 3\n",
            "other.py": "def moved():\n    return 2\n",
            "gone.py": None,
            "named.py": None,
            "renamed.py": "def same():\n    return kept\n",
        }
    )
    run(mirrored)

    assert live_symbols(mirrored) == {
        *("lib.py#kept", "lib.py#later", "other.py#moved", "renamed.py#same", "caller.py#call")
    }
    # caller.py is what it was; what it calls is new.
    assert calls(mirrored) == {("caller.py#call", "lib.py#later")}


# --- Facts by content ---
def test_a_copy_of_known_content_is_not_parsed_again(mirrored, source, monkeypatch):
    source.commit({"a.py": "def one():\n    pass\n"})
    run(mirrored)
    monkeypatch.setattr(extraction, "extract_all", refuse_to_parse)

    source.commit({"b/copy.py": "def one():\n    pass\n"})
    run(mirrored)

    assert live_symbols(mirrored) == {"a.py#one", "b/copy.py#one"}


def test_repositories_share_facts_but_not_what_they_show(mirrored, source, tmp_path, monkeypatch):
    source.commit({"a.py": "def one():\n    pass\n", "secret.py": "def hidden():\n    pass\n"})
    run(mirrored)
    copy = Checkout(tmp_path / "copy")
    copy.commit({"a.py": "def one():\n    pass\n"})
    stranger = register(make_namespace("strangers"), copy)
    monkeypatch.setattr(extraction, "extract_all", refuse_to_parse)

    run(stranger)

    assert live_symbols(stranger) == {"a.py#one"}
    assert {target for _, _, target in live_edges(stranger)} == {"sym:a.py#one"}
    assert live_symbols(mirrored) == {"a.py#one", "secret.py#hidden"}


def test_a_newer_extractor_reads_everything_again(mirrored, source, monkeypatch):
    source.commit({"a.py": "def one():\n    pass\n"})
    run(mirrored)
    monkeypatch.setattr(contents, "EXTRACTOR_VERSION", 99)
    monkeypatch.setattr(queries, "EXTRACTOR_VERSION", 99)
    monkeypatch.setattr(dependencies, "EXTRACTOR_VERSION", 99)

    run(mirrored)

    versions = set(BlobFacts.objects.values_list("extractor_version", flat=True))
    assert versions == {EXTRACTOR_VERSION, 99}


# --- Awkward repositories ---
@pytest.mark.parametrize("default_branch", ["", "main"])
def test_an_empty_repository_is_refused(namespace, source, default_branch):
    repository = make_repository(
        namespace, "empty", url=str(source.path), default_branch=default_branch
    )

    assert refused(repository).endswith("has no branch yet.")

    state = graph.get_ref_state(repository_id=repository.pk, ref=None)
    assert (state.indexed_commit, state.head_commit) == (None, None)


def test_a_default_branch_is_learned_from_the_remote(namespace, source):
    source.git("checkout", "-q", "-b", "trunk")
    source.commit({"a.py": "x = 1\n"})
    repository = make_repository(namespace, url=str(source.path), default_branch="")

    assert run(repository).state == IndexRun.State.DONE

    repository.refresh_from_db()
    assert repository.default_branch == "trunk"


def test_an_object_that_is_broken_at_the_source_keeps_the_last_good_snapshot(mirrored, source):
    first = source.commit({"a.py": "def one():\n    pass\n"})
    run(mirrored)
    source.commit({"a.py": "def two():\n    pass\n"})
    blob = source.git("rev-parse", "HEAD:a.py").strip()
    (source.path / ".git/objects" / blob[:2] / blob[2:]).unlink()

    assert blob in refused(mirrored)

    assert live_symbols(mirrored) == {"a.py#one"}
    assert graph.get_ref_state(repository_id=mirrored.pk, ref=None).indexed_commit == first


def test_a_blob_damaged_in_the_mirror_costs_one_file_until_it_is_repaired(mirrored, source):
    source.commit({"a.py": "def one():\n    pass\n", "b.py": "def two():\n    pass\n"})
    blob = source.git("rev-parse", "HEAD:a.py").strip()
    mirror = Mirror.create(mirror_path(mirrored.pk))
    mirror.fetch(mirrored.url, timeout_seconds=30)
    stored = mirror.path / "objects" / blob[:2] / blob[2:]
    stored.chmod(0o644)
    stored.write_bytes(b"damaged")

    record = run(mirrored)

    assert record.skipped == {"object-missing": {"count": 1, "examples": ["a.py"]}}
    assert live_files(mirrored) == {"a.py": "object-missing", "b.py": ""}
    assert live_symbols(mirrored) == {"b.py#two"}

    shutil.copyfile(source.path / ".git/objects" / blob[:2] / blob[2:], stored)
    assert run(mirrored).skipped == {}
    assert live_symbols(mirrored) == {"a.py#one", "b.py#two"}


def test_awkward_files_are_indexed_or_skipped_with_a_reason(mirrored, source, tmp_path):
    outside = tmp_path / "outside.py"
    outside.write_text("def outside():\n    pass\n")
    long_path = "/".join(["d" * 200] * 6) + "/deep.py"
    source.write(
        {
            "latin.py": b"# caf\xe9\ndef latin():\n    pass\n",
            "crlf.py": b"def crlf():\r\n    pass\r\n",
            "bom.py": b"\xef\xbb\xbfdef bom():\n    pass\n",
            "binary.py": b"x = 1\n\0\0\0",
            "new\nline.py": "def newline():\n    pass\n",
            "big.js": b"function f(){};" * 350_000,
            "lfs.py": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
            "empty.py": "",
            long_path: "def deep():\n    pass\n",
            "caf\\xe9.py": "def literal():\n    pass\n",
            os.fsdecode(b"caf\xe9.py"): "def raw():\n    pass\n",
            os.fsdecode(b"na\xefve.py"): "def naive():\n    pass\n",
        }
    )
    (source.path / "inside").symlink_to("latin.py")
    (source.path / "outside.py").symlink_to(outside)
    (source.path / "loop").symlink_to("loop")
    (source.path / "module").mkdir()
    source.git("add", "--all")
    source.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
    source.git("commit", "--quiet", "--message=Awkward")

    record = run(mirrored)

    assert record.state == IndexRun.State.DONE
    assert {reason: skipped["examples"] for reason, skipped in record.skipped.items()} == {
        "binary": ["binary.py"],
        "lfs": ["lfs.py"],
        "too-large": ["big.js"],
        "symlink": ["inside", "loop", "outside.py"],
        "submodule": ["module"],
        "path-ambiguous": ["caf\\xe9.py"],
        "path-too-long": [long_path],
    }
    assert live_symbols(mirrored) == {
        *("latin.py#latin", "crlf.py#crlf", "bom.py#bom", "new\nline.py#newline"),
        *("na\\xefve.py#naive", "caf\\xe9.py#literal"),
    }
    assert live_files(mirrored)["big.js"] == "too-large"
    assert not {"inside", "loop", "outside.py", "module"} & set(live_files(mirrored))


def test_names_that_no_index_can_hold_leave_the_rest_indexed(mirrored, source):
    names = ["".join(f"{(7919 * n * (i + 3)) % 9973:x}" for i in range(50)) for n in range(1, 31)]
    nested = "".join(f"{'  ' * depth}class C{name}:\n" for depth, name in enumerate(names))
    source.commit({"deep.py": f"{nested}{'  ' * 30}x = 1\n", "b.py": "def two():\n    pass\n"})

    record = run(mirrored)

    assert record.skipped == {"partly: name-too-long": {"count": 1, "examples": ["deep.py"]}}
    assert {"b.py#two", f"deep.py#C{names[0]}"} <= live_symbols(mirrored)


def test_a_file_that_crashes_the_parser_costs_that_file(mirrored, source, monkeypatch):
    hostile = extraction.extract_all
    monkeypatch.setattr(
        extraction, "extract_all", lambda jobs, **given: hostile(jobs, command=HOSTILE, **given)
    )
    source.commit({"crash.py": "crash", "lie.py": "lie", "b.py": "def two():\n    pass\n"})

    record = run(mirrored)

    assert set(record.skipped) == {"crash", "malformed"}
    assert live_files(mirrored) == {"crash.py": "crash", "lie.py": "malformed", "b.py": ""}
    assert live_symbols(mirrored) == {"b.py#two"}


def test_a_tree_with_too_many_files_is_refused(mirrored, source, settings):
    settings.MAXIMUM_FILES = 2
    source.commit({"a.py": "", "b.py": "", "c.py": ""})

    assert "more than 2 files" in refused(mirrored)


def test_an_unreachable_remote_is_told_without_its_password(namespace, server_folders, caplog):
    url = "http://robot:hunter2@127.0.0.1:9/team/app.git"
    repository = make_repository(namespace, url=url)

    sentence = refused(repository)

    assert "127.0.0.1" in sentence
    assert "hunter2" not in sentence + caplog.text


def test_a_path_outside_the_allowed_roots_is_refused(mirrored, source, settings, tmp_path):
    source.commit({"a.py": ""})
    settings.LOCAL_REPOSITORY_ROOTS = (tmp_path / "elsewhere",)

    assert "CODEMEM_LOCAL_REPOSITORY_ROOTS" in refused(mirrored)
    assert not mirror_path(mirrored.pk).exists()


def test_a_default_branch_that_is_gone_is_named_with_the_new_one(mirrored, source):
    first = source.commit({"a.py": "def one():\n    pass\n"})
    run(mirrored)
    source.git("branch", "-m", "main", "trunk")
    source.commit({"a.py": "def two():\n    pass\n"})

    assert (
        refused(mirrored) == "The repository has no branch 'main'; its default branch is 'trunk'."
    )

    assert live_symbols(mirrored) == {"a.py#one"}
    assert graph.get_ref_state(repository_id=mirrored.pk, ref=None).indexed_commit == first


def test_a_history_rewritten_by_force_is_followed(mirrored, source):
    source.commit({"a.py": "def one():\n    pass\n"})
    run(mirrored)
    source.git("checkout", "-q", "--orphan", "fresh")
    source.commit({"a.py": "def rewritten():\n    pass\n"})
    source.git("branch", "-M", "fresh", "main")

    run(mirrored)

    assert live_symbols(mirrored) == {"a.py#rewritten"}


def test_a_branch_that_does_not_exist_is_refused(mirrored, source):
    source.commit({"a.py": ""})

    assert "no branch 'feature'" in refused(mirrored, ref="feature")


def test_an_unforeseen_error_ends_the_run_and_is_raised(mirrored, source, monkeypatch):
    def fail(*_: Any) -> None:
        raise ZeroDivisionError("a detail for the log")

    monkeypatch.setattr(pipeline, "resolve_files", fail)
    source.commit({"a.py": ""})
    run_id = request_index(repository_id=mirrored.pk, requested_by="tests")

    with pytest.raises(ZeroDivisionError):
        run_index(run_id=run_id, now=NOW)

    record = queries.get_run(run_id=run_id)
    assert record.state == IndexRun.State.FAILED
    assert "ZeroDivisionError" in record.error
    assert "detail" not in record.error


def test_a_run_that_is_over_or_gone_is_not_carried_out(mirrored, source):
    source.commit({"a.py": ""})
    run_id = request_index(repository_id=mirrored.pk, requested_by="tests")
    assert run_index(run_id=run_id, now=NOW) == Outcome(mirrored.pk, "", is_indexed=True)

    # Not indexed again; but meanwhile it may have turned another run away.
    assert run_index(run_id=run_id, now=NOW) == Outcome(mirrored.pk, "", is_indexed=False)
    IndexRun.objects.all().delete()
    assert run_index(run_id=run_id, now=NOW) is None


# --- Workers beside each other, and workers that die ---
@pytest.fixture
def drops_graphs(transactional_db: None) -> Iterator[None]:
    """Drop the graphs, which no rollback removes in tests that commit."""
    yield
    for namespace in Namespace.objects.all():
        cypher.drop_graph(namespace.pk)


def test_a_second_worker_leaves_its_run_to_the_first(drops_graphs, mirrored, source, monkeypatch):
    source.commit({"a.py": "def one():\n    pass\n"})
    is_resolving, may_go_on = threading.Event(), threading.Event()

    def slowly(*given: Any) -> Any:
        is_resolving.set()
        assert may_go_on.wait(30)
        return resolve_files(*given)

    monkeypatch.setattr(pipeline, "resolve_files", slowly)
    first = request_index(repository_id=mirrored.pk, requested_by="tests")
    worker = threading.Thread(target=in_own_connection, args=(lambda: carry_out(first),))
    worker.start()
    try:
        assert is_resolving.wait(30)
        source.commit({"a.py": "def two():\n    pass\n"})
        second = request_index(repository_id=mirrored.pk, requested_by="tests")
        assert second != first
        assert run_index(run_id=second, now=NOW) is None
        assert queries.get_run(run_id=second).state == IndexRun.State.QUEUED
        # The same message delivered twice does no harm either.
        assert run_index(run_id=first, now=NOW) is None
    finally:
        may_go_on.set()
        worker.join()

    assert queries.get_run(run_id=first).state == IndexRun.State.DONE
    assert queries.waiting_runs(repository_id=mirrored.pk, ref="") == [second]
    assert live_symbols(mirrored) == {"a.py#one"}
    assert run_index(run_id=second, now=NOW) is not None
    assert live_symbols(mirrored) == {"a.py#two"}


def in_own_connection(work: Callable[[], None]) -> None:
    try:
        work()
    finally:
        connection.close()


def carry_out(run_id: Any) -> None:
    run_index(run_id=run_id, now=NOW)


MOMENTS = {
    "fetched": (pipeline, "_note_head"),
    "half parsed": (contents, "_store"),
    "parsed": (deltas, "resolve_changes"),
    "half written": (writer.Writer, "write_edges"),
    "written, not noted": (snapshots, "_note_indexed"),
    "noted, dependencies not kept": (dependencies, "_open"),
    "written, not finished": (services, "finish"),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_worker_killed_anywhere_leaves_work_that_the_next_completes(
    moment, drops_graphs, mirrored, source, monkeypatch
):
    monkeypatch.setattr(contents, "_BATCH", 2)
    old = {"shop/price.py": "def old():\n    pass\n", "gone.py": "def gone(): pass\n"}
    source.commit({**old, "go.mod": MIXED["go.mod"]})
    run(mirrored)
    before = shows(mirrored)
    source.commit({**MIXED, "gone.py": None})
    run_id = request_index(repository_id=mirrored.pk, requested_by="tests")

    killed(run_id, at=MOMENTS[moment])

    record = queries.get_run(run_id=run_id)
    assert record.state == IndexRun.State.RUNNING
    if moment != "written, not finished":
        assert shows(mirrored) == before
    assert recover_runs(now=timezone.now()) == []
    assert recover_runs(now=timezone.now() + SILENT_AFTER + timedelta(seconds=1)) == [run_id]
    assert until_free(run_id).is_indexed
    assert queries.get_run(run_id=run_id).state == IndexRun.State.DONE
    fresh = register(make_namespace("fresh"), source)
    run(fresh)
    assert shows(mirrored) == shows(fresh)


def killed(run_id: Any, *, at: tuple[Any, str]) -> None:
    """Carry out a run in a process of its own that is killed where `at` would be called."""
    connection.close()
    worker = multiprocessing.get_context("fork").Process(target=_die_at, args=(run_id, *at))
    worker.start()
    worker.join(60)
    assert worker.exitcode == -signal.SIGKILL


def _die_at(run_id: Any, owner: Any, name: str) -> None:
    setattr(owner, name, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
    carry_out(run_id)


def until_free(run_id: Any) -> Outcome:
    """Run as soon as Postgres has noticed that the killed worker's connection is gone."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        outcome = run_index(run_id=run_id, now=NOW)
        if outcome is not None:
            return outcome
        time.sleep(0.05)
    raise AssertionError("The killed worker's lock is still held.")
