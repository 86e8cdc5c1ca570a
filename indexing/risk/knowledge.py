"""What is known of a repository's past before a change is looked at: kept for the next review."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from uuid import UUID

from graph.queries.history import newest_landed
from indexing.git import Mirror
from indexing.history.landed import landed_by, read_landed
from indexing.risk.past import PastChange, PastChanges, PastOfFiles, is_shipped, says_fix


@dataclass(frozen=True, slots=True)
class _Known:
    changes: PastChanges
    keys: Mapping[str, int]


def past_of(
    *,
    repository_id: UUID,
    mirror: Mirror | None,
    commit: str,
    indexed_commit: str,
    paths: Collection[str],
    now: datetime,
) -> PastOfFiles:
    """Return what happened to some files before a commit. Two queries once the past is known.

    Of a commit that is not on the main line, what was there when it left it.
    """
    known = _known(repository_id, newest_landed(repository_id=repository_id))
    return known.changes.of(
        [known.keys[path] for path in paths if path in known.keys],
        until=landed_by(repository_id, mirror, commit, indexed_commit),
        now=now.timestamp(),
    )


@lru_cache(maxsize=16)
def _known(repository_id: UUID, _newest: tuple[int, int]) -> _Known:
    past = read_landed(repository_id)
    programs = {key for path, key in past.keys.items() if is_shipped(path)}
    return _Known(
        PastChanges(
            PastChange(
                at=change.at.timestamp(),
                landed=change.landed,
                author=change.author,
                is_fix=says_fix(change.message),
                files=tuple(file for file in change.files if file in programs),
            )
            for change in past.changes
        ),
        past.keys,
    )
