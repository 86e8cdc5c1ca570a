"""The index that searches by words read: BM25 where the server has it, stock full text elsewhere.

Made after migrations rather than by one, because it depends on the server's extensions, which may
come later. A new kind of index takes the place of the old one.
"""

from typing import Final

from django.db import connection

WORDS_INDEX: Final = "graph_symbol_version_bm25"
_FALLBACK_INDEX: Final = "graph_symbol_version_words"

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
        cursor.execute("SELECT EXISTS (SELECT FROM pg_am WHERE amname = 'bm25')")
        if cursor.fetchone()[0]:
            cursor.execute(_BM25)
            cursor.execute(f"DROP INDEX IF EXISTS {_FALLBACK_INDEX}")
        else:
            cursor.execute(_FULL_TEXT.replace("CREATE INDEX", "CREATE INDEX IF NOT EXISTS"))


def has_bm25_index() -> bool:
    """Tell whether searches can use BM25. One query."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [f"public.{WORDS_INDEX}"])
        return bool(cursor.fetchone()[0])
