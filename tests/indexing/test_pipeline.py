from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from graph import cypher
from graph import queries as graph
from graph.models import FileVersion, NodeScore, Repository, SymbolVersion
from indexing import contents, extraction, pipeline, queries
from indexing.models import BlobFacts, IndexRun
from indexing.pipeline import Outcome, run_index
from indexing.queries import RunView
from indexing.services import request_index
from tests.factories import NOW, make_namespace, make_repository
from tests.indexing.checkout import Checkout, register

pytestmark = pytest.mark.django_db

MIXED = {
    "shop/price.py": "def net(amount):\n    return rounded(amount)\n\n\ndef rounded(x):\n    return x\n",
    "shop/order.py": "from shop.price import net\n\n\ndef place():\n    return net(1)\n",
    "web/user.ts": "export class User {\n  save(): void {}\n}\n",
    "web/app.ts": (
        "import { User } from './user'\n\nexport function start(): void {\n  new User().save()\n}\n"
    ),
    "go.mod": "module example.com/shop\n",
    "store/store.go": "package store\n\nfunc Open() int { return dial() }\n",
    "store/dial.go": "package store\n\nfunc dial() int { return 1 }\n",
    "README.md": "# Shop\n",
}


@pytest.fixture(autouse=True)
def folders(settings: Any, tmp_path: Path) -> None:
    settings.LOCAL_REPOSITORY_ROOTS = (tmp_path.resolve(),)
    settings.MIRRORS_DIRECTORY = tmp_path / "mirrors"
    settings.EXTRACTION_PROCESSES = 1


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "source")


@pytest.fixture
def shop(namespace: Any, checkout: Checkout) -> Repository:
    return register(namespace, checkout)


def run(repository: Repository, *, ref: str = "") -> RunView:
    """Index as a worker would and return the record of the run."""
    run_id = request_index(repository_id=repository.pk, ref=ref, requested_by="tests")
    assert run_index(run_id=run_id, now=NOW) is not None
    return queries.get_run(run_id=run_id)


def live_files(repository: Repository) -> dict[str, str]:
    rows = FileVersion.objects.filter(repository=repository, valid_to=None)
    return dict(rows.values_list("file__path", "skipped"))


def live_symbols(repository: Repository) -> set[str]:
    rows = SymbolVersion.objects.filter(repository=repository, valid_to=None)
    return {
        f"{path}#{name}" for path, name in rows.values_list("symbol__path", "symbol__local_name")
    }


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


def test_a_run_makes_the_graph_of_the_head(shop, checkout):
    commit = checkout.commit(MIXED)

    done = run(shop)

    assert (done.state, done.error) == (IndexRun.State.DONE, "")
    assert done.commit == commit
    assert set(live_files(shop)) == set(MIXED)
    assert live_symbols(shop) == {
        "shop/price.py#net", "shop/price.py#rounded", "shop/order.py#place",
        "web/user.ts#User", "web/user.ts#User.save", "web/app.ts#start",
        "store/store.go#Open", "store/dial.go#dial",
    }  # fmt: skip
    assert calls(shop) == {
        ("shop/price.py#net", "shop/price.py#rounded"),
        ("shop/order.py#place", "shop/price.py#net"),
        ("web/app.ts#start", "web/user.ts#User"),
        ("web/app.ts#start", "web/user.ts#User.save"),
        ("store/store.go#Open", "store/dial.go#dial"),
    }
    assert ("CONTAINS", "sym:web/user.ts#User", "sym:web/user.ts#User.save") in live_edges(shop)
    assert NodeScore.objects.filter(repository=shop).count() == len(MIXED) + 8
    state = graph.get_ref_state(repository_id=shop.pk, ref=None)
    assert (state.indexed_commit, state.head_commit, state.behind_by) == (commit, commit, 0)
