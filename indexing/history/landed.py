"""The main line as reviews look back on it: what landed there, and what by some commit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID

from graph.models import SourceFile
from graph.queries.history import LandedChange, landed_at, landed_changes, newest_landed
from indexing.git import GitError, Mirror


@dataclass(frozen=True, slots=True)
class Landed:
    """What the newest commits changed, and the keys of files by path."""

    changes: Sequence[LandedChange]
    keys: Mapping[str, int]


def read_landed(repository_id: UUID) -> Landed:
    """Return the past of a repository. Several who ask for the same one share what was read."""
    return _read(repository_id, newest_landed(repository_id=repository_id))


def landed_by(
    repository_id: UUID, mirror: Mirror | None, commit: str, indexed_commit: str
) -> int | None:
    """Return the position on the main line of a commit, or of where its branch left the line.

    None where neither is known. One query, two for a commit of a branch.
    """
    landed = landed_at(repository_id=repository_id, commit=commit)
    if landed is not None or mirror is None or commit == indexed_commit:
        return landed
    try:
        branch = mirror.merge_base(commit, indexed_commit)
    except GitError:
        return None
    return landed_at(repository_id=repository_id, commit=branch) if branch else None


# One past: who asks makes of it what is kept, and the next to ask comes at once.
@lru_cache(maxsize=1)
def _read(repository_id: UUID, _newest: tuple[int, int]) -> Landed:
    keys = SourceFile.objects.filter(repository_id=repository_id).values_list("path", "pk")
    changes = landed_changes(repository_id=repository_id, with_symbols=False)
    return Landed(changes, dict(keys))
