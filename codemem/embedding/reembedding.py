"""A change of models, as rows: what was asked for, how far it is, and when the new one serves.

While it runs, the new model's vectors gather in the cache and the model before goes on answering
with its own. What is embedded, and where vectors stand, others know.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F

from codemem.embedding import cache, serving
from codemem.embedding.cache import CachedProvider
from codemem.embedding.models import EmbeddingModel, Reembedding

_EXAMPLE = "One text, to see that the model answers."


class ReembeddingNeedless(Exception):
    """The configured model is the one that answers already."""


class ReembeddingUnderWay(Exception):
    """Another change of models has not ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a change of models is. `per_second` counts the time of work only."""

    id: UUID
    state: str
    model: str
    serving: str
    total: int
    done: int
    per_second: float | None
    seconds_left: float | None
    trouble: str
    requested_by: str
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class Models:
    """The model that answers, and the one that settings name."""

    serving: str
    configured: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a worker needs to go on with a change of models."""

    id: UUID
    model_id: int
    fingerprint: str
    is_switching: bool
    provider: CachedProvider


def models() -> Models:
    """Return which model answers and which one is configured; raise EmbeddingUnavailable."""
    wanted = serving.opened(serving.configured(), is_patient=False).fingerprint
    return Models(serving=_serving_fingerprint() or wanted, configured=wanted)


def start(*, requested_by: str, now: datetime) -> Progress:
    """Begin to change to the configured model; asked again, return the change that is under way.

    The model embeds one text first, so that a wrong address or length is known now. Raise
    EmbeddingUnavailable, ReembeddingNeedless, ReembeddingUnderWay.
    """
    model = serving.opened(serving.configured(), is_patient=False)
    model.embed([_EXAMPLE], kind="query")
    if _serving_fingerprint() in ("", model.fingerprint):
        raise ReembeddingNeedless(f"The model {model.fingerprint} is the one that answers.")
    try:
        with transaction.atomic():
            row = Reembedding.objects.create(
                model_id=cache.registered(model),
                requested_by=requested_by,
                created_at=now,
                updated_at=now,
            )
    except IntegrityError as error:
        under_way = _open_one()
        if under_way is None or under_way.model.fingerprint != model.fingerprint:
            raise ReembeddingUnderWay(
                "Another change of models is under way; cancel it first."
            ) from error
        row = under_way
    return _progress(row)


def cancel(*, now: datetime) -> Progress | None:
    """End the change that is under way, unless it is switching; what it made stays in the cache."""
    Reembedding.objects.filter(finished_at=None, state=Reembedding.State.RUNNING).update(
        state=Reembedding.State.CANCELED, finished_at=now, updated_at=now
    )
    return latest()


def latest() -> Progress | None:
    """Return the change of models that is under way, or the last one that was."""
    row = Reembedding.objects.select_related("model").order_by("-created_at").first()
    return _progress(row) if row else None


def open_job() -> Job | None:
    """Return the change that is under way, to go on with it; raise EmbeddingUnavailable."""
    row = _open_one()
    if row is None:
        return None
    specification = serving.recorded(
        fingerprint=row.model.fingerprint, specification=row.model.specification
    )
    return Job(
        id=row.pk,
        model_id=row.model_id,
        fingerprint=row.model.fingerprint,
        is_switching=row.state == Reembedding.State.SWITCHING,
        provider=serving.opened(specification, is_patient=True),
    )


def is_running(*, job_id: UUID) -> bool:
    """Tell whether a change has not ended; one that was canceled meanwhile has."""
    return Reembedding.objects.filter(pk=job_id, finished_at=None).exists()


def note_total(*, job_id: UUID, left: int, now: datetime) -> None:
    """Note how many texts are left to embed."""
    Reembedding.objects.filter(pk=job_id).update(total=F("done") + left, updated_at=now)


def note_work(*, job_id: UUID, texts: int, seconds: float, now: datetime) -> None:
    """Note that so many texts were embedded in so many seconds."""
    Reembedding.objects.filter(pk=job_id).update(
        done=F("done") + texts,
        busy_seconds=F("busy_seconds") + seconds,
        trouble="",
        updated_at=now,
    )


def note_trouble(*, reason: str, now: datetime) -> None:
    """Note why the change does not go on; it is tried again."""
    Reembedding.objects.filter(finished_at=None).update(trouble=reason, updated_at=now)


@transaction.atomic
def switch(*, job_id: UUID, now: datetime) -> bool:
    """Have the new model serve; False when the change was canceled meanwhile."""
    switched = Reembedding.objects.filter(pk=job_id, state=Reembedding.State.RUNNING).update(
        state=Reembedding.State.SWITCHING, updated_at=now
    )
    if switched:
        EmbeddingModel.objects.filter(is_serving=True).update(is_serving=False)
        EmbeddingModel.objects.filter(reembeddings=job_id).update(is_serving=True)
        transaction.on_commit(serving.forget)
    return bool(switched)


def finish(*, job_id: UUID, now: datetime) -> None:
    """Note that every row has its vector of the new model."""
    Reembedding.objects.filter(pk=job_id).update(
        state=Reembedding.State.DONE,
        total=F("done"),
        trouble="",
        updated_at=now,
        finished_at=now,
    )


def _open_one() -> Reembedding | None:
    return Reembedding.objects.select_related("model").filter(finished_at=None).first()


def _serving_fingerprint() -> str:
    rows = EmbeddingModel.objects.filter(is_serving=True).values_list("fingerprint", flat=True)
    return rows.first() or ""


def _progress(row: Reembedding) -> Progress:
    rate = row.done / row.busy_seconds if row.busy_seconds else None
    left = max(row.total - row.done, 0)
    return Progress(
        id=row.pk,
        state=row.state,
        model=row.model.fingerprint,
        serving=_serving_fingerprint(),
        total=row.total,
        done=row.done,
        per_second=round(rate, 1) if rate else None,
        seconds_left=round(left / rate, 1) if rate and not row.finished_at else None,
        trouble=row.trouble,
        requested_by=row.requested_by,
        created_at=row.created_at,
        updated_at=row.updated_at,
        finished_at=row.finished_at,
    )
