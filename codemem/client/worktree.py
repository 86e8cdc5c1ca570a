"""What a work tree has that the server does not: differences to a commit the server knows.

Files are named by the id Git gives a blob of their bytes as they lie on the disk, so that only
what the server lacks is sent. Knows nothing of watching; asks the git command.
"""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from codemem.client.failure import Failure
from codemem.client.gitscope import GitMissing, GitRefused

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LARGEST_FILE: Final = 1_000_000
_REGULAR: Final = ("100644", "100755")


class BaseNotHere(Failure):
    """The checkout has none of the commits that the server shows."""

    code = "base_not_here"


class Entry(NamedTuple):
    """A file of the work tree that differs: its blob id, None where the base's file is gone."""

    path: str
    blob: str | None


class WorkTree:
    """One checkout compared with one commit, and kept up to date path by path."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.base = ""
        self.differences: dict[str, str | None] = {}
        self._base_files: dict[str, str] = {}

    @property
    def name(self) -> str:
        """What tells this work tree from the user's others, on this and other machines."""
        place = f"{socket.gethostname()}:{self.directory}"
        digest = hashlib.sha256(place.encode("utf-8", "surrogateescape")).hexdigest()[:8]
        stem = "".join(c if c.isalnum() or c in "-_." else "-" for c in self.directory.name)
        return f"{stem[:40] or 'root'}-{digest}"

    def choose_base(self, commits: Sequence[str]) -> None:
        """Compare with the first of some commits that is here; raise BaseNotHere."""
        questions = "".join(f"{commit}^{{commit}}\n" for commit in commits)
        answers = self._git("cat-file", "--batch-check=%(objecttype)", stdin=questions.encode())
        kinds = answers.decode().split("\n")
        for commit, kind in zip(commits, kinds, strict=False):
            if kind == "commit":
                self._set_base(commit)
                return
        raise BaseNotHere(
            "This checkout has none of the commits that the server shows.",
            hint="Fetch: git fetch",
        )

    def compare_all(self) -> None:
        """Compare the whole work tree: after a switch of branches, or when nobody watched."""
        changed = self._git(
            *("diff", "--raw", "-z", "--no-renames", "--no-abbrev", "--ignore-submodules=all"),
            *(self.base, "--"),
        )
        fields = _names(changed)
        touched = [fields[at + 1] for at in range(0, len(fields) - 1, 2)]
        others = _names(self._git("ls-files", "--others", "--exclude-standard", "-z"))
        self.differences = {}
        self._compare(touched)
        self._compare(others)

    def compare(self, paths: Iterable[str]) -> bool:
        """Compare some paths only; return whether anything differs otherwise than before."""
        before = dict(self.differences)
        new = [path for path in paths if path not in self._base_files]
        ignored = self._ignored(new)
        self._compare(path for path in paths if path not in ignored)
        return before != self.differences

    def content(self, path: str) -> bytes | None:
        """Return the bytes of a file; None when it is gone, too large, or no regular file."""
        place = self.directory / path
        try:
            if place.is_symlink() or not place.is_file() or place.stat().st_size > _LARGEST_FILE:
                return None
            return place.read_bytes()
        except OSError:
            return None

    def git_folder(self) -> Path:
        """Return where Git keeps this work tree's own HEAD and index."""
        output = self._git("rev-parse", "--absolute-git-dir")
        return Path(os.fsdecode(output.rstrip(b"\n")))

    def folders(self) -> set[str]:
        """Return every folder with a file that is tracked or could be, relative; "" is the top."""
        known = self._git("ls-files", "--cached", "--others", "--exclude-standard", "-z")
        folders = {""}
        for path in _names(known):
            parent = os.path.dirname(path)  # noqa: PTH120 - a text, not a place
            while parent and parent not in folders:
                folders.add(parent)
                parent = os.path.dirname(parent)  # noqa: PTH120
        return folders

    def _set_base(self, commit: str) -> None:
        if commit == self.base:
            return
        self.base = commit
        self._base_files = {}
        for line in _names(self._git("ls-tree", "-r", "-z", commit)):
            facts, _, path = line.partition("\t")
            mode, _, blob = facts.split(" ")
            if mode in _REGULAR:
                self._base_files[path] = blob

    def _compare(self, paths: Iterable[str]) -> None:
        for path in paths:
            content = self.content(path)
            blob = None if content is None else blob_id(content)
            known = self._base_files.get(path)
            if blob == known or not _is_text(path):
                self.differences.pop(path, None)
            elif blob is not None or not (self.directory / path).exists():
                self.differences[path] = blob

    def _ignored(self, paths: Sequence[str]) -> set[str]:
        if not paths:
            return set()
        asked = b"".join(os.fsencode(path) + b"\0" for path in paths)
        return set(_names(self._git("check-ignore", "-z", "--stdin", stdin=asked, may_say_no=True)))

    def _git(self, *arguments: str, stdin: bytes = b"", may_say_no: bool = False) -> bytes:
        try:
            finished = subprocess.run(
                ["git", *arguments],
                cwd=self.directory,
                env=os.environ | {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"},
                input=stdin,
                capture_output=True,
                check=False,
            )
        except FileNotFoundError as error:
            raise GitMissing("git is not installed, or not on the PATH.") from error
        if finished.returncode and not (may_say_no and finished.returncode == 1):
            said = finished.stderr.decode("utf-8", "replace").strip().splitlines()
            raise GitRefused(f"git {arguments[0]} failed: {said[0] if said else 'no reason given'}")
        return finished.stdout


def blob_id(content: bytes) -> str:
    """Return the id that Git gives these bytes."""
    header = b"blob %d\0" % len(content)
    return hashlib.sha1(header + content, usedforsecurity=False).hexdigest()


def _names(output: bytes) -> list[str]:
    return [os.fsdecode(name) for name in output.split(b"\0") if name]


def _is_text(path: str) -> bool:
    """Tell whether a path can be told in JSON."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
