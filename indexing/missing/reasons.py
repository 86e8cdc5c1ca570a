"""Why a file is suggested, in a sentence with the numbers behind it. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from indexing.missing.together import Company

_NAMED: Final = 3
_OF_WORDS: Final = ("shared_words", "rare_words", "gone_words", "word_parts")
_LEAST_SHARE: Final = 0.15
"""What adds less than this share of a file's score is not why it is suggested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """What can be told of one file.

    `partner` is the shown file that it changed with most often, and how often. `words` are the
    identifiers of the diff that it holds, the rarest first. `namesake` is a shown file whose name
    it shares; `named` are words of its own name in the changed lines, `told` in the change's title.
    """

    partner: tuple[str, Company] | None
    words: Sequence[str]
    redefined: Sequence[str]
    dependents: int
    namesake: str | None
    named: Sequence[str]
    told: Sequence[str]
    is_test: bool


def sentence(grounds: Grounds, points: dict[str, float]) -> str:
    """Return the reason: the kinds of evidence that weigh most, at most three, in one sentence.

    `points` is what each kind of evidence adds to the score of the file.
    """
    told: list[tuple[float, str]] = []
    whole = sum(points.values()) or 1.0
    if grounds.partner and grounds.partner[1].together:
        path, company = grounds.partner
        told.append(
            (
                points["together"] + points["messages"],
                f"changed in {company.together} of {_commits(company)} of {path}",
            )
        )
    if grounds.redefined:
        told.append(
            (
                points["redefined_words"] + points["dependents"],
                f"uses {_listed(grounds.redefined)}, whose definition changes",
            )
        )
    elif grounds.dependents:
        uses = _count(grounds.dependents, "symbol")
        told.append((points["dependents"], f"{uses} in it depend directly on what changes"))
    if grounds.words:
        weight = sum(points[kind] for kind in _OF_WORDS)
        told.append((weight, f"holds {_listed(grounds.words)} of the changed lines"))
    if grounds.namesake:
        told.append((points["names"], f"is named like {grounds.namesake}"))
    elif grounds.named:
        told.append(
            (points["named"], f"is named for {_listed(grounds.named)}, in the changed lines")
        )
    if grounds.told:
        told.append((points["told_paths"], f"is named for {_listed(grounds.told)}, in the title"))
    if grounds.is_test:
        told.append((points["is_test"], "is a test, and the diff has none"))
    told.sort(key=lambda one: -one[0])
    kept = [text for weight, text in told if weight >= _LEAST_SHARE * whole][:_NAMED]
    text = "; ".join(kept or [text for _, text in told[:1]] or ["is near what changes"])
    return text[:1].upper() + text[1:] + "."


def _commits(company: Company) -> str:
    return _count(company.commits, "commit")


def _listed(words: Sequence[str]) -> str:
    rest = len(words) - _NAMED
    more = f" and {rest} more" if rest > 0 else ""
    return ", ".join(words[:_NAMED]) + more


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
