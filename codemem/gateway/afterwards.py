"""What a request leaves to do once its answer is on its way: nobody waits for it.

gunicorn closes a response when its last byte is written, and Django then says that the request is
finished. Outside of a request there is no answer to wait for, and the work is done at once.
"""

import threading
from collections.abc import Callable
from typing import Any

from django.core.signals import request_finished, request_started

Work = Callable[[], None]


class _OfThread(threading.local):
    """The work of the request that this thread answers; None while it answers none."""

    waiting: list[Work] | None = None


_here = _OfThread()


def after_answer(work: Work) -> None:
    """Do this when the answer of the current request is out, or now when there is none."""
    if _here.waiting is None:
        work()
    else:
        _here.waiting.append(work)


def _begin(**_: Any) -> None:
    _here.waiting = []


def _finish(**_: Any) -> None:
    waiting, _here.waiting = _here.waiting or [], None
    for work in waiting:
        work()


request_started.connect(_begin, dispatch_uid="codemem.gateway.afterwards.begin")
request_finished.connect(_finish, dispatch_uid="codemem.gateway.afterwards.finish")
