"""The file that tells a container's probe that the worker's event loop turns."""

import os
import time

from celery.signals import heartbeat_sent

from workers import heartbeat


def test_each_heartbeat_of_the_worker_renews_the_file(tmp_path, monkeypatch):
    file = tmp_path / "heartbeat"
    monkeypatch.setattr(heartbeat, "FILE", file)

    heartbeat_sent.send(sender=None)
    an_hour_ago = time.time() - 3600
    os.utime(file, (an_hour_ago, an_hour_ago))
    heartbeat_sent.send(sender=None)

    assert file.stat().st_mtime > an_hour_ago + 3500
