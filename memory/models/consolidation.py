"""Runs of the consolidation cycles, and what each changed, so that it can be undone exactly."""

from typing import ClassVar

from django.db import models

from codemem.accounts.models import Namespace, new_id


class ConsolidationRun(models.Model):
    """One run of one cycle over one namespace; `report` has the figures before and after."""

    class Cycle(models.TextChoices):
        DECAY = "decay"
        CREATIVE = "creative"
        CLUSTER = "cluster"
        SUMMARIZE = "summarize"
        FORGET = "forget"

    class State(models.TextChoices):
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        UNDONE = "undone"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace = models.ForeignKey(Namespace, models.CASCADE, related_name="consolidation_runs")
    cycle = models.CharField(max_length=10, choices=Cycle.choices)
    is_dry = models.BooleanField(default=False)
    policy = models.JSONField(default=dict)
    state = models.CharField(max_length=8, choices=State.choices, default=State.RUNNING)
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
    kind = models.CharField(max_length=20)  # created, updated, retired, linked, unlinked, counted
    subject = models.CharField(max_length=200)  # a memory's id, or an edge's ends and verb
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)

    class Meta:
        ordering: ClassVar = ["id"]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}"
