"""Folders of the server under a test's own, and a checkout that the server may read."""

from pathlib import Path
from typing import Any

import pytest

from codemem.accounts.models import Namespace
from graph.models import Repository
from tests.indexing.checkout import Checkout, register


@pytest.fixture
def server_folders(settings: Any, tmp_path: Path) -> None:
    settings.LOCAL_REPOSITORY_ROOTS = (tmp_path.resolve(),)
    settings.MIRRORS_DIRECTORY = tmp_path / "mirrors"
    settings.EXTRACTION_PROCESSES = 1


@pytest.fixture
def source(server_folders: None, tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "source")


@pytest.fixture
def mirrored(namespace: Namespace, source: Checkout) -> Repository:
    """Return a repository whose remote is `source`."""
    return register(namespace, source)
