"""What commits did to files and symbols, read from Git and from the outlines of both sides.

Facts are made, and kept, of contents that stood for long: with those a past graph is made at once.
Of the others the outline is read, which costs a fifth; the few of them that stood at any one time
are read when somebody asks for the graph of that time.
"""

import re
import sys
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

import structlog
from django.conf import settings

from graph.events import CommitEvents, FileEvent, Happening, SymbolEvent
from indexing import queries
from indexing.contents import Key, Unread, each_of
from indexing.deltas import is_indexable
from indexing.extraction import Job, Skipped, extract_all
from indexing.facts import FactsMalformed
from indexing.git import BlobContent, Mirror, ObjectMissing
from indexing.history.comparison import Pair, Version, events_of
from indexing.history.log import Change, changes_of
from indexing.history.outline import Outline, Text, outline_of, unpacked
from indexing.languages import Language, language_named, language_of
from indexing.parsing import skip_reason

log = structlog.get_logger(__name__)

_OUTLINING_CHILD: Final = (sys.executable, "-m", "indexing.history.outlining")
_MOST_TEXT_BYTES: Final = 128 << 20
_MOST_OUTLINES: Final = 4_000
_LONGEST_PATH_BYTES: Final = 1_000
_LOCK_FILE: Final = re.compile(r"(?:^|/)[\w.-]*(?:-lock|\.lock|shrinkwrap)\.[a-z]+$")
_LARGE_COMMIT_FILES: Final = 20
"""What a larger commit brings is kept however soon it went: together it would be much to read."""


class Mapper:
    """Maps commits of one mirror, batch by batch; remembers outlines that the next may need.

    A commit's old side is the new side of an older one, so that newest first nearly every content
    is looked at once.
    """

    def __init__(self, mirror: Mirror, *, lasting: Callable[[Collection[str]], set[str]]) -> None:
        """`lasting` says which blobs' facts are worth keeping."""
        self._mirror = mirror
        self._lasting = lasting
        self._shallow = mirror.shallow_commits()
        self._outlines: OrderedDict[Key, Outline] = OrderedDict()

    def events_of(self, shas: Sequence[str]) -> list[CommitEvents]:
        """Return what some commits did; nothing of those whose parents nobody has."""
        changes = {
            sha: () if sha in self._shallow else tuple(filter(_is_storable, changed))
            for sha, changed in self._changes(shas)
        }
        paths = {
            key: change.path
            for changed in changes.values()
            for change in changed
            for key in _keys(change)
        }
        texts = self._texts(paths)
        outlines = self._outlines_of(paths, texts, large=set(_brought_by_large(changes.values())))
        return [
            CommitEvents(
                sha=sha,
                files=tuple(_file_events(changed)),
                symbols=tuple(_symbol_events(changed, outlines, texts)),
            )
            for sha, changed in changes.items()
        ]

    def _changes(self, shas: Sequence[str]) -> Iterator[tuple[str, tuple[Change, ...]]]:
        """Yield what commits changed; where an object is damaged, one by one as far as it goes."""
        try:
            yield from list(changes_of(self._mirror, shas))
        except ObjectMissing as error:
            if len(shas) > 1:
                for sha in shas:
                    yield from self._changes([sha])
                return
            try:
                # Looking for renames reads contents; the names alone may still be there.
                yield from list(changes_of(self._mirror, shas, finds_renames=False))
            except ObjectMissing:
                log.warning("commit_unreadable", commit=shas[0], reason=str(error))
                yield shas[0], ()

    def _texts(self, keys: Iterable[Key]) -> dict[str, bytes]:
        """Return the contents that are compared, as many as memory allows."""
        texts: dict[str, bytes] = {}
        room = _MOST_TEXT_BYTES
        blobs = dict.fromkeys(key.blob for key in keys)
        for blob, content in self._mirror.blobs(blobs, max_bytes=settings.MAXIMUM_FILE_BYTES):
            if isinstance(content, bytes):
                texts[blob] = content
                room -= len(content)
            if room < 0:
                break
        return texts

    def _outlines_of(
        self, paths: Mapping[Key, str], texts: Mapping[str, bytes], *, large: Collection[Key]
    ) -> Mapping[Key, Outline]:
        found = {key: self._outlines[key] for key in paths if key in self._outlines}
        known = dict(_cached(key for key in paths if key not in found))
        found |= {key: outline for key, outline in known.items() if outline is not None}
        unknown = [key for key in paths if key not in found and key not in known]
        lasting = self._lasting({key.blob for key in unknown}) if unknown else set()
        brief = [key for key in unknown if key.blob not in lasting and key not in large]
        # One version of a file after the other: each is read from the one before.
        brief.sort(key=paths.__getitem__)
        found |= self._outlined(brief, texts)
        found |= self._by_facts([key for key in unknown if key not in found], texts)
        self._remember(found)
        return found

    def _outlined(
        self, keys: Sequence[Key], texts: Mapping[str, bytes]
    ) -> Iterator[tuple[Key, Outline]]:
        """Yield the outlines of contents; of what cannot be read, nothing."""
        jobs = (
            Job(key, language_named(key.language), texts[key.blob])
            for key in keys
            if key.blob in texts
        )
        for key, outline in extract_all(
            jobs, processes=1, command=_OUTLINING_CHILD, unpack=unpacked
        ):
            if not isinstance(outline, Skipped):
                yield key, outline

    def _by_facts(
        self, keys: Sequence[Key], texts: Mapping[str, bytes]
    ) -> Iterator[tuple[Key, Outline]]:
        """Yield the outlines of contents whose facts are kept from now on."""

        def read(blobs: Iterable[str]) -> Iterator[tuple[str, BlobContent]]:
            wanted = list(blobs)
            yield from ((blob, texts[blob]) for blob in wanted if blob in texts)
            others = [blob for blob in wanted if blob not in texts]
            yield from self._mirror.blobs(others, max_bytes=settings.MAXIMUM_FILE_BYTES)

        for key, outline in each_of(keys, read=read, processes=1, unpack=outline_of):
            if not isinstance(outline, Unread):
                yield key, outline

    def _remember(self, found: Mapping[Key, Outline]) -> None:
        for key, outline in found.items():
            self._outlines[key] = outline
            self._outlines.move_to_end(key)
        while len(self._outlines) > _MOST_OUTLINES:
            self._outlines.popitem(last=False)


def _cached(keys: Iterable[Key]) -> Iterator[tuple[Key, Outline | None]]:
    """Yield the outlines of contents whose facts are known, None of what is known to have none."""
    for key, cached in queries.cached_facts(keys=list(keys)).items():
        try:
            yield Key(*key), None if cached.skipped else outline_of(cached.packed)
        except FactsMalformed:
            continue


def _brought_by_large(commits: Iterable[Iterable[Change]]) -> Iterator[Key]:
    """Yield the contents that large commits brought."""
    for changes in commits:
        keys = [key for change in changes for key in _keys_at(change.path, (change.blob,))]
        if len(keys) > _LARGE_COMMIT_FILES:
            yield from keys


def _is_storable(change: Change) -> bool:
    return len(change.path.encode()) <= _LONGEST_PATH_BYTES >= len(change.old_path.encode())


def _keys(change: Change) -> Iterator[Key]:
    """Yield the contents whose outlines tell what a change did."""
    yield from _keys_at(change.old_path, change.old_blobs)
    yield from _keys_at(change.path, (change.blob,))


def _keys_at(path: str, blobs: Iterable[str | None]) -> Iterator[Key]:
    language = _language_of(path)
    if language is not None:
        yield from (Key(blob, language.name) for blob in blobs if blob is not None)


def _language_of(path: str) -> Language | None:
    """Return the language of a path whose symbols have a history.

    Lock files are written by programs, are large, and change every day: their own history will do.
    """
    if _LOCK_FILE.search(path) or skip_reason(path, 0) is not None:
        return None
    return language_of(path)


def _file_events(changes: Iterable[Change]) -> Iterator[FileEvent]:
    for change in changes:
        if change.happening is Happening.MOVED:
            is_changed = change.old_blobs[0] != change.blob
            yield FileEvent(Happening.MOVED, change.path, change.old_path, is_changed)
            yield FileEvent(Happening.LEFT, change.old_path, change.path, is_changed)
        else:
            yield FileEvent(change.happening, change.path)


def _symbol_events(
    changes: Iterable[Change], outlines: Mapping[Key, Outline], texts: Mapping[str, bytes]
) -> Iterator[SymbolEvent]:
    def version(path: str, blob: str | None) -> Version | None:
        language = _language_of(path)
        if blob is None or language is None:
            return None
        outline = outlines.get(Key(blob, language.name))
        text = Text.of(texts[blob]) if blob in texts else None
        return Version(path, language.name, outline, text) if outline is not None else None

    pairs = (
        Pair(
            before=tuple(version(change.old_path, blob) for blob in change.old_blobs),
            after=version(change.path, change.blob),
        )
        for change in changes
    )
    events = events_of([pair for pair in pairs if pair.after is not None or any(pair.before)])
    yield from (event for event in events if _is_nameable(event))


def _is_nameable(event: SymbolEvent) -> bool:
    """Tell whether the names fit into an index; those of generated code may not."""
    return all(is_indexable(one.id) for one in (event.symbol, event.other) if one is not None)
