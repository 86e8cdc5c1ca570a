"""Paths as failures keep them: from the repository's root, with forward slashes. Pure."""

import re
from collections.abc import Iterable

_LONGEST = 1_000


def repository_path(path: str, *, directory: str) -> str:
    """Return a path from the work tree's top level; empty for one outside of it."""
    plain = path.replace("\\", "/").strip()
    root = directory.replace("\\", "/").rstrip("/")
    if root and plain.lower().startswith(f"{root}/".lower()):
        plain = plain[len(root) + 1 :]
    plain = plain.removeprefix("./")
    is_elsewhere = plain.startswith(("/", "~")) or re.match(r"[A-Za-z]:/", plain)
    if is_elsewhere or ".." in plain.split("/") or not plain or len(plain) > _LONGEST:
        return ""
    return plain


def repository_paths(paths: Iterable[str], *, directory: str) -> list[str]:
    """Return the paths that are inside the work tree, each once."""
    found = (repository_path(path, directory=directory) for path in paths)
    return list(dict.fromkeys(path for path in found if path))
