"""Fifty namespaces full of memories, with what recall reads beside them: contexts, words, links.

Several processes load and index at once, as many as there are cores: a million memories take a
quarter of an hour on two.

Half of the memories stand in sessions among neighbors. The vectors of their words are the model's,
of each word alone, with noise: what random bits would give passes no floor, and the floor would
spare recall half of its work.
"""

import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache, partial
from time import perf_counter
from typing import Any, Final
from uuid import UUID

import numpy as np
from django.db import connection, transaction
from pgvector.psycopg import register_vector
from psycopg import sql

from codemem import embedding
from codemem.accounts import services as accounts
from codemem.accounts.models import Namespace, User
from codemem.embedding import Provider
from codemem.embedding.words import word_model
from codemem.words import tokens_text
from graph import cypher
from graph.values import LINK_LABEL, VertexLabel, graph_id
from memory import wordwise
from memory.context import context_fingerprint
from memory.indexes import lacking
from memory.models import Memory
from memory.values import RelationshipKind
from tests.bench.copying import copy_lines, copy_rows
from tests.bench.measuring import set_up
from tests.bench.memory_rows import copy_memories

_USER: Final = "bench"
_PREFIX: Final = "bench-"
_SESSION: Final = 20
_AROUND: Final = 3
_BEFORE, _AFTER = 2, 1
_SPELLINGS: Final = 8  # how differently the same word lies in different texts
_NOISE: Final = 0.6
_LINKED_EVERY: Final = 3
_SEED: Final = 3
_SAID_EVERY: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the memories are, and whose they are."""

    memories: int
    user_id: int
    namespace_ids: tuple[UUID, ...]
    names: tuple[str, ...]


def place(*, memories: int, namespaces: int) -> Place:
    """Return the loaded database; load it when it is empty."""
    if not Namespace.objects.filter(name__startswith=_PREFIX).exists():
        _load(memories, namespaces)
    user = User.objects.get(username=_USER)
    found = list(
        Namespace.objects.filter(name__startswith=_PREFIX)
        .order_by("name")
        .values_list("pk", "name")
    )
    return Place(
        memories=Memory.objects.count(),
        user_id=user.pk,
        namespace_ids=tuple(key for key, _ in found),
        names=tuple(name for _, name in found),
    )


def _load(memories: int, namespaces: int) -> None:
    user = accounts.create_user(username=_USER, actor=_USER)
    spaces = [
        accounts.create_namespace(name=f"{_PREFIX}{number:02d}", owner=user, actor=_USER).pk
        for number in range(namespaces)
    ]
    each = memories // namespaces
    fill = partial(_fill, user_id=user.pk, each=each)
    _in_processes("namespaces filled", fill, list(enumerate(spaces)))
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        cursor.execute("VACUUM (ANALYZE) memory_memory")
        cursor.execute("VACUUM (ANALYZE) memory_memorycontext")
    made = [(one.table, one.name, one.using.as_string(None)) for one in lacking()]
    # The slow ones first, so that no process is left alone with one of them.
    made.sort(key=lambda one: "hnsw" not in one[2])
    _in_processes("search indexes built", _index, made)


def _in_processes(what: str, work: Callable[[Any], None], items: Sequence[Any]) -> None:
    """Do some work for each item, and say now and then how far it is."""
    if not items:
        return
    started = perf_counter()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=context, initializer=set_up) as pool:
        waiting = [pool.submit(work, item) for item in items]
        for done, job in enumerate(as_completed(waiting), 1):
            job.result()
            if done % _SAID_EVERY == 0 or done == len(items):
                _say(f"{done:,} of {len(items):,} {what} after {perf_counter() - started:.0f} s")


def _fill(place: tuple[int, UUID], *, user_id: int, each: int) -> None:
    number, namespace_id = place
    user = User.objects.get(pk=user_id)
    register_vector(connection.connection)
    provider = embedding.in_background()
    numbers = range(number * each, (number + 1) * each)
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        cursor.execute("SET synchronous_commit = off")
        with transaction.atomic():
            copy_memories(
                cursor, numbers=numbers, namespace_id=namespace_id, author=user, provider=provider
            )
            _copy_beside(cursor, namespace_id, _words(), context_fingerprint(provider))


def _index(definition: tuple[str, str, str]) -> None:
    """Build an index at once: nobody writes meanwhile, for whom it would take two scans."""
    table, name, using = definition
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        # One index on each core is more than one on all of them.
        cursor.execute("SET max_parallel_maintenance_workers = 0")
        cursor.execute(f'CREATE INDEX "{name}" ON {table} {using}'.replace("%", "%%"))


def _copy_beside(cursor: Any, namespace_id: UUID, words: "_Words", fingerprint: str) -> None:
    rows = list(
        Memory.objects.filter(namespace_id=namespace_id)
        .order_by("number")
        .values_list("pk", "number", "content")
    )
    columns = ("memory_id", "namespace_id", "around", "before", "tokens", "words", "fingerprint")
    contexts = (
        (key, namespace_id, *_window(rows, at), words.packed(content), fingerprint)
        for at, (key, _, content) in enumerate(rows)
    )
    copy_rows(cursor, "memory_memorycontext", columns, contexts)
    copy_lines(
        cursor,
        sql.Identifier(cypher.graph_name(namespace_id), LINK_LABEL),
        ("start_id", "end_id", "properties"),
        _link_lines([number for _, number, _ in rows]),
    )


def _window(rows: Sequence[tuple[UUID, int, str]], at: int) -> tuple[list[UUID], int, str]:
    """Return who stands around a memory, how many before it, and the words of the nearest.

    Nothing for every other session.
    """
    session = at // _SESSION
    if session % 2:
        return [], 0, ""
    near = [
        place
        for place in range(at - _AROUND, at + _AROUND + 1)
        if 0 <= place < len(rows) and place // _SESSION == session
    ]
    texts = [rows[place][2] for place in near if -_BEFORE <= place - at <= _AFTER] + [rows[at][2]]
    around = [rows[place][0] for place in near if place != at]
    return around, sum(place < at for place in near), tokens_text("\n".join(texts))


def _link_lines(numbers: Sequence[int]) -> Iterator[str]:
    random = np.random.default_rng(_SEED)
    for at in range(_LINKED_EVERY, len(numbers), _LINKED_EVERY):
        properties = cypher.agtype_text(
            {"kind": RelationshipKind.RELATES_TO, "w": 0.5, "by": _USER, "at": 0}
        )
        source, target = (
            graph_id(label=VertexLabel.MEMORY, key=number)
            for number in (numbers[at], numbers[int(random.integers(at))])
        )
        yield f"{source}\t{target}\t{properties}\n"


@cache
def _words() -> "_Words":
    return _Words(embedding.in_background())


class _Words:
    """The packed vectors of texts, put together from those of their words."""

    def __init__(self, provider: Provider) -> None:
        model = word_model(provider)
        assert model is not None, "the bench is about the bundled model"
        self._model = model
        self._random = np.random.default_rng(_SEED)
        self._known: dict[str, list[bytes]] = {}

    def packed(self, text: str) -> bytes:
        return b"".join(self._spelled(word) for word in text.split())

    def _spelled(self, word: str) -> bytes:
        # A number or a name is one of a few, or a million of them would be embedded.
        known = word if word.strip(".,:").isalpha() else f"word{len(word)}"
        if known not in self._known:
            self._known[known] = self._spellings(known)
        return self._known[known][int(self._random.integers(_SPELLINGS))]

    def _spellings(self, word: str) -> list[bytes]:
        values = self._model.embed_words([word])[0].values
        noise = self._random.standard_normal((_SPELLINGS, *values.shape), np.float32)
        noise *= _NOISE / np.sqrt(values.shape[1])
        return [wordwise.pack(values + some) for some in noise]


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
