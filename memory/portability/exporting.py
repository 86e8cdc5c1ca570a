"""A namespace as one file: written to disk from one moment's view of the rows, then handed over.

On disk first, because the header says what follows, and because a slow reader must hold neither a
transaction nor the server's memory.
"""

import hashlib
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import BinaryIO

from django.db import connection, transaction

from codemem.accounts import services as accounts
from codemem.accounts.values import Action
from memory.portability import reading, tables, vault
from memory.portability.reading import Selection
from memory.portability.records import SCHEMA, Kind, Record, encoded
from memory.services.rights import require

_COPIED_AT_ONCE = 1 << 16
_JSON_OPENING, _JSON_CLOSING = b'{"header":', b"]}\n"


class Format(StrEnum):
    """The forms of an export. The first two lose nothing; people edit the others."""

    JSONL = "jsonl"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """A finished export, to be read from its beginning; closing it deletes it."""

    file: BinaryIO
    name: str
    content_type: str
    size: int
    counts: dict[str, int]


def export(*, selection: Selection, form: Format) -> Export:
    """Write what is selected to a temporary file; leave an audit event. Raise RightMissing."""
    namespace = selection.namespace
    require(caller=selection.caller, action=Action.READ_MEMORY, namespace_id=namespace.pk)
    file = tempfile.TemporaryFile(prefix="codemem-export-")  # noqa: SIM115  the caller closes it
    counts: Counter[str] = Counter()
    try:
        with transaction.atomic():
            _see_one_moment()
            _WRITERS[form](selection, file, counts)
        accounts.record(
            actor=selection.caller.username,
            action="namespace.export",
            namespace=namespace,
            target=namespace.name,
            token_id=selection.caller.token_id,
            detail={"format": form.value, **counts},
        )
        size = file.tell()
        file.seek(0)
    except BaseException:
        file.close()
        raise
    suffix, content_type = _FILES[form]
    return Export(
        file=file,
        name=f"{namespace.name}{suffix}",
        content_type=content_type,
        size=size,
        counts=dict(counts),
    )


def _see_one_moment() -> None:
    """Read as of now to the end, whatever others write meanwhile.

    Inside somebody else's transaction (a test's) the level is already decided.
    """
    if len(connection.atomic_blocks) == 1:
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


def _write_lines(selection: Selection, file: BinaryIO, counts: Counter[str]) -> None:
    with tempfile.TemporaryFile(prefix="codemem-export-") as body:
        digest = hashlib.sha256()
        for line in _counted_lines(selection, counts):
            digest.update(line)
            body.write(line)
        file.write(encoded(_header(selection, counts, digest.hexdigest())))
        body.seek(0)
        while part := body.read(_COPIED_AT_ONCE):
            file.write(part)


def _write_json(selection: Selection, file: BinaryIO, counts: Counter[str]) -> None:
    """Write one JSON document with a record on each line: programs parse it, people diff it."""
    with tempfile.TemporaryFile(prefix="codemem-export-") as body:
        digest = hashlib.sha256()
        for line in _counted_lines(selection, counts):
            digest.update(line)
            body.write(line)
        header = encoded(_header(selection, counts, digest.hexdigest())).rstrip(b"\n")
        file.write(_JSON_OPENING + header + b',"records":[\n')
        body.seek(0)
        separator = b""
        for line in body:
            file.write(separator + line.rstrip(b"\n"))
            separator = b",\n"
        file.write(b"\n" + _JSON_CLOSING)


def _write_table(selection: Selection, file: BinaryIO, counts: Counter[str]) -> None:
    file.write(tables.heading())
    file.writelines(tables.row(record) for record in _memories(selection, counts))


def _write_vault(selection: Selection, file: BinaryIO, counts: Counter[str]) -> None:
    links = vault.Links()
    for record in reading.records(selection):
        links.note(record)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        index = vault.Index(namespace=selection.namespace.name)
        for record in _memories(selection, counts):
            note = vault.note_of(record, links=links)
            index.note(record, note)
            archive.writestr(_entry(note.path), note.text)
        for note in index.notes():
            archive.writestr(_entry(note.path), note.text)


def _counted_lines(selection: Selection, counts: Counter[str]) -> Iterator[bytes]:
    for record in reading.records(selection):
        counts[_plural(record)] += 1
        yield encoded(record)


def _memories(selection: Selection, counts: Counter[str]) -> Iterator[Record]:
    names = reading.repository_names(selection.namespace.pk)
    for record in reading.memory_records(selection, names):
        counts[_plural(record)] += 1
        yield record


def _header(selection: Selection, counts: Counter[str], digest: str) -> Record:
    return {
        "record": Kind.HEADER,
        "format": "codemem",
        "schema": SCHEMA,
        "namespace": selection.namespace.name,
        "counts": dict(counts),
        "sha256": digest,
    }


def _entry(path: str) -> zipfile.ZipInfo:
    """Return a zip entry without the time of day, so that the same memories are the same bytes."""
    entry = zipfile.ZipInfo(path, date_time=(1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry


def _plural(record: Record) -> str:
    return _PLURALS[Kind(record["record"])]


_PLURALS = {
    Kind.SETTINGS: "settings",
    Kind.MEMORY: "memories",
    Kind.LINK: "links",
    Kind.SUCCESSION: "successions",
    Kind.REVIEW: "reviews",
}
_WRITERS = {
    Format.JSONL: _write_lines,
    Format.JSON: _write_json,
    Format.CSV: _write_table,
    Format.MARKDOWN: _write_vault,
}
_FILES = {
    Format.JSONL: (".jsonl", "application/x-ndjson"),
    Format.JSON: (".json", "application/json"),
    Format.CSV: (".csv", "text/csv; charset=utf-8"),
    Format.MARKDOWN: (".vault.zip", "application/zip"),
}
