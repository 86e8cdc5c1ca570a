"""Synthetic memories: sentences about topics, with vectors that lie around their topic's own.

The vector of a topic comes from the real model, those of its memories are drawn around it:
embedding a hundred thousand texts would take a quarter of an hour. Questions are embedded for
real, so they land among the memories of their topic.
"""

from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory.values import MemoryType
from tests.bench.code_graph import SYMBOLS_PER_FILE, file_fact, symbol_fact
from tests.bench.vocabulary import NOUNS, VERBS

TOPICS: Final = 400
_SPREAD: Final = 0.9  # length of the noise beside a topic's unit vector: cosine about .74
SPOKEN_OF: Final = 2_000
_SEED: Final = 11
_TYPES: Final = tuple(MemoryType)
_OPENINGS: Final = (
    "We decided that the {a} service has to {v} the {b} first",
    "Never {v} a {b} while its {a} is open",
    "The {a} {b} failed in production because nobody could {v} it",
    "The team prefers to {v} each {a} together with its {b}",
    "A {b} without {a} is a defect: {v} it at once",
    "To {v} a {b}, stop the {a} and start again from the last {c}",
)
_REASONS: Final = (
    "since the {c} limits how often the {d} runs",
    "because two {c} workers once wrote the same {d}",
    "after the {c} review of the {d} in spring",
    "so that the {d} stays in step with the {c}",
    "as the {c} contract of the {d} demands",
)
_QUESTIONS: Final = (
    "why do we {v} the {a} {b} before the {c}",
    "what went wrong with the {b} of a {a}",
    "how to {v} a {b} when the {a} is open",
    "rule for {a} and {b} in the {d}",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticMemory:
    """A memory's words; `about` is the symbol of the imagined code base that it names, or None."""

    topic: int
    content: str
    memory_type: MemoryType
    tags: tuple[str, ...]
    importance: float
    about: int | None


def topic_text(topic: int) -> str:
    """Return what is embedded for a topic."""
    a, b, c, d = _words(topic)
    return f"{VERBS[topic % len(VERBS)]} the {b} of a {a}, its {c} and {d}"


def memory(number: int) -> SyntheticMemory:
    """Return the nth memory; no two have the same words."""
    draw = Random(number)
    topic = draw.randrange(TOPICS)
    # Every fourth names code, all of it in the first files: some code is spoken of a lot.
    about = draw.randrange(SPOKEN_OF) if number % 4 == 0 else None
    text = f"{draw.choice(_OPENINGS)}, {draw.choice(_REASONS)}."
    if about is not None:
        fact = symbol_fact(about)
        text += f" See {fact.local_name} in {file_fact(about // SYMBOLS_PER_FILE).path}."
    a, b, c, d = _words(topic)
    return SyntheticMemory(
        topic=topic,
        content=f"{text.format(a=a, b=b, c=c, d=d, v=draw.choice(VERBS))} Ticket {number}.",
        memory_type=draw.choice(_TYPES),
        tags=(a, b) if number % 3 == 0 else (),
        importance=round(draw.betavariate(4, 4), 2),
        about=about,
    )


def question(number: int) -> str:
    """Return the nth question; the numbers make each one new to the provider's memory."""
    a, b, c, d = _words(number * 13 % TOPICS)
    pattern = _QUESTIONS[number % len(_QUESTIONS)]
    verb = VERBS[number % len(VERBS)]
    return f"{pattern.format(a=a, b=b, c=c, d=d, v=verb)}, as in {number}?"


def vectors_around(
    topics: NDArray[np.float32], chosen: NDArray[np.int64], *, seed: int
) -> NDArray[np.float32]:
    """Return one unit vector near the vector of each chosen topic: n x dimensions float32."""
    rng = np.random.default_rng([_SEED, seed])
    noise = rng.standard_normal((len(chosen), topics.shape[1]), np.float32)
    noise *= _SPREAD / np.linalg.norm(noise, axis=1, keepdims=True)
    vectors = topics[chosen] + noise
    unit: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


@cache
def _words(topic: int) -> tuple[str, str, str, str]:
    a, b, c, d = Random(topic).sample(NOUNS, 4)
    return a, b, c, d
