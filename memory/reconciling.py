"""What a new statement is to one that is there: the same, an update, a contradiction, alike.

Nearness of vectors alone decides nothing: "release 1.1.1" and "release 1.1.2" are .97 alike, a
rule and its negation more. So two statements are the same only when they are near and the one that
is there says all that the new one says: the same numbers, names and negations, and every word that
carries meaning, in order. Everything else is kept and reported. The thresholds are those that were
measured before us; `tests/bench/reconciling.py` shows what labelled and real pairs become. Pure.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from codemem.words import code_tokens, identifiers
from memory.values import MemoryType, Relation

SAME_COSINE: Final = 0.95
SAME_TRIGRAMS: Final = 0.80
UPDATE_COSINE: Final = 0.92
SIMILAR_COSINE: Final = 0.70
# Without vectors: the share of words in common that says as much.
SIMILAR_WORDS: Final = 0.50
# Of the words of the shorter one, how many the other must have for the two to be about one thing.
SUBJECT_SHARED: Final = 0.60
FRAME_SHARED: Final = 0.75

_MOST_COMPARED = 8_000

_NORMS = frozenset(
    {
        MemoryType.DECISION,
        MemoryType.RULE,
        MemoryType.REQUIREMENT,
        MemoryType.PATTERN,
        MemoryType.PROCEDURE,
        MemoryType.PREFERENCE,
        MemoryType.STYLE,
        MemoryType.HABIT,
    }
)
_FINDINGS = frozenset({MemoryType.INSIGHT, MemoryType.FAILURE, MemoryType.FIX, MemoryType.SUMMARY})
# What happened once: another number is another event.
_EVENTS = frozenset({MemoryType.FAILURE, MemoryType.FIX, MemoryType.SUMMARY, MemoryType.QUESTION})


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the new statement is to the other, and the sentence that says why."""

    relation: Relation
    similarity: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What a text says, as far as it can be compared without understanding it."""

    text: str
    words: tuple[str, ...]  # stems that carry meaning, in order, without numbers
    numbers: frozenset[str]
    values: frozenset[str]  # numbers that something is, has or takes
    names: frozenset[str]  # identifiers and paths
    negations: int
    trigrams: frozenset[str]


def family(memory_type: MemoryType) -> frozenset[MemoryType]:
    """Return the types a memory is compared with: what shall be, or what is; questions apart.

    Context is what nobody thought about: it may be either.
    """
    if memory_type is MemoryType.QUESTION:
        return frozenset({MemoryType.QUESTION})
    if memory_type is MemoryType.CONTEXT:
        return _NORMS | _FINDINGS | {MemoryType.CONTEXT}
    return (_NORMS if memory_type in _NORMS else _FINDINGS) | {MemoryType.CONTEXT}


def compare(*, new: str, old: str, cosine: float | None, memory_type: MemoryType) -> Verdict | None:
    """Return what a new text is to an old one, None when they have little to do with each other.

    `cosine` is that of their vectors, None where one has none: then words decide.
    """
    fresh, known = statement(new), statement(old)
    shared = _jaccard(fresh.words, known.words)
    if (shared < SIMILAR_WORDS) if cosine is None else (cosine < SIMILAR_COSINE):
        return None
    similarity = round(shared if cosine is None else cosine, 3)
    for relation, reason in _verdicts(fresh, known, cosine=cosine, memory_type=memory_type):
        if reason:
            return Verdict(relation=relation, similarity=similarity, reason=reason)
    return None


@lru_cache(maxsize=256)
def statement(text: str) -> Statement:
    """Return what can be compared of a text, of its first 8,000 characters."""
    read = text[:_MOST_COMPARED]
    plain = _NEGATED.sub(" not ", read.lower())
    words = _words(plain)
    collapsed = " ".join(re.findall(r"\w+", read.lower()))
    return Statement(
        text=read if len(text) <= _MOST_COMPARED else text,
        words=tuple(word for word in words if not _NUMBER.fullmatch(word)),
        numbers=frozenset(_NUMBERS.findall(read.lower())),
        values=frozenset(_VALUES.findall(read.lower())),
        names=frozenset(name.lower() for name in identifiers(read)),
        negations=len(_NEGATION.findall(plain)),
        trigrams=frozenset(collapsed[at : at + 3] for at in range(len(collapsed) - 2)),
    )


def _verdicts(
    new: Statement, old: Statement, *, cosine: float | None, memory_type: MemoryType
) -> Iterator[tuple[Relation, str]]:
    """Yield the relations in the order in which they are looked for, each with its reason."""
    yield Relation.SAME, _same(new, old, cosine)
    # "No longer" denies, too; but whoever says it knows what was said before.
    yield Relation.UPDATE, _announced_update(new, old)
    yield Relation.CONFLICT, _conflict(new, old, memory_type)
    yield Relation.UPDATE, _update(new, old, cosine)
    share = f"{cosine:.2f} alike" if cosine is not None else "many words in common"
    yield (
        Relation.SIMILAR,
        f"It is about the same ({share}); merge the two if one statement says both.",
    )


def _same(new: Statement, old: Statement, cosine: float | None) -> str:
    near = (cosine or 0.0) >= SAME_COSINE or _share(new.trigrams, old.trigrams) >= SAME_TRIGRAMS
    if not near or not new.words:
        return ""
    facts = (new.numbers, new.names, new.negations % 2)
    if facts != (old.numbers, old.names, old.negations % 2) or not _is_within(new.words, old.words):
        return ""
    gone, _ = _difference(old.words, new.words)
    if gone & _QUALIFIERS:
        return ""
    return "It is there already, in nearly the same words; nothing of the new one was missing."


def _conflict(new: Statement, old: Statement, memory_type: MemoryType) -> str:
    shared = _shared_of_shorter(new.words, old.words)
    gone, come = _difference(old.words, new.words)
    # Where nothing else is different, little need be shared: "the endpoint is public".
    if shared < SUBJECT_SHARED and not len(gone) == len(come) == 1:
        return ""
    if shared >= FRAME_SHARED and new.negations % 2 != old.negations % 2:
        return "One of the two denies what the other says."
    for one, other in _OPPOSITES:
        if (one in gone and other in come) or (other in gone and one in come):
            return f"One says {one!r} where the other says {other!r}."
    if memory_type in _EVENTS or _EVENT_WORDS & set(new.words):
        return ""
    gone_numbers, come_numbers = old.numbers - new.numbers, new.numbers - old.numbers
    # One value each, where a value stands: "module 3" and "module 5" are two subjects.
    is_value = gone_numbers <= old.values and come_numbers <= new.values
    is_one_each = len(gone_numbers) == len(come_numbers) == 1
    if is_one_each and is_value and _jaccard(new.words, old.words) >= FRAME_SHARED:
        return f"Of the same subject one says {min(gone_numbers)}, the other {min(come_numbers)}."
    return ""


def _announced_update(new: Statement, old: Statement) -> str:
    cue = _CUES.search(new.text)
    if not cue or _shared_of_shorter(new.words, old.words) < SUBJECT_SHARED:
        return ""
    said = " ".join(cue.group().split()).lower()
    return f"It says {said!r} of the same subject; if it replaces the other, say supersedes."


def _update(new: Statement, old: Statement, cosine: float | None) -> str:
    if _is_within(old.words, new.words) and len(new.words) > len(old.words):
        return "It says all that the other says, and more; if it replaces it, say supersedes."
    if (cosine or 0.0) >= UPDATE_COSINE:
        return (
            "It says nearly the same with other details; if it replaces the other, say supersedes."
        )
    return ""


def _words(text: str) -> list[str]:
    """Return the stems that carry meaning, in order.

    Finer than for searching: "before" and "after", "on" and "off" tell statements apart.
    """
    kept = []
    for word in _WORD.findall(text):
        if word in _LIGHT:
            continue
        stems = code_tokens(word) or [word]
        kept.append(stems[0])
    return kept


def _is_within(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    """Tell whether all words of one stand in the other, in the same order."""
    following = iter(whole)
    return all(word in following for word in part)


def _difference(old: tuple[str, ...], new: tuple[str, ...]) -> tuple[set[str], set[str]]:
    """Return the words that only the old one has, and those that only the new one has."""
    gone, come = Counter(old) - Counter(new), Counter(new) - Counter(old)
    return set(gone), set(come)


def _shared_of_shorter(one: tuple[str, ...], other: tuple[str, ...]) -> float:
    shorter = min(len(set(one)), len(set(other)))
    return len(set(one) & set(other)) / shorter if shorter else 0.0


def _jaccard(one: Iterable[str], other: Iterable[str]) -> float:
    return _share(frozenset(one), frozenset(other))


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    union = len(one | other)
    return len(one & other) / union if union else 0.0


def _stems(words: str) -> tuple[str, ...]:
    return tuple((code_tokens(word) or [word])[0] for word in words.split())


_WORD = re.compile(r"[^\W_][\w.+#/-]*[\w+#]|[^\W_]")
_NUMBER = re.compile(r"v?\d[\d.,:_-]*[a-z%]{0,3}")
_NUMBER_TEXT = r"v?\d+(?:[.,:]\d+)*(?:[-.]?(?:rc|beta|alpha|post|dev)\.?\d*)?%?"
_NUMBERS = re.compile(rf"(?<![\w.]){_NUMBER_TEXT}")
_VALUES = re.compile(
    r"(?:\b(?:is|are|was|be|to|at|of|than|most|least|after|every|within|for|by|in|about|only|exactly"
    rf"|ha[sd]|have|takes?|uses?|under|over|above|below|keeps?|needs?|allows?|with)|[=:<>])\s*({_NUMBER_TEXT})"
)
_NEGATED = re.compile(r"(?<=[a-z])n['\u2019]t\b|\bcannot\b")
_NEGATION = re.compile(
    r"\b(?:not|never|no|none|nobody|nothing|neither|nor|without|hardly|unless)\b"
)
_LIGHT: Final = frozenset(
    "a an the is are was were be been being am it its this that these those we our us you your i my"
    " please also just very really so then there here will would shall has have had do does did not"
    " never no none and which who as of to in for with at by".split()
)
_CUES = re.compile(
    r"""\b(?:no\ longer|any\ ?more|instead\ of|replace[sd]?|replacing|renamed|deprecated|obsolete
      |(?:switched|moved|migrated|changed)\ (?:from|to)|as\ of|since\ (?:v?\d|version)
      |from\ now\ on|used\ to|was\ previously|formerly|is\ now|are\ now|we\ now
      |now\ (?:uses?|is|are|has|have|must)|supersedes?|outdated|revised|updated\ to)\b""",
    re.VERBOSE | re.IGNORECASE,
)
# What takes back or narrows the rest of a sentence: without it, the sentence says something else.
_QUALIFIERS: Final = frozenset(
    _stems(
        "revert reverted reverts undo except only unless until if when while but sometimes some"
        " most mostly usually rarely seldom almost wrong avoid stop disable remove drop deprecated"
        " false instead than before after maybe perhaps draft formerly should may might"
    )
)
_EVENT_WORDS: Final = frozenset(_stems("release released bump upgrade version changelog"))
_OPPOSITES: Final = tuple(
    pair
    for line in """
    enable disable / enabled disabled / allow forbid / allow deny / allow prohibit / permit forbid
    accept reject / use avoid / prefer avoid / always never / required optional / mandatory optional
    must may / sync async / synchronous asynchronous / increase decrease / before after / on off
    true false / public private / include exclude / open close / start stop / add remove / add drop
    show hide / lock unlock / tabs spaces / first last / above below / up down / more less
    fast slow
    maximum minimum / at-least at-most / lower upper / lowercase uppercase / safe unsafe / pass fail
    mutable immutable / static dynamic / strict lenient / stateless stateful / internal external
    ascending descending / left right / row column / rows columns / single double / eager lazy
    blocking nonblocking / local remote / encode decode / server client / read write
    inside outside
    keep delete / keep remove / keep drop / early late / online offline / push pull / merge rebase
    stable unstable / valid invalid / dark light / success failure / supported unsupported
    """.replace("\n", " / ").split("/")
    if len(pair := _stems(line)) == len(("one", "other"))
)
