"""The indexes that searches read, made beside the migrations.

By words: BM25 where the server has it, stock full text elsewhere. Made after migrations rather than
by one, because it depends on the server's extensions, which may come later; a new kind of index
takes the place of the old one.

By meaning: small repositories are scanned exactly and need none. A large one has an index of its
own, so that its searches see its rows only: filtering after a shared index would leave a small
repository beside a huge one without answers.
"""

from collections.abc import Collection
from typing import Final
from uuid import UUID

from django.db import connection
from django.db.models import Count
from psycopg import sql

from codemem.postgres import indexes
from graph.models import DEFAULT_LAYER, SymbolVersion

WORDS_INDEX: Final = "graph_symbol_version_bm25"
_FALLBACK_INDEX: Final = "graph_symbol_version_words"

INDEXED_FROM_SYMBOLS: Final = 5_000
"""A search of 56,000 vectors took 430 ms by an exact scan and 24 by index, on a busy machine."""

_VECTORS: Final = "graph_vectors_"
_LOCK: Final = "graph.vector_indexes"
_LIVE: Final = "WHERE valid_to IS NULL"
_BM25: Final = (
    f"CREATE INDEX {WORDS_INDEX} ON graph_symbolversion"
    f" USING bm25 (tokens) WITH (text_config = 'simple') {_LIVE}"
)
_FULL_TEXT: Final = (
    f"CREATE INDEX {_FALLBACK_INDEX} ON graph_symbolversion"
    f" USING gin (to_tsvector('simple', tokens)) {_LIVE}"
)


def ensure_words_index() -> None:
    """Make the index that this server can serve, unless it is there; writes wait meanwhile."""
    if has_bm25_index():
        return
    with connection.cursor() as cursor:
        if indexes.serves_bm25():
            cursor.execute(_BM25)
            cursor.execute(f"DROP INDEX IF EXISTS {_FALLBACK_INDEX}")
        else:
            cursor.execute(_FULL_TEXT.replace("CREATE INDEX", "CREATE INDEX IF NOT EXISTS"))


def has_bm25_index() -> bool:
    """Tell whether searches can use BM25. One query."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [f"public.{WORDS_INDEX}"])
        return bool(cursor.fetchone()[0])


def vectors_index(repository_id: UUID) -> str:
    return f"{_VECTORS}{repository_id.hex}"


def with_vectors_index(repository_ids: Collection[UUID]) -> list[UUID]:
    """Return those of some repositories whose vector index is built and valid. One query."""
    names = {vectors_index(repository_id): repository_id for repository_id in repository_ids}
    return [names[name] for name in indexes.standing(names)]


def ensure_vector_indexes(*, from_symbols: int = INDEXED_FROM_SYMBOLS) -> list[str]:
    """Build what large repositories lack, one after the other, and return the new indexes' names.

    Runs outside a transaction. Safe to run twice and to kill: what a killed build left is dropped.
    """
    with indexes.building(_LOCK) as is_alone:
        if not is_alone:
            return []
        indexes.drop(_broken())
        large = _large(from_symbols)
        standing = set(with_vectors_index(large))
        return [_build(repository_id) for repository_id in large if repository_id not in standing]


def _large(from_symbols: int) -> list[UUID]:
    rows = (
        SymbolVersion.objects.filter(
            layer=DEFAULT_LAYER, valid_to=None, embedding_fingerprint__gt=""
        )
        .order_by("repository_id")
        .values("repository_id")
        .annotate(held=Count("pk"))
        .filter(held__gte=from_symbols)
    )
    return [row["repository_id"] for row in rows]


def _build(repository_id: UUID) -> str:
    # The repository is a literal, as a partial index demands.
    return indexes.build(
        vectors_index(repository_id),
        table="graph_symbolversion",
        using=sql.SQL(
            "USING hnsw (embedding halfvec_cosine_ops) WITH (m = 16, ef_construction = 64)"
            " WHERE repository_id = {} AND layer = 0 AND valid_to IS NULL"
        ).format(sql.Literal(str(repository_id))),
    )


def _broken() -> list[str]:
    """Return what killed builds left, and what belongs to repositories that are gone."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class JOIN pg_index ON indexrelid = pg_class.oid"
            " WHERE indrelid = 'graph_symbolversion'::regclass AND starts_with(relname, %s)"
            " AND (NOT indisvalid OR NOT EXISTS (SELECT FROM graph_repository repository"
            "  WHERE relname = %s || replace(repository.id::text, '-', '')))",
            [_VECTORS, _VECTORS],
        )
        return [name for (name,) in cursor.fetchall()]
