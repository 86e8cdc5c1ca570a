import sys
from pathlib import Path
from typing import Any

import pytest

from graph.models import Repository, SymbolVersion
from indexing.models import CompilerAnswers, ScipRun
from indexing.pipeline import run_index
from indexing.scip import queries
from indexing.scip.refinement import Refined, refine
from indexing.services import request_index
from tests.factories import NOW
from tests.indexing.checkout import Checkout

pytestmark = pytest.mark.django_db

FAKE = Path(__file__).with_name("fake_indexer.py")
FILES = {
    "shop/price.py": "def net(x):\n    return rounded(x)\n\n\ndef rounded(x):\n    return x\n",
    "shop/order.py": "def place(basket):\n    return basket.item.net(1)\n",
}
NEW = Refined(has_answers=True, is_behind=False)
NOTHING_NEW = Refined(has_answers=False, is_behind=False)


@pytest.fixture(autouse=True)
def scip(settings: Any, tmp_path: Path) -> None:
    settings.SCIP_ENABLED = True
    settings.SCIP_SANDBOX = "none"
    settings.SCIP_TOOLS = tmp_path / "tools"
    settings.SCIP_SECONDS = 60
    settings.SCIP_COMMANDS = {"python": command("good"), "typescript": "off"}


def command(behavior: str) -> str:
    return f"{sys.executable} {FAKE} {behavior} {{output}}"


def index(repository: Repository) -> None:
    run_id = request_index(repository_id=repository.pk, requested_by="tests")
    outcome = run_index(run_id=run_id, now=NOW)
    assert outcome
    assert outcome.is_indexed


@pytest.fixture
def indexed(mirrored: Repository, source: Checkout) -> Repository:
    source.commit(FILES)
    index(mirrored)
    return mirrored


def latest(repository: Repository) -> ScipRun:
    (run,) = queries.latest_runs(repository_ids=[repository.pk])
    return run


def asked(repository: Repository, settings: Any, behavior: str) -> ScipRun:
    settings.SCIP_COMMANDS = {"python": command(behavior)}
    refine(repository_id=repository.pk)
    return latest(repository)


def test_what_an_index_says_is_in_the_graph_after_the_next_run(indexed: Repository) -> None:
    assert refine(repository_id=indexed.pk) == NEW
    run = latest(indexed)
    assert (run.state, run.reason, run.counts["documents"]) == (ScipRun.State.DONE, "", 2)
    assert queries.paths_to_apply(repository_id=indexed.pk) == FILES.keys()

    index(indexed)
    place = SymbolVersion.objects.get(symbol__local_name="place", valid_to=None)
    assert place.doc == "Hover text of place."
    assert queries.paths_to_apply(repository_id=indexed.pk) == frozenset()


def test_the_same_tree_is_indexed_once(indexed: Repository, source: Checkout) -> None:
    refine(repository_id=indexed.pk)
    assert refine(repository_id=indexed.pk) == NOTHING_NEW
    source.commit({"README.md": "No Python changed.\n"})
    index(indexed)
    assert refine(repository_id=indexed.pk) == NOTHING_NEW
    assert ScipRun.objects.filter(repository=indexed).count() == 1


def test_a_push_is_asked_about_and_only_new_answers_are_new(
    indexed: Repository, source: Checkout
) -> None:
    refine(repository_id=indexed.pk)
    index(indexed)
    source.commit({"shop/more.py": "def more():\n    return place(1)\n"})
    index(indexed)
    assert refine(repository_id=indexed.pk) == NEW
    assert queries.paths_to_apply(repository_id=indexed.pk) == {"shop/more.py"}


def test_an_indexer_that_is_not_here_is_a_reason(indexed: Repository, settings: Any) -> None:
    settings.SCIP_COMMANDS = {"python": "no-such-indexer --output {output}"}
    assert refine(repository_id=indexed.pk) == NOTHING_NEW
    assert refine(repository_id=indexed.pk) == NOTHING_NEW
    run = latest(indexed)
    assert run.state == ScipRun.State.ABSENT
    assert "not installed" in run.reason
    assert ScipRun.objects.count() == 1


def test_without_the_wall_that_settings_require_nothing_runs(
    indexed: Repository, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SCIP_SANDBOX = "required"
    monkeypatch.setattr("indexing.scip.refinement.find_wall", lambda _tools: None)
    assert refine(repository_id=indexed.pk) == NOTHING_NEW
    assert "bubblewrap" in latest(indexed).reason


@pytest.mark.parametrize(
    ("behavior", "reason"),
    [
        ("crash", "code 1: cannot go on"),
        ("nothing", "wrote no index"),
        ("garbage", "says nothing|cut off"),
    ],
)
def test_an_indexer_that_fails_costs_the_push_nothing(
    indexed: Repository, settings: Any, behavior: str, reason: str
) -> None:
    run = asked(indexed, settings, behavior)
    assert run.state == ScipRun.State.FAILED
    assert any(part in run.reason for part in reason.split("|"))
    assert not CompilerAnswers.objects.exists()


def test_an_indexer_that_hangs_is_stopped(indexed: Repository, settings: Any) -> None:
    settings.SCIP_SECONDS = 1
    run = asked(indexed, settings, "hang")
    assert run.reason.startswith("It took too long")


def test_an_indexer_that_grows_is_stopped(indexed: Repository, settings: Any) -> None:
    settings.SCIP_MEMORY_MB = 128
    run = asked(indexed, settings, "grow")
    assert run.reason.startswith("It took too much memory")
    assert run.peak_bytes > 128 << 20


def test_an_indexer_that_writes_without_end_is_stopped(indexed: Repository, settings: Any) -> None:
    settings.SCIP_INDEX_MB = 3
    run = asked(indexed, settings, "flood")
    assert "wrote too much" in run.reason
    assert run.state == ScipRun.State.FAILED


def test_a_partial_index_is_kept_and_named(indexed: Repository, settings: Any) -> None:
    run = asked(indexed, settings, "cut")
    assert (run.state, run.reason) == (ScipRun.State.PARTIAL, "The index is cut off.")
    assert list(CompilerAnswers.objects.values_list("path", flat=True)) == ["shop/order.py"]


def test_files_that_an_indexer_dies_of_are_left_out(
    mirrored: Repository, source: Checkout, settings: Any
) -> None:
    source.commit({**FILES, "bad_one.py": "x = 1\n", "deep/bad_two.py": "x = 1\n"})
    index(mirrored)
    run = asked(mirrored, settings, "crash_on_bad_files")
    assert run.state == ScipRun.State.PARTIAL
    assert "bad_one.py, deep/bad_two.py" in run.reason


def test_an_indexer_learns_no_secret(
    indexed: Repository, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEMEM_SECRET_KEY", "s3cret")
    run = asked(indexed, settings, "environment")
    assert run.reason.endswith("SECRETS")


def test_nothing_runs_when_turned_off(indexed: Repository, settings: Any) -> None:
    settings.SCIP_ENABLED = False
    assert refine(repository_id=indexed.pk) == NOTHING_NEW
    assert not ScipRun.objects.exists()
