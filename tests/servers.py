"""Real processes of the product for tests that need them: gunicorn, Celery, services.sh."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_START_SECONDS = 60


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@contextmanager
def running_server(*, port: int, environment: Mapping[str, str], workers: int = 1) -> Iterator[str]:
    """Run gunicorn as `make up` does for as long as the block lasts; yield its address."""
    with running_gunicorn(port=port, environment=environment, workers=workers):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def running_gunicorn(
    *, port: int, environment: Mapping[str, str], workers: int = 1
) -> Iterator[subprocess.Popen[bytes]]:
    """Do as running_server, and yield the process, for whoever wants to end it."""
    url = f"http://127.0.0.1:{port}"
    command = ("gunicorn", "codemem.wsgi", "-c", "deploy/gunicorn.conf.py", "--bind", url[7:])
    environment = {"CODEMEM_WEB_WORKERS": str(workers), **environment}
    with running(*command, environment=environment) as process:
        _wait_until_it_answers(process, f"{url}/healthz")
        yield process


@contextmanager
def running(
    module: str, *arguments: str, environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """Run `python -m module` in a session of its own, stop all of it afterwards.

    What it writes is shown if the block fails.
    """
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            (sys.executable, "-m", module, *arguments),
            cwd=ROOT,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield process
        except BaseException:
            output.seek(0)
            sys.stderr.write(output.read().decode(errors="replace")[-20_000:])
            raise
        finally:
            end_group(process, signal.SIGTERM)


def end_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """End a process that `running` started, with all its children."""
    if process.poll() is None:
        os.killpg(process.pid, number)
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait_until_it_answers(process: subprocess.Popen[bytes], url: str) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise AssertionError(f"{url} did not answer; exit status {process.poll()}.")
