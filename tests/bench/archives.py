"""A team's archive as it may look after a year: made up, the same each time, odd in parts.

Every memory has its own words; many have versions, anchors, links to memories and to code,
verdicts of members, uses. A tenth is private, some are retired or superseded, some are written
from right to left or in signs that programs trip over.
"""

import json
import random
from collections.abc import Iterator
from typing import Any

from tests.bench.vocabulary import sentence

_ID = "01890000-0000-7000-8000-{:012x}"
_TYPES = ("decision", "pattern", "insight", "context", "rule", "failure", "fix", "procedure")
_ODD = (
    "الفاتورة تُغلق مرة واحدة فقط: ",
    "חשבונית נסגרת פעם אחת בלבד: ",
    "=SUM(A1:A9) is no formula here: ",
    "\x01\x02 %PDF-1.7 looks binary: ",
    "👩‍👩‍👧 zero\u200bwidth and e\u0301 combined: ",
    '"quoted", with, commas; and \\ a backslash:\n\n- a list\n- of two\n\n',
)
_KINDS = ("EXPLAINS", "RELATES_TO", "REINFORCES", "EXEMPLIFIES")


def archive(
    *, memories: int, author: str, repository: str, symbols: list[tuple[str, str]]
) -> Iterator[bytes]:
    """Yield the lines of an archive; `symbols` are (text id, kind) of the repository's code."""
    chance = random.Random(7)
    for number in range(memories):
        yield _line(_memory(number, author, repository, chance))
    for number in range(1, memories, 2):
        yield _line(
            _tie({"memory": _id(number)}, {"memory": _id(chance.randrange(number))}, chance)
        )
    for number in range(0, memories, 4):
        if symbols:
            key, kind = chance.choice(symbols)
            code = {"id": key, "kind": kind, "repository": repository}
            yield _line(_tie({"memory": _id(number)}, code, chance) | {"kind": "RELATES_TO"})
    for number in range(3, memories, 25):
        succession = {"record": "succession", "memory": _id(number), "by": _id(number - 1)}
        yield _line(succession)


def _memory(number: int, author: str, repository: str, chance: random.Random) -> dict[str, Any]:
    odd = chance.choice(_ODD) if number % 20 == 0 else ""
    record: dict[str, Any] = {
        "record": "memory",
        "id": _id(number),
        "type": chance.choice(_TYPES),
        "author": author,
        "content": f"{odd}{_sentence(chance)} {_sentence(chance)} (case {number})",
        "tags": chance.sample(["billing", "auth", "queue", "cache", "release"], 2),
        "importance": round(chance.random(), 3),
        "created_at": f"2026-0{chance.randrange(1, 7)}-11T12:00:00.{number:06d}Z",
        "source": "agent",
        "session": f"session-{number // 40}",
    }
    if number % 10 == 1:
        record["visibility"] = "private"
    elif number % 2 == 0:
        record |= {"visibility": "repository", "repository": repository}
    if number % 3 == 0:
        record |= {"version": 3, "versions": [_version(nr, chance) for nr in (1, 2)]}
    if number % 4 == 0:
        record["anchors"] = [_anchor(repository, chance)]
        record["evidence"] = [{"kind": "path", "ref": f"src/part_{number % 97}.py"}]
    if number % 5 == 0:
        record["feedback"] = [
            {"user": author, "verdict": "helpful", "note": _sentence(chance), "given_at": _AT}
        ]
        record["use"] = {"recalled": number % 50, "recalled_at": _AT, "helpful": 1}
    if number % 25 == 3:
        record |= {"state": "superseded", "ended_at": _AT}
    elif number % 25 == 9:
        record |= {"state": "retired", "ended_at": _AT, "retired_at": _AT, "retired_by": author}
    return record


_AT = "2026-07-01T08:30:00Z"


def _version(number: int, chance: random.Random) -> dict[str, Any]:
    return {
        "number": number,
        "change": "refined",
        "by": "walter",
        "reason": _sentence(chance),
        "valid_from": f"2026-06-0{number}T12:00:00Z",
        "valid_to": f"2026-06-0{number + 1}T12:00:00Z",
        "snapshot": {"content": _sentence(chance), "state": "active", "importance": 0.5},
    }


def _anchor(repository: str, chance: random.Random) -> dict[str, Any]:
    start = chance.randrange(1, 400)
    return {
        "repository": repository,
        "kind": "lines",
        "path": f"src/part_{chance.randrange(97)}.py",
        "start_line": start,
        "end_line": start + 9,
        "content_hash": "ab" * 32,
        "state": "ok",
        "created_at": _AT,
    }


def _tie(source: dict[str, str], target: dict[str, str], chance: random.Random) -> dict[str, Any]:
    return {
        "record": "link",
        "source": source,
        "target": target,
        "kind": chance.choice(_KINDS),
        "weight": round(chance.random(), 3),
        "by": "walter",
        "at": 1_780_000_000,
    }


def _sentence(chance: random.Random) -> str:
    return sentence(chance.randrange(1_000_000))


def _id(number: int) -> str:
    return _ID.format(number)


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"
