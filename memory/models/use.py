"""How a memory fared: how often it was recalled, and what people and agents said of it.

Apart from the memory's row, so that counting a read rewrites neither its text nor its vector.
"""

from typing import ClassVar

from django.db import models

from codemem.accounts.models import User, new_id
from memory.models.memory import Memory


class MemoryUse(models.Model):
    """Counts of one memory. `retention` is what the decay cycle computed last, 0..1."""

    memory = models.OneToOneField(Memory, models.CASCADE, primary_key=True, related_name="use")
    recalled = models.PositiveIntegerField(default=0)
    recalled_at = models.DateTimeField(null=True, blank=True)
    confirmed = models.PositiveIntegerField(default=0)  # stored again, in the same words or nearly
    helpful = models.PositiveIntegerField(default=0)
    not_helpful = models.PositiveIntegerField(default=0)
    stale = models.PositiveIntegerField(default=0)
    wrong = models.PositiveIntegerField(default=0)
    retention = models.FloatField(null=True, blank=True)
    retention_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.memory_id}: recalled {self.recalled} times"


class Feedback(models.Model):
    """One verdict of one user about one memory; a second one of theirs replaces it."""

    class Verdict(models.TextChoices):
        HELPFUL = "helpful"
        NOT_HELPFUL = "not_helpful"
        STALE = "stale"
        WRONG = "wrong"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    memory = models.ForeignKey(Memory, models.CASCADE, related_name="feedback")
    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    verdict = models.CharField(max_length=12, choices=Verdict.choices)
    note = models.TextField(blank=True)
    session_id = models.CharField(max_length=200, blank=True)
    given_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "feedback"
        constraints: ClassVar = [
            models.UniqueConstraint("memory", "user", name="feedback_once_per_user"),
        ]

    def __str__(self) -> str:
        return f"{self.memory_id}: {self.verdict}"
