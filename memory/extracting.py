"""Summaries without a language model: the sentences that say most of what all of them say. Pure.

Sentences are weighed by how near they are to the middle of all words (Radev, Jing and Budzikowska,
"Centroid-based summarization", 2000) and chosen one after the other, so that none repeats another
(Carbonell and Goldstein, "The use of MMR", 1998). They stand word for word, each with its source.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from codemem.words import code_tokens

MODEL: Final = "extractive-1"
CHARACTERS_OF_A_TOKEN: Final = 4

CITED: Final = re.compile(r"\[([0-9a-f]{8})\]")

_SENTENCES: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9`\"'(])|\n+")
_BULLET: Final = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
_SHORTEST: Final = 15
_LONGEST: Final = 400
_MOST_SENTENCES: Final = 1_500
_MOST_WORDS: Final = 4_000
_TELLING_WORDS: Final = 8
_NEW_SHARE: Final = 0.35
_REPEATS: Final = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A text to summarize; `weight` (0..1) is how much it matters."""

    id: UUID
    text: str
    weight: float = 0.5


@dataclass(frozen=True, slots=True)
class _Sentence:
    source: int
    text: str
    words: Counter[str]


def tokens_of(text: str) -> int:
    """Estimate a text's tokens for a language model: a quarter of its characters."""
    return -(-len(text) // CHARACTERS_OF_A_TOKEN)


def citation(source: UUID) -> str:
    """Return how a summary names a source: the end of its id, which is random."""
    return f"[{source.hex[-8:]}]"


def extract(sources: Sequence[Source], *, tokens: int) -> str:
    """Return the most telling sentences in the order of their sources, within so many tokens.

    Of each text at least its beginning is a candidate. Empty only when there is nothing to say.
    """
    sentences = _sentences(sources)
    if not sentences:
        return ""
    vectors = _vectors(sentences)
    merit = _merit(sentences, sources, vectors)
    room = tokens * CHARACTERS_OF_A_TOKEN
    chosen: list[int] = []
    nearest = np.zeros(len(sentences), dtype=np.float32)
    left = np.ones(len(sentences), dtype=bool)
    while left.any():
        place = int(np.argmax(np.where(left, merit - _NEW_SHARE * nearest, -np.inf)))
        left[place] = False
        line = _line(sentences[place], sources)
        if nearest[place] >= _REPEATS:
            continue
        if len(line) + 1 > room:
            if chosen:
                break
            line = line[:room]
        room -= len(line) + 1
        chosen.append(place)
        nearest = np.maximum(nearest, vectors @ vectors[place])
    return "\n".join(_line(sentences[place], sources) for place in sorted(chosen))


def _sentences(sources: Sequence[Source]) -> list[_Sentence]:
    found = []
    for number, source in enumerate(sources):
        texts = [_BULLET.sub("", part).strip() for part in _SENTENCES.split(source.text)]
        whole = [text for text in texts if len(text) >= _SHORTEST] or [source.text.strip()]
        found += [
            _Sentence(number, _short(text), Counter(code_tokens(text)))
            for text in dict.fromkeys(whole)
            if text
        ]
    return found[:_MOST_SENTENCES]


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST else f"{flat[: _LONGEST - 1].rstrip()}…"


def _vectors(sentences: Sequence[_Sentence]) -> NDArray[np.float32]:
    """Return n x words float32, rows unit-length, weighed by how few sentences have a word."""
    seen: Counter[str] = Counter(word for sentence in sentences for word in sentence.words)
    places = {word: place for place, (word, _) in enumerate(seen.most_common(_MOST_WORDS))}
    vectors = np.zeros((len(sentences), max(len(places), 1)), dtype=np.float32)
    for row, sentence in zip(vectors, sentences, strict=True):
        for word, count in sentence.words.items():
            if word in places:
                row[places[word]] = (1 + log(count)) * log(1 + len(sentences) / seen[word])
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-6), dtype=np.float32)


def _merit(
    sentences: Sequence[_Sentence], sources: Sequence[Source], vectors: NDArray[np.float32]
) -> NDArray[np.float32]:
    weights = np.array([sources[one.source].weight for one in sentences], dtype=np.float32)
    middle = (vectors * (0.5 + weights)[:, None]).mean(axis=0)
    middle /= max(float(np.linalg.norm(middle)), 1e-6)
    first = np.array(
        [
            place == 0 or sentences[place - 1].source != one.source
            for place, one in enumerate(sentences)
        ],
        dtype=np.float32,
    )
    # A few words are near the middle for want of anything of their own.
    length = np.array(
        [min(len(one.words) / _TELLING_WORDS, 1.0) for one in sentences], dtype=np.float32
    )
    # What a text begins with is what it is about more often than not.
    merit = (vectors @ middle) * (0.5 + weights) * length + 0.05 * first
    return np.asarray(merit, dtype=np.float32)


def _line(sentence: _Sentence, sources: Sequence[Source]) -> str:
    # What is told by another summary keeps the mark of the original.
    is_cited = CITED.search(sentence.text) is not None
    return f"- {sentence.text}" if is_cited else f"- {sentence.text} {_mark(sentence, sources)}"


def _mark(sentence: _Sentence, sources: Sequence[Source]) -> str:
    return citation(sources[sentence.source].id)
