import json
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from codemem.client.version import VERSION

ROOT = Path(__file__).parents[2]

# What `codemem --version` may load beyond a bare interpreter: argparse and what it is made of.
MODULES_OF_VERSION = {
    "__future__", "_bz2", "_collections", "_compression", "_functools", "_locale", "_lzma",
    "_operator", "_sre", "_struct", "_typing", "_weakrefset", "abc", "argparse", "bz2",
    "collections", "contextlib", "copyreg", "encodings", "enum", "errno", "fnmatch", "functools",
    "gettext", "itertools", "keyword", "locale", "lzma", "math", "operator", "posixpath", "re",
    "reprlib", "shutil", "struct", "types", "typing", "warnings", "zlib", "_warnings", "codemem",
}  # fmt: skip

_LOADED = """
import json, sys
before = set(sys.modules)
sys.argv = ["codemem", *sys.argv[1:]]
from codemem.client.cli import main
try:
    main()
except SystemExit:
    pass
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
print("\\n" + json.dumps(sorted(loaded)))
"""


def modules_loaded_by(codemem, *arguments):
    finished = subprocess.run(
        [sys.executable, "-c", _LOADED, *arguments],
        env=codemem.environment,
        cwd=codemem.directory,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )
    return set(json.loads(finished.stdout.decode().splitlines()[-1]))


def test_the_version_is_the_one_of_the_project(codemem):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == VERSION
    assert codemem("--version").out == f"codemem {VERSION}\n"


def test_version_loads_a_handful_of_standard_modules(codemem):
    assert modules_loaded_by(codemem, "--version") <= MODULES_OF_VERSION


@pytest.mark.parametrize(
    "arguments", [["status"], ["search", "x"], ["search", "--code", "x"], ["doctor"], ["review"]]
)
def test_no_command_loads_anything_outside_the_standard_library(codemem, arguments):
    third_party = modules_loaded_by(codemem, *arguments) - sys.stdlib_module_names - {"codemem"}
    assert third_party == set()


def test_no_module_of_the_client_imports_outside_itself_and_the_standard_library():
    import ast

    for path in (ROOT / "codemem" / "client").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                is_own = name.startswith("codemem.client")
                assert is_own or name.partition(".")[0] in sys.stdlib_module_names, (path, name)


def test_version_starts_fast(codemem):
    # Processor time, because the wall clock of a busy test machine proves nothing. Bare Python
    # takes 15-35 ms of it here, the whole command 35-55.
    best = min(_cpu_seconds(codemem, "--version") for _ in range(5))
    assert best < 0.2


def _cpu_seconds(codemem, *arguments):
    before = os.times()
    codemem(*arguments)
    after = os.times()
    return (after.children_user + after.children_system) - (
        before.children_user + before.children_system
    )


def test_help_documents_commands_environment_and_exit_statuses(codemem):
    text = codemem("--help").out
    for word in ("login", "status", "search", "review", "doctor", "CODEMEM_TOKEN", "NO_PROXY"):
        assert word in text
    assert "exit status:" in text
    assert "4  not authorized" in text


@pytest.mark.parametrize("command", ["login", "status", "search", "review", "doctor"])
def test_every_command_has_help_and_json(codemem, command):
    result = codemem(command, "--help")
    assert result.status == 0
    assert "--json" in result.out


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["frobnicate"],
        ["search"],
        ["search", ""],
        ["search", "x", "-k", "0"],
        ["search", "x", "-k", "many"],
        ["search", "x", "--mode", "psychic"],
        ["search", "x", "--mode", "text"],
        ["search", "--code", "x", "--type", "decision"],
        ["review", "--fail-on", "whim"],
        ["review", "--depth", "-1"],
        ["status", "--repository", "a\r\nX-Evil: 1"],
    ],
)
def test_wrong_usage_exits_with_2_before_any_request(codemem, server, arguments):
    result = codemem(*arguments)
    assert result.status == 2
    assert "usage: codemem" in result.err
    assert server.received == []


def test_an_interrupt_ends_quietly_with_130(codemem, server):
    server.hangs = True
    # Background jobs of a shell ignore interrupts and pass that on; this child must not.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    with codemem.start("status") as process:
        signal.signal(signal.SIGINT, handler)
        assert server.arrived.wait(20)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, b"", b"")


@pytest.mark.parametrize("arguments", [["search", "x"], ["status", "--json"], ["doctor"]])
def test_a_reader_that_went_away_is_no_error(codemem, server, arguments):
    server.memories = [{"content": "x" * 200_000}]
    reading, writing = os.pipe()
    os.close(reading)
    with codemem.start(*arguments, stdout=writing) as process:
        os.close(writing)
        _, err = process.communicate(b"", timeout=30)
    assert (process.returncode, err) == (141, b"")


def test_a_failure_under_json_is_an_object_too(codemem):
    result = codemem("status", "--json", CODEMEM_TOKEN="cm_wrong")
    assert result.status == 4
    assert result.json["error"]["code"] == "token_invalid"
    assert result.json["error"]["hint"] == "Make a new one."
    assert "This token is not known." in result.err


def test_debug_shows_the_traceback(codemem, server):
    with codemem.start(
        "status", environment={"CODEMEM_DEBUG": "1", "CODEMEM_TOKEN": "cm_wrong"}
    ) as process:
        _, err = process.communicate(b"", timeout=30)
    assert b"Traceback" in err
    assert b"cm_wrong" not in err


def test_a_terminal_that_lacks_characters_gets_question_marks(codemem, server):
    server.memories = [{"content": "x naïve 記憶"}]
    result = codemem("search", "x", PYTHONIOENCODING="ascii")
    assert result.status == 0
    assert "na?ve ??" in result.out


def test_flags_name_the_scope(codemem, server):
    codemem("status", "--namespace", "ops", "--repository", "infra", "--ref", "größe")
    headers = server.last("/api/v1/tools/codemem_status").headers
    assert headers["codemem-namespace"] == "ops"
    assert headers["codemem-repository"] == "infra"
    assert headers["codemem-ref"].encode("latin-1").decode() == "größe"


def test_the_checkout_names_the_scope(codemem, server, repository):
    root = repository.commit()
    repository.git("remote", "add", "origin", "https://ada:secret@git.example.com/team/api.git")
    repository.git("switch", "-q", "-c", "retry")
    head = repository.commit("b.py")
    codemem.directory = repository.directory
    codemem("status")
    request = server.last("/api/v1/tools/codemem_status")
    assert request.headers["codemem-remote"] == "https://git.example.com/team/api.git"
    assert request.headers["codemem-root-commit"] == root
    assert request.headers["codemem-head"] == head
    assert request.headers["codemem-ref"] == "retry"
    assert "codemem-repository" not in request.headers
    assert "secret" not in str(request)


def test_a_repository_named_by_flag_hides_the_checkout(codemem, server, repository):
    repository.commit()
    codemem.directory = repository.directory
    codemem("status", "--repository", "other")
    headers = server.last("/api/v1/tools/codemem_status").headers
    assert headers["codemem-repository"] == "other"
    assert not {"codemem-ref", "codemem-head", "codemem-root-commit"} & set(headers)


def test_a_repository_named_by_the_environment_keeps_the_checkout(codemem, server, repository):
    head = repository.commit()
    codemem.directory = repository.directory
    codemem("status", CODEMEM_NAMESPACE="platform", CODEMEM_REPOSITORY="api")
    headers = server.last("/api/v1/tools/codemem_status").headers
    assert headers["codemem-namespace"] == "platform"
    assert headers["codemem-repository"] == "api"
    assert headers["codemem-head"] == head


def test_a_missing_git_only_costs_the_scope(codemem, server, repository):
    codemem.directory = repository.directory
    result = codemem("status", PATH="/nonexistent")
    assert result.status == 0
    assert "git is not installed" in result.err


def test_a_deleted_directory_is_a_sentence(codemem, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f"cd {gone} && rmdir {gone} && exec {sys.executable} -m codemem.client status"
    finished = subprocess.run(
        ["sh", "-c", script], env=codemem.environment, capture_output=True, check=False
    )
    assert finished.returncode == 2
    assert b"no longer exists" in finished.stderr
    assert b"Traceback" not in finished.stderr


def test_the_request_says_who_sends_it(codemem, server):
    codemem("status")
    headers = server.last("/api/v1/tools/codemem_status").headers
    assert headers["user-agent"] == f"codemem/{VERSION}"
    assert headers["authorization"] == "Bearer cm_good"


def test_debug_can_be_off(codemem):
    assert codemem("status", CODEMEM_DEBUG="0", CODEMEM_TOKEN="cm_wrong").status == 4
