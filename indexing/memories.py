"""What a push means for what the team learned: anchors are checked, branches' memories promoted.

Runs after the push's snapshot, in a task of its own. Costs what the push changed: paths that Git
says differ since the last check, and branches that have memories.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from graph import queries as graph
from graph.values import RefState
from indexing.crossing.values import package_key
from indexing.git import GitError, Mirror
from indexing.locks import Work, only_worker
from indexing.mirrors import find_mirror
from indexing.models import PackageDependency
from memory import services as memory

_LARGEST_FILE_BYTES = 2_000_000
_MOST_BYTES = 64 << 20
_MOST_PATHS = 500


class MirrorReader:
    """Reads cited content from the mirror on this host; what it cannot read is left out."""

    def contents(self, *, repository_id: UUID, blobs: Collection[str]) -> Mapping[str, bytes]:
        """Return the contents of those blobs that the mirror has and that are not too large."""
        mirror = find_mirror(repository_id)
        if mirror is None:
            return {}
        found: dict[str, bytes] = {}
        room = _MOST_BYTES
        try:
            for sha, content in mirror.blobs(sorted(blobs), max_bytes=_LARGEST_FILE_BYTES):
                if isinstance(content, bytes) and len(content) <= room:
                    found[sha] = content
                    room -= len(content)
        except GitError:
            return found
        return found

    def blobs_at(
        self, *, repository_id: UUID, commit: str, paths: Sequence[str]
    ) -> Mapping[str, str] | None:
        """Return the blobs at some paths of a commit; None when the mirror lacks the commit."""
        mirror = find_mirror(repository_id)
        if mirror is None:
            return None
        try:
            entries = mirror.entries(mirror.resolve(commit), paths[:_MOST_PATHS])
        except GitError:
            return None
        return {entry.path: entry.blob for entry in entries}

    def packages(self, *, repository_id: UUID) -> frozenset[str] | None:
        """Return what its manifests declare; None when none was read (yet)."""
        rows = PackageDependency.objects.filter(repository_id=repository_id)
        declared = {package_key(*row) for row in rows.values_list("manager", "name")}
        return frozenset(declared) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What a push did: anchors of another state, memories promoted, to be decided, given an end."""

    anchors_changed: int = 0
    promoted: int = 0
    queued: int = 0
    expiring: int = 0


def settle(*, repository_id: UUID, ref: str, now: datetime) -> Settled | None:
    """Bring what memories say of a repository up to its graph, after a run of one ref.

    A blank ref is the default branch. None when another worker is at it: it will see what this
    push changed, or the next push will. Safe to run twice.
    """
    mirror = find_mirror(repository_id)
    if mirror is None:
        return None
    with only_worker(work=Work.MEMORIES, repository_id=repository_id) as is_ours:
        if not is_ours:
            return None
        state = graph.get_ref_state(repository_id=repository_id, ref=None)
        changed = _check_default(mirror, repository_id, state, now=now)
        if ref and ref != state.ref:
            changed += _check_branch(repository_id, ref, now=now)
        return _settle_branches(mirror, repository_id, state, changed, now=now)


def branches_gone(
    *, repository_id: UUID, before: Mapping[str, str], after: Collection[str]
) -> None:
    """Note where branches led that a fetch took away, as far as memories were stored for them."""
    gone = {name: head for name, head in before.items() if name not in after}
    if gone:
        memory.note_branch_heads(repository_id=repository_id, heads=gone)


def _check_default(mirror: Mirror, repository_id: UUID, state: RefState, *, now: datetime) -> int:
    commit = state.indexed_commit
    before = memory.checked_commit(repository_id=repository_id)
    if commit is None or commit == before:
        return 0
    touched, renames = _touched(mirror, before, commit)
    changed = memory.check_anchors(
        repository_id=repository_id, commit=commit, touched=touched, renames=renames, now=now
    )
    memory.note_checked(repository_id=repository_id, commit=commit, now=now)
    return changed


def _check_branch(repository_id: UUID, ref: str, *, now: datetime) -> int:
    state = graph.get_ref_state(repository_id=repository_id, ref=ref)
    if state.indexed_commit is None:
        return 0
    return memory.check_anchors(
        repository_id=repository_id,
        commit=state.indexed_commit,
        touched=None,
        renames={},
        now=now,
        branch=ref,
        view=state.view,
    )


def _touched(
    mirror: Mirror, before: str | None, commit: str
) -> tuple[set[str] | None, dict[str, str]]:
    """Return the paths that differ since the last check, None for all, and what was renamed."""
    if before is None:
        return None, {}
    try:
        changes = mirror.changed_paths(before, commit)
    except GitError:
        # History was rewritten, and the commit is gone.
        return None, {}
    touched = {path for one in changes for path in (one.old_path, one.new_path) if path}
    renames = {
        one.old_path: one.new_path
        for one in changes
        if one.old_path and one.new_path and one.old_path != one.new_path
    }
    return touched, renames


def _settle_branches(
    mirror: Mirror, repository_id: UUID, state: RefState, changed: int, *, now: datetime
) -> Settled:
    promoted = queued = expiring = 0
    branches = mirror.branches()
    default_head = branches.get(state.ref)
    known = memory.branches_with_memories(repository_id=repository_id)
    present = {name: head for name, head in branches.items() if name in known}
    memory.note_branch_heads(repository_id=repository_id, heads=present)
    for name, noted in known.items():
        head = branches.get(name) or noted
        is_gone = name not in branches
        if name == state.ref or (
            head and default_head and _is_merged(mirror, head, default_head, is_gone=is_gone)
        ):
            one = memory.promote_branch(repository_id=repository_id, branch=name, now=now)
            promoted, queued = promoted + one.promoted, queued + one.queued
        elif is_gone:
            expiring += memory.expire_branch(repository_id=repository_id, branch=name, now=now)
    return Settled(anchors_changed=changed, promoted=promoted, queued=queued, expiring=expiring)


def _is_merged(mirror: Mirror, head: str, default_head: str, *, is_gone: bool) -> bool:
    """Say whether the default branch has what a branch brought.

    A branch that stands on the default branch's own line may be merged by fast-forward, or only
    just begun: it counts as merged when it is gone. One whose commits are not in the default
    branch was squashed or rebased into it if every path that it changed is there as it left it.
    """
    try:
        if mirror.is_ancestor(head, default_head):
            return is_gone or not _is_on_main_line(mirror, head, default_head)
        base = mirror.merge_base(head, default_head)
        if base is None:
            return False
        changed = mirror.changed_entries(base, head)
        if not changed:
            return False
        there = {entry.path: entry.blob for entry in mirror.entries(default_head, list(changed))}
    except GitError:
        return False
    return all(
        there.get(path) == (entry.blob if entry else None) for path, entry in changed.items()
    )


def _is_on_main_line(mirror: Mirror, head: str, default_head: str) -> bool:
    """Say whether the default branch's own line passes through a commit that it has.

    Reads the line from its head down to where the commit's history begins.
    """
    last = b""
    arguments = ("rev-list", "--first-parent", "--parents", f"^{head}")
    for record in mirror.records(*arguments, shas=[default_head], ended_by=b"\n"):
        last = record
    return not last or last.split()[1:2] == [head.encode()]
