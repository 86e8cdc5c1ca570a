"""A browser without a window: Django's client, signed in as each of the team."""

import pytest
from django.test import Client

from codemem.accounts.models import User


@pytest.fixture(autouse=True)
def _nothing_collected(settings, tmp_path):
    """Have pages load this checkout's own files, whatever was collected before."""
    settings.STATIC_ROOT = tmp_path


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def as_owner(owner, namespace) -> Client:
    return signed_in(owner)


@pytest.fixture
def as_maintainer(maintainer, namespace) -> Client:
    return signed_in(maintainer)


@pytest.fixture
def as_reader(reader, namespace) -> Client:
    return signed_in(reader)


@pytest.fixture
def as_outsider(outsider, namespace) -> Client:
    return signed_in(outsider)
