"""Recall over many memories in fifty namespaces, asked by one client and by fifty at once.

    deploy/bench_scale.sh [--memories N]

Beside each question the bare HNSW statement that any vector search needs is timed, so that the
machine's speed falls out of the ratio. Every memory has its words' vectors, as in production;
these and the memories' own are synthetic.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import cycle, islice
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import django
import numpy as np

from tests.bench.measuring import Timings

if TYPE_CHECKING:
    from codemem.accounts.values import Caller

NAMESPACES: Final = 50
CLIENTS: Final = 50
_QUESTIONS: Final = 200
_WORDS_OF_A_MEMORY: Final = 30
_ROWS_AT_ONCE: Final = 10_000


def main() -> None:
    """Load, measure, print."""
    parser = argparse.ArgumentParser(prog="tests.bench.recall_scale", description=__doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    count = parser.parse_args().memories
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codemem.settings")
    django.setup()
    place = _loaded(count)
    print(f"{count:,} memories in {NAMESPACES} namespaces, k = 10, milliseconds")
    for clients in (1, CLIENTS):
        taken = {
            name: _timed(call, place, clients)
            for name, call in (("recall", _recall), ("HNSW only", _bare))
        }
        for name, timings in taken.items():
            ratio = timings.p50 / taken["HNSW only"].p50
            print(
                f"  {clients:2d} clients  {name:10s} p50 {timings.p50:8.1f}  p95 {timings.p95:8.1f}"
                f"  p99 {timings.p99:8.1f}  x{ratio:.1f}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    caller: "Caller"
    namespace_ids: tuple[UUID, ...]


def _loaded(count: int) -> _Place:
    from django.db import connection, transaction
    from pgvector.psycopg import register_vector

    from codemem import embedding
    from codemem.accounts import services as accounts
    from memory.indexes import ensure_vector_indexes
    from tests.bench.locomo_rows import caller_of
    from tests.bench.memory_rows import copy_memories

    user = accounts.create_user(username="bench", actor="bench")
    spaces = [
        accounts.create_namespace(name=f"bench-{number:02d}", owner=user, actor="bench")
        for number in range(NAMESPACES)
    ]
    connection.ensure_connection()
    register_vector(connection.connection)
    provider = embedding.from_settings()
    each = count // NAMESPACES
    started = perf_counter()
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        cursor.execute("SET synchronous_commit = off")
        for place, space in enumerate(spaces):
            numbers = range(place * each, (place + 1) * each)
            with transaction.atomic():
                copy_memories(
                    cursor,
                    numbers=numbers,
                    namespace_id=space.pk,
                    author=user,
                    provider=provider,
                )
                _copy_contexts(cursor, space.pk)
        ensure_vector_indexes()
        cursor.execute("VACUUM (ANALYZE) memory_memory")
        cursor.execute("VACUUM (ANALYZE) memory_memorycontext")
    _say(f"loaded in {perf_counter() - started:.0f} s")
    return _Place(caller=caller_of(user), namespace_ids=tuple(space.pk for space in spaces))


def _copy_contexts(cursor: Any, namespace_id: UUID) -> None:
    from codemem import embedding
    from memory.context import context_fingerprint
    from memory.models import Memory
    from tests.bench.copying import copy_rows

    fingerprint = context_fingerprint(embedding.from_settings())
    ids = list(Memory.objects.filter(namespace_id=namespace_id).values_list("pk", flat=True))
    random = np.random.default_rng(3)

    def rows() -> Iterator[tuple[object, ...]]:
        size = _WORDS_OF_A_MEMORY * 384 // 8
        for start in range(0, len(ids), _ROWS_AT_ONCE):
            some = ids[start : start + _ROWS_AT_ONCE]
            bits = random.integers(0, 256, (len(some), size), np.uint8)
            for key, row in zip(some, bits, strict=True):
                yield key, namespace_id, [], "", row.tobytes(), fingerprint

    columns = ("memory_id", "namespace_id", "around", "tokens", "words", "fingerprint")
    copy_rows(cursor, "memory_memorycontext", columns, rows())


def _timed(call: "Callable[[_Place, int, str], None]", place: _Place, clients: int) -> Timings:
    from django.db import connections

    from tests.bench.memories import question

    asked = [(number % NAMESPACES, question(number)) for number in range(_QUESTIONS)]

    def one(client: int) -> list[float]:
        took = []
        mine: Sequence[tuple[int, str]] = asked[client::clients]
        for space, text in islice(cycle(mine), max(len(mine), 4)):
            started = perf_counter()
            call(place, space, text)
            took.append((perf_counter() - started) * 1000)
        connections.close_all()
        return took

    call(place, 0, question(_QUESTIONS))
    with ThreadPoolExecutor(clients) as pool:
        return Timings.of(value for took in pool.map(one, range(clients)) for value in took)


def _recall(place: _Place, space: int, text: str) -> None:
    from django.utils import timezone

    from memory.recall import recall
    from memory.values import RecallQuery

    query = RecallQuery(text=text, namespace_ids=(place.namespace_ids[space],))
    recall(caller=place.caller, query=query, now=timezone.now())


def _bare(place: _Place, space: int, text: str) -> None:
    """Embed the question and ask for the nearest ten: what any vector search does at least."""
    from django.db import connection
    from pgvector import HalfVector

    from codemem import embedding

    vector = embedding.from_settings().embed([text], kind="query")[0]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM memory_memory WHERE namespace_id = %s AND state = 'active'"
            " ORDER BY embedding::halfvec(384) <=> %s::halfvec LIMIT 10",
            [place.namespace_ids[space], HalfVector(vector).to_text()],
        )
        cursor.fetchall()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
