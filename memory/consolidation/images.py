"""Images of rows: what a memory's rows and links are before and after a step, column by column.

Whatever service makes the change, the difference of two images is what undoing puts back. Images
are JSON of Postgres' own making, which is read back into the same values byte by byte.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import connection
from psycopg import sql

from graph import services as graph
from graph.services import LinkRow
from graph.values import VertexLabel, graph_id
from memory.models import ConsolidationChange, ConsolidationRun, Memory


@dataclass(frozen=True, slots=True)
class Table:
    """`owner` is the column that says whose row it is."""

    key: str
    key_type: str
    owner: str


TABLES: Final[Mapping[str, Table]] = {
    "memory_memory": Table("id", "uuid", "id"),
    "memory_memoryuse": Table("memory_id", "uuid", "memory_id"),
    "memory_anchor": Table("id", "uuid", "memory_id"),
    "memory_memoryentity": Table("id", "int8", "memory_id"),
    "memory_feedback": Table("id", "uuid", "memory_id"),
}
LINKS: Final = "link"
_GENERATED: Final = "lexemes"

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """Rows by (table, key) with the memory that each is of, and links by id."""

    rows: Mapping[tuple[str, str], tuple[UUID, Row]]
    links: Mapping[int, LinkRow]


def image(
    *, namespace_id: UUID, memory_ids: Collection[UUID], tables: Collection[str], links: bool
) -> Image:
    """Return some memories as they are. One query for each table, two for links."""
    rows: dict[tuple[str, str], tuple[UUID, Row]] = {}
    for table in tables:
        rows.update(_rows(table, memory_ids))
    found = _links(namespace_id, memory_ids) if links else ()
    return Image(rows=rows, links={row.id: row for row in found})


def differences(run: ConsolidationRun, before: Image, after: Image) -> list[ConsolidationChange]:
    """Return what is different, as rows to keep: memories, what is theirs, links."""
    keys = sorted({*before.rows, *after.rows}, key=lambda key: list(TABLES).index(key[0]))
    changes = [
        change
        for key in keys
        if (change := _row_change(run, key, before.rows.get(key), after.rows.get(key)))
    ]
    for link in sorted({*before.links, *after.links}):
        was, is_now = before.links.get(link), after.links.get(link)
        if was != is_now:
            changes.append(
                ConsolidationChange(
                    run=run,
                    kind="unlinked" if is_now is None else "linked",
                    subject=f"{LINKS}:{link}",
                    before=_link_json(was),
                    after=_link_json(is_now),
                )
            )
    return changes


def link_of(subject: str, kept: Mapping[str, Any]) -> LinkRow:
    return LinkRow(
        id=int(subject.removeprefix(f"{LINKS}:")),
        source=kept["source"],
        target=kept["target"],
        properties=kept["properties"],
    )


def vertices_of(memory_ids: Collection[UUID]) -> dict[UUID, int]:
    numbers = Memory.objects.filter(pk__in=list(memory_ids)).values_list("pk", "number")
    return {key: graph_id(label=VertexLabel.MEMORY, key=number) for key, number in numbers}


def _rows(table: str, memory_ids: Collection[UUID]) -> dict[tuple[str, str], tuple[UUID, Row]]:
    key, owner = TABLES[table].key, TABLES[table].owner
    statement = sql.SQL(
        "SELECT {key}::text, {owner}, to_jsonb(t) - {generated} FROM {table} t"
        " WHERE {owner} = ANY(%s)"
    ).format(
        key=sql.Identifier(key),
        owner=sql.Identifier(owner),
        generated=sql.Literal(_GENERATED),
        table=sql.Identifier(table),
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, [list(memory_ids)])
        # Django's connections give JSON as text.
        return {(table, pk): (whose, json.loads(row)) for pk, whose, row in cursor.fetchall()}


def _links(namespace_id: UUID, memory_ids: Collection[UUID]) -> tuple[LinkRow, ...]:
    vertices = vertices_of(memory_ids)
    return graph.link_rows(namespace_id=namespace_id, vertices=list(vertices.values()))


def _row_change(
    run: ConsolidationRun,
    key: tuple[str, str],
    before: tuple[UUID, Row] | None,
    after: tuple[UUID, Row] | None,
) -> ConsolidationChange | None:
    table, pk = key
    whose, _ = after or before or (None, None)
    change = ConsolidationChange(run=run, subject=f"{table}:{pk}", memory_id=whose)
    if before is None and after is not None:
        change.kind, change.after = "created", _recognized(table, after[1])
    elif after is None and before is not None:
        change.kind, change.before = "removed", dict(before[1])
    elif before is not None and after is not None:
        was, is_now = before[1], after[1]
        columns = [name for name in was if was[name] != is_now[name]]
        change.kind = "updated"
        change.before = {name: was[name] for name in columns}
        change.after = {name: is_now[name] for name in columns}
        return change if columns else None
    return change


def _recognized(table: str, row: Row) -> dict[str, Any]:
    """Return what a new row is known by: of a memory not its text, which a purge must find once."""
    if table == "memory_memory":
        return {name: row[name] for name in ("version", "state", "visibility")}
    return dict(row)


def _link_json(link: LinkRow | None) -> dict[str, Any] | None:
    if link is None:
        return None
    return {"source": link.source, "target": link.target, "properties": link.properties}
