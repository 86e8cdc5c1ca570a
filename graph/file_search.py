"""Where a change that a question describes would go: which files, and which symbols in them.

Witnesses are heard for a file: what its symbols are called and mean, the words of its text, commits
whose messages say something like the question and what they changed, how often it changes at all,
and what memories speak for. For a symbol, its file and the same of itself.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, TypeVar
from uuid import UUID

import numpy as np
from django.db import connection
from numpy.typing import NDArray
from psycopg import sql

from codemem.words import query_terms
from graph import search
from graph.file_words import FileWords, SeenFile, words_of
from graph.past_changes import PastChanges, Votes, past_changes
from graph.queries.nodes import symbols_by_key
from graph.queries.seen import is_seen, view_parameters
from graph.search import QueryVector
from graph.statements import statements
from graph.values import LIVE, Node, NodeKind, View

_Key = TypeVar("_Key")

_SYMBOLS: Final = 300
_MOST_FILES: Final = 120
_FILES_LOOKED_INTO: Final = 25
_SHOWN_COMMITS: Final = 3
_PLACE: Final = 15
_K1: Final = 1.2
_B: Final = 0.75
# Of symbols, long ones are long because much is in them to change.
_B_OF_SYMBOLS: Final = 0.3
_TEST: Final = "test"  # as `query_terms` gives it of "tests" and "testing"
# What holds code of its own; a field or variable changes with the class or function around it.
_HOLDERS: Final = frozenset(
    {
        *(NodeKind.FUNCTION, NodeKind.METHOD, NodeKind.CLASS, NodeKind.INTERFACE, NodeKind.ENUM),
        *(NodeKind.TYPE, NodeKind.MACRO, NodeKind.DOCUMENT),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Witnesses:
    """What speaks for a file, each 0..1 over the files that were looked at."""

    meaning: float = 0.0  # cosine of its nearest symbol
    words: float = 0.0  # BM25 of its best symbol
    text: float = 0.0  # BM25 of its whole text
    commits: float = 0.0  # votes of commits with a message like the question
    churn: float = 0.0  # how often it changed, recent changes counting more
    memories: float = 0.0  # votes of memories that answer the question, where the caller has them


# Set by hand before the first measurement, and kept: on encode/httpx a grid of 432 found .769 MRR
# at best where these have .759. `make bench-code-memory` reports the other repositories.
WEIGHTS: Final = Witnesses(meaning=1.0, words=0.7, text=1.0, commits=0.8, churn=0.4, memories=0.4)


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolWitnesses:
    """What speaks for a symbol, each 0..1 over the symbols that were looked at."""

    file: float = 0.0  # what speaks for its file
    meaning: float = 0.0  # cosine
    words: float = 0.0  # BM25 of its name, signature and documentation
    text: float = 0.0  # BM25 of all that it says, body and comments too
    commits: float = 0.0  # votes of commits with a message like the question
    churn: float = 0.0  # how often it changed, recent changes counting more
    size: float = 0.0  # logarithm of its lines: in much there is much to change
    source: float = 0.0  # 1 outside of tests, where the question speaks of none
    memories: float = 0.0  # votes of memories that answer the question, where the caller has them


_SYMBOL_WITNESSES: Final = tuple(one.name for one in fields(SymbolWitnesses))

# Fitted on encode/httpx and pallets/flask, and rounded; pallets/click was looked at once, and
# `make bench-code-memory` reports others. MRR of all of them (httpx, flask) .485, .527; without the
# file .469, .486, text .466, .421, meaning .463, .504, source .453, .497, commits .478, .494; churn
# and size within .02. Neighbors in the graph and a bonus for names spelled out added nothing.
SYMBOL_WEIGHTS: Final = SymbolWitnesses(
    file=1.0,
    meaning=1.2,
    words=0.2,
    text=1.2,
    commits=0.5,
    churn=0.4,
    size=0.3,
    source=0.5,
    memories=0.4,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What somebody else speaks for: keys of files and of symbols, with their votes."""

    files: Mapping[int, float] = field(default_factory=dict)
    symbols: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileHit:
    """A file, its score 0..1 within this answer, what spoke for it, and the commits that did."""

    path: str
    score: float
    witnesses: Witnesses
    commits: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolHit:
    """A symbol, its score 0..1 within this answer, and what spoke for it."""

    node: Node
    score: float
    witnesses: SymbolWitnesses


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where a change would go, the likeliest places first."""

    files: tuple[FileHit, ...] = ()
    symbols: tuple[SymbolHit, ...] = ()


def rank_places(
    *,
    repository_id: UUID,
    query: str,
    embedded: QueryVector | None,
    language: str | None = None,
    path_prefix: str | None = None,
    kind: NodeKind | None = None,
    files: int = 10,
    symbols: int = 0,
    told: Told | None = None,
    view: View = LIVE,
    weights: Witnesses = WEIGHTS,
    symbol_weights: SymbolWitnesses = SYMBOL_WEIGHTS,
) -> Places:
    """Return so many files and symbols that a change described by a question would likely touch.

    Symbols are those of the 25 likeliest files, and of `kind` if it is given. About ten queries,
    one more for symbols; the first question after a commit reads the messages of the newest 5,000.
    """
    filters = {
        "repositories": [repository_id],
        "kind": None,
        "language": language,
        "prefix": (path_prefix or "").removeprefix("./"),
        "limit": _SYMBOLS,
    }
    terms = query_terms(query)
    by_words, by_meaning = search.candidates(query, embedded, filters, view)
    if not by_meaning and not terms:
        return Places()
    past = past_changes(repository_id=repository_id)
    votes = past.votes(terms)
    told = told or Told()
    seen = _files(
        filters,
        view,
        symbols=[*by_words, *by_meaning],
        files=[*votes.files, *told.files, *past.most_changed_files(_MOST_FILES)],
    )
    known = _chosen(seen, [by_words, by_meaning], votes.files)
    words = words_of(known, filters, view)
    columns = {
        "meaning": _best_of(known, by_meaning),
        "words": _best_of(known, by_words),
        "text": _text_scores(terms, words),
        "commits": {path: votes.files.get(file.key, 0.0) for path, file in known.items()},
        "churn": {path: math.log1p(past.file_churn(file.key)) for path, file in known.items()},
        "memories": {path: told.files.get(file.key, 0.0) for path, file in known.items()},
    }
    ranked = _ranked(known, columns, weights, votes.voters)
    likeliest = {hit.path: hit.score for hit in ranked[:_FILES_LOOKED_INTO]} if symbols else {}
    keys, heard = _heard_of_symbols(
        {path: (score, words[path]) for path, score in likeliest.items()},
        frozenset({kind}) if kind else _HOLDERS,
        terms=terms,
        found=(by_words, by_meaning),
        votes=votes,
        past=past,
        told=told,
    )
    return Places(
        files=tuple(ranked[:files]),
        symbols=_ranked_symbols(keys, heard, symbol_weights, limit=symbols, view=view),
    )


# --- Files and their symbols ----------------------------------------------------------------------
def _files(
    filters: Mapping[str, Any], view: View, *, symbols: Sequence[int], files: Sequence[int]
) -> dict[str, SeenFile]:
    """Return by path the files of some symbols and some other files, as the view shows them."""
    statement = sql.SQL(statements("search")["files_of"]).format(
        seen=is_seen(view=view, table="version"), shown=is_seen(view=view, table="file_version")
    )
    parameters: dict[str, Any] = {
        "symbols": list(symbols),
        "files": list(files),
        "few": _MOST_FILES,
    }
    with connection.cursor() as cursor:
        cursor.execute(statement, {**filters, **parameters, **view_parameters(view)})
        return {
            path: SeenFile(key, blob, tuple(found)) for path, key, blob, found in cursor.fetchall()
        }


def _chosen(
    seen: Mapping[str, SeenFile], found: Iterable[Mapping[int, float]], votes: Mapping[int, float]
) -> dict[str, SeenFile]:
    """Return the files worth reading: those of the symbols found first, and with most votes."""
    places: Counter[int] = Counter()
    for symbols in found:
        places.update({key: 1 / (_PLACE + place) for place, key in enumerate(symbols)})

    def promise(path: str) -> float:
        file = seen[path]
        return sum(places[key] for key in file.symbols) + votes.get(file.key, 0.0) / _PLACE

    best = sorted(seen, key=lambda path: (-promise(path), path))
    return {path: seen[path] for path in best[:_MOST_FILES]}


def _best_of(files: Mapping[str, SeenFile], scores: Mapping[int, float]) -> dict[str, float]:
    """Return each file's best symbol's score; files without one get the lowest of all."""
    lowest = min(scores.values(), default=0.0)
    return {
        path: max((scores[key] for key in file.symbols if key in scores), default=lowest)
        for path, file in files.items()
    }


def _text_scores(terms: Sequence[str], files: Mapping[str, FileWords]) -> dict[str, float]:
    """Return BM25 of the question over the words of each file's symbols and of its path."""
    mean = sum(words.length for words in files.values()) / max(len(files), 1) or 1.0
    scores = dict.fromkeys(files, 0.0)
    for term in terms:
        holding = {path: count for path, words in files.items() if (count := words.count(term))}
        weight = _telling(len(holding), of=len(files))
        for path, count in holding.items():
            pull = _K1 * (1 - _B + _B * files[path].length / mean)
            scores[path] += weight * count * (_K1 + 1) / (count + pull)
    return scores


def _telling(holding: int, *, of: int) -> float:
    return math.log1p((of - holding + 0.5) / (holding + 0.5))


def _ranked(
    files: Mapping[str, SeenFile],
    columns: Mapping[str, Mapping[str, float]],
    weights: Witnesses,
    voters: Mapping[int, Sequence[str]],
) -> list[FileHit]:
    names = [one.name for one in fields(Witnesses)]
    stretched = {name: _stretched(columns[name]) for name in names}
    total = sum(getattr(weights, name) for name in names)
    hits = [
        FileHit(
            path=path,
            score=sum(getattr(weights, name) * stretched[name][path] for name in names) / total,
            witnesses=Witnesses(**{name: round(stretched[name][path], 3) for name in names}),
            commits=tuple(voters.get(file.key, ())[:_SHOWN_COMMITS]),
        )
        for path, file in files.items()
    ]
    return sorted(hits, key=lambda hit: (-hit.score, hit.path))


def _stretched(values: Mapping[_Key, float]) -> dict[_Key, float]:
    lowest, highest = min(values.values(), default=0.0), max(values.values(), default=0.0)
    span = highest - lowest
    return {key: (value - lowest) / span if span else 0.0 for key, value in values.items()}


# --- Symbols of the likeliest files ---------------------------------------------------------------
def _heard_of_symbols(
    files: Mapping[str, tuple[float, FileWords]],
    kinds: Collection[NodeKind],
    *,
    terms: Sequence[str],
    found: tuple[Mapping[int, float], Mapping[int, float]],
    votes: Votes,
    past: PastChanges,
    told: Told,
) -> tuple[list[int], NDArray[np.float64]]:
    """Return the keys of the symbols in some files, and a row of what each witness says of them."""
    by_words, by_meaning = found
    lowest = min(by_meaning.values(), default=0.0)
    texts = _symbol_text_scores(terms, [words for _, words in files.values()])
    says_test = _TEST in terms
    symbols = [
        (symbol, score)
        for score, words in files.values()
        for symbol in words.symbols
        if symbol.kind in kinds
    ]
    keys = [symbol.key for symbol, _ in symbols]
    # Columns, not a value for each symbol: there may be some thousands.
    heard = {
        "file": [score for _, score in symbols],
        "meaning": [by_meaning.get(key, lowest) for key in keys],
        "words": [by_words.get(key, 0.0) for key in keys],
        "text": [texts.get(key, 0.0) for key in keys],
        "commits": [votes.symbols.get(key, 0.0) for key in keys],
        "churn": [math.log1p(past.symbol_churn(key)) for key in keys],
        "size": [math.log1p(symbol.lines) for symbol, _ in symbols],
        "source": [0.0 if says_test or symbol.is_test else 1.0 for symbol, _ in symbols],
        "memories": [told.symbols.get(key, 0.0) for key in keys],
    }
    return keys, np.array([heard[name] for name in _SYMBOL_WITNESSES], dtype=np.float64)


def _symbol_text_scores(terms: Sequence[str], files: Sequence[FileWords]) -> dict[int, float]:
    """Return BM25 of the question over the texts of the symbols of some files, by their keys."""
    number = sum(len(words.lengths) for words in files)
    mean = sum(sum(words.lengths) for words in files) / max(number, 1) or 1.0
    scores: dict[int, float] = {}
    for term in terms:
        holding = [(words, *found) for words in files for found in words.places(term)]
        weight = _telling(len(holding), of=number)
        for words, place, count in holding:
            pull = _K1 * (1 - _B_OF_SYMBOLS + _B_OF_SYMBOLS * words.lengths[place] / mean)
            key = words.symbols[place].key
            scores[key] = scores.get(key, 0.0) + weight * count * (_K1 + 1) / (count + pull)
    return scores


def _ranked_symbols(
    keys: Sequence[int],
    heard: NDArray[np.float64],
    weights: SymbolWitnesses,
    *,
    limit: int,
    view: View,
) -> tuple[SymbolHit, ...]:
    if not keys or not limit:
        return ()
    lowest = heard.min(axis=1, keepdims=True)
    span = np.ptp(heard, axis=1, keepdims=True)
    stretched = (heard - lowest) / np.where(span > 0, span, 1.0)
    of_each = np.array([getattr(weights, name) for name in _SYMBOL_WITNESSES])
    scores = of_each @ stretched / of_each.sum()
    # Of equals the one first found: in the likelier file, then further up in it.
    best = np.argsort(-scores, kind="stable")[:limit].tolist()
    nodes = symbols_by_key(keys=[keys[place] for place in best], view=view)
    return tuple(
        SymbolHit(
            node=nodes[keys[place]],
            score=float(scores[place]),
            witnesses=SymbolWitnesses(
                **dict(zip(_SYMBOL_WITNESSES, stretched[:, place].round(3).tolist(), strict=True))
            ),
        )
        for place in best
        if keys[place] in nodes
    )
