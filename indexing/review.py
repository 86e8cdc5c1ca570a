"""A diff in, a review out: which symbols it changes, who depends on them, how risky that is.

Reads only. The change is measured between the diff's own two sides; dependents, ranks and memories
are those of the commit that the graph shows. Whatever could not be seen is said in the notes.
"""

import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Final
from uuid import UUID

from codemem import policies
from codemem.accounts.values import Action, Caller
from graph.impact import Risk
from graph.values import Node, RefState, RepositoryValue
from indexing import diffs, queries
from indexing.changes import FileChange, SymbolChange, compare
from indexing.crossing.reached import Beyond, beyond
from indexing.crossing.values import AffectedRepository, AffectedService
from indexing.diffs import ChangeStatus, FileDiff
from indexing.findings import queries as findings
from indexing.git import GitError
from indexing.languages import language_of
from indexing.likely_symbols import with_symbols
from indexing.mirrors import find_mirror
from indexing.missing.finding import find_missing, shown_by
from indexing.missing.values import MOST_SUGGESTIONS, Missing
from indexing.moves import pair_moves
from indexing.noted import noted
from indexing.owners import PLACES, Owner, Rule, owners_of, parse
from indexing.radius import (
    BlastRadius,
    ChangedNodes,
    find_in_graph,
    follow,
    is_noticeable,
)
from indexing.risk.evidence import evidence_of, is_tested
from indexing.risk.knowledge import past_of
from indexing.risk.model import Thresholds, assess
from indexing.sides import Base, Limits, find_base, read_sides
from indexing.values import (
    MEMORY_CHARACTERS,
    USES_SHOWN,
    AffectedPath,
    ChangedSymbol,
    Item,
    Listing,
    Review,
    ReviewedDependent,
    ReviewedFile,
    ReviewedMemory,
)
from memory.bearing import bearing_on

MAXIMUM_DEPTH: Final = 5
_MEMORY_LIMIT: Final = 100
_MODULE_PARTS: Final = 2
_SHOWN_SHA: Final = 12
_LARGEST_OWNERS_FILE: Final = 3 << 20
_NO_OTHERS: Final = (
    "Services and other repositories are left out: this token may not read the graph."
)


def review_diff(
    *,
    repository: RepositoryValue,
    ref_state: RefState,
    caller: Caller,
    diff: str | bytes,
    base: str | None = None,
    title: str = "",
    depth: int = 2,
    budget_tokens: int = 4_000,
    now: datetime,
    limits: Limits,
    most_missing: int = MOST_SUGGESTIONS,
    least_probability: float | None = None,
) -> Review:
    """Review a diff against the indexed state of a repository.

    `base` names the commit that the diff starts from; without it, the contents that the diff names
    decide. `title` is what the author says of the change: it helps to tell what is missing. `depth`
    is 1..MAXIMUM_DEPTH. The listings together stay near `budget_tokens`, their totals are of
    everything. At most `most_missing` files are named that the diff may have forgotten, each at
    least so likely. How likely that is where nobody says, and what a high risk is, the namespace
    decides. About thirty-five queries, one parse of each changed file.

    Raises diffs.NotADiff or diffs.DiffTooLarge; everything else that is wrong with a diff becomes
    a note.
    """
    assert ref_state.indexed_commit is not None
    changes, known_base, notes = read_changes(
        repository, diff, base=base, indexed_commit=ref_state.indexed_commit, limits=limits
    )
    base_commit = known_base.commit or ref_state.indexed_commit
    view = ref_state.view
    changed = find_in_graph(repository, changes, view=view)
    radius = follow(repository, changed, depth=depth, view=view)
    reached = beyond(
        caller=caller,
        repository_id=repository.id,
        namespace_id=repository.namespace_id,
        vertices=[
            *changed.seeds(),
            *changed.moved(),
            *(one.node.vertex for one in radius.dependents),
        ],
    )
    memories, memory_notes = _memories(
        repository, changed, caller=caller, branch=ref_state.ref, now=now
    )
    decided = policies.values([repository.namespace_id], "review.")[repository.namespace_id]
    shown = shown_by(changes, dependents=radius.direct_by_path(), title=title)
    missing = find_missing(
        repository_id=repository.id,
        mirror=find_mirror(repository.id),
        base_commit=base_commit,
        indexed_commit=ref_state.indexed_commit,
        shown=shown,
        limit=most_missing,
        least=float(decided["review.missing_from"])
        if least_probability is None
        else least_probability,
    )
    missing = with_symbols(
        missing, repository_id=repository.id, changed=changed, radius=radius, shown=shown, view=view
    )
    notes += [
        *_distance(known_base, ref_state.indexed_commit),
        *radius.notes(),
        *([] if reached.is_allowed else [_NO_OTHERS]),
        *memory_notes,
        *missing.notes,
    ]
    return _report(
        changed,
        radius,
        memories,
        missing,
        risk=assess(
            evidence_of(
                changed,
                radius,
                past=past_of(
                    repository_id=repository.id,
                    mirror=find_mirror(repository.id),
                    commit=base_commit,
                    indexed_commit=ref_state.indexed_commit,
                    paths=[one.diff.old_path for one in changes if one.diff.old_path],
                    now=now,
                ),
                repository_nodes=queries.count_nodes(repository_id=repository.id),
            ),
            Thresholds(
                medium=float(decided["review.risk_medium_from"]),
                high=float(decided["review.risk_high_from"]),
            ),
        ),
        beyond=reached,
        owners=_owners(repository, changes, commit=base_commit),
        base=known_base,
        indexed_commit=ref_state.indexed_commit,
        budget_tokens=budget_tokens,
        notes=notes,
    )


# --- What changed ------------------------------------------------------------------------------


def read_changes(
    repository: RepositoryValue,
    diff: str | bytes,
    *,
    base: str | None,
    indexed_commit: str,
    limits: Limits,
) -> tuple[list[FileChange], Base, list[str]]:
    """Return what the diff changes file by file, its base, and what could not be seen.

    Raises diffs.NotADiff or diffs.DiffTooLarge. Two queries, and one parse of each changed file.
    """
    parsed = diffs.parse(diff, max_bytes=limits.diff_bytes)
    notes = list(parsed.problems)
    files = _first_of_each(parsed.files, notes)
    mirror = find_mirror(repository.id)
    known_base = find_base(mirror, asked=base, indexed_commit=indexed_commit)
    sides = read_sides(
        _largest(files, limits.files, notes),
        mirror=mirror,
        base=known_base,
        recorded=queries.recorded_files(
            repository_id=repository.id, paths={file.old_path for file in files if file.old_path}
        ),
        limits=limits,
    )
    changes = [
        replace(
            compare(file, language=side.language, old=side.old, new=side.new),
            contents=side.contents,
        )
        if (side := sides.files.get(place))
        else FileChange(diff=file, language=None)
        for place, file in enumerate(files)
    ]
    return pair_moves(changes), known_base, [*notes, *sides.notes, *_unread_languages(files)]


def _first_of_each(files: Iterable[FileDiff], notes: list[str]) -> list[FileDiff]:
    """Drop later changes of the same file: those of another commit, made to other content."""
    first: dict[tuple[str | None, str | None], FileDiff] = {}
    repeated = 0
    for file in files:
        key = (file.old_path, file.new_path)
        repeated += key in first
        first.setdefault(key, file)
    if repeated:
        notes.append(
            f"{_count(repeated, 'change')} of a file that the diff changed before"
            " left out: send one diff from base to head, not one for each commit."
        )
    return list(first.values())


def _largest(files: Sequence[FileDiff], limit: int, notes: list[str]) -> dict[int, FileDiff]:
    """Return the files to compare, those with the most changed lines if there are too many."""
    if len(files) <= limit:
        return dict(enumerate(files))
    notes.append(
        f"The diff has {len(files):,} files; symbols were compared in the {limit:,} with the most"
        " changed lines."
    )
    places = sorted(range(len(files)), key=lambda place: -sum(_line_counts(files[place])))
    return {place: files[place] for place in sorted(places[:limit])}


def _unread_languages(files: Iterable[FileDiff]) -> list[str]:
    unread = sum(language_of(file.path) is None and not file.is_submodule for file in files)
    if not unread:
        return []
    return [f"{_count(unread, 'file')} not in a language that codemem reads; no symbols there."]


def _line_counts(file: FileDiff) -> tuple[int, int]:
    return (
        sum(len(hunk.added) for hunk in file.hunks),
        sum(len(hunk.removed) for hunk in file.hunks),
    )


def _distance(base: Base, indexed_commit: str) -> list[str]:
    """Say how far the base is from the commit whose dependents are told."""
    indexed = indexed_commit[:_SHOWN_SHA]
    if base.asked is None or base.is_indexed:
        return []
    if base.commit is None:
        return [f"The base {base.asked[:100]} is not known here; {indexed} stands for it."]
    steps = [
        _count(count, "commit") + f" {word}"
        for count, word in ((base.behind, "behind"), (base.ahead, "ahead of"))
        if count
    ]
    away = " and ".join(steps) or "not counted against"
    place = f"The base {base.commit[:_SHOWN_SHA]} is {away} the indexed commit {indexed}"
    return [f"{place}; dependents are those of the indexed commit."]


# --- What the team knows about it --------------------------------------------------------------


def _memories(
    repository: RepositoryValue,
    changed: ChangedNodes,
    *,
    caller: Caller,
    branch: str,
    now: datetime,
) -> tuple[list[ReviewedMemory], list[str]]:
    if not caller.can(Action.READ_MEMORY, repository.namespace_id):
        return [], ["Memories are left out: this token may not read them."]
    vertices = {vertex for one in changed.symbol_changes if (vertex := changed.vertex_of(one))}
    found = bearing_on(
        caller=caller,
        namespace_id=repository.namespace_id,
        repository_id=repository.id,
        vertices={*changed.files.values(), *vertices},
        paths=changed.paths,
        symbols={one.old_id for one in changed.symbol_changes if one.old_id},
        now=now,
        branch=branch,
        limit=_MEMORY_LIMIT,
    )
    return noted(found, changed.changes), []


# --- Who answers for it ------------------------------------------------------------------------


def _owners(
    repository: RepositoryValue, changes: Sequence[FileChange], *, commit: str
) -> list[Owner]:
    """Return who owns the files as they were; who wrote them is known up to the last analysis."""
    paths = [change.diff.old_path or change.diff.path for change in changes]
    return owners_of(
        paths,
        rules=_owner_rules(repository.id, commit) if find_mirror(repository.id) else (),
        lines_by_author=findings.authors_of(repository_id=repository.id, paths=paths),
    )


@lru_cache(maxsize=64)
def _owner_rules(repository_id: UUID, commit: str) -> Sequence[Rule]:
    mirror = find_mirror(repository_id)
    assert mirror is not None
    try:
        found = {entry.path: entry.blob for entry in mirror.entries(commit, PLACES)}
        blob = next((found[path] for path in PLACES if path in found), None)
        contents = dict(mirror.blobs([blob], max_bytes=_LARGEST_OWNERS_FILE)) if blob else {}
    except GitError:
        return ()
    content = contents.get(blob or "")
    return tuple(parse(content.decode("utf-8", "replace"))) if isinstance(content, bytes) else ()


# --- The report --------------------------------------------------------------------------------


def _report(
    changed: ChangedNodes,
    radius: BlastRadius,
    memories: Sequence[ReviewedMemory],
    missing: Missing,
    *,
    risk: Risk,
    beyond: Beyond,
    owners: Sequence[Owner],
    base: Base,
    indexed_commit: str,
    budget_tokens: int,
    notes: Iterable[str],
) -> Review:
    budget = _Budget(budget_tokens)
    direct = sum(one.depth == 1 for one in radius.dependents)
    is_exact = not radius.is_truncated
    return Review(
        indexed_commit=indexed_commit,
        base_commit=base.commit,
        risk=risk,
        changed_symbols=budget.list(_changed_symbols(changed, radius), 0.30, _symbol_characters),
        dependents=budget.list(radius.dependents, 0.30, _dependent_characters, is_exact=is_exact),
        direct_dependents=direct,
        memories=budget.list(
            memories, 0.15, _memory_characters, is_exact=len(memories) < _MEMORY_LIMIT
        ),
        tests=budget.list(
            radius.tests, 0.15, _dependent_characters, is_exact=not radius.is_blind_to_tests
        ),
        files=budget.list(_reviewed_files(changed.changes), 0.04, _file_characters),
        affected_files=budget.list(_affected(radius, _file_of), 0.03, _path_characters),
        affected_modules=budget.list(_affected(radius, _module_of), 0.02, _path_characters),
        containing=budget.list(
            [uid for change in changed.changes for uid in change.containing], 0.01, len
        ),
        missing=missing.changes,
        services=budget.list(beyond.services, 0.05, _service_characters, is_exact=beyond.is_whole),
        repositories=budget.list(
            beyond.repositories, 0.03, _repository_characters, is_exact=beyond.is_whole
        ),
        owners=budget.list(owners, 0.01, _owner_characters),
        notes=tuple(dict.fromkeys(notes)),
    )


def _changed_symbols(changed: ChangedNodes, radius: BlastRadius) -> list[ChangedSymbol]:
    """Return the changed symbols: interfaces first, then by rank, what is trivial last."""
    keyed = []
    for change in changed.symbol_changes:
        symbol = _changed_symbol(change, changed, radius)
        key = (symbol.is_trivial, not change.is_interface_change, -(symbol.percentile or 0.0))
        keyed.append((key, symbol.id, symbol))
    return [symbol for *_, symbol in sorted(keyed, key=lambda row: row[:-1])]


def _changed_symbol(
    change: SymbolChange, changed: ChangedNodes, radius: BlastRadius
) -> ChangedSymbol:
    definition = change.definition
    assert definition.kind is not None
    uid = change.new_id or change.old_id
    assert uid is not None
    return ChangedSymbol(
        id=uid,
        path=uid.removeprefix("sym:").partition("#")[0],
        name=definition.local_name,
        kind=definition.kind,
        start_line=definition.start_line,
        end_line=definition.end_line,
        status=change.status,
        visibility=definition.visibility,
        signature=definition.signature,
        old_signature=change.old.signature if change.old and change.signature_changed else None,
        signature_changed=change.signature_changed,
        visibility_changed=change.visibility_changed,
        is_trivial=change.is_trivial,
        old_id=change.old_id if change.old_id != uid else None,
        old_visibility=change.old.visibility if change.old and change.visibility_changed else None,
        defaults_changed=change.defaults_changed,
        dependents=radius.direct_counts.get(change.old_id or "", 0)
        if is_noticeable(change)
        else None,
        percentile=changed.percentile_of(changed.vertex_of(change)),
        is_tested=is_tested(change, changed, radius),
    )


def _reviewed_files(changes: Iterable[FileChange]) -> list[ReviewedFile]:
    found = []
    for change in changes:
        added, removed = _line_counts(change.diff)
        is_elsewhere = change.diff.status in {ChangeStatus.RENAMED, ChangeStatus.COPIED}
        found.append(
            ReviewedFile(
                path=change.diff.path,
                old_path=change.diff.old_path if is_elsewhere else None,
                status=change.diff.status,
                language=change.language,
                lines_added=added,
                lines_removed=removed,
                is_binary=change.diff.is_binary,
                changes_module=change.changes_module,
            )
        )
    return found


def _affected(radius: BlastRadius, place_of: Callable[[Node], str]) -> list[AffectedPath]:
    """Return where dependents are, tests left out, most of them first."""
    counts = Counter(place_of(one.node) for one in radius.dependents)
    ordered = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    return [AffectedPath(path=path, dependents=count) for path, count in ordered]


def _file_of(node: Node) -> str:
    return node.path


def _module_of(node: Node) -> str:
    """Return the first folders of a path: a package of the repository, seen from its root."""
    folders = posixpath.dirname(node.path).split("/")
    return "/".join(folders[:_MODULE_PARTS]) or "."


# --- The budget --------------------------------------------------------------------------------

_CHARACTERS_PER_TOKEN: Final = 4
_SYMBOL_KEYS: Final = 260
_DEPENDENT_KEYS: Final = 180
_USE_KEYS: Final = 90
_MEMORY_KEYS: Final = 160
_FILE_KEYS: Final = 90
_PATH_KEYS: Final = 30


class _Budget:
    """Tokens to give to listings in turn; what one leaves over is the next one's."""

    def __init__(self, tokens: int) -> None:
        self._characters = tokens * _CHARACTERS_PER_TOKEN
        self._left_over = 0

    def list(
        self,
        items: Sequence[Item],
        share: float,
        characters_of: Callable[[Item], int],
        *,
        is_exact: bool = True,
    ) -> Listing[Item]:
        """Return the first items that fit into this share of the whole."""
        room = int(self._characters * share) + self._left_over
        shown: list[Item] = []
        for item in items:
            cost = characters_of(item)
            if cost > room:
                break
            room -= cost
            shown.append(item)
        self._left_over = room
        return Listing(items=tuple(shown), total=len(items), is_exact=is_exact)


def _symbol_characters(symbol: ChangedSymbol) -> int:
    texts = (symbol.id, symbol.path, symbol.name, symbol.signature, symbol.old_signature or "")
    return _SYMBOL_KEYS + sum(map(len, texts))


def _dependent_characters(dependent: ReviewedDependent) -> int:
    node = dependent.node
    uses = sum(_USE_KEYS + len(use.changed_id) for use in dependent.uses)
    return _DEPENDENT_KEYS + len(node.id) + len(node.path) + len(node.qualified_name) + uses


def _memory_characters(memory: ReviewedMemory) -> int:
    broken = sum(len(one.cites) + len(one.detail) for one in memory.broken)
    shown = min(len(memory.content), MEMORY_CHARACTERS)
    return _MEMORY_KEYS + shown + len(memory.contradiction) + broken


def _service_characters(service: AffectedService) -> int:
    others = sum(_USE_KEYS + len(one.id) + len(one.repository) for one in service.others)
    return _USE_KEYS + len(service.id) + len(service.by) + others


def _repository_characters(repository: AffectedRepository) -> int:
    return _PATH_KEYS + sum(_USE_KEYS + len(one.id) for one in repository.uses[:USES_SHOWN])


def _owner_characters(owner: Owner) -> int:
    return _PATH_KEYS + len(owner.name)


def _file_characters(file: ReviewedFile) -> int:
    return _FILE_KEYS + len(file.path) + len(file.old_path or "")


def _path_characters(affected: AffectedPath) -> int:
    return _PATH_KEYS + len(affected.path)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
