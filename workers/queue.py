"""The only door to background work: what can be asked for, sent after commit, by name.

Knows task names and queues, not task code, so that web processes stay light.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

import redis
import structlog
from django.conf import settings
from django.db import transaction
from kombu.exceptions import OperationalError

from workers.app import app

log = structlog.get_logger(__name__)


class Queue(StrEnum):
    INDEX = "index"
    EMBED = "embed"
    MAINTENANCE = "maintenance"


class QueueUnavailable(Exception):
    """Redis did not take the message; what was asked for is kept as a row and sent again later."""


@dataclass(frozen=True, slots=True)
class QueueDepth:
    queue: Queue
    waiting: int


def index(*, run_id: UUID) -> None:
    """Have a worker carry out this index run."""
    _send("workers.tasks.indexing.index", Queue.INDEX, run_id=str(run_id))


def rank(*, repository_id: UUID) -> None:
    """Have PageRank of the repository computed and stored."""
    _send("workers.tasks.indexing.rank", Queue.MAINTENANCE, repository_id=str(repository_id))


def embed_symbols(*, repository_id: UUID) -> None:
    """Have the vectors of the repository's new symbols computed."""
    _send("workers.tasks.indexing.embed_symbols", Queue.EMBED, repository_id=str(repository_id))


def depths() -> list[QueueDepth]:
    """Return how many messages wait in each queue; raise QueueUnavailable."""
    client = redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=settings.REDIS_TIMEOUT_SECONDS,
        socket_connect_timeout=settings.REDIS_TIMEOUT_SECONDS,
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


def _send(task: str, queue: Queue, **arguments: str) -> None:
    transaction.on_commit(_sender(task, queue, arguments))


def _sender(task: str, queue: Queue, arguments: dict[str, str]) -> Callable[[], None]:
    def send() -> None:
        try:
            app.send_task(task, kwargs=arguments, queue=queue.value)
        except (OperationalError, redis.RedisError) as error:
            log.warning("queue_unavailable", task=task, **arguments)
            raise QueueUnavailable(
                "Redis does not answer: the work is recorded and will be queued when it is back."
            ) from error

    return send
