"""Deleting a namespace: closed at once, erased when its grace is over, in steps safe to repeat.

What belongs to a namespace is found by its foreign keys, so that a table that is added later goes
along without being named here. The last step holds the namespace's row and sweeps once more:
whoever was writing meanwhile fails on its key, and nothing comes back. Audit events stay.
"""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID

import structlog
from django.apps import apps
from django.db import IntegrityError, connection, models, transaction
from django.db.models import Q
from psycopg import sql

from codemem.accounts import services as accounts
from codemem.accounts.models import Namespace
from codemem.accounts.values import Caller
from codemem.embedding.cache import digest_of, purge
from graph.models import Ref, Repository
from graph.services.erasure import drop_graph
from indexing.locks import Work, only_worker
from indexing.mirrors import mirror_path
from indexing.models import Erasure
from memory.models import FixAttempt, Memory, ReviewItem
from memory.privacy import private_rows
from memory.queries import visible_memories
from memory.services.review import visible_proposals

MAXIMUM_GRACE_HOURS = 24 * 30

_ROWS_AT_ONCE = 20_000
_DIGESTS_AT_ONCE = 5_000
log = structlog.get_logger(__name__)


class ConfirmationWrong(Exception):
    """What was typed is not the namespace's name; nothing was done."""


class ErasureUnknown(Exception):
    """There is no such deletion, or not one of this caller's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What became, or is to become, of a namespace; `counts` are rows erased, by table."""

    id: UUID
    namespace: str
    state: str
    asked_by: str
    asked_at: datetime
    due_at: datetime
    finished_at: datetime | None
    counts: dict[str, int]


def count_rows(*, caller: Caller, namespace_id: UUID, now: datetime) -> dict[str, int]:
    """Return how many rows of each table would go, as the caller may know: empty ones left out.

    What others keep to themselves goes too and is in no number.
    """
    mine = visible_memories(caller=caller, now=now, include_inactive=True)
    private = private_rows(caller)
    counts: dict[str, int] = {}
    for model in _models():
        rows = _rows(model, namespace_id)
        if model is Memory:
            rows = mine.filter(namespace_id=namespace_id)
        elif model is ReviewItem:
            rows = visible_proposals(caller=caller).filter(namespace_id=namespace_id)
        elif model in private:
            rows = rows.filter(private[model])
        elif model is FixAttempt:
            rows = rows.filter(failure__memory__in=mine.order_by().values("pk"))
        for key in _keys(model):
            if key.related_model is Memory and model is not Memory:
                theirs = Q(**{f"{key.name}__in": mine.order_by().values("pk")})
                rows = rows.filter(theirs | Q(**{key.name: None}) if key.null else theirs)
        counts[model._meta.db_table] = rows.count()  # noqa: SLF001
    return {table: count for table, count in counts.items() if count}


@transaction.atomic
def request_erasure(
    *, caller: Caller, namespace_id: UUID, confirm: str, grace: timedelta, now: datetime
) -> Receipt:
    """Close a namespace and have it erased after its grace; the same again is the same.

    The caller's right is checked by whoever shows the namespace. Raise ConfirmationWrong.
    """
    namespace = Namespace.objects.select_for_update().get(pk=namespace_id)
    if confirm != namespace.name:
        raise ConfirmationWrong(
            f"To delete {namespace.name} for good, confirm with its name; nothing was done."
        )
    accounts.archive_namespace(namespace=namespace, actor=caller.username, now=now)
    erasure = Erasure.objects.create(
        namespace_id=namespace.pk,
        namespace_name=namespace.name,
        user_id=caller.user_id,
        asked_by=caller.username,
        asked_at=now,
        due_at=now + grace,
    )
    accounts.record(
        actor=caller.username,
        action="namespace.delete_request",
        namespace=namespace,
        target=namespace.name,
        token_id=caller.token_id,
        detail={"erasure": str(erasure.pk), "due_at": erasure.due_at.isoformat()},
    )
    return _receipt(erasure)


def get_receipt(*, caller: Caller, erasure_id: UUID) -> Receipt:
    """Return how far a deletion is, for whoever asked for it; raise ErasureUnknown."""
    erasure = Erasure.objects.filter(pk=erasure_id, user_id=caller.user_id).first()
    if erasure is None:
        raise ErasureUnknown(f"There is no deletion {erasure_id} here, or not one of yours.")
    return _receipt(erasure)


def due_erasures(*, now: datetime) -> list[UUID]:
    """Return the deletions whose time has come, and those that were broken off."""
    rows = Erasure.objects.filter(state__in=["waiting", "running"], due_at__lte=now)
    return list(rows.values_list("pk", flat=True))


def erase(*, erasure_id: UUID, now: datetime) -> bool:
    """Erase one namespace as far as nothing else works on it; return whether that is over.

    Safe to repeat after any interruption. One that was restored meanwhile stays as it is.
    """
    with only_worker(work=Work.ERASE, repository_id=erasure_id) as is_ours:
        erasure = Erasure.objects.filter(pk=erasure_id).first()
        if not is_ours or erasure is None or erasure.due_at > now:
            return False
        if erasure.state in {Erasure.State.DONE, Erasure.State.CANCELLED}:
            return True
        return _erase(erasure, now=now)


def _erase(erasure: Erasure, *, now: datetime) -> bool:
    if not _begin(erasure):
        return True
    with ExitStack() as held:
        if not _hold_repositories(held, erasure.namespace_id):
            return False
        _forget_contents(erasure)
        _forget_vectors(erasure)
        for model in _models():
            _delete(erasure, model)
        try:
            _finish(erasure, now=now)
        except IntegrityError as error:
            # Somebody wrote between the sweep and the key's check: the next round takes it along.
            log.warning("erasure_interrupted", namespace=erasure.namespace_name, error=str(error))
            return False
    _remove_mirrors(erasure)
    return True


@transaction.atomic
def _begin(erasure: Erasure) -> bool:
    """Mark the deletion as begun; False when the namespace was restored or is gone already."""
    namespace = Namespace.objects.select_for_update().filter(pk=erasure.namespace_id).first()
    if namespace is not None and namespace.archived_at is None:
        Erasure.objects.filter(pk=erasure.pk).update(state=Erasure.State.CANCELLED)
        accounts.record(
            actor="server",
            action="namespace.delete_cancelled",
            namespace=namespace,
            target=namespace.name,
            detail={"erasure": str(erasure.pk)},
        )
        return False
    repositories = Repository.objects.filter(namespace_id=erasure.namespace_id)
    known = {
        *erasure.repository_ids,
        *(str(key) for key in repositories.values_list("pk", flat=True)),
    }
    erasure.repository_ids = sorted(known)
    erasure.state = Erasure.State.RUNNING
    erasure.save(update_fields=["repository_ids", "state"])
    return True


def _hold_repositories(held: ExitStack, namespace_id: UUID) -> bool:
    """Take every lock by which others work on the repositories; False when one is taken."""
    for repository_id in Repository.objects.filter(namespace_id=namespace_id).values_list(
        "pk", flat=True
    ):
        refs = Ref.objects.filter(repository_id=repository_id).values_list("name", flat=True)
        for work in Work:
            for ref in ("", *refs) if work is Work.INDEX else ("",):
                lock = only_worker(work=work, repository_id=repository_id, ref=ref)
                if not held.enter_context(lock):
                    return False
    return True


def _forget_contents(erasure: Erasure) -> None:
    """Delete what was read of contents that no other namespace's repository has."""
    statement = """
        WITH own AS (
            SELECT blob FROM graph_fileversion WHERE repository_id = ANY (%(own)s)
            UNION SELECT blob FROM indexing_treespan WHERE repository_id = ANY (%(own)s)
        )
        DELETE FROM {table} AS kept USING own WHERE kept.blob = own.blob
        AND NOT EXISTS (SELECT FROM graph_fileversion AS other
            WHERE other.blob = own.blob AND other.repository_id <> ALL (%(own)s))
        AND NOT EXISTS (SELECT FROM indexing_treespan AS other
            WHERE other.blob = own.blob AND other.repository_id <> ALL (%(own)s))
    """
    own = [UUID(key) for key in erasure.repository_ids]
    for table in ("indexing_blobfacts", "indexing_manifesttext"):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(sql.SQL(statement).format(table=sql.Identifier(table)), {"own": own})
            _count(erasure, table, cursor.rowcount)


def _forget_vectors(erasure: Erasure) -> None:
    """Delete the kept vectors of the memories' texts; another namespace's make them again."""
    contents = Memory.objects.filter(namespace_id=erasure.namespace_id).order_by()
    digests: list[bytes] = []
    for content in contents.values_list("content", flat=True).iterator(1_000):
        digests.append(digest_of(content))
        if len(digests) == _DIGESTS_AT_ONCE:
            purge(digests=digests)
            digests.clear()
    purge(digests=digests)


def _delete(erasure: Erasure, model: type[models.Model]) -> None:
    """Delete a table's rows of the namespace, 20,000 in a transaction; the row itself stays."""
    _let_go_of_each_other(model, erasure.namespace_id)
    while True:
        with transaction.atomic():
            keys = _rows(model, erasure.namespace_id).values("pk")[:_ROWS_AT_ONCE]
            deleted = _raw_delete(model, keys)
            _count(erasure, model._meta.db_table, deleted)  # noqa: SLF001
        if deleted < _ROWS_AT_ONCE:
            return


@transaction.atomic
def _finish(erasure: Erasure, *, now: datetime) -> None:
    """Delete what came meanwhile, the graph, the indexes and the namespace, in one transaction."""
    namespace = Namespace.objects.select_for_update().filter(pk=erasure.namespace_id).first()
    if namespace is not None:
        for model in _models():
            _let_go_of_each_other(model, namespace.pk)
            _count(
                erasure,
                model._meta.db_table,  # noqa: SLF001
                _raw_delete(model, _rows(model, namespace.pk).values("pk")),
            )
        drop_graph(namespace_id=namespace.pk)
        _drop_indexes(erasure)
        accounts.record(
            actor=erasure.asked_by,
            action="namespace.delete",
            namespace=namespace,
            target=namespace.name,
            detail={"erasure": str(erasure.pk), "rows": erasure.counts},
        )
        Namespace.objects.filter(pk=namespace.pk)._raw_delete("default")  # noqa: SLF001
    erasure.state = Erasure.State.DONE
    erasure.finished_at = now
    erasure.save(update_fields=["state", "finished_at", "counts"])


def _drop_indexes(erasure: Erasure) -> None:
    """Drop the vector and word indexes that were this namespace's or its repositories' own."""
    keys = [str(erasure.namespace_id), *erasure.repository_ids]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexname FROM pg_indexes WHERE schemaname = 'public'"
            " AND indexdef LIKE ANY (%s)",
            [[f"%{key}%" for key in keys]],
        )
        for (name,) in cursor.fetchall():
            cursor.execute(sql.SQL("DROP INDEX IF EXISTS {}").format(sql.Identifier(name)))


def _remove_mirrors(erasure: Erasure) -> None:
    """Remove this host's mirrors of the repositories, and say so in the receipt."""
    for key in erasure.repository_ids:
        shutil.rmtree(mirror_path(UUID(key)), ignore_errors=True)
    Erasure.objects.filter(pk=erasure.pk).update(repository_ids=[])


def _count(erasure: Erasure, table: str, deleted: int) -> None:
    """Add to the receipt, in the transaction that deleted."""
    if deleted:
        erasure.counts[table] = erasure.counts.get(table, 0) + deleted
        Erasure.objects.filter(pk=erasure.pk).update(counts=erasure.counts)


def _let_go_of_each_other(model: type[models.Model], namespace_id: UUID) -> None:
    """Empty the keys by which rows of one table refer to one another: batches would break them."""
    for field in _keys(model):
        if field.related_model is model:
            rows = _rows(model, namespace_id).exclude(**{field.name: None})
            rows.update(**{field.name: None})


def _raw_delete(model: type[models.Model], keys: Any) -> int:
    """Delete rows without Django's cascade: every table is asked for itself, children first."""
    rows = model._base_manager.filter(pk__in=keys)  # noqa: SLF001
    return int(rows._raw_delete("default"))  # noqa: SLF001


def _rows(model: type[models.Model], namespace_id: UUID) -> models.QuerySet[Any]:
    return model._base_manager.filter(**{_paths()[model]: namespace_id})  # noqa: SLF001


@lru_cache(maxsize=1)
def _models() -> tuple[type[models.Model], ...]:
    """Return every table that belongs to namespaces, those that refer to others before them."""
    belonging = _paths()
    ordered: list[type[models.Model]] = []
    seen: set[type[models.Model]] = set()

    def visit(model: type[models.Model]) -> None:
        if model in seen:
            return
        seen.add(model)
        for other in belonging:
            if other is not model and any(key.related_model is model for key in _keys(other)):
                visit(other)
        ordered.append(model)

    for model in belonging:
        visit(model)
    return tuple(ordered)


@lru_cache(maxsize=1)
def _paths() -> dict[type[models.Model], str]:
    """Return each table that a namespace is reached from, with the shortest way there."""
    found: dict[type[models.Model], str] = {}
    waiting: list[tuple[type[models.Model], str]] = [(Namespace, "")]
    tables = [
        model
        for model in apps.get_models(include_auto_created=True)
        if model._meta.managed and not model._meta.proxy  # noqa: SLF001
    ]
    while waiting:
        reached, way = waiting.pop(0)
        for model in tables:
            for parent, name in _parents(model):
                if parent is reached and model not in found and model is not Namespace:
                    found[model] = f"{name}__{way}" if way else name
                    waiting.append((model, found[model]))
    return found


def _parents(model: type[models.Model]) -> Iterator[tuple[type[models.Model], str]]:
    """Yield what a table's rows are parts of: by keys that must be there first, then by others."""
    for field in sorted(_keys(model), key=lambda field: field.null):
        if field.remote_field.on_delete is not models.SET_NULL:
            yield field.related_model, field.name


def _keys(model: type[models.Model]) -> list[models.ForeignKey[Any, Any]]:
    fields = model._meta.concrete_fields  # noqa: SLF001
    return [field for field in fields if isinstance(field, models.ForeignKey)]


def _receipt(erasure: Erasure) -> Receipt:
    return Receipt(
        id=erasure.pk,
        namespace=erasure.namespace_name,
        state=erasure.state,
        asked_by=erasure.asked_by,
        asked_at=erasure.asked_at,
        due_at=erasure.due_at,
        finished_at=erasure.finished_at,
        counts=dict(erasure.counts),
    )
