"""Namespaces that are being deleted, and the receipts of those that are gone."""

from typing import ClassVar

from django.db import models

from codemem.accounts.models import new_id


class Erasure(models.Model):
    """One deletion of a namespace: a row before it is work, and the receipt after.

    Plain values, not foreign keys: it outlives the namespace and whoever asked for it.
    """

    class State(models.TextChoices):
        WAITING = (
            "waiting"  # the namespace is closed; until `due_at` an administrator can restore it
        )
        RUNNING = "running"
        DONE = "done"
        CANCELLED = "cancelled"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    namespace_id = models.UUIDField()
    namespace_name = models.CharField(max_length=63)
    user_id = models.IntegerField()
    asked_by = models.CharField(max_length=150)
    asked_at = models.DateTimeField()
    due_at = models.DateTimeField()
    state = models.CharField(max_length=9, choices=State.choices, default=State.WAITING)
    # Rows erased so far, by table; repositories whose mirrors are still on a disk.
    counts = models.JSONField(default=dict)
    repository_ids = models.JSONField(default=list)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["-asked_at"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                "namespace_id",
                condition=models.Q(state__in=["waiting", "running"]),
                name="indexing_erasure_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.namespace_name}: {self.state}"
