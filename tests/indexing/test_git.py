import os
import random
import subprocess
import threading
import time
from base64 import b64decode
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from indexing.diffs import ChangeStatus, parse
from indexing.git import (
    BlobMissing,
    BlobTooLarge,
    ChangedPath,
    EntryKind,
    FileTooLarge,
    GitError,
    GitTimedOut,
    Mirror,
    ObjectMissing,
    RefUnknown,
    RepositoryEmpty,
    RepositoryUnreachable,
)

if TYPE_CHECKING:
    from collections.abc import Callable

NO_SHA = "0123456789" * 4
SECONDS = 20.0
MAX_BYTES = 1_000_000


class Work:
    """A real work tree to fetch from."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str, text: bytes = b"") -> str:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.path),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Ada",
            "GIT_AUTHOR_EMAIL": "ada@example.org",
            "GIT_COMMITTER_NAME": "Grace",
            "GIT_COMMITTER_EMAIL": "grace@example.org",
            "GIT_AUTHOR_DATE": "2024-05-01T10:00:00+02:00",
            "GIT_COMMITTER_DATE": "2024-05-02T00:00:00Z",
        }
        result = subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            env=environment,
            input=text,
            capture_output=True,
            check=True,
        )
        return result.stdout.decode().strip()

    def write(self, **contents: str | bytes) -> None:
        for name, content in contents.items():
            self.write_path(name, content)

    def write_path(self, name: str | bytes, content: str | bytes) -> None:
        target = os.path.join(os.fsencode(self.path), os.fsencode(name))  # noqa: PTH118
        os.makedirs(os.path.dirname(target), exist_ok=True)  # noqa: PTH103, PTH120
        raw = content.encode() if isinstance(content, str) else content
        with open(target, "wb") as file:  # noqa: PTH123
            file.write(raw)

    def commit(self, message: str = "Change") -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", f"--message={message}")
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def work(tmp_path) -> Work:
    return Work(tmp_path / "work")


@pytest.fixture
def mirror(tmp_path) -> Mirror:
    return Mirror.create(tmp_path / "mirror.git", timeout_seconds=SECONDS)


def fetched(mirror: Mirror, work: Work) -> Mirror:
    mirror.fetch(str(work.path), timeout_seconds=SECONDS)
    return mirror


def read_through(path: Path) -> Mirror:
    """Look into a work tree's own repository, whose objects a test can damage one by one."""
    (path / ".git/codemem-home").mkdir()
    return Mirror(path / ".git", timeout_seconds=SECONDS)


def object_path(work: Work, sha: str) -> Path:
    path = work.path / ".git/objects" / sha[:2] / sha[2:]
    path.chmod(0o644)
    return path


# --- Fetching ----------------------------------------------------------------------------------


def test_fetch_brings_branches_and_tags_and_drops_what_is_gone(mirror, work):
    work.write(a="one")
    first = work.commit()
    work.git("branch", "old")
    work.git("tag", "v1")
    work.git("tag", "--annotate", "v2", "--message=Two")
    work.git("tag", "--annotate", "v3", "v2", "--message=A tag of a tag")
    blob = work.git("hash-object", "-w", "--stdin", text=b"no commit")
    work.git("tag", "a-file", blob)
    fetched(mirror, work)
    assert mirror.refs() == {
        "refs/heads/main": first,
        "refs/heads/old": first,
        "refs/tags/v1": first,
        "refs/tags/v2": first,
        "refs/tags/v3": first,
    }

    work.git("branch", "--delete", "old")
    work.git("branch", "old/er")
    work.git("tag", "--delete", "v1")
    fetched(mirror, work)
    assert mirror.branches() == {"main": first, "old/er": first}
    assert "refs/tags/v1" not in mirror.refs()


def test_fetch_follows_a_branch_that_was_rewritten(mirror, work):
    work.write(a="one")
    work.commit()
    fetched(mirror, work)
    work.write(a="two")
    work.git("add", "--all")
    work.git("commit", "--quiet", "--amend", "--message=Rewritten")
    rewritten = work.git("rev-parse", "HEAD")
    fetched(mirror, work)
    assert mirror.resolve("main") == rewritten


def test_fetch_reads_every_kind_of_local_address(tmp_path, work, monkeypatch):
    work.write(a="one")
    sha = work.commit()
    work.git("worktree", "add", "--quiet", "-b", "feature", str(tmp_path / "linked"))
    work.git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare.git"))
    work.git("clone", "--quiet", "--depth=1", f"file://{work.path}", str(tmp_path / "shallow"))
    monkeypatch.chdir(tmp_path)
    for number, url in enumerate(
        ["work", str(work.path), f"file://{work.path}", "linked", "bare.git", "shallow"]
    ):
        mirror = Mirror.create(tmp_path / f"mirror-{number}.git", timeout_seconds=SECONDS)
        mirror.fetch(url, timeout_seconds=SECONDS)
        assert mirror.resolve("main") == sha, url


def test_fetching_an_empty_repository_leaves_an_empty_mirror(mirror, work):
    fetched(mirror, work)
    assert mirror.refs() == {}
    with pytest.raises(RefUnknown):
        mirror.resolve("main")
    with pytest.raises(RepositoryEmpty, match="has no branch yet"):
        mirror.default_branch(str(work.path))


def test_making_a_mirror_twice_keeps_what_it_has(mirror, work):
    work.write(a="one")
    sha = work.commit()
    fetched(mirror, work)
    assert Mirror.create(mirror.path).resolve("main") == sha


def test_fetch_reports_its_progress(mirror, work):
    work.write(a="one")
    work.commit()
    said: list[str] = []
    mirror.fetch(str(work.path), timeout_seconds=SECONDS, on_progress=said.append)
    assert any("objects" in line for line in said)
    assert not any("\r" in line or "\n" in line for line in said)


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("/nowhere/at/all", "does not appear to be a git repository"),
        ("file:///nowhere/at/all", "does not appear to be a git repository"),
        ("ext::sh -c touch% PWNED", "not allowed"),
        ("--upload-pack=touch PWNED", "is no address"),
        ("-oProxyCommand=touch PWNED", "is no address"),
        ("ssh://-oProxyCommand=touch/x", "strange hostname|is no address"),
        ("https://host/\nx", "is no address"),
        ("", "is no address"),
        ("https://ada:s3cret@127.0.0.1:1/org/repo", "unable to access 'https://127.0.0.1:1/"),
        ("x" * 5000, "."),
    ],
)
def test_what_cannot_be_reached_says_why_in_gits_words(
    mirror, tmp_path, monkeypatch, url, sentence
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RepositoryUnreachable, match=sentence) as caught:
        mirror.fetch(url, timeout_seconds=SECONDS)
    with pytest.raises(RepositoryUnreachable):
        mirror.default_branch(url)
    assert "s3cret" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "access rights" not in str(caught.value)
    assert not list(tmp_path.rglob("PWNED*"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_a_local_repository_has_not_packed_is_not_compared(mirror, work):
    for number in range(150):  # fewer would not stay a pack
        work.write_path(f"{number}.txt", f"{number}\n" + "the same line\n" * 200)
    work.commit()
    fetched(mirror, work)
    (index,) = (mirror.path / "objects/pack").glob("*.idx")
    assert "chain length" not in work.git("verify-pack", "--verbose", str(index))


def test_a_local_repository_of_another_user_can_be_fetched(mirror, work):
    work.write(a="one")
    sha = work.commit()
    for path in [work.path, *work.path.rglob("*")]:
        os.chown(path, 65534, 65534)
    fetched(mirror, work)
    assert mirror.resolve("main") == sha


def test_hooks_and_configuration_of_either_side_are_not_run(mirror, work, tmp_path, monkeypatch):
    work.write(a="one")
    work.commit()
    trap = tmp_path / "trap"
    hook = f"#!/bin/sh\ntouch {trap}\n"
    for folder in (work.path / ".git/hooks", mirror.path / "hooks"):
        folder.mkdir(exist_ok=True)
        for name in ("reference-transaction", "post-checkout", "pre-auto-gc", "post-update"):
            (folder / name).write_text(hook)
            (folder / name).chmod(0o755)
    work.git("config", "uploadpack.packObjectsHook", f"touch {trap};")
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[alias]\n[fetch]\n\tprune = nonsense\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    fetched(mirror, work)
    assert mirror.resolve("main")
    assert not trap.exists()


def test_a_commit_no_branch_leads_to_can_be_fetched_and_stays(mirror, work):
    work.write(a="one")
    work.commit()
    fetched(mirror, work)
    tree = work.git("rev-parse", "HEAD^{tree}")
    lost = work.git("commit-tree", tree, "-m", "No branch")
    with pytest.raises(ObjectMissing):
        mirror.commit(lost)
    mirror.fetch_commit(str(work.path), lost, timeout_seconds=SECONDS)
    mirror.fetch_commit(str(work.path), lost, timeout_seconds=SECONDS)
    fetched(mirror, work)
    subprocess.run(["git", f"--git-dir={mirror.path}", "gc", "--quiet", "--prune=now"], check=True)
    assert mirror.commit(lost).subject == "No branch"
    assert list(mirror.branches()) == ["main"]


def test_a_commit_asked_for_outlives_the_branch_that_brought_it(mirror, work):
    work.write(a="one")
    work.commit()
    work.git("switch", "--quiet", "--create", "feature")
    work.write(a="two")
    sha = work.commit("Kept")
    fetched(mirror, work)
    mirror.fetch_commit(str(work.path), sha, timeout_seconds=SECONDS)
    work.git("switch", "--quiet", "main")
    work.git("branch", "--delete", "--force", "feature")
    fetched(mirror, work)
    subprocess.run(["git", f"--git-dir={mirror.path}", "gc", "--quiet", "--prune=now"], check=True)
    assert mirror.commit(sha).subject == "Kept"


@pytest.mark.parametrize("sha", [NO_SHA, "--all"])
def test_a_commit_the_remote_does_not_have_is_unknown(mirror, work, sha):
    work.write(a="one")
    work.commit()
    with pytest.raises(RefUnknown):
        mirror.fetch_commit(str(work.path), sha, timeout_seconds=SECONDS)


def test_locks_left_by_a_killed_git_do_not_stop_the_next_fetch(mirror, work):
    work.write(a="one")
    sha = work.commit()
    fetched(mirror, work)
    (mirror.path / "packed-refs.lock").touch()
    (mirror.path / "shallow.lock").touch()
    (mirror.path / "refs/heads/main.lock").touch()
    work.write(a="two")
    newer = work.commit()
    fetched(mirror, work)
    assert mirror.resolve("main") == newer != sha


def test_a_fetch_waits_for_another_one_only_until_its_limit(mirror, work):
    work.write(a="one")
    work.commit()
    with mirror._exclusively(time.monotonic()), pytest.raises(GitTimedOut):
        mirror.fetch(str(work.path), timeout_seconds=0.2)
    fetched(mirror, work)


def test_a_remote_that_never_answers_is_given_up_and_its_processes_ended(
    mirror, tmp_path, monkeypatch
):
    pid_file = tmp_path / "pid"
    silent = tmp_path / "silent-ssh"
    silent.write_text(f"#!/bin/sh\necho $$ >{pid_file}\ntrap '' TERM\nsleep 60 &\nwait; sleep 60\n")
    silent.chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(silent))
    monkeypatch.setattr("indexing.git._GRACE_SECONDS", 0.3)
    started = time.monotonic()
    with pytest.raises(GitTimedOut):
        mirror.fetch("ssh://git@host/org/repo", timeout_seconds=0.5)
    assert time.monotonic() - started < 5
    pid = int(pid_file.read_text())
    for _ in range(100):
        if (
            not Path(f"/proc/{pid}").exists()
            or "State:\tZ" in Path(f"/proc/{pid}/status").read_text()
        ):
            break
        time.sleep(0.02)
    else:
        pytest.fail("The process is still there.")


def test_credentials_of_an_address_reach_the_server_but_no_argument(mirror, tmp_path, monkeypatch):
    seen: list[str | None] = []

    class Host(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.headers["Authorization"])
            self.send_response(404 if seen[-1] else 401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    host = HTTPServer(("127.0.0.1", 0), Host)
    threading.Thread(target=host.serve_forever, args=(0.02,), daemon=True).start()
    commands: list[str] = []
    popen = subprocess.Popen

    def listening(command, **options):
        commands.append(" ".join(map(str, command)))
        return popen(command, **options)

    monkeypatch.setattr(subprocess, "Popen", listening)
    try:
        url = f"http://ada%40lan:s3%2Fcret@127.0.0.1:{host.server_port}/org/repo"
        with pytest.raises(RepositoryUnreachable, match="not found"):
            mirror.fetch(url, timeout_seconds=SECONDS)
        bare = f"http://127.0.0.1:{host.server_port}/org/repo"
        with pytest.raises(RepositoryUnreachable, match=r"terminal prompts disabled|[Aa]uth"):
            mirror.default_branch(bare)
    finally:
        host.shutdown()
        host.server_close()
    assert seen[0] is None
    assert b64decode((seen[1] or "").removeprefix("Basic ")) == b"ada@lan:s3/cret"
    assert not any("s3" in command for command in commands)


# --- Default branch ----------------------------------------------------------------------------


def test_the_default_branch_is_what_head_names(mirror, work):
    work.write(a="one")
    work.commit()
    work.git("branch", "aaa")
    work.git("switch", "--quiet", "--create", "team/trunk")
    assert mirror.default_branch(str(work.path)) == "team/trunk"


def test_a_clones_checked_out_branch_is_not_its_default_branch(mirror, work, tmp_path):
    work.write(a="one")
    work.commit()
    work.git("clone", "--quiet", ".", str(tmp_path / "clone"))
    work.git("-C", str(tmp_path / "clone"), "switch", "--quiet", "--create", "feature")
    assert mirror.default_branch(str(tmp_path / "clone")) == "main"


def test_a_head_that_names_no_branch_has_a_sensible_stand_in(mirror, work):
    work.write(a="one")
    work.commit()
    work.git("branch", "aaa")
    work.write(a="two")
    work.commit()
    work.git("switch", "--quiet", "--detach", "HEAD")
    assert mirror.default_branch(str(work.path)) == "main"
    work.git("switch", "--quiet", "--detach", "aaa")
    assert mirror.default_branch(str(work.path)) == "aaa"
    work.git("symbolic-ref", "HEAD", "refs/heads/never-born")
    assert mirror.default_branch(str(work.path)) == "main"
    work.git("branch", "--move", "main", "zzz")
    assert mirror.default_branch(str(work.path)) == "aaa"


# --- Names and commits -------------------------------------------------------------------------


def test_names_resolve_to_commits(mirror, work):
    work.write(a="one")
    first = work.commit()
    work.git("tag", "--annotate", "v1", "--message=One")
    work.git("tag", "both")
    work.write(a="two")
    second = work.commit()
    work.git("branch", "both")
    work.git("branch", "feature/ä-ü")
    fetched(mirror, work)
    assert mirror.resolve("main") == second
    assert mirror.resolve("refs/heads/main") == second
    assert mirror.resolve("v1") == first
    assert mirror.resolve("refs/tags/both") == first
    assert mirror.resolve("both") == second
    assert mirror.resolve("feature/ä-ü") == second
    assert mirror.resolve(first) == first
    assert mirror.resolve(first[:10].upper()) == first


_NO_NAMES = [
    *("", "nope", NO_SHA, NO_SHA[:8], "main~1", "main^", "main@{0}", "@{-1}", "a..main"),
    *(":/one", "main:a", "--all", "-h", "HEAD^{tree}", "main\n", "ma in", "\x00", "\ud800"),
    *("x" * 2000, "*", "refs/heads/*", "\\"),
]


def test_what_is_no_name_is_unknown(mirror, work):
    work.write(a="one")
    work.commit()
    fetched(mirror, work)
    for name in _NO_NAMES:
        with pytest.raises(RefUnknown) as caught:
            mirror.resolve(name)
        assert str(caught.value).isprintable()


def test_a_commit_tells_who_when_and_why(mirror, work):
    work.write(a="one")
    first = work.commit("First")
    work.write(a="two")
    second = work.commit("Say it\n\nBecause of ä\n\nand more.")
    fetched(mirror, work)
    commit = mirror.commit(second)
    assert commit.sha == second
    assert commit.parents == (first,)
    assert commit.tree == work.git("rev-parse", "HEAD^{tree}")
    assert (commit.author_name, commit.author_email) == ("Ada", "ada@example.org")
    assert commit.authored_at == datetime(2024, 5, 1, 8, tzinfo=UTC)
    assert commit.committed_at == datetime(2024, 5, 2, tzinfo=UTC)
    assert commit.subject == "Say it"
    assert commit.body == "Because of ä\n\nand more."
    assert mirror.commit(first).parents == ()


@pytest.mark.parametrize(
    ("encoding", "subject", "date"),
    [
        (b"", b"\xff\xfe odd", b"1714550400"),
        (b"encoding ISO-8859-1\n", b"\xe4", b"99999999999999999"),
        (b"", b"", b"nonsense"),
    ],
)
def test_a_commit_with_odd_bytes_or_dates_is_read(work, encoding, subject, date):
    tree = work.git("write-tree")
    raw = (
        b"tree " + tree.encode() + b"\nauthor A\xe4 <a@b> " + date + b" +0000\n"
        b"committer A <a@b> " + date + b" +0000\n" + encoding + b"\n" + subject + b"\n"
    )
    sha = work.git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", text=raw)
    commit = read_through(work.path).commit(sha)
    assert commit.authored_at.tzinfo is UTC
    if encoding:
        assert commit.subject == "ä"


def test_history_is_counted_and_compared(mirror, work):
    work.write(a="one")
    root = work.commit("Root")
    work.git("switch", "--quiet", "--create", "feature")
    work.write(b="two")
    feature = work.commit("Feature")
    work.git("switch", "--quiet", "main")
    work.write(c="three")
    work.commit("Main")
    work.write(c="four")
    main = work.commit("Main again")
    work.git("switch", "--quiet", "--orphan", "other")
    work.write(d="five")
    other = work.commit("Elsewhere")
    work.git("switch", "--quiet", "main")
    work.git("merge", "--quiet", "--allow-unrelated-histories", "--no-edit", "other")
    merged = work.git("rev-parse", "HEAD")
    fetched(mirror, work)
    assert mirror.root_commit(merged) == root
    assert mirror.root_commit(other) == other
    assert mirror.merge_base(feature, main) == root
    assert mirror.merge_base(feature, other) is None
    assert mirror.is_ancestor(root, main)
    assert mirror.is_ancestor(main, main)
    assert not mirror.is_ancestor(main, root)
    assert not mirror.is_ancestor(other, main)
    assert mirror.count_commits(root, main) == 2
    assert mirror.count_commits(main, root) == 0
    assert mirror.count_commits(main, main) == 0
    assert mirror.count_commits(NO_SHA, main) is None
    assert mirror.count_commits(main, "nonsense") is None


@pytest.mark.parametrize("sha", [NO_SHA, "main", "--all"])
def test_every_reader_names_the_commit_it_does_not_have(mirror, work, sha):
    work.write(a="one")
    head = work.commit()
    fetched(mirror, work)
    readers: list[Callable[[], object]] = [
        lambda: mirror.commit(sha),
        lambda: mirror.root_commit(sha),
        lambda: list(mirror.tree(sha)),
        lambda: mirror.read(sha, "a", max_bytes=MAX_BYTES),
        lambda: mirror.merge_base(head, sha),
        lambda: mirror.is_ancestor(sha, head),
        lambda: mirror.changed_paths(sha, head),
        lambda: list(mirror.diff(head, sha)),
    ]
    for reader in readers:
        with pytest.raises(ObjectMissing) as caught:
            reader()
        assert caught.value.sha == sha
    assert not mirror.has_commit(sha)


def test_a_mirror_that_is_not_there_is_not_taken_for_missing_objects(tmp_path):
    mirror = Mirror(tmp_path / "nothing.git")
    for reader in (
        lambda: mirror.commit(NO_SHA),
        lambda: mirror.resolve("main"),
        lambda: list(mirror.tree(NO_SHA)),
        lambda: list(mirror.blobs([NO_SHA], max_bytes=MAX_BYTES)),
    ):
        with pytest.raises(GitError, match="not a git repository") as caught:
            reader()
        assert not isinstance(caught.value, (ObjectMissing, RefUnknown))


def test_git_that_is_not_installed_is_said_so(mirror, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(GitError, match="not installed"):
        mirror.refs()


# --- Trees and blobs ---------------------------------------------------------------------------


def test_a_tree_lists_files_links_and_submodules_with_odd_names(mirror, work):
    names = ["plain.py", "deep/er/file.py", "new\nline\ttab.py", "-rf", '"quoted" \\x', "ä.py"]
    for name in names:
        work.write_path(name, "x")
    work.write_path(b"latin-\xe4.py", "y")
    work.write_path("run.sh", "#!/bin/sh\n")
    (work.path / "run.sh").chmod(0o755)
    (work.path / "link").symlink_to("/etc/passwd")
    work.git("add", "--all")
    work.git("update-index", "--add", "--cacheinfo", f"160000,{NO_SHA},vendor/lib")
    work.git("commit", "--quiet", "--message=All kinds")
    fetched(mirror, work)
    entries = {entry.path: entry for entry in mirror.tree(mirror.resolve("main"))}
    assert set(entries) == {*names, "latin-\\xe4.py", "run.sh", "link", "vendor/lib"}
    assert entries["plain.py"].size == 1
    assert entries["plain.py"].mode == "100644"
    assert entries["run.sh"].mode == "100755"
    assert entries["link"].kind is EntryKind.SYMLINK
    assert entries["vendor/lib"].kind is EntryKind.SUBMODULE
    assert entries["vendor/lib"].blob == NO_SHA
    assert entries["vendor/lib"].size is None
    assert {entry.kind for path, entry in entries.items() if path in names} == {EntryKind.FILE}


def test_read_returns_files_only(mirror, work):
    work.write_path("src/app.py", b"a\r\nb\x00\xff")
    work.write_path(":(top)odd *.py", "odd")
    work.write_path("empty", "")
    (work.path / "link").symlink_to("src/app.py")
    sha = work.commit()
    fetched(mirror, work)
    assert mirror.read(sha, "src/app.py", max_bytes=MAX_BYTES) == b"a\r\nb\x00\xff"
    assert mirror.read(sha, ":(top)odd *.py", max_bytes=MAX_BYTES) == b"odd"
    assert mirror.read(sha, "empty", max_bytes=MAX_BYTES) == b""
    for nothing in ("src", "src/", "link", "nope", "", ".", "..", "../x", "/src/app.py", "a\x00b",
                    "src//app.py", "./empty", "-r", "*", "\ud800"):  # fmt: skip
        assert mirror.read(sha, nothing, max_bytes=MAX_BYTES) is None
    with pytest.raises(FileTooLarge, match="at most 2"):
        mirror.read(sha, "src/app.py", max_bytes=2)


def test_blobs_come_in_the_order_asked_for_with_markers_for_what_cannot_be_read(mirror, work):
    contents = {f"f{number}": f"content {number}\n" * number for number in range(400)}
    work.write(**contents)
    head = work.commit()
    fetched(mirror, work)
    blobs = {entry.path: entry.blob for entry in mirror.tree(head)}
    order = [blobs[name] for name in contents]
    random.Random(1).shuffle(order)
    tree = work.git("rev-parse", "HEAD^{tree}")
    asked = [*order, NO_SHA, tree, "nonsense\ninfo HEAD", order[0], head]
    answered = list(mirror.blobs(iter(asked), max_bytes=4000))
    assert [sha for sha, _ in answered] == asked
    texts = {blobs[name]: text.encode() for name, text in contents.items()}
    for sha, content in answered:
        if sha not in texts:
            assert content == BlobMissing()
        elif len(texts[sha]) > 4000:
            assert content == BlobTooLarge(len(texts[sha]))
        else:
            assert content == texts[sha]


def test_a_large_file_is_read_whole_or_not_at_all(mirror, work):
    large = random.Random(2).randbytes(5_000_000)
    work.write(large=large, small="small")
    head = work.commit()
    fetched(mirror, work)
    shas = [entry.blob for entry in mirror.tree(head)]
    assert [content for _, content in mirror.blobs(shas, max_bytes=10_000_000)] == [large, b"small"]
    assert [content for _, content in mirror.blobs(shas, max_bytes=4_999_999)] == [
        BlobTooLarge(5_000_000),
        b"small",
    ]


@pytest.mark.parametrize("damage", ["removed", "emptied", "garbage", "cut short"])
def test_one_damaged_blob_does_not_stop_the_others(work, damage):
    work.write(**{f"f{number}": os.urandom(3000) for number in range(9)})
    head = work.commit()
    mirror = read_through(work.path)
    entries = list(mirror.tree(head))
    for entry in (entries[0], entries[4], entries[8]):
        path = object_path(work, entry.blob)
        raw = path.read_bytes()
        path.unlink()
        if damage != "removed":
            path.write_bytes({"emptied": b"", "garbage": b"x" * 99}.get(damage, raw[:1500]))
    assert [entry.path for entry in mirror.tree(head)] == [entry.path for entry in entries]
    answered = list(mirror.blobs([entry.blob for entry in entries], max_bytes=MAX_BYTES))
    is_missing = [isinstance(content, BlobMissing) for _, content in answered]
    assert is_missing == [number in {0, 4, 8} for number in range(9)]
    with pytest.raises(ObjectMissing) as caught:
        mirror.read(head, entries[4].path, max_bytes=MAX_BYTES)
    assert caught.value.sha == entries[4].blob


def test_a_damaged_tree_is_named(work):
    work.write_path("a/x", "1")
    work.write_path("b/x", "2")
    head = work.commit()
    tree = work.git("rev-parse", "HEAD:b")
    object_path(work, tree).unlink()
    mirror = read_through(work.path)
    read: list[str] = []
    with pytest.raises(ObjectMissing, match=tree) as caught:
        read.extend(entry.path for entry in mirror.tree(head))
    assert caught.value.sha == tree


def test_leaving_off_in_the_middle_leaves_no_process_behind(mirror, work):
    work.write(**{f"f{number}": "x" * number for number in range(300)})
    head = work.commit()
    fetched(mirror, work)
    shas = [entry.blob for entry in mirror.tree(head)]
    blobs = mirror.blobs(shas, max_bytes=MAX_BYTES)
    tree = mirror.tree(head)
    before = _children()
    next(blobs)
    next(tree)
    assert len(_children() - before) == 2
    blobs.close()
    tree.close()
    assert _children() <= before


def _children() -> set[str]:
    # Other tests of this process may have left some of their own.
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def test_a_slow_reader_is_not_a_slow_git(work, tmp_path):
    mirror = Mirror.create(tmp_path / "impatient.git")
    work.write(**{f"f{number}": os.urandom(20_000) for number in range(12)})
    head = work.commit()
    fetched(mirror, work)
    shas = [entry.blob for entry in mirror.tree(head)]
    impatient = Mirror(mirror.path, timeout_seconds=1.5)
    for number, (_, content) in enumerate(impatient.blobs(shas, max_bytes=MAX_BYTES)):
        if number == 5:
            time.sleep(2)
        assert isinstance(content, bytes)


# --- Differences -------------------------------------------------------------------------------


def test_changed_paths_recognize_renames_and_modes(mirror, work):
    body = "".join(f"line {number}\n" for number in range(40))
    work.write_path("old/name.py", body)
    work.write(kept="kept", gone="gone", script="#!/bin/sh\n", changed="1")
    base = work.commit()
    before = {entry.path: entry for entry in read_through(work.path).tree(base)}
    (work.path / "old/name.py").rename(work.path / "new\nname.py")
    with (work.path / "new\nname.py").open("a") as file:
        file.write("one more\n")
    (work.path / "gone").unlink()
    (work.path / "script").chmod(0o755)
    work.write(changed="2", fresh="fresh")
    head = work.commit()
    fetched(mirror, work)
    after = {entry.path: entry for entry in mirror.tree(head)}
    changes = {
        change.new_path or change.old_path: change for change in mirror.changed_paths(base, head)
    }
    assert {path: change.status for path, change in changes.items()} == {
        "new\nname.py": ChangeStatus.RENAMED,
        "gone": ChangeStatus.DELETED,
        "script": ChangeStatus.MODE_CHANGED,
        "changed": ChangeStatus.MODIFIED,
        "fresh": ChangeStatus.ADDED,
    }
    assert changes["new\nname.py"].old_path == "old/name.py"
    assert changes["changed"] == ChangedPath(
        status=ChangeStatus.MODIFIED,
        old_path="changed",
        new_path="changed",
        old_blob=before["changed"].blob,
        new_blob=after["changed"].blob,
        new_mode="100644",
    )
    assert changes["gone"].new_blob is None
    assert changes["fresh"].old_blob is None
    assert mirror.changed_paths(head, head) == ()


def test_changed_paths_do_without_renames_where_a_blob_is_damaged(work):
    work.write(old="".join(f"line {number}\n" for number in range(40)))
    base = work.commit()
    (work.path / "old").rename(work.path / "new")
    with (work.path / "new").open("a") as file:
        file.write("one more\n")
    head = work.commit()
    object_path(work, work.git("rev-parse", "HEAD:new")).unlink()
    changes = read_through(work.path).changed_paths(base, head)
    assert {(change.status.value, change.old_path, change.new_path) for change in changes} == {
        ("deleted", "old", None),
        ("added", None, "new"),
    }


def test_a_diff_is_what_the_parser_reads(mirror, work):
    work.write_path("my file.py", "one\ntwo\n")
    base = work.commit()
    work.write_path("my file.py", "one\n2\n")
    work.write_path("ä.py", b"\xff\n")
    head = work.commit()
    fetched(mirror, work)
    for context_lines in (0, 3):
        content = b"".join(mirror.diff(base, head, context_lines=context_lines))
        diff = parse(content, max_bytes=MAX_BYTES)
        assert diff.problems == ()
        assert [(file.path, file.new_lines) for file in diff.files] == [
            ("my file.py", ((2, 2),)),
            ("ä.py", ((1, 1),)),
        ]
    assert list(mirror.diff(head, head)) == []


def test_a_reading_command_has_a_limit(mirror, tmp_path, monkeypatch):
    slow = tmp_path / "bin/git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nsleep 30\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}:{os.environ['PATH']}")
    impatient = Mirror(mirror.path, timeout_seconds=0.1)
    for reader in (
        impatient.refs,
        lambda: list(impatient.tree(NO_SHA)),
        lambda: list(impatient.blobs([NO_SHA], max_bytes=MAX_BYTES)),
    ):
        with pytest.raises(GitTimedOut):
            reader()


@pytest.mark.parametrize("year", [1970, 1971, 1972, 1973, 2001])
def test_changes_of_all_time_are_those_since_any_early_day(mirror, work, year):
    work.write(a="one")
    first = work.commit()
    fetched(mirror, work)
    since = datetime(year, 1, 2, tzinfo=UTC)
    changes = list(mirror.file_changes(first, since=since, most_commits=10))
    assert [(one.commit, [change.path for change in one.files]) for one in changes] == [
        (first, ["a"])
    ]
