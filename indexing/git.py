"""Git by its command line: one bare mirror per repository, and what can be read from it.

Knows how to run Git on a server: without prompts, hooks, or the configuration of whoever runs it;
with a time limit on every command. Knows nothing of settings, tables, or what a commit means.
Needs Git 2.36 or later (`cat-file --batch-command`).
"""

import contextlib
import fcntl
import io
import itertools
import os
import re
import select
import signal
import subprocess
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, Self
from urllib.parse import unquote, urlsplit, urlunsplit

from graph.remotes import redact_credentials
from indexing.diffs import ChangeStatus

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class GitError(Exception):
    """A Git command ended in a way no other error names. The message has Git's own words."""


class GitTimedOut(GitError):
    """A Git command was ended because it took too long."""


class RepositoryUnreachable(GitError):
    """A remote cannot be read: wrong address, no network, no right, or damage on its side."""


class RepositoryEmpty(GitError):
    """A remote has no branch yet."""


class RefUnknown(GitError):
    """No branch, tag or commit of the repository has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"No branch, tag or commit is called {name[:200]!a}.")
        self.name = name


class ObjectMissing(GitError):
    """An object is not in the mirror, or damaged there."""

    def __init__(self, sha: str) -> None:
        super().__init__(f"The Git object {sha[:200]!a} is missing or damaged.")
        self.sha = sha


class FileTooLarge(GitError):
    """A file is larger than the caller is willing to read."""


class EntryKind(StrEnum):
    """What a tree entry is. Links and submodules are named, never followed."""

    FILE = "file"
    SYMLINK = "symlink"
    SUBMODULE = "submodule"


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One path of a commit's tree.

    `size` is None for a submodule, and for a blob that is missing or damaged. Bytes of the path
    that are not UTF-8 are written as backslash escapes, because the database refuses surrogates.
    """

    mode: str
    kind: EntryKind
    blob: str
    size: int | None
    path: str


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """What a commit object says. A date that is no date becomes 1970."""

    sha: str
    parents: tuple[str, ...]
    tree: str
    author_name: str
    author_email: str
    authored_at: datetime
    committed_at: datetime
    subject: str
    body: str


@dataclass(frozen=True, slots=True)
class ChangedPath:
    """One path that differs between two commits. What is not there on a side is None."""

    status: ChangeStatus
    old_path: str | None
    new_path: str | None
    old_blob: str | None
    new_blob: str | None
    new_mode: str | None


class FileChange(NamedTuple):
    """What one commit did to one file; lines are 0 for what is no text."""

    path: str
    old_path: str | None  # when it was renamed
    lines_added: int
    lines_removed: int


@dataclass(frozen=True, slots=True)
class FileChanges:
    """What one commit did to files; the author as the repository's mailmap has it."""

    commit: str
    author_email: str
    committed_at: datetime
    files: tuple[FileChange, ...]


@dataclass(frozen=True, slots=True)
class BlobMissing:
    """In place of the content of a blob that is missing, damaged, or no blob."""


@dataclass(frozen=True, slots=True)
class BlobTooLarge:
    """In place of the content of a blob above the limit."""

    size: int


BlobContent = bytes | BlobMissing | BlobTooLarge


@dataclass(frozen=True, slots=True)
class Mirror:
    """A bare mirror: the branches and tags of one remote, and commits asked for one by one.

    Readers may run side by side; fetches of one mirror wait for each other. `timeout_seconds`
    limits a reading command, or the silence of one whose answer is streamed. Network fetches
    find credentials in `credentials_home` (`.netrc`, `.gitconfig` with a credential helper); SSH
    looks in the home of the system's user whatever this says. Commits are full shas everywhere,
    as `resolve` returns them.
    """

    path: Path
    timeout_seconds: float = 120.0
    credentials_home: Path | None = None

    @classmethod
    def create(
        cls, path: Path, *, timeout_seconds: float = 120.0, credentials_home: Path | None = None
    ) -> Self:
        """Return the mirror at this path, making an empty one if there is none."""
        mirror = cls(path.absolute(), timeout_seconds, credentials_home)
        path.mkdir(parents=True, exist_ok=True)
        mirror._make_quiet_home()
        mirror._run("init", "--bare", "--quiet", "--template=", "--initial-branch=main")
        return mirror

    # --- From the remote -----------------------------------------------------------------------

    def fetch(
        self,
        url: str,
        *,
        timeout_seconds: float,
        on_progress: Callable[[str], None] | None = None,
    ) -> None:
        """Make the branches and tags those of the remote, dropping what is gone there.

        The remote is an HTTPS, SSH or Git address, a `file:` address, or the path of a bare
        repository, a work tree or a linked work tree. An empty remote leaves an empty mirror.

        Raises RepositoryUnreachable or GitTimedOut.
        """
        self._fetch(
            url,
            ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"],
            prunes=True,
            timeout_seconds=timeout_seconds,
            on_progress=on_progress,
        )

    def fetch_commit(self, url: str, sha: str, *, timeout_seconds: float) -> None:
        """Fetch one commit that no branch need lead to, and keep it even if none ever does.

        Raises RefUnknown if the remote has no such commit or does not give it away,
        RepositoryUnreachable or GitTimedOut.
        """
        if not _SHA.fullmatch(sha):
            raise RefUnknown(sha)
        if self.has_commit(sha):
            with self._exclusively(time.monotonic() + timeout_seconds):
                self._run("update-ref", _KEPT_COMMITS + sha, sha)
            return
        try:
            self._fetch(url, [f"{sha}:{_KEPT_COMMITS}{sha}"], timeout_seconds=timeout_seconds)
        except RepositoryUnreachable as error:
            if _NOT_GIVEN.search(str(error)):
                raise RefUnknown(sha) from error
            raise

    def default_branch(self, url: str) -> str:
        """Return the name of the remote's default branch.

        That is what the remote's HEAD names. A work tree's HEAD is only what is checked out
        there, so what its own origin calls default comes first. Where HEAD names no branch
        (detached, or never born): the branch at HEAD's commit, a usual name, the first by name.

        Raises RepositoryEmpty, RepositoryUnreachable or GitTimedOut.
        """
        answer = self._ask_remote(
            url, "ls-remote", "--symref", patterns=["HEAD", _ORIGIN_HEAD, "refs/heads/*"]
        )
        shas, symrefs = _advertised(answer)
        branches = {
            name.removeprefix(_HEADS): sha for name, sha in shas.items() if name.startswith(_HEADS)
        }
        if not branches:
            raise RepositoryEmpty(f"The repository {_shown(url)} has no branch yet.")
        named = [
            symrefs.get(_ORIGIN_HEAD, "").removeprefix("refs/remotes/origin/"),
            symrefs.get("HEAD", "").removeprefix(_HEADS),
        ]
        usual = [name for name in _USUAL_BRANCHES if name in branches]
        at_head = [
            name for name in [*usual, *sorted(branches)] if branches[name] == shas.get("HEAD")
        ]
        return next(
            name for name in [*named, *at_head, *usual, *sorted(branches)] if name in branches
        )

    # --- Names and commits ---------------------------------------------------------------------

    def refs(self) -> dict[str, str]:
        """Return the full name of every branch and tag with the commit it leads to.

        What leads to no commit (a tag of a file, a damaged commit) is left out.
        """
        names = self._run("for-each-ref", "--format=%(refname)", _HEADS, "refs/tags/").split()
        commits = self._commits_of([name.decode("utf-8", "surrogateescape") for name in names])
        return {
            _text(name.encode("utf-8", "surrogateescape")): sha for name, sha in commits.items()
        }

    def branches(self) -> dict[str, str]:
        """Return the short name of every branch with its commit."""
        return {
            name.removeprefix(_HEADS): sha
            for name, sha in self.refs().items()
            if name.startswith(_HEADS)
        }

    def resolve(self, name: str) -> str:
        """Return the full sha of a branch, tag, full ref name or (abbreviated) commit.

        A branch wins over a tag of the same name, and both over a sha. Git's expressions (`~1`,
        `@{yesterday}`) are no names.

        Raises RefUnknown.
        """
        if not _REF_NAME.fullmatch(name):
            raise RefUnknown(name)
        candidates = [_HEADS + name, "refs/tags/" + name]
        if name.startswith("refs/"):
            candidates.insert(0, name)
        if _ABBREVIATED_SHA.fullmatch(name):
            candidates.append(name.lower())
        commits = self._commits_of(candidates)
        for candidate in candidates:
            if candidate in commits:
                return commits[candidate]
        raise RefUnknown(name)

    def has_commit(self, sha: str) -> bool:
        """Say whether the mirror holds this commit."""
        return _SHA.fullmatch(sha) is not None and bool(self._commits_of([sha]))

    def commit(self, sha: str) -> CommitInfo:
        """Return what a commit says, or raise ObjectMissing."""
        output = self._read(
            "log", "--no-walk", "-1", f"--format={_COMMIT_FORMAT}", "--encoding=UTF-8", shas=[sha]
        )
        return _commit_info(output)

    def root_commit(self, sha: str) -> str:
        """Return the first commit of the main line that leads to this one.

        Follows first parents only: a repository has one such root, whatever histories were merged
        into it later.
        """
        output = self._read("rev-list", "--first-parent", "--max-parents=0", shas=[sha])
        return _text(output).split("\n", 1)[0]

    def merge_base(self, one: str, other: str) -> str | None:
        """Return the best common ancestor of two commits, None if they share no history."""
        output = self._read("merge-base", shas=[one, other], tolerates_no=True)
        return _text(output).strip() or None

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """Say whether the first commit is reachable from the second, or is the second."""
        if ancestor == descendant:
            return self.has_commit(ancestor)
        return self.merge_base(ancestor, descendant) == ancestor

    def count_commits(self, base: str, head: str) -> int | None:
        """Count the commits that head has over base; None if the mirror lacks one of the two."""
        try:
            output = self._read("rev-list", "--count", f"^{_sha(base)}", shas=[head])
        except ObjectMissing:
            return None
        return int(output)

    def shallow_commits(self) -> frozenset[str]:
        """Return the commits whose parents the remote does not have: it is a shallow clone."""
        try:
            return frozenset((self.path / "shallow").read_text().split())
        except FileNotFoundError:
            return frozenset()

    def records(
        self,
        *arguments: str,
        shas: Sequence[str] = (),
        questions: bytes = b"",
        ended_by: bytes = b"\x00",
    ) -> Iterator[bytes]:
        """Yield what a reading command prints, record by record, as it comes.

        `questions` are the command's standard input. Raises ObjectMissing, at the latest after the
        last readable record.
        """
        with self._start([*arguments, *map(_sha, shas)], questions=questions) as process:
            yield from _records(process.chunks(), ended_by)
            if process.wait() != 0:
                raise _read_failure(process.errors(), shas or ["0" * 40])

    # --- Trees and blobs -----------------------------------------------------------------------

    def tree(self, sha: str) -> Iterator[TreeEntry]:
        """Yield every file, link and submodule of a commit's tree, in path order.

        Raises ObjectMissing, at the latest after the last readable entry, naming a tree object
        that is missing or damaged.
        """
        arguments = ["ls-tree", "-r", "-l", "-z", "--full-tree", _sha(sha)]
        with self._start(arguments) as process:
            for record in _records(process.chunks()):
                yield _tree_entry(record)
            if process.wait() != 0:
                raise _read_failure(process.errors(), [sha])

    def entries(self, sha: str, paths: Sequence[str]) -> list[TreeEntry]:
        """Return the files, links and submodules of a commit that stand at some of the paths."""
        if not paths:
            return []
        output = self._read("ls-tree", "-r", "-l", "-z", "--full-tree", shas=[sha], paths=paths)
        entries = (_tree_entry(record) for record in output.split(b"\x00") if record)
        wanted = set(paths)
        return [entry for entry in entries if entry.path in wanted]

    def blobs(self, shas: Iterable[str], *, max_bytes: int) -> Iterator[tuple[str, BlobContent]]:
        """Yield each blob with its content, in the order asked for.

        A blob that is missing, damaged or too large yields a marker in place of its content; the
        others are read on. Holds one content at a time; a blob too large is never read.
        """
        with _BlobReader(start=self._start_blob_process, max_bytes=max_bytes) as reader:
            remaining = iter(shas)
            while window := list(itertools.islice(remaining, _BLOB_WINDOW)):
                yield from reader.read(window)

    def read(self, sha: str, path: str, *, max_bytes: int) -> bytes | None:
        """Return a file of a commit; None if there is no file, or something else, at this path.

        Raises ObjectMissing or FileTooLarge.
        """
        if _NO_PATH.search(path) or any(part in {"", ".", ".."} for part in path.split("/")):
            return None
        output = self._read("ls-tree", "-l", "-z", "--full-tree", shas=[sha], paths=[path])
        records = [record for record in output.split(b"\x00") if record]
        files = [_tree_entry(record) for record in records if not record.startswith(_FOLDER_MODE)]
        entry = next((entry for entry in files if entry.path == path), None)
        if entry is None or entry.kind is not EntryKind.FILE:
            return None
        ((_, content),) = self.blobs([entry.blob], max_bytes=max_bytes)
        if isinstance(content, BlobMissing):
            raise ObjectMissing(entry.blob)
        if isinstance(content, BlobTooLarge):
            raise FileTooLarge(
                f"{_shown(path)} has {content.size} bytes; at most {max_bytes} are read."
            )
        return content

    # --- Differences ---------------------------------------------------------------------------

    def changed_paths(self, base: str, head: str) -> tuple[ChangedPath, ...]:
        """Return the paths that differ from base to head, renames recognized.

        Where a damaged blob keeps Git from comparing contents, renames appear as a deletion and
        an addition.
        """
        arguments = ["diff-tree", "-r", "-z", "--raw", "--no-abbrev"]
        try:
            output = self._read(*arguments, "--find-renames", shas=[base, head])
        except ObjectMissing:
            output = self._read(*arguments, "--no-renames", shas=[base, head])
        return tuple(_changed_paths(output))

    def changed_entries(self, base: str, head: str) -> dict[str, TreeEntry | None]:
        """Return what stands in head at each path that differs from base; None where it is gone.

        Costs what differs, not what the trees hold. Raises ObjectMissing.
        """
        output = self._read(
            *("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames"), shas=[base, head]
        )
        changed = list(_changed_paths(output))
        sizes = self._sizes([change.new_blob for change in changed if change.new_blob])
        found: dict[str, TreeEntry | None] = {}
        for change in changed:
            if change.new_path is None:
                found.setdefault(change.old_path or "", None)
            else:
                found[change.new_path] = TreeEntry(
                    mode=change.new_mode or "",
                    kind=_KINDS_BY_MODE.get(change.new_mode or "", EntryKind.FILE),
                    blob=change.new_blob or "",
                    size=sizes.get(change.new_blob or ""),
                    path=change.new_path,
                )
        return found

    def diff(self, base: str, head: str, *, context_lines: int = 3) -> Iterator[bytes]:
        """Yield the Git diff from base to head, as `indexing.diffs.parse` reads it, in pieces.

        Raises ObjectMissing or GitTimedOut.
        """
        command = [*_DIFF_COMMAND, f"--unified={context_lines}", _sha(base), _sha(head)]
        with self._start(command) as process:
            yield from process.chunks(self._deadline())
            if process.wait() != 0:
                raise _read_failure(process.errors(), [base, head])

    # --- Who changed what ----------------------------------------------------------------------

    def file_changes(
        self, head: str, *, known: Sequence[str] = (), since: datetime, most_commits: int
    ) -> Iterator[FileChanges]:
        """Yield which files each commit changed, newest first, without merges, renames recognized.

        Commits that are reachable from `known` are left out. Raises ObjectMissing.
        """
        arguments = [
            *(
                "log",
                "-z",
                "--no-merges",
                "--numstat",
                "--find-renames",
                f"--format={_CHANGES_FORMAT}",
            ),
            # Without the sign and the zone Git reads a small number as a time of today.
            *(f"--max-count={most_commits}", f"--since=@{int(since.timestamp())} +0000"),
            *("--end-of-options", _sha(head), *(f"^{_sha(sha)}" for sha in known)),
        ]
        with self._start(arguments) as process:
            yield from _file_changes(_records(process.chunks()))
            if process.wait() != 0:
                raise _read_failure(process.errors(), [head, *known])

    def authors_of_lines(self, head: str, path: str, *, timeout_seconds: float) -> Counter[str]:
        """Return how many lines of a file each author's e-mail address wrote last.

        Raises GitTimedOut, and ObjectMissing also when there is no such file.
        """
        command = ["blame", "--incremental", "-w", _sha(head), "--", path]
        with self._start(command) as process:
            output = process.read_all(time.monotonic() + timeout_seconds)
            if process.wait() != 0:
                raise _read_failure(process.errors(), [head])
        return _authors(output)

    def occurrences(self, head: str, words: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield (path, word) for every place of a commit's text files where a whole word stands."""
        questions = "".join(f"{word}\n" for word in words).encode("utf-8", "surrogateescape")
        command = ["grep", "-I", "-o", "-z", "--no-color", "-w", "-F", "-f", "-", _sha(head)]
        if not questions:
            return
        with self._start(command, questions=questions) as process:
            rest = b""
            for chunk in process.chunks():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    place, _, word = line.partition(b"\0")
                    yield _text(place).partition(":")[2], _text(word)
            if process.wait() not in {0, 1}:
                raise _read_failure(process.errors(), [head])

    # --- Running Git ---------------------------------------------------------------------------

    def _fetch(
        self,
        url: str,
        refspecs: Sequence[str],
        *,
        prunes: bool = False,
        timeout_seconds: float,
        on_progress: Callable[[str], None] | None = None,
    ) -> None:
        deadline = time.monotonic() + timeout_seconds
        remote = _Remote.from_url(url)
        arguments = [
            *remote.settings,
            *("fetch", "--no-tags", "--force", "--no-recurse-submodules"),
            *("--no-write-fetch-head", "--update-shallow"),
            "--prune" if prunes else "--no-prune",
            "--progress" if on_progress else "--no-progress",
            *("--end-of-options", remote.address, *refspecs),
        ]
        with (
            self._exclusively(deadline),
            self._start_remote(remote, arguments, merges_errors=True) as process,
        ):
            said = process.read_lines(deadline, on_line=on_progress)
            if process.wait(deadline) != 0:
                raise RepositoryUnreachable(_sentence(said))

    def _ask_remote(self, url: str, *arguments: str, patterns: Sequence[str]) -> bytes:
        deadline = time.monotonic() + self.timeout_seconds
        remote = _Remote.from_url(url)
        command = [*remote.settings, *arguments, "--end-of-options", remote.address, *patterns]
        with self._start_remote(remote, command) as process:
            output = process.read_all(deadline)
            if process.wait(deadline) != 0:
                raise RepositoryUnreachable(_sentence(process.errors()))
            return output

    def _start_remote(
        self, remote: "_Remote", arguments: Sequence[str], *, merges_errors: bool = False
    ) -> "_Process":
        home = None if remote.is_local else self.credentials_home
        self._make_quiet_home()
        return self._start(
            arguments, home=home, environment=remote.environment, merges_errors=merges_errors
        )

    def _read(
        self,
        *arguments: str,
        shas: Sequence[str],
        paths: Sequence[str] = (),
        tolerates_no: bool = False,
    ) -> bytes:
        """Return what a reading command says about commits, or raise ObjectMissing.

        Some commands answer "no" with status 1; there, that is an empty answer.
        """
        command = [*arguments, *map(_sha, shas), *(["--", *paths] if paths else [])]
        with self._start(command) as process:
            output = process.read_all(self._deadline())
            status = process.wait()
            if status == 0 or (status == 1 and tolerates_no):
                return output
            raise _read_failure(process.errors(), shas)

    def _run(self, *arguments: str, questions: bytes = b"") -> bytes:
        with self._start(arguments, questions=questions) as process:
            output = process.read_all(self._deadline())
            if process.wait() != 0:
                raise GitError(_sentence(process.errors()))
            return output

    def _commits_of(self, names: Sequence[str]) -> dict[str, str]:
        """Return the commit each name leads to, through any tags; others are left out."""
        questions = "".join(f"{name}^{{commit}}\n" for name in names)
        output = self._run(
            "cat-file",
            "--batch-check=%(objectname) %(objecttype)",
            questions=questions.encode("utf-8", "surrogateescape"),
        )
        answers = _text(output).split("\n")
        commits = {}
        for name, answer in zip(names, answers, strict=False):
            sha, _, kind = answer.partition(" ")
            if kind == "commit":
                commits[name] = sha
        return commits

    def _sizes(self, shas: Sequence[str]) -> dict[str, int]:
        """Return the sizes of the objects that are there."""
        questions = "".join(f"{sha}\n" for sha in dict.fromkeys(shas))
        output = self._run(
            "cat-file",
            "--batch-check=%(objectname) %(objectsize)",
            questions=questions.encode("ascii"),
        )
        answers = (line.split(" ") for line in _text(output).splitlines())
        return {sha: int(size) for sha, size in answers if size.isdigit()}

    def _start_blob_process(self) -> "_Process":
        return self._start(["cat-file", "--batch-command"], is_asked=True)

    def _start(
        self,
        arguments: Sequence[str],
        *,
        home: Path | None = None,
        environment: Mapping[str, str] | None = None,
        questions: bytes = b"",
        is_asked: bool = False,
        merges_errors: bool = False,
    ) -> "_Process":
        return _Process(
            ["git", *_SETTINGS, f"--git-dir={self.path}", *arguments],
            environment=_environment(home or self._quiet_home) | dict(environment or {}),
            timeout_seconds=self.timeout_seconds,
            questions=questions,
            is_asked=is_asked,
            merges_errors=merges_errors,
        )

    def _deadline(self) -> float:
        return time.monotonic() + self.timeout_seconds

    @property
    def _quiet_home(self) -> Path:
        return self.path / "codemem-home"

    def _make_quiet_home(self) -> None:
        """Make the home of every command that needs no credentials.

        Its settings must stand in a file, because a local fetch does not hand any on to the
        process that reads the other side.
        """
        config = self._quiet_home / ".gitconfig"
        if not config.exists() or config.read_text() != _QUIET_SETTINGS:
            self._quiet_home.mkdir(exist_ok=True)
            config.write_text(_QUIET_SETTINGS)

    @contextlib.contextmanager
    def _exclusively(self, deadline: float) -> Iterator[None]:
        """Hold the mirror against other fetches, in this and other processes."""
        with (self.path / "codemem.lock").open("ab") as file:
            while not _is_locked(file):
                if time.monotonic() >= deadline:
                    raise GitTimedOut("Another fetch of this mirror did not end in time.")
                time.sleep(_LOCK_POLL_SECONDS)
            self._remove_left_locks()
            yield

    def _remove_left_locks(self) -> None:
        """Remove the lock files of a Git that was killed, which would stop every later fetch.

        All writers hold the mirror's own lock, so whoever has that knows these are left over.
        """
        left = [self.path / f"{name}.lock" for name in ("packed-refs", "shallow", "HEAD", "config")]
        for lock in [*left, *(self.path / "refs").rglob("*.lock")]:
            lock.unlink(missing_ok=True)


_HEADS = "refs/heads/"
_ORIGIN_HEAD = "refs/remotes/origin/HEAD"
_KEPT_COMMITS = "refs/codemem/commits/"
_USUAL_BRANCHES = ("main", "master", "trunk", "develop")
_LOCK_POLL_SECONDS = 0.1

_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_ABBREVIATED_SHA = re.compile(r"[0-9a-fA-F]{7,64}")
_NO_PATH = re.compile(r"[\x00\ud800-\udfff]")
_REF_NAME = re.compile(r"(?!-)(?!.*(?:\.\.|@\{|//))[^\x00-\x20\x7f\ud800-\udfff~^:?*\[\\]{1,1000}")
# How remotes say that they do not have a commit, or do not show it.
_NOT_GIVEN = re.compile(
    r"not our ref|unadvertised object|couldn't find remote ref|no such remote ref"
)

# git log and git fetch may start maintenance; in the background it would outlive its limits.
_SETTINGS = (
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "gc.autoDetach=false"),
    *("-c", "maintenance.autoDetach=false"),
    *("-c", "log.showSignature=false"),
    *("-c", "pack.window=10"),
    *("-c", "pack.compression=-1"),
)
# Reading a local repository that belongs to another user is allowed: Git's check guards against
# running that repository's hooks and settings, and a fetch runs neither. What is not packed there
# is handed over without looking for deltas: no network is spared, and looking for them took as
# long as a third of all parsing. Maintenance of the mirror (`_SETTINGS`) looks for them as ever.
_QUIET_SETTINGS = "[safe]\n\tdirectory = *\n[pack]\n\twindow = 0\n\tcompression = 1\n"
_DIFF_COMMAND = (
    *("diff-tree", "-r", "-p", "--no-color", "--no-ext-diff", "--no-textconv"),
    *("--find-renames", "--full-index", "--src-prefix=a/", "--dst-prefix=b/"),
    "--submodule=short",
)
_COMMIT_FORMAT = "%H%x00%P%x00%T%x00%an%x00%ae%x00%at%x00%ct%x00%s%x00%b"


def _sha(sha: str) -> str:
    """Return a full sha that is one, so that nothing else is ever taken for a revision."""
    if not _SHA.fullmatch(sha):
        raise ObjectMissing(sha)
    return sha


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def _shown(text: str) -> str:
    return ascii(redact_credentials(text)[:200])


def _is_locked(file: IO[bytes]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


# --- What Git says -----------------------------------------------------------------------------

_PROGRESS = re.compile(
    r"From |(?:remote: )?(?:Enumerating|Counting|Compressing|Total|Receiving|Resolving|Unpacking) "
    r"| [ +*t=-] "
)
_ADVICE = "Please make sure you have the correct access rights"
_MAX_SENTENCE_CHARACTERS = 500


def _sentence(said: str) -> str:
    """Return Git's complaint on one line, without progress, advice and credentials."""
    complaint = said.replace("\r", "\n").split(_ADVICE)[0]
    lines = [line.strip() for line in complaint.split("\n") if not _PROGRESS.match(line)]
    sentence = redact_credentials("; ".join(line for line in lines if line))
    return sentence[:_MAX_SENTENCE_CHARACTERS] or "Git ended without saying why."


_OBJECT_IN_COMPLAINT = re.compile(r"\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b")
_NO_REPOSITORY = re.compile(r"not a git repository|cannot change to|unable to access")


def _read_failure(said: str, shas: Sequence[str]) -> GitError:
    """Return the error for a reading command that failed: nearly always an object at fault."""
    if _NO_REPOSITORY.search(said):
        return GitError(_sentence(said))
    named = _OBJECT_IN_COMPLAINT.search(said)
    return ObjectMissing(named[0] if named else shas[0])


def _advertised(answer: bytes) -> tuple[dict[str, str], dict[str, str]]:
    """Return the shas and the symbolic refs of `ls-remote --symref`, by ref name."""
    shas, symrefs = {}, {}
    for line in _text(answer).split("\n"):
        value, _, name = line.partition("\t")
        if value.startswith("ref: "):
            symrefs[name] = value.removeprefix("ref: ")
        elif name:
            shas[name] = value
    return shas, symrefs


def _commit_info(output: bytes) -> CommitInfo:
    sha, parents, tree, name, email, authored, committed, subject, body = _text(output).split(
        "\x00", _COMMIT_FORMAT.count("%x00")
    )
    return CommitInfo(
        sha=sha,
        parents=tuple(parents.split()),
        tree=tree,
        author_name=name,
        author_email=email,
        authored_at=_moment(authored),
        committed_at=_moment(committed),
        subject=subject,
        body=body.replace("\x00", "").strip("\n"),
    )


def _moment(seconds: str) -> datetime:
    try:
        return datetime.fromtimestamp(int(seconds), tz=UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, tz=UTC)


def _records(chunks: Iterable[bytes], ended_by: bytes = b"\x00") -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(ended_by)
        yield from whole


_FOLDER_MODE = b"040000"
_KINDS_BY_MODE = {"120000": EntryKind.SYMLINK, "160000": EntryKind.SUBMODULE}


def _tree_entry(record: bytes) -> TreeEntry:
    facts, _, path = record.partition(b"\t")
    mode, _, sha, size = facts.decode("ascii").split()
    return TreeEntry(
        mode=mode,
        kind=_KINDS_BY_MODE.get(mode, EntryKind.FILE),
        blob=sha,
        size=int(size) if size.isdigit() else None,
        path=_text(path),
    )


_STATUSES_BY_LETTER = {
    "A": ChangeStatus.ADDED,
    "C": ChangeStatus.COPIED,
    "D": ChangeStatus.DELETED,
    "M": ChangeStatus.MODIFIED,
    "R": ChangeStatus.RENAMED,
    "T": ChangeStatus.MODIFIED,
}


def _changed_paths(output: bytes) -> Iterator[ChangedPath]:
    fields = iter(_text(output).split("\x00"))
    for facts in fields:
        if not facts.startswith(":"):
            continue
        _, new_mode, old_blob, new_blob, letter = facts.split()
        status = _STATUSES_BY_LETTER.get(letter[0], ChangeStatus.MODIFIED)
        old_path = next(fields)
        new_path = next(fields) if letter[0] in {"C", "R"} else old_path
        if letter == "M" and old_blob == new_blob:
            status = ChangeStatus.MODE_CHANGED
        is_added, is_deleted = status is ChangeStatus.ADDED, status is ChangeStatus.DELETED
        yield ChangedPath(
            status=status,
            old_path=None if is_added else old_path,
            new_path=None if is_deleted else new_path,
            old_blob=None if is_added else old_blob,
            new_blob=None if is_deleted else new_blob,
            new_mode=None if is_deleted else new_mode,
        )


_CHANGES_FORMAT = "%x01%H%x02%aE%x02%ct"


def _file_changes(records: Iterator[bytes]) -> Iterator[FileChanges]:
    commit: tuple[str, str, str] | None = None
    files: list[FileChange] = []
    for record in records:
        if record.startswith(b"\x01"):
            if commit is not None:
                yield _changes_of(commit, files)
            sha, email, seconds = _text(record[1:]).split("\x02")[:3]
            commit, files = (sha, email, seconds), []
            continue
        added, _, rest = record.lstrip(b"\n").partition(b"\t")
        removed, tab, path = rest.partition(b"\t")
        if not tab:
            continue
        # A rename has no path here; the old and the new one follow.
        old = None if path else _text(next(records, b""))
        new = _text(path or next(records, b""))
        files.append(FileChange(new, old, _count(added), _count(removed)))
    if commit is not None:
        yield _changes_of(commit, files)


def _changes_of(commit: tuple[str, str, str], files: list[FileChange]) -> FileChanges:
    sha, email, seconds = commit
    return FileChanges(sha, email, _moment(seconds), tuple(files))


def _count(number: bytes) -> int:
    return int(number) if number.isdigit() else 0


_BLAMED_LINES = re.compile(rb"([0-9a-f]{40,64}) \d+ \d+ (\d+)")


def _authors(output: bytes) -> Counter[str]:
    """Return lines by author; a commit's author is told the first time it is named."""
    lines: Counter[str] = Counter()
    authors: dict[bytes, str] = {}
    commit, count = b"", 0
    for line in output.split(b"\n"):
        if found := _BLAMED_LINES.fullmatch(line):
            commit, count = found[1], int(found[2])
        elif line.startswith(b"author-mail "):
            authors[commit] = _text(line.removeprefix(b"author-mail ").strip(b"<>"))
        elif line.startswith(b"filename "):
            lines[authors.get(commit, "")] += count
    return lines


# --- Remotes and their credentials -------------------------------------------------------------

# Git asks this for name and password, so that they stand neither in the arguments, which every
# user of the machine can list, nor in a file.
_CREDENTIAL_HELPER = (
    '!f() { test "$1" = get && '
    'printf "username=%s\\npassword=%s\\n" "$CODEMEM_GIT_USER" "$CODEMEM_GIT_PASSWORD"; }; f'
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class _Remote:
    """A remote's address as Git gets it, with its credentials beside it."""

    address: str
    is_local: bool = False
    settings: tuple[str, ...] = ()
    environment: Mapping[str, str] | None = None

    @classmethod
    def from_url(cls, url: str) -> "_Remote":
        if not url or url.startswith("-") or _CONTROL.search(url):
            raise RepositoryUnreachable(f"{_shown(url)} is no address of a repository.")
        if "://" not in url and _exists(Path(url)):
            return cls(address=str(Path(url).absolute()), is_local=True)
        if url.lower().startswith("file://"):
            return cls(address=url, is_local=True)
        if url.lower().startswith(("https://", "http://")) and "@" in url:
            return cls._with_credentials(url)
        return cls(address=url)

    @classmethod
    def _with_credentials(cls, url: str) -> "_Remote":
        parts = urlsplit(url)
        user, _, host = parts.netloc.rpartition("@")
        name, _, password = user.partition(":")
        if not user:
            return cls(address=url)
        return cls(
            address=urlunsplit(parts._replace(netloc=host)),
            # The empty helper drops those of the configuration: the address's own come first.
            settings=(
                *("-c", "credential.helper="),
                *("-c", f"credential.helper={_CREDENTIAL_HELPER}"),
            ),
            environment={
                "CODEMEM_GIT_USER": unquote(name),
                "CODEMEM_GIT_PASSWORD": unquote(password),
            },
        )


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # an address too long for a file name
        return False


# Of the server's own environment Git gets what it needs to reach a network, and nothing else.
_INHERITED = (
    *("PATH", "TMPDIR", "SSH_AUTH_SOCK", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "SSL_CERT_FILE"),
    *("SSL_CERT_DIR", "CURL_CA_BUNDLE", "http_proxy", "https_proxy", "no_proxy", "all_proxy"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"),
)


def _environment(home: Path) -> dict[str, str]:
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return {
        "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
        **inherited,
        "HOME": str(home),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        # Stronger than protocol.ext.allow=never: helpers that run commands are not on the list.
        "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
    }


# --- Processes ---------------------------------------------------------------------------------

_CHUNK_BYTES = 65_536
_GRACE_SECONDS = 3.0
_MAX_SAID_BYTES = 65_536


class _Ended(Exception):
    """Git ended in the middle of an answer."""


class _Process:
    """One Git command in a process group of its own; leaving the block ends what still runs.

    Errors go to a file, so that a long complaint cannot block Git while its output is read.
    """

    def __init__(
        self,
        command: Sequence[str | bytes],
        *,
        environment: Mapping[str, str],
        timeout_seconds: float,
        questions: bytes = b"",
        is_asked: bool = False,
        merges_errors: bool = False,
    ) -> None:
        self._timeout_seconds = timeout_seconds
        self._has_ended = False
        with contextlib.ExitStack() as unless_started:
            self._errors = unless_started.enter_context(tempfile.TemporaryFile())
            known_questions = unless_started.enter_context(_stdin(questions))
            try:
                self._process = subprocess.Popen(
                    command,
                    env=environment,
                    stdin=subprocess.PIPE if is_asked else known_questions,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT if merges_errors else self._errors,
                    bufsize=0,
                    start_new_session=True,
                )
            except FileNotFoundError as error:
                raise GitError("Git is not installed, or not on the PATH.") from error
            self._open = unless_started.pop_all()
        assert self._process.stdout is not None
        self._source = _TimedOutput(self._process.stdout, timeout_seconds=timeout_seconds)
        self._output = io.BufferedReader(self._source, _CHUNK_BYTES)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._has_ended:
            _end(self._process)
        self._open.close()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    def chunks(self, deadline: float | None = None) -> Iterator[bytes]:
        """Yield the output as it comes, until then at most."""
        if deadline is not None:
            self._source.deadline = deadline
        while chunk := self._output.read1(_CHUNK_BYTES):
            yield chunk

    def read_all(self, deadline: float) -> bytes:
        """Return the whole output."""
        return b"".join(self.chunks(deadline))

    def read_lines(self, deadline: float, *, on_line: Callable[[str], None] | None) -> str:
        """Report each line as it comes, also where a carriage return ends it.

        Returns the end of what was said.
        """
        self._source.deadline = deadline
        said, line = bytearray(), b""
        for chunk in self.chunks():
            said += chunk
            del said[:-_MAX_SAID_BYTES]
            *whole, line = (line + chunk).replace(b"\r", b"\n").split(b"\n")
            for text in filter(None, map(_text, whole)):
                if on_line is not None:
                    on_line(redact_credentials(text))
        return _text(bytes(said))

    def ask(self, questions: bytes) -> None:
        """Send questions, few enough for a pipe; if Git has ended, reading the answer says so."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(questions)

    def read_line(self) -> bytes:
        """Return the next line without its end, or raise _Ended."""
        line = self._output.readline()
        if not line.endswith(b"\n"):
            raise _Ended
        return line[:-1]

    def read_exactly(self, size: int) -> bytes:
        """Return so many bytes, or raise _Ended."""
        content = self._output.read(size)
        if len(content) < size:
            raise _Ended
        return content

    def wait(self, deadline: float | None = None) -> int:
        """Return the exit status of a command whose output has ended."""
        limit = self._timeout_seconds if deadline is None else deadline - time.monotonic()
        try:
            status = self._process.wait(timeout=max(_GRACE_SECONDS, limit))
        except subprocess.TimeoutExpired:
            raise GitTimedOut(_TIMED_OUT) from None
        self._has_ended = True
        return status

    def errors(self) -> str:
        """Return what was said beside the output."""
        self._errors.seek(0)
        return _text(self._errors.read(_MAX_SAID_BYTES))


_TIMED_OUT = "Git did not end in time."


class _TimedOutput(io.RawIOBase):
    """A pipe that is read with a limit: on each silence, or up to a deadline if one is set.

    With a limit on silence only Git's own time counts, not that of whoever uses its answers.
    """

    def __init__(self, output: IO[bytes], *, timeout_seconds: float) -> None:
        super().__init__()
        self.deadline: float | None = None
        self._timeout_seconds = timeout_seconds
        self._descriptor = output.fileno()
        self._poll = select.poll()
        self._poll.register(self._descriptor, select.POLLIN)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        """Read what is there, waiting for it only so long, or raise GitTimedOut."""
        limit = self._timeout_seconds
        if self.deadline is not None:
            limit = max(0.0, self.deadline - time.monotonic())
        if not self._poll.poll(limit * 1000):
            raise GitTimedOut(_TIMED_OUT)
        return os.readv(self._descriptor, [buffer])


@contextlib.contextmanager
def _stdin(questions: bytes) -> Iterator[IO[bytes] | int]:
    """Yield a standard input that is known from the start: a file, which can block nobody."""
    if not questions:
        yield subprocess.DEVNULL
        return
    with tempfile.TemporaryFile() as file:
        file.write(questions)
        file.seek(0)
        yield file


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process group: politely, so that Git removes its lock files, then for certain.

    The leader is not reaped before the second signal: until then its number, which is that of
    the group, cannot belong to another.
    """
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    limit = time.monotonic() + _GRACE_SECONDS
    pause = 0.0002  # most are over at once
    while time.monotonic() < limit and not _is_over(process.pid):
        time.sleep(pause)
        pause = min(2 * pause, 0.01)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _is_over(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


# --- Blobs -------------------------------------------------------------------------------------

# The questions of one window (about 50 bytes each) fit into a pipe, so asking never waits for
# Git while Git waits for its answers to be read.
_BLOB_WINDOW = 256
_GIT_DIED = 128


class _BlobReader:
    """Reads blobs through one `git cat-file`, starting another where a damaged blob ends it."""

    def __init__(self, *, start: Callable[[], _Process], max_bytes: int) -> None:
        self._start = start
        self._max_bytes = max_bytes
        self._process: _Process | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def read(self, window: Sequence[str]) -> Iterator[tuple[str, BlobContent]]:
        """Yield the content of each, in order."""
        sizes = self._sizes([sha for sha in window if _SHA.fullmatch(sha)])
        wanted = [sha for sha in window if sha in sizes and sizes[sha] <= self._max_bytes]
        contents = self._answers("contents", wanted, read_answer=_content)
        for sha in window:
            size = sizes.get(sha)
            if size is None:
                yield sha, BlobMissing()
            elif size > self._max_bytes:
                yield sha, BlobTooLarge(size)
            else:
                content = next(contents)
                yield sha, BlobMissing() if content is None else content

    def _sizes(self, shas: Sequence[str]) -> dict[str, int]:
        """Return the size of each that is a blob."""
        answers = self._answers("info", shas, read_answer=_Process.read_line)
        sizes = {}
        for sha, answer in zip(shas, answers, strict=True):
            _, kind, size = _header(answer or b"")
            if kind == b"blob":
                sizes[sha] = size
        return sizes

    def _answers(
        self, verb: str, shas: Sequence[str], *, read_answer: Callable[[_Process], bytes | None]
    ) -> Iterator[bytes | None]:
        """Yield the answer about each; None where Git ended instead of answering."""
        remaining = deque(shas)
        while remaining:
            self._process = self._process or self._start()
            self._process.ask("".join(f"{verb} {sha}\n" for sha in remaining).encode("ascii"))
            try:
                while remaining:
                    answer = read_answer(self._process)
                    remaining.popleft()
                    yield answer
            except _Ended:
                self._check_died_of_an_object(self._process)
                self._stop()
                remaining.popleft()
                yield None

    def _check_died_of_an_object(self, process: _Process) -> None:
        """Raise GitError if Git was killed, or has no repository: no object is at fault then."""
        status, said = process.wait(), process.errors()
        if status != _GIT_DIED or _NO_REPOSITORY.search(said):
            raise GitError(f"git cat-file ended with status {status}: {_sentence(said)}")

    def _stop(self) -> None:
        if self._process is not None:
            self._process.__exit__()
            self._process = None


def _content(process: _Process) -> bytes | None:
    _, kind, size = _header(process.read_line())
    if kind != b"blob":
        return None
    content = process.read_exactly(size)
    process.read_exactly(len(b"\n"))
    return content


def _header(line: bytes) -> tuple[bytes, bytes, int]:
    """Split an answer of `git cat-file`: sha, type and size, or sha and the word missing."""
    sha, _, rest = line.partition(b" ")
    kind, _, size = rest.partition(b" ")
    return sha, kind, int(size) if size.isdigit() else 0
