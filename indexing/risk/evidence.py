"""What is known of a change that says how risky it is, as numbers.

Programs only: what happens to tests, documentation and configuration is a risk to no other code.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from indexing.changes import FileChange, SymbolChange, SymbolStatus
from indexing.diffs import ChangeStatus
from indexing.languages import is_test_path
from indexing.radius import BlastRadius, ChangedNodes, is_noticeable, is_test
from indexing.risk.past import PastOfFiles, is_shipped


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One change: how large, how central, how far it reaches, who tests it, what was before.

    Lines and files are those of programs. `percentile` is that of the most central changed node,
    None where none is ranked. `untested` of `testable` changed symbols no test was found to reach.
    `interfaces` are public signatures that changed and public symbols that are gone.
    """

    lines_added: int
    lines_removed: int
    files: int
    new_files: int
    symbols: int
    new_symbols: int
    interfaces: int
    percentile: float | None
    dependents: int
    repository_nodes: int
    testable: int
    untested: int
    changes_tests: bool
    past: PastOfFiles


def evidence_of(
    changed: ChangedNodes, radius: BlastRadius, *, past: PastOfFiles, repository_nodes: int
) -> Evidence | None:
    """Return what is known of a change; None when it leaves all programs as they are."""
    programs = programs_in(changed.changes)
    if not programs or not any(_says_something(change) for change in programs):
        return None
    symbols = [one for change in programs for one in change.symbols if not one.is_trivial]
    noticed = [one for one in symbols if is_noticeable(one)]
    files = [one for one in programs if one.changes_module or one.is_gone or one.is_moved]
    testable = [
        tested for one in noticed if (tested := is_tested(one, changed, radius)) is not None
    ]
    return Evidence(
        lines_added=sum(len(hunk.added) for one in programs for hunk in one.diff.hunks),
        lines_removed=sum(len(hunk.removed) for one in programs for hunk in one.diff.hunks),
        files=len(programs),
        new_files=sum(one.diff.status is ChangeStatus.ADDED for one in programs),
        symbols=len(noticed),
        new_symbols=sum(one.status is SymbolStatus.ADDED for one in symbols),
        interfaces=sum(one.is_interface_change for one in noticed)
        + sum(one.is_gone or one.is_moved for one in programs),
        percentile=_percentile(noticed, files, changed),
        dependents=len(radius.dependents),
        repository_nodes=repository_nodes,
        testable=len(testable),
        untested=sum(not one for one in testable),
        changes_tests=any(is_test_path(one.diff.path) for one in changed.changes),
        past=past,
    )


def programs_in(changes: Sequence[FileChange]) -> list[FileChange]:
    return [
        one
        for one in changes
        if is_shipped(one.diff.path) and not one.diff.is_binary and not one.diff.is_submodule
    ]


def is_tested(change: SymbolChange, changed: ChangedNodes, radius: BlastRadius) -> bool | None:
    """Tell whether a test reaches what changed; None when nobody can: new, trivial, a test."""
    node = changed.symbols.get(change.old_id or "")
    if node is None or not is_noticeable(change) or is_test(node):
        return None
    if node.id in radius.tested:
        return True
    return None if radius.is_blind_to_tests else False


def _says_something(change: FileChange) -> bool:
    """Tell whether more than comments and documentation changed, as far as was seen."""
    if change.language is None:  # too many files: not compared
        return bool(change.diff.hunks)
    is_seen = bool(change.symbols) or change.changes_module or change.is_gone or change.is_moved
    return (is_seen or change.diff.status is ChangeStatus.ADDED) and not (
        change.symbols
        and all(one.is_trivial for one in change.symbols)
        and not change.changes_module
        and not change.is_moved
    )


def _percentile(
    symbols: Sequence[SymbolChange], files: Sequence[FileChange], changed: ChangedNodes
) -> float | None:
    vertices = [changed.vertex_of(one) for one in symbols]
    vertices += [changed.files.get(one.diff.old_path or "") for one in files]
    found = (changed.percentile_of(vertex) for vertex in vertices)
    return max((one for one in found if one is not None), default=None)
