"""Logs and error reports, as another process writes and receives them."""

import gzip
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import UUID

import pytest
from django.db import connection

ROOT = Path(__file__).resolve().parents[2]

ASK_FOR_HEALTH = """
import django
django.setup()
from django.test import Client
Client().get("/healthz", headers={"X-Request-ID": "forged"})
"""

WRITE_LINES = """
import logging, logging.config, os, structlog
from codemem import logs
level, form = os.environ["CODEMEM_LOG_LEVEL"], os.environ["CODEMEM_LOG_FORMAT"]
logging.config.dictConfig(logs.configuration(level=level, form=form))
with structlog.contextvars.bound_contextvars(request_id="r-1"):
    structlog.get_logger("graph.test").info("put", rows=3)
    logging.getLogger("elsewhere").warning("from %s", "Django")
    try:
        1 / 0
    except ZeroDivisionError:
        structlog.get_logger("graph.test").exception("broke")
"""

# A fault below an authenticated request whose body and locals are nobody's business.
BREAK_A_TOOL = """
import django
django.setup()
from django.test import Client
from codemem.gateway import body, rest

def broken(request, *, maximum_bytes):
    a_local_secret = "local-" + "secret"
    raise RuntimeError("a fault in the code")

body.read_json = broken
rest.authenticate = lambda request: object()
client = Client(raise_request_exception=False)
client.post(
    "/api/v1/tools/list_namespaces", {"content": "body-secret"}, "application/json",
    headers={"Authorization": "Bearer cm_token-secret", "Cookie": "sessionid=cookie-secret"},
)
import sentry_sdk
sentry_sdk.flush(10)
"""


def run(program: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "codemem.settings",
            "CODEMEM_ALLOWED_HOSTS": "testserver",
            "CODEMEM_LOG_LEVEL": "INFO",
            **environment,
        },
        capture_output=True,
        text=True,
        check=True,
    )


def lines(program: str) -> list[dict[str, object]]:
    return [
        json.loads(line) for line in run(program, CODEMEM_LOG_FORMAT="json").stderr.splitlines()
    ]


def test_each_line_is_an_object_with_its_request():
    put, foreign, broke = lines(WRITE_LINES)

    assert put.pop("timestamp")
    assert put == {
        "event": "put", "rows": 3, "level": "info", "logger": "graph.test", "request_id": "r-1",
    }  # fmt: skip
    assert (foreign["event"], foreign["logger"]) == ("from Django", "elsewhere")
    assert foreign["request_id"] == "r-1"
    assert broke["level"] == "error"
    assert "ZeroDivisionError" in str(broke["exception"])


def test_the_lines_of_a_request_share_an_id_that_the_server_chose():
    written = [line for line in lines(ASK_FOR_HEALTH) if "request" in line]

    assert [line["event"] for line in written] == ["request_started", "request_finished"]
    assert written[1]["request"] == "GET /healthz"
    assert written[1]["code"] == 200
    # One that a client brings could be made up to look like somebody else's.
    (request_id,) = {str(line["request_id"]) for line in written}
    assert UUID(request_id)


def test_text_is_for_eyes():
    written = run(WRITE_LINES, CODEMEM_LOG_FORMAT="text").stderr

    assert "put" in written
    assert not written.startswith("{")


def test_the_level_cuts_off_what_is_below():
    written = run(WRITE_LINES, CODEMEM_LOG_LEVEL="WARNING", CODEMEM_LOG_FORMAT="json").stderr

    assert [json.loads(line)["event"] for line in written.splitlines()] == ["from Django", "broke"]


# --- Error reports ------------------------------------------------------------------------------
class Collector(BaseHTTPRequestHandler):
    """Stands where Sentry would."""

    received: list[str]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.received.append(body.decode())
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def collector() -> Iterator[ThreadingHTTPServer]:
    Collector.received = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_a_fault_reaches_sentry_without_anybodys_secrets(collector, db):
    address = f"http://public@127.0.0.1:{collector.server_port}/1"
    # The database that has tables: looking for a session in one without is a fault of its own.
    database = urlsplit(os.environ["DATABASE_URL"])._replace(
        path=f"/{connection.settings_dict['NAME']}"
    )

    run(
        BREAK_A_TOOL,
        SENTRY_DSN=address,
        SENTRY_ENVIRONMENT="a test",
        DATABASE_URL=urlunsplit(database),
    )

    (event,) = _events(Collector.received)
    assert [fault["value"] for fault in event["exception"]["values"]] == ["a fault in the code"]
    assert event["environment"] == "a test"
    for secret in ("token-secret", "cookie-secret", "body-secret", "local-secret"):
        assert secret not in "".join(Collector.received), secret


def _events(envelopes: list[str]) -> list[dict[str, Any]]:
    """Return the faults among what was sent; an envelope is lines of JSON."""
    items = [json.loads(line) for envelope in envelopes for line in envelope.splitlines()]
    return [item for item in items if "exception" in item]


def test_without_an_address_nothing_is_sent(collector):
    run(BREAK_A_TOOL, SENTRY_DSN="")

    assert Collector.received == []
