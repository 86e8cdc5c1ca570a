"""Runs of the consolidation cycles, and what each changed, so that it can be undone exactly."""

from typing import ClassVar

from django.db import models

from codemem.accounts.models import Namespace, new_id


class ConsolidationRun(models.Model):
    """One run of one cycle over one namespace; `report` has the figures before and after.

    Its parts are "shared" and, by their authors' ids, what was done to private memories, which
    their authors alone are shown.
    """

    class Cycle(models.TextChoices):
        DECAY = "decay"
        CREATIVE = "creative"
        CLUSTER = "cluster"
        SUMMARIZE = "summarize"
        FORGET = "forget"

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        UNDONE = "undone"
        CANCELLED = "cancelled"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="consolidation_runs")
    cycle = models.CharField(max_length=10, choices=Cycle.choices)
    is_dry = models.BooleanField(default=False)
    policy = models.JSONField(default=dict)
    state = models.CharField(max_length=9, choices=State.choices, default=State.QUEUED)
    is_cancelled = models.BooleanField(default=False)  # asked for; the run stops at its next step
    attempts = models.PositiveSmallIntegerField(default=0)
    asked_by = models.CharField(max_length=150)  # a user's name, or "schedule"
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    report = models.JSONField(default=dict)
    error = models.TextField(blank=True)

    class Meta:
        ordering: ClassVar = ["-started_at"]
        indexes: ClassVar = [
            models.Index(fields=["namespace", "cycle", "-started_at"], name="run_of_cycle"),
        ]

    def __str__(self) -> str:
        return f"{self.cycle} at {self.started_at:%Y-%m-%d %H:%M}"


class ConsolidationChange(models.Model):
    """One thing that a run changed, in the order in which it did: what undoing puts back."""

    id = models.BigAutoField(primary_key=True)
    run = models.ForeignKey(ConsolidationRun, models.CASCADE, related_name="changes")
    kind = models.CharField(max_length=20)  # created, updated, removed, linked, unlinked, proposed
    # A table and a key ("memory_memory:<id>"), or a link ("link:<id>"); whose it is comes last.
    subject = models.CharField(max_length=200)
    memory_id = models.UUIDField(null=True, db_index=True)
    before = models.JSONField(null=True)  # of a row: the columns that are different
    after = models.JSONField(null=True)

    class Meta:
        ordering: ClassVar = ["id"]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}"
