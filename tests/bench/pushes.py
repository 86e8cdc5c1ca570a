"""Measure how long a push takes from the git host's webhook to an agent's answer.

    python -m tests.bench.pushes SOURCE [SIZE ...] [--follow]

SOURCE is a Python package (Django's is a good one); repositories of SIZE files are made of copies
of it, each a package of its own name. The same function is edited in all of them, in two
ways. A signed delivery is posted to a real gunicorn, a real Celery worker indexes, and the tool is
asked until it shows the pushed commit. Prints medians, what the steps of the run took, and CPU
seconds of the worker (with Git) and of Postgres for each push. `--follow` also runs the worker of
what follows from a push (ranks, findings, history), which then competes for the processors.
"""

import argparse
import ast
import contextlib
import hmac
import json
import os
import re
import statistics
import sys
import tempfile
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import django

from tests.servers import free_port, running, running_server

if TYPE_CHECKING:
    from graph.models import Repository
    from tests.indexing.checkout import Checkout

_PUSHES = 5
_FUNCTIONS = 5
_ASK_EVERY_SECONDS = 0.02
_FIRST_SECONDS = 1_800
_PUSH_SECONDS = 120
_STEPS = ("fetching", "parsing", "resolving", "writing")


def main() -> None:
    """Print two lines for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("sizes", type=int, nargs="*", default=[500, 2000, 8000])
    parser.add_argument("--follow", action="store_true")
    arguments = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codemem.settings")
    django.setup()
    print(
        f"{'files':>6}  {'edit':14}{'answer s':>9}{'most':>7}"
        f"   {'fetch':>6}{'parse':>6}{'resolve':>8}{'write':>6}   CPU s: worker Postgres"
    )
    with tempfile.TemporaryDirectory() as folder, _server(Path(folder), arguments) as server:
        for size in arguments.sizes:
            headers = _team(f"bench-{uuid.uuid4().hex[:8]}")
            _measure(server, headers, arguments.source, size, Path(folder) / str(size))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Server:
    """The processes that take, index and show a push."""

    url: str
    worker: int
    postgres: int | None

    def ask(self, path: str, body: bytes | None, headers: dict[str, str]) -> Any:
        """Return what is answered; None where there is no such thing (yet)."""
        request = urllib.request.Request(self.url + path, data=body, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            told = error.read().decode(errors="replace")
            if error.code >= 500:
                raise RuntimeError(told) from error
            return None


@contextlib.contextmanager
def _server(folder: Path, arguments: argparse.Namespace) -> Iterator[_Server]:
    environment = {
        "DJANGO_SETTINGS_MODULE": "codemem.settings",
        "CODEMEM_LOCAL_REPOSITORY_ROOTS": str(folder),
        "CODEMEM_SCIP": "0",
        "CODEMEM_LOG_LEVEL": "ERROR",
    }
    with contextlib.ExitStack() as processes:
        port = free_port()
        url = processes.enter_context(running_server(port=port, environment=environment))
        worker = processes.enter_context(
            running("celery", *_worker("index,maintenance"), environment=environment)
        )
        if arguments.follow:
            other = _worker("analysis,history", "--hostname", "analyst@%h")
            processes.enter_context(running("celery", *other, environment=environment))
        yield _Server(url=url, worker=worker.pid, postgres=_postmaster())


def _worker(queues: str, *options: str) -> tuple[str, ...]:
    return (
        *("-A", "workers.app", "worker", "--queues", queues, "--concurrency", "1"),
        *("--loglevel", "ERROR", "--without-gossip", "--without-mingle", *options),
    )


def _team(name: str) -> dict[str, str]:
    """Make a namespace, which stays, and return what its owner asks with."""
    from django.utils import timezone

    from codemem.accounts import services as accounts
    from codemem.accounts.values import TokenScope

    owner = accounts.create_user(username=name, actor="bench")
    namespace = accounts.create_namespace(name=name, owner=owner, actor="bench")
    issued = accounts.issue_token(
        user=owner,
        name="bench",
        actor=owner,
        now=timezone.now(),
        scopes=list(TokenScope),
        expires_at=None,
    )
    return {
        "Authorization": f"Bearer {issued.secret}",
        "Content-Type": "application/json",
        "Codemem-Namespace": namespace.name,
    }


# --- One size -------------------------------------------------------------------------------------


def _measure(
    server: _Server, headers: dict[str, str], source: Path, size: int, folder: Path
) -> None:
    from tests.indexing.checkout import Checkout

    checkout = Checkout(folder)
    edited = _Edited.first_of(_fill(checkout.path, source, size), checkout.path)
    checkout.commit({})
    body = {
        "namespace": headers["Codemem-Namespace"],
        "name": "bench",
        "url": str(checkout.path),
        "default_branch": "main",
    }
    registered = server.ask("/api/repositories", json.dumps(body).encode(), headers)
    repository = _repository(registered["id"])
    pushed = _Pushed(server=server, headers=headers, repository=repository, checkout=checkout)
    pushed.wait_for_the_first()
    edits = {"a body": edited.longer, "a new function": edited.called}
    for name, edit in edits.items():
        pushes = [pushed.measured(edited, edit(number)) for number in range(_PUSHES)]
        print(_line(size, name, pushes), flush=True)


def _line(size: int, name: str, pushes: "list[_Figures]") -> str:
    answers = [push.seconds for push in pushes]
    steps = [statistics.median(push.steps.get(step, 0.0) for push in pushes) for step in _STEPS]
    return (
        f"{size:6}  {name:14}{statistics.median(answers):9.2f}{max(answers):7.2f}"
        f"   {steps[0]:6.2f}{steps[1]:6.2f}{steps[2]:8.2f}{steps[3]:6.2f}"
        f"   {statistics.median(push.worker_cpu for push in pushes):13.2f}"
        f"{statistics.median(push.postgres_cpu for push in pushes):9.2f}"
    )


def _repository(key: str) -> "Repository":
    from graph.models import Repository

    return Repository.objects.get(pk=key)


def _fill(target: Path, source: Path, size: int) -> list[Path]:
    """Write copies of a package, each under a name of its own, until there are so many files."""
    files = sorted(source.rglob("*.py"))
    made: list[Path] = []
    while len(made) < size:
        name = f"{source.name}{len(made) // len(files)}"
        for file in files[: size - len(made)]:
            path = target / name / file.relative_to(source)
            path.parent.mkdir(parents=True, exist_ok=True)
            text = file.read_text(errors="replace")
            path.write_text(re.sub(rf"\b{source.name}\b", name, text))
            made.append(path)
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edited:
    """The file that is pushed again and again, and a function in it."""

    path: str
    text: str
    function: str
    end_line: int

    @classmethod
    def first_of(cls, files: list[Path], root: Path) -> "_Edited":
        """Return the first file with some functions; every size has it."""
        for path in files:
            text = path.read_text()
            functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
            if len(functions) >= _FUNCTIONS:
                last = functions[-1]
                return cls(
                    path=str(path.relative_to(root)),
                    text=text,
                    function=last.name,
                    end_line=last.end_lineno or 0,
                )
        raise RuntimeError("No file of the source has some functions.")

    @property
    def symbol(self) -> str:
        return f"sym:{self.path}#{self.function}"

    def longer(self, number: int) -> tuple[str, str]:
        """Return the text with one more line in the function, and the symbol that shows it."""
        return self._with(f"    pushed = {number}"), self.symbol

    def called(self, number: int) -> tuple[str, str]:
        """Return the text with a new function that the function calls, and that function."""
        name = f"pushed_{number}"
        made = f"\n\ndef {name}(given):\n    return given\n"
        return self._with(f"    {name}({number})") + made, f"sym:{self.path}#{name}"

    def _with(self, line: str) -> str:
        lines = self.text.splitlines()
        return "\n".join([*lines[: self.end_line], line, *lines[self.end_line :]]) + "\n"


# --- One push -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Figures:
    seconds: float
    steps: dict[str, float]
    worker_cpu: float
    postgres_cpu: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pushed:
    """A repository whose pushes are measured."""

    server: _Server
    headers: dict[str, str]
    repository: "Repository"
    checkout: "Checkout"

    def measured(self, edited: _Edited, edit: tuple[str, str]) -> _Figures:
        text, symbol = edit
        commit = self.checkout.commit({edited.path: text})
        used = _cpu(self.server.worker), _cpu(self.server.postgres)
        started = time.perf_counter()
        self._deliver(commit)
        self._wait(symbol, commit)
        seconds = time.perf_counter() - started
        return _Figures(
            seconds=seconds,
            steps=self._finished_steps(),
            worker_cpu=_cpu(self.server.worker) - used[0],
            postgres_cpu=_cpu(self.server.postgres) - used[1],
        )

    def wait_for_the_first(self) -> None:
        """Wait until the repository is indexed as it was registered."""
        until = time.monotonic() + _FIRST_SECONDS
        while time.monotonic() < until and self._last_run()["state"] in {"queued", "running"}:
            time.sleep(1)

    def _wait(self, symbol: str, commit: str) -> None:
        """Ask for a symbol until the answer shows the commit, and so the edit."""
        question = json.dumps({"repository": "bench", "qualified_name": symbol}).encode()
        until = time.monotonic() + _PUSH_SECONDS
        while time.monotonic() < until:
            answer = self.server.ask("/api/v1/tools/get_symbol_graph", question, self.headers)
            if answer is not None and answer["code"]["indexed_commit"] == commit:
                return
            time.sleep(_ASK_EVERY_SECONDS)
        sys.exit(f"{symbol} of {commit} was not shown: {self._last_run()}")

    def _deliver(self, commit: str) -> None:
        from indexing.signing import webhook_secret

        body = json.dumps({"ref": "refs/heads/main", "after": commit}).encode()
        secret = webhook_secret(self.repository.pk).encode()
        headers = {
            "Content-Type": "application/json",
            "X-GitHub-Event": "push",
            "X-Hub-Signature-256": f"sha256={hmac.new(secret, body, 'sha256').hexdigest()}",
        }
        if self.server.ask(f"/webhooks/github/{self.repository.pk}", body, headers) is None:
            raise RuntimeError("The delivery was refused.")

    def _finished_steps(self) -> dict[str, float]:
        """Return what each step of the newest run took, once it says so."""
        while (run := self._last_run())["state"] != "done":
            time.sleep(_ASK_EVERY_SECONDS)
        steps: dict[str, float] = run["seconds"]
        return steps

    def _last_run(self) -> Any:
        path = f"/api/repositories/{self.repository.pk}/runs"
        return self.server.ask(path, None, self.headers)[0]


# --- Processors -----------------------------------------------------------------------------------


def _postmaster() -> int | None:
    """Return the process of the Postgres of deploy/services.sh, None where it runs elsewhere."""
    folder = os.environ.get("CODEMEM_TEST_INSTANCE")
    file = Path(folder or "") / "pg" / "postmaster.pid"
    try:
        return int(file.read_text().split()[0])
    except OSError:
        return None


def _cpu(root: int | None) -> float:
    """Return the CPU seconds of a process and of all that it started, living or ended."""
    if root is None:
        return float("nan")
    parents = {}
    ticks = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = status.read_text().rpartition(")")[2].split()
            process = int(status.parent.name)
            parents[process] = int(fields[1])
            ticks[process] = sum(map(int, fields[11:15]))
    below: Callable[[int], bool] = lambda process: (  # noqa: E731
        process == root or (process in parents and below(parents[process]))
    )
    return sum(value for process, value in ticks.items() if below(process)) / os.sysconf(
        "SC_CLK_TCK"
    )


if __name__ == "__main__":
    main()
