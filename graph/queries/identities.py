"""What vertices are called for good: names that another graph of the same code understands.

Unlike the other queries these look at identities, not at what a view shows: code that is gone
keeps its name, so that what was said about it can be carried elsewhere and back.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection
from psycopg import sql

from graph import cypher
from graph.models import Entity, SourceFile, Symbol
from graph.queries.nodes import symbol_readings
from graph.values import LINK_LABEL, VertexLabel, file_id, graph_id, key_of, label_of, symbol_id

_FILE_KIND = "file"


@dataclass(frozen=True, slots=True)
class CodeName:
    """A file or symbol by repository, text id and kind; an entity has no repository."""

    repository_id: UUID | None
    id: str
    kind: str


@dataclass(frozen=True, slots=True)
class Tie:
    """One RELATES_TO edge with everything it says. `at` is a Unix time in seconds."""

    source: int
    target: int
    kind: str
    weight: float
    by: str
    at: int


def ties_at(*, namespace_id: UUID, vertices: Collection[int]) -> list[Tie]:
    """Return every tie that begins or ends at some vertices, each once. One query."""
    if not vertices or not cypher.has_graph(namespace_id):
        return []
    near = "= ANY (%(vertices)s::bigint[]::ag_catalog.graphid[])"
    half = (
        "SELECT start_id::bigint, end_id::bigint, {kind}::text, {weight}::float8, {by}::text,"
        " {at}::int8 FROM {edges} WHERE "
    )
    statement = sql.SQL(
        f"{half} start_id {near} UNION {half} end_id {near}"  # literals of this function
    ).format(
        edges=sql.Identifier(cypher.graph_name(namespace_id), LINK_LABEL),
        kind=cypher.property_of("kind"),
        weight=cypher.property_of("w"),
        by=cypher.property_of("by"),
        at=cypher.property_of("at"),
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, {"vertices": list(vertices)})
        rows = cursor.fetchall()
    return [Tie(*row) for row in rows]


def names_of(*, vertices: Iterable[int]) -> dict[int, CodeName]:
    """Return what files, symbols and entities are called, by vertex. A query for each kind."""
    by_label: dict[VertexLabel, list[int]] = {}
    for vertex in set(vertices):
        by_label.setdefault(label_of(vertex), []).append(key_of(vertex))
    names: dict[int, CodeName] = {}
    for row in SourceFile.objects.filter(pk__in=by_label.pop(VertexLabel.FILE, [])):
        vertex = graph_id(label=VertexLabel.FILE, key=row.pk)
        names[vertex] = CodeName(row.repository_id, file_id(row.path), _FILE_KIND)
    for symbol in Symbol.objects.filter(pk__in=by_label.pop(VertexLabel.SYMBOL, [])):
        uid = symbol_id(path=symbol.path, local_name=symbol.local_name, ordinal=symbol.ordinal)
        vertex = graph_id(label=VertexLabel.SYMBOL, key=symbol.pk)
        names[vertex] = CodeName(symbol.repository_id, uid, symbol.kind)
    keys = [key for some in by_label.values() for key in some]
    for entity in Entity.objects.filter(pk__in=keys) if keys else ():
        label = VertexLabel(entity.label)
        names[graph_id(label=label, key=entity.pk)] = CodeName(
            None, entity.key, label.node_kind.value
        )
    return names


def vertices_named(*, namespace_id: UUID, names: Collection[CodeName]) -> dict[CodeName, int]:
    """Return the vertices that those names have in this namespace; unknown ones are left out.

    Two queries for each repository that is named, and one for what is of none.
    """
    by_repository: dict[UUID | None, list[CodeName]] = {}
    for name in names:
        by_repository.setdefault(name.repository_id, []).append(name)
    found: dict[CodeName, int] = {}
    for repository_id, some in by_repository.items():
        if repository_id is None:
            found |= _entities(namespace_id, some)
        else:
            found |= _files(repository_id, [name for name in some if name.kind == _FILE_KIND])
            found |= _symbols(repository_id, [name for name in some if name.kind != _FILE_KIND])
    return found


def _files(repository_id: UUID, names: Sequence[CodeName]) -> dict[CodeName, int]:
    if not names:
        return {}
    paths = {name.id.removeprefix("file:"): name for name in names}
    rows = SourceFile.objects.filter(repository_id=repository_id, path__in=list(paths))
    return {
        paths[path]: graph_id(label=VertexLabel.FILE, key=key)
        for path, key in rows.values_list("path", "pk")
    }


def _symbols(repository_id: UUID, names: Sequence[CodeName]) -> dict[CodeName, int]:
    readings = {name: list(symbol_readings(name.id.removeprefix("sym:"))) for name in names}
    read = {reading for some in readings.values() for reading in some}
    if not read:
        return {}
    rows = Symbol.objects.filter(
        repository_id=repository_id,
        path__in={path for path, _, _ in read},
        local_name__in={local for _, local, _ in read},
    ).values_list("path", "local_name", "ordinal", "kind", "pk")
    keys = {tuple(key): pk for *key, pk in rows}
    found: dict[CodeName, int] = {}
    for name, some in readings.items():
        known = (keys.get((*reading, name.kind)) for reading in some)
        if key := next(filter(None, known), None):
            found[name] = graph_id(label=VertexLabel.SYMBOL, key=key)
    return found


def _entities(namespace_id: UUID, names: Sequence[CodeName]) -> dict[CodeName, int]:
    rows = Entity.objects.filter(namespace_id=namespace_id, key__in=[name.id for name in names])
    found: dict[tuple[str, str], int] = {}
    for entity in rows.order_by("label", "pk"):
        label = VertexLabel(entity.label)
        vertex = graph_id(label=label, key=entity.pk)
        found.setdefault((entity.key, label.node_kind.value), vertex)
    return {name: found[name.id, name.kind] for name in names if (name.id, name.kind) in found}
