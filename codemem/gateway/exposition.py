"""/metrics: what the processes of this host counted, and how queues, Postgres and Redis are now."""

import os
import secrets
from collections.abc import Callable, Iterator
from http import HTTPStatus

from django.conf import settings
from django.db import Error
from django.http import HttpRequest, HttpResponse
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, multiprocess
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.registry import Collector

from workers import health, queue


def metrics(request: HttpRequest) -> HttpResponse:
    """Answer a scrape; with CODEMEM_METRICS_TOKEN set only for those who send it."""
    if not _is_admitted(request):
        return HttpResponse(
            "Send `Authorization: Bearer` with the CODEMEM_METRICS_TOKEN of this server.\n",
            status=HTTPStatus.UNAUTHORIZED,
            content_type="text/plain",
            headers={"WWW-Authenticate": 'Bearer realm="codemem metrics"'},
        )
    now = CollectorRegistry()
    now.register(ServerState())
    return HttpResponse(
        generate_latest(_counted()) + generate_latest(now), content_type=CONTENT_TYPE_LATEST
    )


class ServerState(Collector):
    """Gauges read at the moment of the scrape: the same whichever process answers it."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        up = GaugeMetricFamily("codemem_up", "Whether this part answers.", labels=["part"])
        up.add_metric(["database"], _answers(health.check_database))
        waiting = GaugeMetricFamily(
            "codemem_queue_waiting", "Tasks that no worker has taken yet.", labels=["queue"]
        )
        try:
            for depth in queue.depths():
                waiting.add_metric([depth.queue.value], depth.waiting)
            up.add_metric(["redis"], 1)
        except queue.QueueUnavailable:
            # No depth at all rather than a reassuring zero.
            up.add_metric(["redis"], 0)
        yield up
        yield waiting


def _is_admitted(request: HttpRequest) -> bool:
    if not settings.METRICS_TOKEN:
        return True
    wanted = f"Bearer {settings.METRICS_TOKEN}"
    return secrets.compare_digest(
        request.headers.get("Authorization", "").encode(), wanted.encode()
    )


def _counted() -> CollectorRegistry:
    # With several processes each writes files; the sum of them is what counts.
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return REGISTRY
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return registry


def _answers(check: Callable[[], None]) -> int:
    try:
        check()
    except Error:
        return 0
    return 1
