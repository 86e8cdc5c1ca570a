"""What is counted, in one process and over several."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.http import HttpResponse
from django.test import RequestFactory
from prometheus_client import REGISTRY

from codemem import metrics

ROOT = Path(__file__).resolve().parents[2]


def counted(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


def test_a_request_is_timed_under_its_route_not_its_address(client, db):
    labels = {"method": "GET", "route": "api/v1/me", "status": "401"}
    before = counted("codemem_http_request_seconds_count", **labels)

    client.get("/api/v1/me?user=rita")

    assert counted("codemem_http_request_seconds_count", **labels) == before + 1


def test_addresses_that_nothing_serves_share_one_label(client):
    labels = {"method": "GET", "route": "unmatched", "status": "404"}
    before = counted("codemem_http_request_seconds_count", **labels)

    for path in ("/nothing", "/nowhere/else"):
        client.get(path)

    assert counted("codemem_http_request_seconds_count", **labels) == before + 2


@pytest.mark.parametrize("method", ["BREW", "X" * 1000])
def test_a_method_that_http_does_not_know_makes_no_label(method):
    middleware = metrics.RequestMetricsMiddleware(lambda _: HttpResponse())

    middleware(RequestFactory().generic(method, "/"))

    samples = next(iter(metrics.REQUESTS.collect())).samples
    assert {sample.labels["method"] for sample in samples} <= {
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "other",
    }  # fmt: skip


def test_a_task_is_timed_by_its_outcome():
    labels = {"task": "test", "outcome": "done"}

    metrics.observe_task(name="test", outcome="done", seconds=0.3)

    assert counted("codemem_task_seconds_count", **labels) == 1
    assert counted("codemem_task_seconds_bucket", **labels, le="0.25") == 0
    assert counted("codemem_task_seconds_bucket", **labels, le="0.5") == 1


COUNT = """
import os
from codemem import metrics
metrics.observe_task(name="index", outcome="done", seconds=1)
if os.environ["FORGET"]:
    metrics.forget_process(os.getpid())
"""
SHOW = """
import django
django.setup()
from codemem.gateway import exposition
print(exposition.generate_latest(exposition._counted()).decode())
"""


def test_the_counts_of_all_processes_of_a_host_add_up(tmp_path):
    def run(program: str, forget: str = "") -> str:
        return subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env={
                **os.environ,
                "DJANGO_SETTINGS_MODULE": "codemem.settings",
                "PROMETHEUS_MULTIPROC_DIR": str(tmp_path),
                "FORGET": forget,
            },
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    for forget in ("", "yes", ""):
        run(COUNT, forget)

    assert 'codemem_task_seconds_count{outcome="done",task="index"} 3.0' in run(SHOW)
