"""Where this host keeps the bare mirrors, and which local paths may be mirrored at all."""

from pathlib import Path
from urllib.parse import unquote, urlsplit
from uuid import UUID

from django.conf import settings

from indexing.git import Mirror


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

    Registering a path is reading it with the server's rights: any repository on its disk.
    """
    path = _local_path(url)
    if path is None:
        return
    real = path.resolve()
    if not any(real.is_relative_to(root) for root in settings.LOCAL_REPOSITORY_ROOTS):
        raise SourceRefused(
            f"The server may not read {url}: list a folder above it in"
            " CODEMEM_LOCAL_REPOSITORY_ROOTS."
        )


def _local_path(url: str) -> Path | None:
    parts = urlsplit(url)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    if parts.scheme or _is_scp_like(url):
        return None
    return Path(url)


def _is_scp_like(url: str) -> bool:
    """Tell host:path, which Git reads as SSH, from a path that has a colon in a folder's name."""
    before, colon, _ = url.partition(":")
    return bool(colon) and "/" not in before
