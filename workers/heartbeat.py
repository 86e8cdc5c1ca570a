"""A file that a worker touches while its event loop turns: a container's cheap sign of life.

`celery -A workers.app worker --include workers.heartbeat` switches it on; nothing else needs it.
The obvious probe, `celery inspect ping`, starts a second Python with the whole application each
time and asks through Redis; looking at the age of a file costs three milliseconds.
"""

import tempfile
from pathlib import Path
from typing import Any

from celery.signals import heartbeat_sent

FILE = Path(tempfile.gettempdir()) / "codemem-worker.heartbeat"


@heartbeat_sent.connect
def touch(**_signal: Any) -> None:
    """Mark the moment: the event loop sends a heartbeat every two seconds, also during tasks.

    It stops while Redis is away, so a probe has to be more patient than a Redis restart.
    """
    FILE.touch()
