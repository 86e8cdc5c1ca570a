"""AGE's vertices, edges and paths as plain objects, with the text ids that other tools take."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from age.models import Edge, Path, Vertex

from graph.queries.nodes import nodes_of

# How a graph is kept is none of its readers' business.
_INTERNAL: Final = frozenset({"uid", "repo", "head", "vf", "vt", "l", "f"})
_NAMES: Final = {"c": "confidence", "r": "rule", "o": "line_offset", "s": "sources"}


def plain_values(
    rows: Sequence[Sequence[Any]], *, namespace_id: UUID, repository_names: Mapping[UUID, str]
) -> tuple[tuple[Any, ...], ...]:
    """Return rows of decoded agtype as JSON takes them. Two queries."""
    shown = _Shown(repository_names)
    ends = {end for edge in _edges_in(rows) for end in (edge.start_id, edge.end_id)}
    nodes = nodes_of(namespace_id=namespace_id, vertices=ends)
    shown.ids = {vertex: node.id for vertex, node in nodes.items()}
    return tuple(tuple(map(shown.value, row)) for row in rows)


class _Shown:
    """What names stand for the numbers in the values."""

    def __init__(self, repository_names: Mapping[UUID, str]) -> None:
        self.repositories = {str(key): name for key, name in repository_names.items()}
        self.ids: dict[int, str] = {}

    def value(self, value: Any) -> Any:
        if isinstance(value, Vertex):
            return self._vertex(value)
        if isinstance(value, Edge):
            return self._edge(value)
        if isinstance(value, Path):
            return self.value(value.entities)
        if isinstance(value, list):
            return [self.value(part) for part in value]
        if isinstance(value, dict):
            return {key: self.value(part) for key, part in value.items()}
        # Numerics come as Decimal, which JSON has not.
        is_plain = value is None or isinstance(value, str | int | float)
        return value if is_plain else str(value)

    def _vertex(self, vertex: Vertex) -> dict[str, Any]:
        own = vertex.properties or {}
        shown = {"id": own.get("uid", str(vertex.id)), "label": vertex.label}
        repository = self.repositories.get(str(own.get("repo")))
        if repository:
            shown["repository"] = repository
        return shown | {key: self.value(part) for key, part in own.items() if key not in _INTERNAL}

    def _edge(self, edge: Edge) -> dict[str, Any]:
        own = edge.properties or {}
        shown: dict[str, Any] = {
            "relationship": edge.label,
            "source": self.ids.get(edge.start_id, str(edge.start_id)),
            "target": self.ids.get(edge.end_id, str(edge.end_id)),
        }
        kept = {_NAMES.get(key, key): part for key, part in own.items() if key not in _INTERNAL}
        return shown | kept


def _edges_in(value: Any) -> Iterator[Edge]:
    if isinstance(value, Edge):
        yield value
    elif isinstance(value, Path):
        yield from _edges_in(value.entities or [])
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _edges_in(part)
    elif isinstance(value, dict):
        yield from _edges_in(list(value.values()))
