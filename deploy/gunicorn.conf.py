"""How gunicorn serves codemem: threads over persistent connections, as measured in ARCHITECTURE.md.

`gunicorn codemem.wsgi -c deploy/gunicorn.conf.py` listens on 127.0.0.1:8000; `--bind` changes it.
"""

import contextlib
import gc
import importlib
import os
import threading
from pathlib import Path
from typing import Any

_METRICS_DIRECTORY = os.environ.get("PROMETHEUS_MULTIPROC_DIR", "").strip()
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - gunicorn makes its own private file in it

# --- Requests -----------------------------------------------------------------------------------
worker_class = "gthread"
# Each thread keeps a Postgres connection: workers x threads of them per replica.
workers = int(os.environ.get("CODEMEM_WEB_WORKERS") or 2)
threads = int(os.environ.get("CODEMEM_WEB_THREADS") or 8)
keepalive = 75  # seconds: more than a proxy's 60, so that the proxy is the one that hangs up
timeout = 60  # seconds
graceful_timeout = 30  # seconds
# A worker is replaced now and then, not all at once: slow leaks in native code stay small.
max_requests = 20_000
max_requests_jitter = 2_000

# --- Process ------------------------------------------------------------------------------------
# The heartbeat between master and workers is a file; on a slow disk it would stall the workers.
worker_tmp_dir = str(_SHARED_MEMORY) if _SHARED_MEMORY.is_dir() else None
# Nobody steers gunicorn at run time, and the socket would need a writable home.
control_socket_disable = True

# --- Logs ---------------------------------------------------------------------------------------
# django_structlog writes one structured line per request; this one would repeat it.
accesslog = None
errorlog = "-"
loglevel = (os.environ.get("CODEMEM_LOG_LEVEL") or "info").lower()


def on_starting(_server: Any) -> None:
    """Make the folder for the metrics of all processes.

    What earlier processes left in it stays: a host's Celery workers may share it with us.
    """
    if _METRICS_DIRECTORY:
        Path(_METRICS_DIRECTORY).mkdir(parents=True, exist_ok=True)


def post_worker_init(_worker: Any) -> None:
    """Load what is slow to load beside the first requests, so that none has to wait for it."""
    threading.Thread(target=_warm_up, name="warm-up", daemon=True).start()


def _warm_up() -> None:
    # Late: gunicorn reads this file before there is an application.
    importlib.import_module("mcp.shared.inbound")
    from codemem.embedding import EmbeddingUnavailable, from_settings

    # Recall says so when it has no vectors; nothing to do here.
    with contextlib.suppress(EmbeddingUnavailable):
        from_settings().embed(["load the model"], kind="query")
    # What is loaded now stays: collections of garbage need not walk over it while somebody waits.
    gc.collect()
    gc.freeze()


def child_exit(_server: Any, worker: Any) -> None:
    """Take a dead worker's live gauges out of the sums; its counters stay."""
    if _METRICS_DIRECTORY:
        # Late: prometheus_client decides at its import whether it writes files.
        from prometheus_client import multiprocess

        multiprocess.mark_process_dead(worker.pid)
