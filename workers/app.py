"""The Celery application: configured by settings, tasks found in workers/tasks."""

import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging, worker_process_shutdown
from django_structlog.celery.steps import DjangoStructLogInitStep

from workers.schedule import SCHEDULE

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "codemem.settings")

app = Celery("codemem", task_cls="workers.base:Task")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.beat_schedule = SCHEDULE
app.autodiscover_tasks(["workers"], related_name="tasks")
app.steps["worker"].add(DjangoStructLogInitStep)


@setup_logging.connect
def _keep_our_logging(**_: Any) -> None:
    """Leave logging to settings.LOGGING: without a receiver Celery would replace it."""


@worker_process_shutdown.connect
def _forget_process_metrics(pid: int, **_: Any) -> None:
    from codemem import metrics

    metrics.forget_process(pid)
