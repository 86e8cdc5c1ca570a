"""The real command in its own process, a server double, and real Git repositories."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

from tests.client.server_double import TOKEN, ServerDouble

_ROOT = Path(__file__).parents[2]


@dataclass
class Result:
    status: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def is_clean(self) -> bool:
        return "Traceback" not in self.err + self.out


class CommandLine:
    """Runs `codemem` as a user of a fresh machine does, by default logged in at the double."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.directory = home
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "PYTHONPATH": str(_ROOT),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            "NO_PROXY": "127.0.0.1",
        }
        if cache := os.environ.get("PYTHONPYCACHEPREFIX"):
            self.environment["PYTHONPYCACHEPREFIX"] = cache

    @property
    def config(self) -> Path:
        return self.home / ".config" / "codemem" / "config.json"

    def store(self, mode: int = 0o600, **settings: str) -> None:
        self.config.parent.mkdir(parents=True, exist_ok=True)
        self.config.write_text(json.dumps(settings))
        self.config.chmod(mode)

    def log_in(self, url: str, token: str = TOKEN) -> None:
        self.environment |= {"CODEMEM_URL": url, "CODEMEM_TOKEN": token}

    def __call__(self, *arguments: str, stdin: bytes | None = b"", **environment: str) -> Result:
        with self.start(*arguments, environment=environment) as process:
            out, err = _finish(process, stdin)
        result = Result(process.returncode, out.decode(), err.decode())
        assert result.is_clean, result.err
        return result

    def on_terminal(
        self, *arguments: str, typed: dict[str, str] | None = None, **environment: str
    ) -> Result:
        """Run on a pseudo terminal; `typed` maps prompts, in order, to what is typed at them."""
        terminal, end = pty.openpty()
        with self.start(
            *arguments, environment=environment, stdin=end, stdout=end, own_session=True
        ) as process:
            os.close(end)
            err = b""
            for prompt, answer in (typed or {}).items():
                err += _read_until(process.stderr, prompt)
                os.write(terminal, answer.encode())
            err += _finish(process)[1]
        out = _read_all(terminal)
        os.close(terminal)
        return Result(process.returncode, out.replace("\r\n", "\n"), err.decode())

    def start(
        self,
        *arguments: str,
        environment: dict[str, str] | None = None,
        stdin: int = subprocess.PIPE,
        stdout: int = subprocess.PIPE,
        own_session: bool = False,
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "codemem.client", *arguments],
            cwd=self.directory,
            env=self.environment | (environment or {}),
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            start_new_session=own_session,
            # Whoever runs the tests in the background has Ctrl-C ignored for all their children.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        )


class Repository:
    """A real work tree, driven by the git command."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.seconds = 1_700_000_000
        directory.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        self.seconds += 60
        date = f"@{self.seconds} +0000"
        identity = {
            f"GIT_{role}_{what}": f"{role.lower()}@example.com"
            for role in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        finished = subprocess.run(
            ["git", *arguments],
            cwd=self.directory,
            env={"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull,
                 "GIT_CONFIG_SYSTEM": os.devnull, "GIT_COMMITTER_DATE": date,
                 "GIT_AUTHOR_DATE": date, **identity},
            check=True,
            capture_output=True,
        )  # fmt: skip
        return finished.stdout.decode().strip()

    def commit(self, path: str = "a.py", content: str = "x = 1\n") -> str:
        file = self.directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", f"Change {path}")
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def server():
    with ServerDouble() as double:
        yield double


@pytest.fixture
def codemem(tmp_path, server):
    command = CommandLine(tmp_path / "home")
    command.home.mkdir()
    command.log_in(server.url)
    return command


@pytest.fixture
def stranger(codemem):
    """The command of somebody who has never logged in."""
    del codemem.environment["CODEMEM_URL"], codemem.environment["CODEMEM_TOKEN"]
    return codemem


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path / "work" / "api")


def _finish(process: subprocess.Popen[bytes], stdin: bytes | None = None) -> tuple[bytes, bytes]:
    try:
        return process.communicate(stdin, timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        raise


def _read_until(stream: IO[bytes] | None, prompt: str) -> bytes:
    assert stream is not None
    content = b""
    while not content.endswith(prompt.encode()):
        letter = stream.read(1)
        assert letter, f"{prompt!r} never came, only {content!r}"
        content += letter
    return content


def _read_all(terminal: int) -> str:
    content = b""
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # Linux says so when the other end is closed
            break
        if not chunk:
            break
        content += chunk
    return content.decode()
