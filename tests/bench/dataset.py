"""The data that the figures are about: made once, kept for the next run, made anew when stale.

One namespace has the code base (eight repositories) and most memories, four more have some
memories each.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain, repeat
from pathlib import Path
from time import perf_counter
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone
from pgvector.psycopg import register_vector

from codemem import embedding
from codemem.accounts import services as accounts
from codemem.accounts.models import Namespace, User
from codemem.accounts.values import Caller
from graph import cypher
from graph import services as graph
from graph.models import Ref, Repository, Revision, SourceFile, Symbol
from memory.indexes import ensure_vector_indexes
from tests.bench.code_graph import REPOSITORY_SHARES, CodeGraph, make_code_graph
from tests.bench.code_rows import LoadedCode, analyze, copy_code
from tests.bench.memory_rows import copy_memories

NAMESPACE: Final = "bench"
_SMALL_NAMESPACES: Final = 4
_SMALL_SHARE: Final = 0.2  # of the large namespace's memories, in the small ones together
_USER: Final = "bench"
_BRANCH: Final = "main"


class DatabaseInUse(Exception):
    """The database holds what this did not make: it would be deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    symbols: int
    edges: int
    memories: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """The loaded data and who asks about it."""

    code: CodeGraph
    loaded: LoadedCode
    namespace_ids: tuple[UUID, ...]
    repository_names: tuple[str, ...]
    caller: Caller
    token: str
    load_seconds: dict[str, float]

    @property
    def namespace_id(self) -> UUID:
        return self.namespace_ids[0]

    @property
    def graph(self) -> str:
        return cypher.graph_name(self.namespace_id)


def ensure_dataset(sizes: Sizes, *, say: Callable[[str], None]) -> Dataset:
    """Return the data, loaded if it is not there; `say` gets a line for every step.

    Raise DatabaseInUse when the database holds other namespaces.
    """
    code = make_code_graph(symbols=sizes.symbols, edges=sizes.edges)
    seconds: dict[str, float] = {}
    fingerprint = _fingerprint(sizes)
    if not Namespace.objects.filter(name=NAMESPACE, description=fingerprint).exists():
        _refuse_other_data()
        _load(code, sizes, fingerprint, _Steps(say=say, seconds=seconds))
    return _found(code, seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Steps:
    say: Callable[[str], None]
    seconds: dict[str, float]

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        started = perf_counter()
        yield
        self.seconds[name] = round(perf_counter() - started, 1)
        self.say(f"{name}: {self.seconds[name]} s")


def _refuse_other_data() -> None:
    foreign = Namespace.objects.exclude(name__startswith=NAMESPACE).values_list("name", flat=True)
    if foreign:
        raise DatabaseInUse(
            f"This database holds the namespace {foreign[0]!r}: give the benchmark its own."
        )


def _load(code: CodeGraph, sizes: Sizes, fingerprint: str, steps: _Steps) -> None:
    connection.ensure_connection()
    register_vector(connection.connection)
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        # Lost work is no loss here, and nobody else waits for this disk.
        cursor.execute("SET synchronous_commit = off")
        with steps.step("old data deleted"):
            _delete_everything(cursor)
        user = accounts.create_user(username=_USER, actor=_USER)
        namespaces = [
            accounts.create_namespace(name=name, owner=user, actor=_USER)
            for name in (NAMESPACE, *(f"{NAMESPACE}-{n + 1}" for n in range(_SMALL_NAMESPACES)))
        ]
        large = namespaces[0]
        with steps.step("code copied"), transaction.atomic():
            loaded = _copy_code(cursor, code, large, user)
        with steps.step("memories copied"), transaction.atomic():
            _copy_memories(
                cursor, count=sizes.memories, namespaces=namespaces, loaded=loaded, user=user
            )
        with steps.step("statistics gathered"):
            analyze(cursor, graph=cypher.graph_name(large.pk))
        with steps.step("nodes ranked"):
            for repository_id in loaded.repository_ids:
                graph.rank_repository(repository_id=repository_id)
            cursor.execute("VACUUM (ANALYZE) graph_nodescore")
        with steps.step("search indexes built"):
            ensure_vector_indexes()
            cursor.execute("VACUUM (ANALYZE) memory_memory")
        cursor.execute("RESET statement_timeout")
    # Said last: data without this is unfinished.
    Namespace.objects.filter(pk=large.pk).update(description=fingerprint)


def _copy_code(cursor: Any, code: CodeGraph, namespace: Namespace, user: User) -> LoadedCode:
    repositories = [
        graph.register_repository(
            namespace=namespace,
            name=f"service-{number + 1}",
            url=f"https://git.example.com/bench/service-{number + 1}.git",
            created_by=user,
            default_branch=_BRANCH,
        )
        for number in range(len(REPOSITORY_SHARES))
    ]
    Ref.objects.bulk_create(_indexed(repository) for repository in repositories)
    return copy_code(
        cursor,
        code=code,
        graph=cypher.graph_name(namespace.pk),
        repository_ids=[repository.pk for repository in repositories],
    )


def _indexed(repository: Repository) -> Ref:
    now = timezone.now()
    commit = hashlib.sha1(repository.name.encode()).hexdigest()
    return Ref(
        repository=repository,
        name=_BRANCH,
        head_commit=commit,
        head_seen_at=now,
        indexed_commit=commit,
        indexed_at=now,
        commits_behind=0,
    )


def _copy_memories(
    cursor: Any, *, count: int, namespaces: Sequence[Namespace], loaded: LoadedCode, user: User
) -> None:
    """Copy `count` memories into the first namespace and a share of it into the others."""
    provider = embedding.from_settings()
    small = int(count * _SMALL_SHARE / (len(namespaces) - 1))
    start = 0
    for namespace, size in zip(namespaces, chain([count], repeat(small)), strict=False):
        copy_memories(
            cursor,
            numbers=range(start, start + size),
            namespace_id=namespace.pk,
            author=user,
            provider=provider,
            code=loaded if start == 0 else None,
        )
        start += size


def _delete_everything(cursor: Any) -> None:
    for namespace in Namespace.objects.all():
        cypher.drop_graph(namespace.pk)
    cursor.execute("TRUNCATE accounts_namespace, accounts_user CASCADE")


def _found(code: CodeGraph, load_seconds: dict[str, float]) -> Dataset:
    user = User.objects.get(username=_USER)
    namespaces = Namespace.objects.order_by("name")
    repositories = Repository.objects.filter(namespace__name=NAMESPACE).order_by("name")
    token = accounts.issue_token(
        user=user,
        name="bench",
        actor=user,
        now=timezone.now(),
        expires_at=timezone.now() + timedelta(hours=6),
    )
    loaded = LoadedCode(
        repository_ids=tuple(repository.pk for repository in repositories),
        revision=Revision.objects.latest("pk").pk,
        symbol_ids=_range(Symbol.objects.earliest("pk").pk, code.symbol_count),
        file_ids=_range(SourceFile.objects.earliest("pk").pk, code.file_count),
    )
    return Dataset(
        code=code,
        loaded=loaded,
        namespace_ids=tuple(namespace.pk for namespace in namespaces),
        repository_names=tuple(repository.name for repository in repositories),
        caller=accounts.authenticate_token(secret=token.secret, now=timezone.now(), ip=None),
        token=token.secret,
        load_seconds=load_seconds,
    )


def _range(first: int, count: int) -> range:
    return range(first, first + count)


def _fingerprint(sizes: Sizes) -> str:
    """Return what the data depends on: the sizes and how it is made."""
    digest = hashlib.sha256(repr(sizes).encode())
    for path in sorted(Path(__file__).parent / f"{name}.py" for name in _MADE_BY):
        digest.update(path.read_bytes())
    return digest.hexdigest()


_MADE_BY: Final = ("code_graph", "code_rows", "dataset", "memories", "memory_rows", "vocabulary")
