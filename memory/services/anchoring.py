"""Anchors of memories: made when a memory cites code, and checked against what the code is now.

A check changes the anchor and nothing else: what drifted is ranked lower and shown with a flag, and
its author is told (`list_drifted`), but no check retires a memory.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from codemem.accounts.values import Action, Caller
from graph import queries as graph_queries
from graph.values import LIVE, RefState, View
from memory import anchors_seen, queries
from memory.anchors import (
    MAXIMUM_ANCHORS,
    AnchorInvalid,
    AnchorKind,
    AnchorState,
    Citation,
    worst,
)
from memory.anchors_seen import Judged, SeenCode
from memory.models import Anchor, AnchorsChecked, Memory, MemoryEntity
from memory.services.linking import NAMED_WEIGHT, Tie, tie_memory
from memory.services.rights import require
from memory.values import StoredMemory

DEMOTION: Mapping[AnchorState, float] = {
    AnchorState.DRIFTED: 0.8,
    AnchorState.MISSING: 0.6,
}
"""What a memory's score is multiplied by, by the worst state of its anchors; 1 for the others."""

_CHECKED_AT_ONCE = 500
_COLUMNS = (
    *("state", "detail", "path", "symbol", "start_line", "end_line"),
    *("content_hash", "blob", "checked_commit", "checked_at"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorValue:
    """One anchor as it is shown: what was cited, where it stands, and whether it is as it was."""

    memory_id: UUID
    kind: AnchorKind
    state: AnchorState
    detail: str
    repository_id: UUID
    path: str
    symbol: str
    start_line: int | None
    end_line: int | None
    pattern: str
    package: str
    commit: str
    checked_commit: str

    @property
    def cites(self) -> str:
        """What is cited, in one word: a symbol, path:lines, a pattern in a path, a package."""
        if self.kind is AnchorKind.LINES:
            return f"{self.path}:{self.start_line}-{self.end_line}"
        if self.kind is AnchorKind.PATTERN:
            return f"{self.path} =~ {self.pattern}"
        return self.symbol or self.package or self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftAnchor:
    """An anchor on its way into the table: what is cited, as it was found when it was cited."""

    citation: Citation
    repository_id: UUID
    judged: Judged
    commit: str


# --- Citing ---------------------------------------------------------------------------------------
def drafted(
    citations: Sequence[Citation], *, repository_id: UUID | None, ref: RefState | None = None
) -> list[DraftAnchor]:
    """Return anchors for what is cited, as the code is now; call it outside of transactions.

    `ref` is where it is cited, by default the default branch; a citation may name another commit.
    The hash of what is cited is taken from the repository itself, unless the caller gave one of
    what is not committed yet. Raise AnchorInvalid for what is not there to be cited.
    """
    if not citations:
        return []
    if repository_id is None:
        raise AnchorInvalid("To anchor a memory, name the repository it is about.")
    if len(citations) > MAXIMUM_ANCHORS:
        raise AnchorInvalid(f"A memory has at most {MAXIMUM_ANCHORS} anchors.")
    ref = ref or graph_queries.get_ref_state(repository_id=repository_id, ref=None)
    at_ref = [one for one in citations if not _is_elsewhere(one, ref)]
    judged = {id(one): verdict for one, verdict in _judged_at(at_ref, repository_id, ref.view)}
    for one in citations:
        if id(one) not in judged:
            judged[id(one)] = _judged_at_commit(one, repository_id)
    return [
        DraftAnchor(
            citation=one,
            repository_id=repository_id,
            judged=_citable(one, judged[id(one)], ref),
            commit=one.commit or ref.indexed_commit or "",
        )
        for one in dict.fromkeys(citations)
    ]


def drafted_on(
    citations: Sequence[Citation], *, repository_id: UUID | None, branch: str
) -> list[DraftAnchor]:
    """Return anchors for what is cited on a branch, or on the default one where that is unknown.

    Raise AnchorInvalid.
    """
    if not citations or repository_id is None:
        return drafted(citations, repository_id=repository_id)
    ref = graph_queries.get_ref_state(repository_id=repository_id, ref=branch or None)
    if not ref.is_indexed:
        ref = graph_queries.get_ref_state(repository_id=repository_id, ref=None)
    return drafted(citations, repository_id=repository_id, ref=ref)


def anchor_memory(
    memory: Memory, drafts: Sequence[DraftAnchor], *, actor: str, now: datetime
) -> int:
    """Write a memory's anchors, what they name and ties to it, in the caller's transaction.

    What it has already is not anchored again. Return how many are new.
    """
    present = {
        _key(citation_of(anchor), anchor.repository_id)
        for anchor in Anchor.objects.filter(memory=memory)
    }
    new = [one for one in drafts if _key(_found(one), one.repository_id) not in present]
    if len(present) + len(new) > MAXIMUM_ANCHORS:
        raise AnchorInvalid(f"A memory has at most {MAXIMUM_ANCHORS} anchors.")
    Anchor.objects.bulk_create(_row(memory, one, now=now) for one in new)
    note_anchor_entities(memory)
    ties = {
        one.judged.vertex: Tie(id=str(one.citation), vertex=one.judged.vertex, weight=NAMED_WEIGHT)
        for one in new
        if one.judged.vertex is not None
    }
    if ties:
        tie_memory(memory, list(ties.values()), actor=actor, now=now)
    return len(new)


def remove_anchors(memory: Memory, *, besides: Collection[DraftAnchor]) -> int:
    """Take a memory's anchors away, except those that are cited again; return how many went."""
    kept = {_key(_found(one), one.repository_id) for one in besides}
    gone = [
        anchor.pk
        for anchor in Anchor.objects.filter(memory=memory)
        if _key(citation_of(anchor), anchor.repository_id) not in kept
    ]
    Anchor.objects.filter(pk__in=gone).delete()
    return len(gone)


def copy_anchors(*, sources: Iterable[Memory], target: Memory) -> int:
    """Give a memory the anchors of others, each once; return how many."""
    seen = {
        _key(citation_of(row), row.repository_id) for row in Anchor.objects.filter(memory=target)
    }
    copies = []
    for anchor in Anchor.objects.filter(memory__in=list(sources)):
        key = _key(citation_of(anchor), anchor.repository_id)
        if key not in seen and len(seen) < MAXIMUM_ANCHORS:
            seen.add(key)
            copies.append(_copy(anchor, target))
    Anchor.objects.bulk_create(copies)
    return len(copies)


# --- Reading --------------------------------------------------------------------------------------
def anchors_of(
    memories: Collection[UUID], *, ref: RefState | None = None, repository_id: UUID | None = None
) -> dict[UUID, tuple[AnchorValue, ...]]:
    """Return the anchors of some memories, with their state as the caller's ref shows the code.

    Without a ref, and in other repositories than `repository_id`, the state is the last check's.
    For a ref that is not indexed it is unverified. Otherwise a state holds as long as the ref
    shows the content that it was found in; what is another content is read and judged here, and
    the verdict is not kept. Two queries, two more and one read of the mirror where content differs.
    """
    found: dict[UUID, list[AnchorValue]] = {}
    rows = list(Anchor.objects.filter(memory__in=memories)) if memories else []
    here = [row for row in rows if ref is not None and row.repository_id == repository_id]
    verdicts = _verdicts_at(here, ref) if here and ref is not None else {}
    for row in rows:
        value = _value(row, verdicts.get(row.pk))
        found.setdefault(row.memory_id, []).append(value)
    return {key: tuple(values) for key, values in found.items()}


def state_of(anchors: Sequence[AnchorValue]) -> AnchorState | None:
    """Return what is worst about a memory's anchors, None when it has none."""
    return worst([anchor.state for anchor in anchors])


def demotion(anchors: Sequence[AnchorValue]) -> float:
    """Return what a memory's score is multiplied by for the state of its anchors."""
    state = state_of(anchors)
    return DEMOTION.get(state, 1.0) if state is not None else 1.0


def memories_anchored_at(
    *, repository_id: UUID, paths: Collection[str] = (), symbols: Collection[str] = ()
) -> dict[UUID, float]:
    """Return the memories anchored at some paths or symbols, and how closely.

    1 for the symbol or the file itself, .5 for another place in the same file. Ids only, of
    whatever memories there are: filter them by what the caller may see. One query.
    """
    wanted = {*paths, *(symbol.removeprefix("sym:").partition("#")[0] for symbol in symbols)}
    if not wanted:
        return {}
    found: dict[UUID, float] = {}
    rows = Anchor.objects.filter(repository_id=repository_id, path__in=wanted)
    for memory_id, path, symbol in rows.order_by("pk").values_list("memory_id", "path", "symbol"):
        is_it = symbol in symbols or path in paths
        found[memory_id] = max(found.get(memory_id, 0.0), 1.0 if is_it else 0.5)
    return found


def list_drifted(
    *,
    caller: Caller,
    now: datetime,
    namespace_ids: Collection[UUID],
    repository_id: UUID | None = None,
    only_mine: bool = False,
    limit: int = 50,
) -> list[StoredMemory]:
    """Return memories whose anchors drifted or are missing, the newest first. Two queries."""
    rows = _with_drift(queries.visible_memories(caller=caller, now=now))
    rows = rows.filter(namespace_id__in=namespace_ids)
    if repository_id is not None:
        rows = rows.filter(queries.in_repository(repository_id))
    if only_mine:
        rows = rows.filter(author_id=caller.user_id)
    latest = queries.shown(rows).order_by("-pk")[:limit]
    return [queries.stored(row, now=now) for row in latest]


def count_drifted(*, caller: Caller, now: datetime) -> dict[UUID, int]:
    """Return how many of the caller's own memories drifted, by namespace. One query."""
    rows = _with_drift(queries.visible_memories(caller=caller, now=now)).filter(
        author_id=caller.user_id
    )
    counted: dict[UUID, int] = {}
    for namespace_id in rows.values_list("namespace_id", flat=True):
        counted[namespace_id] = counted.get(namespace_id, 0) + 1
    return counted


# --- Checking -------------------------------------------------------------------------------------
def check_anchors(
    *,
    repository_id: UUID,
    commit: str,
    touched: Collection[str] | None,
    renames: Mapping[str, str],
    now: datetime,
    branch: str = "",
    view: View = LIVE,
) -> int:
    """Check the anchors that a push touched, after its snapshot; return how many changed state.

    `touched` are the paths that differ since the last check (None: all there are), so that this
    costs what was pushed and not what is anchored. Of another branch the memories of that branch
    are checked. Safe to run twice.
    """
    rows = Anchor.objects.filter(
        repository_id=repository_id,
        memory__state=Memory.State.ACTIVE,
        memory__branch=branch,
    ).exclude(checked_commit=commit)
    if touched is not None:
        rows = rows.filter(Q(path__in=touched) | Q(kind=Anchor.Kind.DEPENDENCY))
    changed = 0
    keys = list(rows.values_list("pk", flat=True))
    for start in range(0, len(keys), _CHECKED_AT_ONCE):
        batch = list(Anchor.objects.filter(pk__in=keys[start : start + _CHECKED_AT_ONCE]))
        changed += _check(batch, view=view, renames=renames, commit=commit, now=now)
    return changed


def checked_commit(*, repository_id: UUID) -> str | None:
    """Return up to which commit the default branch's anchors were checked."""
    row = AnchorsChecked.objects.filter(pk=repository_id).first()
    return row.commit if row else None


def note_checked(*, repository_id: UUID, commit: str, now: datetime) -> None:
    AnchorsChecked.objects.update_or_create(
        repository_id=repository_id, defaults={"commit": commit, "at": now}
    )


def recheck(*, caller: Caller, memory_id: UUID, now: datetime, confirm: bool = False) -> int:
    """Check a memory's anchors now; with `confirm` what stands there is what it cites.

    Checked against its branch, or the default branch. To confirm takes whoever may change the
    memory; what is not there cannot be confirmed. Return how many anchors changed state. Raise
    MemoryUnknown or RightMissing.
    """
    memory = queries.get_memory(caller=caller, memory_id=memory_id, now=now)
    if confirm:
        require(caller=caller, action=Action.WRITE_MEMORY, namespace_id=memory.namespace_id)
    rows = list(Anchor.objects.filter(memory_id=memory_id))
    changed = 0
    for repository_id in sorted({row.repository_id for row in rows}):
        mine = [row for row in rows if row.repository_id == repository_id]
        ref = graph_queries.get_ref_state(repository_id=repository_id, ref=memory.branch or None)
        if not ref.is_indexed:
            continue
        if confirm:
            for row in mine:
                if row.state == Anchor.State.DRIFTED:
                    row.content_hash, row.blob, row.commit = None, "", ref.indexed_commit or ""
        commit = ref.indexed_commit or ""
        changed += _check(mine, view=ref.view, renames={}, commit=commit, now=now)
    return changed


@transaction.atomic
def _check(
    rows: Sequence[Anchor],
    *,
    view: View,
    renames: Mapping[str, str],
    commit: str,
    now: datetime,
) -> int:
    changed = 0
    if not rows:
        return changed
    repository_id = rows[0].repository_id
    code = SeenCode(
        repository_id=repository_id,
        view=view,
        renames=renames,
        citations=[citation_of(row) for row in rows],
    )
    for row in rows:
        verdict = _verdict(row, code)
        changed += row.state != verdict.state
        _apply(row, verdict)
        row.checked_commit, row.checked_at = commit, now
    Anchor.objects.bulk_update(rows, _COLUMNS)
    return changed


def _verdict(row: Anchor, code: SeenCode) -> Judged:
    """Return a verdict; one that could not be made again leaves the former place alone."""
    try:
        return code.judged(citation_of(row))
    except AnchorInvalid as error:
        # A pattern that this Postgres does not take any more.
        return Judged(state=AnchorState.UNVERIFIED, detail=str(error), path=row.path)


def _apply(row: Anchor, verdict: Judged) -> None:
    row.state, row.detail = verdict.state.value, verdict.detail
    row.blob = verdict.blob
    if row.content_hash is None and verdict.state is AnchorState.OK:
        row.content_hash = verdict.content_hash
    if verdict.state is AnchorState.OK:
        row.path, row.symbol = verdict.path or row.path, verdict.symbol or row.symbol
        row.start_line, row.end_line = verdict.start_line, verdict.end_line


def _verdicts_at(rows: Sequence[Anchor], ref: RefState) -> dict[UUID, Judged]:
    """Return verdicts for those anchors whose content a ref shows otherwise than the last check."""
    if not ref.is_indexed:
        detail = f"{ref.requested_ref or ref.ref} is not indexed."
        return {row.pk: Judged(state=AnchorState.UNVERIFIED, detail=detail) for row in rows}
    repository_id = rows[0].repository_id
    cited = SeenCode(
        repository_id=repository_id, view=ref.view, citations=[citation_of(row) for row in rows]
    )
    differing = [
        row
        for row in rows
        if row.kind != Anchor.Kind.DEPENDENCY and cited.blobs.get(row.path, "") != row.blob
    ]
    return {
        row.pk: verdict
        for row, (_, verdict) in zip(
            differing,
            _judged_at([citation_of(row) for row in differing], repository_id, ref.view),
            strict=True,
        )
    }


def _judged_at(
    citations: Sequence[Citation], repository_id: UUID, view: View
) -> list[tuple[Citation, Judged]]:
    code = SeenCode(repository_id=repository_id, view=view, citations=citations)
    return [(one, code.judged(one)) for one in citations]


def _judged_at_commit(citation: Citation, repository_id: UUID) -> Judged:
    """Judge lines, a pattern or a file at a commit that no ref shows; unverified without it."""
    blobs = anchors_seen.blobs_at(
        repository_id=repository_id, commit=citation.commit, paths=[citation.path]
    )
    if blobs is None:
        return Judged(
            state=AnchorState.UNVERIFIED,
            detail=f"The commit {citation.commit[:12]} is not at hand.",
            path=citation.path,
            start_line=citation.start_line,
            end_line=citation.end_line,
            content_hash=citation.content_hash,
        )
    code = SeenCode(repository_id=repository_id, citations=[citation], given_blobs=blobs)
    return code.judged(citation)


def _is_elsewhere(citation: Citation, ref: RefState) -> bool:
    """Say whether a citation names a commit that the ref does not show, of what has content."""
    has_content = citation.kind in {AnchorKind.FILE, AnchorKind.LINES, AnchorKind.PATTERN}
    shown = ref.indexed_commit or ""
    return has_content and bool(citation.commit) and not shown.startswith(citation.commit)


def _citable(citation: Citation, judged: Judged, ref: RefState) -> Judged:
    """Return the verdict about something new: what is not there can only be cited by its hash."""
    if judged.detail == anchors_seen.TOO_SLOW:
        raise AnchorInvalid(f"{judged.detail} Cite something simpler.")
    if judged.state in {AnchorState.OK, AnchorState.UNVERIFIED}:
        return judged
    if citation.content_hash is not None or not ref.is_indexed:
        return Judged(
            state=AnchorState.UNVERIFIED,
            detail="What was cited is not in the repository yet.",
            path=citation.path,
            symbol=citation.symbol,
            start_line=citation.start_line,
            end_line=citation.end_line,
            content_hash=citation.content_hash,
            blob=judged.blob,
        )
    where = f"commit {(citation.commit or ref.indexed_commit or '')[:12]} of {ref.ref}"
    raise AnchorInvalid(
        f"What the anchor cites is not there at {where}: {judged.detail} Of what is not committed"
        " yet give content_hash."
    )


def citation_of(anchor: Anchor) -> Citation:
    """Return what a row cites, to be judged again."""
    return Citation(
        kind=AnchorKind(anchor.kind),
        path=anchor.path,
        symbol=anchor.symbol,
        start_line=anchor.start_line,
        end_line=anchor.end_line,
        pattern=anchor.pattern,
        package=anchor.package,
        commit=anchor.commit,
        content_hash=bytes(anchor.content_hash) if anchor.content_hash is not None else None,
    )


def _found(draft: DraftAnchor) -> Citation:
    """Return what a draft cites with the place and hash at which it was found."""
    one, judged = draft.citation, draft.judged
    is_lines = one.kind is AnchorKind.LINES
    return Citation(
        kind=one.kind,
        path=judged.path or one.path,
        symbol=judged.symbol or one.symbol,
        start_line=judged.start_line if is_lines else None,
        end_line=judged.end_line if is_lines else None,
        pattern=one.pattern,
        package=one.package,
        commit=draft.commit,
        content_hash=judged.content_hash,
    )


def _key(citation: Citation, repository_id: UUID) -> tuple[object, ...]:
    """Return what makes two anchors the same one."""
    is_lines = citation.kind is AnchorKind.LINES
    place = (citation.start_line, citation.end_line) if is_lines else ()
    what = (citation.kind, citation.path, citation.symbol, citation.pattern, citation.package)
    return (repository_id, *what, *place)


def _row(memory: Memory, draft: DraftAnchor, *, now: datetime) -> Anchor:
    found, judged = _found(draft), draft.judged
    return Anchor(
        memory=memory,
        repository_id=draft.repository_id,
        kind=found.kind.value,
        path=found.path,
        symbol=found.symbol,
        start_line=judged.start_line,
        end_line=judged.end_line,
        pattern=found.pattern,
        package=found.package,
        commit=draft.commit,
        content_hash=found.content_hash,
        blob=judged.blob,
        state=judged.state.value,
        detail=judged.detail,
        checked_commit=draft.commit,
        checked_at=now,
    )


def _copy(anchor: Anchor, target: Memory) -> Anchor:
    return Anchor(
        memory=target,
        repository_id=anchor.repository_id,
        kind=anchor.kind,
        commit=anchor.commit,
        pattern=anchor.pattern,
        package=anchor.package,
        **{name: getattr(anchor, name) for name in _COLUMNS},
    )


def note_anchor_entities(memory: Memory) -> None:
    """Have a memory found by what its anchors name, as by what its text names."""
    kind = MemoryEntity.Kind
    named: dict[tuple[str, str], None] = {}
    for path, symbol, package in Anchor.objects.filter(memory=memory).values_list(
        "path", "symbol", "package"
    ):
        pairs = ((kind.PATH, path), (kind.SYMBOL, symbol), (kind.PACKAGE, package))
        named |= {(one, key.lower()[:400]): None for one, key in pairs if key}
    MemoryEntity.objects.bulk_create(
        (
            MemoryEntity(memory=memory, namespace_id=memory.namespace_id, kind=one, key=key)
            for one, key in named
        ),
        ignore_conflicts=True,
    )


def _value(row: Anchor, verdict: Judged | None) -> AnchorValue:
    is_found = verdict is not None and verdict.state is AnchorState.OK
    return AnchorValue(
        memory_id=row.memory_id,
        kind=AnchorKind(row.kind),
        state=verdict.state if verdict else AnchorState(row.state),
        detail=verdict.detail if verdict else row.detail,
        repository_id=row.repository_id,
        path=verdict.path if verdict and is_found and verdict.path else row.path,
        symbol=verdict.symbol if verdict and is_found and verdict.symbol else row.symbol,
        start_line=verdict.start_line if verdict and is_found else row.start_line,
        end_line=verdict.end_line if verdict and is_found else row.end_line,
        pattern=row.pattern,
        package=row.package,
        commit=row.commit,
        checked_commit=row.checked_commit,
    )


def _with_drift(rows: QuerySet[Memory]) -> QuerySet[Memory]:
    drifted = Anchor.objects.filter(state__in=[AnchorState.DRIFTED, AnchorState.MISSING])
    return rows.filter(pk__in=drifted.values("memory_id"))
