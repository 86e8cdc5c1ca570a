"""When each commit came to the default branch, and with which pull request. Pure.

The main line is what first parents lead to. A commit off the line landed with the first commit of
the line that it leads to: for a pull request's commits, its merge.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

Parents = Mapping[str, Sequence[str]]


def landings(line: Sequence[str], parents: Parents, *, first: int) -> dict[str, int]:
    """Return the position at which each commit landed.

    `line` are new commits of the main line, oldest first, the oldest at position `first`; `parents`
    has every commit that is new, and no other: what was there before is not looked at.
    """
    landed: dict[str, int] = {}
    for position, commit in enumerate(line, start=first):
        landed[commit] = position
        waiting = list(parents[commit][1:])
        while waiting:
            sha = waiting.pop()
            if sha in parents and sha not in landed:
                landed[sha] = position
                waiting += parents[sha]
    return landed


def members(
    merges: Iterable[str], parents: Parents, landed: Mapping[str, int]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield, for commits that merged a pull request, oldest first, all commits that are part of it.

    A commit that several requests contain, one merged into the branch of another, is part of the
    innermost. The merge itself always is.
    """
    taken: set[str] = set()
    for merge in merges:
        own = [merge]
        first, *others = parents[merge] or [""]
        known = _behind(first, parents, landed, landed.get(merge)) if others else set()
        waiting = list(others)
        seen: set[str] = set()
        while waiting:
            sha = waiting.pop()
            if sha in seen or sha in known or landed.get(sha) != landed.get(merge):
                continue
            seen.add(sha)
            waiting += parents.get(sha, ())
            if sha not in taken:
                own.append(sha)
        taken.update(own)
        yield merge, tuple(own)


def _behind(
    start: str, parents: Parents, landed: Mapping[str, int], position: int | None
) -> set[str]:
    """Return what leads to a commit among those that landed at one position."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        sha = waiting.pop()
        if sha not in found and landed.get(sha) == position:
            found.add(sha)
            waiting += parents.get(sha, ())
    return found
