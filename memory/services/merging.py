"""Folding near duplicates into one of them: nothing of the others is lost.

The one that stays gets the others' tags, links, anchors and uses; the others are superseded by it,
keep their texts, histories and links, and answer no more.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import F

from codemem.accounts.values import Action, Caller
from graph import services as graph
from graph.services import NewLink
from graph.values import VertexLabel, graph_id
from memory.models import Anchor, Memory, MemoryUse
from memory.services.rights import require
from memory.services.versioning import Change, record_versions, words_of_memory
from memory.values import RelationshipKind
from memory.wording import MAXIMUM_TAGS

_COUNTS = ("recalled", "helpful", "not_helpful", "stale", "wrong")
_ANCHOR_FIELDS = (
    "repository_id",
    "kind",
    "path",
    "symbol",
    "start_line",
    "end_line",
    "pattern",
    "package",
    "commit",
    "content_hash",
    "blob",
    "state",
    "detail",
    "checked_commit",
    "checked_at",
)


class FoldImpossible(Exception):
    """The memories are not active any more, or not of one scope."""


@transaction.atomic
def fold(
    *,
    keeper_id: UUID,
    other_ids: Sequence[UUID],
    actor: Caller | str,
    now: datetime,
    reason: str,
) -> Memory:
    """Have one memory stand for others that say the same; a caller needs a right for each.

    Raise FoldImpossible, RightMissing.
    """
    ids = [keeper_id, *other_ids]
    rows = Memory.objects.select_for_update().filter(pk__in=ids, state=Memory.State.ACTIVE)
    memories = {row.pk: row for row in rows.order_by("pk")}
    if len(memories) != len(set(ids)) or len({_scope(row) for row in memories.values()}) != 1:
        raise FoldImpossible("These memories are not all active in one scope; nothing was merged.")
    if isinstance(actor, Caller):
        _require(actor, list(memories.values()))
    keeper, others = memories[keeper_id], [memories[key] for key in other_ids]
    record_versions(memories.values(), change=Change.MERGED, actor=actor, now=now, reason=reason)
    name = actor.username if isinstance(actor, Caller) else actor
    _gather(keeper, others)
    _gather_uses(keeper, others)
    _gather_anchors(keeper, others)
    for other in others:
        other.state, other.superseded_by, other.ended_at = (
            Memory.State.SUPERSEDED,
            keeper,
            now,
        )
        other.save(update_fields=["state", "superseded_by", "ended_at", "version", "updated_at"])
    _gather_links(keeper, others, actor=name, now=now)
    return keeper


def _require(caller: Caller, memories: Sequence[Memory]) -> None:
    for memory in memories:
        is_own = memory.author_id == caller.user_id
        action = Action.WRITE_MEMORY if is_own else Action.DELETE_ANY_MEMORY
        require(caller=caller, action=action, namespace_id=memory.namespace_id)


def _gather(keeper: Memory, others: Sequence[Memory]) -> None:
    tags = dict.fromkeys([*keeper.tags, *(tag for other in others for tag in other.tags)])
    keeper.tags = list(tags)[:MAXIMUM_TAGS]
    keeper.importance = max(row.importance for row in (keeper, *others))
    keeper.is_pinned = any(row.is_pinned for row in (keeper, *others))
    if keeper.expires_at is not None:
        expiries = [row.expires_at for row in (keeper, *others)]
        known = [at for at in expiries if at is not None]
        keeper.expires_at = max(known) if len(known) == len(expiries) else None
    keeper.tokens = words_of_memory(keeper)
    keeper.save(
        update_fields=[
            "tags",
            "importance",
            "is_pinned",
            "expires_at",
            "tokens",
            "version",
            "updated_at",
        ]
    )


def _gather_uses(keeper: Memory, others: Sequence[Memory]) -> None:
    uses = list(MemoryUse.objects.filter(memory__in=others))
    if not uses:
        return
    MemoryUse.objects.get_or_create(memory=keeper)
    counted = {name: F(name) + sum(getattr(use, name) for use in uses) for name in _COUNTS}
    MemoryUse.objects.filter(memory=keeper).update(**counted)
    kept = MemoryUse.objects.get(memory=keeper)
    times = [use.recalled_at for use in (kept, *uses) if use.recalled_at is not None]
    if times:
        kept.recalled_at = max(times)
        kept.save(update_fields=["recalled_at"])


def _gather_anchors(keeper: Memory, others: Sequence[Memory]) -> None:
    """Cite what the others cited; theirs stay with them."""
    present = {_cited(anchor) for anchor in keeper.anchors.all()}
    for anchor in Anchor.objects.filter(memory__in=others).order_by("pk"):
        if _cited(anchor) not in present:
            present.add(_cited(anchor))
            copied = {name: getattr(anchor, name) for name in _ANCHOR_FIELDS}
            Anchor.objects.create(memory=keeper, **copied)


def _cited(anchor: Anchor) -> tuple[object, ...]:
    return (
        anchor.repository_id,
        anchor.kind,
        anchor.path,
        anchor.symbol,
        anchor.start_line,
        anchor.end_line,
        anchor.pattern,
        anchor.package,
    )


def _gather_links(keeper: Memory, others: Sequence[Memory], *, actor: str, now: datetime) -> None:
    """Tie the keeper to what the others are tied to, and say that it stands for them."""
    home = graph.ensure_memory_vertex(
        namespace_id=keeper.namespace_id, number=keeper.number, memory_id=keeper.pk
    )
    away = {graph_id(label=VertexLabel.MEMORY, key=other.number) for other in others}
    links = []
    for row in graph.link_rows(namespace_id=keeper.namespace_id, vertices=list(away)):
        source = home if row.source in away else row.source
        target = home if row.target in away else row.target
        if source != target:
            links.append(NewLink(source=source, target=target, kind=row.kind, weight=row.weight))
    links += [
        NewLink(source=home, target=vertex, kind=RelationshipKind.SUPERSEDES, weight=1.0)
        for vertex in sorted(away)
    ]
    graph.link_all(namespace_id=keeper.namespace_id, links=links, actor=actor, now=now)


def _scope(memory: Memory) -> tuple[object, ...]:
    author = memory.author_id if memory.visibility == Memory.Visibility.PRIVATE else None
    return memory.namespace_id, memory.visibility, memory.repository_id, memory.branch, author
