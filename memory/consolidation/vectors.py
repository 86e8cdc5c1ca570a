"""The vectors of a circle's memories, in groups of those that may be compared."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from memory.consolidation.circles import Circle
from memory.consolidation.nearest import Vectors
from memory.models import Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """Memories with vectors of one model: n rows, unit-length, in the order of `memories`."""

    memories: Sequence[Memory]
    vectors: Vectors


def embedded(circle: Circle, *, now: datetime) -> list[Embedded]:
    """Return the memories that hold and have vectors, by model, each in the order of their ids.

    Summaries that were made here are left out: they repeat what their sources say. Two queries.
    """
    rows = circle.rows(now=now).exclude(source="consolidation").order_by("pk")
    by_id = {memory.pk: memory for memory in rows.select_related("use")}
    kept = rows.exclude(embedding=None).values_list("pk", "embedding_fingerprint", "embedding")
    groups: dict[str, list[tuple[Memory, Vectors]]] = {}
    for key, fingerprint, vector in kept.iterator(chunk_size=2_000):
        if vector is not None and key in by_id:
            groups.setdefault(fingerprint, []).append(
                (by_id[key], np.asarray(vector, dtype=np.float32))
            )
    return [
        Embedded(
            memories=[memory for memory, _ in group],
            vectors=_unit(np.array([vector for _, vector in group], dtype=np.float32)),
        )
        for _, group in sorted(groups.items())
    ]


def _unit(vectors: Vectors) -> Vectors:
    # Half precision on the way: lengths are 1 to three digits only.
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-6), dtype=np.float32)
