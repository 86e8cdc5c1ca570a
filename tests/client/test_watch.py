"""`codemem watch`: the server sees what Git says differs, as it is edited, and nothing else."""

from __future__ import annotations

import signal
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from codemem.client.notify import Looking, Touched
from codemem.client.worktree import WorkTree
from tests.client.server_double import Canned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.client.conftest import CommandLine, Repository
    from tests.client.server_double import ServerDouble

PATIENCE = 15.0


@pytest.fixture
def base(codemem: CommandLine, repository: Repository, server: ServerDouble) -> str:
    """Commit two files that the server knows, and stand in the work tree."""
    repository.commit("kept.py", "kept = 1\n")
    repository.commit(".gitignore", "*.log\n/build/\n")
    base = repository.commit("pkg/a.py", "a = 1\n")
    server.commits = [base]
    codemem.directory = repository.directory
    return base


def shown(server: ServerDouble) -> dict[str, bytes | None]:
    (tree,) = server.work_trees.values()
    return tree


def write(repository: Repository, **files: str) -> None:
    for name, content in files.items():
        place = repository.directory / name.replace("__", "/").replace("_py", ".py")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)


# --- Once -----------------------------------------------------------------------------------------
def test_once_shows_edits_new_files_and_deletions(
    codemem: CommandLine, repository: Repository, server: ServerDouble, base: str
) -> None:
    write(repository, pkg__a_py="a = 2\n", new_py="new = 1\n")
    (repository.directory / "kept.py").unlink()
    (repository.directory / "debug.log").write_text("ignored")
    (repository.directory / "build").mkdir()
    (repository.directory / "build" / "x.py").write_text("ignored = 1\n")

    result = codemem("watch", "--once")

    assert result.status == 0, result.err
    assert shown(server) == {"pkg/a.py": b"a = 2\n", "new.py": b"new = 1\n", "kept.py": None}
    assert result.out.startswith("worktree:api-")
    assert "3 files differ" in result.out


def test_staged_and_committed_changes_differ_from_the_base_too(
    codemem: CommandLine, repository: Repository, server: ServerDouble, base: str
) -> None:
    repository.commit("mine.py", "mine = 1\n")
    write(repository, pkg__a_py="a = 2\n")
    repository.git("mv", "kept.py", "moved.py")

    codemem("watch", "--once")

    assert shown(server) == {
        "mine.py": b"mine = 1\n",
        "pkg/a.py": b"a = 2\n",
        "kept.py": None,
        "moved.py": b"kept = 1\n",
    }


def test_the_newest_commit_that_is_here_is_the_base(
    codemem: CommandLine, repository: Repository, server: ServerDouble, base: str
) -> None:
    server.commits = ["f" * 40, base]
    write(repository, new_py="")

    codemem("watch", "--once")

    assert server.received[-1].json["base"] == base
    assert shown(server) == {"new.py": b""}


def test_without_any_commit_of_the_server_it_says_to_fetch(
    codemem: CommandLine, repository: Repository, server: ServerDouble, base: str
) -> None:
    server.commits = ["f" * 40]

    result = codemem("watch", "--once")

    assert result.status == 2
    assert "git fetch" in result.err


def test_outside_of_a_work_tree_it_says_so(codemem: CommandLine) -> None:
    result = codemem("watch", "--once")

    assert result.status == 2
    assert "no work tree" in result.err


def test_symbolic_links_and_large_files_are_not_sent(
    codemem: CommandLine, repository: Repository, server: ServerDouble, base: str
) -> None:
    (repository.directory / "secret").symlink_to("/etc/passwd")
    (repository.directory / "large.py").write_text("x" * 1_000_001)
    write(repository, new_py="new = 1\n")

    codemem("watch", "--once")

    assert shown(server) == {"new.py": b"new = 1\n"}


def test_contents_that_the_server_has_are_not_sent_again(
    codemem: CommandLine, repository: Repository, server: ServerDouble, base: str
) -> None:
    write(repository, **{f"f{n}_py": "#" * 90_000 + str(n) for n in range(6)})
    codemem("watch", "--once")
    puts = [one.json for one in server.received if one.method == "PUT"]

    assert len(shown(server)) == 6
    sent = [blob for put in puts for blob in put["contents"]]
    assert len(sent) == len(set(sent)) == 6


def test_stop_has_the_server_forget(codemem: CommandLine, server: ServerDouble, base: str) -> None:
    codemem("watch", "--once")
    assert server.work_trees

    assert codemem("watch", "--stop").status == 0
    assert not server.work_trees


# --- Watching -------------------------------------------------------------------------------------
def test_an_edit_is_shown_without_being_asked(
    codemem: CommandLine, repository: Repository, server: ServerDouble, base: str
) -> None:
    with watching(codemem, server):
        write(repository, pkg__a_py="a = 2\n")
        until(lambda: shown(server) == {"pkg/a.py": b"a = 2\n"})
        write(repository, pkg__a_py="a = 1\n")
        until(lambda: shown(server) == {})
        (repository.directory / "kept.py").unlink()
        until(lambda: shown(server) == {"kept.py": None})
        write(repository, deep__er__b_py="b = 1\n")
        until(lambda: shown(server) == {"kept.py": None, "deep/er/b.py": b"b = 1\n"})
        write(repository, deep__er__b_py="b = 2\n")
        until(lambda: shown(server)["deep/er/b.py"] == b"b = 2\n")


def test_only_what_changed_is_sent(
    codemem: CommandLine, repository: Repository, server: ServerDouble, base: str
) -> None:
    write(repository, **{f"f{n}_py": f"{n}\n" for n in range(20)})
    with watching(codemem, server):
        until(lambda: len(shown(server)) == 20)
        write(repository, f3_py="three\n")
        until(lambda: shown(server)["f3.py"] == b"three\n")

    assert list(server.received[-1].json["contents"]) == [blob(repository, "f3.py")]


def test_ignored_files_are_not_told_of(
    codemem: CommandLine, repository: Repository, server: ServerDouble, base: str
) -> None:
    with watching(codemem, server):
        (repository.directory / "debug.log").write_text("1")
        write(repository, new_py="1\n")
        until(lambda: shown(server) == {"new.py": b"1\n"})
        (repository.directory / ".gitignore").write_text("new.py\n")
        until(lambda: "new.py" not in shown(server) and ".gitignore" in shown(server))


def test_a_switch_of_branches_is_followed(
    codemem: CommandLine, repository: Repository, server: ServerDouble, base: str
) -> None:
    repository.git("checkout", "-q", "-b", "feature")
    repository.commit("feature.py", "f = 1\n")
    repository.git("checkout", "-q", "main")
    with watching(codemem, server):
        until(lambda: shown(server) == {})
        repository.git("checkout", "-q", "feature")
        until(lambda: shown(server) == {"feature.py": b"f = 1\n"})
        repository.git("checkout", "-q", "main")
        until(lambda: shown(server) == {})


def test_a_server_that_comes_back_is_told_everything(
    codemem: CommandLine, repository: Repository, server: ServerDouble, base: str
) -> None:
    with watching(codemem, server):
        server.canned["/api/v1/worktrees"] = Canned(status=503, body=b"{}")
        write(repository, new_py="1\n")
        time.sleep(0.3)
        server.work_trees.clear()
        server.contents.clear()
        server.canned.clear()
        until(lambda: bool(server.work_trees) and shown(server) == {"new.py": b"1\n"})


def test_a_base_that_the_server_dropped_is_replaced(
    codemem: CommandLine, repository: Repository, server: ServerDouble, base: str
) -> None:
    with watching(codemem, server):
        newer = repository.commit("newer.py", "1\n")
        until(lambda: shown(server) == {"newer.py": b"1\n"})
        server.commits = [newer]
        write(repository, new_py="1\n")
        until(lambda: shown(server) == {"new.py": b"1\n"})


def test_where_the_kernel_does_not_tell_looking_finds_it(repository: Repository, base: str) -> None:
    tree = WorkTree(repository.directory)
    tree.choose_base([base])
    tree.compare_all()
    write(repository, new_py="1\n")

    touched = Looking().wait(quiet_seconds=0.0, patience_seconds=0.01)
    tree.compare_all()

    assert touched == Touched(frozenset(), is_unclear=True)
    assert tree.differences == {"new.py": blob(repository, "new.py")}


# --- Hooks ----------------------------------------------------------------------------------------
def test_a_commit_shows_the_work_tree_by_a_hook(
    codemem: CommandLine, repository: Repository, server: ServerDouble, base: str
) -> None:
    hook = repository.directory / ".git" / "hooks" / "post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho theirs > theirs.txt\n")
    hook.chmod(0o755)
    assert codemem("hooks", "install").status == 0
    assert codemem("hooks", "install").status == 0
    assert hook.read_text().count("watch --once") == 1

    commit(repository, codemem)

    until(lambda: bool(server.work_trees))
    assert (repository.directory / "theirs.txt").exists()
    assert codemem("hooks", "remove").status == 0
    assert hook.read_text() == "#!/bin/sh\necho theirs > theirs.txt\n"
    assert not (hook.parent / "post-checkout").exists()


def commit(repository: Repository, codemem: CommandLine) -> None:
    """Commit as a developer does, so that the installed hooks run."""
    identity = ["-c", "user.name=A", "-c", "user.email=a@b"]
    subprocess.run(
        ["git", *identity, "commit", "-q", "--allow-empty", "-m", "x"],
        cwd=repository.directory,
        env=codemem.environment,
        check=True,
        capture_output=True,
    )


def test_a_commit_succeeds_at_once_when_the_server_is_away(
    codemem: CommandLine, repository: Repository, server: ServerDouble, base: str
) -> None:
    codemem("hooks", "install")
    server.hangs = True
    started = time.monotonic()

    commit(repository, codemem)

    assert time.monotonic() - started < 5
    server.released.set()


# --- Index ----------------------------------------------------------------------------------------
def test_index_waits_until_the_branch_can_be_asked_about(
    codemem: CommandLine, server: ServerDouble, base: str
) -> None:
    run: dict[str, Any] = {"id": "7", "ref": "main", "state": "queued", "step": "waiting"}
    counts = {"files": 3, "symbols": 12, "edges": 40}
    server.runs = [
        run,
        run | {"state": "running", "step": "parsing", "files_done": 1, "files_total": 3},
        run | {"state": "done", "step": "finished", "commit": base, "counts": counts},
    ]

    result = codemem("index")

    assert result.status == 0
    assert server.received[0].json == {"ref": "main"}
    assert "main is indexed at" in result.out
    assert "3 files, 12 symbols, 40 edges" in result.out
    assert "parsing" in result.err


def test_index_says_why_a_run_failed(codemem: CommandLine, server: ServerDouble, base: str) -> None:
    server.runs = [{"id": "7", "ref": "x", "state": "failed", "error": "There is no branch x."}]

    result = codemem("index", "x")

    assert result.status == 2
    assert "There is no branch x." in result.err


def test_index_need_not_be_waited_for(
    codemem: CommandLine, server: ServerDouble, base: str
) -> None:
    server.runs = [{"id": "7", "ref": "main", "state": "queued"}]

    assert "Queued: main" in codemem("index", "--no-wait").out


def test_analyze_tells_what_was_found(
    codemem: CommandLine, server: ServerDouble, base: str
) -> None:
    server.findings = {
        "findings": [],
        "total": 5,
        "by_rule": {"security.eval": 2, "smell.long-function": 3},
        "analysis": {"commit": base, "behind": True, "files_to_blame": 9},
    }

    out = codemem("analyze").out

    assert "5 open" in out
    assert "a newer commit is being analyzed" in out
    assert out.index("smell.long-function") < out.index("security.eval")
    assert "9 files" in out


@contextmanager
def watching(codemem: CommandLine, server: ServerDouble) -> Iterator[None]:
    """Run `codemem watch` while the block lasts; it ends by Ctrl-C, without a traceback."""
    process = codemem.start("watch")
    try:
        until(lambda: bool(server.work_trees), process)
        yield
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert b"Traceback" not in out + err, err.decode()


def until(condition: Callable[[], bool], process: subprocess.Popen[bytes] | None = None) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "It did not happen."
        time.sleep(0.01)


def blob(repository: Repository, path: str) -> str:
    return repository.git("hash-object", path)
