"""The only door to background work: what can be asked for, sent after commit, by name.

Knows task names and queues, not task code, so that web processes stay light.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from uuid import UUID

import redis
import structlog
from django.conf import settings
from django.db import transaction
from kombu.exceptions import OperationalError
from kombu.pools import ProducerPool, producers
from redis.backoff import NoBackoff
from redis.retry import Retry

from workers.app import app

log = structlog.get_logger(__name__)


_ASK_AGAIN_AFTER_SECONDS = 15
_RANK_AFTER_SECONDS = 5
_FIND_AFTER_SECONDS = 5
_RANK_NAMESPACE_AFTER_SECONDS = 60
_REFINE_AFTER_SECONDS = 30
_SETTLE_AFTER_SECONDS = 10
_LEARN_AFTER_SECONDS = 3


class Queue(StrEnum):
    """Kinds of work. The last three may take minutes and never keep the others waiting."""

    INDEX = "index"
    EMBED = "embed"
    MAINTENANCE = "maintenance"
    ANALYSIS = "analysis"
    HISTORY = "history"
    SCIP = "scip"


class QueueUnavailable(Exception):
    """Redis did not take the message; what was asked for is kept as a row and sent again later."""


@dataclass(frozen=True, slots=True)
class QueueDepth:
    queue: Queue
    waiting: int


def index(*, run_id: UUID) -> None:
    """Have a worker carry out this index run."""
    _send("workers.tasks.indexing.index", Queue.INDEX, run_id=str(run_id))


def embed_symbols(*, repository_id: UUID) -> None:
    """Have the vectors of the repository's new symbols computed."""
    _send("workers.tasks.indexing.embed_symbols", Queue.EMBED, repository_id=str(repository_id))


def reembed() -> None:
    """Have a worker go on with the change of embedding models."""
    _send("workers.tasks.embedding.reembed", Queue.EMBED)


def read_documents(*, repository_id: UUID, user_id: int, commit: str) -> None:
    """Have the namespace's language model read a repository's documents. Raise QueueUnavailable."""
    _send(
        "workers.tasks.memories.read_documents",
        Queue.EMBED,
        repository_id=str(repository_id),
        user_id=str(user_id),
        commit=commit,
    )


def rank_repository(*, repository_id: UUID) -> None:
    """Have a repository ranked, soon: pushes that follow at once count, too."""
    _send(
        "workers.tasks.ranking.rank_repository",
        Queue.ANALYSIS,
        delay_seconds=_RANK_AFTER_SECONDS,
        repository_id=str(repository_id),
    )


def lay_out_repository(*, repository_id: UUID) -> None:
    """Have the explorer's picture of a repository drawn from its newest ranking."""
    _send(
        "workers.tasks.ranking.lay_out_repository",
        Queue.ANALYSIS,
        repository_id=str(repository_id),
    )


def rank_namespace(*, namespace_id: UUID) -> None:
    """Have the repositories of a namespace ranked together, when the pushes of a minute are in."""
    _send(
        "workers.tasks.ranking.rank_namespace",
        Queue.ANALYSIS,
        delay_seconds=_RANK_NAMESPACE_AFTER_SECONDS,
        namespace_id=str(namespace_id),
    )


def refresh_crossing(*, repository_id: UUID, is_again: bool = False) -> None:
    """Have what a repository says across its border brought up to its graph."""
    _send(
        "workers.tasks.services.refresh_crossing",
        Queue.ANALYSIS,
        delay_seconds=_ASK_AGAIN_AFTER_SECONDS if is_again else 0,
        repository_id=str(repository_id),
    )


def link_crossing(*, repository_id: UUID, is_again: bool = False) -> None:
    """Have the edges that leave a repository computed again, for a sibling has changed."""
    _send(
        "workers.tasks.services.link_crossing",
        Queue.ANALYSIS,
        delay_seconds=_ASK_AGAIN_AFTER_SECONDS if is_again else 0,
        repository_id=str(repository_id),
    )


def advance_history(*, repository_id: UUID) -> None:
    """Have a worker bring the repository's history up to its head."""
    _send("workers.tasks.history.advance", Queue.HISTORY, repository_id=str(repository_id))


def find_findings(*, repository_id: UUID) -> None:
    """Have the repository's findings and metrics brought up to its indexed head."""
    _send(
        "workers.tasks.findings.find_findings",
        Queue.ANALYSIS,
        delay_seconds=_FIND_AFTER_SECONDS,
        repository_id=str(repository_id),
    )


def keep_words(*, repository_id: UUID) -> None:
    """Have the words of a repository's head kept, so that a first review need not read it all."""
    _send(
        "workers.tasks.reviewing.keep_words",
        Queue.ANALYSIS,
        delay_seconds=_FIND_AFTER_SECONDS,
        repository_id=str(repository_id),
    )


def settle_memories(*, repository_id: UUID, ref: str) -> None:
    """Have anchors checked that a push touched, and memories of merged branches promoted.

    A little later, so that what manifests declare is read by then.
    """
    _send(
        "workers.tasks.memories.settle",
        Queue.MAINTENANCE,
        delay_seconds=_SETTLE_AFTER_SECONDS,
        repository_id=str(repository_id),
        ref=ref,
    )


def learn_from_session(*, session_id: UUID, now: datetime) -> None:
    """Have a session's failures looked at, when the events of some seconds are in. Never raises."""
    _send_unless_resting(
        "workers.tasks.sessions.learn",
        delay_seconds=_LEARN_AFTER_SECONDS,
        now=now,
        session_id=str(session_id),
    )


def end_session(*, session_id: UUID, now: datetime) -> None:
    """Have a session that ended distilled and handed over. Never raises: the clock asks again."""
    _send_unless_resting(
        "workers.tasks.sessions.end",
        delay_seconds=_LEARN_AFTER_SECONDS,
        now=now,
        session_id=str(session_id),
    )


def note_recalled(*, user_id: int, memory_ids: Iterable[UUID], now: datetime) -> None:
    """Have memories counted as recalled. Never raises: no answer waits for this or fails by it."""
    if ids := ",".join(str(key) for key in memory_ids):
        _send_unless_resting(
            "workers.tasks.memories.note_recalled",
            now=now,
            user_id=str(user_id),
            memory_ids=ids,
            at=now.isoformat(),
        )


def refine(*, repository_id: UUID) -> None:
    """Have compilers asked about a repository, when the pushes of half a minute are in."""
    _send(
        "workers.tasks.scip.refine",
        Queue.SCIP,
        delay_seconds=_REFINE_AFTER_SECONDS,
        repository_id=str(repository_id),
    )


def consolidate(*, namespace_id: UUID, is_again: bool = False) -> None:
    """Have the consolidation runs of a namespace that wait carried out, one after the other."""
    _send(
        "workers.tasks.consolidation.consolidate",
        Queue.ANALYSIS,
        delay_seconds=_ASK_AGAIN_AFTER_SECONDS if is_again else 0,
        namespace_id=str(namespace_id),
    )


def post_review(*, record_id: UUID) -> None:
    """Have the review of a pull request written, and posted to its git host."""
    _send("workers.tasks.reviews.post_review", Queue.ANALYSIS, record_id=str(record_id))


def erase_namespace(*, erasure_id: UUID) -> None:
    """Have a deleted namespace erased; one whose grace is not over waits for the clock."""
    _send("workers.tasks.erasure.erase_namespace", Queue.ANALYSIS, erasure_id=str(erasure_id))


def depths() -> list[QueueDepth]:
    """Return how many messages wait in each queue; raise QueueUnavailable."""
    client = redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=settings.REDIS_TIMEOUT_SECONDS,
        socket_connect_timeout=settings.REDIS_TIMEOUT_SECONDS,
        retry=Retry(NoBackoff(), retries=0),
    )
    try:
        with client.pipeline(transaction=False) as pipe:
            for queue in Queue:
                pipe.llen(queue.value)
            lengths = pipe.execute()
    except redis.RedisError as error:
        raise QueueUnavailable("Redis does not answer, so nothing can be queued.") from error
    finally:
        client.close()
    return [QueueDepth(queue, int(length)) for queue, length in zip(Queue, lengths, strict=True)]


# While Redis is away, each attempt would make a reader wait; what is lost is a count.
_resting: dict[str, datetime] = {}
_REST = timedelta(seconds=60)


def _is_resting(now: datetime) -> bool:
    until = _resting.get("until")
    return until is not None and now < until


def _rest(now: datetime) -> None:
    _resting["until"] = now + _REST


def _send_unless_resting(
    task: str, *, now: datetime, delay_seconds: int = 0, **arguments: str
) -> None:
    if _is_resting(now):
        return
    try:
        _send(task, Queue.MAINTENANCE, delay_seconds=delay_seconds, **arguments)
    except QueueUnavailable:
        _rest(now)


def _send(task: str, queue: Queue, *, delay_seconds: int = 0, **arguments: str) -> None:
    transaction.on_commit(partial(_send_now, task, queue, delay_seconds, arguments))


def _send_now(task: str, queue: Queue, delay_seconds: int, arguments: dict[str, str]) -> None:
    try:
        with _producers().acquire(block=True) as producer:
            app.send_task(
                task,
                kwargs=arguments,
                queue=queue.value,
                producer=producer,
                countdown=delay_seconds or None,
            )
    except (OperationalError, redis.RedisError) as error:
        log.warning("queue_unavailable", task=task, **arguments)
        raise QueueUnavailable(
            "Redis does not answer: the work is recorded and will be queued when it is back."
        ) from error


def _producers() -> ProducerPool:
    """Return connections that give up soon: whoever asked is waiting for an answer.

    Celery's own would try for six seconds, and wait for a silent Redis for thirty. Kombu keeps one
    pool for each set of options.
    """
    seconds = settings.REDIS_TIMEOUT_SECONDS
    patience = {
        "max_retries": 0,
        "socket_timeout": seconds,
        "socket_connect_timeout": seconds,
    }
    pool: ProducerPool = producers[app.connection_for_write(transport_options=patience)]
    return pool
