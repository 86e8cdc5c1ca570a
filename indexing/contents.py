"""Facts of file contents: from the cache when the content was seen before, else parsed and kept.

Content is addressed by its Git blob id, so that branches, commits and repositories share facts.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from indexing import extraction, queries
from indexing.facts import EXTRACTOR_VERSION, BlobFacts
from indexing.git import BlobContent, BlobMissing, BlobTooLarge
from indexing.languages import language_named
from indexing.models import BlobFacts as BlobFactsRow
from indexing.parsing import skip_reason

_BATCH = 200


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

    A damaged or missing blob is not remembered: it may be whole the next time.
    """
    wanted = {content.path: content for content in contents}
    keys = {(content.blob, content.language) for content in wanted.values()}
    known: dict[tuple[str, str], BlobFacts | Unread] = {
        key: Unread(cached.skipped) if cached.skipped else cached.unpack()
        for key, cached in queries.cached_facts(keys=keys).items()
    }
    on_parsed(len(known))
    unseen = {
        (content.blob, content.language): content.path
        for content in wanted.values()
        if (content.blob, content.language) not in known
    }
    for key, outcome in _parse(unseen, read=read, processes=processes):
        known[key] = outcome
        on_parsed(len(known))
    return {path: known[content.blob, content.language] for path, content in wanted.items()}


def _parse(
    unseen: Mapping[tuple[str, str], str], *, read: Reader, processes: int
) -> Iterator[tuple[tuple[str, str], BlobFacts | Unread]]:
    unreadable: list[tuple[tuple[str, str], Unread]] = []
    jobs = _jobs(unseen, read=read, unreadable=unreadable)
    rows: list[BlobFactsRow] = []
    for key, outcome in extraction.extract_all(jobs, processes=processes):
        facts = Unread(outcome.reason) if isinstance(outcome, extraction.Skipped) else outcome
        rows.append(_row(key, facts))
        if len(rows) >= _BATCH:
            _store(rows)
            rows = []
        yield key, facts
    _store(rows)
    for key, reason in unreadable:
        yield key, reason


def _jobs(
    unseen: Mapping[tuple[str, str], str],
    *,
    read: Reader,
    unreadable: list[tuple[tuple[str, str], Unread]],
) -> Iterator[extraction.Job[tuple[str, str]]]:
    languages: dict[str, list[str]] = {}
    for blob, language in unseen:
        languages.setdefault(blob, []).append(language)
    for blob, content in read(languages):
        for language in languages[blob]:
            reason = _reason(unseen[blob, language], content)
            if reason is not None:
                unreadable.append(((blob, language), Unread(reason)))
            else:
                assert isinstance(content, bytes)
                yield extraction.Job(
                    key=(blob, language), language=language_named(language), source=content
                )


def _reason(path: str, content: BlobContent) -> str | None:
    if isinstance(content, BlobMissing):
        return "object-missing"
    if isinstance(content, BlobTooLarge):
        return "too-large"
    return skip_reason(path, content)


def _row(key: tuple[str, str], facts: BlobFacts | Unread) -> BlobFactsRow:
    blob, language = key
    return BlobFactsRow(
        blob=blob,
        language=language,
        extractor_version=EXTRACTOR_VERSION,
        facts=b"" if isinstance(facts, Unread) else facts.to_bytes(),
        skipped=facts.reason if isinstance(facts, Unread) else "",
    )


def _store(rows: list[BlobFactsRow]) -> None:
    # Another run may have parsed the same content meanwhile: its facts are the same.
    BlobFactsRow.objects.bulk_create(rows, ignore_conflicts=True)
