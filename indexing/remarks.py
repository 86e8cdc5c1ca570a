"""The few things of a review that somebody should look at: pure.

What is here becomes a line with a box to tick in the comment, an annotation, a result of SARIF.
Everything else that a review knows is to read, not to act on.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import Final

from indexing.changes import SymbolStatus
from indexing.missing.values import MissingChange
from indexing.values import ChangedSymbol, Review, ReviewedDependent, ReviewedMemory
from memory.anchors import AnchorState

KEY_PATTERN: Final = r"[0-9a-f]{12}"
_MOST_LEFT_BEHIND: Final = 5
_MOST_DECISIONS: Final = 3
_PLACES_NAMED: Final = 3
_LIKELY: Final = 0.5
_KEY_CHARACTERS: Final = 12


class Level(StrEnum):
    """How much a remark matters; as annotations and SARIF have it."""

    WARNING = "warning"
    NOTICE = "notice"


class RemarkKind(StrEnum):
    """What a remark is about: the `rule` of SARIF and Code Quality."""

    MISSING = "missing-change"
    DEPENDENTS = "dependents-left-behind"
    DECISION = "decision-contradicted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One thing in a pull request that somebody should look at, and may dismiss.

    `key` is the same after every push while the thing is the same. `path` is where to look, `line`
    is None where no line of it is meant.
    """

    key: str
    kind: RemarkKind
    level: Level
    path: str
    line: int | None
    message: str
    probability: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dismissal:
    """That somebody said a remark does not matter. `via`: comment, api or console."""

    by: str
    via: str
    at: datetime
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticks:
    """Which remarks somebody ticked in the comment, and which ticks were taken out again."""

    dismissed: Collection[str] = ()
    restored: Collection[str] = ()


NOTHING_DISMISSED: Final[Mapping[str, Dismissal]] = {}


def remarks_of(review: Review) -> tuple[Remark, ...]:
    """Return what a review remarks, what may be forgotten first; thirteen at most."""
    forgotten = tuple(_missing(review))
    named = frozenset(remark.path for remark in forgotten)
    return (*forgotten, *_left_behind(review, named), *_contradicted(review))


def key_of(kind: RemarkKind, *parts: str) -> str:
    """Return what a remark is known by: never a line number, for those move with every push."""
    text = "\0".join((kind, *parts))
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_KEY_CHARACTERS]


def _missing(review: Review) -> list[Remark]:
    return [
        Remark(
            key=key_of(RemarkKind.MISSING, one.path),
            kind=RemarkKind.MISSING,
            level=Level.WARNING if one.probability >= _LIKELY else Level.NOTICE,
            path=one.path,
            line=one.symbols[0].line if one.symbols else None,
            message=f"Perhaps forgotten ({one.probability:.0%} likely): {one.reason}{_inside(one)}",
            probability=one.probability,
        )
        for one in review.missing
    ]


def _inside(missing: MissingChange) -> str:
    if not missing.symbols:
        return ""
    named = ", ".join(f"{one.name} (line {one.line}, {one.reason})" for one in missing.symbols)
    return f" Most likely in {named}."


def _left_behind(review: Review, named: frozenset[str]) -> list[Remark]:
    """Return the symbols whose users the change leaves as they are, though they may have to follow.

    What is said of a file already is not said of it again.
    """
    remarks = []
    for symbol in review.changed_symbols.items:
        if not (symbol.signature_changed or symbol.status is SymbolStatus.REMOVED):
            continue
        users = [
            one
            for one in review.dependents.items
            if not one.is_in_change and one.node.path not in named and _uses(one, symbol)
        ]
        abroad = [
            f"{use.repository}: {use.path}:{use.line}"
            for one in review.repositories.items
            for use in one.uses
            if use.target in {symbol.id, symbol.old_id}
        ]
        if users or abroad:
            here = [_place(one, symbol) for one in users]
            remarks.append(_of_symbol(symbol, [*here, *abroad]))
    return remarks[:_MOST_LEFT_BEHIND]


def _uses(dependent: ReviewedDependent, symbol: ChangedSymbol) -> bool:
    return any(use.changed_id == symbol.id for use in dependent.uses)


def _of_symbol(symbol: ChangedSymbol, users: list[str]) -> Remark:
    is_gone = symbol.status is SymbolStatus.REMOVED
    places = users[:_PLACES_NAMED]
    more = f" and {len(users) - len(places):,} more" if len(users) > len(places) else ""
    verb = "still uses it" if len(users) == 1 else "still use it"
    happened = "is gone" if is_gone else "has another signature"
    return Remark(
        key=key_of(RemarkKind.DEPENDENTS, symbol.id),
        kind=RemarkKind.DEPENDENTS,
        level=Level.WARNING,
        path=symbol.path,
        line=None if is_gone else symbol.start_line,
        message=f"{symbol.name} {happened}, and {', '.join(places)}{more} {verb} as it was",
    )


def _place(dependent: ReviewedDependent, symbol: ChangedSymbol) -> str:
    lines = [use.line for use in dependent.uses if use.changed_id == symbol.id and use.line]
    return f"{dependent.node.path}:{lines[0] if lines else dependent.node.start_line}"


def _contradicted(review: Review) -> list[Remark]:
    """Return the decisions that the change may go against, without a word of what they say.

    A remark is kept, and stands in reports; what a memory says is only ever quoted from itself.
    """
    found = [one for one in review.memories.items if one.contradiction]
    return [_of_decision(one, review) for one in found[:_MOST_DECISIONS]]


def _of_decision(memory: ReviewedMemory, review: Review) -> Remark:
    lost = next((one for one in memory.broken if one.state is not AnchorState.OK), None)
    first = next((one.path for one in review.files.items), "")
    why = (
        f"it cites {lost.cites}, which is not as it was"
        if lost
        else "the change brings in what was decided against"
    )
    return Remark(
        key=key_of(RemarkKind.DECISION, str(memory.id)),
        kind=RemarkKind.DECISION,
        level=Level.WARNING,
        path=lost.path if lost else first,
        line=None,
        message=f"May go against a decision that the team noted: {why} (memory {memory.id})",
    )
