"""An index.scip as a file of untrusted documents: the schema in code, one document at a time.

The schema is the subset that is read, so no generated module and no generator's version is needed.
Both ways of writing ranges are read: the packed numbers, and the typed messages of June 2026. Knows
nothing of the tree the index was made of.
"""

import mmap
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from pathlib import Path
from typing import Any, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

_DOCUMENTS, _EXTERNAL_SYMBOLS = 2, 3
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10
_RANGE_ON_ONE_LINE = 3
_MAX_FIELDS = 2_000_000
_MAX_OTHER_FIELDS = 1_000


class IndexTooLarge(Exception):
    """The index has more bytes than are read."""


class Role(IntFlag):
    """What an occurrence is, as far as indexers say."""

    DEFINITION = 1
    IMPORT = 2


class Encoding(IntEnum):
    """What columns count. Indexers that do not say count UTF-16."""

    UNSPECIFIED = 0
    UTF8 = 1
    UTF16 = 2
    UTF32 = 3


class Occurrence(NamedTuple):
    """A symbol at a place: 0-based line, half-open columns in the document's encoding."""

    line: int
    start: int
    end: int
    symbol: str
    is_definition: bool


class Relationship(NamedTuple):
    """What the indexer says one symbol is to another."""

    symbol: str
    is_implementation: bool
    is_type_definition: bool


class Information(NamedTuple):
    """What the indexer knows of a symbol besides its places."""

    symbol: str
    documentation: tuple[str, ...]
    signature: str
    relationships: tuple[Relationship, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One indexed file. Occurrences over several lines are left out: no name is one."""

    path: str
    encoding: Encoding
    occurrences: tuple[Occurrence, ...]
    symbols: tuple[Information, ...]


@dataclass(slots=True)
class IndexFile:
    """Reads one index, which may be cut off or wrong anywhere; `faults` counts what was."""

    path: Path
    max_bytes: int
    is_whole: bool = True
    malformed: int = 0
    _spans: list[tuple[int, int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        size = self.path.stat().st_size
        if size > self.max_bytes:
            raise IndexTooLarge(
                f"The index has {size:,} bytes; at most {self.max_bytes:,} are read."
            )
        if size:
            with self.path.open("rb") as file, _mapped(file) as data:
                self._scan(data)

    def documents(self) -> Iterator[Document]:
        """Yield every readable document; the others are counted as malformed."""
        for message in self._messages(_DOCUMENTS, "Document"):
            yield _document(message)

    def external_symbols(self) -> Iterator[Information]:
        """Yield what the index says of symbols that it does not define."""
        for message in self._messages(_EXTERNAL_SYMBOLS, "SymbolInformation"):
            yield _information(message)

    def _messages(self, number: int, name: str) -> Iterator[Any]:
        if not self._spans:
            return
        kind = message_class(name)
        with self.path.open("rb") as file, _mapped(file) as data:
            for found, start, end in self._spans:
                if found == number:
                    try:
                        yield kind.FromString(data[start:end])
                    except DecodeError:
                        self.malformed += 1

    def _scan(self, data: mmap.mmap) -> None:
        """Note where the top-level fields are, up to the last whole one."""
        position = others = 0
        while position < len(data):
            found = _field(data, position)
            # An index has one field of another kind: its metadata.
            if found is None or len(self._spans) >= _MAX_FIELDS or others > _MAX_OTHER_FIELDS:
                self.is_whole = False
                return
            number, _start, position = found
            if number in (_DOCUMENTS, _EXTERNAL_SYMBOLS):
                self._spans.append(found)
            else:
                others += 1


def _mapped(file: Any) -> mmap.mmap:
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _field(data: mmap.mmap, position: int) -> tuple[int, int, int] | None:
    """Return number, start and end of the field that begins here; None if it is cut off."""
    tag, position = _varint(data, position)
    wire = tag & 7
    if wire == _BYTES:
        size, position = _varint(data, position)
        end = position + size
    elif wire == _VARINT:
        _, end = _varint(data, position)
    elif wire in (_FIXED32, _FIXED64):
        end = position + (4 if wire == _FIXED32 else 8)
    else:
        return None
    return (tag >> 3, position, end) if 0 < position <= end <= len(data) else None


def _varint(data: mmap.mmap, position: int) -> tuple[int, int]:
    """Return a number and the position after it; the position is -1 where there is none."""
    value = 0
    if position < 0:
        return 0, -1
    for shift, place in enumerate(range(position, min(position + _LONGEST_VARINT, len(data)))):
        byte = data[place]
        value |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:  # noqa: PLR2004
            return value, place + 1
    return 0, -1


def _document(message: Any) -> Document:
    encoding = message.position_encoding
    return Document(
        path=message.relative_path,
        encoding=Encoding(encoding) if encoding in list(Encoding) else Encoding.UNSPECIFIED,
        occurrences=tuple(
            found for occurrence in message.occurrences if (found := _occurrence(occurrence))
        ),
        symbols=tuple(map(_information, message.symbols)),
    )


def _occurrence(message: Any) -> Occurrence | None:
    symbol = message.symbol
    if not symbol:
        return None
    place = _place(message)
    if place is None or min(place) < 0:
        return None
    return Occurrence(*place, symbol, bool(message.symbol_roles & Role.DEFINITION))


def _place(message: Any) -> tuple[int, int, int] | None:
    numbers = message.range
    if len(numbers) == _RANGE_ON_ONE_LINE:
        return numbers[0], numbers[1], numbers[2]
    if message.HasField("single_line_range"):
        typed = message.single_line_range
        return typed.line, typed.start_character, typed.end_character
    return None


def _information(message: Any) -> Information:
    return Information(
        symbol=message.symbol,
        documentation=tuple(message.documentation),
        signature=message.signature_documentation.text,
        relationships=tuple(
            Relationship(found.symbol, found.is_implementation, found.is_type_definition)
            for found in message.relationships
        ),
    )


# --- The schema -----------------------------------------------------------------------------------

_FieldType = descriptor_pb2.FieldDescriptorProto
_INT, _TEXT, _FLAG, _MESSAGE = (
    _FieldType.TYPE_INT32,
    _FieldType.TYPE_STRING,
    _FieldType.TYPE_BOOL,
    _FieldType.TYPE_MESSAGE,
)

_SCHEMA: dict[str, tuple[tuple[str, int, int | str, bool], ...]] = {
    # name, number, type (or the name of a message), is repeated
    "Index": (
        ("documents", _DOCUMENTS, "Document", True),
        ("external_symbols", _EXTERNAL_SYMBOLS, "SymbolInformation", True),
    ),
    "Document": (
        ("relative_path", 1, _TEXT, False),
        ("occurrences", 2, "Occurrence", True),
        ("symbols", 3, "SymbolInformation", True),
        ("position_encoding", 6, _INT, False),
    ),
    "Occurrence": (
        ("range", 1, _INT, True),
        ("symbol", 2, _TEXT, False),
        ("symbol_roles", 3, _INT, False),
        ("single_line_range", 8, "SingleLineRange", False),
    ),
    "SingleLineRange": (
        ("line", 1, _INT, False),
        ("start_character", 2, _INT, False),
        ("end_character", 3, _INT, False),
    ),
    "SymbolInformation": (
        ("symbol", 1, _TEXT, False),
        ("documentation", 3, _TEXT, True),
        ("relationships", 4, "Relationship", True),
        ("signature_documentation", 7, "Signature", False),
    ),
    "Signature": (("text", 5, _TEXT, False),),
    "Relationship": (
        ("symbol", 1, _TEXT, False),
        ("is_implementation", 3, _FLAG, False),
        ("is_type_definition", 4, _FLAG, False),
    ),
}


def _pool() -> descriptor_pool.DescriptorPool:
    file = descriptor_pb2.FileDescriptorProto(name="scip.proto", package="scip", syntax="proto3")
    for name, fields in _SCHEMA.items():
        message = file.message_type.add(name=name)
        for field_name, number, kind, is_repeated in fields:
            label = _FieldType.LABEL_REPEATED if is_repeated else _FieldType.LABEL_OPTIONAL
            added = message.field.add(name=field_name, number=number, label=label)
            if isinstance(kind, str):
                added.type, added.type_name = _MESSAGE, f".scip.{kind}"
            else:
                added.type = kind  # type: ignore[assignment]
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


_POOL = _pool()
_CLASSES = {
    name: message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"scip.{name}"))
    for name in _SCHEMA
}


def message_class(name: str) -> Any:
    """Return the protobuf class of a message of the schema: it also writes indexes."""
    return _CLASSES[name]
