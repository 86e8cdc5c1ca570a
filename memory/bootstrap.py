"""A repository's first memories: what it says of itself, compared with what is known, then stored.

What was stored from it before, in whatever state it is now, is never stored again: a memory that
somebody retired stays retired. Where a document says something else now, the memory of what it
said is superseded. Texts go through storing like all others: secrets out, orders to the queue.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Final
from uuid import UUID

from django.db.models import Q, QuerySet

from codemem import policies
from codemem.accounts.values import Caller
from codemem.embedding import Provider
from memory import queries
from memory.anchors import Citation, citation
from memory.models import CaptureRule, Memory
from memory.safety import orders_in
from memory.seeds import Seed
from memory.services.drafting import cleaned_content, content_hash
from memory.services.storing import store_memories
from memory.values import ItemOutcome, NewMemory
from memory.wording import MemoryInvalid

SOURCE: Final = "bootstrap"

_ALIKE: Final = 0.5
_LONGEST_COMPARED: Final = 1_000
_OF_A_MODEL: Final = "language-model"
_CONFIDENCE: Final[Mapping[str, float]] = {"history": 0.7, "model": 0.7}


class Standing(StrEnum):
    """What storing a statement would do."""

    NEW = "new"
    CHANGED = "changed"  # in place of what the document said before
    KNOWN = "known"  # nothing: it is there, or was and somebody ended it


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A statement, and what storing it would do."""

    seed: Seed
    standing: Standing
    replaces: UUID | None = None
    gives_orders: bool = False  # it would wait in the review queue


def ignored_globs(*, namespace_id: UUID, repository_id: UUID) -> tuple[str, ...]:
    """Return the globs of files of which nothing is to be kept. Two queries."""
    held = policies.text(namespace_id, "capture.ignored_paths").split(",")
    rule = CaptureRule.objects.filter(repository_id=repository_id).first()
    globs = [*held, *(rule.ignored_paths if rule else ())]
    return tuple(glob.strip() for glob in globs if glob.strip())


def planned(
    *,
    caller: Caller,
    namespace_id: UUID,
    repository_id: UUID,
    seeds: Iterable[Seed],
    now: datetime,
) -> list[Planned]:
    """Compare statements with what the caller sees of the repository. Two queries.

    Texts that cannot be kept are left out.
    """
    cleaned = [(seed, _content(seed)) for seed in seeds]
    kept = [(seed, content) for seed, content in cleaned if content]
    rows = queries.visible_memories(caller=caller, now=now, include_inactive=True).filter(
        namespace_id=namespace_id, repository_id=repository_id
    )
    known = _known(rows, kept)
    before = {
        row.pk: row
        for row in queries.visible_memories(caller=caller, now=now)
        .filter(namespace_id=namespace_id, repository_id=repository_id, source=SOURCE)
        .defer(*queries.SEARCH_COLUMNS)
    }
    said = {content for _, content in kept}
    gone = {key: row for key, row in before.items() if row.content not in said}
    plans = []
    for seed, content in kept:
        if seed.key in known:
            plans.append(Planned(seed=seed, standing=Standing.KNOWN))
            continue
        old = _former(seed, content, gone)
        if old is not None:
            del gone[old]
        plans.append(
            Planned(
                seed=seed,
                standing=Standing.CHANGED if old else Standing.NEW,
                replaces=old,
                gives_orders=bool(orders_in(content)),
            )
        )
    return plans


def plant(
    *,
    caller: Caller,
    namespace_id: UUID,
    repository_id: UUID,
    commit: str,
    plans: Sequence[Planned],
    now: datetime,
    model: str = "",
    provider: Provider | None = None,
) -> list[ItemOutcome]:
    """Store what is new or changed, anchored to the lines that it stands on at the commit.

    What a language `model` found is proposed and labelled with it. Raise NamespaceUnknown,
    RightMissing, BatchTooLarge.
    """
    return store_memories(
        caller=caller,
        namespace_id=namespace_id,
        items=[
            _memory(plan, repository_id, commit, model)
            for plan in plans
            if plan.standing is not Standing.KNOWN
        ],
        now=now,
        provider=provider,
    )


def _memory(plan: Planned, repository_id: UUID, commit: str, model: str) -> NewMemory:
    seed = plan.seed
    evidence = {"kind": "commit" if seed.commit else "file", "ref": seed.commit or seed.place}
    return NewMemory(
        content=seed.content,
        memory_type=seed.memory_type,
        repository_id=repository_id,
        rationale=seed.rationale,
        alternatives=list(seed.alternatives),
        evidence=[evidence],
        citations=_citations(seed, commit),
        importance=seed.importance,
        confidence=_CONFIDENCE.get(seed.source, 0.9),
        supersedes=[plan.replaces] if plan.replaces else [],
        source=SOURCE,
        idempotency_key=_key(seed),
        agent="codemem bootstrap",
        is_proposed=bool(model),
        model=model,
        tags=[_OF_A_MODEL] if model else [],
    )


def _citations(seed: Seed, commit: str) -> list[Citation]:
    if not seed.first_line:
        return []
    return [
        citation(path=seed.path, start_line=seed.first_line, end_line=seed.last_line, commit=commit)
    ]


def _content(seed: Seed) -> str:
    try:
        return cleaned_content(seed.content)
    except MemoryInvalid:
        return ""


def _key(seed: Seed) -> str:
    return f"{SOURCE}:{seed.key}"


def _known(rows: QuerySet[Memory], kept: Sequence[tuple[Seed, str]]) -> frozenset[str]:
    """Return the keys of statements that are there in these words, or came in before."""
    by_hash = {content_hash(content): seed.key for seed, content in kept}
    by_key = {_key(seed): seed.key for seed, _ in kept}
    there = rows.filter(Q(content_hash__in=list(by_hash)) | Q(idempotency_key__in=list(by_key)))
    found: set[str] = set()
    for digest, key in there.values_list("content_hash", "idempotency_key"):
        found |= {by_hash.get(bytes(digest), ""), by_key.get(key, "")}
    return frozenset(found)


def _former(seed: Seed, content: str, gone: Mapping[UUID, Memory]) -> UUID | None:
    """Return the memory of what the same place said before: the most alike, if any is."""
    if seed.commit:
        return None
    there = [
        row for row in gone.values() if any(part["ref"] == seed.place for part in row.evidence)
    ]
    # A whole file says one thing; below a heading there are many.
    least = _ALIKE if "#" in seed.place else 0.0
    scored = [(_likeness(content, row.content), row.pk) for row in there]
    best = max(scored, default=(0.0, None), key=lambda pair: pair[0])
    return best[1] if best[0] >= least else None


def _likeness(one: str, other: str) -> float:
    short = (one[:_LONGEST_COMPARED].split(), other[:_LONGEST_COMPARED].split())
    return SequenceMatcher(None, *short, autojunk=False).ratio()
