"""What an archive is made of: one JSON object a line, the same bytes for the same memories.

The first line is the header: schema, counts, the SHA-256 of all that follows. Then come the
settings, the memories by id (each with its versions, anchors, feedback and use), the links, who
superseded whom, and the review queue. Ids of memories are the archive's; numbers, vertices and
tokens of this server are never in it. Pure: knows nothing of rows.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeAlias
from uuid import UUID

SCHEMA = 1
MAXIMUM_LINE_BYTES = 4 << 20

Record: TypeAlias = dict[str, Any]

_DEEPEST = 16
_BYTE_ORDER_MARK = "\ufeff"


class Kind(StrEnum):
    """What a line is; an archive has them in this order."""

    HEADER = "header"
    SETTINGS = "settings"
    MEMORY = "memory"
    LINK = "link"
    SUCCESSION = "succession"
    REVIEW = "review"


class RecordInvalid(Exception):
    """A line is not a record that can be taken; the message is a sentence that says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of an archive: its number, and its record or what is wrong with it."""

    number: int
    record: Record | None = None
    problem: str = ""


def encoded(record: Mapping[str, Any]) -> bytes:
    """Return a record as its line: keys sorted, no blanks, UTF-8; what is empty is left out."""
    kept = {key: value for key, value in record.items() if value not in (None, "", [], {})}
    text = json.dumps(
        kept, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    )
    return text.encode() + b"\n"


def decoded(line: bytes) -> Record:
    """Return a line's record; raise RecordInvalid with the reason."""
    if len(line) > MAXIMUM_LINE_BYTES:
        raise RecordInvalid(f"The line is over {MAXIMUM_LINE_BYTES:,} bytes.")
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise RecordInvalid(f"The line is not UTF-8 (byte {error.start + 1}).") from error
    try:
        record = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise RecordInvalid("The line is nested too deeply.") from error
    except ValueError as error:
        raise RecordInvalid(f"The line is not JSON: {error}.") from error
    if not isinstance(record, dict):
        raise RecordInvalid("The line is not a JSON object.")
    _refuse_what_cannot_be_kept(record)
    return record


def lines(chunks: Iterator[bytes], *, first: int = 1) -> Iterator[Line]:
    """Yield the records of a stream, blank lines left out; never more than one line in memory.

    A byte order mark and Windows line ends are no problem. Lines are numbered from `first`.
    """
    for number, raw in enumerate(_split(chunks), start=first):
        line = raw.rstrip(b"\r")
        if number == 1:
            line = line.removeprefix(_BYTE_ORDER_MARK.encode())
        if not line.strip():
            continue
        try:
            yield Line(number=number, record=decoded(line))
        except RecordInvalid as error:
            yield Line(number=number, problem=str(error))


def moment(at: datetime | None) -> str | None:
    """Return a time as archives have it: ISO 8601 in UTC, with all its microseconds."""
    return None if at is None else at.astimezone(UTC).isoformat().replace("+00:00", "Z")


class Fields:
    """Reads a record field by field, and says in a sentence what is wrong with one."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self._record = {key: value for key, value in record.items() if value is not None}

    def text(self, key: str, default: str = "", *, maximum: int | None = None) -> str:
        value = self._record.get(key, default)
        if not isinstance(value, str):
            raise RecordInvalid(f"{key} must be a text.")
        if maximum is not None and len(value) > maximum:
            raise RecordInvalid(f"{key} has {len(value):,} characters; at most {maximum:,} go.")
        return value

    def one_of(self, key: str, choices: type[StrEnum] | tuple[str, ...], default: str) -> str:
        value = self.text(key, default)
        known = [str(choice) for choice in choices]
        if value not in known:
            raise RecordInvalid(f"{key} is {value[:40]!r}; it must be one of {', '.join(known)}.")
        return value

    def share(self, key: str, default: float) -> float:
        value = self._record.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise RecordInvalid(f"{key} must be a number from 0 to 1.")
        return float(value)

    def optional_share(self, key: str) -> float | None:
        return None if self._record.get(key) is None else self.share(key, 0.0)

    def numbers(self, key: str) -> list[float]:
        value = self._record.get(key, [])
        if not isinstance(value, list) or not all(type(part) in {int, float} for part in value):
            raise RecordInvalid(f"{key} must be a list of numbers.")
        return [float(part) for part in value]

    def count(self, key: str, default: int = 0) -> int:
        value = self._record.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 31:
            raise RecordInvalid(f"{key} must be a whole number, 0 or more.")
        return value

    def flag(self, key: str) -> bool:
        value = self._record.get(key, False)
        if not isinstance(value, bool):
            raise RecordInvalid(f"{key} must be true or false.")
        return value

    def id(self, key: str) -> UUID:
        found = self.optional_id(key)
        if found is None:
            raise RecordInvalid(f"{key} is missing.")
        return found

    def optional_id(self, key: str) -> UUID | None:
        value = self._record.get(key)
        if value is None:
            return None
        try:
            return UUID(value)
        except (AttributeError, TypeError, ValueError) as error:
            raise RecordInvalid(f"{key} is not an id.") from error

    def time(self, key: str) -> datetime | None:
        value = self._record.get(key)
        if value is None:
            return None
        try:
            at = datetime.fromisoformat(value)
        except (TypeError, ValueError) as error:
            raise RecordInvalid(f"{key} is not a time such as 2030-01-31T12:00:00Z.") from error
        if at.tzinfo is None:
            raise RecordInvalid(f"{key} needs a time zone, for example 2030-01-31T12:00:00Z.")
        return at

    def parts(self, key: str) -> list["Fields"]:
        return [Fields(part) for part in self.objects(key)]

    def part(self, key: str) -> "Fields | None":
        value = self._record.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise RecordInvalid(f"{key} must be an object.")
        return Fields(value)

    def objects(self, key: str) -> list[dict[str, Any]]:
        value = self._record.get(key, [])
        if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
            raise RecordInvalid(f"{key} must be a list of objects.")
        return value

    def object(self, key: str) -> dict[str, Any]:
        value = self._record.get(key, {})
        if not isinstance(value, dict):
            raise RecordInvalid(f"{key} must be an object.")
        return value

    def texts(self, key: str) -> list[str]:
        value = self._record.get(key, [])
        if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
            raise RecordInvalid(f"{key} must be a list of texts.")
        return value


def _split(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield what stands between line feeds; of an endless line no more than can be refused."""
    waiting = bytearray()
    for chunk in chunks:
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            yield bytes(waiting + part[: MAXIMUM_LINE_BYTES + 1])
            waiting.clear()
        waiting += rest[: max(MAXIMUM_LINE_BYTES + 1 - len(waiting), 0)]
    if waiting:
        yield bytes(waiting)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number in JSON")


def _refuse_what_cannot_be_kept(record: Record) -> None:
    """Refuse what JSON can say and Postgres cannot: NUL, halves of a character, infinity."""
    waiting: list[tuple[Any, int]] = [(record, 0)]
    while waiting:
        value, depth = waiting.pop()
        if depth > _DEEPEST:
            raise RecordInvalid("The line is nested too deeply.")
        if isinstance(value, dict):
            waiting += [(part, depth + 1) for item in value.items() for part in item]
        elif isinstance(value, list):
            waiting += [(part, depth + 1) for part in value]
        elif isinstance(value, str) and "\0" in value:
            raise RecordInvalid("A NUL character cannot be stored.")
        elif isinstance(value, str) and not _is_unicode(value):
            raise RecordInvalid("Half of a surrogate pair is no character.")
        elif isinstance(value, float) and not math.isfinite(value):
            raise RecordInvalid("Every number must be finite.")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
