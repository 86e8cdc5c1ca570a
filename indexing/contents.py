"""Facts of file contents: from the cache when the content was seen before, else parsed and kept.

Content is addressed by its Git blob id, so that branches, commits and repositories share facts.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from indexing import extraction, queries
from indexing.facts import EXTRACTOR_VERSION, BlobFacts, FactsMalformed
from indexing.git import BlobContent, BlobMissing, BlobTooLarge
from indexing.languages import language_named
from indexing.models import BlobFacts as BlobFactsRow
from indexing.parsing import skip_reason

_BATCH = 200
_LONGEST_REASON = 30
# What says nothing about the content, which may be whole, or allowed, the next time.
NOT_REMEMBERED = frozenset({"object-missing", "too-large"})
# What may say something about the machine at that moment, and is believed the second time.
_PERHAPS_BY_CHANCE = frozenset({"crash", "timeout"})


@dataclass(frozen=True, slots=True)
class Content:
    """What stands at a path: `path` decides some reasons to skip, `blob` and language the facts."""

    path: str
    blob: str
    language: str


@dataclass(frozen=True, slots=True)
class Unread:
    """Why a content has no facts."""

    reason: str


Reader = Callable[[Iterable[str]], Iterator[tuple[str, BlobContent]]]
Facts = TypeVar("Facts")


def blob_id(content: bytes) -> str:
    """Return the id that Git (SHA-1 repositories) gives this content."""
    header = b"blob %d\0" % len(content)
    return hashlib.sha1(header + content, usedforsecurity=False).hexdigest()


def facts_of(
    contents: Iterable[Content],
    *,
    read: Reader,
    processes: int,
    on_parsed: Callable[[int], None] = lambda _done: None,
) -> dict[str, BlobFacts | Unread]:
    """Return path -> facts. `read` yields blobs by id; it is asked only for unseen content.

    What was parsed is kept as it comes, so that a run that is killed need not parse it again.
    """
    unread: dict[str, BlobFacts | Unread] = {}
    keys: dict[str, Key] = {}
    for content in contents:
        reason = skip_reason(content.path, 0)
        if reason is not None:
            unread[content.path] = Unread(reason)
        else:
            keys[content.path] = Key(content.blob, content.language)
    known: dict[Key, BlobFacts | Unread] = {}
    for key, facts in each_of(
        keys.values(), read=read, processes=processes, unpack=BlobFacts.from_bytes
    ):
        known[key] = facts
        on_parsed(len(known))
    return unread | {path: known[key] for path, key in keys.items()}


class Key(NamedTuple):
    """What facts depend on, besides the extractor's version."""

    blob: str
    language: str


def each_of(
    keys: Iterable[Key],
    *,
    read: Reader,
    processes: int,
    unpack: Callable[[bytes], Facts],
) -> Iterator[tuple[Key, Facts | Unread]]:
    """Yield what `unpack` makes of each content's packed facts: of known content first.

    Facts that are packed are neither unpacked nor packed again on their way into the cache.
    """
    wanted = dict.fromkeys(keys)
    for key, cached in queries.cached_facts(keys=wanted.keys()).items():
        try:
            outcome = Unread(cached.skipped) if cached.skipped else unpack(cached.packed)
        except FactsMalformed:
            continue
        del wanted[Key(*key)]
        yield Key(*key), outcome
    parsed = _parsed(list(wanted), read=read, processes=processes, unpack=unpack)
    yield from _remembered(parsed)


class _Parsed(NamedTuple, Generic[Facts]):
    """Facts as they came from the child, and what was made of them."""

    packed: bytes
    facts: Facts


_Outcome = tuple[Key, _Parsed[Facts] | Unread]


def _remembered(outcomes: Iterable[_Outcome[Facts]]) -> Iterator[tuple[Key, Facts | Unread]]:
    rows: list[BlobFactsRow] = []
    for key, outcome in outcomes:
        if not (isinstance(outcome, Unread) and outcome.reason in NOT_REMEMBERED):
            rows.append(_row(key, outcome))
        if len(rows) >= _BATCH:
            _store(rows)
            rows = []
        yield key, outcome if isinstance(outcome, Unread) else outcome.facts
    _store(rows)


def _parsed(
    unseen: Sequence[Key], *, read: Reader, processes: int, unpack: Callable[[bytes], Facts]
) -> Iterator[_Outcome[Facts]]:
    doubtful: list[Key] = []
    for key, outcome in _parsed_once(unseen, read=read, processes=processes, unpack=unpack):
        if isinstance(outcome, Unread) and outcome.reason in _PERHAPS_BY_CHANCE:
            doubtful.append(key)
        else:
            yield key, outcome
    yield from _parsed_once(doubtful, read=read, processes=processes, unpack=unpack)


def _parsed_once(
    keys: Sequence[Key], *, read: Reader, processes: int, unpack: Callable[[bytes], Facts]
) -> Iterator[_Outcome[Facts]]:
    unreadable: list[tuple[Key, Unread]] = []
    jobs = _jobs(keys, read=read, unreadable=unreadable)
    extracted = extraction.extract_all(
        jobs, processes=processes, unpack=lambda packed: _Parsed(packed, unpack(packed))
    )
    for key, outcome in extracted:
        if isinstance(outcome, extraction.Skipped):
            yield key, Unread(outcome.reason[:_LONGEST_REASON])
        else:
            yield key, outcome
    yield from unreadable


def _jobs(
    keys: Sequence[Key], *, read: Reader, unreadable: list[tuple[Key, Unread]]
) -> Iterator[extraction.Job[Key]]:
    languages: dict[str, list[str]] = {}
    for key in keys:
        languages.setdefault(key.blob, []).append(key.language)
    for blob, content in read(languages):
        for language in languages[blob]:
            key = Key(blob, language)
            match content:
                case BlobMissing():
                    unreadable.append((key, Unread("object-missing")))
                case BlobTooLarge():
                    unreadable.append((key, Unread("too-large")))
                case source:
                    yield extraction.Job(key, language_named(language), source)


def _row(key: Key, outcome: _Parsed[Facts] | Unread) -> BlobFactsRow:
    return BlobFactsRow(
        blob=key.blob,
        language=key.language,
        extractor_version=EXTRACTOR_VERSION,
        facts=b"" if isinstance(outcome, Unread) else outcome.packed,
        skipped=outcome.reason if isinstance(outcome, Unread) else "",
    )


def _store(rows: list[BlobFactsRow]) -> None:
    # Another run may have parsed the same content meanwhile: its facts are the same. In one order
    # for all, or two runs could wait for each other.
    rows.sort(key=lambda row: (row.blob, row.language))
    BlobFactsRow.objects.bulk_create(rows, ignore_conflicts=True)
