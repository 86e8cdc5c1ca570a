"""Entities: what repositories of a namespace share and no file defines, as rows and vertices."""

from collections.abc import Collection
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction
from psycopg import sql
from psycopg.types.json import Jsonb

from graph import cypher
from graph.values import EntityFact, VertexLabel

# In one order everywhere, so that two writers never wait for each other. What is known already is
# corrected only by those who know better (see ensure_entities).
_ROWS: Final = """
    insert into graph_entity as entity (namespace_id, label, key, name, data, made_at)
    select distinct on (label, key) %(namespace)s::uuid, label, key, name, data, now()
    from unnest(%(labels)s::int[], %(keys)s::text[], %(names)s::text[], %(data)s::jsonb[])
        as given (label, key, name, data)
    order by label, key
    on conflict (namespace_id, label, key) do update set name = excluded.name, data = excluded.data
    where %(corrects)s
        and (entity.name, entity.data) is distinct from (excluded.name, excluded.data)
"""
_FOUND: Final = """
    select entity.key, entity.label::bigint << 48 | entity.id
    from graph_entity entity
    join unnest(%(labels)s::int[], %(keys)s::text[]) as given (label, key)
        on given.label = entity.label and given.key = entity.key
    where entity.namespace_id = %(namespace)s
"""
_VERTICES: Final = """
    insert into {graph}.{label} as vertex (id, properties)
    select (%(label)s::bigint << 48 | entity.id)::ag_catalog.graphid,
        ag_catalog.agtype_build_map('head'::text, true, 'uid'::text, entity.key,
            'name'::text, entity.name, 'kind'::text, %(kind)s::text)
    from graph_entity entity
    where entity.namespace_id = %(namespace)s and entity.label = %(label)s
        and entity.key = any (%(keys)s)
    order by entity.id
    on conflict (id) do update set properties = excluded.properties
    where vertex.properties operator(ag_catalog.<>) excluded.properties
"""


def ensure_entities(
    *, namespace_id: UUID, entities: Collection[EntityFact], corrects: bool = True
) -> dict[str, int]:
    """Return the vertices of some entities by key, made if they are not there.

    Without `corrects` what is known already stays as it is: an overlay does not rename what
    others see. Two queries, and one for each label.
    """
    if not entities:
        return {}
    graph = cypher.ensure_graph(namespace_id)
    parameters: dict[str, Any] = {
        "namespace": namespace_id,
        "labels": [entity.label.value for entity in entities],
        "keys": [entity.key for entity in entities],
        "names": [entity.name for entity in entities],
        "data": [Jsonb(dict(entity.data)) for entity in entities],
        "corrects": corrects,
    }
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_ROWS, parameters)
        for label in sorted({entity.label for entity in entities}):
            keys = [entity.key for entity in entities if entity.label is label]
            _add_vertices(cursor, graph, namespace_id, label, keys)
        cursor.execute(_FOUND, parameters)
        return dict(cursor.fetchall())


def _add_vertices(
    cursor: Any, graph: str, namespace_id: UUID, label: VertexLabel, keys: list[str]
) -> None:
    cursor.execute(
        sql.SQL(_VERTICES).format(graph=sql.Identifier(graph), label=sql.Identifier(label.title)),
        {
            "namespace": namespace_id,
            "label": label.value,
            "kind": label.node_kind.value,
            "keys": keys,
        },
    )
