"""Which memories bear on a change of code: tied to it, citing it, or of what failed there.

What the change does to them is for those to say who know the change (`indexing.noted`).
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from codemem.accounts.values import Caller
from graph import queries as graph
from memory import queries
from memory.anchors import AnchorKind, AnchorState
from memory.models import Anchor, Failure, Memory
from memory.values import StoredMemory

_MOST_ANCHORS = 2_000


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

    Those that hold, and failures that were fixed; the nearest first, then the most important, then
    the newest. Five queries.
    """
    tied = graph.memories_linked_to(namespace_id=namespace_id, vertices=list(vertices))
    anchors = _anchors(repository_id, paths)
    failed = _failed(repository_id, paths=paths, symbols=symbols)
    holds = queries.holding(now=now) | Q(pk__in=failed, state=Memory.State.RESOLVED)
    rows = queries.visible_memories(caller=caller, now=now, include_inactive=True).filter(
        holds,
        queries.on_branch(branch),
        Q(number__in=set(tied)) | Q(pk__in={*anchors, *failed}),
        namespace_id=namespace_id,
    )
    best = queries.shown(rows).order_by("-importance", "-created_at", "-id")[:limit]
    near = {*tied}
    found = [
        Bearing(
            memory=queries.stored(row, now=now),
            nearness=_nearness(row, near, failed, anchors, symbols),
            cited=tuple(anchors.get(row.pk, ())),
        )
        for row in best
    ]
    return sorted(found, key=lambda one: -one.nearness)


def _nearness(
    row: Memory,
    tied: Collection[int],
    failed: Collection[UUID],
    anchors: Mapping[UUID, Iterable[Cited]],
    symbols: Collection[str],
) -> float:
    if row.number in tied or row.pk in failed:
        return 1.0
    cited = anchors.get(row.pk, ())
    return max(
        (1.0 if not one.symbol or one.symbol in symbols else 0.5 for one in cited), default=0.5
    )


def _anchors(repository_id: UUID, paths: Collection[str]) -> dict[UUID, list[Cited]]:
    found: dict[UUID, list[Cited]] = {}
    rows = Anchor.objects.filter(repository_id=repository_id, path__in=set(paths))
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


def _failed(repository_id: UUID, *, paths: Collection[str], symbols: Collection[str]) -> set[UUID]:
    """Return the ids of the failures at some files or symbols; whose they are is asked later."""
    names = {uid.rpartition("#")[2] for uid in symbols}
    names |= {name.rpartition(".")[2] for name in names}
    where = Q(paths__overlap=sorted(paths)) | Q(symbols__overlap=sorted(names))
    rows = Failure.objects.filter(where, memory__repository_id=repository_id)
    return set(rows.values_list("memory_id", flat=True)[:_MOST_ANCHORS])
