"""What sentences of a session claim that outlives it: preferences, rules, decisions. Pure.

Rules of cue words: a sentence counts when it says that something holds from now on, not when it
tells what happened. Code, quotations and questions are no claims.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from memory.values import MemoryType

_SHORTEST: Final = 18
_LONGEST: Final = 320
_MOST_READ: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One statement, what it is from, and how sure a machine can be that it is one."""

    memory_type: MemoryType
    content: str
    observations: tuple[int, ...] = ()
    confidence: float = 0.6
    rationale: str = ""
    is_of_words: bool = True  # what somebody said, rather than what was run


def claims_of_prompt(text: str, *, observation: int) -> list[Claim]:
    """Return what a user said that shall hold: preferences, rules of the team, decisions."""
    return [
        Claim(
            memory_type=kind,
            content=_tidy(sentence),
            observations=(observation,),
            confidence=confidence,
        )
        for sentence in _sentences(text)
        for kind, confidence in [_kind_of_said(sentence)]
        if kind is not None
    ]


def claims_of_answer(text: str, *, observation: int) -> list[Claim]:
    """Return the decisions that an agent's answer tells with a reason or an alternative."""
    return [
        Claim(
            memory_type=MemoryType.DECISION,
            content=_tidy(sentence),
            observations=(observation,),
            confidence=0.55,
        )
        for sentence in _sentences(text)
        if _TOLD_DECISION.search(sentence) and _REASON.search(sentence)
    ]


def chosen(claims: Iterable[Claim], *, most: int) -> list[Claim]:
    """Return the surest claims, none twice, at most three of a kind."""
    kept: list[Claim] = []
    for claim in sorted(claims, key=lambda one: -one.confidence):
        same = [one for one in kept if _words(one.content) == _words(claim.content)]
        of_kind = [one for one in kept if one.memory_type is claim.memory_type]
        if not same and len(of_kind) < _MOST_OF_A_KIND and len(kept) < most:
            kept.append(claim)
    return kept


def _kind_of_said(sentence: str) -> tuple[MemoryType | None, float]:
    if _DESCRIBES.search(sentence):
        return None, 0.0
    if _SAID_DECISION.search(sentence):
        return MemoryType.DECISION, 0.75 if _REASON.search(sentence) else 0.65
    if _TEAM.search(sentence):
        return MemoryType.RULE, 0.7
    if _LASTING.search(sentence):
        return MemoryType.PREFERENCE, 0.7
    return None, 0.0


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text's prose, without code, quotations, questions."""
    prose = re.sub(r"```.*?(?:```|\Z)", "\n", text[:_MOST_READ], flags=re.DOTALL)
    for line in prose.splitlines():
        plain = re.sub(r"^\s*(?:[-*•]|\d+[.)])\s+", "", line)
        if plain.lstrip().startswith((">", "    ", "|", "<")):
            continue
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z\"'(`])", plain):
            trimmed = sentence.strip().strip("*_ ")
            if _SHORTEST <= len(trimmed) <= _LONGEST and not trimmed.endswith("?"):
                yield trimmed


def _tidy(sentence: str) -> str:
    """Return a sentence without what leads to it, as a sentence of its own."""
    plain = sentence
    while (shorter := _LEADING.sub("", plain)) != plain:
        plain = shorter
    plain = " ".join(plain.split()).rstrip(" ;,:")
    plain = plain[:1].upper() + plain[1:]
    return plain if plain.endswith((".", "!", ")")) else f"{plain}."


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.lower()))


_MOST_OF_A_KIND: Final = 3
_LEADING = re.compile(
    r"""^(?:(?:ok(?:ay)?|and|also|but|so|btw|by\ the\ way|oh|hmm|well|right|yes|no|great|thanks
      |please|note|fyi|one\ more\ thing|for\ the\ record|just|then|good|perfect
      |cool)\b[,:;.!]*\s+)""",
    re.VERBOSE | re.IGNORECASE,
)
# What is told of, not wished for: "the test always fails", "never mind".
_DESCRIBES = re.compile(
    r"""\bnever\ mind\b | \b(?:it|this|that|which|they|he|she|who|test|tests|build|call|function
      |endpoint|query|server|page|request|response|loop|job|worker|method|code|value|list|object)\s+
      (?:will\s+|would\s+|has\s+|have\s+|is\s+|are\s+|was\s+)?(?:always|never)\b
      | \b(?:always|never)\s+(?:been|was|were|is|are|happens|fails|failed|returns|worked|works
        |gets|got|had|has|seen|saw|reached|called|runs|ran|finishes)\b
      | \bwhy\b.*\b(?:always|never)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_LASTING = re.compile(
    r"""^(?:\W*(?:please|and|also|ok(?:ay)?|but|so|btw|note|remember)[,:]?\s+)*(?:always|never)\s+\w
      | \b(?:you\ (?:should|must)|make\ sure\ (?:to|you)|be\ sure\ to|i\ (?:want|need)\ you\ to)\s+
        (?:always|never)\b
      | \bi\s+(?:always|never)\s+(?:want|use|write|like|need)
      | \bi(?:'d|\ would)?\s+(?:much\s+|really\s+|strongly\s+)?(?:prefer|rather|hate|dislike
        |(?:don't|do\ not)\ (?:like|want))\b
      | \b(?:from\ now\ on|going\ forward|in\ (?:the\ )?future|as\ a\ rule|by\ default|every\ time
        |whenever\ you|each\ time\ you|for\ (?:all|any)\ future)\b
      | \bmy\ preference\b
      | ^(?:\W*please\s+)?(?:don't|do\ not|stop)\s+\w+.*\b(?:ever|anymore|any\ more|again
        |in\ this\ repo(?:sitory)?)\b
      | \bprefer\s+\S+.*\b(?:over|to|instead\ of|rather\ than)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_TEAM = re.compile(
    r"""\b(?:we|the\ team|everyone|everybody|nobody|no\ one)\s+(?:here\s+)?(?:always|never
        |must(?:\ not)?|only|don't|do\ not|have\ to|require)\b
      | \b(?:our|the\ team's|team)\s+(?:convention|rule|policy|standard|guideline)s?\b
      | \b(?:in|for)\ this\ (?:repo(?:sitory)?|project|code\ ?base),?\s.*\b(?:must|always|never|only
        |should|use|don't|do\ not)\b
      | \b(?:all|every|any)\s+[\w\s`/.-]{2,60}\bmust(?:\ not)?\b
      | \b\w+\s+must\ (?:always|never)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_SAID_DECISION = re.compile(
    r"""\bwe(?:'ve|\ have)?\s+(?:just\s+|now\s+|finally\s+)?(?:decided|agreed|chose|settled
        |opted|picked)\b
      | \b(?:let's|let\ us)\s+(?:go\ with|stick\ with|stay\ with|switch\ to|settle\ on
        |keep\ using)\b
      | \bdecision\s*: | \bit\ (?:was|is|has\ been)\ decided\b
      | \bwe(?:'ll|\ will|'re\ going\ to|\ are\ going\ to)\s+(?:use|go\ with|keep|store|stay|drop
        |move)\b        .*\b(?:because|since|instead\ of|rather\ than|so\ that|,\ not)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_TOLD_DECISION = re.compile(
    r"""\b(?:i|we)(?:'ve|\ have)?\s+(?:decided|chose|opted|settled|went\ with|picked|kept)\b
      | \bdecision\s*: | \bthe\ (?:decision|choice)\ (?:was|is)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_REASON = re.compile(
    r"\b(?:because|since|instead of|rather than|so that|over|as it|to avoid|due to)\b",
    re.IGNORECASE,
)
