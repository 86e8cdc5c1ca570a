"""Lists that are longer than a statement's parameters may be many."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.db.models import Q
from django.test.utils import CaptureQueriesContext

from codemem.accounts.models import Namespace
from codemem.embedding.models import CachedVector
from codemem.postgres.lists import MOST_PARAMETERS
from graph.models import Commit, Repository, SourceFile
from tests.factories import NOW, make_repository

pytestmark = pytest.mark.django_db

MANY = MOST_PARAMETERS + 5_000


@pytest.fixture
def repository(namespace: Namespace) -> Repository:
    return make_repository(namespace, "large")


@pytest.fixture
def files(repository: Repository) -> list[SourceFile]:
    rows = [SourceFile(repository=repository, path=f"src/{number}.py") for number in range(3)]
    return SourceFile.objects.bulk_create(rows)


def test_numbers_texts_keys_and_what_refers_to_them_are_found_by_long_lists(
    repository: Repository, files: list[SourceFile]
):
    numbers = [file.pk for file in files[:2]]
    paths = [file.path for file in files[:2]]
    some = SourceFile.objects.order_by("path")
    long_numbers = [*range(-MANY, 0), *numbers]
    long_paths = [*(f"gone/{number}" for number in range(MANY)), *paths]
    long_keys = [*(uuid4() for _ in range(MANY)), repository.pk]

    assert list(some.filter(pk__in=long_numbers)) == files[:2]
    assert list(some.filter(path__in=long_paths)) == files[:2]
    assert list(some.filter(repository__in=long_keys)) == files
    assert list(some.filter(repository_id__in=long_keys)) == files
    assert list(some.filter(repository__namespace__in=[*long_keys, repository.namespace])) == files
    assert list(some.exclude(pk__in=long_numbers)) == files[2:]
    assert list(some.filter(Q(pk__in=long_numbers) & ~Q(path__in=long_paths[:-1]))) == files[1:2]
    assert set(SourceFile.objects.in_bulk(long_numbers)) == set(numbers)


def test_what_a_long_list_holds_twice_or_not_at_all_changes_nothing(files: list[SourceFile]):
    asked = [None, *range(-2_000, 0), files[0].pk, files[0].pk]
    assert list(SourceFile.objects.filter(pk__in=asked)) == files[:1]
    assert not CachedVector.objects.filter(digest__in=[b"%d" % n for n in range(2_000)]).exists()


def test_a_long_text_is_not_cut_to_what_the_column_holds(repository: Repository):
    sha = "a" * 64
    Commit.objects.create(
        repository=repository, sha=sha, authored_at=NOW, committed_at=NOW + timedelta(1)
    )
    longer = [f"{sha}{number:030}" for number in range(2_000)]
    assert not Commit.objects.filter(sha__in=longer).exists()
    assert Commit.objects.filter(sha__in=[*longer, sha]).exists()


def test_a_short_list_and_a_subquery_are_asked_as_ever(files: list[SourceFile]):
    with CaptureQueriesContext(connection) as asked:
        list(SourceFile.objects.filter(pk__in=[1, 2]))
        list(SourceFile.objects.filter(repository__in=Repository.objects.all()))
    assert [" IN (" in one["sql"] for one in asked] == [True, True]


def test_more_rows_than_fit_are_written_in_batches_and_deleted(repository: Repository):
    """Rows with a list of their own take a parameter for each value."""
    count = MOST_PARAMETERS // 10
    rows = [
        Commit(repository=repository, sha=f"{number:040}", authored_at=NOW, committed_at=NOW)
        for number in range(count)
    ]
    Commit.objects.bulk_create(rows)
    assert Commit.objects.filter(repository=repository).count() == count
    assert Commit.objects.filter(pk__in=[row.pk for row in rows]).delete()[0] == count
