"""The summarize cycle: long sessions fold into trees, topics into one summary each.

Made again only when what they are made of is another: the same members in the same words give the
same summary. The sentences are the members' own, cited, unless a language model is configured;
then its answer must pass a gate, or the sentences stand.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import connection, transaction

from codemem.accounts.models import User
from graph import services as graph
from graph.services import NewLink
from graph.values import VertexLabel, graph_id
from memory import extracting, language, summaries
from memory.consolidation.circles import Circle
from memory.consolidation.grouping import Piece, condensations, leaves, most_alike, topics
from memory.consolidation.reports import Report
from memory.consolidation.work import ACTOR, Work
from memory.extracting import Source, tokens_of
from memory.models import Memory
from memory.services.versioning import Change, content_hash, record_version, words_of_memory
from memory.values import MemoryType, RelationshipKind

# (visibility, repository, branch): whoever may read one of these may read all.
Scope = tuple[str, UUID | None, str]

_NOT_TIES: Final = frozenset({RelationshipKind.SUMMARIZES, RelationshipKind.SUPERSEDES})
_TAGS: Final = 8
LEVELS: Final = frozenset({"topic", "leaf", "condensed"})
_WITHDRAWN: Final = frozenset({Memory.State.RETIRED, Memory.State.PROPOSED})
_OPEN_FOR_HOURS: Final = 24
_IMPORTANCE: Final = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Folding:
    """One circle's part of a run: `kept` are its summaries, and grow."""

    work: Work
    circle: Circle
    kept: dict[UUID, Memory]
    report: Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A summary that should be there; `present` is the one that is, if any."""

    level: str  # topic, leaf, or condensed
    key: str
    members: tuple[Memory, ...]
    present: Memory | None
    tokens: int


def run(work: Work, circle: Circle) -> Report:
    """Fold sessions and topics of the circle; take back summaries of what left the circle."""
    rows = list(circle.rows(now=work.now).order_by("created_at", "pk"))
    originals = [row for row in rows if row.source != summaries.SOURCE]
    kept = {row.pk: row for row in rows if summaries.sources_of(row)}
    report = Report(before={"memories": len(originals), "summaries": len(kept)})
    folding = Folding(work=work, circle=circle, kept=kept, report=report)
    _withdraw_leaks(folding)
    in_sessions = _fold_sessions(folding, originals)
    _fold_topics(folding, [row for row in originals if row.pk not in in_sessions])
    report.after = {"memories": len(originals), "summaries": len(kept)}
    return report


# --- Sessions -------------------------------------------------------------------------------------
def _fold_sessions(folding: Folding, originals: Sequence[Memory]) -> set[UUID]:
    """Fold the sessions that are long; return the memories that were folded."""
    sessions: dict[tuple[Scope, str], list[Memory]] = defaultdict(list)
    for row in originals:
        if row.session_id:
            sessions[_scope(row), row.session_id].append(row)
    folded: set[UUID] = set()
    for (_, session), rows in sessions.items():
        history = _with_past(folding, rows)
        tokens = sum(tokens_of(row.content) for row in history)
        if tokens < folding.work.count("session_tokens"):
            continue
        level = _fold_leaves(folding, session, history)
        folded.update(row.pk for row in history)
        height = 1
        while level := _condense(folding, level, height):
            height += 1
    return folded


def _with_past(folding: Folding, rows: Sequence[Memory]) -> list[Memory]:
    """Return a session's memories with those that expired after they were folded.

    Without them the runs of the history would begin elsewhere, and every summary be another.
    """
    held = {row.pk for row in rows}
    session = rows[0].session_id
    cited = {
        key
        for summary in folding.kept.values()
        if summary.session_id == session
        for key in summaries.sources_of(summary)
    }
    past = folding.circle.all_rows().filter(
        pk__in=cited - held, session_id=session, state=Memory.State.EXPIRED
    )
    history = [*rows, *(row for row in past if row.source != summaries.SOURCE)]
    return sorted(history, key=lambda row: (row.created_at, row.pk))


def _fold_leaves(folding: Folding, session: str, history: Sequence[Memory]) -> list[Memory]:
    work = folding.work
    by_id = {row.pk: row for row in history}
    quiet = (work.now - history[-1].created_at).total_seconds() >= _OPEN_FOR_HOURS * 3_600
    runs = leaves(
        [Piece(id=row.pk, tokens=tokens_of(row.content)) for row in history],
        maximum_tokens=work.count("leaf_tokens"),
        is_over=quiet,
    )
    made = []
    for pieces in runs:
        key = f"leaf:{session}:{pieces[0].id}"
        plan = Plan(
            level="leaf",
            key=key,
            members=tuple(by_id[piece.id] for piece in pieces),
            present=_keyed(folding.kept, key),
            tokens=work.count("leaf_summary_tokens"),
        )
        made.append(_summarize(folding, plan))
    return [row for row in made if row is not None]


def _condense(folding: Folding, level: Sequence[Memory], height: int) -> list[Memory]:
    by_id = {row.pk: row for row in level}
    made = []
    for pieces in condensations([Piece(id=row.pk, tokens=tokens_of(row.content)) for row in level]):
        key = f"condensed:{height}:{pieces[0].id}"
        plan = Plan(
            level="condensed",
            key=key,
            members=tuple(by_id[piece.id] for piece in pieces),
            present=_keyed(folding.kept, key),
            tokens=folding.work.count("condensed_summary_tokens"),
        )
        made.append(_summarize(folding, plan))
    return [row for row in made if row is not None]


# --- Topics ---------------------------------------------------------------------------------------
def _fold_topics(folding: Folding, originals: Sequence[Memory]) -> None:
    work = folding.work
    by_id = {row.pk: row for row in originals}
    ties = _ties(work, originals)
    scopes: dict[Scope, list[UUID]] = defaultdict(list)
    for row in originals:
        scopes[_scope(row)].append(row.pk)
    for scope, members in scopes.items():
        about = {
            key: row
            for key, row in folding.kept.items()
            if _scope(row) == scope and not row.session_id
        }
        for group in topics(members, ties, minimum=work.count("minimum_members")):
            alike = most_alike(group, summaries.kept_members(about.values()))
            present = about.pop(alike) if alike is not None else None
            plan = Plan(
                level="topic",
                key=present.idempotency_key if present else f"topic:{group[0]}",
                members=tuple(by_id[key] for key in group),
                present=present,
                tokens=work.count("leaf_summary_tokens"),
            )
            _summarize(folding, plan)


def _ties(work: Work, originals: Sequence[Memory]) -> list[tuple[UUID, UUID, float]]:
    by_vertex = {_vertex(row): row.pk for row in originals}
    return [
        (by_vertex[link.source], by_vertex[link.target], link.weight)
        for link in graph.link_rows(namespace_id=work.namespace_id, vertices=list(by_vertex))
        if link.kind not in _NOT_TIES and link.source in by_vertex and link.target in by_vertex
    ]


# --- One summary ----------------------------------------------------------------------------------
def _summarize(folding: Folding, plan: Plan) -> Memory | None:
    """Return the summary of a plan, made or mended if it is not there as it should be."""
    work, report = folding.work, folding.report
    evidence = summaries.evidence_of(plan.members)
    if plan.present is not None and plan.present.evidence == evidence:
        report.leave_out("up to date")
        return plan.present
    sources = [Source(id=row.pk, text=_told(row), weight=row.importance) for row in plan.members]
    if work.is_dry:
        report.changed += 1
        report.show(level=plan.level, members=len(sources), key=plan.key)
        # Heights above cannot be planned without what they are made of.
        return plan.present
    text, model = _write(work, sources, plan.tokens, report)
    if not text:
        report.leave_out("nothing to say")
        return plan.present
    row = _store(folding, plan, text=text, model=model)
    folding.kept[row.pk] = row
    report.changed += 1
    report.show(
        memory=str(row.pk),
        level=plan.level,
        members=len(sources),
        tokens_before=sum(tokens_of(source.text) for source in sources),
        tokens_after=tokens_of(text),
        model=model,
    )
    return row


def _write(work: Work, sources: Sequence[Source], tokens: int, report: Report) -> tuple[str, str]:
    """Return a text and who made it: a language model if there is one and its text is fit."""
    whole = sum(tokens_of(source.text) for source in sources)
    extract = extracting.extract(sources, tokens=min(tokens, max(whole // 2, 40)))
    written = language.summarize(
        namespace_id=work.namespace_id, sources=sources, tokens=tokens, now=work.now
    )
    if written is None:
        return extract, extracting.MODEL
    if written.refused:
        report.note(written.refused)
        return extract, extracting.MODEL
    return written.text, written.model


def _store(folding: Folding, plan: Plan, *, text: str, model: str) -> Memory:
    work = folding.work
    with work.changing([plan.present.pk] if plan.present else []) as made:
        if plan.present is not None:
            row = _mended(work, plan, plan.present, text=text, model=model)
        else:
            row = _made(folding, plan, text=text, model=model)
            made.add(row.pk)
        _tie(work, row, plan.members)
    return row


def _mended(work: Work, plan: Plan, present: Memory, *, text: str, model: str) -> Memory:
    row = Memory.objects.select_for_update().get(pk=present.pk)
    record_version(
        row, change=Change.CONSOLIDATED, actor=ACTOR, now=work.now, reason=f"run {work.run.pk}"
    )
    _fill(row, plan, text, model)
    row.embedding, row.embedding_fingerprint = None, ""
    row.save()
    return row


def _made(folding: Folding, plan: Plan, *, text: str, model: str) -> Memory:
    author_id = folding.circle.author_id
    visibility, repository_id, branch = _scope(plan.members[0])
    author = User.objects.filter(pk=author_id).first() if author_id else None
    row = Memory(
        number=_next_number(),
        namespace_id=folding.work.namespace_id,
        repository_id=repository_id,
        branch=branch,
        visibility=visibility,
        memory_type=MemoryType.SUMMARY,
        importance=_IMPORTANCE,
        author=author,
        author_name=author.username if author else ACTOR,
        session_id="" if plan.level == "topic" else plan.members[0].session_id,
        source=summaries.SOURCE,
        agent="codemem",
        idempotency_key=plan.key[:200],
        created_at=folding.work.now,
    )
    _fill(row, plan, text, model)
    row.save(force_insert=True)
    return row


def _fill(row: Memory, plan: Plan, text: str, model: str) -> None:
    row.content, row.content_hash = text, content_hash(text)
    row.model = model[:100]
    row.evidence = summaries.evidence_of(plan.members)
    row.tags = _tags(plan)
    row.confidence = min(member.confidence for member in plan.members)
    row.rationale = f"A {plan.level} summary of {len(plan.members)} memories, by {model}."
    row.tokens = words_of_memory(row)


def _tie(work: Work, row: Memory, members: Sequence[Memory]) -> None:
    """Have the summary's SUMMARIZES links lead to its members, and nowhere else."""
    source = graph.ensure_memory_vertex(
        namespace_id=work.namespace_id, number=row.number, memory_id=row.pk
    )
    wanted = {_vertex(member) for member in members}
    for link in graph.link_rows(namespace_id=work.namespace_id, vertices=[source]):
        is_ours = link.source == source and link.kind == RelationshipKind.SUMMARIZES
        if is_ours and link.target not in wanted:
            graph.drop_link_rows(namespace_id=work.namespace_id, rows=[link])
    graph.link_all(
        namespace_id=work.namespace_id,
        links=[
            NewLink(source=source, target=target, kind=RelationshipKind.SUMMARIZES, weight=1.0)
            for target in sorted(wanted)
        ],
        actor=ACTOR,
        now=work.now,
    )


# --- What must not stay ---------------------------------------------------------------------------
def _withdraw_leaks(folding: Folding) -> None:
    """Take back summaries of memories that left their scope, or were retired.

    A memory that became private, moved or was purged must not be told by its summary: that one is
    erased, also from what undoing keeps. Of a retired source the summary retires, and undoing
    brings it back. What is left of the group is summarized again in this same run.
    """
    work, kept = folding.work, folding.kept
    cited = {key for row in kept.values() for key in summaries.sources_of(row)}
    present = {row.pk: row for row in folding.circle.all_rows().filter(pk__in=cited)}
    for key, row in list(kept.items()):
        sources = [present.get(source) for source in summaries.sources_of(row)]
        if any(source is None or _scope(source) != _scope(row) for source in sources):
            del kept[key]
            folding.report.leave_out("withdrawn: a source left its scope")
            if not work.is_dry:
                _erase(row)
        elif any(source.state in _WITHDRAWN for source in sources if source):
            del kept[key]
            folding.report.leave_out("withdrawn: a source was retired")
            if not work.is_dry:
                with work.changing([key]):
                    retire(row, reason=f"run {work.run.pk}", now=work.now)


@transaction.atomic
def _erase(row: Memory) -> None:
    summaries.erase_telling(row.pk)
    summaries.erase(row)


def retire(row: Memory, *, reason: str, now: datetime) -> None:
    """Retire a summary that may not be told any more; its sources are untouched."""
    locked = Memory.objects.select_for_update().get(pk=row.pk)
    record_version(locked, change=Change.RETIRED, actor=ACTOR, now=now, reason=reason)
    graph.unlink_memory(namespace_id=locked.namespace_id, number=locked.number)
    locked.state = Memory.State.RETIRED
    locked.retired_at = locked.ended_at = now
    locked.retired_by = ACTOR
    # Its place may be taken by a summary of what is left.
    locked.idempotency_key = ""
    locked.save()


# --- Parts ----------------------------------------------------------------------------------------
def _told(row: Memory) -> str:
    return (
        f"{row.content}\n{row.rationale}" if row.rationale and row.source != ACTOR else row.content
    )


def _tags(plan: Plan) -> list[str]:
    counts: dict[str, int] = defaultdict(int)
    for member in plan.members:
        for tag in member.tags:
            counts[tag] += 1
    common = sorted(counts, key=lambda tag: (-counts[tag], tag))
    return [plan.level, *(tag for tag in common if tag not in LEVELS)][:_TAGS]


def _keyed(kept: Mapping[UUID, Memory], key: str) -> Memory | None:
    return next((row for row in kept.values() if row.idempotency_key == key[:200]), None)


def _scope(row: Memory) -> Scope:
    return row.visibility, row.repository_id, row.branch


def _vertex(row: Memory) -> int:
    return graph_id(label=VertexLabel.MEMORY, key=row.number)


def _next_number() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval('memory_memory_number')")
        return int(cursor.fetchone()[0])
