"""Which memories bear on a change of code: tied to it, citing it, or of what failed there.

What the change does to them is for those to say who know the change (`indexing.noted`).
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q, QuerySet

from codemem.accounts.values import Caller
from graph import queries as graph
from memory import queries
from memory.anchors import AnchorKind, AnchorState
from memory.models import Anchor, Failure, Memory
from memory.values import StoredMemory

_MOST_ANCHORS = 2_000
_MOST_LINKS = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Cited:
    """What a memory cites in one of the files, as it was found last.

    `content_hash` is that of the lines, or of the symbol's body hash (`anchors_seen.body_digest`).
    """

    kind: AnchorKind
    path: str
    symbol: str
    start_line: int | None
    end_line: int | None
    pattern: str
    content_hash: bytes | None
    state: AnchorState


@dataclass(frozen=True, slots=True, kw_only=True)
class Bearing:
    """A memory that bears on a change. `nearness` is 1 for what changes, .5 for its file."""

    memory: StoredMemory
    nearness: float
    cited: tuple[Cited, ...]


def bearing_on(
    *,
    caller: Caller,
    namespace_id: UUID,
    repository_id: UUID,
    vertices: Collection[int],
    paths: Collection[str],
    symbols: Collection[str],
    branch: str,
    now: datetime,
    limit: int,
) -> list[Bearing]:
    """Return the visible memories that bear on some nodes, files and symbols (text ids).

    Those that answer for the repository and hold, and failures that were fixed; the nearest first,
    then the most important, then the newest. Five queries.
    """
    # What others may not see, or what no longer holds, takes no place among the first so many.
    seen = queries.visible_memories(caller=caller, now=now, include_inactive=True).filter(
        queries.holding(now=now) | Q(state=Memory.State.RESOLVED),
        queries.on_branch(branch),
        queries.in_repository(repository_id),
        namespace_id=namespace_id,
    )
    tied = graph.memories_linked_to(
        namespace_id=namespace_id, vertices=list(vertices), limit=_MOST_LINKS
    )
    anchors = _anchors(seen, repository_id, paths)
    failed = _failed(seen, repository_id, paths=paths, symbols=symbols)
    near = {key for key, cited in anchors.items() if _is_near(cited, symbols)} | failed
    rows = (
        queries.shown(seen)
        .filter(
            queries.holding(now=now) | Q(pk__in=failed),
            Q(number__in=set(tied)) | Q(pk__in={*anchors, *failed}),
        )
        .annotate(is_near=Q(number__in=set(tied)) | Q(pk__in=near))
    )
    return [
        Bearing(
            memory=queries.stored(row, now=now),
            nearness=1.0 if row.is_near else 0.5,
            cited=tuple(anchors.get(row.pk, ())),
        )
        for row in rows.order_by("-is_near", "-importance", "-created_at", "-id")[:limit]
    ]


def _is_near(cited: Iterable[Cited], symbols: Collection[str]) -> bool:
    """Tell whether something is cited that changes, and not only something else of its file."""
    return any(not one.symbol or one.symbol in symbols for one in cited)


def _anchors(
    seen: QuerySet[Memory], repository_id: UUID, paths: Collection[str]
) -> dict[UUID, list[Cited]]:
    found: dict[UUID, list[Cited]] = {}
    rows = Anchor.objects.filter(
        repository_id=repository_id, path__in=set(paths), memory__in=seen.order_by()
    )
    for row in rows.order_by("pk")[:_MOST_ANCHORS]:
        found.setdefault(row.memory_id, []).append(
            Cited(
                kind=AnchorKind(row.kind),
                path=row.path,
                symbol=row.symbol,
                start_line=row.start_line,
                end_line=row.end_line,
                pattern=row.pattern,
                content_hash=bytes(row.content_hash) if row.content_hash is not None else None,
                state=AnchorState(row.state),
            )
        )
    return found


def _failed(
    seen: QuerySet[Memory],
    repository_id: UUID,
    *,
    paths: Collection[str],
    symbols: Collection[str],
) -> set[UUID]:
    """Return the ids of the failures at some files or symbols."""
    names = {uid.rpartition("#")[2] for uid in symbols}
    names |= {name.rpartition(".")[2] for name in names}
    where = Q(paths__overlap=sorted(paths)) | Q(symbols__overlap=sorted(names))
    rows = Failure.objects.filter(
        where, memory__repository_id=repository_id, memory__in=seen.order_by()
    )
    return set(rows.values_list("memory_id", flat=True)[:_MOST_ANCHORS])
