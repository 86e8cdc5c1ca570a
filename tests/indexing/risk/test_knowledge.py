"""What is known of a repository's past before a change: of real commits that landed."""

from dataclasses import replace

import pytest

from codemem.accounts.models import Namespace
from graph.models import Repository
from graph.queries import get_ref_state
from indexing.history.backfill import advance
from indexing.mirrors import find_mirror
from indexing.risk import knowledge
from indexing.risk.knowledge import past_of
from indexing.risk.past import PastOfFiles
from tests.factories import NOW
from tests.indexing.checkout import Checkout, index, register

pytestmark = pytest.mark.django_db

A, TEST = "shop/a.py", "tests/test_a.py"


@pytest.fixture
def checkout(source: Checkout) -> Checkout:
    """Return a checkout with three changes of one program, of which the second mends the first."""
    source.commit(
        {A: "a = 1\n", TEST: "def test_a(): ...\n", "README.md": "A\n"}, at="2026-01-01T00:00:00Z"
    )
    source.commit({A: "a = 2\n"}, subject="Fix crash on nothing", at="2026-01-02T00:00:00Z")
    source.commit({A: "a = 3\n", TEST: "def test_b(): ...\n"}, at="2026-01-03T00:00:00Z")
    return source


@pytest.fixture
def shop(checkout: Checkout, namespace: Namespace) -> Repository:
    repository = register(namespace, checkout)
    bring_up(repository)
    return repository


def bring_up(repository: Repository) -> None:
    index(repository)
    while advance(repository_id=repository.pk, seconds=60):
        pass


def past(shop: Repository, *paths: str, commit: str | None = None) -> PastOfFiles:
    indexed = get_ref_state(repository_id=shop.pk, ref=None).indexed_commit
    assert indexed is not None
    return past_of(
        repository_id=shop.pk,
        mirror=find_mirror(shop.pk),
        commit=commit or indexed,
        indexed_commit=indexed,
        paths=paths,
        now=NOW,
    )


def test_earlier_commits_and_what_they_mended_are_counted(shop: Repository) -> None:
    found = past(shop, A)

    assert (found.commits, found.mended, found.authors) == (3, 1, 1)
    assert found.churn > found.fixes > 0
    assert found.first_author_share == 1.0


def test_of_a_commit_nothing_later_is_known(shop: Repository, checkout: Checkout) -> None:
    first = checkout.git("rev-list", "--max-parents=0", "HEAD").strip()

    assert (past(shop, A, commit=first).commits, past(shop, A, commit=first).mended) == (1, 0)


def test_of_a_branch_what_was_there_when_it_left_is_known(
    shop: Repository, checkout: Checkout
) -> None:
    checkout.git("checkout", "--quiet", "-b", "topic", "HEAD~1")
    topic = checkout.commit({A: "a = 9\n"}, subject="Fix again")
    checkout.git("checkout", "--quiet", "main")
    bring_up(shop)

    assert (past(shop, A, commit=topic).commits, past(shop, A, commit=topic).mended) == (2, 1)


@pytest.mark.parametrize("path", [TEST, "README.md", "shop/new.py"])
def test_tests_texts_and_new_files_have_no_past_that_counts(shop: Repository, path: str) -> None:
    found = past(shop, path)

    assert (found.commits, found.churn, found.fixes) == (0, 0.0, 0.0)
    assert found == replace(past(shop), usual_rate=found.usual_rate)


def test_a_new_commit_is_known_at_once_and_nothing_is_read_twice(
    shop: Repository, checkout: Checkout, django_assert_num_queries
) -> None:
    past(shop, A)
    indexed = get_ref_state(repository_id=shop.pk, ref=None).indexed_commit
    mirror = find_mirror(shop.pk)
    with django_assert_num_queries(2):
        knowledge.past_of(
            repository_id=shop.pk,
            mirror=mirror,
            commit=indexed or "",
            indexed_commit=indexed or "",
            paths=[A],
            now=NOW,
        )
    checkout.commit({A: "a = 4\n"}, subject="Fix rounding")
    bring_up(shop)

    assert (past(shop, A).commits, past(shop, A).mended) == (4, 2)


def test_the_past_of_one_repository_is_none_of_anothers(
    shop: Repository, namespace: Namespace, tmp_path
) -> None:
    other = Checkout(tmp_path / "other")
    other.commit({A: "a = 1\n"})
    second = register(namespace, other, "second")
    bring_up(second)

    assert (past(second, A).commits, past(shop, A).commits) == (1, 3)
