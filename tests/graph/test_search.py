from collections.abc import Sequence
from typing import Any

import pytest
from django.db import connection

from graph import indexes, search, services
from graph.models import Repository, SymbolVersion
from graph.search import Mode, QueryVector
from graph.values import NodeKind
from tests.factories import make_namespace, make_repository, snapshot, symbol_fact

pytestmark = pytest.mark.django_db

MODEL = "model-1"


def unit(axis: int) -> list[float]:
    return [1.0 if position == axis else 0.0 for position in range(384)]


@pytest.fixture(params=["bm25", "full text"])
def words_index(request, db):
    """Run a test with each kind of index."""
    if request.param == "full text":
        with connection.cursor() as cursor:
            cursor.execute(f"DROP INDEX IF EXISTS {indexes.WORDS_INDEX}")
    elif not indexes.has_bm25_index():
        pytest.skip("This server has no BM25.")
    return request.param


@pytest.fixture
def library(repository):
    """Return a repository of four symbols, each with a vector along an axis of its own."""
    symbols = [
        symbol_fact("src/cache.py", "evict_oldest", doc="Drop the entry nobody used for longest."),
        symbol_fact("src/cache.py", "Cache", kind=NodeKind.CLASS, doc="Keeps entries.", line=20),
        symbol_fact("src/mail.ts", "sendMail", doc="Send a message.", language="typescript"),
        symbol_fact("tests/test_cache.py", "test_evict", doc="Evict the oldest entry."),
    ]
    put(repository, *symbols)
    for axis, symbol in enumerate(symbols):
        give_vector(repository, symbol.qualified_name, unit(axis))
    return repository


def put(repository: Repository, *symbols: Any) -> None:
    wanted = snapshot(*symbols)
    services.put(repository_id=repository.pk, ref_name="main", snapshot=wanted)


def give_vector(repository: Repository, name: str, vector: Sequence[float]) -> None:
    version = SymbolVersion.objects.get(repository=repository, symbol__qualified_name=name)
    services.store_symbol_embeddings(
        vectors={bytes(version.embedding_digest): vector}, fingerprint=MODEL
    )


def found(repository: Repository, query: str, mode: Mode = Mode.TEXT, **changes: Any) -> list[str]:
    arguments: dict[str, Any] = {"embedded": None, "repository_ids": [repository.pk]}
    hits = search.search_symbols(query=query, mode=mode, **(arguments | changes))
    return [hit.node.local_name for hit in hits]


def test_equally_good_symbols_come_in_the_order_of_their_names(words_index, repository):
    # Known from the last to the first, as by pushes that brought one after the other.
    names = [f"parse_{letter}" for letter in "edcba"]
    for count in range(1, len(names) + 1):
        put(repository, *(symbol_fact("src/parse.py", name) for name in names[:count]))

    assert found(repository, "parse") == sorted(names)


def test_words_find_symbols_by_name_and_documentation(library, words_index):
    assert set(found(library, "evict the oldest")[:2]) == {"evict_oldest", "test_evict"}
    assert found(library, "message") == ["sendMail"]
    assert found(library, "mail") == ["sendMail"]
    assert found(library, "nothing of the kind") == []
    assert found(library, "the of and") == []


def test_a_symbol_that_is_named_goes_first(library, words_index):
    assert found(library, "Cache")[0] == "Cache"
    assert found(library, "what does `evict_oldest` do to a Cache entry")[0] == "evict_oldest"
    assert found(library, "src.mail.sendMail")[0] == "sendMail"


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"kind": NodeKind.CLASS}, {"Cache"}),
        ({"language": "typescript"}, set()),
        ({"path_prefix": "tests/"}, {"test_evict"}),
        ({"path_prefix": "./tests/"}, {"test_evict"}),
        ({"limit": 1}, {"Cache"}),
    ],
)
def test_filters_hold_for_words_and_names(library, words_index, filters, expected):
    assert set(found(library, "cache entry", **filters)) <= (expected or set())
    assert len(found(library, "cache", **filters)) == len(expected)


def test_a_filtered_search_finds_what_stands_behind_many_better_matches(repository, words_index):
    many = [symbol_fact("a.py", f"parse_{n}", doc="parse", line=n) for n in range(200)]
    put(repository, *many, symbol_fact("z/b.py", "read", doc="may parse a long line of words"))

    assert found(repository, "parse", path_prefix="z/") == ["read"]


def test_meaning_finds_the_nearest_vectors(library):
    near_mail = [0.1, 0.0, 0.9, *[0.0] * 381]
    hits = search.search_symbols(
        repository_ids=[library.pk],
        query="anything",
        mode=Mode.SEMANTIC,
        embedded=QueryVector(near_mail, MODEL),
        limit=2,
    )

    assert [hit.node.local_name for hit in hits] == ["sendMail", "evict_oldest"]
    assert hits[0].score == pytest.approx(0.9938, abs=0.001)


def test_vectors_of_another_model_are_not_compared(library):
    other = QueryVector(unit(0), "model-2")

    assert found(library, "x", Mode.SEMANTIC, embedded=other) == []


@pytest.mark.parametrize(
    "filters", [{"kind": NodeKind.CLASS}, {"path_prefix": "src/c", "limit": 1}]
)
def test_filters_hold_for_meaning(library, filters):
    vector = QueryVector([0.2, 0.9, 0.3, 0.3, *[0.0] * 380], MODEL)

    assert found(library, "x", Mode.SEMANTIC, embedded=vector, **filters) == ["Cache"]


def test_both_together_put_first_what_both_find(library, words_index):
    vector = QueryVector([0.8, 0.0, 0.6, *[0.0] * 381], MODEL)

    assert found(library, "the oldest entry", Mode.HYBRID, embedded=vector)[0] == "evict_oldest"
    assert "sendMail" in found(library, "the oldest entry", Mode.HYBRID, embedded=vector)


def test_a_search_by_meaning_needs_a_vector(library):
    with pytest.raises(ValueError, match="needs the vector"):
        found(library, "x", Mode.HYBRID)


def test_nothing_is_found_outside_the_given_repositories(library, words_index):
    other = make_repository(make_namespace())
    put(other, symbol_fact("other.py", "elsewhere", doc="oldest entry"))
    vector = QueryVector(unit(0), MODEL)

    for mode in Mode:
        hits = found(other, "evict_oldest entry", mode, embedded=vector)
        assert set(hits) <= {"elsewhere"}
        nowhere = found(other, "evict_oldest", mode, embedded=vector, repository_ids=[])
        assert nowhere == []


def test_what_was_removed_is_not_found(library, words_index):
    services.put(repository_id=library.pk, ref_name="main", snapshot=snapshot(files=[], at=2_000))

    for mode in Mode:
        assert found(library, "sendMail", mode, embedded=QueryVector(unit(2), MODEL)) == []


def test_a_server_has_one_index_for_words(words_index):
    indexes.ensure_words_index()
    indexes.ensure_words_index()

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexname FROM pg_indexes WHERE tablename = 'graph_symbolversion'"
            " AND indexdef LIKE '%%(tokens)%%' OR indexdef LIKE '%%, tokens)%%'"
        )
        assert len(cursor.fetchall()) == 1
