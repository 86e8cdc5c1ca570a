"""What was captured of sessions and holds the words of a memory: found and erased with it.

Only whole words of some length are looked for: a memory that says "yes" must not take every
session along in which somebody said so. Where it is shorter, only what says exactly that goes.
"""

import json
from collections.abc import Collection
from uuid import UUID

from django.db import models
from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast

from codemem.accounts.values import Caller
from memory.models import Checkpoint, Handoff, Observation, Session, WorkItem
from memory.privacy import private_rows

_SHORTEST_QUOTED = 20
_LISTS = ("done", "open_questions", "next_steps", "remaining")


def count_captured(
    *, namespace_id: UUID, texts: Collection[str], caller: Caller | None = None
) -> int:
    """Return how many captured rows hold one of some texts; with a caller, those they may see."""
    seen = {} if caller is None else private_rows(caller)
    return sum(
        rows.filter(seen.get(rows.model, Q())).count() for rows in _holding(namespace_id, texts)
    )


def erase_captured(*, namespace_id: UUID, texts: Collection[str]) -> int:
    """Erase the captured rows that hold one of some texts, whoever's they are; return how many."""
    erased = sum(rows.delete()[0] for rows in _holding(namespace_id, texts))
    titled = Session.objects.filter(_says("title", texts), namespace_id=namespace_id)
    return erased + titled.update(title="")


def _holding(namespace_id: UUID, texts: Collection[str]) -> list[QuerySet[models.Model]]:
    return [
        _rows(Observation, namespace_id, texts, columns=("content", "command"), lists=()),
        _rows(Checkpoint, namespace_id, texts, columns=("summary",), lists=_LISTS[:3]),
        _rows(Handoff, namespace_id, texts, columns=("summary",), lists=_LISTS[:3]),
        _rows(WorkItem, namespace_id, texts, columns=("title", "goal"), lists=_LISTS[:2]),
    ]


def _rows(
    model: type[models.Model],
    namespace_id: UUID,
    texts: Collection[str],
    *,
    columns: tuple[str, ...],
    lists: tuple[str, ...],
) -> QuerySet[models.Model]:
    condition = Q(pk__in=[])
    for column in columns:
        condition |= _says(column, texts)
    for name in lists:
        # As JSON spells the text inside a list.
        spelled = [json.dumps(text, ensure_ascii=False)[1:-1] for text in texts if text]
        condition |= _says(f"{name}_text", spelled)
    rows = model._default_manager.filter(namespace_id=namespace_id)  # noqa: SLF001
    casts = {f"{name}_text": Cast(name, TextField()) for name in lists}
    found: QuerySet[models.Model] = rows.alias(**casts).filter(condition)
    return found


def _says(column: str, texts: Collection[str]) -> Q:
    condition = Q(pk__in=[])
    for text in texts:
        if len(text) >= _SHORTEST_QUOTED:
            condition |= Q(**{f"{column}__contains": text})
        elif text:
            condition |= Q(**{column: text})
    return condition
