"""Other tools' files in our words: lines of the reference system's export, instruction files. Pure.

The reference writes `memory_type` where we write `type`, times as numbers or texts, and fields that
mean nothing here; others call the text `memory` or `text`. What is ours already is left as it is.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from memory.portability.records import Record
from memory.seeds import Document, is_instructions, seeds_of
from memory.values import MemoryType

_TEXTS: Final = ("content", "memory", "text")
_TYPES: Final = ("memory_type", "kind", "category")
_SHARED: Final = ("tags", "importance", "confidence")


def native(record: Record) -> Record:
    """Return a record of another tool's as one of ours; ours, and what is nobody's, unchanged."""
    is_ours = "record" in record or "type" in record or "header" in record
    text = next((record[key] for key in _TEXTS if isinstance(record.get(key), str)), None)
    named = [record[key] for key in _TYPES if isinstance(record.get(key), str)]
    if is_ours or text is None or not (named or "content" not in record):
        return record
    known = [kind for kind in named if kind in set(MemoryType)]
    made: dict[str, Any] = {"content": text, "type": known[0] if known else MemoryType.CONTEXT}
    made |= {key: record[key] for key in _SHARED if record.get(key) is not None}
    if (key := _id(record.get("id"))) is not None:
        made["id"] = key
    if (at := _time(record.get("created_at"))) is not None:
        made["created_at"] = at
    return made


def statements(path: str, text: str) -> Iterator[Record]:
    """Yield what an instruction file (CLAUDE.md, AGENTS.md, Cursor rules) states, each a record."""
    for seed in seeds_of([Document(path=path, text=text)], []):
        yield {
            "content": seed.content,
            "type": seed.memory_type.value,
            "importance": seed.importance,
            "evidence": [{"kind": "file", "ref": seed.place}],
        }


def states(path: str, text: str) -> bool:
    """Say whether a file is read as statements: an instruction file that is no note of a vault."""
    return is_instructions(path) and "\nversion:" not in text[:2_000]


def _id(value: object) -> str | None:
    try:
        return str(UUID(str(value)))
    except ValueError:
        return None


def _time(value: object) -> str | None:
    """Return a time as archives have it; None for what is none."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value, UTC).isoformat()
        at = datetime.fromisoformat(str(value))
    except (ValueError, OverflowError, OSError):
        return None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).isoformat()
