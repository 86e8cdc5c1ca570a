"""What is known of one change as numbers: of real diffs against a real graph."""

from dataclasses import replace
from typing import Any

import pytest

from codemem.accounts.models import Namespace
from graph import queries as graph
from indexing.radius import BlastRadius, ChangedNodes, find_in_graph, follow
from indexing.review import read_changes
from indexing.risk.evidence import Evidence, evidence_of, is_tested
from indexing.sides import Limits
from tests.indexing.checkout import Checkout, index, register
from tests.indexing.risk.test_model import NOTHING
from tests.indexing.test_review import BODY, FILES, PRICE, SIGNATURE

pytestmark = pytest.mark.django_db

LIMITS = Limits(diff_bytes=1_000_000, file_bytes=1_000_000, processes=1)


class Shop:
    """The indexed repository of a shop, and what is known of a change to it."""

    def __init__(self, checkout: Checkout, namespace: Namespace) -> None:
        self.checkout = checkout
        self.commit = checkout.commit(FILES)
        self.repository = register(namespace, checkout)
        index(self.repository)

    def seen(self, changes: dict[str, Any], **limits: int) -> tuple[ChangedNodes, BlastRadius]:
        repository = graph.get_repository(repository_id=self.repository.pk)
        found, _, _ = read_changes(
            repository,
            self.checkout.diff(changes),
            base=None,
            indexed_commit=self.commit,
            limits=replace(LIMITS, **limits),
        )
        changed = find_in_graph(repository, found)
        return changed, follow(repository, changed, depth=2)

    def evidence(self, changes: dict[str, Any], **limits: int) -> Evidence | None:
        changed, radius = self.seen(changes, **limits)
        return evidence_of(changed, radius, past=NOTHING.past, repository_nodes=100)

    def some(self, changes: dict[str, Any], **limits: int) -> Evidence:
        found = self.evidence(changes, **limits)
        assert found is not None
        return found


@pytest.fixture
def shop(source: Checkout, namespace: Namespace) -> Shop:
    return Shop(source, namespace)


@pytest.mark.parametrize(
    "files",
    [
        {"README.rst": "Other\n"},
        {"tests/test_order.py": "def test_nothing():\n    assert True\n"},
        {"shop/price.py": PRICE.replace('"""Return the net price."""', '"""Return net."""')},
        {"shop/price.py": PRICE.replace("def _round", "# Rounds.\ndef _round")},
        {"settings.yaml": "a: 1\n"},
    ],
)
def test_what_leaves_all_programs_as_they_are_is_no_evidence(shop, files):
    assert shop.evidence(files) is None


def test_only_lines_and_files_of_programs_are_counted(shop):
    found = shop.some(
        {
            "shop/price.py": BODY,
            "README.rst": "Shop\n" + "words\n" * 50,
            "tests/test_order.py": "def test_nothing():\n    assert True\n",
        }
    )

    assert (found.lines_added, found.lines_removed, found.files) == (1, 1, 1)
    assert found.changes_tests
    assert not shop.some({"shop/price.py": BODY}).changes_tests


@pytest.mark.parametrize(
    ("files", "interfaces"),
    [
        ({"shop/price.py": BODY}, 0),
        ({"shop/price.py": SIGNATURE}, 1),
        ({"shop/price.py": PRICE.replace("_round(amount: float)", "_round(amount: int)")}, 0),
        ({"shop/lonely.py": None}, 2),  # the file, and the function in it
        ({"shop/new.py": "def new():\n    return 1\n"}, 0),
    ],
)
def test_public_signatures_that_change_and_what_is_gone_are_interfaces(shop, files, interfaces):
    assert shop.some(files).interfaces == interfaces


def test_a_new_file_is_told_from_a_changed_one(shop):
    found = shop.some({"shop/new.py": "def new():\n    return 1\n\n\ndef newer(): ...\n"})

    assert (found.files, found.new_files, found.symbols, found.new_symbols) == (1, 1, 0, 2)
    assert (found.dependents, found.testable, found.percentile) == (0, 0, None)


def test_who_depends_on_it_is_counted_and_tests_are_not(shop):
    found = shop.some({"shop/price.py": BODY})

    assert (found.symbols, found.dependents, found.repository_nodes) == (1, 3, 100)


def test_what_no_test_reaches_is_told_from_what_some_test_does(shop):
    tested = shop.some({"shop/price.py": BODY})
    alone = shop.some({"shop/lonely.py": "def lonely() -> int:\n    return 2\n"})
    both = shop.some(
        {"shop/price.py": BODY, "shop/lonely.py": "def lonely() -> int:\n    return 2\n"}
    )

    assert (tested.testable, tested.untested) == (1, 0)
    assert (alone.testable, alone.untested) == (1, 1)
    assert (both.testable, both.untested) == (2, 1)


def test_nobody_can_tell_whether_something_new_or_a_test_is_tested(shop):
    changed, radius = shop.seen(
        {
            "shop/new.py": "def new():\n    return 1\n",
            "tests/test_order.py": "def test_submit():\n    assert True\n",
        }
    )

    assert [is_tested(one, changed, radius) for one in changed.symbol_changes] == [None, None]


def test_files_that_were_not_compared_still_count_by_their_lines(shop):
    many = {f"shop/part{number}.py": "x = 1\n" * 9 for number in range(3)}
    found = shop.some({"shop/price.py": BODY, **many}, files=1)

    assert found.files == 4
    assert found.lines_added == 28


def test_a_moved_program_is_an_interface_that_others_import(shop):
    found = shop.some({"shop/price.py": None, "shop/prices.py": PRICE})

    assert found.interfaces >= 1
    assert found.dependents == 1  # the file that imports it
