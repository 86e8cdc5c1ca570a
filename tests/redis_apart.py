"""A pytest plugin (`-p tests.redis_apart`): test processes that run side by side share no queue.

pytest-django gives each process of pytest-xdist a database of its own; Redis has numbered ones.
It is a plugin because settings are read before any conftest.
"""

import os
from urllib.parse import urlsplit, urlunsplit

# 0 is the server's, 1 that of tests/flows.
_FIRST = 2


def _apart(url: str, worker: str) -> str:
    number = _FIRST + int(worker.removeprefix("gw"))
    return urlunsplit(urlsplit(url)._replace(path=f"/{number}"))


if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ["REDIS_URL"] = _apart(os.environ["REDIS_URL"], os.environ["PYTEST_XDIST_WORKER"])
