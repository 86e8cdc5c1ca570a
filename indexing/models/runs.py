"""A record of every run: a log."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from codemem.accounts.models import new_id
from graph.models import Repository


class IndexRun(models.Model):
    """One attempt to bring a ref's graph up to its head: progress while it runs, a report after."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    class Step(models.TextChoices):
        WAITING = "waiting"
        FETCHING = "fetching"
        PARSING = "parsing"
        RESOLVING = "resolving"
        WRITING = "writing"
        RANKING = "ranking"
        EMBEDDING = "embedding"
        FINISHED = "finished"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    repository = models.ForeignKey(Repository, models.CASCADE, related_name="runs")
    ref = models.CharField(max_length=255, blank=True)
    commit = models.CharField(max_length=64, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    step = models.CharField(max_length=10, choices=Step.choices, default=Step.WAITING)
    requested_by = models.CharField(max_length=150, blank=True)
    queued_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    # Moves while the worker reports; silence has the run sent to a worker again (services.py).
    heartbeat_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    attempts = models.IntegerField(default=0)
    files_total = models.IntegerField(default=0)
    files_done = models.IntegerField(default=0)
    counts = models.JSONField(default=dict)
    seconds = models.JSONField(default=dict)
    skipped = models.JSONField(default=dict)  # reason -> {"count": n, "examples": [paths]}
    # Why the whole tree was resolved; blank when what changed was enough.
    whole_because = models.CharField(max_length=200, blank=True)
    error = models.TextField(blank=True)

    class Meta:
        ordering: ClassVar = ["-queued_at"]
        constraints: ClassVar = [
            # A push that arrives while a run waits changes nothing: the run reads the head late.
            models.UniqueConstraint(
                fields=["repository", "ref"],
                condition=Q(state="queued"),
                name="indexing_run_one_queued",
            )
        ]
        indexes: ClassVar = [
            models.Index(fields=["repository", "-queued_at"], name="indexing_run_recent")
        ]

    def __str__(self) -> str:
        return f"{self.ref or 'default branch'} ({self.state})"
