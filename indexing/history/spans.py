"""Which content stood at which path, from when to when, on the main line.

A tree of the past is a question to one table: what began before and had not ended.
"""

import zlib
from collections.abc import Collection, Iterable, Sequence
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, Q

from indexing.git import Mirror
from indexing.history.log import Change, steps_of
from indexing.models import History, ManifestText, TreeSpan
from indexing.resolution import is_manifest

POSITIONS_AT_ONCE: Final = 2_000
_LONGEST_PATH_BYTES: Final = 1_000
_BRIEF_SHARE: Final = 100


def tree_at(*, repository_id: UUID, position: int) -> dict[str, str]:
    """Return path -> blob of every file at a position of the main line. One query."""
    return dict(
        TreeSpan.objects.filter(
            Q(to_position=None) | Q(to_position__gt=position),
            repository_id=repository_id,
            from_position__lte=position,
        ).values_list("path", "blob")
    )


def lasting_blobs(*, history: History, blobs: Collection[str]) -> set[str]:
    """Return which contents stood for long, or stand, at some path of the main line. One query.

    For long is a hundredth of the line: of all that ever stood for a shorter time, less than a
    hundredth is there at one time, in the mean.
    """
    spans = TreeSpan.objects.filter(repository_id=history.repository_id, blob__in=blobs)
    least = history.length // _BRIEF_SHARE
    lasting = spans.filter(
        Q(to_position=None) | Q(to_position__gte=F("from_position") + max(1, least))
    )
    return set(lasting.values_list("blob", flat=True))


def manifest_texts(blobs: Iterable[str]) -> dict[str, bytes]:
    """Return the texts of those manifests that were kept, by blob. One query."""
    rows = ManifestText.objects.filter(blob__in=set(blobs)).values_list("blob", "text")
    return {blob: zlib.decompress(text) for blob, text in rows}


def forget_spans(*, repository_id: UUID, after: int) -> None:
    """Leave what is known of the main line up to a position, as if nothing had come after."""
    spans = TreeSpan.objects.filter(repository_id=repository_id)
    spans.filter(from_position__gt=after).delete()
    spans.filter(to_position__gt=after).update(to_position=None)


def add_spans(*, mirror: Mirror, history: History, line: Sequence[tuple[str, str | None]]) -> None:
    """Note what stood where at the next positions: their commits, each with the one before it.

    One transaction, with the history's own mark of how far it is.
    """
    changes = _Changes(history.repository_id, first=history.spans_until)
    for position, (_, changed) in enumerate(steps_of(mirror, line), start=history.spans_until):
        for change in changed:
            changes.add(position, change)
    manifests = _manifests(mirror, changes.blobs_of_manifests())
    with transaction.atomic():
        ManifestText.objects.bulk_create(manifests, ignore_conflicts=True)
        changes.write()
        history.spans_until += len(line)
        history.save(update_fields=["spans_until"])


class _Changes:
    """Spans that begin or end at some positions, gathered before they are written."""

    def __init__(self, repository_id: UUID, *, first: int) -> None:
        self._repository_id = repository_id
        self._open: dict[str, tuple[str, int]] = {}
        self._closed: list[tuple[str, str, int, int]] = []
        # Of spans that are stored already: where they end.
        self._ends: dict[str, int] = {}
        self._has_stored = first > 0

    def add(self, position: int, change: Change) -> None:
        if change.old_blobs[0] == change.blob or len(change.path.encode()) > _LONGEST_PATH_BYTES:
            return
        began = self._open.pop(change.path, None)
        if began is None:
            if self._has_stored:
                self._ends.setdefault(change.path, position)
        elif began[1] < position:
            self._closed.append((change.path, *began, position))
        if change.blob is not None:
            self._open[change.path] = (change.blob, position)

    def blobs_of_manifests(self) -> set[str]:
        spans = [(path, blob) for path, blob, _, _ in self._closed]
        spans += [(path, blob) for path, (blob, _) in self._open.items()]
        return {blob for path, blob in spans if is_manifest(path)}

    def write(self) -> None:
        rows = [(path, blob, began, end) for path, blob, began, end in self._closed]
        rows_open = [(path, blob, began, None) for path, (blob, began) in self._open.items()]
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = 0")
            cursor.execute(
                "UPDATE indexing_treespan span SET to_position = ended.position"
                " FROM unnest(%s::text[], %s::int[]) AS ended (path, position)"
                " WHERE span.repository_id = %s AND span.path = ended.path"
                " AND span.to_position IS NULL",
                [list(self._ends), list(self._ends.values()), self._repository_id],
            )
            with cursor.copy(
                "COPY indexing_treespan (repository_id, path, blob, from_position, to_position)"
                " FROM STDIN"
            ) as copy:
                for row in (*rows, *rows_open):
                    copy.write_row((self._repository_id, *row))


def _manifests(mirror: Mirror, blobs: set[str]) -> list[ManifestText]:
    known = ManifestText.objects.filter(blob__in=blobs).values_list("blob", flat=True)
    wanted = sorted(blobs.difference(known))
    return [
        ManifestText(blob=blob, text=zlib.compress(content))
        for blob, content in mirror.blobs(wanted, max_bytes=settings.MAXIMUM_FILE_BYTES)
        if isinstance(content, bytes)
    ]
