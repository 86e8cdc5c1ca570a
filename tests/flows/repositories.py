"""Git repositories made on the spot."""

import subprocess
from collections.abc import Mapping
from pathlib import Path


def make_repository(path: Path, files: Mapping[str, str]) -> Path:
    path.mkdir(parents=True)
    git(path, "init", "--quiet", "--initial-branch", "main")
    commit(path, files, message="Begin")
    return path


def commit(path: Path, files: Mapping[str, str], *, message: str) -> str:
    """Write files, commit everything, return the commit."""
    for name, content in files.items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
    git(path, "add", "--all")
    git(path, "commit", "--quiet", "--message", message)
    return git(path, "rev-parse", "HEAD")


def git(path: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    finished = subprocess.run(
        ("git", *identity, *arguments), cwd=path, check=True, capture_output=True, text=True
    )
    return finished.stdout.strip()
