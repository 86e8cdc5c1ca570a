"""The folders and the repository of the indexing tests."""

from tests.indexing.conftest import mirrored, server_folders, source

__all__ = ["mirrored", "server_folders", "source"]
