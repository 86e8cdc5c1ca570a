"""Where this host keeps the bare mirrors, and which local paths may be mirrored at all."""

import os
from pathlib import Path
from urllib.parse import unquote_to_bytes
from uuid import UUID

from django.conf import settings

from graph.remotes import redact_credentials
from indexing.git import Mirror

_FILE_SCHEME = "file://"


class SourceRefused(Exception):
    """The repository's path is not one that this server may read."""


def mirror_path(repository_id: UUID) -> Path:
    path: Path = settings.MIRRORS_DIRECTORY / f"{repository_id}.git"
    return path


def find_mirror(repository_id: UUID) -> Mirror | None:
    """Return the mirror if this host has it; web servers of a cluster may not."""
    path = mirror_path(repository_id)
    return Mirror(path) if (path / "HEAD").exists() else None


def refuse_foreign_path(url: str) -> None:
    """Raise SourceRefused for a local path outside CODEMEM_LOCAL_REPOSITORY_ROOTS.

    Registering a path is reading it with the server's rights: any repository on its disk. Symbolic
    links are followed first. What Git itself follows inside a repository (alternates, the `.git`
    file of a linked work tree) is not: a root is for folders whose owners are trusted.
    """
    path = _local_path(url)
    if path is not None and not _is_in_a_root(path):
        raise SourceRefused(
            f"The server may not read {redact_credentials(url)[:200]!a}: a local repository is"
            " an absolute path below a folder of CODEMEM_LOCAL_REPOSITORY_ROOTS."
        )


def _local_path(url: str) -> Path | None:
    """Return the path that Git would read, None for an address of another host."""
    if url.lower().startswith(_FILE_SCHEME):
        # Like Git: what stands for a host is the path's first folder, and ? and # mean nothing.
        path = os.fsdecode(unquote_to_bytes(url[len(_FILE_SCHEME) :]))
        return Path(path if path.startswith("/") else f"/{path}")
    if "://" in url or _is_scp_like(url):
        return None
    return Path(url)


def _is_scp_like(url: str) -> bool:
    """Tell host:path, which Git reads as SSH, from a path that has a colon in a folder's name."""
    before, colon, _ = url.partition(":")
    return bool(colon) and "/" not in before


def _is_in_a_root(path: Path) -> bool:
    # A relative path would begin at wherever the worker was started, and Git reads ~ as a home.
    if not path.is_absolute():
        return False
    try:
        real = path.resolve()
    except (OSError, RuntimeError, ValueError):  # too long, a loop of links, a NUL
        return False
    return any(real.is_relative_to(root) for root in settings.LOCAL_REPOSITORY_ROOTS)
