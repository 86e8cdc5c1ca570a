"""The indexes that searches read, made beside the migrations.

By words: BM25 where the server has it, stock full text elsewhere. Made after migrations rather than
by one, because it depends on the server's extensions, which may come later; a new kind of index
takes the place of the old one.

By meaning: small repositories are scanned exactly and need none. A large one has an index of its
own, so that its searches see its rows only: filtering after a shared index would leave a small
repository beside a huge one without answers. An index holds the vectors of one model, which alone
have one length and compare with each other.
"""

import hashlib
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


def vectors_index(repository_id: UUID, *, fingerprint: str) -> str:
    """Return the name of a repository's index of one model's vectors."""
    model = hashlib.sha256(fingerprint.encode()).hexdigest()[:8]
    return f"{_VECTORS}{repository_id.hex}_{model}"


def with_vectors_index(repository_ids: Collection[UUID], *, fingerprint: str) -> list[UUID]:
    """Return those of some repositories whose index of a model is built and valid. One query."""
    names = {
        vectors_index(repository_id, fingerprint=fingerprint): repository_id
        for repository_id in repository_ids
    }
    return [names[name] for name in indexes.standing(names)]


def ensure_vector_indexes(*, from_symbols: int = INDEXED_FROM_SYMBOLS) -> list[str]:
    """Build what large repositories lack, one after the other, and return the new indexes' names.

    Runs outside a transaction. Safe to run twice and to kill: what a killed build left is dropped.
    """
    with indexes.building(_LOCK) as is_alone:
        if not is_alone:
            return []
        held = _held()
        indexes.drop(_useless(kept={vectors_index(key, fingerprint=model) for key, model in held}))
        large = [pair for pair, symbols in held.items() if symbols >= from_symbols]
        present = indexes.standing(vectors_index(key, fingerprint=model) for key, model in large)
        return [
            _build(repository_id, fingerprint)
            for repository_id, fingerprint in large
            if vectors_index(repository_id, fingerprint=fingerprint) not in present
        ]


def _held() -> dict[tuple[UUID, str], int]:
    """Return how many live symbols each repository has with vectors of each model."""
    rows = (
        SymbolVersion.objects.filter(
            layer=DEFAULT_LAYER, valid_to=None, embedding_fingerprint__gt=""
        )
        .order_by("repository_id", "embedding_fingerprint")
        .values_list("repository_id", "embedding_fingerprint")
        .annotate(held=Count("pk"))
    )
    return {(repository_id, fingerprint): held for repository_id, fingerprint, held in rows}


def _build(repository_id: UUID, fingerprint: str) -> str:
    # Repository and model are literals, as a partial index demands.
    return indexes.build(
        vectors_index(repository_id, fingerprint=fingerprint),
        table="graph_symbolversion",
        using=sql.SQL(
            "USING hnsw ((embedding::halfvec({})) halfvec_cosine_ops)"
            " WITH (m = 16, ef_construction = 64)"
            " WHERE repository_id = {} AND layer = 0 AND valid_to IS NULL"
            " AND embedding_fingerprint = {}"
        ).format(
            sql.Literal(_dimensions(repository_id, fingerprint)),
            sql.Literal(str(repository_id)),
            sql.Literal(fingerprint),
        ),
    )


def _dimensions(repository_id: UUID, fingerprint: str) -> int:
    """Return the length of a model's vectors, as any row of the repository has it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT vector_dims(embedding) FROM graph_symbolversion"
            " WHERE repository_id = %s AND layer = 0 AND valid_to IS NULL"
            " AND embedding_fingerprint = %s AND embedding IS NOT NULL LIMIT 1",
            [repository_id, fingerprint],
        )
        return int(cursor.fetchone()[0])


def _useless(*, kept: Collection[str]) -> list[str]:
    """Return what killed builds left, and what is of repositories or models that are gone."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, indisvalid FROM pg_class JOIN pg_index ON indexrelid = pg_class.oid"
            " WHERE indrelid = 'graph_symbolversion'::regclass AND starts_with(relname, %s)",
            [_VECTORS],
        )
        return [name for name, is_valid in cursor.fetchall() if not is_valid or name not in kept]
