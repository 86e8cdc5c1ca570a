"""Work that waits for the answer: done after it, once, and at once where there is no request."""

import threading

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections

from codemem.gateway.afterwards import after_answer


@pytest.fixture
def request_signals():
    request_started.disconnect(close_old_connections)
    request_finished.disconnect(close_old_connections)
    yield
    request_finished.send(sender=None)
    request_started.connect(close_old_connections)
    request_finished.connect(close_old_connections)


def test_it_is_done_when_the_request_is_finished_and_once(request_signals):
    done: list[str] = []
    request_started.send(sender=None)
    after_answer(lambda: done.append("first"))
    after_answer(lambda: done.append("second"))
    assert done == []
    request_finished.send(sender=None)
    assert done == ["first", "second"]
    request_finished.send(sender=None)
    assert done == ["first", "second"]


def test_without_a_request_it_is_done_at_once():
    done: list[str] = []
    after_answer(lambda: done.append("now"))
    assert done == ["now"]


def test_another_thread_s_request_is_not_waited_for(request_signals):
    done: list[str] = []
    request_started.send(sender=None)
    thread = threading.Thread(target=lambda: after_answer(lambda: done.append("there")))
    thread.start()
    thread.join()
    assert done == ["there"]


def test_what_a_broken_off_request_left_is_not_done_by_the_next(request_signals):
    done: list[str] = []
    request_started.send(sender=None)
    after_answer(lambda: done.append("lost"))
    request_started.send(sender=None)
    request_finished.send(sender=None)
    assert done == []
