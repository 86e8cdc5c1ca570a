"""Which repository, branch and commit the current directory stands on, asked of the git command.

Only facts of the checkout: which repository of the server they mean is the server's business.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Final, NamedTuple

from codemem.client.failure import Failure

# Walking to the root of a very long history without a commit graph must not hold up a command.
_ROOT_COMMIT_SECONDS: Final = 3.0
_TOLD_COMMITS: Final = 20
_NETWORK_URL = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?:(?P<user>[^/]*)@)?(?P<rest>[^?#]*)", re.IGNORECASE
)


class GitMissing(Failure):
    """The git command is not installed."""

    code = "git_missing"


class GitRefused(Failure):
    """git does not want to work here, for instance because the checkout belongs to someone else."""

    code = "git_refused"


class BaseUnknown(Failure):
    """There is no such revision, or no default branch to compare with."""

    code = "base_unknown"


class Checkout(NamedTuple):
    """One work tree (or bare repository) as it stands."""

    toplevel: Path | None  # None in a bare repository
    is_linked_worktree: bool
    remote_name: str | None
    remote: str | None  # URL without credentials
    root_commit: str | None  # None in a shallow clone: its first commit is not the real one
    branch: str | None  # None when HEAD is detached
    head: str | None  # None before the first commit


def find_checkout(*, directory: Path) -> Checkout | None:
    """Return the checkout around a directory, or None outside of one (five git calls).

    Raises GitMissing or GitRefused.
    """
    layout = _git("rev-parse", "--absolute-git-dir", "--git-common-dir",
                  "--is-shallow-repository", "--show-toplevel", directory=directory)  # fmt: skip
    lines = layout.stdout.splitlines()
    if len(lines) < 3:  # noqa: PLR2004 - the three that a bare repository answers, too
        if "not a git repository" in layout.stderr:
            return None
        raise GitRefused(f"git does not work here: {_complaint(layout.stderr)}")
    head = _answer("rev-parse", "--quiet", "--verify", "HEAD^{commit}", directory=directory)
    remote_name, remote = _remote(directory)
    return Checkout(
        toplevel=Path(lines[3]) if len(lines) > 3 else None,  # noqa: PLR2004
        is_linked_worktree=not (directory / lines[1]).samefile(lines[0]),
        remote_name=remote_name,
        remote=without_credentials(remote) if remote else None,
        root_commit=_root_commit(directory) if head and lines[2] == "false" else None,
        branch=_branch(directory),
        head=head,
    )


def without_credentials(url: str) -> str:
    """Return a remote's URL without user, password, query or fragment.

    The user of an ssh URL is part of the address and stays; its password does not.
    """
    match = _NETWORK_URL.fullmatch(url.partition("#")[0].partition("?")[0])
    if match is None:
        return url
    scheme, user, rest = match["scheme"], match["user"], match["rest"]
    if user and scheme.lower().endswith("ssh"):
        return f"{scheme}://{user.partition(':')[0]}@{rest}"
    return f"{scheme}://{rest}"


def resolve_commit(revision: str, *, directory: Path) -> str:
    """Return the commit a revision means here. Raises BaseUnknown."""
    commit = _answer("rev-parse", "--quiet", "--verify", "--end-of-options",
                     f"{revision}^{{commit}}", directory=directory)  # fmt: skip
    if commit is None:
        raise BaseUnknown(f"This repository has no commit {revision}.", hint="Is it fetched?")
    return commit


def merge_base(revision: str, *, directory: Path) -> str:
    """Return where HEAD left a revision: the old side of `git diff REVISION...HEAD`."""
    commit = resolve_commit(revision, directory=directory)
    if base := _answer("merge-base", commit, "HEAD", directory=directory):
        return base
    raise BaseUnknown(f"HEAD and {revision} have no common history.")


def default_base(*, checkout: Checkout, directory: Path) -> str:
    """Return where HEAD left the default branch. Raises BaseUnknown."""
    for branch in _default_branches(checkout, directory):
        if base := _answer("merge-base", branch, "HEAD", directory=directory):
            return base
    raise BaseUnknown(
        "This repository has no default branch to compare with.",
        hint="Name the base yourself, for example: codemem review --base HEAD~1",
    )


def diff(*, base: str, directory: Path) -> bytes:
    """Return `git diff BASE...HEAD` of the whole tree, whatever the user's diff settings are."""
    finished = _run("diff", "--no-color", "--no-ext-diff", "--no-textconv", "--no-relative",
                    "--find-renames", "--submodule=short", "--src-prefix=a/", "--dst-prefix=b/",
                    f"{base}...HEAD", "--", directory=directory)  # fmt: skip
    if finished.returncode:
        raise GitRefused(f"git diff failed: {_complaint(_text(finished.stderr))}")
    return finished.stdout


def subjects(*, base: str, directory: Path) -> str | None:
    """Return what the newest commits since a base say in their first lines; None if none does."""
    return _answer("log", "--format=%s", f"--max-count={_TOLD_COMMITS}", f"{base}..HEAD", "--",
                   directory=directory)  # fmt: skip


def count_commits(*, older: str, newer: str, directory: Path) -> int | None:
    """Count the commits of newer that older lacks; None if one of them is not here."""
    count = _answer("rev-list", "--count", f"{older}..{newer}", "--", directory=directory)
    return int(count) if count else None


class _Finished(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def _remote(directory: Path) -> tuple[str | None, str | None]:
    # One process where there is an `origin`, as nearly always; get-url applies `insteadOf`.
    if url := _answer("remote", "get-url", "origin", directory=directory):
        return "origin", url
    names = (_answer("remote", directory=directory) or "").split()
    if len(names) != 1:
        return None, None
    return names[0], _answer("remote", "get-url", names[0], directory=directory)


def _root_commit(directory: Path) -> str | None:
    """Return the oldest root: merged histories have several, and the oldest is listed last."""
    try:
        roots = _answer("rev-list", "--max-parents=0", "HEAD", "--",
                        directory=directory, timeout=_ROOT_COMMIT_SECONDS)  # fmt: skip
    except subprocess.TimeoutExpired:
        return None
    return roots.split()[-1] if roots else None


def _branch(directory: Path) -> str | None:
    ref = _answer("symbolic-ref", "--quiet", "HEAD", directory=directory)
    return ref.removeprefix("refs/heads/") if ref else None


def _default_branches(checkout: Checkout, directory: Path) -> list[str]:
    remote = checkout.remote_name
    if remote is None:
        return ["refs/heads/main", "refs/heads/master"]
    named = _answer("symbolic-ref", "--quiet", f"refs/remotes/{remote}/HEAD", directory=directory)
    guesses = [f"refs/remotes/{remote}/main", f"refs/remotes/{remote}/master"]
    return [named, *guesses] if named else guesses


def _answer(*arguments: str, directory: Path, timeout: float | None = None) -> str | None:
    finished = _git(*arguments, directory=directory, timeout=timeout)
    return finished.stdout.strip() or None if finished.returncode == 0 else None


def _git(*arguments: str, directory: Path, timeout: float | None = None) -> _Finished:
    finished = _run(*arguments, directory=directory, timeout=timeout)
    return _Finished(finished.returncode, _text(finished.stdout), _text(finished.stderr))


def _run(
    *arguments: str, directory: Path, timeout: float | None = None
) -> subprocess.CompletedProcess[bytes]:
    # LC_ALL for messages we read; no optional locks, so we never get in an agent's way.
    environment = os.environ | {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
    try:
        return subprocess.run(
            ["git", "-c", "diff.suppressBlankEmpty=false", *arguments],
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except FileNotFoundError as error:
        raise GitMissing("git is not installed, or not on the PATH.") from error


def _text(output: bytes) -> str:
    # Paths and branch names are bytes; what is not UTF-8 survives the way back into a path.
    return output.decode("utf-8", "surrogateescape")


def _complaint(stderr: str) -> str:
    lines = stderr.strip().splitlines()
    return lines[0].removeprefix("fatal: ") if lines else "no reason given."
