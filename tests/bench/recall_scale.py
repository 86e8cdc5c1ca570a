"""Recall over many memories in fifty namespaces: one client, fifty at once, fifty that think.

    deploy/bench_scale.sh [--memories N]

In process, where nothing but recall itself is asked, beside the bare statement that any vector
search needs (embed the question, take the nearest ten), so that the machine's speed falls out of
the ratio; and over HTTP from gunicorn as it is deployed. Fifty clients that ask again at once show
how much the machine can do: each waits for 49 others. Fifty that think between two questions, as
agents do, show how long an agent waits.
"""

import argparse
import contextlib
import http.client
import json
import multiprocessing
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tests.bench.measuring import Timings, set_up

if TYPE_CHECKING:
    from tests.bench.scale_rows import Place

NAMESPACES: Final = 50
CLIENTS: Final = 50
_QUESTIONS: Final = 200
_PROCESSES: Final = 2
_WARM_UP: Final = 20
_RECALL: Final = "recall"
_BARE: Final = "HNSW only"
_NEAREST: Final = (
    "SELECT id FROM memory_memory WHERE namespace_id = %s AND state = 'active'"
    " AND embedding_fingerprint = %s"
    " ORDER BY embedding::halfvec(384) <=> %s::halfvec LIMIT 10"
)

Ask = Callable[[int, str], None]
"""Ask one question of the nth namespace."""


def main() -> None:
    """Load, measure, print."""
    parser = argparse.ArgumentParser(prog="tests.bench.recall_scale", description=__doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=_QUESTIONS)
    parser.add_argument("--think", type=float, default=10.0, help="seconds between two questions")
    arguments = parser.parse_args()
    set_up()
    from tests.bench.scale_rows import place as loaded

    place = loaded(memories=arguments.memories, namespaces=NAMESPACES)
    count = arguments.questions
    print(
        f"{place.memories:,} memories in {NAMESPACES} namespaces, k = 10, milliseconds; load of the"
        f" machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores",
        flush=True,
    )
    print("in process, 1 client", flush=True)
    _show_ratio(recall=_alone(_RECALL, place, count), bare=_alone(_BARE, place, count))
    print(f"in process, {CLIENTS} clients in {_PROCESSES} processes, none thinks", flush=True)
    _show_ratio(recall=_crowd(_RECALL, place, count), bare=_crowd(_BARE, place, count))
    with _gunicorn() as port:
        ask = _over_http(port, place)
        _measured(ask, clients=1, count=_WARM_UP, offset=10 * count)
        print("over HTTP", flush=True)
        _show("1 client", _measured(ask, clients=1, count=count, offset=3 * count))
        full = _measured(ask, clients=CLIENTS, count=2 * count, offset=4 * count)
        _show(f"{CLIENTS} clients, none thinks", full)
        calm = _measured(
            ask, clients=CLIENTS, count=2 * count, offset=6 * count, think=arguments.think
        )
        _show(f"{CLIENTS} clients, {arguments.think:g} s to think", calm)
        print(f"  that is {calm.rate / full.rate:.0%} of what the machine can answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """How long answers took, how many a second there were, and the CPU of the asking process."""

    taken: Timings
    rate: float
    cpu_ms: float


def _show(name: str, run: _Run) -> None:
    taken = run.taken
    print(
        f"  {name:28s} p50 {taken.p50:8.1f}  p95 {taken.p95:8.1f}  p99 {taken.p99:8.1f}"
        f"  {run.rate:6.1f}/s",
        flush=True,
    )


def _show_ratio(*, recall: _Run, bare: _Run) -> None:
    _show(_RECALL, recall)
    _show(_BARE, bare)
    pairs = [
        (recall.taken.p50, bare.taken.p50),
        (recall.taken.p95, bare.taken.p95),
        (recall.taken.p99, bare.taken.p99),
    ]
    shares = "  ".join(f"x{mine / other:<10.1f}" for mine, other in pairs)
    print(f"  {'ratio':28s} {shares} CPU of Python {recall.cpu_ms:.1f} and {bare.cpu_ms:.1f} ms")


# --- In process -----------------------------------------------------------------------------------
def _alone(name: str, place: "Place", count: int) -> _Run:
    ask = _asking(name, place)
    first = 20 * count if name == _BARE else 0
    _measured(ask, clients=1, count=_WARM_UP, offset=first + 10 * count)
    return _measured(ask, clients=1, count=count, offset=first)


def _crowd(name: str, place: "Place", count: int) -> _Run:
    """Ask from several processes, as a server with several workers does: threads share a lock."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(_PROCESSES, mp_context=context, initializer=set_up) as pool:
        jobs = [
            pool.submit(_crowd_of_a_process, name, place, count, number)
            for number in range(_PROCESSES)
        ]
        runs = [job.result() for job in jobs]
    return _Run(
        taken=Timings.of(value for run in runs for value in run.taken.milliseconds),
        rate=sum(run.rate for run in runs),
        cpu_ms=sum(run.cpu_ms for run in runs) / len(runs),
    )


def _crowd_of_a_process(name: str, place: "Place", count: int, number: int) -> _Run:
    ask = _asking(name, place)
    clients = CLIENTS // _PROCESSES
    _measured(ask, clients=clients, count=clients, offset=(10 + number) * count)
    return _measured(ask, clients=clients, count=count, offset=(1 + number) * count)


def _asking(name: str, place: "Place") -> Ask:
    return _recalling(place) if name == _RECALL else _nearest(place)


def _recalling(place: "Place") -> Ask:
    from django.utils import timezone

    from codemem.accounts.models import User
    from memory.recall import recall
    from memory.values import RecallQuery
    from tests.bench.locomo_rows import caller_of

    caller = caller_of(User.objects.get(pk=place.user_id))

    def ask(space: int, text: str) -> None:
        query = RecallQuery(text=text, namespace_ids=(place.namespace_ids[space],))
        recall(caller=caller, query=query, now=timezone.now())

    return ask


def _nearest(place: "Place") -> Ask:
    """Embed the question and ask for the nearest ten: what any vector search does at least."""
    from django.db import connection
    from pgvector import HalfVector

    from codemem import embedding

    provider = embedding.from_settings()

    def ask(space: int, text: str) -> None:
        vector = HalfVector(provider.embed([text], kind="query")[0]).to_text()
        with connection.cursor() as cursor:
            cursor.execute(_NEAREST, [place.namespace_ids[space], provider.fingerprint, vector])
            cursor.fetchall()

    return ask


# --- Over HTTP ------------------------------------------------------------------------------------
def _over_http(port: int, place: "Place") -> Ask:
    from codemem.accounts.models import User
    from tests.bench.locomo_rows import token_of

    secret = token_of(User.objects.get(pk=place.user_id))
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    connections: dict[int, http.client.HTTPConnection] = {}

    def ask(space: int, text: str) -> None:
        # Each client is a thread with a connection of its own, as an agent has.
        thread = threading.get_ident()
        connection = connections.setdefault(thread, http.client.HTTPConnection("127.0.0.1", port))
        body = json.dumps({"query": text, "namespace": place.names[space]})
        connection.request("POST", "/api/v1/tools/recall", body, headers)
        response = connection.getresponse()
        content = response.read()
        if response.status != http.client.OK:
            raise SystemExit(f"recall: {response.status} {content[:300]!r}")

    return ask


@contextlib.contextmanager
def _gunicorn() -> Iterator[int]:
    """Serve as deployed, and yield the port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    server = subprocess.Popen(
        (
            *(sys.executable, "-m", "gunicorn", "codemem.wsgi", "-c", "deploy/gunicorn.conf.py"),
            *("--bind", f"127.0.0.1:{port}", "--log-level", "error"),
        ),
    )
    try:
        for _ in range(300):
            with (
                contextlib.suppress(ConnectionRefusedError),
                socket.create_connection(("127.0.0.1", port)),
            ):
                break
            time.sleep(0.2)
        yield port
    finally:
        server.terminate()
        server.wait()


# --- Clients --------------------------------------------------------------------------------------
def _measured(ask: Ask, *, clients: int, count: int, offset: int, think: float = 0.0) -> _Run:
    """Ask `count` questions by so many clients at once; each thinks for a random time in between.

    `offset` is the number of the first question: no question is asked twice, so that nothing
    remembers one.
    """
    from django.db import connections

    from tests.bench.memories import question

    numbers = range(offset, offset + count)

    def one(client: int) -> list[float]:
        draw = random.Random(client)
        took = []
        for number in numbers[client::clients]:
            # Also before the first: agents do not start together.
            time.sleep(draw.expovariate(1 / think) if think else 0.0)
            started = time.perf_counter()
            ask(number % NAMESPACES, question(number))
            took.append((time.perf_counter() - started) * 1_000)
        connections.close_all()
        return took

    cpu, started = time.process_time(), time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        taken = Timings.of(value for took in pool.map(one, range(clients)) for value in took)
    spent = time.process_time() - cpu
    return _Run(
        taken=taken,
        rate=count / (time.perf_counter() - started),
        cpu_ms=spent * 1_000 / count,
    )


if __name__ == "__main__":
    main()
