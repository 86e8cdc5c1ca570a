"""Which files a question is about: where a change that it describes would go.

Four witnesses are heard: what a file's symbols are called and mean, the words of its text, commits
whose messages say something like it and what they changed, and how often the file changes at all.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

from django.db import connection
from psycopg import sql

from codemem.words import code_tokens, query_terms
from graph import search
from graph.queries.history import ChangedFiles, landed_changes, newest_landed
from graph.queries.seen import is_seen, view_parameters
from graph.search import QueryVector
from graph.statements import statements
from graph.values import LIVE, View

_SYMBOLS: Final = 300
_MOST_FILES: Final = 120
_LIKE_COMMITS: Final = 40
_SHOWN_COMMITS: Final = 3
_HALF_LIFE_DAYS: Final = 730.0
_PLACE: Final = 15
_KEPT_FILES: Final = 2_000
_LONGEST_FILE_TOKENS: Final = 200_000
_K1: Final = 1.2
_B: Final = 0.75
_PATH_MENTIONS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Witnesses:
    """What speaks for a file, each 0..1 over the files that were looked at."""

    meaning: float = 0.0  # cosine of its nearest symbol
    words: float = 0.0  # BM25 of its best symbol
    text: float = 0.0  # BM25 of its whole text
    commits: float = 0.0  # votes of commits with a message like the question
    churn: float = 0.0  # how often it changed, recent changes counting more


# Set by hand before the first measurement, and kept: on encode/httpx a grid of 432 found .769 MRR
# at best where these have .759. `make bench-code-memory` reports the other repositories.
WEIGHTS: Final = Witnesses(meaning=1.0, words=0.7, text=1.0, commits=0.8, churn=0.4)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileHit:
    """A file, its score 0..1 within this answer, what spoke for it, and the commits that did."""

    path: str
    score: float
    witnesses: Witnesses
    commits: tuple[str, ...]


def rank_files(
    *,
    repository_id: UUID,
    query: str,
    embedded: QueryVector | None,
    language: str | None = None,
    path_prefix: str | None = None,
    limit: int = 10,
    view: View = LIVE,
    weights: Witnesses = WEIGHTS,
) -> list[FileHit]:
    """Return the files that a change described by a question would most likely touch.

    About ten queries; the first question after a commit reads the messages of the newest 5,000.
    """
    filters = {
        "repositories": [repository_id],
        "kind": None,
        "language": language,
        "prefix": (path_prefix or "").removeprefix("./"),
        "limit": _SYMBOLS,
    }
    by_words, by_meaning = search.candidates(query, embedded, filters, view)
    if not by_meaning and not query_terms(query):
        return []
    past = _past(repository_id, newest_landed(repository_id=repository_id))
    votes, voters = past.votes(query)
    seen = _files(
        filters,
        view,
        symbols=[*by_words, *by_meaning],
        files=[*votes, *past.most_changed(_MOST_FILES)],
    )
    known = _chosen(seen, [by_words, by_meaning], votes)
    texts = _text_scores(query, known, filters, view)
    columns = {
        "meaning": _best_of(known, by_meaning),
        "words": _best_of(known, by_words),
        "text": texts,
        "commits": {path: votes.get(file.key, 0.0) for path, file in known.items()},
        "churn": {path: math.log1p(past.churn(file.key)) for path, file in known.items()},
    }
    return _ranked(known, columns, weights, voters, limit)


# --- Files and their symbols ----------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _File:
    key: int
    blob: str
    symbols: tuple[int, ...]


def _files(
    filters: Mapping[str, Any], view: View, *, symbols: Sequence[int], files: Sequence[int]
) -> dict[str, _File]:
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
            path: _File(key, blob, tuple(found)) for path, key, blob, found in cursor.fetchall()
        }


def _chosen(
    seen: Mapping[str, _File], found: Iterable[Mapping[int, float]], votes: Mapping[int, float]
) -> dict[str, _File]:
    """Return the files worth reading: those of the symbols found first, and with most votes."""
    places: Counter[int] = Counter()
    for symbols in found:
        places.update({key: 1 / (_PLACE + place) for place, key in enumerate(symbols)})

    def promise(path: str) -> float:
        file = seen[path]
        return sum(places[key] for key in file.symbols) + votes.get(file.key, 0.0) / _PLACE

    best = sorted(seen, key=lambda path: (-promise(path), path))
    return {path: seen[path] for path in best[:_MOST_FILES]}


def _best_of(files: Mapping[str, _File], scores: Mapping[int, float]) -> dict[str, float]:
    """Return each file's best symbol's score; files without one get the lowest of all."""
    lowest = min(scores.values(), default=0.0)
    return {
        path: max((scores[key] for key in file.symbols if key in scores), default=lowest)
        for path, file in files.items()
    }


# --- Their text -----------------------------------------------------------------------------------
def _text_scores(
    query: str, files: Mapping[str, _File], filters: Mapping[str, Any], view: View
) -> dict[str, float]:
    """Return BM25 of the question over the words of each file's symbols and of its path."""
    counted = _counted(files, filters, view)
    terms = query_terms(query)
    lengths = {path: sum(counts.values()) for path, counts in counted.items()}
    mean = sum(lengths.values()) / max(len(lengths), 1) or 1.0
    scores = dict.fromkeys(files, 0.0)
    for term in terms:
        holding = {path: counts[term] for path, counts in counted.items() if counts[term]}
        weight = math.log1p((len(counted) - len(holding) + 0.5) / (len(holding) + 0.5))
        for path, count in holding.items():
            pull = _K1 * (1 - _B + _B * lengths[path] / mean)
            scores[path] += weight * count * (_K1 + 1) / (count + pull)
    return scores


def _counted(
    files: Mapping[str, _File], filters: Mapping[str, Any], view: View
) -> dict[str, Counter[str]]:
    """Return the words of each file, counted; of equal contents only the first time."""
    counted = {path: _words_of(path, file.blob) for path, file in files.items()}
    new = {path: files[path] for path, counts in counted.items() if not counts}
    if new:
        statement = sql.SQL(statements("search")["texts_of"]).format(
            seen=is_seen(view=view, table="version")
        )
        parameters = {"files": [file.key for file in new.values()]}
        with connection.cursor() as cursor:
            cursor.execute(statement, {**filters, **parameters, **view_parameters(view)})
            texts = dict(cursor.fetchall())
        for path, file in new.items():
            text = texts.get(file.key, "")
            words = Counter(code_tokens(text, limit=_LONGEST_FILE_TOKENS))
            words.update(code_tokens(path) * _PATH_MENTIONS)
            # At once: another thread sees all words or none.
            counted[path].update(words)
    return counted


@lru_cache(maxsize=_KEPT_FILES)
def _words_of(_path: str, _blob: str) -> Counter[str]:
    """Return where the words of a content are counted; empty until somebody has read it."""
    return Counter()


# --- What was changed before ----------------------------------------------------------------------
class _Past:
    """The messages of a repository's commits by their words, and what each changed."""

    def __init__(self, changes: Sequence[ChangedFiles]) -> None:
        self._changes = changes
        self._newest = max((change.at for change in changes), default=None)
        self._holding: dict[str, list[tuple[int, int]]] = {}
        self._lengths: list[int] = []
        for number, change in enumerate(changes):
            counts = Counter(code_tokens(change.message))
            self._lengths.append(sum(counts.values()))
            for term, count in counts.items():
                self._holding.setdefault(term, []).append((number, count))
        self._mean = sum(self._lengths) / max(len(self._lengths), 1) or 1.0
        self._churn: Counter[int] = Counter()
        for change in changes:
            for file in change.files:
                self._churn[file] += self._freshness(change.at)  # type: ignore[assignment]

    def votes(self, query: str) -> tuple[dict[int, float], dict[int, list[str]]]:
        """Return by file the votes of the commits that say something like the question, and which.

        A commit of many files says little of each.
        """
        scores: dict[int, float] = {}
        for term in query_terms(query):
            holding = self._holding.get(term, ())
            rest = len(self._changes) - len(holding)
            weight = math.log1p((rest + 0.5) / (len(holding) + 0.5))
            for number, count in holding:
                pull = _K1 * (1 - _B + _B * self._lengths[number] / self._mean)
                scores[number] = scores.get(number, 0.0) + weight * count * (_K1 + 1) / (
                    count + pull
                )
        best = sorted(scores, key=lambda number: -scores[number])[:_LIKE_COMMITS]
        highest = scores[best[0]] if best else 1.0
        votes: dict[int, float] = {}
        voters: dict[int, list[str]] = {}
        for number in best:
            change = self._changes[number]
            weight = (scores[number] / highest) ** 2 / math.sqrt(max(len(change.files), 1))
            for file in change.files:
                votes[file] = votes.get(file, 0.0) + weight * self._freshness(change.at)
                voters.setdefault(file, []).append(change.sha)
        return votes, voters

    def churn(self, file: int) -> float:
        return float(self._churn[file])

    def most_changed(self, count: int) -> list[int]:
        return [file for file, _ in self._churn.most_common(count)]

    def _freshness(self, at: datetime) -> float:
        age = (self._newest - at).total_seconds() / 86_400 if self._newest else 0.0
        return float(0.5 ** (max(age, 0.0) / _HALF_LIFE_DAYS))


@lru_cache(maxsize=16)
def _past(repository_id: UUID, _newest: tuple[int, int]) -> _Past:
    return _Past(landed_changes(repository_id=repository_id))


# --- Together -------------------------------------------------------------------------------------
def _ranked(
    files: Mapping[str, _File],
    columns: Mapping[str, Mapping[str, float]],
    weights: Witnesses,
    voters: Mapping[int, Sequence[str]],
    limit: int,
) -> list[FileHit]:
    names = [field.name for field in fields(Witnesses)]
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
    return sorted(hits, key=lambda hit: (-hit.score, hit.path))[:limit]


def _stretched(values: Mapping[str, float]) -> dict[str, float]:
    lowest, highest = min(values.values(), default=0.0), max(values.values(), default=0.0)
    span = highest - lowest
    return {path: (value - lowest) / span if span else 0.0 for path, value in values.items()}
