"""What every process counts and times for Prometheus; gateway/exposition.py shows it.

With PROMETHEUS_MULTIPROC_DIR set, each process writes files there and /metrics adds them up; the
web server of a host then also reports the workers of that host.
"""

import os
import time
from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from prometheus_client import Counter, Histogram, multiprocess

# Whatever else a client invents must not become a label of its own.
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

REQUESTS = Histogram(
    "codemem_http_request_seconds",
    "Time to answer a request.",
    ("method", "route", "status"),
    buckets=_SECONDS,
)
TOOL_CALLS = Histogram(
    "codemem_tool_call_seconds",
    "Time to run a tool, by outcome (ok, or the error's code).",
    ("tool", "outcome"),
    buckets=_SECONDS,
)
TASKS = Histogram(
    "codemem_task_seconds",
    "Time to run a background task.",
    ("task", "outcome"),
    buckets=(*_SECONDS, 60, 300, 1800),
)
REFUSED = Counter("codemem_refused_total", "Requests refused at the door.", ("reason",))


def observe_task(*, name: str, outcome: str, seconds: float) -> None:
    """Add one run of a task; `outcome` is a short fixed word."""
    TASKS.labels(name, outcome).observe(seconds)


def forget_process(pid: int) -> None:
    """Drop the live gauges of a process that ended; its counters stay."""
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        multiprocess.mark_process_dead(pid)  # type: ignore[no-untyped-call]


class RequestMetricsMiddleware:
    """Time every request under its route's pattern, so that ids do not become labels."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        response = self.get_response(request)
        match = request.resolver_match
        method = request.method if request.method in _METHODS else "other"
        route = match.route if match else "unmatched"
        REQUESTS.labels(method, route, response.status_code).observe(time.perf_counter() - started)
        return response
