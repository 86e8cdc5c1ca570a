"""Writes of what compilers said and of how their runs went."""

import hashlib
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from indexing.answers import Answers
from indexing.models import CompilerAnswers, ScipRun

KEPT_UNSEEN = timedelta(days=30)
"""Answers about contents that no run has seen for so long are dropped."""

_BATCH = 500
_RUNS_KEPT = 20


def keep_answers(
    *,
    repository_id: UUID,
    indexer: str,
    answers: Mapping[str, Answers],
    blobs: Mapping[str, str],
    now: datetime,
) -> int:
    """Keep what an index says of each content; return how many say something new.

    What a run says again costs no new resolution. Idempotent.
    """
    known = {
        (path, blob): bytes(digest)
        for path, blob, digest in CompilerAnswers.objects.filter(
            repository_id=repository_id, path__in=list(answers)
        ).values_list("path", "blob", "digest")
    }
    fresh: list[CompilerAnswers] = []
    for path, said in sorted(answers.items()):
        packed = said.to_bytes()
        digest = hashlib.blake2b(packed, digest_size=16).digest()
        if known.get((path, blobs[path])) != digest:
            fresh.append(
                CompilerAnswers(
                    repository_id=repository_id,
                    path=path,
                    blob=blobs[path],
                    indexer=indexer,
                    answers=packed,
                    digest=digest,
                    seen_at=now,
                )
            )
    with transaction.atomic():
        CompilerAnswers.objects.bulk_create(
            fresh,
            batch_size=_BATCH,
            update_conflicts=True,
            unique_fields=["repository", "path", "blob"],
            update_fields=["indexer", "answers", "digest", "is_applied", "seen_at"],
        )
        rows = CompilerAnswers.objects.filter(repository_id=repository_id, indexer=indexer)
        seen = rows.filter(path__in=list(answers), blob__in=set(blobs.values()))
        seen.update(seen_at=now)
        rows.filter(seen_at__lt=now - KEPT_UNSEEN).delete()
    return len(fresh)


def mark_applied(*, repository_id: UUID, paths: Collection[str]) -> None:
    """Note that the default branch was resolved with what is known of these files."""
    CompilerAnswers.objects.filter(
        repository_id=repository_id, path__in=list(paths), is_applied=False
    ).update(is_applied=True)


def begin_run(
    *, repository_id: UUID, indexer: str, version: str, commit: str, digest: str, now: datetime
) -> ScipRun:
    return ScipRun.objects.create(
        repository_id=repository_id,
        indexer=indexer,
        version=version,
        commit=commit,
        digest=digest,
        state=ScipRun.State.RUNNING,
        started_at=now,
    )


def note_absent(
    *, repository_id: UUID, indexer: str, commit: str, reason: str, now: datetime
) -> None:
    """Say why an indexer was not run, once for as long as that stays so."""
    newest = ScipRun.objects.filter(repository_id=repository_id, indexer=indexer).first()
    if newest and newest.state == ScipRun.State.ABSENT and newest.reason == reason:
        return
    run = begin_run(
        repository_id=repository_id,
        indexer=indexer,
        version="",
        commit=commit,
        digest="",
        now=now,
    )
    run.state, run.reason, run.finished_at = ScipRun.State.ABSENT, reason, now
    run.save()


def end_run(run: ScipRun) -> None:
    """Write how a run ended, and forget runs of long ago."""
    run.save()
    runs = ScipRun.objects.filter(repository_id=run.repository_id, indexer=run.indexer)
    old = list(runs.values_list("pk", flat=True)[_RUNS_KEPT:])
    ScipRun.objects.filter(pk__in=old).delete()
