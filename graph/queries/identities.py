"""What vertices are called for good: names that another graph of the same code understands.

Unlike the other queries these look at identities, not at what a view shows: code that is gone
keeps its name, so that what was said about it can be carried elsewhere and back.
"""

from collections.abc import Collection, Iterable
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
    """Return the vertices that those names have in this namespace; unknown ones are left out."""
    found: dict[CodeName, int] = {}
    for name in names:
        if name.repository_id is None:
            vertex = _entity(namespace_id, name)
        else:
            vertex = _code(name.repository_id, name)
        if vertex is not None:
            found[name] = vertex
    return found


def _code(repository_id: UUID, name: CodeName) -> int | None:
    if name.kind == _FILE_KIND:
        rows = SourceFile.objects.filter(
            repository_id=repository_id, path=name.id.removeprefix("file:")
        )
        key = rows.values_list("pk", flat=True).first()
        return None if key is None else graph_id(label=VertexLabel.FILE, key=key)
    for path, local_name, ordinal in symbol_readings(name.id.removeprefix("sym:")):
        symbols = Symbol.objects.filter(
            repository_id=repository_id,
            path=path,
            local_name=local_name,
            kind=name.kind,
            ordinal=ordinal,
        )
        if key := symbols.values_list("pk", flat=True).first():
            return graph_id(label=VertexLabel.SYMBOL, key=key)
    return None


def _entity(namespace_id: UUID, name: CodeName) -> int | None:
    rows = Entity.objects.filter(namespace_id=namespace_id, key=name.id).order_by("label", "pk")
    for entity in rows:
        label = VertexLabel(entity.label)
        if label.node_kind.value == name.kind:
            return graph_id(label=label, key=entity.pk)
    return None
