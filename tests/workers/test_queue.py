import socket
import time
import uuid
from collections.abc import Iterator

import pytest
import redis
from django.conf import settings
from django.db import transaction

from indexing.models import IndexRun
from workers import queue
from workers.app import app
from workers.queue import Queue, QueueUnavailable

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def empty_queues() -> Iterator[None]:
    client = redis.Redis.from_url(settings.REDIS_URL)
    client.delete(*Queue)
    yield
    client.delete(*Queue)
    client.close()


@pytest.fixture(params=["refuses", "is silent"])
def broken_redis(request, monkeypatch, settings) -> Iterator[None]:
    """Point the queue at a port where nobody listens, or where nobody answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        if request.param == "is silent":
            listener.listen(50)
        url = f"redis://127.0.0.1:{listener.getsockname()[1]}/0"
        settings.REDIS_URL = url
        monkeypatch.setenv("CELERY_BROKER_URL", url)
        yield


def ask_for_an_index(repository) -> None:
    with transaction.atomic():
        run = IndexRun.objects.create(repository=repository)
        queue.index(run_id=run.pk)


def waiting() -> dict[Queue, int]:
    return {depth.queue: depth.waiting for depth in queue.depths() if depth.waiting}


def test_work_is_sent_to_its_queue():
    queue.index(run_id=uuid.uuid4())
    queue.index(run_id=uuid.uuid4())
    queue.embed_symbols(repository_id=uuid.uuid4())
    assert waiting() == {Queue.INDEX: 2, Queue.EMBED: 1}


def test_work_is_sent_after_the_commit():
    with transaction.atomic():
        queue.index(run_id=uuid.uuid4())
        assert waiting() == {}
    assert waiting() == {Queue.INDEX: 1}


def test_work_of_a_transaction_that_is_rolled_back_is_not_sent():
    with transaction.atomic():
        queue.index(run_id=uuid.uuid4())
        transaction.set_rollback(True)
    assert waiting() == {}


def test_what_is_sent_names_a_task_and_its_arguments():
    run_id = uuid.uuid4()
    queue.index(run_id=run_id)
    with app.connection_for_read() as connection:
        message = connection.SimpleQueue(Queue.INDEX.value).get(timeout=5)
        assert message.headers["task"] == "workers.tasks.indexing.index"
        assert message.payload[1] == {"run_id": str(run_id)}
        message.ack()


def test_without_redis_the_row_is_kept_and_the_sender_told_soon(broken_redis, repository):
    started = time.monotonic()
    with pytest.raises(QueueUnavailable, match="will be queued when it is back"):
        ask_for_an_index(repository)

    assert time.monotonic() - started < 3
    assert IndexRun.objects.get().state == IndexRun.State.QUEUED


def test_without_redis_nobody_knows_how_much_waits(broken_redis):
    started = time.monotonic()
    with pytest.raises(QueueUnavailable):
        queue.depths()
    assert time.monotonic() - started < 3


def test_a_redis_that_comes_back_is_used_again(monkeypatch):
    with monkeypatch.context() as away:
        away.setenv("CELERY_BROKER_URL", "redis://127.0.0.1:1/0")
        with pytest.raises(QueueUnavailable):
            queue.index(run_id=uuid.uuid4())
    queue.index(run_id=uuid.uuid4())
    assert waiting() == {Queue.INDEX: 1}
