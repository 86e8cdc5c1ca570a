"""What one memory is tied to: code, and other memories that the caller sees."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from codemem.accounts.values import Action, Caller
from graph import queries as graph
from graph.values import Node, VertexLabel, graph_id, key_of, label_of
from memory import queries
from memory.values import StoredMemory

MAXIMUM_CONNECTIONS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """One link seen from a memory: to a memory or to a node, from it (`is_outgoing`) or to it."""

    relationship: str
    is_outgoing: bool
    weight: float
    memory: StoredMemory | None = None
    node: Node | None = None


def connections_of(
    *, caller: Caller, memory: StoredMemory, now: datetime
) -> tuple[Connection, ...]:
    """Return the links of a memory, strongest first; what the caller may not see is left out.

    Two queries, and one more for each label of code.
    """
    here = graph_id(label=VertexLabel.MEMORY, key=memory.number)
    links = graph.links_of(
        namespace_id=memory.namespace_id, vertices=[here], limit=MAXIMUM_CONNECTIONS
    )
    ends = {link.target if link.source == here else link.source for link in links} - {here}
    memories = _memories(ends, caller=caller, memory=memory, now=now)
    can_read_code = caller.can(Action.READ_GRAPH, memory.namespace_id)
    code = [end for end in ends if label_of(end) is not VertexLabel.MEMORY]
    nodes = (
        graph.nodes_of(namespace_id=memory.namespace_id, vertices=code)
        if code and can_read_code
        else {}
    )
    found = []
    for link in links:
        end = link.target if link.source == here else link.source
        if end in memories or end in nodes:
            found.append(
                Connection(
                    relationship=link.kind,
                    is_outgoing=link.source == here,
                    weight=link.confidence,
                    memory=memories.get(end),
                    node=nodes.get(end),
                )
            )
    found.sort(key=lambda one: (one.memory is None, -one.weight, one.relationship))
    return tuple(found)


def _memories(
    ends: Collection[int], *, caller: Caller, memory: StoredMemory, now: datetime
) -> dict[int, StoredMemory]:
    numbers = [key_of(end) for end in ends if label_of(end) is VertexLabel.MEMORY]
    if not numbers:
        return {}
    rows = queries.visible_memories(caller=caller, now=now, include_inactive=True).filter(
        namespace_id=memory.namespace_id, number__in=numbers
    )
    return {
        graph_id(label=VertexLabel.MEMORY, key=row.number): queries.stored(row, now=now)
        for row in queries.shown(rows)
    }
