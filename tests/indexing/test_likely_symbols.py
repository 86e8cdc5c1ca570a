"""Where in a suggested file the change would be: asked of real repositories and branches."""

from typing import Any

import pytest

from codemem import policies
from codemem.accounts.models import Namespace, User
from codemem.accounts.values import Caller
from graph import queries as graph
from graph.models import Repository
from indexing.likely_symbols import with_symbols
from indexing.missing.values import MissingChange
from indexing.pipeline import run_index
from indexing.review import review_diff
from indexing.services import request_index
from indexing.sides import Limits
from tests.factories import NOW, caller_of
from tests.indexing.checkout import Checkout, index, register

pytestmark = pytest.mark.django_db

API = "def create_order(customer):\n    return customer\n\n\ndef quiet():\n    return 0\n"
SIGNATURE = API.replace("create_order(customer)", "create_order(customer, coupon)")
CLIENT = (
    "from shop.api import create_order\n\n\n"
    "def unrelated():\n    return 1\n\n\n"
    "class Client:\n"
    "    def send(self):\n        return create_order('me')\n\n"
    "    def wait(self):\n        return 2\n"
)
TESTS = (
    "from shop.api import create_order\n\n\n"
    "def test_create_order():\n    assert create_order('me')\n\n\n"
    "def test_nothing():\n    assert True\n"
)
FILES = {
    "shop/__init__.py": "",
    "shop/api.py": API,
    "shop/client.py": CLIENT,
    "tests/test_api.py": TESTS,
    "shop/fields.py": "def table():\n    return ['legacy_total']\n\n\ndef other():\n    return 3\n",
    **{f"other/part{number}.py": f"def part{number}(): ...\n" for number in range(8)},
}


@pytest.fixture
def shop(source: Checkout, namespace: Namespace) -> Repository:
    source.commit(FILES)
    repository = register(namespace, source)
    index(repository)
    return repository


@pytest.fixture
def caller(writer: User, namespace: Namespace) -> Caller:
    return caller_of(writer)


def missing(
    shop: Repository, caller: Caller, diff: str | bytes, *, ref: str | None = None, **changes: Any
) -> dict[str, MissingChange]:
    """Review a diff and return what may be forgotten, by path."""
    usual: dict[str, Any] = {"least_probability": 0.0, "most_missing": 20}
    found = review_diff(
        repository=graph.get_repository(repository_id=shop.pk),
        ref_state=graph.get_ref_state(repository_id=shop.pk, ref=ref),
        caller=caller,
        diff=diff,
        now=NOW,
        limits=Limits(diff_bytes=1_000_000, file_bytes=1_000_000, processes=1),
        **usual | changes,
    )
    return {one.path: one for one in found.missing}


def named(change: MissingChange) -> list[str]:
    return [one.name for one in change.symbols]


def test_who_calls_a_changed_signature_is_named_and_who_only_stands_beside_is_not(
    shop, source, caller
):
    found = missing(shop, caller, source.diff({"shop/api.py": SIGNATURE}))
    (send,) = found["shop/client.py"].symbols

    assert (send.id, send.name) == ("sym:shop/client.py#Client.send", "Client.send")
    assert send.line == CLIENT.splitlines().index("    def send(self):") + 1
    assert send.reason == "calls create_order"
    assert named(found["tests/test_api.py"]) == ["test_create_order"]


def test_who_holds_what_the_diff_takes_out_is_named_without_any_edge(shop, source, caller):
    source.commit({"shop/api.py": API + "\n\nCOLUMNS = ['legacy_total']\n"})
    index(shop)
    found = missing(shop, caller, source.diff({"shop/api.py": API}))
    (table,) = found["shop/fields.py"].symbols

    assert (table.name, table.reason) == ("table", "holds legacy_total")


def test_a_file_in_which_nothing_speaks_for_a_symbol_names_none(shop, source, caller):
    found = missing(shop, caller, source.diff({"shop/api.py": SIGNATURE}))

    assert found["other/part1.py"].symbols == ()


def test_at_most_three_are_named_those_that_call_it_before_those_that_mention_it(
    shop, source, caller
):
    callers = "".join(
        f"def caller{number}():\n    return create_order({number})\n\n\n" for number in range(5)
    )
    quoting = "def quoting():\n    return 'create_order'\n\n\n"
    source.commit({"shop/many.py": f"from shop.api import create_order\n\n\n{quoting}{callers}"})
    index(shop)
    found = missing(shop, caller, source.diff({"shop/api.py": SIGNATURE}))

    assert named(found["shop/many.py"]) == ["caller0", "caller1", "caller2"]


def test_symbols_are_those_of_the_branch(shop, source, caller):
    source.git("switch", "--quiet", "--create", "feature")
    source.commit({"shop/client.py": CLIENT.replace("def send", "def dispatch")})
    run = request_index(repository_id=shop.pk, ref="feature", requested_by="tests")
    run_index(run_id=run, now=NOW)
    diff = source.diff({"shop/api.py": SIGNATURE})

    on_branch = missing(shop, caller, diff, ref="feature")
    on_main = missing(shop, caller, diff)

    assert named(on_branch["shop/client.py"]) == ["Client.dispatch"]
    assert named(on_main["shop/client.py"]) == ["Client.send"]


def test_the_symbols_of_all_files_are_one_query_and_change_no_order(
    shop, source, caller, django_assert_num_queries, monkeypatch
):
    diff = source.diff({"shop/api.py": SIGNATURE})
    missing(shop, caller, diff)
    asked: list[Any] = []

    def counted(given: Any, **about: Any) -> Any:
        with django_assert_num_queries(1):
            answer = with_symbols(given, **about)
        asked.append((given, answer))
        return answer

    monkeypatch.setattr("indexing.review.with_symbols", counted)
    missing(shop, caller, diff)
    ((given, answer),) = asked

    assert len(given.changes) > 5
    assert [(one.path, one.probability, one.reason) for one in answer.changes] == [
        (one.path, one.probability, one.reason) for one in given.changes
    ]


# --- From which probability on a file is named ----------------------------------------------------
def test_the_namespace_says_from_which_probability_a_file_is_named(shop, source, caller, namespace):
    diff = source.diff({"shop/api.py": SIGNATURE})
    every = missing(shop, caller, diff)
    usual = missing(shop, caller, diff, least_probability=None)
    assert set(usual) == {path for path, one in every.items() if one.probability >= 0.3}

    def decided(least: float) -> set[str]:
        policies.change_as(
            actor="tests", namespace_id=namespace.pk, changes={"review.missing_from": least}
        )
        return set(missing(shop, caller, diff, least_probability=None))

    assert decided(0.0) == set(every)
    assert decided(1.0) == set()
    likeliest = max(every.values(), key=lambda one: one.probability)
    assert decided(likeliest.probability) == {likeliest.path}


def test_the_namespace_says_what_is_a_high_risk_and_nothing_else_of_it(
    shop, source, caller, namespace
):
    def risk(**decided: float) -> Any:
        changes = {f"review.risk_{name}_from": least for name, least in decided.items()}
        policies.change_as(actor="tests", namespace_id=namespace.pk, changes=changes)
        return review_diff(
            repository=graph.get_repository(repository_id=shop.pk),
            ref_state=graph.get_ref_state(repository_id=shop.pk, ref=None),
            caller=caller,
            diff=source.diff({"shop/api.py": SIGNATURE}),
            now=NOW,
            limits=Limits(diff_bytes=1_000_000, file_bytes=1_000_000, processes=1),
        ).risk

    usual = risk()
    assert 0 < usual.probability < 1
    assert risk(medium=0.0, high=usual.probability).level == "high"
    assert risk(medium=usual.probability, high=1.0).level == "medium"
    assert risk(medium=1.0, high=1.0).level == "low"
    assert risk(medium=1.0, high=1.0).probability == usual.probability


@pytest.mark.parametrize("key", ["missing_from", "risk_medium_from", "risk_high_from"])
@pytest.mark.parametrize("given", [-0.1, 1.1, "often", True])
def test_what_is_no_probability_is_no_threshold(namespace, key, given):
    with pytest.raises(policies.PolicyInvalid):
        policies.change_as(
            actor="tests", namespace_id=namespace.pk, changes={f"review.{key}": given}
        )
