"""Two commits in, the diff between them out: what head changed since it left base.

One way for all who name commits instead of sending a diff: callers of a review, and the worker that
posts one. A commit that the mirror lacks is fetched once, from the repository's own remote: what a
caller says is a name here, never an address.
"""

import itertools
import re
from dataclasses import dataclass

import structlog

from graph.values import RepositoryValue
from indexing.fitting import Fitted, fit_pieces
from indexing.git import GitError, Mirror, RefUnknown
from indexing.history.log import commits_since
from indexing.mirrors import find_mirror, refuse_foreign_path

log = structlog.get_logger(__name__)

_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SHOWN_SHA = 12
_SHOWN_NAME = 100
_TOLD_COMMITS = 20


class CommitUnknown(Exception):
    """A side of the change is neither here nor to be had; the message says which, and what to do.

    It may be there later: a push that is under way, a git host that is away.
    """


class MirrorMissing(Exception):
    """This host has no copy of the repository, so it can make no diff."""


class NoCommonCommit(Exception):
    """The two sides share no history, so there is no place where head left base."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """What head changed since it left its base: `base` is that place, both are full shas.

    `title` is what the newest commits say of it, a line each.
    """

    base: str
    head: str
    diff: Fitted
    title: str = ""


def read_range(
    *, repository: RepositoryValue, base: str, head: str, diff_bytes: int, fetch_seconds: float
) -> Range:
    """Return the change between two sides, named by branch, tag or commit.

    Of a diff above `diff_bytes` the largest files are only named. Only full shas are fetched, each
    for `fetch_seconds` at most.

    Raises MirrorMissing, CommitUnknown, NoCommonCommit or mirrors.SourceRefused.
    """
    mirror = find_mirror(repository.id)
    if mirror is None:
        raise MirrorMissing(
            "This server has no copy of the repository at hand, so it cannot make the diff: send"
            " the diff itself."
        )
    sides = (
        _commit(mirror, repository.url, base, side="base", seconds=fetch_seconds),
        _commit(mirror, repository.url, head, side="head", seconds=fetch_seconds),
    )
    try:
        return _between(mirror, *sides, diff_bytes=diff_bytes)
    except GitError as error:
        # A shallow clone as the remote, damage, more than Git can compare in its time.
        log.warning("diff_not_made", base=sides[0], head=sides[1], reason=str(error))
        raise CommitUnknown(
            f"This server could not make the diff between {sides[0][:_SHOWN_SHA]} and"
            f" {sides[1][:_SHOWN_SHA]} from its copy: send the diff itself."
        ) from error


def distance_of(head: str, *, repository: RepositoryValue, indexed_commit: str) -> list[str]:
    """Return a sentence that says how far a head is from the commit that the graph shows."""
    mirror = find_mirror(repository.id)
    if mirror is None or head == indexed_commit:
        return []
    try:
        counts = (
            (mirror.count_commits(indexed_commit, head), "ahead of"),
            (mirror.count_commits(head, indexed_commit), "behind"),
        )
    except GitError:
        return []
    steps = [f"{count:,} commit{'s' * (count > 1)} {word}" for count, word in counts if count]
    if not steps:
        return []
    head, indexed = head[:_SHOWN_SHA], indexed_commit[:_SHOWN_SHA]
    place = f"The head {head} is {' and '.join(steps)} the indexed commit {indexed}"
    return [f"{place}; dependents are those of the indexed commit."]


# --- Parts ---------------------------------------------------------------------------------------


def _between(mirror: Mirror, base: str, head: str, *, diff_bytes: int) -> Range:
    left_at = mirror.merge_base(base, head)
    if left_at is None:
        raise NoCommonCommit(
            f"The head {head[:_SHOWN_SHA]} shares no commit with the base {base[:_SHOWN_SHA]}, so"
            " there is no change between them to review."
        )
    diff = fit_pieces(mirror.diff(left_at, head), limit=diff_bytes)
    commits = itertools.islice(commits_since(mirror, head, base=left_at), _TOLD_COMMITS)
    return Range(
        base=left_at, head=head, diff=diff, title="\n".join(one.subject for one in commits)
    )


def _commit(mirror: Mirror, url: str, name: str, *, side: str, seconds: float) -> str:
    """Return the full sha of a side; a sha that is not here is fetched."""
    name = name.strip()
    try:
        return mirror.resolve(name)
    except RefUnknown:
        if not _SHA.fullmatch(name):
            raise CommitUnknown(
                f"The {side} {name[:_SHOWN_NAME]!a} is no branch, tag or commit that this server"
                " has. Name the commit by its full sha: that is fetched from the git host. Or have"
                " the branch indexed first (`codemem index`), or send the diff itself."
            ) from None
    _fetch(mirror, url, name, side=side, seconds=seconds)
    return name


def _fetch(mirror: Mirror, url: str, sha: str, *, side: str, seconds: float) -> None:
    refuse_foreign_path(url)
    try:
        mirror.fetch_commit(url, sha, timeout_seconds=seconds)
    except RefUnknown:
        raise CommitUnknown(
            f"The {side} {sha[:_SHOWN_SHA]} is not here, and the repository's git host does not"
            " give it away: it was not pushed, or it is gone after a force push. Push it, or send"
            " the diff itself."
        ) from None
    except GitError as error:
        # Git's own words may name addresses; they are for who runs the server.
        log.warning("commit_not_fetched", commit=sha, reason=str(error))
        raise CommitUnknown(
            f"The {side} {sha[:_SHOWN_SHA]} is not here, and it could not be fetched from the"
            f" repository's git host within {seconds:g} seconds. Try again, or send the diff"
            " itself."
        ) from error
