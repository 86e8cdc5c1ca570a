"""Search over the symbols that a view shows: by words, by meaning, or both fused.

Every generator applies all filters inside its own query, before its limit. The query's vector is an
argument: which provider makes vectors is the caller's business.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction
from psycopg import sql

from codemem.words import identifiers, query_terms, to_or_tsquery
from graph.indexes import WORDS_INDEX, has_bm25_index, with_vectors_index
from graph.queries.nodes import symbols_by_key
from graph.queries.seen import is_seen, view_parameters
from graph.statements import statements
from graph.values import LIVE, Node, NodeKind, View

# Reciprocal rank fusion (Cormack, Clarke, Büttcher 2009) with a small constant: lists are short and
# their heads are what matters.
_FUSION_CONSTANT: Final = 15
_CANDIDATES_FOR_EACH_SHOWN: Final = 3
_FEWEST_CANDIDATES: Final = 50
_MOST_NAMES: Final = 10


class Mode(StrEnum):
    """What the question is compared by."""

    SEMANTIC = "semantic"
    TEXT = "text"
    HYBRID = "hybrid"


@dataclass(frozen=True, slots=True)
class QueryVector:
    """The embedded question (unit length) and the model that embedded it."""

    vector: Sequence[float]
    fingerprint: str


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A symbol and its score: cosine similarity in semantic mode, else fused ranks.

    The score orders the hits of one answer; in text and hybrid mode it says nothing across answers.
    """

    node: Node
    score: float


def search_symbols(
    *,
    repository_ids: Collection[UUID],
    query: str,
    mode: Mode,
    embedded: QueryVector | None,
    kind: NodeKind | None = None,
    language: str | None = None,
    path_prefix: str | None = None,
    limit: int = 10,
    view: View = LIVE,
) -> list[SearchHit]:
    """Return the symbols that answer a question best.

    A symbol that the question calls by its name goes ahead of others, except in semantic mode.
    Raise ValueError when the mode needs a vector and there is none. Four queries at most.
    """
    if embedded is None and mode is not Mode.TEXT:
        raise ValueError(f"A {mode} search needs the vector of its question.")
    if not repository_ids:
        return []
    candidates = max(_FEWEST_CANDIDATES, limit * _CANDIDATES_FOR_EACH_SHOWN)
    filters: dict[str, Any] = {
        "repositories": list(repository_ids),
        "kind": kind.value if kind else None,
        "language": language,
        "prefix": (path_prefix or "").removeprefix("./"),
        "limit": limit if mode is Mode.SEMANTIC else candidates,
    }
    by_meaning = _by_meaning(embedded, filters, view) if embedded and mode is not Mode.TEXT else {}
    if mode is Mode.SEMANTIC:
        return _hits(by_meaning, view)
    lists = [_by_name(query, filters, view), _by_words(query, filters, view), by_meaning]
    scores = _fused(lists)
    # Of equal scores, in the order in which they were found: by name, then by words.
    best = sorted(scores, key=lambda key: -scores[key])[:limit]
    return _hits({key: scores[key] for key in best}, view)


def candidates(
    query: str, embedded: QueryVector | None, filters: dict[str, Any], view: View
) -> tuple[dict[int, float], dict[int, float]]:
    """Return symbols with their scores by words and by meaning, best first, to fuse otherwise."""
    by_meaning = _by_meaning(embedded, filters, view) if embedded else {}
    return _by_words(query, filters, view), by_meaning


def _by_name(query: str, filters: dict[str, Any], view: View) -> dict[int, float]:
    """Return the symbols that the question names exactly: `save`, `User.save`, `app.User.save`."""
    names = [name.replace("::", ".") for name in identifiers(query)]
    if len(query.split()) == 1:
        names.append(query.strip().removesuffix("()"))
    if not names:
        return {}
    names = list(dict.fromkeys(names))[:_MOST_NAMES]
    return _found("by_name", filters | {"names": names}, view)


def _by_words(query: str, filters: dict[str, Any], view: View) -> dict[int, float]:
    terms = query_terms(query)
    if not terms:
        return {}
    if has_bm25_index():
        question = {"words": " ".join(terms), "index": WORDS_INDEX}
        found = _found("by_words_bm25", filters | question, view)
        # Where the planner reads another index, symbols without any of the words come last.
        return {key: score for key, score in found.items() if score > 0}
    return _found("by_words", filters | {"question": to_or_tsquery(terms)}, view)


def _by_meaning(embedded: QueryVector, filters: dict[str, Any], view: View) -> dict[int, float]:
    vector = f"[{','.join(str(float(number)) for number in embedded.vector)}]"
    question = {
        "vector": vector,
        "dimensions": len(embedded.vector),
        "fingerprint": embedded.fingerprint,
    }
    # An overlay's base is not all live: its searches scan.
    indexed = (
        with_vectors_index(filters["repositories"], fingerprint=embedded.fingerprint)
        if view.is_live
        else []
    )
    found = [_nearest(filters | question, repository_id) for repository_id in indexed]
    others = [one for one in filters["repositories"] if one not in indexed]
    if others:
        # Exact: 8 ms for each 1,000 symbols, on a busy machine.
        found.append(_found("by_meaning", filters | question | {"repositories": others}, view))
    scores = [pair for scored in found for pair in scored.items()]
    best = sorted(scores, key=lambda pair: -pair[1])
    return dict(best[: filters["limit"]])


def _nearest(parameters: dict[str, Any], repository_id: UUID) -> dict[int, float]:
    """Return what one repository's vector index finds nearest."""
    statement = sql.SQL(statements("search")["by_meaning_indexed"]).format(
        repository=sql.Literal(repository_id), dimensions=sql.Literal(parameters["dimensions"])
    )
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('hnsw.ef_search', '100', true),"
            " set_config('hnsw.iterative_scan', 'relaxed_order', true)"
        )
        cursor.execute(statement, parameters)
        return dict(cursor.fetchall())


def _found(name: str, parameters: dict[str, Any], view: View) -> dict[int, float]:
    """Return symbol key -> score, best first."""
    statement = sql.SQL(statements("search")[name]).format(seen=is_seen(view=view, table="version"))
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters | view_parameters(view))
        return dict(cursor.fetchall())


def _fused(lists: Iterable[Mapping[int, float]]) -> dict[int, float]:
    scores: dict[int, float] = {}
    for ranked in lists:
        for position, key in enumerate(ranked, start=1):
            scores[key] = scores.get(key, 0.0) + 1 / (_FUSION_CONSTANT + position)
    return scores


def _hits(scores: Mapping[int, float], view: View) -> list[SearchHit]:
    nodes = symbols_by_key(keys=scores, view=view)
    return [SearchHit(nodes[key], score) for key, score in scores.items() if key in nodes]
