"""Reads of what compilers said and of how their runs went."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from indexing.answers import Answers, AnswersMalformed
from indexing.models import CompilerAnswers, ScipRun

_BATCH = 2000


def answers_of(*, repository_id: UUID, blobs: Mapping[str, str]) -> dict[str, Answers]:
    """Return what compilers say of the contents `blobs` (path -> blob id), where they do.

    One query for each 2,000 paths; none where no indexer ever ran on the repository.
    """
    rows = CompilerAnswers.objects.filter(repository_id=repository_id)
    if not blobs or not rows.exists():
        return {}
    found: dict[str, Answers] = {}
    paths = sorted(blobs)
    for start in range(0, len(paths), _BATCH):
        batch = paths[start : start + _BATCH]
        for path, blob, answers in rows.filter(path__in=batch).values_list(
            "path", "blob", "answers"
        ):
            if blobs[path] == blob and (answer := _unpacked(bytes(answers))):
                found[path] = answer
    return found


def find_answers(*, repository_id: UUID, path: str, blob: str) -> Answers | None:
    """Return what a compiler says of one content, None where none does. One query."""
    rows = CompilerAnswers.objects.filter(repository_id=repository_id, path=path, blob=blob)
    packed = rows.values_list("answers", flat=True).first()
    return None if packed is None else _unpacked(bytes(packed))


def paths_to_apply(*, repository_id: UUID) -> frozenset[str]:
    """Return the files whose answers the default branch was not resolved with yet. One query."""
    rows = CompilerAnswers.objects.filter(repository_id=repository_id, is_applied=False)
    return frozenset(rows.values_list("path", flat=True))


def latest_runs(*, repository_ids: Iterable[UUID]) -> list[ScipRun]:
    """Return the newest run of every repository and indexer. One query."""
    rows = ScipRun.objects.filter(repository_id__in=list(repository_ids))
    newest = rows.order_by("repository_id", "indexer", "-started_at")
    return list(newest.distinct("repository_id", "indexer"))


def _unpacked(data: bytes) -> Answers | None:
    try:
        return Answers.from_bytes(data)
    except AnswersMalformed:
        return None  # written by another version: the next run of the indexer mends it
