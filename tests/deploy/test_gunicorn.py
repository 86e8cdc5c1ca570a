"""The web server's configuration, read the way gunicorn reads it."""

import os
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

CONFIGURATION = Path(__file__).resolve().parents[2] / "deploy" / "gunicorn.conf.py"
# A program of its own: prometheus_client decides at its import whether it writes files.
COUNT_AND_DIE = """
from prometheus_client import Counter, Gauge
Counter("answers", "").inc()
Gauge("in_flight", "", multiprocess_mode="livesum").inc()
"""


def test_gunicorn_accepts_every_setting(tmp_path):
    (tmp_path / "silent.py").write_text("def application(environ, start_response): ...\n")

    result = subprocess.run(
        [
            *(sys.executable, "-m", "gunicorn", "silent:application", "--check-config"),
            *("--config", str(CONFIGURATION), "--chdir", str(tmp_path)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.returncode == 0, result.stderr


def test_the_environment_sizes_the_server(monkeypatch):
    monkeypatch.setenv("CODEMEM_WEB_WORKERS", "5")
    monkeypatch.setenv("CODEMEM_WEB_THREADS", "3")

    configuration = runpy.run_path(str(CONFIGURATION))

    assert (configuration["workers"], configuration["threads"]) == (5, 3)


def test_a_dead_worker_leaves_its_counters_and_takes_its_live_gauges_along(tmp_path, monkeypatch):
    metrics = tmp_path / "metrics"
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(metrics))
    configuration = runpy.run_path(str(CONFIGURATION))

    configuration["on_starting"](None)
    with subprocess.Popen([sys.executable, "-c", COUNT_AND_DIE], env=os.environ) as worker:
        worker.wait()
    before = {file.name for file in metrics.iterdir()}
    configuration["child_exit"](None, SimpleNamespace(pid=worker.pid))

    assert before == {f"counter_{worker.pid}.db", f"gauge_livesum_{worker.pid}.db"}
    assert {file.name for file in metrics.iterdir()} == {f"counter_{worker.pid}.db"}
