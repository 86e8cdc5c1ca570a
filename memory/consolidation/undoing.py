"""Undoing a run: puts back what it changed, as far as nobody has changed it since.

A change that was undone is not kept, so that undoing can be killed and asked for again, and what
is left of a run's changes is what could not be put back.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, connection, transaction
from psycopg import sql
from psycopg.types.json import Jsonb

from graph import services as graph
from graph.values import VertexLabel, graph_id
from memory.consolidation import images
from memory.consolidation.images import LINKS, TABLES
from memory.models import ConsolidationChange, ConsolidationRun, Memory, ReviewItem
from memory.services.versioning import Change, record_versions

_AT_ONCE: Final = 500
_MEMORIES: Final = "memory_memory"
_USES: Final = "memory_memoryuse"
_PROPOSALS: Final = "memory_reviewitem"
# Counted on by reads while the change stood: put back by difference.
_COUNTERS: Final = ("recalled", "helpful", "not_helpful", "stale", "wrong")
# Goes on, whatever is put back: people and agents hold version numbers.
_ONWARD: Final = frozenset({"version"})

Key = tuple[str, str]


@dataclass(slots=True, kw_only=True)
class Undone:
    """How much was put back, and whose changes since stood in the way."""

    restored: int = 0
    gone: int = 0
    refused: set[UUID] = field(default_factory=set)

    def as_json(self) -> dict[str, Any]:
        kept = sorted(str(key) for key in self.refused)
        answer: dict[str, Any] = {"restored": self.restored, "gone": self.gone, "kept": kept[:100]}
        if kept:
            answer["note"] = (
                f"{len(kept)} memories stay as they are, because they were changed since; all else"
                " is as it was before the run."
            )
        return answer


def undo(run: ConsolidationRun, *, actor: str, now: datetime) -> Undone:
    """Put back, newest change first, what a run changed. Rows first, then the links among them."""
    undone = Undone()
    changes = run.changes.order_by("-id")
    for rows in _chunks(lambda: changes.exclude(subject__startswith=f"{LINKS}:")):
        with transaction.atomic():
            _undo_rows(run, rows, undone, actor=actor, now=now)
    shut = set(images.vertices_of(undone.refused).values())
    for links in _chunks(lambda: changes.filter(subject__startswith=f"{LINKS}:")):
        with transaction.atomic():
            _undo_links(run, links, shut, undone)
    return undone


def _chunks(left: Callable[[], Any]) -> Iterator[list[ConsolidationChange]]:
    """Yield the changes in pieces that name each subject once."""
    last: int | None = None
    while True:
        rows = left() if last is None else left().filter(pk__lt=last)
        chunk: dict[str, ConsolidationChange] = {}
        for change in rows[:_AT_ONCE]:
            if change.subject in chunk:
                break
            chunk[change.subject] = change
            last = change.pk
        if not chunk:
            return
        yield list(chunk.values())


def _undo_rows(
    run: ConsolidationRun,
    changes: Sequence[ConsolidationChange],
    undone: Undone,
    *,
    actor: str,
    now: datetime,
) -> None:
    by_table: dict[str, list[ConsolidationChange]] = {}
    for change in changes:
        by_table.setdefault(change.subject.partition(":")[0], []).append(change)
    _undo_proposals(by_table.pop(_PROPOSALS, []), undone)
    _undo_memories(run, by_table.pop(_MEMORIES, []), undone, actor=actor, now=now)
    for table, theirs in by_table.items():
        open_ones = [change for change in theirs if change.memory_id not in undone.refused]
        _undo_table(table, open_ones, undone)


def _undo_proposals(changes: Sequence[ConsolidationChange], undone: Undone) -> None:
    """Take back what nobody has decided yet."""
    keys = [_key_of(change) for change in changes]
    ReviewItem.objects.filter(pk__in=keys, state=ReviewItem.State.OPEN).delete()
    _forget(changes, undone)


def _undo_memories(
    run: ConsolidationRun,
    changes: Sequence[ConsolidationChange],
    undone: Undone,
    *,
    actor: str,
    now: datetime,
) -> None:
    if not changes:
        return
    present = _locked(changes)
    same = _unchanged(_MEMORIES, changes)
    done, gone = [], []
    for change in changes:
        memory = present.get(UUID(_key_of(change)))
        if memory is None:
            gone.append(change)
        elif change.pk not in same or not _put_back(run, change, memory, actor=actor, now=now):
            undone.refused.add(memory.pk)
        else:
            done.append(change)
    undone.gone += len(gone)
    _forget(done, undone)
    ConsolidationChange.objects.filter(pk__in=[change.pk for change in gone]).delete()


def _locked(changes: Sequence[ConsolidationChange]) -> dict[UUID, Memory]:
    keys = [_key_of(change) for change in changes]
    rows = Memory.objects.select_for_update().filter(pk__in=keys).order_by("pk")
    return {memory.pk: memory for memory in rows.defer("embedding", "tokens")}


def _put_back(
    run: ConsolidationRun,
    change: ConsolidationChange,
    memory: Memory,
    *,
    actor: str,
    now: datetime,
) -> bool:
    """Put one memory back; False when something that was made since stands in the way."""
    if change.kind == "created":
        return _unmake(run, memory)
    try:
        with transaction.atomic():
            record_versions(
                [memory], change=Change.UNDONE, actor=actor, now=now, reason=f"run {run.pk}"
            )
            _set_columns(_MEMORIES, [change])
    except IntegrityError:
        # The same words were stored again while it was away.
        return False
    if (change.before or {}).get("state") == Memory.State.ACTIVE:
        graph.ensure_memory_vertex(
            namespace_id=memory.namespace_id, number=memory.number, memory_id=memory.pk
        )
    return True


def _unmake(run: ConsolidationRun, memory: Memory) -> bool:
    """Take away what the run made, unless somebody has tied something to it since."""
    vertex = graph_id(label=VertexLabel.MEMORY, key=memory.number)
    links = graph.link_rows(namespace_id=memory.namespace_id, vertices=[vertex])
    subjects = [f"{LINKS}:{link.id}" for link in links]
    if run.changes.filter(subject__in=subjects).count() != len(links):
        return False
    graph.unlink_memory(namespace_id=memory.namespace_id, number=memory.number)
    memory.delete()
    return True


def _undo_table(table: str, changes: Sequence[ConsolidationChange], undone: Undone) -> None:
    same = _unchanged(table, changes)
    done = [change for change in changes if change.kind == "removed" or change.pk in same]
    _insert(table, [change for change in done if change.kind == "removed"])
    _delete(table, [change for change in done if change.kind == "created"])
    _set_columns(table, [change for change in done if change.kind == "updated"])
    _forget(done, undone)
    left = [change for change in changes if change not in done]
    if table == _USES:
        # Asked for since: only what the run computed goes.
        _empty_retention([change for change in left if change.kind == "created"])
        ConsolidationChange.objects.filter(pk__in=[change.pk for change in left]).delete()
        return
    undone.refused.update(change.memory_id for change in left if change.memory_id)


def _undo_links(
    run: ConsolidationRun,
    changes: Sequence[ConsolidationChange],
    shut: AbstractSet[int],
    undone: Undone,
) -> None:
    """Drop links that are as the run left them, put back those that it took away or changed."""
    made = [
        images.link_of(change.subject, change.after)
        for change in changes
        if change.after and not shut & {change.after["source"], change.after["target"]}
    ]
    taken = [
        images.link_of(change.subject, change.before)
        for change in changes
        if change.before and not shut & {change.before["source"], change.before["target"]}
    ]
    graph.drop_link_rows(namespace_id=run.namespace_id, rows=made)
    graph.put_link_rows(namespace_id=run.namespace_id, rows=taken)
    _forget(changes, undone)


def _unchanged(table: str, changes: Sequence[ConsolidationChange]) -> frozenset[int]:
    """Return the changes whose rows are still as the run left them. One query."""
    free = [*_COUNTERS, "recalled_at"] if table == _USES else []
    statement = sql.SQL(
        "SELECT c.id FROM unnest(%s::bigint[], %s::{type}[], %s::jsonb[], %s::boolean[])"
        " AS c (id, key, after, is_whole) JOIN {table} t ON t.{key} = c.key"
        " WHERE NOT EXISTS (SELECT FROM jsonb_each(c.after) e"
        "  WHERE to_jsonb(t) -> e.key IS DISTINCT FROM e.value"
        "  AND (c.is_whole OR e.key <> ALL (%s)))"
    ).format(**_names(table))
    kept = [change for change in changes if change.after is not None]
    with connection.cursor() as cursor:
        cursor.execute(
            statement,
            [
                [change.pk for change in kept],
                [_key_of(change) for change in kept],
                [Jsonb(change.after) for change in kept],
                [change.kind == "created" for change in kept],
                free,
            ],
        )
        return frozenset(key for (key,) in cursor.fetchall())


def _set_columns(table: str, changes: Sequence[ConsolidationChange]) -> None:
    groups: dict[tuple[str, ...], list[ConsolidationChange]] = {}
    for change in changes:
        columns = tuple(sorted(set(change.before or {}) - _ONWARD))
        groups.setdefault(columns, []).append(change)
    for columns, rows in groups.items():
        if columns:
            _set_group(table, columns, rows)


def _set_group(
    table: str, columns: tuple[str, ...], changes: Sequence[ConsolidationChange]
) -> None:
    statement = sql.SQL(
        "UPDATE {table} t SET ({columns}) ="
        " (SELECT {values} FROM jsonb_populate_record(NULL::{table}, c.before) b)"
        " FROM unnest(%s::{type}[], %s::jsonb[], %s::jsonb[]) AS c (key, before, after)"
        " WHERE t.{key} = c.key"
    ).format(
        columns=sql.SQL(", ").join(map(sql.Identifier, columns)),
        values=sql.SQL(", ").join(_value(table, column) for column in columns),
        **_names(table),
    )
    with connection.cursor() as cursor:
        cursor.execute(
            statement,
            [
                [_key_of(change) for change in changes],
                [Jsonb(change.before) for change in changes],
                [Jsonb(change.after) for change in changes],
            ],
        )


def _value(table: str, column: str) -> sql.Composable:
    name, text = sql.Identifier(column), sql.Literal(column)
    if table == _USES and column in _COUNTERS:
        return sql.SQL(
            "greatest(0, t.{name} + (c.before ->> {text})::int - (c.after ->> {text})::int)"
        ).format(name=name, text=text)
    if table == _USES and column == "recalled_at":
        return sql.SQL(
            "CASE WHEN to_jsonb(t) -> {text} IS NOT DISTINCT FROM c.after -> {text}"
            " THEN b.{name} ELSE t.{name} END"
        ).format(name=name, text=text)
    return sql.SQL("b.{}").format(name)


def _insert(table: str, changes: Sequence[ConsolidationChange]) -> None:
    if not changes:
        return
    statement = sql.SQL(
        "INSERT INTO {table} SELECT b.* FROM unnest(%s::jsonb[]) AS c (before),"
        " LATERAL jsonb_populate_record(NULL::{table}, c.before) b ON CONFLICT DO NOTHING"
    ).format(**_names(table))
    with connection.cursor() as cursor:
        cursor.execute(statement, [[Jsonb(change.before) for change in changes]])


def _delete(table: str, changes: Sequence[ConsolidationChange]) -> None:
    if not changes:
        return
    statement = sql.SQL("DELETE FROM {table} WHERE {key} = ANY (%s::{type}[])")
    with connection.cursor() as cursor:
        cursor.execute(statement.format(**_names(table)), [[_key_of(change) for change in changes]])


def _empty_retention(changes: Sequence[ConsolidationChange]) -> None:
    if not changes:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE memory_memoryuse SET retention = NULL, retention_at = NULL"
            " FROM unnest(%s::uuid[], %s::jsonb[]) AS c (key, after)"
            " WHERE memory_id = c.key AND to_jsonb(retention) = c.after -> 'retention'",
            [
                [_key_of(change) for change in changes],
                [Jsonb(change.after) for change in changes],
            ],
        )


def _names(table: str) -> Mapping[str, sql.Composable]:
    shape = TABLES[table]
    return {
        "table": sql.Identifier(table),
        "key": sql.Identifier(shape.key),
        "type": sql.Identifier(shape.key_type),
    }


def _key_of(change: ConsolidationChange) -> str:
    return change.subject.partition(":")[2]


def _forget(changes: Sequence[ConsolidationChange], undone: Undone) -> None:
    undone.restored += len(changes)
    ConsolidationChange.objects.filter(pk__in=[change.pk for change in changes]).delete()
