"""Ties between memories, and from memories to the code they speak of."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from codemem.accounts.values import Action, Caller
from codemem.words import identifiers
from graph import queries as graph_queries
from graph import services as graph
from graph.models import Repository
from graph.values import VertexLabel, graph_id
from memory import queries
from memory.models import Memory
from memory.services.rights import require
from memory.services.superseding import check_superseded, supersede
from memory.values import RelationshipKind, StoredMemory, Visibility

NAMED_WEIGHT = 1.0
MENTIONED_WEIGHT = 0.5
MAXIMUM_MENTIONS = 20
MAXIMUM_LINKS = 100

_NAMES_TRIED = 40
_IN_GRAPH = (Memory.State.ACTIVE, Memory.State.RESOLVED, Memory.State.SUPERSEDED)
_LINKS_OF_A_MEMORY = 1_000


class LinkUnknown(Exception):
    """A link names a node that the scope does not have; nothing was written."""


class NodesApart(Exception):
    """The two ends are not in one namespace, or are one and the same node."""


class WeightInvalid(Exception):
    """A weight is not a number from 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tie:
    """The far end of a link to be written: its text id, its vertex, and the link's weight."""

    id: str
    vertex: int
    weight: float


def associate(
    *,
    caller: Caller,
    source_id: str,
    target_id: str,
    kind: RelationshipKind,
    now: datetime,
    weight: float = 1.0,
    repository_id: UUID | None = None,
) -> None:
    """Say that source KIND target; the same again replaces the weight.

    A memory that SUPERSEDES another ends it, where the caller may; elsewhere that is proposed.
    Ends are ids of memories, or text ids of code in `repository_id` (without one: in the
    repository of the memory at the other end). Both must be in one namespace that the caller
    sees. Raise MemoryUnknown, LinkUnknown, NodesApart, WeightInvalid, RightMissing.
    """
    if isinstance(weight, bool) or not 0 <= weight <= 1:
        raise WeightInvalid(f"The weight is {weight}; it must be from 0 to 1.")
    namespace_id, source, target = _ends(caller, source_id, target_id, repository_id, now=now)
    if kind is RelationshipKind.SUPERSEDES:
        _supersede(caller, source_id, target_id, now=now)
    graph.link(
        namespace_id=namespace_id,
        source=source,
        target=target,
        kind=kind.value,
        actor=caller.username,
        now=now,
        weight=weight,
    )


def dissociate(
    *,
    caller: Caller,
    source_id: str,
    target_id: str,
    kind: RelationshipKind,
    now: datetime,
    repository_id: UUID | None = None,
) -> bool:
    """Take the link source KIND target away; return whether there was one.

    Whoever may write may take a link away, for the same call puts it back. Raise what associate
    does.
    """
    namespace_id, source, target = _ends(caller, source_id, target_id, repository_id, now=now)
    return graph.unlink(namespace_id=namespace_id, source=source, target=target, kind=kind.value)


def named_ties(
    *,
    caller: Caller,
    namespace_id: UUID,
    repository_id: UUID | None,
    ids: Sequence[str],
    now: datetime,
) -> list[Tie]:
    """Return where explicit links lead, each once; raise LinkUnknown for one that leads nowhere."""
    distinct = list(dict.fromkeys(ids))
    if len(distinct) > MAXIMUM_LINKS:
        raise LinkUnknown(f"There are {len(distinct)} links; a call has at most {MAXIMUM_LINKS}.")
    vertices = (_linked(caller, namespace_id, repository_id, end, now=now) for end in distinct)
    return [
        Tie(id=end, vertex=vertex, weight=NAMED_WEIGHT)
        for end, vertex in zip(distinct, vertices, strict=True)
    ]


def mentioned_ties(*, repository_id: UUID, content: str, besides: Iterable[Tie] = ()) -> list[Tie]:
    """Return the code that a text names and that only one node can be meant by, at most 20."""
    found = {tie.vertex: tie for tie in besides}
    known = len(found)
    names = identifiers(content)[:_NAMES_TRIED]
    meant = graph_queries.nodes_by_name(repository_id=repository_id, texts=names, limit=2)
    for name in names:
        if len(meant[name]) == 1:
            node = meant[name][0]
            tie = Tie(id=node.id, vertex=node.vertex, weight=MENTIONED_WEIGHT)
            found.setdefault(node.vertex, tie)
        if len(found) - known == MAXIMUM_MENTIONS:
            break
    return list(found.values())[known:]


def tie_memory(memory: Memory, ties: Sequence[Tie], *, actor: str, now: datetime) -> None:
    """Write a memory's vertex and its ties, in the caller's transaction.

    A tie that is there with more weight stays: a mention must not weaken an explicit link.
    """
    source = graph.ensure_memory_vertex(
        namespace_id=memory.namespace_id, number=memory.number, memory_id=memory.pk
    )
    present = _weights_from(source, namespace_id=memory.namespace_id)
    for tie in ties:
        if tie.vertex != source and tie.weight > present.get(tie.vertex, 0.0):
            graph.link(
                namespace_id=memory.namespace_id,
                source=source,
                target=tie.vertex,
                kind=RelationshipKind.RELATES_TO.value,
                actor=actor,
                now=now,
                weight=tie.weight,
            )


def memory_id_of(end: str) -> UUID | None:
    """Return the memory's id that a text is, None when it is none."""
    try:
        return UUID(end)
    except ValueError:
        return None


def _ends(
    caller: Caller, source_id: str, target_id: str, repository_id: UUID | None, *, now: datetime
) -> tuple[UUID, int, int]:
    """Return the one namespace of two ends in which the caller may write, and their vertices."""
    if source_id == target_id:
        raise NodesApart(f"{source_id} cannot be associated with itself.")
    memories = {
        end: _linkable(caller, memory_id, now=now)
        for end in (source_id, target_id)
        if (memory_id := memory_id_of(end)) is not None
    }
    code = _code_repository(caller, repository_id, memories.values(), source_id, target_id)
    namespace_id = _one_namespace(memories.values(), code)
    require(caller=caller, action=Action.WRITE_MEMORY, namespace_id=namespace_id)
    source, target = (
        _vertex_of_memory(memories[end])
        if end in memories
        else _vertex_of_code(code.pk if code else None, end)
        for end in (source_id, target_id)
    )
    return namespace_id, source, target


@transaction.atomic
def _supersede(caller: Caller, source_id: str, target_id: str, *, now: datetime) -> None:
    """Have the first memory take the place of the second; circles cannot come about.

    For only what is active supersedes, and only what is active or resolved is superseded.
    """
    new_id, old_id = memory_id_of(source_id), memory_id_of(target_id)
    if new_id is None or old_id is None:
        return
    rows = queries.visible_memories(caller=caller, now=now)
    new = rows.select_for_update(of=("self",), no_key=True).filter(pk=new_id).first()
    if new is None:
        raise NodesApart(f"{new_id} does not hold any more, so it supersedes nothing.")
    check_superseded(
        caller=caller,
        ids=[old_id],
        namespace_id=new.namespace_id,
        visibility=Visibility(new.visibility),
        now=now,
    )
    supersede(memory=new, ids=[old_id], caller=caller, now=now)


def _linkable(caller: Caller, memory_id: UUID, *, now: datetime) -> StoredMemory:
    """Return a memory that is in the graph: what is superseded or resolved is, too."""
    memory = queries.get_memory(caller=caller, memory_id=memory_id, now=now, include_inactive=True)
    if memory.state not in _IN_GRAPH:
        raise queries.unknown(memory_id)
    return memory


def _weights_from(source: int, *, namespace_id: UUID) -> dict[int, float]:
    links = graph_queries.links_of(
        namespace_id=namespace_id, vertices=[source], limit=_LINKS_OF_A_MEMORY
    )
    return {
        link.target: link.confidence
        for link in links
        if link.source == source and link.kind == RelationshipKind.RELATES_TO
    }


def _linked(
    caller: Caller, namespace_id: UUID, repository_id: UUID | None, end: str, *, now: datetime
) -> int:
    memory_id = memory_id_of(end)
    if memory_id is None:
        return _vertex_of_code(repository_id, end)
    try:
        memory = queries.get_memory(caller=caller, memory_id=memory_id, now=now)
    except queries.MemoryUnknown as error:
        raise LinkUnknown(str(error)) from error
    if memory.namespace_id != namespace_id:
        raise LinkUnknown(f"The memory {memory_id} is in another namespace: {memory.namespace}.")
    return _vertex_of_memory(memory)


def _vertex_of_code(repository_id: UUID | None, end: str) -> int:
    if repository_id is None:
        raise LinkUnknown(f"To link {end}, name the repository it is in.")
    try:
        return graph_queries.get_node(repository_id=repository_id, id=end).vertex
    except graph_queries.NodeUnknown as error:
        raise LinkUnknown(
            f"There is no {end!r} in the repository's graph. Use ids such as `file:src/a.py` or"
            " `sym:src/a.py#Class.method`, or the id of a memory."
        ) from error


def _vertex_of_memory(memory: StoredMemory) -> int:
    return graph_id(label=VertexLabel.MEMORY, key=memory.number)


def _code_repository(
    caller: Caller,
    repository_id: UUID | None,
    memories: Iterable[StoredMemory],
    *ends: str,
) -> Repository | None:
    """Return the repository that ends of code are in; None when both ends are memories."""
    if all(memory_id_of(end) for end in ends):
        return None
    key = repository_id or next((memory.repository_id for memory in memories), None)
    if key is None:
        raise LinkUnknown("To associate code, name the repository it is in.")
    repository = (
        graph_queries.visible_repositories(caller=caller, action=Action.READ_MEMORY)
        .filter(pk=key)
        .first()
    )
    if repository is None:
        raise LinkUnknown(f"There is no repository {key} here, or not for you.")
    return repository


def _one_namespace(memories: Iterable[StoredMemory], code: Repository | None) -> UUID:
    namespaces = {memory.namespace_id for memory in memories}
    if code is not None:
        namespaces.add(code.namespace_id)
    if len(namespaces) != 1:
        raise NodesApart("The two are in different namespaces; nothing crosses a namespace.")
    return namespaces.pop()
