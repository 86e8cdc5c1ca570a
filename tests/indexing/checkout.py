"""A small real Git repository for tests, and a way to have it indexed."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from codemem.accounts.models import Namespace
from graph.models import Repository
from indexing.history.backfill import advance
from indexing.pipeline import run_index
from indexing.services import request_index
from tests.factories import NOW, make_repository


class Checkout:
    """A Git repository that tests write, commit and diff."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str, at: str | None = None) -> str:
        identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
        settings = ["-c", "core.autocrlf=false", "-c", "commit.gpgsign=false"]
        dates = {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at} if at else {}
        answer = subprocess.run(
            ["git", *identity, *settings, *arguments],
            cwd=self.path,
            env={"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(self.path), **dates},
            capture_output=True,
            check=True,
        )
        return answer.stdout.decode("utf-8", "surrogateescape")

    def write(self, files: Mapping[str, str | bytes | None]) -> None:
        """Write files; None removes one."""
        for name, content in files.items():
            path = self.path / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(
        self,
        files: Mapping[str, str | bytes | None],
        *,
        subject: str = "Change",
        at: str | None = None,
    ) -> str:
        """Commit these files on top of what is there and return the commit."""
        self.write(files)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", f"--message={subject}", at=at)
        return self.git("rev-parse", "HEAD").strip()

    def diff(self, files: Mapping[str, str | bytes | None], *options: str) -> str:
        """Return the diff that these changes would be, leaving the work tree as it was."""
        self.write(files)
        self.git("add", "--all")
        text = self.git("diff", "--cached", "--find-renames", *options)
        self.git("reset", "--quiet", "--hard")
        return text


def register(namespace: Namespace, checkout: Checkout, name: str = "shop") -> Repository:
    return make_repository(namespace, name, url=str(checkout.path))


def index(repository: Repository) -> None:
    """Index the head of the default branch, as a worker would."""
    run_id = request_index(repository_id=repository.pk, requested_by="tests")
    outcome = run_index(run_id=run_id, now=NOW)
    assert outcome is not None
    assert outcome.is_indexed


def bring_up(repository: Repository) -> None:
    """Index a repository and all of its history."""
    index(repository)
    while advance(repository_id=repository.pk, seconds=60):
        pass
