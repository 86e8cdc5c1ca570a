"""The LoCoMo benchmark as it is published: conversations in sessions, questions with evidence.

Its licence keeps it out of the product: it is read from where LOCOMO names it, or from
../shared/data, and nothing here repeats a word of it. Category 5 has no answers.
"""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import IntEnum
from itertools import count
from pathlib import Path
from typing import Any, Final

_PLACES: Final = ("../shared/data/locomo10.json",)
_EVIDENCE: Final = re.compile(r"D:?(\d+):0*(\d+)")  # some say D:11:26 or D30:05
_TURNS_OF_A_CHUNK: Final = 4


class Category(IntEnum):
    """What a question asks for, as the benchmark's authors number it."""

    MULTI_HOP = 1
    TEMPORAL = 2
    OPEN_DOMAIN = 3
    SINGLE_HOP = 4
    ADVERSARIAL = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one person said at once, with the caption of the picture they sent."""

    id: str
    session: int
    at: datetime
    author: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """What becomes one memory: a turn, or four turns that follow each other in a session."""

    session: int
    at: datetime
    authors: tuple[str, ...]
    text: str
    turn_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    text: str
    answer: str
    category: Category
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    name: str
    is_held_out: bool
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]


def find_data() -> Path | None:
    """Return where the data is; None when it is not on this machine."""
    named = os.environ.get("LOCOMO")
    places = [named] if named else _PLACES
    return next((path for path in map(Path, places) if path.is_file()), None)


def read_conversations(path: Path) -> list[Conversation]:
    """Return the conversations; those after the fifth are held out."""
    samples = json.loads(path.read_text())
    return [_conversation(sample, place) for place, sample in enumerate(samples)]


def as_turns(conversation: Conversation) -> list[Unit]:
    return [_unit([turn], turn.text) for turn in conversation.turns]


def as_chunks(conversation: Conversation) -> list[Unit]:
    """Return four turns at a time, never across the end of a session, each under its name."""
    sessions: dict[int, list[Turn]] = {}
    for turn in conversation.turns:
        sessions.setdefault(turn.session, []).append(turn)
    return [
        _unit(turns, "\n".join(f"{turn.author}: {turn.text}" for turn in turns))
        for session in sessions.values()
        for turns in batched_turns(session)
    ]


def batched_turns(turns: Sequence[Turn]) -> list[Sequence[Turn]]:
    starts = range(0, len(turns), _TURNS_OF_A_CHUNK)
    return [turns[start : start + _TURNS_OF_A_CHUNK] for start in starts]


def _conversation(sample: dict[str, Any], place: int) -> Conversation:
    turns = tuple(_turns(sample["conversation"]))
    known = {turn.id for turn in turns}
    return Conversation(
        name=sample["sample_id"].lower(),
        is_held_out=place >= 5,
        turns=turns,
        questions=tuple(_question(item, known) for item in sample["qa"]),
    )


def _turns(conversation: dict[str, Any]) -> list[Turn]:
    turns: list[Turn] = []
    for session in count(1):
        if f"session_{session}" not in conversation:
            return turns
        at = _moment(conversation[f"session_{session}_date_time"])
        turns += [
            Turn(
                id=said["dia_id"],
                session=session,
                at=at,
                author=said["speaker"],
                text=_with_caption(said.get("text", ""), said.get("blip_caption")),
            )
            for said in conversation[f"session_{session}"]
        ]
    return turns


def _with_caption(text: str, caption: str | None) -> str:
    return f"{text.strip()} [Image: {caption}]".strip() if caption else text.strip()


def _moment(text: str) -> datetime:
    return datetime.strptime(text.strip(), "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


def _question(item: dict[str, Any], known: set[str]) -> Question:
    cited = [
        f"D{int(session)}:{int(turn)}"
        for text in item.get("evidence", [])
        for session, turn in _EVIDENCE.findall(text)
    ]
    return Question(
        text=item["question"],
        answer=str(item.get("answer", "")),
        category=Category(item["category"]),
        evidence=frozenset(cited) & known,
    )


def _unit(turns: Sequence[Turn], text: str) -> Unit:
    return Unit(
        session=turns[0].session,
        at=turns[0].at,
        authors=tuple(dict.fromkeys(turn.author for turn in turns)),
        text=text,
        turn_ids=tuple(turn.id for turn in turns),
    )
