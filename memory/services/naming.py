"""Keeps what memories name as rows, so that they are found by it without searching."""

from collections.abc import Iterable, Sequence

from memory.entities import Entity, entities_of
from memory.models import Memory, MemoryEntity


def note_entities(memory: Memory, entities: Sequence[Entity] | None = None) -> None:
    """Make a memory's entities those of its present text, in the caller's transaction.

    Call it whenever content, rationale or evidence changed. Two statements.
    """
    wanted = entities_of_memory(memory) if entities is None else entities
    MemoryEntity.objects.filter(memory=memory).delete()
    _write([(memory, wanted)])


def note_new_entities(memories: Iterable[tuple[Memory, Sequence[Entity]]]) -> None:
    """Write the entities of memories that have none yet. One statement."""
    _write(memories)


def entities_of_memory(memory: Memory) -> tuple[Entity, ...]:
    """Return what a memory's texts name."""
    refs = (str(part.get("ref", "")) for part in memory.evidence)
    return entities_of(memory.content, memory.rationale, *refs)


def _write(memories: Iterable[tuple[Memory, Sequence[Entity]]]) -> None:
    MemoryEntity.objects.bulk_create(
        [
            MemoryEntity(
                memory=memory,
                namespace_id=memory.namespace_id,
                kind=entity.kind.value,
                key=entity.key,
            )
            for memory, entities in memories
            for entity in entities
        ],
        ignore_conflicts=True,
    )
