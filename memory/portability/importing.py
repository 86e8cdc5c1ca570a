"""A file on its way in: line by line or note by note, every problem told, everything else kept.

Safe to repeat and to continue: what is there already counts as unchanged. Nothing is read whole,
and archives inside the file are bounded before they are unpacked.
"""

import codecs
import itertools
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import BinaryIO

from codemem.accounts import services as accounts
from codemem.accounts.values import Action
from memory.portability import foreign, tables, vault
from memory.portability.edits import take_edits
from memory.portability.exporting import Format
from memory.portability.records import Kind, Line, lines
from memory.portability.restoring import Report, Restoration, Target
from memory.portability.ties import Ties
from memory.services.rights import require

AT_ONCE = 200
READ_AT_ONCE = 1 << 16
MAXIMUM_NOTES = 100_000
MAXIMUM_UNPACKED_BYTES = 512 << 20
# A vault of prose packs three to five times smaller; a bomb, a thousand times.
MAXIMUM_RATIO = 200


class ArchiveInvalid(Exception):
    """The file is not an archive of this form, or one that must not be unpacked."""


def import_file(*, target: Target, form: Format, file: BinaryIO, first_line: int = 1) -> Report:
    """Take everything in a file that can be taken; leave an audit event unless it is a dry run.

    `first_line` is the number of the file's first line in a larger one that comes in parts.
    Raise NamespaceUnknown, RightMissing, ArchiveInvalid, TableInvalid.
    """
    namespace = target.namespace
    require(caller=target.caller, action=Action.WRITE_MEMORY, namespace_id=namespace.pk)
    restoration = Restoration(target)
    ties = Ties(restoration, target)
    for batch in _batches(_lines(form, file, first_line=first_line)):
        if form in {Format.CSV, Format.MARKDOWN}:
            take_edits(restoration, target, batch)
        else:
            _take(restoration, ties, batch)
    report = restoration.report
    report.problems.sort(key=lambda problem: problem.line)
    if not target.dry_run:
        accounts.record(
            actor=target.caller.username,
            action="namespace.import",
            namespace=namespace,
            target=namespace.name,
            token_id=target.caller.token_id,
            detail={
                "format": form.value,
                "created": report.created,
                "changed": report.changed,
                **({"queued": report.queued} if report.queued else {}),
                "refused": report.problem_count,
            },
        )
    return report


def _take(restoration: Restoration, ties: Ties, lines: Sequence[Line]) -> None:
    """Take some lines of an archive, in their order; memories first make what links tie."""
    for line in lines:
        if line.record is None:
            restoration.report.refuse(line.number, line.problem)
    read = [line for line in lines if line.record is not None]
    for kind, group in itertools.groupby(read, key=_kind_of):
        match kind:
            case Kind.MEMORY:
                restoration.take_memories(list(group))
            case Kind.LINK:
                ties.take_links(list(group))
            case Kind.SUCCESSION:
                ties.take_successions(list(group))
            case _:
                for line in group:
                    restoration.take_other(line.number, line.record or {})


def _kind_of(line: Line) -> object:
    kind = (line.record or {}).get("record", Kind.MEMORY)
    return kind if isinstance(kind, str) else None


def _lines(form: Format, file: BinaryIO, *, first_line: int) -> Iterator[Line]:
    match form:
        case Format.JSONL:
            return map(_native, lines(_chunks(file), first=first_line))
        case Format.JSON:
            return _document(file)
        case Format.CSV:
            return tables.lines(_text_lines(file), first=first_line)
        case Format.MARKDOWN:
            return _notes(file)


def _native(line: Line) -> Line:
    return line if line.record is None else replace(line, record=foreign.native(line.record))


def _document(file: BinaryIO) -> Iterator[Line]:
    """Yield the records of our own JSON form, which has one on each line."""
    for line in lines(_unframed(_chunks(file))):
        if line.record is not None and "header" in line.record and "record" not in line.record:
            yield Line(number=line.number, record=line.record["header"])
        else:
            yield line


def _unframed(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Take the frame of the document away, so that lines of records are left."""
    for number, raw in enumerate(_raw_lines(chunks)):
        line = raw.strip().removeprefix(b"\xef\xbb\xbf")
        if number == 0:
            if not line.startswith(b'{"header":') or not line.endswith(b'"records":['):
                raise ArchiveInvalid(
                    "This is not a JSON export of codemem: its first line is the header, and each"
                    " line after it a record. Other programs' files come in as JSON Lines or CSV."
                )
            yield line.removesuffix(b',"records":[') + b"}\n"
        elif line == b"]}":
            return
        else:
            yield line.removesuffix(b",") + b"\n"


def _raw_lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    waiting = b""
    for chunk in chunks:
        *whole, waiting = (waiting + chunk).split(b"\n")
        yield from whole
    if waiting:
        yield waiting


def _notes(file: BinaryIO) -> Iterator[Line]:
    """Yield the notes of a zipped vault; raise ArchiveInvalid for what must not be unpacked."""
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise ArchiveInvalid("The vault is not a zip file.") from error
    with archive:
        entries = [entry for entry in archive.infolist() if not entry.is_dir()]
        _refuse_bomb(entries)
        unpacked = 0
        for number, entry in enumerate(sorted(entries, key=lambda one: one.filename), start=1):
            text, size = _unpacked(archive, entry)
            unpacked += size
            # What the entries promise of their sizes may be a lie.
            if unpacked > MAXIMUM_UNPACKED_BYTES:
                raise ArchiveInvalid("The vault is too large when it is unpacked.")
            if isinstance(text, Line):
                yield Line(number=number, problem=text.problem)
            elif foreign.states(entry.filename, text):
                for record in foreign.statements(entry.filename, text):
                    yield Line(number=number, record=record)
            elif line := vault.line_of(number, vault.Note(path=entry.filename, text=text)):
                yield line


def _refuse_bomb(entries: Sequence[zipfile.ZipInfo]) -> None:
    if len(entries) > MAXIMUM_NOTES:
        raise ArchiveInvalid(f"The vault has {len(entries):,} files; at most {MAXIMUM_NOTES:,} go.")
    packed = sum(entry.compress_size for entry in entries)
    unpacked = sum(entry.file_size for entry in entries)
    is_suspicious = unpacked > MAXIMUM_RATIO * max(packed, 1) and unpacked > READ_AT_ONCE
    if unpacked > MAXIMUM_UNPACKED_BYTES or is_suspicious:
        raise ArchiveInvalid("The vault is too large when it is unpacked.")


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> tuple[str | Line, int]:
    """Return a file's text and size, or the problem with it; never reads more than a note has."""
    shown = entry.filename[-200:]
    try:
        with archive.open(entry) as file:
            content = file.read(vault.MAXIMUM_NOTE_BYTES + 1)
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError, EOFError) as error:
        return Line(number=0, problem=f"{shown} cannot be unpacked: {str(error)[:100]}"), 0
    if len(content) > vault.MAXIMUM_NOTE_BYTES:
        return Line(number=0, problem=f"{shown} is over a megabyte."), len(content)
    try:
        return content.decode(), len(content)
    except UnicodeDecodeError:
        return Line(number=0, problem=f"{shown} is not UTF-8."), len(content)


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(READ_AT_ONCE):
        yield chunk


def _text_lines(file: BinaryIO) -> Iterator[str]:
    """Yield decoded lines with their ends, as csv wants them; raise ArchiveInvalid."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    waiting = ""
    try:
        for chunk in _chunks(file):
            *whole, waiting = (waiting + decoder.decode(chunk)).split("\n")
            yield from (f"{line}\n" for line in whole)
        if rest := waiting + decoder.decode(b"", final=True):
            yield rest
    except UnicodeDecodeError as error:
        raise ArchiveInvalid("The table is not UTF-8; save it as “CSV UTF-8”.") from error


def _batches(found: Iterator[Line]) -> Iterator[list[Line]]:
    while batch := list(itertools.islice(found, AT_ONCE)):
        yield batch
