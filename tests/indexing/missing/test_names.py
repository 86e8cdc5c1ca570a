import pytest

from indexing.missing.names import Names, words_of

PATHS = [
    "src/price_list.py",
    "tests/test_price_list.py",
    "src/PriceTable.java",
    "src/order.py",
    "docs/guide/intro.md",
]


@pytest.fixture
def names() -> Names:
    return Names(PATHS)


def test_a_name_falls_into_words_without_its_role_and_endings():
    assert words_of("a/test_price_list.spec.ts") == {"price", "list"}
    assert words_of("a/HTTPServerTest.java") == {"http", "server"}


def test_a_test_has_the_name_of_what_it_tests(names):
    alike = names.alike("src/price_list.py")
    assert alike[1] == pytest.approx(1)
    assert 0 < alike[2] < 1
    assert alike[3] == 0


def test_a_file_nobody_knows_is_like_those_that_share_its_words(names):
    assert names.alike("src/list.py")[0] > 0


def test_the_same_folder_is_nearest_and_its_neighbors_come_next(names):
    near = names.near("src/order.py")
    assert near[0] == 1
    assert near[0] > near[1] > near[4] > 0


def test_paths_that_words_name_are_found_folders_included():
    names = Names(["src/orders/tax.py", "src/OrderTax.py", "docs/index.md"])
    scores = names.named({"tax": 1.0, "orders": 1.0})
    assert scores[0] > scores[1] > scores[2] == 0
