"""The task base class: what every task has in common, so that a task body is only its work."""

import time
from typing import Any

import celery
import structlog

from codemem import metrics


class Task(celery.Task):  # type: ignore[type-arg]
    """Bind ids to the log, time the run, count the outcome (django_structlog writes the log lines).

    Database connections are checked by Django's own Celery fix-up before and after each task;
    a task that a killed worker held is delivered again, so every task is safe to run twice.
    """

    abstract = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        started = time.perf_counter()
        outcome = "failed"
        with structlog.contextvars.bound_contextvars(task=self.name, **kwargs):
            try:
                result = super().__call__(*args, **kwargs)
                outcome = "done"
            finally:
                seconds = time.perf_counter() - started
                metrics.observe_task(name=self.name, outcome=outcome, seconds=seconds)
        return result
