"""Which memories a new one is close to, and what it is to each of them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q, QuerySet

from codemem.accounts.values import Action
from codemem.postgres.indexes import standing
from codemem.words import query_terms
from memory import candidates, indexes, queries
from memory.candidates import QuestionVector
from memory.models import Memory
from memory.reconciling import compare, family
from memory.services.drafting import Draft
from memory.values import Kin, Relation, Visibility

COMPARED: Final = 10
_SHOWN_CHARACTERS: Final = 200
_MOST_TERMS: Final = 16
_MOST_REPORTED: Final = 5


def kin_of(draft: Draft, *, vector: QuestionVector | None, now: datetime) -> list[Kin]:
    """Return the memories a draft is close to, nearest first within each relation, at most five.

    Compared are the ten nearest by vector and the ten nearest by words of those that the caller
    sees, that answer where the draft will, and whose type is of the same family. Only one of just
    the same scope can be the same. Three queries.
    """
    nearest = _nearest(draft, vector, now=now)
    rows = Memory.objects.filter(pk__in=nearest).only(
        "pk", "content", "repository_id", "branch", "visibility", "memory_type", "author_id"
    )
    found = []
    for memory in rows:
        verdict = compare(
            new=draft.content,
            old=memory.content,
            cosine=nearest[memory.pk],
            memory_type=draft.memory_type,
        )
        if verdict is None:
            continue
        is_twin = verdict.relation is Relation.SAME and _is_of_same_scope(draft, memory)
        if verdict.relation is Relation.SAME and not is_twin:
            relation, reason = Relation.SIMILAR, "Another scope has it in nearly the same words."
        else:
            relation, reason = verdict.relation, verdict.reason
        found.append(
            Kin(
                id=memory.pk,
                relation=relation,
                similarity=verdict.similarity,
                reason=reason,
                content=memory.content[:_SHOWN_CHARACTERS],
            )
        )
    order = list(Relation)
    found.sort(key=lambda kin: (order.index(kin.relation), -kin.similarity, kin.id))
    return found[:_MOST_REPORTED]


@transaction.atomic
def _nearest(
    draft: Draft, vector: QuestionVector | None, *, now: datetime
) -> dict[UUID, float | None]:
    """Return the nearest by id, with the cosine where both have a vector of one model."""
    rows = _comparable(draft, now=now)
    found: dict[UUID, float | None] = {}
    terms = _telling(query_terms(draft.content))
    if terms:
        found |= dict.fromkeys(_by_words(rows, terms, namespace_id=draft.namespace_id))
    if vector is not None:
        _widen_index_scans()
        near = candidates.nearest_by_vector(rows, vector)[:COMPARED]
        found |= {key: 1.0 - distance for distance, key in near}
        unknown = [key for key, cosine in found.items() if cosine is None]
        if unknown:
            also = candidates.nearest_by_vector(Memory.objects.filter(pk__in=unknown), vector)
            found |= {key: 1.0 - distance for distance, key in also}
    return found


def _comparable(draft: Draft, *, now: datetime) -> QuerySet[Memory]:
    """Return what a draft may be compared with: what would answer beside it.

    Nothing private beside what others shall see: a twin that nobody else sees is no twin.
    """
    visible = queries.visible_memories(caller=draft.caller, now=now, action=Action.READ_MEMORY)
    rows = visible.filter(
        queries.on_branch(draft.branch),
        namespace_id=draft.namespace_id,
        memory_type__in=family(draft.memory_type),
    )
    if draft.repository_id is not None:
        rows = rows.filter(queries.in_repository(draft.repository_id))
    else:
        rows = rows.filter(Q(repository_id=None) | Q(visibility=Memory.Visibility.NAMESPACE))
    if draft.visibility is not Visibility.PRIVATE:
        rows = rows.exclude(visibility=Memory.Visibility.PRIVATE)
    return rows.exclude(content_hash=draft.content_hash)


def _is_of_same_scope(draft: Draft, memory: Memory) -> bool:
    is_there = (memory.repository_id, memory.branch) == (draft.repository_id, draft.branch)
    return is_there and memory.visibility == draft.visibility.value


def _by_words(rows: QuerySet[Memory], terms: Sequence[str], *, namespace_id: UUID) -> list[UUID]:
    name = indexes.bm25_index(namespace_id)
    if name in standing([name]):
        ranked = candidates.nearest_by_bm25(rows, terms, namespace_id=namespace_id)
        return [key for score, key in ranked[:COMPARED] if score < 0]
    return [key for _, key in candidates.nearest_by_rank(rows, terms)[:COMPARED]]


def _telling(terms: Sequence[str]) -> list[str]:
    # Long words are rare ones, mostly; each further word is another pass over the rows that have
    # it, and near twins share nearly all of them.
    return sorted(terms, key=len, reverse=True)[:_MOST_TERMS]


def _widen_index_scans() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true)")
