"""What commits did to files and symbols, read from Git and from the facts of both sides."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import structlog
from django.conf import settings

from graph.events import CommitEvents, FileEvent, Happening, SymbolEvent
from indexing.contents import Key, Unread, each_of
from indexing.deltas import is_indexable
from indexing.git import BlobContent, Mirror, ObjectMissing
from indexing.history.comparison import Pair, Version, events_of
from indexing.history.log import Change, changes_of
from indexing.history.outline import Outline, Text, outline_of
from indexing.languages import language_of
from indexing.parsing import skip_reason

log = structlog.get_logger(__name__)

_MOST_TEXT_BYTES: Final = 64 << 20
_MOST_OUTLINES: Final = 4_000
_LONGEST_PATH_BYTES: Final = 1_000


class Mapper:
    """Maps commits of one mirror, batch by batch; remembers outlines that the next may need.

    A commit's old side is the new side of an older one, so that newest first nearly every content
    is looked at once.
    """

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._shallow = mirror.shallow_commits()
        self._outlines: OrderedDict[Key, Outline] = OrderedDict()

    def events_of(self, shas: Sequence[str]) -> list[CommitEvents]:
        """Return what some commits did; nothing of those whose parents nobody has."""
        changes = {
            sha: () if sha in self._shallow else tuple(filter(_is_storable, changed))
            for sha, changed in self._changes(shas)
        }
        keys = dict.fromkeys(
            key for changed in changes.values() for change in changed for key in _keys(change)
        )
        texts = self._texts(keys)
        outlines = self._outlines_of(keys, texts)
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
        self, keys: Mapping[Key, None], texts: Mapping[str, bytes]
    ) -> Mapping[Key, Outline]:
        found = {key: self._outlines[key] for key in keys if key in self._outlines}
        unknown = [key for key in keys if key not in found]

        def read(blobs: Iterable[str]) -> Iterator[tuple[str, BlobContent]]:
            wanted = list(blobs)
            yield from ((blob, texts[blob]) for blob in wanted if blob in texts)
            others = [blob for blob in wanted if blob not in texts]
            yield from self._mirror.blobs(others, max_bytes=settings.MAXIMUM_FILE_BYTES)

        outcomes = each_of(unknown, read=read, processes=1, unpack=outline_of)
        found |= {key: one for key, one in outcomes if not isinstance(one, Unread)}
        self._remember(found)
        return found

    def _remember(self, found: Mapping[Key, Outline]) -> None:
        for key, outline in found.items():
            self._outlines[key] = outline
            self._outlines.move_to_end(key)
        while len(self._outlines) > _MOST_OUTLINES:
            self._outlines.popitem(last=False)


def _is_storable(change: Change) -> bool:
    return len(change.path.encode()) <= _LONGEST_PATH_BYTES >= len(change.old_path.encode())


def _keys(change: Change) -> Iterator[Key]:
    """Yield the contents whose outlines tell what a change did."""
    for path, blobs in ((change.old_path, change.old_blobs), (change.path, (change.blob,))):
        language = language_of(path)
        if language is not None and skip_reason(path, 0) is None:
            yield from (Key(blob, language.name) for blob in blobs if blob is not None)


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
        language = language_of(path)
        if blob is None or language is None or skip_reason(path, 0) is not None:
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
