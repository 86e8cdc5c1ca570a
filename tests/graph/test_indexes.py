"""Vector indexes of large repositories: built beside everything else, and searched like a scan."""

from uuid import UUID

import psycopg
import pytest
from django.db import connection

from graph import indexes, search, services
from graph.indexes import ensure_vector_indexes
from graph.models import Repository, SymbolVersion
from graph.search import Mode, QueryVector
from graph.values import NodeKind
from tests.factories import make_repository, snapshot, symbol_fact
from tests.graph.test_search import MODEL, unit

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def repositories(namespace):
    """Return two repositories: of five functions and of two, with a vector along an axis each."""
    made = make_repository(namespace), make_repository(namespace)
    for repository, count in zip(made, (5, 2), strict=True):
        symbols = [symbol_fact(f"src/f{n}.py", f"f{n}") for n in range(count)]
        services.put(repository_id=repository.pk, ref_name="main", snapshot=snapshot(*symbols))
        for axis, symbol in enumerate(symbols):
            version = SymbolVersion.objects.get(
                repository=repository, symbol__qualified_name=symbol.qualified_name
            )
            services.store_symbol_embeddings(
                vectors={bytes(version.embedding_digest): unit(axis)}, fingerprint=MODEL
            )
    yield made
    with connection.cursor() as cursor:
        for repository in made:
            for model in (MODEL, "long"):
                cursor.execute(f"DROP INDEX IF EXISTS {vectors_index(repository, model)}")


def vectors_index(repository: Repository, model: str = MODEL) -> str:
    return indexes.vectors_index(repository.pk, fingerprint=model)


def with_index(*repositories: Repository) -> list[UUID]:
    return indexes.with_vectors_index([one.pk for one in repositories], fingerprint=MODEL)


def nearest(*repositories: Repository, axis: int, **given) -> list[tuple[str, float]]:
    hits = search.search_symbols(
        repository_ids=[repository.pk for repository in repositories],
        query="",
        mode=Mode.SEMANTIC,
        embedded=QueryVector(vector=unit(axis), fingerprint=MODEL),
        **{"limit": 3, **given},
    )
    return [(hit.node.name, round(hit.score, 3)) for hit in hits]


def test_only_large_repositories_get_an_index_and_only_once(repositories):
    large, small = repositories
    assert ensure_vector_indexes(from_symbols=3) == [vectors_index(large)]
    assert with_index(large, small) == [large.pk]
    assert ensure_vector_indexes(from_symbols=3) == []


def test_an_index_finds_what_a_scan_finds(repositories):
    large, small = repositories
    before = [nearest(large, small, axis=axis) for axis in range(5)]
    ensure_vector_indexes(from_symbols=3)
    after = [nearest(large, small, axis=axis) for axis in range(5)]
    assert [found[0] for found in after] == [found[0] for found in before]
    assert after[1][:2] == [("f1", 1.0), ("f1", 1.0)]
    assert nearest(large, axis=4, path_prefix="src/f3") == [("f3", 0.0)]
    assert nearest(large, axis=4, kind=NodeKind.CLASS) == []


def test_the_planner_reads_the_index(repositories):
    large, _ = repositories
    ensure_vector_indexes(from_symbols=3)
    with connection.cursor() as cursor:
        cursor.execute("SET enable_seqscan = off; SET enable_sort = off")
        try:
            cursor.execute(
                "EXPLAIN SELECT id FROM graph_symbolversion version"
                f" WHERE repository_id = '{large.pk}' AND layer = 0 AND valid_to IS NULL"
                f" AND embedding_fingerprint = '{MODEL}'"
                " ORDER BY embedding::halfvec(384) <=> %s::halfvec LIMIT 3",
                [str(unit(1))],
            )
            plan = "\n".join(line for (line,) in cursor.fetchall())
        finally:
            cursor.execute("RESET enable_seqscan; RESET enable_sort")
    assert vectors_index(large) in plan


def test_an_index_without_a_repository_goes(repositories):
    large, _ = repositories
    ensure_vector_indexes(from_symbols=3)
    with connection.cursor() as cursor:
        cursor.execute("CREATE INDEX graph_vectors_0 ON graph_symbolversion (id)")
    ensure_vector_indexes(from_symbols=3)
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('graph_vectors_0') IS NULL")
        assert cursor.fetchone()[0]
    assert with_index(large) == [large.pk]


def test_models_of_different_lengths_live_side_by_side_and_are_never_compared(repositories):
    large, small = repositories
    ensure_vector_indexes(from_symbols=3)
    version = SymbolVersion.objects.filter(repository=large, symbol__name="f1").get()
    SymbolVersion.objects.filter(pk=version.pk).update(
        embedding=[1.0] + 511 * [0.0], embedding_fingerprint="long"
    )
    assert "f1" not in {name for name, _ in nearest(large, axis=1, limit=10)}
    hits = search.search_symbols(
        repository_ids=[large.pk],
        query="",
        mode=Mode.SEMANTIC,
        embedded=QueryVector(vector=[1.0] + 511 * [0.0], fingerprint="long"),
    )
    assert [(hit.node.name, hit.score) for hit in hits] == [("f1", 1.0)]
    assert ensure_vector_indexes(from_symbols=1) == [
        vectors_index(large, "long"),
        vectors_index(small),
    ]
    SymbolVersion.objects.filter(pk=version.pk).update(embedding=None, embedding_fingerprint="")
    ensure_vector_indexes(from_symbols=3)
    assert indexes.with_vectors_index([large.pk], fingerprint="long") == []


def test_one_process_builds_at_a_time(repositories, monkeypatch):
    large, _ = repositories
    monkeypatch.setattr(indexes, "_LOCK", "graph.vector_indexes.test")
    database = connection.settings_dict
    with psycopg.connect(
        host=database["HOST"],
        port=database["PORT"],
        dbname=database["NAME"],
        user=database["USER"],
        password=database["PASSWORD"],
    ) as other:
        other.execute("SELECT pg_advisory_lock(hashtextextended('graph.vector_indexes.test', 0))")
        assert ensure_vector_indexes(from_symbols=3) == []
        other.execute("SELECT pg_advisory_unlock_all()")
    assert ensure_vector_indexes(from_symbols=3) == [vectors_index(large)]
